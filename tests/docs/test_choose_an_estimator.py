"""The page that helps to choose has every registered estimator, in table, list and picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fmident.plugins import load_plugins

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "choose-an-estimator.md").read_text(encoding="utf-8")
PICTURE = (DOCS.parent / "ci" / "picturing" / "tree.py").read_text(encoding="utf-8")
ESTIMATORS = {r.name for r in load_plugins().estimators if r.origin.distribution == "fmident"}


def test_the_table_has_each_once_and_no_other() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(ESTIMATORS)


def test_the_list_and_the_picture_lead_to_it(subtests: pytest.Subtests) -> None:
    for name in sorted(ESTIMATORS):
        with subtests.test(name):
            questions = PAGE[: PAGE.index("\n| estimator")]
            assert f"`{name}`" in questions
            assert re.search(rf"[\"\\n ]{name}\b", PICTURE)
