"""Where derivatives come from, in words."""

from __future__ import annotations

import pytest

from fmident.problem.residuals import DerivativeOrigin, summary_of

EXACT, OWN = DerivativeOrigin("sensitivities"), DerivativeOrigin("measurement-model")
OFFERS = DerivativeOrigin("differences", "the FMU offers no sensitivities")


@pytest.mark.parametrize(
    ("origins", "text"),
    [
        ({}, ""),
        ({"k": EXACT, "gain": OWN}, "exact sensitivities of the FMU"),
        ({"gain": OWN}, "exact derivatives of the measurement model"),
        ({"k": OFFERS, "gain": OWN}, "finite differences: the FMU offers no sensitivities"),
        (
            {
                "k": EXACT,
                "n": DerivativeOrigin("differences", "why"),
                "m": DerivativeOrigin("differences", "why"),
            },
            "exact sensitivities of the FMU for k; finite differences for n, m: why",
        ),
        (
            {
                "k": DerivativeOrigin("differences", "one"),
                "n": DerivativeOrigin("differences", "two"),
            },
            "finite differences",
        ),
    ],
)
def test_summary(origins: dict[str, DerivativeOrigin], text: str) -> None:
    assert summary_of(origins) == text


def test_each_origin_says_why() -> None:
    assert str(OFFERS) == "finite differences: the FMU offers no sensitivities"
    assert str(EXACT) == "exact sensitivities of the FMU"
