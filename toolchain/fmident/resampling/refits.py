"""Estimate a replicate by Gauss-Newton steps from the estimate of the data.

A replicate changes only the data, so its residuals are those of the problem plus a
constant vector: points, simulations and Jacobians are those of the problem. All
replicates start with the linearisation at the estimate, so that their first step takes
no simulation; each later simulation includes its sensitivities. The search ends when a
step with the last Jacobian would gain almost nothing, measured in standard errors; that
step is still taken, as its error is of second order. Thus no estimate is purely
linearised without a simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear

from fmident.arrays import F64
from fmident.evaluation import Evaluator, JacobianError
from fmident.problem.priors import Priors
from fmident.statistics.rank import analyse_rank

CLOSE = 0.02
"""Length of the step that is left at the end, in standard errors of all parameters together."""

_MOST_STEPS = 30
_FIRST_DAMPING, _RAISE, _LOWER = 1e-2, 10.0, 0.1
_LARGEST_DAMPING = 1e8
_SUFFICIENT = 1e-4
_PRODUCTS = 200_000
"""Multiplications of one product of matrices."""


@dataclass(frozen=True, eq=False)
class StartingPoint:
    """The estimate, from which all replicates start.

    `z` is in the search space and `p` in physical units, shape (n,). `residuals` are those
    of the data alone, whitened, shape (m,), with the `jacobian` with respect to the
    physical parameters, shape (m, n). The columns of `directions`, shape (n, k), span what
    data and priors determine in the search space, scaled such that residuals change by one
    standard deviation along each. `spread` is the standard deviation of the residuals'
    noise.
    """

    z: F64
    p: F64
    residuals: F64
    jacobian: F64
    directions: F64
    spread: float


@dataclass(frozen=True, eq=False)
class Refit:
    """The estimate of one replicate, in physical units, shape (n,).

    `cost` is ``1/2 sum r^2`` there as predicted by the last step. `simulated` are the
    residuals of the data of the problem, not of the replicate, at the last simulated point
    plus the predicted change to `p`, shape (m,). `steps` is the number of simulated points,
    and `failure` says why there is no estimate, if so.
    """

    p: F64
    cost: float
    simulated: F64
    steps: int
    failure: str = ""


def starting_point(evaluator: Evaluator, p: F64, spread: float) -> StartingPoint:
    """Return the start of all replicates at an estimate `p`, shape (n,).

    `spread` is the standard deviation of the noise of the residuals. Raises `JacobianError`
    if the Jacobian cannot be computed.
    """
    space = evaluator.space
    scale = space.derivative(p)
    whole = evaluator.jacobian(p) * scale
    errors = evaluator.column_errors(p)
    rank_analysis = analyse_rank(whole, None if errors is None else errors * np.abs(scale))
    directions = rank_analysis.back * spread
    return StartingPoint(
        space.from_physical(p),
        p,
        evaluator.data_residuals(p),
        evaluator.data_jacobian(p),
        directions,
        spread,
    )


def refined(evaluator: Evaluator, origin: StartingPoint, close: float) -> Refit:
    """Return the minimum for the data themselves near an estimate.

    The estimate is returned unchanged if the remaining step is shorter than `close`
    standard errors.
    """
    nothing = np.zeros(origin.residuals.size)
    return _Refit(evaluator, origin, nothing, Priors.of(evaluator.problem)).run(close, 0)


def refit(
    evaluator: Evaluator,
    origin: StartingPoint,
    shift: F64,
    priors: Priors,
    whiten: Callable[[F64], F64] = np.asarray,
) -> Refit:
    """Return the estimate of a replicate.

    `shift` is the difference of its residuals from those of the problem, shape (m,), and
    `priors` are its own. The evaluator may be a branch. `whiten` is applied to its residuals and
    derivatives; those of `origin` and `shift` are whitened already.
    """
    return _Refit(evaluator, origin, shift, priors, whiten).run(CLOSE, 1)


@dataclass(frozen=True, eq=False)
class _State:
    """A point of a search: residuals and Jacobian of the replicate in reduced coordinates."""

    z: F64
    p: F64
    data: F64
    jacobian: F64
    cost: float
    gram: F64
    gradient: F64


class _Refit:
    def __init__(
        self,
        evaluator: Evaluator,
        origin: StartingPoint,
        shift: F64,
        priors: Priors,
        whiten: Callable[[F64], F64] = np.asarray,
    ) -> None:
        self._evaluator, self._origin, self._whiten = evaluator, origin, whiten
        self._shift, self._priors = shift, priors
        self._space = evaluator.space
        problem = evaluator.problem
        self._low, self._high = problem.lower, problem.upper
        self._steps = 0

    def run(self, close: float, least: int) -> Refit:
        """Search until the remaining step is short and at least `least` points are simulated."""
        origin = self._origin
        state = self._state(origin.z, origin.p, origin.residuals, origin.jacobian)
        damping, enough = 0.0, 0.5 * (close * origin.spread) ** 2
        for _ in range(_MOST_STEPS):
            move, gain = self._step(state, damping)
            if not least and not self._steps and gain <= enough:
                return self._ended(state, np.zeros(state.z.size), 0.0)
            if self._steps >= least and gain <= enough and damping == 0.0:
                return self._ended(state, move, gain)
            trial = self._at(state.z + move)
            if trial is not None and trial.cost <= state.cost - _SUFFICIENT * gain:
                state = trial
                damping = 0.0 if damping <= _FIRST_DAMPING else damping * _LOWER
                continue
            if trial is not None and gain <= enough:
                # Rounding and the errors of the simulation are all that is left.
                return self._ended(state, np.zeros(state.z.size), 0.0)
            damping = max(damping * _RAISE, _FIRST_DAMPING)
            if damping > _LARGEST_DAMPING:
                reason = str(self._evaluator.last_failure or "") if trial is None else ""
                return self._failed(state, reason or "no step lowers the cost")
        return self._failed(state, f"not at its minimum after {_MOST_STEPS} steps")

    def _at(self, z: F64) -> _State | None:
        """Return the state at a point; ``None`` if the simulation fails."""
        p = np.clip(self._space.to_physical(z), self._low, self._high)
        self._steps += 1
        try:
            # The Jacobian first: its simulation has the residuals, too.
            jacobian = self._whiten(self._evaluator.data_jacobian(p))
            data = self._whiten(self._evaluator.data_residuals(p))
        except JacobianError:
            return None
        if not bool(np.isfinite(data).all() and np.isfinite(jacobian).all()):
            return None
        return self._state(self._space.from_physical(p), p, data, jacobian)

    def _state(self, z: F64, p: F64, data: F64, jacobian: F64) -> _State:
        whole, slopes = self._with_priors(p, data, jacobian)
        basis = self._space.derivative(p)[:, np.newaxis] * self._origin.directions
        square = squares_of(slopes, basis, whole)
        return _State(
            z, p, data, jacobian, 0.5 * float(square[-1, -1]), square[:-1, :-1], square[:-1, -1]
        )

    def _with_priors(self, p: F64, data: F64, jacobian: F64) -> tuple[F64, F64]:
        own = data + self._shift
        if not self._priors.count:
            return own, jacobian
        return (
            self._priors.with_rows(p, own),
            self._priors.with_slopes(p, own, jacobian, np.eye(p.size)),
        )

    def _step(self, state: _State, damping: float) -> tuple[F64, float]:
        """Return the bounded step in the search space, and its predicted gain."""
        directions, unit = self._origin.directions, self._origin.spread**2
        if directions.shape[1] == 0:
            return np.zeros(state.z.size), 0.0
        gram = state.gram + damping * unit * np.eye(directions.shape[1])
        u: F64 = np.asarray(np.linalg.solve(gram, -state.gradient), dtype=np.float64)
        move: F64 = directions @ u
        low, high = self._space.lower - state.z, self._space.upper - state.z
        if not bool(((move >= low) & (move <= high)).all()):
            move, u = self._bounded(gram, state.gradient, low, high)
        gain = -float(state.gradient @ u) - 0.5 * float(u @ state.gram @ u)
        return move, max(gain, 0.0)

    def _bounded(self, gram: F64, gradient: F64, low: F64, high: F64) -> tuple[F64, F64]:
        """Return the step of minimum linearised cost within bounds, and its reduced coordinates."""
        inverse = np.linalg.pinv(self._origin.directions)
        root = np.linalg.cholesky(gram).T
        target = -np.linalg.solve(root.T, gradient)
        tight = np.nextafter(low, -np.inf)  # a parameter on its bound has no room at all
        norms: F64 = np.asarray(np.linalg.norm(root @ inverse, axis=0), dtype=np.float64)
        sizes = 1.0 / np.maximum(norms, 1e-300)
        solution = lsq_linear(
            root @ inverse * sizes, target, (tight / sizes, high / sizes), method="bvls"
        )
        move: F64 = np.clip(solution.x * sizes, np.minimum(low, 0.0), np.maximum(high, 0.0))
        return move, inverse @ move

    def _ended(self, state: _State, move: F64, gain: float) -> Refit:
        p = np.clip(self._space.to_physical(state.z + move), self._low, self._high)
        data = state.data + np.einsum("ij,j->i", state.jacobian, p - state.p)
        return Refit(p, state.cost - gain, data, self._steps)

    def _failed(self, state: _State, reason: str) -> Refit:
        return Refit(state.p, state.cost, state.data, self._steps, reason)


def squares_of(jacobian: F64, basis: F64, residuals: F64) -> F64:
    """Return the Gram matrix of ``[jacobian @ basis, residuals]``, shape (k + 1, k + 1).

    It is computed in blocks of rows: products of tall matrices would start threads, which
    costs more than it saves while other replicates are simulated.
    """
    count = basis.shape[1] + 1
    gram = np.zeros((count, count))
    step = max(_PRODUCTS // (count * max(count, basis.shape[0])), 1)
    for begin in range(0, residuals.size, step):
        rows = slice(begin, begin + step)
        part = np.empty((residuals[rows].size, count))
        np.matmul(jacobian[rows], basis, out=part[:, :-1])
        part[:, -1] = residuals[rows]
        gram += part.T @ part
    return gram
