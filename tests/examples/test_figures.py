"""The figures of a study's README are those that its scripts have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "examples").glob("*/figures.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_the_readme_has_the_figures_of_the_study(file: Path) -> None:
    text = file.with_name("README.md").read_text(encoding="utf-8")
    figures = json.loads(file.read_text(encoding="utf-8"))
    for name, table in figures["tables"].items():
        _, _, shown = text.partition(f"<!-- figures.json: {name} -->\n")
        header, _, *rows = shown.partition("\n\n")[0].splitlines()
        cells = [[cell.strip() for cell in row[1:-1].split("|")] for row in (header, *rows)]
        assert cells == [table["header"], *table["rows"]], name
    prose = " ".join(text.split())
    for what, value in figures.get("facts", {}).items():
        assert value in prose, what
