"""Measured figures in READMEs of examples are those that their commands have written."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
READMES = sorted((ROOT / "examples").glob("*/README.md"))
FIGURES = sorted((ROOT / "examples").glob("*/figures.json"))
TABLE = re.compile(r"(?:^(.*)\n)?((?:^\|.*\n)+)", re.MULTILINE)
BY_HAND = {
    "friction": "its data are not part of the project",
    "positioning-axis": "its data are not part of the project",
}
"""READMEs whose figures no command of theirs can write everywhere."""


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures_script", ROOT / "ci" / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_has_the_figures_of_its_file(
    figures: ModuleType, subtests: pytest.Subtests
) -> None:
    for file in FIGURES:
        with subtests.test(file.parent.name):
            text = file.with_name("README.md").read_text(encoding="utf-8")
            content = dict(figures.examples())[file.with_name("README.md")]
            assert figures.updated(text, content) == text, "python ci/figures.py writes the tables"
            assert figures.lost_facts(text, content) == []
            marks = re.findall(r"<!-- figures\.json: (.*?) -->", text)
            assert sorted(marks) == sorted(content["tables"])


def test_tables_of_measured_figures_say_where_they_come_from(subtests: pytest.Subtests) -> None:
    """A table with decimal numbers has a mark, or ``<!-- given -->``: inputs, figures of others.

    Or ``<!-- earlier -->``: measured before its command wrote a file; goes with the next full run.
    """
    for readme in [r for r in READMES if r.parent.name not in BY_HAND]:
        with subtests.test(readme.parent.name):
            for above, table in TABLE.findall(readme.read_text(encoding="utf-8")):
                measured = re.search(r"\d\.\d|\de-\d", table)
                marks = ("<!-- figures.json: ", "<!-- given", "<!-- earlier")
                assert not measured or above.startswith(marks), table


def test_figures_of_another_revision_differ_by_numbers_and_not_by_times(
    figures: ModuleType,
) -> None:
    def table(error: str, time: str) -> dict[str, object]:
        rows = [["a", error, time]]
        return {"tables": {"t": {"header": ["x", "error, %", "time"], "rows": rows}}, "facts": {}}

    old = table("1.0 to 2", "3 ms")
    assert figures.differing(old, table("1.05 to 2", "30 ms")) == []
    (line,) = figures.differing(old, table("1.0 to 4", "3 ms"))
    assert line == "t, a (0), error, %: was '1.0 to 2', is '1.0 to 4'"
