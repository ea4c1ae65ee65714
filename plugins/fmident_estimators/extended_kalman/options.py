"""Options of the estimator ``extended-kalman``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ExtendedKalmanOptions:
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

    states: dict[str, Any] = field(default_factory=dict)
    initial_error: dict[str, Any] = field(default_factory=dict)
    drift: dict[str, Any] = field(default_factory=dict)
    every: int = 1

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every must be at least 1, not {self.every}")
        for table in ("initial_error", "drift"):
            for name, value in getattr(self, table).items():
                number = isinstance(value, (int, float)) and not isinstance(value, bool)
                if not number or not 0.0 <= value < float("inf"):
                    raise ValueError(f"{table}.{name} must be a number, not negative: {value!r}")
        for name, variable in self.states.items():
            if not isinstance(variable, str):
                raise ValueError(f"states.{name} must be the name of a variable, not {variable!r}")
