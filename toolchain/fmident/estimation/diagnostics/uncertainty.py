"""Uncertainty at the final parameters, from a Jacobian of measured error.

The interval of a parameter on its bound begins there. Without the bound, least squares
would find ``p + d`` beyond it, with standard error ``e``. Of all allowed values the
bound has the least cost, and the likelihood ratio to it reaches its usual threshold
``t^2`` at ``d + sqrt(d^2 + (t e)^2)`` inside. The threshold is that of a two-sided
interval, so that 95 % holds over all records, including those with an estimate within
the bounds (Feldman and Cousins, Physical Review D 57, 1998).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64, root_mean_square
from fmident.estimation.diagnostics.constraints import (
    Active,
    active_constraints,
    within_inequalities,
)
from fmident.estimation.diagnostics.noise import noise_of
from fmident.estimation.diagnostics.truncated import with_held
from fmident.evaluation import Evaluator
from fmident.evaluation.solver_error import TIGHTER, TIGHTEST, SolverError, solver_error
from fmident.statistics import ParameterStatistics, ResidualScores, parameter_statistics
from fmident.statistics.distributions import student_quantile
from fmident.statistics.identifiability import INVISIBLE
from fmident.statistics.prior import PriorRows
from fmident.statistics.tangent import Region, along

if TYPE_CHECKING:
    from fmident.estimation.contract import HeldDirections
    from fmident.problem.model import Problem


_ACCURATE = 0.01
"""Relative change of a standard error that the derivatives may leave open without more being
done."""

_CRUDE = 0.003
"""Relative error of the derivative along a direction from which on it is worth another step."""

_LIMITED = 0.01
"""The same if the error of the integration were all jumps, for the longest step."""

_UNDETERMINED = 0.25
"""Relative standard error from which on a parameter counts as not determined."""

_FAR = 0.2
"""Longest relative change of a parameter along a direction."""

_ROUNDS = 4
_TIGHTENINGS = 2
_TIGHTEST = 1e-12
_LEAST_TIGHTENING = 0.1

_SHIFTED = 0.2
"""Standard errors by which the error of the integration may move an estimate unsaid: intervals
cover 94.6 % in place of 95 %."""

_MATTERS = 1e-4
"""Relative change of a value below which it does not matter: data without noise leave nearly no
standard error."""

_VISIBLE, _HIDDEN = 0.5, 0.1
"""Part of the residuals that the error of the integration may make unsaid, and that is left of it
with the tolerance that is named then."""

_INEXACT = 1e-3
"""Of the size of the outputs, below which it may be all of the residuals."""

_ROUNDING = 1e-9
"""Of the size of the outputs, below which residuals are rounding: the same simulation, with the
same error, has made the data."""

_EPS = float(np.finfo(np.float64).eps)


Flags = npt.NDArray[np.bool_]
Found = TypeVar("Found", bound="ParameterStatistics")

_LEVEL = 0.95


@dataclass(frozen=True)
class IntegrationEffect:
    """Effect of the integration error on the estimate and on the residuals.

    `shifts` are the changes of the parameters in standard errors; those that `matters`
    marks should be reported. `needed` is the tolerance or number of substeps that avoids
    them, ``None`` if there are none or the FMU ignores the tolerance; `enough` is the
    harmless fraction of the error. `share` is its root mean square relative to the
    residuals, 0 if not worth reporting.
    """

    tolerance: float | None
    shifts: F64
    matters: npt.NDArray[np.bool_]
    needed: float | None
    enough: float | None = None
    share: float = 0.0


@dataclass(frozen=True)
class VerifiedStatistics(ParameterStatistics):
    """Uncertainty, and how its derivatives were verified.

    `tightened` is the tolerance for the derivatives if that of the problem was not enough;
    `exact` says that they are sensitivities, not differences. `integration` is the effect
    of the tolerance or, if the FMU ignores it, of the error of its own solver, and `step`
    that of half the communication step; ``None`` if unknown. `region` is that of the
    intervals if inequalities limit them.
    """

    tightened: float | None = None
    integration: IntegrationEffect | None = None
    step: IntegrationEffect | None = None
    ignores_tolerance: bool = False
    solver: SolverError = field(default_factory=SolverError)
    exact: bool = False
    active: Active | None = None
    region: Region | None = None


def uncertainty(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    held: npt.NDArray[np.bool_],
    weights: F64 | None = None,
    scores: ResidualScores | None = None,
    *,
    verify: bool = True,
    counts_noise: bool = True,
    compare_interfaces: bool = True,
    directions: HeldDirections | None = None,
) -> VerifiedStatistics:
    """Return covariance, intervals and rank at `p`, from derivatives that are verified there.

    The Jacobian of the search is compared with one from far longer steps. If the difference
    could change a standard error or the rank, the derivatives are computed again along the
    singular directions of the Jacobian, by ladders of central differences, and if no step
    of the ladder suffices, with a tighter tolerance, if the FMU respects it. What remains
    open then is withheld. Exact sensitivities are compared with those at a hundredth of the
    tolerance, which replace them if the difference matters. Active constraints restrict the
    parameters to their tangent space (:mod:`fmident.statistics.tangent`).

    Residuals of weight zero do not count; `scores` are those of a robust loss. Without
    `verify`, the error of the derivatives is only predicted from the measured noise and
    curvature. `counts_noise` includes noise other than white noise of one size;
    `compare_interfaces` uses Model Exchange to measure the error of an FMU that ignores the
    tolerance. `directions`, if given, are the only ones along which the estimate moved.
    """
    jacobian, residuals = evaluator.data_jacobian(p), evaluator.data_residuals(p)
    factors = np.ones(residuals.size) if weights is None else weights[: residuals.size]
    used = factors != 0.0
    factors = factors[used]
    share = 1.0 if weights is None else float(np.sqrt(np.mean(factors**2)))

    def weighted(values: F64) -> F64:
        found: F64 = values[used] * (factors if values.ndim == 1 else factors[:, np.newaxis])
        return found

    prior = PriorRows.at(problem, p)
    # With the priors, for what looks at data and priors as one.
    whole = evaluator.jacobian(p), evaluator.residuals(p)
    if weights is not None:
        whole = weights[:, np.newaxis] * whole[0], weights * whole[1]
    active = active_constraints(problem, p, held, whole[0].T @ whole[1])
    basis = np.eye(p.size)
    if active is not None:
        held, basis = held | active.tangent.pivots, active.tangent.basis
        jacobian = jacobian @ basis
        prior = None if prior is None else prior.along(basis)

    def weighted_errors() -> F64 | None:
        found = evaluator.column_errors(p)
        if found is None or active is None:
            return None if found is None else found * share
        return np.asarray(np.sqrt(found**2 @ basis**2) * share)

    errors = weighted_errors()
    seen = _as_noise(weighted(residuals), scores)
    noise = noise_of(problem, seen, weighted(jacobian), used, counts=counts_noise)

    def judge(
        jacobian: F64, spread: F64 | None, held: npt.NDArray[np.bool_] = held
    ) -> ParameterStatistics:
        return parameter_statistics(
            weighted(jacobian),
            weighted(residuals),
            p,
            [q.name for q in problem.free],
            units=[q.unit for q in problem.free],
            sigma_known=problem.sigma_known,
            at_bound=held,
            column_errors=errors,
            spread=None if spread is None else weighted(spread),
            scores=scores,
            prior=prior,
            coloured=noise,
        )

    def completed(found: ParameterStatistics, **more: object) -> VerifiedStatistics:
        if active is None:
            ended = one_sided(problem, p, held, found, lambda held: judge(jacobian, None, held))
            return _verified(with_held(problem, evaluator, p, ended, directions), **more)
        found = along(found, active.tangent, p)
        found, region = within_inequalities(problem, found, active, p, *whole)
        return _verified(found, **more, active=active, region=region)

    indices = np.flatnonzero(~held)
    if not verify or errors is None or evaluator.jacobian_is_given(p):
        return completed(judge(jacobian, None), exact=evaluator.jacobian_is_exact(p))
    integration = evaluator.integration_error(p)
    if evaluator.jacobian_is_exact(p):  # the errors of sensitivities are measured by now
        errors = weighted_errors()
    found, tightened = judge(jacobian, None), None
    if indices.size:
        found, tightened = _Verification(
            evaluator, p, indices, basis, jacobian, judge, weighted, integration
        ).run()
    done = completed(found, tightened=tightened)
    ignores_tolerance = integration is not None and not integration.any()
    compared = SolverError()
    if ignores_tolerance and compare_interfaces:
        compared = solver_error(problem, residuals, p, evaluator.activities)
    left = compared.error if ignores_tolerance else integration

    def effect_of(error: F64, **more: bool) -> IntegrationEffect:
        # Priors are not integrated.
        rows = np.append(weighted(error), np.zeros(0 if prior is None else len(prior.names)))
        share = _share_of(weighted(error), weighted(residuals), evaluator.output_magnitude(p))
        return _effect(problem, evaluator, p, done, rows, share, **more)

    effect = None if left is None else effect_of(left, ignores_tolerance=ignores_tolerance)
    step = _step_effect(problem, evaluator, p, effect_of) if compare_interfaces else None
    return dataclasses.replace(
        done,
        integration=effect,
        step=step,
        ignores_tolerance=ignores_tolerance,
        solver=compared,
        exact=evaluator.jacobian_is_exact(p),
    )


def _as_noise(residuals: F64, scores: ResidualScores | None) -> F64:
    """Return the residuals to which the estimate responds like least squares."""
    return residuals if scores is None else scores.as_residuals


def _verified(found: ParameterStatistics, **more: object) -> VerifiedStatistics:
    known = {f.name: getattr(found, f.name) for f in dataclasses.fields(ParameterStatistics)}
    return VerifiedStatistics(**known, **more)  # type: ignore[arg-type]


def _effect(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    found: ParameterStatistics,
    error: F64,
    share: float,
    *,
    ignores_tolerance: bool,
) -> IntegrationEffect:
    """Return the effect of the integration error, weighted like residuals, on the estimate."""
    tolerance = evaluator.tolerance
    changes = np.abs(found.linearisation.answer(error))
    size = np.maximum(np.abs(p), np.abs(problem.initial))
    # Data that the same simulation has made leave no residuals, and no standard errors.
    least = _EPS * np.where(size > 0.0, size, 1.0)
    shifts = changes / np.maximum(found.standard_errors, least)
    matters = (np.nan_to_num(shifts) > _SHIFTED) & (changes > _MATTERS * size)
    needed = enough = None
    if bool(matters.any()) or share:
        parts = np.maximum(_SHIFTED / shifts[matters], _MATTERS * size[matters] / changes[matters])
        enough = float(min([*parts, _HIDDEN / share if share else np.inf]))
        if not ignores_tolerance and tolerance is not None:
            order = evaluator.integration_order(p)
            needed = _decade(max(tolerance * (0.5 * enough) ** (1.0 / order), _TIGHTEST))
    return IntegrationEffect(tolerance, shifts, matters, needed, enough, share)


def _share_of(error: F64, residuals: F64, outputs: float) -> float:
    """Return the size of an error relative to the residuals, 0 if not worth reporting."""
    size, left = root_mean_square(error), root_mean_square(residuals)
    if left <= _ROUNDING * outputs:
        return 0.0
    return size / left if size > max(_VISIBLE * left, _INEXACT * outputs) else 0.0


def _step_effect(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    effect_of: Callable[..., IntegrationEffect],
) -> IntegrationEffect | None:
    """Return the effect of half the communication step; see `VerifiedStatistics`."""
    halved, integration = evaluator.step_error(p), evaluator.integration_error(p)
    # A step of another size gives an integrator other errors, as large as the tolerance allows.
    expected = 0.0 if integration is None else float(np.linalg.norm(integration))
    if halved is None or float(np.linalg.norm(halved)) <= expected:
        return None
    step = effect_of(halved, ignores_tolerance=True)
    if step.enough is None:
        return step
    # An error of first order is twice what half the step changes.
    least = 4.0 / step.enough
    power = 10.0 ** np.floor(np.log10(least))
    count = min(k * power for k in (1, 2, 5, 10) if k * power >= least)
    return dataclasses.replace(step, needed=problem.evaluation.substeps * count)


def _decade(tolerance: float) -> float:
    """Return the power of ten at or below a tolerance."""
    return float(f"1e{int(np.floor(np.log10(tolerance) + 1e-9))}")


class _Verification:
    """Computes a Jacobian that is exact enough for the standard errors."""

    def __init__(
        self,
        evaluator: Evaluator,
        p: F64,
        kept: npt.NDArray[np.intp],
        basis: F64,
        jacobian: F64,
        judge: Callable[[F64, F64 | None], ParameterStatistics],
        weighted: Callable[[F64], F64],
        integration: F64 | None,
    ) -> None:
        self._evaluator, self._p, self._kept, self._basis = evaluator, p, kept, basis
        self._jacobian, self._judge, self._weighted = jacobian, judge, weighted
        self._error = 0.0 if integration is None else float(np.linalg.norm(integration))
        self._rows = jacobian.shape[0]
        sizes = [abs(x) or q.scale for q, x in zip(evaluator.problem.free, p, strict=True)]
        self._sizes = np.array(sizes)

    def run(self) -> tuple[ParameterStatistics, float | None]:
        """Return the statistics, and the tolerance of the derivatives if it was tightened."""
        if self._evaluator.jacobian_is_exact(self._p):
            return self._exact()
        spread = self._compared()
        if spread is not None:
            statistics = self._judge(self._jacobian, spread)
            full = statistics.identifiability.rank == self._kept.size
            if full and self._good(statistics) and self._limit(statistics, spread) >= 1.0:
                return statistics, None
        best: tuple[ParameterStatistics, float | None] | None = None
        own, tolerance = self._evaluator.tolerance, None
        start = np.zeros_like(self._jacobian) if spread is None else spread
        directions = self._directions(self._jacobian, start)
        for attempt in range(_TIGHTENINGS + 1):
            statistics, share, directions = self._climb(directions, tolerance)
            if best is None or _worth(statistics) < _worth(best[0]):
                best = statistics, tolerance
            if self._good(statistics) and share >= 1.0:
                return statistics, tolerance
            present = own if tolerance is None else tolerance
            if not self._error or present is None or attempt == _TIGHTENINGS:
                break
            tighter = max(present * min(share, _LEAST_TIGHTENING), _TIGHTEST)
            if tighter >= present:
                break
            tolerance = _decade(tighter)
        assert best is not None
        return best

    def _exact(self) -> tuple[ParameterStatistics, float | None]:
        """Return the statistics from sensitivities, and their tolerance if it was tightened.

        They are compared with those at a hundredth of the tolerance; if that leaves something
        open, the tighter ones replace them, compared with even tighter ones.
        """
        jacobian, present = self._jacobian, self._evaluator.tolerance
        other = self._evaluator.other_columns(self._p)
        if other is None or not bool(np.isfinite(other).all()) or present is None:
            return self._judge(jacobian, None), None
        other = other @ self._basis
        best: tuple[ParameterStatistics, float | None] | None = None
        tolerance: float | None = None
        for attempt in range(_TIGHTENINGS + 1):
            statistics = self._judge(jacobian, other - jacobian)
            if best is None or _worth(statistics) < _worth(best[0]):
                best = statistics, tolerance
            tolerance = present * TIGHTER ** (attempt + 1)
            following = max(tolerance * TIGHTER, TIGHTEST)
            if self._good(statistics) or attempt == _TIGHTENINGS or following >= tolerance:
                break
            tightest = self._evaluator.exact_jacobian(self._p, following)
            if tightest is None:
                break
            jacobian, other = other, tightest @ self._basis
        assert best is not None
        return best

    def _good(self, found: ParameterStatistics) -> bool:
        identifiability = found.identifiability
        return float(found.doubts.max(initial=0.0)) <= _ACCURATE and not identifiability.undecided

    def _compared(self) -> F64 | None:
        """Return the difference to a Jacobian by longer steps; ``None`` if there is none."""
        other = self._evaluator.other_columns(self._p)
        moving = (self._basis[:, self._kept] != 0.0).any(axis=1)
        if other is None or not bool(np.isfinite(other[:, moving]).all()):
            return None
        other = np.where(moving, other, 0.0) @ self._basis
        return np.nan_to_num(other - self._jacobian)

    def _climb(
        self, directions: F64, tolerance: float | None
    ) -> tuple[ParameterStatistics, float, F64]:
        """Return the results of ladders along directions.

        The statistics have the Jacobian from the ladders; the second result is the fraction of
        the present tolerance that would suffice, 1 if the present one does; the third are
        better directions, from this Jacobian.
        """
        own = self._evaluator.tolerance
        finer = 1.0 if own is None or tolerance is None else tolerance / own
        level = self._error * finer / np.sqrt(self._rows)
        everything = np.zeros((self._p.size, self._kept.size))
        everything[self._kept] = directions
        climb = self._evaluator.climb(self._p, self._basis @ everything, level, tolerance)
        for number in range(_ROUNDS + 1):
            along = climb.found()
            lost = ~np.isfinite(along.values).all(axis=0)
            values = np.where(lost, self._jacobian @ everything, along.values)
            apart = np.where(lost, values, along.differences)
            jacobian, spread = self._jacobian.copy(), np.zeros_like(self._jacobian)
            jacobian[:, self._kept] = np.linalg.solve(directions.T, values.T).T
            spread[:, self._kept] = np.linalg.solve(directions.T, apart.T).T
            statistics = self._judge(jacobian, spread)
            if self._good(statistics) or number == _ROUNDS:
                break
            lengths = np.linalg.norm(self._weighted(apart), axis=0)
            needed = np.maximum(
                np.linalg.norm(self._weighted(values), axis=0),
                self._relevant(directions, statistics),
            )
            crude = np.flatnonzero(lengths > _CRUDE * needed)
            if not climb.refine([int(k) for k in crude]):
                break
        share = self._limit(statistics, spread, finer)
        if not self._good(statistics):
            lengths = np.linalg.norm(self._weighted(apart), axis=0)
            worst = float(np.max(lengths / np.maximum(needed, _EPS), initial=0.0))
            share = min(share, _CRUDE / worst if worst > 0.0 else 1.0)
        return statistics, share, self._directions(jacobian, spread)

    def _limit(self, found: ParameterStatistics, spread: F64, finer: float = 1.0) -> float:
        """Return the fraction of the tolerance at which integration does not limit derivatives.

        The integration error could be all jumps, or depend on the parameters: along the longest
        step it changes the derivative by its size over the step. 1 if that does not matter.
        """
        if not self._error:
            return 1.0
        directions = self._directions(found.linearisation.jacobian, self._weighted(spread))
        seen = np.linalg.norm(found.linearisation.jacobian[:, self._kept] @ directions, axis=0)
        needed = np.maximum(seen, self._relevant(directions, found))
        reach = _FAR / np.max(np.abs(directions) / self._sizes[self._kept, np.newaxis], axis=0)
        allowed = _LIMITED * needed * reach
        return float(np.min(allowed / (self._error * finer), initial=1.0))

    def _relevant(self, directions: F64, found: ParameterStatistics) -> F64:
        """Return the smallest derivative along each direction that the data determine, (k,)."""
        shifts = np.max(np.abs(directions) / self._sizes[self._kept, np.newaxis], axis=0)
        relevant: F64 = found.linearisation.noise * shifts / _UNDETERMINED
        return np.nan_to_num(relevant)

    def _directions(self, jacobian: F64, spread: F64) -> F64:
        """Return the singular directions in physical parameters as columns, shape (k, k).

        In each, the scaled parameters move by 1 in total. A column that is smaller than its
        error is scaled by that error.
        """
        jacobian, errors = jacobian[:, self._kept], np.linalg.norm(spread[:, self._kept], axis=0)
        norms = np.maximum(np.linalg.norm(jacobian, axis=0), errors)
        norms = np.where(norms > 0.0, norms, 1.0)
        scaled = jacobian / norms
        scaled[:, norms <= errors / INVISIBLE] = 0.0
        _, _, right = np.linalg.svd(np.linalg.qr(scaled, mode="r"), full_matrices=True)
        directions: F64 = right.T / norms[:, np.newaxis]
        return directions


def _worth(found: ParameterStatistics) -> tuple[int, float]:
    """Return a sort key that is lower for better statistics."""
    return len(found.identifiability.undecided), float(found.doubts.max(initial=0.0))


def one_sided(
    problem: Problem,
    p: F64,
    held: Flags,
    found: Found,
    judge: Callable[[Flags], ParameterStatistics],
) -> Found:
    """Return statistics with an interval for each parameter on a bound.

    `judge` returns the statistics with given parameters held.
    """
    if not held.any():
        return found
    intervals = found.intervals.copy()
    for j in np.flatnonzero(held):
        alone = held.copy()
        alone[j] = False
        intervals[j] = _interval(problem, p, int(j), judge(alone))
    return dataclasses.replace(found, intervals=intervals)


def _interval(problem: Problem, p: F64, j: int, free: ParameterStatistics) -> tuple[float, float]:
    value, error = float(p[j]), float(free.standard_errors[j])
    inward = 1.0 if value - problem.lower[j] <= problem.upper[j] - value else -1.0
    if not np.isfinite(error):
        lost = bool(np.isinf(free.intervals[j]).all())
        reach = np.inf if lost else np.nan
    else:
        beyond = min(inward * float(free.remaining_step[j]), 0.0)
        half = student_quantile(0.5 * (1.0 + _LEVEL), float(free.freedoms[j])) * error
        # d + sqrt(d^2 + h^2), without the difference of numbers that are nearly equal
        reach = half * (half / (np.hypot(beyond, half) - beyond)) if half > 0.0 else 0.0
    if np.isnan(reach):
        return np.nan, np.nan
    other = value + inward * reach
    return (value, other) if inward > 0.0 else (other, value)
