"""Where derivatives come from, in words."""

from __future__ import annotations

import pytest

from fmident.problem.chain_rule import Origin, summary_of

EXACT, OWN = Origin("sensitivities"), Origin("measurement-model")
OFFERS = Origin("differences", "the FMU offers no sensitivities")


@pytest.mark.parametrize(
    ("origins", "text"),
    [
        ({}, ""),
        ({"k": EXACT, "gain": OWN}, "exact sensitivities of the FMU"),
        ({"gain": OWN}, "exact derivatives of the measurement model"),
        ({"k": OFFERS, "gain": OWN}, "finite differences: the FMU offers no sensitivities"),
        (
            {"k": EXACT, "n": Origin("differences", "why"), "m": Origin("differences", "why")},
            "exact sensitivities of the FMU for k; finite differences for n, m: why",
        ),
        (
            {"k": Origin("differences", "one"), "n": Origin("differences", "two")},
            "finite differences",
        ),
    ],
)
def test_summary(origins: dict[str, Origin], text: str) -> None:
    assert summary_of(origins) == text


def test_each_origin_says_why() -> None:
    assert str(OFFERS) == "finite differences: the FMU offers no sensitivities"
    assert str(EXACT) == "exact sensitivities of the FMU"
