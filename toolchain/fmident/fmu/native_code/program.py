"""Constants that Python shares with the compiled loops in ``c/``, see ``c/loops.h``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

TRANSFER = np.dtype(
    [
        (name, np.int64)
        for name in (
            "kind", "function", "references", "count", "values", "stride", "width", "orders",
        )
    ]
)  # fmt: skip
"""One call that sets or gets values in each step. `function`, `references`, `orders` are addresses,
the values of step i lie at ``values + stride*i``; `width` is how many there are, which FMI 3.0
wants to know."""

Program = npt.NDArray[Any]
"""Calls one after the other: an array of :data:`TRANSFER`."""

VALUES, SLOPES = range(2)
"""Kinds of transfer; the latter is fmi2SetRealInputDerivatives."""

NOT_GIVEN = -1
"""The width, where a function does not take it: those of extensions."""

WHY, FAILED_STEP, FAILED_STATUS, WARNINGS = range(4)
"""Elements of the loop's state: why and in which step it stopped (while it runs: the step that it
is in), status of the failed call, steps with warnings."""

STATE_SIZE = 4

CALL, TERMINATED, UNSETTLED, ZENO, OWN = range(5)
"""Why a loop stopped: a call that failed, or one of these; loops have more from OWN on."""

WRONG_TIME, FIXED_STEP, UNASKED = range(OWN, OWN + 3)
"""More reasons in Co-Simulation."""

SOLVER, TOO_MANY, PAUSED, NO_SENSITIVITIES, CONTRADICTION = range(OWN, OWN + 5)
"""More reasons in Model Exchange."""

NOT_FINITE = -100
"""Status noted for a derivative of a state that is NaN or infinite."""

MOST_ITERATIONS = 1_000
"""Updates of the discrete states in one event."""

MOST_STEPS, MOST_REPEATS = 2_000_000, 20
"""Integrator steps in one communication step; events at one instant because indicators have changed
their sides."""
