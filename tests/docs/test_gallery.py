"""The gallery has a card for each folder of examples/, and its pictures are there and small."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
PICTURES = sorted((DOCS / "pictures").glob("*.svg"))
LARGEST = 1_500_000
"""Bytes of all pictures together, so that a clone stays small."""


def test_each_example_has_a_card() -> None:
    named = re.findall(r"^\[`examples/([\w-]+)`\]", GALLERY, re.MULTILINE)
    folders = [p.name for p in (ROOT / "examples").iterdir() if (p / "README.md").exists()]
    assert sorted(named) == sorted(folders)


def test_each_card_has_a_picture_a_sentence_and_a_command() -> None:
    for card in GALLERY.split(":::{grid-item-card}")[1:]:
        assert re.search(r"^!\[.+\]\(.+\)$", card, re.MULTILINE)
        assert re.search(r"^[A-Z].+", card, re.MULTILINE)
        assert re.search(r"^```sh\n.*(fmident estimate|python examples)", card, re.DOTALL | re.M)


def test_reports_are_those_of_cards() -> None:
    made = re.findall(r"^  report ([\w-]+) ", (ROOT / "ci" / "docs").read_text(), re.MULTILINE)
    linked = set(re.findall(r"<!-- report of ([\w-]+) -->", GALLERY))
    assert made
    assert set(made) <= linked


def test_every_picture_has_a_twin_for_dark_pages_and_a_page() -> None:
    names = {p.stem for p in PICTURES}
    plain = {name for name in names if not name.endswith("-dark")}
    assert names == plain | {f"{name}-dark" for name in plain}
    pages = "".join(p.read_text(encoding="utf-8") for p in DOCS.rglob("*.md"))
    assert {name for name in plain if f"pictures/{name}.svg" not in pages} == set()


def test_pictures_are_small_and_ask_nobody() -> None:
    assert sum(p.stat().st_size for p in PICTURES) < LARGEST
    addresses = r"(?:xlink:)?href=\"(?!#|data:)|url\((?!#)|@import|<script"
    asked = {p.name for p in PICTURES if re.search(addresses, p.read_text(encoding="utf-8"))}
    assert asked == set()
