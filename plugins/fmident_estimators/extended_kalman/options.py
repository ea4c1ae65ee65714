"""Options of the estimator ``extended-kalman``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from fmident.options import FINITE, Options, Range


@dataclass(frozen=True)
class ExtendedKalmanOptions(Options):
    """States, initial uncertainty and what may change.

    Parameters
    ----------
    states
        Parameter of the FMU that sets a state at the start, to the variable that holds the
        state: ``{ x_start = "x", v_start = "v" }``. None for a model without states.
    initial_error
        Standard deviation of a parameter or of a state's start value before the first sample,
        by the name of the parameter or of the state's variable. Parameters have half of their
        initial value (half a unit of the logarithm with log scaling) by default, states 0: the
        start values are known.
    drift
        Standard deviation of the change in one second of a parameter or state, by the same
        names; 0 by default: parameters are constant, states follow the model exactly.
    every
        Compare every n-th sample only; the inputs of all samples are applied.
    """

    states: dict[str, str] = field(default_factory=dict)
    initial_error: dict[str, Annotated[float, FINITE]] = field(default_factory=dict)
    drift: dict[str, Annotated[float, FINITE]] = field(default_factory=dict)
    every: Annotated[int, Range(least=1)] = 1
