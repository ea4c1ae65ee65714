"""What fmident says of a case at its true parameters, next to what is exact."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.checking import check_problem
from fmident.estimation import (
    Estimate,
    EstimationResult,
    Estimator,
    Monitor,
    run_estimation,
)
from fmident.evaluation import Evaluator, make_executor
from fmident.fmu import read_description
from fmident.problem.model import DifferenceScheme, Problem

from .cases import Case, Point

LIMIT = 0.03
"""Largest deviation of a standard error that is not withheld."""

BIAS = 0.5
"""Shift of an estimate by the error of the integration, in standard errors, that must be said."""


@dataclass(frozen=True)
class NoOptions:
    """It has none."""


class StaysPut(Estimator[NoOptions]):
    """Stays at the initial point, so that only the statistics are looked at."""

    name: ClassVar[str] = "stays-put"
    options_type: ClassVar[type[Any]] = NoOptions

    def estimate(
        self, problem: Problem, evaluator: Evaluator, options: NoOptions, monitor: Monitor
    ) -> Estimate:
        """Return the initial point."""
        monitor.iteration(problem.initial, evaluator.cost(problem.initial))
        return Estimate(problem.initial, "converged", "stays at the initial point")


@dataclass(frozen=True)
class Finding:
    """What was found at the truth.

    Parameters
    ----------
    ratio
        Of the standard error that deviates most from the exact one; 1 where all are withheld.
    worst
        Its parameter, empty where all are withheld.
    rank, true_rank
        Found and true.
    withheld
        Parameters that have an exact standard error and got none.
    invented
        Parameters that got an interval although the data leave them open.
    undecided
        Whether the verdict leaves the rank open, so that `rank` is a least one.
    simulations
        What it took.
    verdict
        In words.
    bias
        By how many standard errors the error of the integration moves the parameter that it moves
        most; NaN where it was not looked at.
    warned
        Whether the result says so.
    """

    ratio: float
    worst: str
    rank: int
    true_rank: int
    withheld: tuple[str, ...]
    invented: tuple[str, ...]
    undecided: bool
    simulations: int
    verdict: str
    bias: float = math.nan
    warned: bool = False

    @property
    def rank_is_right(self) -> bool:
        """Whether the rank is the true one, or a lower limit of it that says so."""
        if self.undecided or self.withheld:
            return self.rank <= self.true_rank
        return self.rank == self.true_rank

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong, in words."""
        found = []
        if not abs(self.ratio - 1.0) <= LIMIT:
            found.append(f"{self.worst} has {self.ratio:.3g} of its standard error")
        if not self.rank_is_right:
            found.append(f"rank {self.rank}, not {self.true_rank}")
        if self.invented:
            found.append(f"intervals of {', '.join(self.invented)}, which are open")
        if self.bias > BIAS and not self.warned:
            found.append("nothing is said of the error of the integration")
        return tuple(found)


def look_at(
    case: Case, fmu: Path, tolerance: float | None, difference: DifferenceScheme, point: int = 0
) -> Finding:
    """Return what fmident says at the true parameters of exact data, or at others.

    Parameters
    ----------
    case
        What to look at.
    fmu
        Of the case.
    tolerance
        Of the simulation; ``None``: the FMU's own.
    difference
        Scheme.
    point
        Of the reference; 0 is the truth.
    """
    problem = case.problem(fmu, tolerance, difference, point=point)
    with Evaluator(problem, make_executor(problem)) as evaluator:
        result = run_estimation(problem, evaluator, StaysPut())
        bias = _bias(evaluator, problem.initial, result)
    errors = {
        e.name: e.standard_error if _has_interval(e.interval_95) else math.nan
        for e in result.estimates
    }
    said = result.identifiability
    return _judged(
        case.reference.points[point],
        errors,
        0 if said is None else said.rank,
        said is None or bool(said.undecided),
        result.simulations,
        "" if said is None else said.verdict,
        bias if point == 0 else math.nan,
        any(warned_of(result, e.name) for e in result.estimates),
    )


def warned_of(result: EstimationResult, name: str) -> bool:
    """Return whether the result says that the error of the integration matters to a parameter."""
    said = result.derivatives
    return said is not None and (said.ignores_tolerance or name in said.shifts)


def _bias(evaluator: Evaluator, p: F64, result: EstimationResult) -> float:
    """Return how far exact data draw the parameters away from the truth, in standard errors."""
    errors = np.array([e.standard_error for e in result.estimates])
    jacobian = evaluator.jacobian(p)
    norms = np.linalg.norm(jacobian, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    step = np.linalg.lstsq(jacobian / norms, evaluator.residuals(p), rcond=1e-6)[0] / norms
    shifts = np.abs(step) / errors
    return float(np.nanmax(shifts)) if bool(np.isfinite(shifts).any()) else 0.0


def check_at(
    case: Case, fmu: Path, tolerance: float | None, difference: DifferenceScheme, point: int = 0
) -> Finding:
    """Return what a check predicts, as :func:`look_at` does of an estimation."""
    problem = case.problem(fmu, tolerance, difference, point=point)
    with make_executor(problem) as executor:
        evaluator, description = Evaluator(problem, executor), read_description(fmu)
        report = check_problem(evaluator, description=description, estimator=StaysPut(), quick=True)
    said = report.sensitivities
    return _judged(
        case.reference.points[point],
        {q.name: q.predicted_error for q in report.parameters},
        0 if said is None else said.rank,
        said is None or any(d.code == "rank-undecided" for d in report.findings),
        report.simulations,
        "" if said is None else said.verdict,
    )


def _judged(
    reference: Point,
    errors: Mapping[str, float],
    rank: int,
    undecided: bool,
    simulations: int,
    verdict: str,
    bias: float = math.nan,
    warned: bool = False,
) -> Finding:
    """Return how standard errors, not finite where withheld, compare with what is exact."""
    withheld, invented = [], []
    ratio, worst = 1.0, ""
    for name, found in errors.items():
        exact = reference.standard_errors[name]
        if exact is None:
            if math.isfinite(found):
                invented.append(name)
        elif not math.isfinite(found):
            withheld.append(name)
        elif not worst or abs(math.log(found / exact)) > abs(math.log(ratio)):
            ratio, worst = found / exact, name
    return Finding(
        ratio,
        worst,
        rank,
        reference.rank,
        tuple(withheld),
        tuple(invented),
        undecided,
        simulations,
        verdict,
        bias,
        warned,
    )


def _has_interval(interval: tuple[float, float]) -> bool:
    return math.isfinite(interval[0]) and math.isfinite(interval[1])


@dataclass(frozen=True)
class Coverage:
    """How often 95 % intervals held the truth.

    Parameters
    ----------
    name
        Of the parameter.
    held, given
        Intervals that held the truth, and all; without those of which the result warns that the
        error of the integration moves the parameter.
    warned
        Intervals with that warning.
    withheld
        Runs without an interval.
    """

    name: str
    held: int
    given: int
    warned: int
    withheld: int

    @property
    def share(self) -> float:
        """Of the intervals that hold the truth; NaN without any."""
        return self.held / self.given if self.given else math.nan


def coverage(
    case: Case, fmu: Path, tolerance: float | None, difference: DifferenceScheme, seeds: int
) -> tuple[Coverage, ...]:
    """Estimate from data with noise, once for each seed, and count.

    Starts lie a few standard errors from the truth, so that the search has work to do and no
    other minimum comes into play.

    Parameters
    ----------
    case, fmu, tolerance, difference
        As of :func:`look_at`.
    seeds
        Number of data sets.
    """
    # Imported here: a worker process of a test that looks at one case needs no plugins.
    from fmident.plugins import load_plugins

    estimator = load_plugins().estimators.get("least-squares")
    names = [q.name for q in case.parameters]
    counts = {name: np.zeros(4, dtype=np.intp) for name in names}
    for seed in range(seeds):
        noise = np.random.default_rng([seed, 20261122])
        problem = _started(case, case.problem(fmu, tolerance, difference, noise), noise)
        with Evaluator(problem, make_executor(problem)) as evaluator:
            result = run_estimation(problem, evaluator, estimator())
        for estimate in result.estimates:
            low, high = estimate.interval_95
            withheld = not _has_interval((low, high))
            warned = not withheld and warned_of(result, estimate.name)
            given = not withheld and not warned
            held = given and low <= case.truth[estimate.name] <= high
            counts[estimate.name] += (held, given, warned, withheld)
    return tuple(Coverage(name, *(int(k) for k in counts[name])) for name in names)


def _started(case: Case, problem: Problem, noise: np.random.Generator) -> Problem:
    """Return the problem with a start two standard errors or 1 % from the truth."""
    moved = []
    for q in problem.parameters:
        error = case.reference.points[0].standard_errors[q.name]
        reach = 0.01 * q.initial if error is None else min(2.0 * error, 0.5 * q.initial)
        moved.append(dataclasses.replace(q, initial=q.initial + reach * noise.choice([-1.0, 1.0])))
    return dataclasses.replace(problem, parameters=tuple(moved))
