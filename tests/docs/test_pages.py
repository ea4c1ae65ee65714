"""Pages are in the list of their folder, and old addresses lead to pages that there are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = [DOCS / name for name in ("tutorials", "how-to", "reference", "explanation")]


def test_the_list_of_a_folder_has_every_page(subtests: pytest.Subtests) -> None:
    for folder in FOLDERS:
        with subtests.test(folder.name):
            text = (folder / "index.md").read_text(encoding="utf-8")
            listed = text.split("```{toctree}")[0]
            pages = {p.name for p in folder.glob("*.md")} - {"index.md"}
            assert {name for name in pages if f"]({name})" not in listed} == set()


def test_old_addresses_lead_to_pages() -> None:
    lines = (DOCS / "redirects.txt").read_text(encoding="utf-8").splitlines()
    moved = dict(line.split() for line in lines if not line.startswith("#"))
    assert len(moved) > 40
    assert [target for target in moved.values() if not (DOCS / target).is_file()] == []
    assert [source for source in moved if (DOCS / source).exists()] == []


def test_pictures_say_in_words_what_they_show(subtests: pytest.Subtests) -> None:
    for page in sorted((DOCS / "how-to").glob("*.md")):
        with subtests.test(page.stem):
            text = page.read_text(encoding="utf-8")
            for words in re.findall(r"!\[(.*?)\]\(\.\./pictures/", text):
                assert len(words.split()) > 5


def test_every_extra_is_explained() -> None:
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (DOCS / "how-to" / "install.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.+?) \|", page, re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", " ".join(cells))) == set(project["optional-dependencies"])
