"""What README and guides tell the user to type is accepted by the command line."""

from __future__ import annotations

import pydoc
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from fmident.cli.main import COMMANDS, build_parser
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


def anchors(document: Path) -> set[str]:
    """Return what a link into the document may name."""
    text = re.sub(BLOCK, "", document.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_between_files_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for name, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        target = document.parent / name if name else document
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"


def described() -> dict[str, str]:
    """Return the sections of the page of commands by command, and the page's head as ``""``."""
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    head, *sections = re.split(r"^## fmident (?=\S)", page, flags=re.MULTILINE)
    return {"": head} | dict(section.split("\n", 1) for section in sections)


def options_of(text: str) -> set[str]:
    """Return the options that stand in the first column of a table."""
    rows = re.findall(r"^\| (`-.*?`) \|", text, re.MULTILINE)
    return {option for row in rows for option in re.findall(r"`(--?[\w-]+)", row)}


def test_every_command_has_a_section() -> None:
    _, parsers = build_parser()
    assert set(described()) - {""} == set(parsers)


@pytest.mark.parametrize("command", COMMANDS)
def test_all_arguments_of_a_command_are_described_and_no_others(command: str) -> None:
    pages = described()
    actions = build_parser()[1][command]._actions
    assert options_of(pages[""]) | options_of(pages[command]) == {
        option for action in actions for option in action.option_strings
    }
    for action in actions:
        if not action.option_strings:
            for word in str(action.metavar or action.dest).split("|"):
                assert f"`{word}`" in pages[command], word
        if action.choices:
            assert "{" + ",".join(map(str, action.choices)) + "}" in pages[command], action.dest


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_scripts_that_are_named_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for script in re.findall(r"\b((?:ci|examples|benchmarks|tests)/[\w./-]+\.py)\b", text):
        assert (ROOT / script).exists(), script
    for script in re.findall(r"\bbash (ci/[\w-]+)", text):
        assert (ROOT / script).exists(), script


def references() -> set[str]:
    """Return the full names of fmident's that docstrings refer to."""
    role = re.compile(r":(?:func|class|meth|mod|data|attr):`~?\s*(fmident[\w.]*)`")
    files = (p for top in ("toolchain", "plugins") for p in (ROOT / top).rglob("*.py"))
    return {name for path in files for name in role.findall(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", sorted(references()))
def test_references_of_docstrings_resolve(name: str) -> None:
    assert pydoc.locate(name) is not None
