"""What the table says behind a parameter."""

from __future__ import annotations

import math

import numpy as np

from fmident.estimation import Identifiability, ParameterEstimate
from fmident.report.estimate import remark

_WITHOUT = ParameterEstimate(
    name="T",
    unit="K",
    description="",
    initial=1.0,
    value=2.0,
    standard_error=math.nan,
    interval_95=(-math.inf, math.inf),
    lower=-math.inf,
    upper=math.inf,
    at_bound=False,
    fixed=False,
)


def _judged(**names: tuple[str, ...]) -> Identifiability:
    return Identifiability(np.ones(2), 2, "The rank cannot be judged.", **names)  # type: ignore[arg-type]


def test_a_parameter_next_to_a_jump_is_not_called_unidentifiable() -> None:
    for reason in ("jumps", "undecided", "withheld"):
        assert remark(_WITHOUT, _judged(**{reason: ("T",)})) == "no interval"
    # One that the data do not determine is.
    assert remark(_WITHOUT, _judged(jumps=("C",))) == "not identifiable"
    assert remark(_WITHOUT, _judged()) == "not identifiable"
