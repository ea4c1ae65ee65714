"""What README and guides tell the user to type is accepted by the command line."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from fmident.cli.main import build_parser
from fmident.cli.usage import UsageError

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS += sorted((ROOT / "examples").glob("*/README.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (str(document.relative_to(ROOT)), text)
        for document in DOCUMENTS
        for found, text in BLOCK.findall(document.read_text(encoding="utf-8"))
        if found == language
    ]


def commands() -> list[tuple[str, list[str]]]:
    """Return every call of fmident, with the document it stands in."""
    return [
        (name, words[1:])
        for name, text in blocks("sh")
        for line in text.splitlines()
        if (words := shlex.split(line, comments=True)) and Path(words[0]).name == "fmident"
    ]


@pytest.mark.parametrize(("document", "words"), commands(), ids=lambda w: str(w)[:60])
def test_command_is_accepted(document: str, words: list[str]) -> None:
    parser, _ = build_parser()
    try:
        parser.parse_args(words)
    except UsageError as error:
        pytest.fail(f"{document}: fmident {shlex.join(words)}: {error}")


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 15


@pytest.mark.parametrize(("document", "text"), blocks("toml"), ids=lambda t: str(t)[:40])
def test_toml_is_toml(document: str, text: str) -> None:
    assert tomllib.loads(text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_between_files_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_scripts_that_are_named_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for script in re.findall(r"\b((?:ci|examples|benchmarks|tests)/[\w./-]+\.py)\b", text):
        assert (ROOT / script).exists(), script
    for script in re.findall(r"\bbash (ci/[\w-]+)", text):
        assert (ROOT / script).exists(), script
