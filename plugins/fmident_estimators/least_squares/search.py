"""One local search by SciPy's trust regions, and where it begins and ends.

Without bounds ``trf``. With bounds ``dogbox`` (Voglis and Lagaris, WSEAS Conf. on
Applied Mathematics, 2004), a dogleg in a box that treats bounds as an active set: on
the delta robot it converges with 5 Jacobians where ``trf``, whose scaling by the
distance to the bounds bends the Gauss-Newton step, takes 10. Its dogleg fails for a
rank-deficient Jacobian, for which ``trf`` is used again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from fmident.arrays import F64
from fmident.estimation.contract import Ending, Monitor, Status
from fmident.evaluation import Evaluator, EventMatching
from fmident.problem.model import Problem
from fmident.statistics.rank import DirectionErrors, analyse_rank
from fmident_estimators.descent import HeldNoise
from fmident_estimators.least_squares.convergence import (
    NOISE,
    JacobianErrors,
    RemainingStep,
    if_too_coarse,
    remaining_step,
)
from fmident_estimators.least_squares.kinks import minimum_at_kink
from fmident_estimators.least_squares.options import LeastSquaresOptions
from fmident_estimators.losses import Loss

_LATELY = 2
"""Iterations within which a failed simulation casts doubt on convergence."""

_SMALLEST_SIZE = 1e-6
"""Size of a parameter that comes near zero, in relation to where it started."""

_TINY = 0.1
"""A trial step that is no better ends the search when it is shorter than this part of the
tolerance: solvers try ever shorter ones."""

_LAST_STEPS = 4
"""Steps after the last that lowers the cost, by differences."""

_LAST_EXACT_STEPS = 40
"""The same with exact derivatives, which take a simulation each and show the minimum to the last
digits. They shrink by a constant factor, which is near one where the residuals are large."""

_ROUNDINGS = 1e2
"""Rounding in the formulas of a model, in that of its outputs."""

_FINEST = 1e-10
"""Step relative to the size of a parameter below which nothing is left in double precision."""

_BLUR = 3.0
"""Noise of the cost, in what independent noise of the residuals makes of it."""

_CONVERGED = "the remaining step is below step_tolerance"
_KINK = "the minimum is at a kink of the cost: its slope jumps from falling to rising there"

_MESSAGES = {
    0: "the limit of simulations is reached",
    1: "the gradient is below gradient_tolerance",
    2: "the cost changes by less than cost_tolerance",
    3: "no shorter step lowers the cost",
    4: "cost and step no longer change",
}
"""Messages by SciPy's status."""

_TRIALS_PER_ITERATION = 20

_PATIENCE = 50
"""Iterations after which another method continues if the dogleg has not converged."""

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class LocalResult:
    """Result of one local search.

    `start` and `parameters` are physical, shape (n,); `cost` includes the robust loss;
    `iterations` counts accepted steps; `ended_by` is that of
    :class:`~fmident.estimation.Estimate`.
    """

    start: F64
    parameters: F64
    cost: float
    status: Status
    message: str
    iterations: int
    ended_by: Ending | None = None

    def as_mapping(self) -> Mapping[str, object]:
        """Return the fields for the result's settings."""
        return {
            "start": self.start.tolist(),
            "parameters": self.parameters.tolist(),
            "cost": self.cost,
            "status": self.status,
            "iterations": self.iterations,
        }


@dataclass
class Progress:
    """Best point over all starts, reported to the monitor."""

    monitor: Monitor
    starts: int = 1
    best: F64 = field(default_factory=lambda: np.empty(0))
    cost: float = float("inf")

    def report(self, parameters: F64, cost: float, start: int = 1) -> None:
        """Report an accepted point of the search from a start, counted from 1."""
        if cost < self.cost or self.best.size == 0:
            self.best, self.cost = parameters.copy(), cost
        extra: dict[str, float] = {}
        if self.starts > 1:
            extra = {"start": start, "starts": self.starts, "local_cost": cost}
        self.monitor.iteration(self.best, self.cost, **extra)

    def ended(self, parameters: F64, cost: float) -> None:
        """Report the final point of one of several searches."""
        if self.starts > 1:
            self.monitor.search_ended(parameters, cost)


@dataclass(frozen=True)
class LeastSquaresProblem:
    """What all searches of one estimation minimise, by which options, and their progress."""

    problem: Problem
    evaluator: Evaluator
    options: LeastSquaresOptions
    progress: Progress

    @cached_property
    def loss(self) -> Loss:
        """Loss on the residuals of the data."""
        return Loss.of(self.problem, self.options.loss, self.options.loss_scale)


class SearchEnd(Exception):  # noqa: N818 - no error
    """Ends a solver at a point of the search space."""

    def __init__(self, z: F64, exact: bool = False) -> None:
        self.z, self.exact = z.copy(), exact
        super().__init__()


class Converged(SearchEnd):
    """No step remains from this point, by derivatives that may or may not be exact enough."""


class NoDescent(Converged):
    """Steps from this point do not lower the cost, or by less than its uncertainty."""


class Stalled(SearchEnd):
    """The method makes no more progress from this point; another one continues."""


class IterationLimit(SearchEnd):
    """The limit of accepted steps is reached."""


def _tolerance(value: float) -> float | None:
    """Return a tolerance that SciPy accepts; ``None`` disables it."""
    return max(value, _EPS) if value > 0.0 else None


def singular_directions(matrix: F64) -> tuple[F64, F64]:
    """Return all singular values, (n,), and the right singular vectors as rows, (n, n)."""
    # The R factor is small; the left vectors of all rows would take the memory of their square.
    triangle = np.linalg.qr(matrix, mode="r")
    _, values, right = np.linalg.svd(triangle, full_matrices=True)
    return np.append(values, np.zeros(matrix.shape[1] - values.size)), right


def _scaled_directions(jacobian: F64) -> F64:
    """Return directions as columns, shape (n, n): singular ones for columns of equal length."""
    norms = np.linalg.norm(jacobian, axis=0)
    safe = np.where(norms > 0.0, norms, 1.0)
    _, right = singular_directions(jacobian / safe)
    ways: F64 = right.T / safe[:, np.newaxis]
    return ways


def _refined(
    jacobian: F64, errors: JacobianErrors, ways: F64, along: F64, errors_along: F64
) -> tuple[F64, JacobianErrors]:
    """Return a Jacobian and its errors with better derivatives `along` the directions `ways`."""
    # Steps that suffice for intervals are not always better than those of the columns.
    known = errors.along(ways)
    better = errors_along < known
    values = np.where(better, along, jacobian @ ways)
    directions = DirectionErrors(ways, np.where(better, errors_along, known))
    refined = np.asarray(np.linalg.solve(ways.T, values.T).T, dtype=np.float64)
    return refined, JacobianErrors(directions.along(np.eye(len(ways))), directions)


class TrustRegionSearch:
    """One search in the search space of the problem.

    `start` holds physical parameters, shape (n,); `number` counts the starts from 1.
    `cautious` is set when the search begins again from its start because longer steps led to a
    plateau.
    """

    def __init__(self, least_squares: LeastSquaresProblem, start: F64, number: int = 1) -> None:
        problem, evaluator = least_squares.problem, least_squares.evaluator
        self.options = least_squares.options
        self.space = evaluator.space
        self.start = np.clip(start, problem.lower, problem.upper)
        self.z0 = self.space.from_physical(self.start)
        self.iterations = 0
        self._number = number
        self._origin = self.start
        self._accepted: F64 | None = None
        self._last_failed: int | None = None
        self.cautious = False
        self._plateau = False
        self._accurate = False
        self._remaining: tuple[F64, RemainingStep] | None = None
        self._acted: npt.NDArray[np.bool_] | None = None
        self._names = [q.name for q in problem.free]
        self._lower, self._upper = problem.lower, problem.upper
        self._evaluator = evaluator
        self._noise = HeldNoise(problem, evaluator)
        self._balancing = False
        self._matching = EventMatching(problem)
        self._progress, self._loss = least_squares.progress, least_squares.loss

    def physical(self, z: F64) -> F64:
        """Return the physical point within the bounds, without rounding at the start."""
        # z -> p -> z need not be exact, and another last bit would cost a simulation.
        p = np.where(z == self.z0, self.start, self.space.to_physical(z))
        bounded: F64 = np.clip(p, self._lower, self._upper)
        return bounded

    def residuals(self, z: F64) -> F64:
        """Return the whitened residuals, shape (m,); NaN where the simulation fails.

        Raises :class:`NoDescent` if a tiny step does not lower the cost.
        """
        p = self.physical(z)
        r = self._noise.residuals(p, self._evaluator.residuals(p))
        if not bool(np.isfinite(r).all()):
            self._last_failed = self.iterations
        accepted = self._accepted
        if accepted is None or np.array_equal(z, accepted):
            return r
        remaining, size = self._remaining_at(accepted), self._size(accepted)
        if remaining is not None:
            tiny = bool((np.abs(z - accepted) <= _TINY * self.options.step_tolerance * size).all())
            lost = remaining.promise <= self._blur(accepted)
            if (tiny or lost) and not self._loss.cost(r) < self.cost(accepted):
                # What is known of the cost may be a guess, as long as nothing was compared.
                known = tiny or self._accurate
                raise NoDescent(
                    accepted, known and remaining.exact(size, self.options.step_tolerance)
                )
        return r

    def cost(self, z: F64) -> float:
        """Return the cost, robust loss included."""
        return self._loss.cost(self._residuals_at(self.physical(z)))

    def _residuals_at(self, p: F64) -> F64:
        return self._noise.residuals(p, self._evaluator.residuals(p))

    def _jacobian_at(self, p: F64) -> F64:
        """Return the derivatives by the parameters of the search space, shape (m, n)."""
        rows = self._noise.derivatives(p, self._evaluator.jacobian(p))
        jacobian: F64 = rows * self.space.derivative(p)
        return jacobian

    def _reported_cost(self, z: F64) -> float:
        """Return the cost that searches are compared by, whatever noise is held here.

        Without a robust loss it is the evaluator's sum: another sum of the same squares has
        other rounding.
        """
        p = self.physical(z)
        if self._loss.robust:
            return self._loss.cost(self._evaluator.residuals(p))
        return self._evaluator.cost(p)

    def jacobian(self, z: F64) -> F64:
        """Return the derivative of the residuals in the search space, shape (m, n)."""
        p = self.physical(z)
        slope = self.space.derivative(p)
        scaled: F64 = self._noise.derivatives(p, self._evaluator.jacobian(p)) * slope
        along = None
        if self._accurate:
            ways = _scaled_directions(scaled)
            physical = ways * slope[:, np.newaxis]
            along = self._evaluator.directional_derivatives(p, physical)
        errors = JacobianErrors(self._column_errors(p))  # with what `along` has shown of them
        if along is not None:
            values = self._noise.derivatives(p, along.values, physical)
            if bool(np.isfinite(values).all()):
                scaled, errors = _refined(scaled, errors, ways, values, along.errors)
        self._test_convergence(z, p, scaled, errors)
        return scaled

    def run(self) -> LocalResult:
        """Search from :attr:`z0`, again where SciPy makes no more progress."""
        if self._noise.weighs:
            self._balance()
        while True:
            try:
                result = self._solve()
            except Stalled as end:
                self._start_at(end.z)
                continue
            except Converged as end:
                if not self._accurate and not end.exact:
                    self._accurate = True
                    self._start_at(end.z)
                    continue
                self.accept(end.z)
                result = self._settle(end.z, lost=isinstance(end, NoDescent))
            auto = self.options.method == "auto"
            if self._plateau and auto and self._bounded and not self.cautious:
                self.cautious = True
                self._accurate, self._plateau = False, False
                self._accepted, self._remaining = None, None
                self._start_at(self.space.from_physical(self._origin), self._origin)
                if self._noise.weighs:
                    self._balance()
            elif self.iterations < self.options.max_iterations and self._noise.outdated(
                result.parameters
            ):
                # Better derivatives have led further than those with which noise was found.
                self._start_at(self.space.from_physical(result.parameters), result.parameters)
                self._balance()
            else:
                return result

    def _balance(self) -> None:
        """Find the noise level that weighs the priors by successive searches.

        Each begins at the end of the previous one. The last one has no step to take, so that
        the next search starts at the minimum.
        """
        self._balancing = True
        try:
            while self._noise.hold(self.start) and self.iterations < self.options.max_iterations:
                self._remaining = None  # of other residuals
                try:
                    p = self._solve().parameters
                    self._start_at(self.space.from_physical(p), p)
                except (Converged, Stalled) as end:
                    self._start_at(end.z)
                self.accept(self.z0)
        finally:
            self._balancing = False
        self._remaining = None

    def _solve(self) -> LocalResult:
        """Run SciPy, which requests a Jacobian at each accepted point and only there.

        Trial points with NaN residuals shrink its trust region.
        """
        options, lower, upper = self.options, self.space.lower, self.space.upper
        if not bool(np.isfinite(self.residuals(self.z0)).all()):
            raise ValueError("the start of a local search must be a point that can be simulated")
        method = self._method()
        patient = method == "trf" or options.method != "auto"

        def jacobian(z: F64) -> F64:
            self.accept(z)
            if self.iterations >= options.max_iterations:
                raise IterationLimit(z)
            if not patient and self.iterations >= _PATIENCE:
                raise Stalled(z)
            return self.jacobian(z)

        try:
            with np.errstate(over="ignore"):  # such trial points are rejected
                solution = least_squares(
                    self.residuals,
                    self.z0,
                    jac=jacobian,
                    bounds=(lower, upper),
                    method=method,
                    x_scale="jac",
                    loss=self._loss.scipy,
                    f_scale=options.loss_scale,
                    ftol=_tolerance(options.cost_tolerance),
                    xtol=_EPS,
                    gtol=_tolerance(options.gradient_tolerance),
                    max_nfev=_TRIALS_PER_ITERATION * options.max_iterations,
                )
        except IterationLimit as limit:
            message = f"the limit of {options.max_iterations} iterations is reached"
            return self.finish(limit.z, "limit", message)
        z, active, status = solution.x, solution.active_mask, int(solution.status)
        # The iterates of `trf` stay strictly within the bounds.
        on_bounds = np.where(active < 0, lower, np.where(active > 0, upper, z))
        if self.cost(on_bounds) <= self.cost(z) * (1.0 + options.cost_tolerance):
            z = on_bounds
        return self.finish(z, "limit" if status == 0 else "converged", _MESSAGES[status])

    @property
    def _bounded(self) -> bool:
        return bool(np.isfinite([self.space.lower, self.space.upper]).any())

    def _method(self) -> Literal["trf", "dogbox"]:
        if self.options.method != "auto":
            return self.options.method
        if not self._bounded or self.cautious or self.iterations >= _PATIENCE:
            return "trf"
        # SciPy asks for the same Jacobian next, so this costs nothing.
        p = self.physical(self.z0)
        rank = analyse_rank(
            self._noise.derivatives(p, self._evaluator.jacobian(p)),
            self._evaluator.column_errors(p),
        ).rank
        return "dogbox" if rank == p.size else "trf"

    def _settle(self, z: F64, lost: bool) -> LocalResult:
        """Take the last steps, which change the cost by less than its uncertainty.

        Near the minimum the cost is flat, and the gradient is far more accurate. With exact
        derivatives the steps continue until noise or rounding hides the rest. `lost` is true if
        the search ended at `z` because no step lowers the cost, not because the remaining step
        is small.
        """
        message = "no further step lowers the cost" if lost else _CONVERGED
        exact = self._evaluator.jacobian_is_exact(self.physical(z))
        if exact and self._significant_step(z) is not None and not self._accurate:
            self._accurate = True  # which also measures the noise
            with contextlib.suppress(Converged):
                self.jacobian(z)
        for _ in range(_LAST_EXACT_STEPS if exact else _LAST_STEPS * lost):
            left = self._significant_step(z)
            if left is None:
                break
            new = np.clip(z + left.step, self.space.lower, self.space.upper)
            blur = self._blur(z) * (_ROUNDINGS if exact else 1.0)
            if not self.cost(new) <= self.cost(z) + blur:
                break
            try:
                self.jacobian(new)
            except Converged as end:
                message = _CONVERGED
                if not (exact and np.array_equal(end.z, new)):
                    self.accept(end.z)
                    return self.finish(end.z, "converged", message)
            following = self._remaining_at(new)
            if following is None or following.length >= left.length:
                break
            self.accept(new)
            z = new
        return self.finish(z, "converged", message)

    def _remaining_at(self, z: F64) -> RemainingStep | None:
        """Return the remaining step from `z`; ``None`` if it was last computed elsewhere."""
        if self._remaining is None or not np.array_equal(self._remaining[0], z):
            return None
        return self._remaining[1]

    def _significant_step(self, z: F64) -> RemainingStep | None:
        """Return the remaining step from `z` if it is known to exceed noise and rounding."""
        remaining = self._remaining_at(z)
        if remaining is None:
            return None
        nothing = np.maximum(_FINEST * self._size(z), NOISE * remaining.noise)
        return None if bool((np.abs(remaining.step) <= nothing).all()) else remaining

    def _start_at(self, z: F64, p: F64 | None = None) -> None:
        """Set the next solver's start, with a Jacobian by differences."""
        self.start = self.physical(z) if p is None else p
        self.z0 = z.copy()
        self._evaluator.jacobian(self.start)

    def accept(self, z: F64) -> None:
        """Report an accepted point; the start was reported before if there are several."""
        if self._accepted is not None and np.array_equal(z, self._accepted):
            return  # the start of a search that continues
        began = self._accepted is None
        self.iterations += not began
        self._accepted = z.copy()
        if not (began and (self.cautious or self._progress.starts > 1)):
            self._progress.report(self.physical(z), self._reported_cost(z), self._number)

    def finish(self, z: F64, status: Status, message: str) -> LocalResult:
        """Return the result at `z`, the last accepted point.

        Convergence reported by the solver is verified: steps also become short on a plateau, in
        noise and where simulations fail.
        """
        p = self.physical(z)
        ended_by: Ending | None = None
        if self._balancing:
            return LocalResult(self._origin, p, self.cost(z), status, message, self.iterations)
        if status == "converged":
            ended_by, message = self._verified(z, p, message)
            if ended_by == "stuck" and (kink := self._kink(z)) is not None:
                z, ended_by, message = kink, None, _KINK
                self.accept(z)
            status = "converged" if ended_by is None else "limit"
        p, cost = self.physical(z), self._reported_cost(z)
        self._progress.ended(p, cost)
        return LocalResult(self._origin, p, cost, status, message, self.iterations, ended_by)

    def _kink(self, z: F64) -> F64 | None:
        """Return the minimum at a kink of the cost next to `z`, if exact derivatives show one."""

        def linear(point: F64) -> tuple[F64, F64]:
            q = self.physical(point)
            return self._weighted(self._residuals_at(q), self._jacobian_at(q))

        if not self._evaluator.jacobian_is_exact(self.physical(z)):
            return None
        kink = minimum_at_kink(z, linear, self.space.lower, self.space.upper)
        return None if kink is None or self.cost(kink) > self.cost(z) else kink

    def _weighted(self, residuals: F64, jacobian: F64) -> tuple[F64, F64]:
        """Return residuals and Jacobian with which a robust loss is a sum of squares."""
        weighted, slope = self._loss.residuals(residuals)
        return weighted, jacobian * slope[:, np.newaxis]

    def _test_convergence(self, z: F64, p: F64, jacobian: F64, errors: JacobianErrors) -> None:
        """Compute the remaining step; raises :class:`Converged` if it is negligible."""
        remaining = remaining_step(
            *self._weighted(self._residuals_at(p), jacobian),
            errors,
            self._simulation_noise(p),
            (self.space.lower - z, self.space.upper - z),
        )
        acts = np.linalg.norm(jacobian, axis=0) > errors.columns
        if self._acted is None:
            self._acted = acts
        before = (
            None
            if self._remaining is None or np.array_equal(self._remaining[0], z)
            else self._remaining[1]
        )
        self._remaining = (z.copy(), remaining)
        size, tolerance = self._size(z), self.options.step_tolerance
        if remaining.negligible(size, tolerance, before):
            raise Converged(self._onto_bounds(z, remaining), remaining.exact(size, tolerance))

    def _onto_bounds(self, z: F64, remaining: RemainingStep) -> F64:
        """Return `z` with parameters whose step goes to a bound set to it, if that is no worse."""
        ends = np.clip(z + remaining.step, self.space.lower, self.space.upper)
        on_bounds = np.where(remaining.at_bound, ends, z)
        if np.array_equal(on_bounds, z) or not self.cost(on_bounds) <= self.cost(z):
            return z
        return on_bounds

    def _verified(self, z: F64, p: F64, message: str) -> tuple[Ending | None, str]:
        """Return what ended a search that a solver calls converged, ``None`` if it converged."""
        self._plateau = False
        if self._matching.exact(self._evaluator.residuals(p), None):
            return None, message
        if self._remaining_at(z) is None:
            with contextlib.suppress(Converged):
                self.jacobian(z)
        remaining = self._remaining_at(z)
        assert remaining is not None
        size, tolerance = self._size(z), self.options.step_tolerance
        silent = self._without_influence(p)
        lost = self._named(silent & self._acted) if self._acted is not None else ""
        self._plateau = bool(lost)
        if lost:
            return "plateau", (
                f"the search ended on a plateau, where the influence of {lost} is no longer"
                " distinguishable from zero"
            )
        if bool(silent.all()):
            return "plateau", (
                "there is no direction to search in: the influence of"
                f" {self._named(silent)} is not distinguishable from zero"
            )
        if remaining.insignificant(size, tolerance):
            return None, message
        failed = self._last_failed is not None and self.iterations - self._last_failed <= _LATELY
        if failed:
            return "stuck", (
                "the search cannot go on: every further step leads to where the simulation "
                f"fails ({self._evaluator.last_failure})"
            )
        left = f"a step of {remaining.length:.2g} standard errors remains"
        if remaining.hidden_by_noise():
            return None, f"the noise of the simulation hides further descent ({left})"
        return "stuck", f"{message}, but {left}{if_too_coarse(self._evaluator.tolerance)}"

    def _without_influence(self, p: F64) -> npt.NDArray[np.bool_]:
        """Return which parameters have no detectable influence, shape (n,)."""
        lengths = np.linalg.norm(self._jacobian_at(p), axis=0)
        silent: npt.NDArray[np.bool_] = lengths <= self._column_errors(p)
        return silent

    def _named(self, chosen: npt.NDArray[np.bool_]) -> str:
        return ", ".join(n for n, one in zip(self._names, chosen, strict=True) if one)

    def _column_errors(self, p: F64) -> F64:
        """Return the expected errors of the Jacobian's columns in the search space, shape (n,)."""
        errors = self._evaluator.column_errors(p)
        if errors is None:
            return np.zeros(p.size)
        lengths: F64 = errors * np.abs(self.space.derivative(p))
        return lengths

    def _simulation_noise(self, p: F64) -> float:
        steps = self._evaluator.step_sizes
        if steps is not None:
            return steps.noise_or_rounding
        # Before it was measured it is no more than a guess.
        return self._evaluator.noise(p) if self._accurate else 0.0

    def _size(self, z: F64) -> F64:
        """Return the size of the parameters in the search space, shape (n,)."""
        first = np.abs(self.space.from_physical(self._origin))
        size = np.maximum(np.abs(z), _SMALLEST_SIZE * np.where(first > 0.0, first, 1.0))
        relative: F64 = np.where(self.space.log, 1.0, size)
        return relative

    def _blur(self, z: F64) -> float:
        """Return the difference of costs that noise and rounding may cause."""
        length = float(np.sqrt(2.0 * self.cost(z)))
        noise = self._evaluator.noise(self.physical(z))
        return _BLUR * (noise + _EPS * length) * length
