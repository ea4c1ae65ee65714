"""What both solvers see: residuals and Jacobian in the search space, and progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fmident._types import F64
from fmident.estimation.contract import Monitor, Status
from fmident.evaluation import Evaluator
from fmident.problem.model import Problem
from fmident.statistics import analyse_rank
from fmident_estimators.least_squares.losses import robust_cost, robust_residuals
from fmident_estimators.least_squares.options import LeastSquaresOptions

_LATELY = 2
"""Iterations within which a failed simulation casts doubt on convergence."""

_NOT_CONVERGED = 1e-4
"""Fraction of the cost that a converged search may still promise to remove."""


@dataclass(frozen=True)
class LocalResult:
    """End of one local search.

    Parameters
    ----------
    start, parameters
        Physical, shape (n,).
    cost
        At `parameters`, robust loss included.
    status, message
        How it ended.
    iterations
        Accepted steps.
    """

    start: F64
    parameters: F64
    cost: float
    status: Status
    message: str
    iterations: int

    def as_mapping(self) -> Mapping[str, object]:
        """Return the content for the result's settings."""
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

    def report(self, parameters: F64, cost: float, start: int = 1, **details: float) -> None:
        """Report an accepted point of the search from a start, counted from 1."""
        if cost < self.cost or self.best.size == 0:
            self.best, self.cost = parameters.copy(), cost
        extra: dict[str, float] = {}
        if self.starts > 1:
            extra = {"start": start, "starts": self.starts, "local_cost": cost}
        self.monitor.iteration(self.best, self.cost, **extra, **details)


class LocalSearch:
    """One search in the search space of the problem.

    Parameters
    ----------
    problem, evaluator, options, progress
        What it works on.
    start
        Physical parameters, shape (n,).
    number
        Of the start, counted from 1.
    """

    def __init__(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: LeastSquaresOptions,
        progress: Progress,
        start: F64,
        number: int = 1,
    ) -> None:
        self.options = options
        self.space = evaluator.space
        self.start = np.clip(start, problem.lower, problem.upper)
        self.z0 = self.space.from_physical(self.start)
        self.iterations = 0
        self._number = number
        self._origin = self.start
        self._updated = False
        self._may_update = True
        self._accepted: F64 | None = None
        self._last_failed: int | None = None
        self._lower, self._upper = problem.lower, problem.upper
        self._evaluator = evaluator
        self._progress = progress

    def physical(self, z: F64) -> F64:
        """Return the physical point, inside the bounds and without rounding at the start."""
        # z -> p -> z need not be exact, and another last bit would cost a simulation.
        p = np.where(z == self.z0, self.start, self.space.to_physical(z))
        bounded: F64 = np.clip(p, self._lower, self._upper)
        return bounded

    def residuals(self, z: F64) -> F64:
        """Return the whitened residuals, shape (m,); NaN where the simulation fails.

        Raises
        ------
        Stalled
            A step computed with an updated Jacobian is no improvement.
        """
        r = self._evaluator.residuals(self.physical(z))
        if not bool(np.isfinite(r).all()):
            self._last_failed = self.iterations
        if self._updated and self._accepted is not None:
            moved = not np.array_equal(z, self._accepted)
            if moved and not self.cost_of(r) < self.cost(self._accepted):
                raise Stalled(self._accepted)
        return r

    def cost(self, z: F64) -> float:
        """Return the cost, robust loss included."""
        return self.cost_of(self._evaluator.residuals(self.physical(z)))

    def cost_of(self, residuals: F64) -> float:
        """Return the cost of residuals, robust loss included."""
        return robust_cost(self.options.loss, self.options.loss_scale, residuals)

    def jacobian(self, z: F64) -> F64:
        """Return the derivative of the residuals in the search space, shape (m, n).

        Updated from the last one where the problem allows it and the search goes well.

        Raises
        ------
        Stalled
            Differences are due after updates, which have shrunk the solver's trust region.
        """
        p = self.physical(z)
        found = self._evaluator.updated_jacobian(p) if self._may_update else None
        if found is None and self._updated:
            raise Stalled(z)
        self._updated = found is not None
        if found is None:
            found = self._evaluator.jacobian(p)
        scaled: F64 = found * self.space.derivative(p)
        return scaled

    def run(self, solve: Callable[[LocalSearch], LocalResult]) -> LocalResult:
        """Search with a solver, anew where an updated Jacobian leads no further.

        The end of a search that rests on an updated Jacobian is no convergence: the search
        goes on from there, and from then on with those by differences only.

        Parameters
        ----------
        solve
            Runs the search from :attr:`z0`.

        Raises
        ------
        fmident.evaluation.JacobianError
            The Jacobian cannot be computed.
        """
        while True:
            try:
                result = solve(self)
            except Stalled as end:
                self._start_at(end.z)
                continue
            if not self._updated or result.status != "converged":
                return result
            self._may_update = False
            self._start_at(self.space.from_physical(result.parameters), result.parameters)

    def _start_at(self, z: F64, p: F64 | None = None) -> None:
        """Let the next solver start here, with a Jacobian by differences."""
        self.start = self.physical(z) if p is None else p
        self.z0 = z.copy()
        self._updated = False
        self._evaluator.jacobian(self.start)

    def has_full_rank(self, z: F64) -> bool:
        """Return whether the Jacobian at `z` has full rank beyond its own error."""
        p = self.physical(z)
        jacobian = self._evaluator.jacobian(p)
        return analyse_rank(jacobian, self._evaluator.column_errors(p)).rank == z.size

    def accept(self, z: F64, **details: float) -> None:
        """Report an accepted point; the first is the start.

        One of several starts has been reported before, with the others.
        """
        began = self._accepted is None
        if self._accepted is not None:
            if np.array_equal(z, self._accepted):
                return  # the start of a search that goes on
            self.iterations += 1
        self._accepted = z.copy()
        if began and self._progress.starts > 1:
            return
        self._progress.report(self.physical(z), self.cost(z), self._number, **details)

    def finish(self, z: F64, status: Status, message: str) -> LocalResult:
        """Return the result at `z`.

        Steps that become short because the simulation fails beyond are no convergence, so
        that claim is checked where simulations failed in the last iterations.

        Parameters
        ----------
        z
            Last accepted point.
        status, message
            How the solver ended.
        """
        failed_lately = (
            self._last_failed is not None and self.iterations - self._last_failed <= _LATELY
        )
        if status == "converged" and failed_lately and self._promised(z) > _NOT_CONVERGED:
            status = "limit"
            message = (
                "the search cannot go on: every further step leads to where the simulation "
                f"fails ({self._evaluator.last_failure})"
            )
        p = self.physical(z)
        return LocalResult(self._origin, p, self.cost(z), status, message, self.iterations)

    def blocked(self, z: F64, gradient: F64) -> npt.NDArray[np.bool_]:
        """Return which parameters lie on a bound that a descent pushes them against, (n,)."""
        low = (z <= self.space.lower) & (gradient > 0.0)
        high = (z >= self.space.upper) & (gradient < 0.0)
        return low | high

    def robust_system(self, z: F64) -> tuple[F64, F64]:
        """Return residuals whose squares sum to the robust cost, and their Jacobian.

        Columns of parameters that are :meth:`blocked` are zero.
        """
        plain = self._evaluator.residuals(self.physical(z))
        residuals, slope = robust_residuals(self.options.loss, self.options.loss_scale, plain)
        jacobian = self.jacobian(z) * slope[:, np.newaxis]
        jacobian[:, self.blocked(z, jacobian.T @ residuals)] = 0.0
        return residuals, jacobian

    def _promised(self, z: F64) -> float:
        """Return the fraction of the cost that the next Gauss-Newton step promises to remove."""
        residuals, jacobian = self.robust_system(z)
        step, *_ = np.linalg.lstsq(jacobian, residuals, rcond=None)
        power = float(residuals @ residuals)
        return float(np.sum((jacobian @ step) ** 2)) / power if power > 0.0 else 0.0


class Stalled(Exception):  # noqa: N818 - ends a solver so that it starts again
    """Updated Jacobians lead no further than to this point."""

    def __init__(self, z: F64) -> None:
        self.z = z.copy()
        super().__init__()


class IterationLimit(Exception):  # noqa: N818 - ends a solver that has no such limit
    """The limit of accepted steps is reached."""

    def __init__(self, z: F64) -> None:
        self.z = z.copy()
        super().__init__()
