"""What is examined after the search: functions of a :class:`Fit`, the estimate and its problem.

The modules here compute; :mod:`~fmident.estimation.diagnostics.notes` says in words what of it a
user should know. :mod:`~fmident.estimation.diagnostics.uncertainty` is where intervals begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from fmident.problem.residuals import measured_signals, residual_layout

if TYPE_CHECKING:
    import numpy.typing as npt

    from fmident.arrays import F64
    from fmident.data.experiment import Experiment, Measurement
    from fmident.estimation.comparisons import OutputFit, PriorKnowledge, ResidualCheck
    from fmident.estimation.contract import Estimate
    from fmident.estimation.diagnostics.constraints import Active
    from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics
    from fmident.evaluation import Evaluator
    from fmident.findings import Finding
    from fmident.problem.cost import MeasuredSignal
    from fmident.problem.model import Problem


@dataclass(frozen=True, eq=False)
class Fit:
    """An estimate with all that is known of it so far.

    Parameters
    ----------
    at_bound
        Parameters on a bound, shape (n,).
    searches
        The estimator goes from its start to the minimum of the cost.
    uncertainty, active
        Statistics and constraints at the estimate; ``None`` without.
    fits, residuals
        Measured and fitted outputs, and the residuals of the data; innovations where the noise was
        modelled.
    check
        As in the result.
    curvatures
        Relative curvatures at the ends of linear intervals, where they were measured, by name.
    """

    problem: Problem
    evaluator: Evaluator
    estimate: Estimate
    cost: float
    at_bound: npt.NDArray[np.bool_]
    searches: bool = False
    uncertainty: VerifiedStatistics | None = None
    active: Active | None = None
    fits: tuple[OutputFit, ...] = ()
    residuals: F64 = field(default_factory=lambda: np.empty(0))
    check: ResidualCheck | None = None
    curvatures: Mapping[str, float] = field(default_factory=dict)

    @property
    def p(self) -> F64:
        """The free parameters, shape (n,)."""
        return self.estimate.parameters

    @property
    def names(self) -> list[str]:
        """Of the free parameters."""
        return [q.name for q in self.problem.free]

    @property
    def priors(self) -> PriorKnowledge | None:
        """Contributions of data and priors; ``None`` if unknown, or no prior counts."""
        return None if self.uncertainty is None else self.uncertainty.prior

    @property
    def statistics(self) -> VerifiedStatistics:
        """The uncertainty, for what is only asked with one."""
        assert self.uncertainty is not None
        return self.uncertainty


Diagnostic: TypeAlias = "Callable[[Fit], Iterable[Finding]]"
"""Yields the findings on one subject; nothing where it does not apply."""


class Recorded(NamedTuple):
    """One output of one experiment: numbers of both, what was measured, and its residuals' rows."""

    i: int
    j: int
    experiment: Experiment
    measurement: Measurement
    signal: MeasuredSignal
    rows: npt.NDArray[np.intp]

    @property
    def scales(self) -> F64:
        """Residuals per unit of the output, by sample."""
        return self.signal.scaled(np.ones(self.signal.times.size))


def recorded_outputs(problem: Problem) -> list[Recorded]:
    """Return all outputs of all experiments, in the order of the residuals."""
    layout, signals = residual_layout(problem), iter(measured_signals(problem))
    return [
        Recorded(i, j, e, m, next(signals), layout.rows_of(i, j))
        for i, e in enumerate(problem.experiments)
        for j, m in enumerate(e.measurements)
    ]


def beginning_at(problem: Problem, p: F64) -> Problem:
    """Return the problem with other initial values of the free parameters, shape (n,)."""
    start = dict(zip((q.name for q in problem.free), p.tolist(), strict=True))
    parameters = tuple(
        replace(q, initial=start[q.name]) if q.name in start else q for q in problem.parameters
    )
    return replace(problem, parameters=parameters)


def values_of(problem: Problem, p: F64) -> str:
    """Return the values of the free parameters in words."""
    units = (f" {q.unit}" if q.unit not in (None, "1") else "" for q in problem.free)
    named = zip(problem.free, p, units, strict=True)
    return ", ".join(f"{q.name} = {value:.5g}{unit}" for q, value, unit in named)


def sizes_of(problem: Problem, p: F64) -> F64:
    """Return the sizes of the parameters, shape (n,); of one at zero, its scale."""
    return np.array([abs(x) or q.scale for q, x in zip(problem.free, p, strict=True)])
