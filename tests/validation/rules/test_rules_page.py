"""The page that lists the rules."""

from __future__ import annotations

from pathlib import Path

from fmident.validation.rules import RULES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "fmi-rules.md"


def test_the_page_lists_all_rules() -> None:
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    expected = [
        (
            rule.key,
            rule.demand,
            *(section or "" for section in rule.sections),
            ", ".join(["warning"] * rule.tolerable + ["FMPy"] * rule.known_to_fmpy),
        )
        for rule in RULES.values()
    ]
    assert rows[1:] == expected
