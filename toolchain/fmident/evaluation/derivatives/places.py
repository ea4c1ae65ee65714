"""Which residual belongs to which output and time, and telling of events there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from fmident.evaluation.derivatives.events import Crossing
from fmident.problem.model import Problem
from fmident.problem.residuals import ResidualLayout, residual_layout

_SHOWN = 3


class Places:
    """Places of a problem's residuals.

    Parameters
    ----------
    problem
        Its experiments, measurements and cost. Only residuals whose cost gives intervals are
        sure to be those of the samples one by one; else notes name no time.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def _layout(self) -> ResidualLayout | None:
        return residual_layout(self._problem) if self._problem.cost.gives_intervals else None

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """Rows of each measurement of each experiment, which can be compared to find events.

        All rows where the cost orders samples its own way; none where it mixes them.
        """
        if not self._problem.cost.by_sample:
            return ()
        layout = self._layout
        if layout is None or layout.size == 0:
            return (slice(None),)
        changes = (np.diff(layout.experiment) != 0) | (np.diff(layout.measurement) != 0)
        edges = [0, *(np.flatnonzero(changes) + 1).tolist(), layout.size]
        return tuple(slice(a, b) for a, b in pairwise(edges))

    def notes(self, crossings: Sequence[Crossing]) -> tuple[str, ...]:
        """Return a sentence or two for each parameter whose step moved an event."""
        return tuple(self._note(c) for c in crossings)

    def _note(self, crossing: Crossing) -> str:
        name = self._problem.free[crossing.column].name
        count = crossing.rows.size
        text = f"a finite-difference step of '{name}' moves an event across "
        text += f"{count} sample{'' if count == 1 else 's'}"
        layout = self._layout
        if layout is not None:
            text += ": " + "; ".join(self._where(layout, int(r)) for r in crossing.rows[:_SHOWN])
            text += f" and {count - _SHOWN} more" if count > _SHOWN else ""
        unresolved = int(np.count_nonzero(~crossing.resolved))
        if unresolved == 0:
            return text + "; the derivatives there are taken from the side without the jump"
        return text + (
            f"; at {unresolved} of them neither side gives a derivative: leave out the samples "
            "around the event, or refine the sampling there"
        )

    def _where(self, layout: ResidualLayout, row: int) -> str:
        experiment = self._problem.experiments[int(layout.experiment[row])]
        output = experiment.measurements[int(layout.measurement[row])].name
        return f"'{output}' at {layout.time[row]:.6g} s in experiment '{experiment.name}'"
