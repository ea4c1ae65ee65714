"""The estimator ``scipy-minimize``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import optimize

from fmident.arrays import F64
from fmident.estimation.contract import Estimate, Estimator, Monitor
from fmident.evaluation import Evaluator
from fmident.options import POSITIVE, Options, Range
from fmident.problem.constraints import VIOLATED, Constraints, nearest_feasible
from fmident.problem.model import Problem
from fmident_estimators.descent import HeldNoise, simulations_of_a_jacobian
from fmident_estimators.losses import Loss, LossName

_USUAL_ITERATIONS = 12
_MANY_ITERATIONS = 60


_HALVINGS = 8
_TURNS = 100
"""Searches, each followed by a new noise level that weighs the priors, at most."""

_EPS = float(np.finfo(np.float64).eps)

_NOISE = 1e-9
"""Relative change of the cost that the simulations do not show."""

_FAILED = 10.0
"""Cost of a point that cannot be simulated, in relation to the largest seen: steps grow shorter."""


@dataclass(frozen=True)
class ScipyMinimizeOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    method
        ``"SLSQP"``: sequential quadratic programming, which takes fewer simulations;
        ``"trust-constr"``: a trust region with barriers for inequalities, which is more
        robust for strongly curved constraints.
    max_iterations
        Maximum number of iterations of the method, and of Gauss-Newton steps after it.
    cost_tolerance
        The method ends when the cost changes by less than this fraction of that at the
        start.
    step_tolerance
        Converged when the remaining constrained Gauss-Newton step is shorter than this
        fraction of each parameter, or lowers the cost by less than can be computed.
    loss
        Robust loss on each residual of the data; ``"linear"`` is none.
    loss_scale
        Whitened residual above which the loss departs from the square.
    """

    method: Literal["trust-constr", "SLSQP"] = "trust-constr"
    max_iterations: Annotated[int, Range(least=1)] = 200
    cost_tolerance: Annotated[float, POSITIVE] = 1e-6
    step_tolerance: Annotated[float, POSITIVE] = 1e-7
    loss: LossName = "linear"
    loss_scale: Annotated[float, POSITIVE] = 1.0


class ScipyMinimize(Estimator[ScipyMinimizeOptions]):
    """SciPy's SLSQP or trust-constr, completed by constrained Gauss-Newton steps."""

    name: ClassVar[str] = "scipy-minimize"
    summary: ClassVar[str] = (
        "constraints between parameters: SLSQP or trust-constr (SciPy), gradients of the cost"
    )
    descends: ClassVar[bool] = True
    keeps_constraints: ClassVar[bool] = True
    options_type: ClassVar[type[ScipyMinimizeOptions]] = ScipyMinimizeOptions

    def check_problem(self, problem: Problem, options: ScipyMinimizeOptions) -> None:
        """Reject a robust loss beside priors without sigma."""
        Loss.of(problem, options.loss, options.loss_scale)

    def expected_simulations(self, options: ScipyMinimizeOptions, problem: Problem) -> int:
        """Return some iterations with one gradient each."""
        return self._simulations(min(options.max_iterations, _USUAL_ITERATIONS), problem)

    def most_simulations(self, options: ScipyMinimizeOptions, problem: Problem) -> int:
        """Return the simulations of a long search."""
        return self._simulations(min(options.max_iterations, _MANY_ITERATIONS), problem)

    def _simulations(self, iterations: int, problem: Problem) -> int:
        variables, columns = simulations_of_a_jacobian(problem)
        return len(problem.experiments) * (7 + 2 * variables + iterations * (1 + columns))

    def estimate(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: ScipyMinimizeOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Search from the initial values, or from the nearest ones that satisfy the constraints."""
        loss = Loss.of(problem, options.loss, options.loss_scale)
        functions = ConstrainedCost(problem, evaluator, monitor, _start(problem, evaluator), loss)
        functions.report(functions.z0)
        if loss.robust:
            monitor.note(loss.note)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy's, of what the end of the search says
            outcome = _minimised(functions, options)
        z = np.clip(np.asarray(outcome.x, dtype=np.float64), functions.lower, functions.upper)
        if not (np.isfinite(z).all() and functions.cost(z) <= functions.cost(functions.z0)):
            z = evaluator.space.from_physical(functions.best)
        ended = complete_in_turn(functions, z, options.max_iterations, options.step_tolerance)
        p = functions.physical(ended.z)
        steps = f"{ended.steps} Gauss-Newton step{'s' * (ended.steps > 1)}"
        text = f"{options.method} took {int(outcome.nit)} iterations" + (
            f", {steps} {'completed it' if ended.arrived else 'followed'}" if ended.steps else ""
        )
        details = {
            "method_message": str(outcome.message).strip(),
            "method_status": int(outcome.status),
        }
        estimate = Estimate(
            p, "limit", text, details, residual_scores=loss.scores(evaluator.residuals(p))
        )
        left = functions.violation(ended.z)
        limited = ended.steps >= options.max_iterations
        if left > VIOLATED:
            limited = False
            text += (
                f"; the constraints are not kept: a distance of {left:.2g} is left, in sizes of the"
                " parameters"
            )
        elif ended.arrived:
            message = f"{text}; the remaining step is negligible"
            return replace(estimate, status="converged", message=message)
        elif limited:
            text += "; the limit of iterations is reached"
        else:
            text += "; no further step is lower"
        return replace(estimate, message=text, ended_by="limit" if limited else "stuck")


def _start(problem: Problem, evaluator: Evaluator) -> F64:
    near = nearest_feasible(problem, problem.initial)
    if near is None or not np.isfinite(evaluator.cost(near)):
        return problem.initial
    return near


def _minimised(functions: ConstrainedCost, options: ScipyMinimizeOptions) -> Any:
    minimize: Any = optimize.minimize
    settings: dict[str, float] = {"maxiter": options.max_iterations}
    if options.method == "SLSQP":
        settings["ftol"] = options.cost_tolerance
    else:
        settings["gtol"] = settings["barrier_tol"] = options.cost_tolerance
        settings["xtol"] = options.step_tolerance
    return minimize(
        functions.cost,
        functions.z0,
        method=options.method,
        jac=functions.gradient,
        hess=functions.hessian,
        bounds=optimize.Bounds(functions.lower, functions.upper),
        constraints=_nonlinear(functions),
        callback=lambda z, *_: functions.report(z),
        options=settings,
    )


def _nonlinear(functions: ConstrainedCost) -> Any:
    """Return the constraints with their exact Hessians, which SLSQP does not use."""
    if not len(functions.constraints):
        return []
    nonlinear: Any = optimize.NonlinearConstraint
    equal = functions.equalities
    return nonlinear(
        functions.values,
        np.zeros(equal.size),
        np.where(equal, 0.0, np.inf),
        jac=functions.slopes,
        hess=functions.curvature,
    )


@dataclass(frozen=True, eq=False)
class Completed:
    """Result of the steps: the point, whether no step remains, and the number of steps."""

    z: F64
    arrived: bool
    steps: int


def complete_in_turn(functions: ConstrainedCost, z: F64, most: int, tolerance: float) -> Completed:
    """Alternate steps and updates of the held noise until neither changes anything.

    Without priors nothing depends on that noise. The parameters are those of
    :func:`complete`.
    """
    steps = 0
    for _ in range(_TURNS):
        ended = complete(functions, z, most - steps, tolerance)
        z, steps = ended.z, steps + ended.steps
        held = functions.noise.deviation
        functions.hold(z)
        if functions.noise.deviation == held:
            return Completed(z, ended.arrived, steps)
        if steps >= most:
            break
    return Completed(z, arrived=False, steps=steps)


def complete(functions: ConstrainedCost, z: F64, most: int, tolerance: float) -> Completed:
    """Take at most `most` steps from `z` until the remaining one is negligible.

    `tolerance` is the length of a negligible step relative to the size of each parameter.
    """
    for number in range(most):
        here = functions.linearised(z)
        step, weight = constrained_step(here, functions)
        size = np.maximum(np.abs(z), np.where(z == 0.0, 1.0, 1e-6))
        near = functions.violation(z) <= VIOLATED * 1e-3
        if near and bool((np.abs(step) <= tolerance * size).all()):
            return Completed(z, arrived=True, steps=number)
        lower = _descended(functions, here, step, weight)
        if lower is None:
            promised = _promise(here, step)
            return Completed(z, arrived=near and promised <= _NOISE, steps=number)
        z = lower
        functions.report(z)
    return Completed(z, arrived=False, steps=most)


def constrained_step(here: Linearised, functions: ConstrainedCost) -> tuple[F64, float]:
    """Return the step that minimises the linearised cost, and the largest multiplier."""
    minimize: Any = optimize.minimize
    norms = np.linalg.norm(here.jacobian, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    triangle = np.linalg.qr(here.jacobian / norms, mode="r")
    _, singular, right = np.linalg.svd(triangle)
    # Directions without influence get a little, so that the step along them stays short.
    raised = np.maximum(singular, 1e-7 * max(float(singular.max(initial=0.0)), _EPS))
    if raised.size < norms.size:
        raised = np.append(raised, np.full(norms.size - raised.size, raised.min(initial=1e-7)))
    # y = diag(s) V^T D d, so that the quadratic cost has the unit matrix for its Hessian.
    back = (right.T / raised) / norms[:, np.newaxis]
    projected = (here.jacobian / norms).T @ here.residuals
    target = -(right @ projected) / raised
    unit = max(float(np.linalg.norm(target)), float(np.sqrt(_EPS) * np.linalg.norm(here.residuals)))
    if unit == 0.0:
        unit = 1.0
    rows, values = (here.slopes @ back) * unit, here.constraints
    equal = functions.equalities
    lowest, highest = functions.lower - here.z, functions.upper - here.z
    inside = back * unit
    low, high = np.isfinite(lowest), np.isfinite(highest)
    least = np.vstack([rows[~equal], inside[low], -inside[high]])
    offsets = np.concatenate([values[~equal], -lowest[low], highest[high]])
    parts: Any = [
        {
            "type": kind,
            "fun": lambda y, matrix=matrix, offset=offset: matrix @ y + offset,
            "jac": lambda _, matrix=matrix: matrix,
        }
        for kind, matrix, offset in (("eq", rows[equal], values[equal]), ("ineq", least, offsets))
        if offset.size
    ]
    wanted = target / unit
    if not parts:
        return back @ target, 0.0
    solution = minimize(
        lambda y: 0.5 * float(np.sum((y - wanted) ** 2)),
        wanted if not bool(equal.any()) else np.zeros(norms.size),
        jac=lambda y: y - wanted,
        constraints=parts,
        method="SLSQP",
        options={"maxiter": 100, "ftol": 1e-16},
    )
    y = np.asarray(solution.x, dtype=np.float64)
    if not np.isfinite(y).all():
        return np.zeros(norms.size), 0.0
    step = np.clip(back @ y * unit, lowest, highest)
    gradient = (y - wanted) * unit**2
    share = np.linalg.lstsq(rows.T, gradient, rcond=None)[0] if len(rows) else np.zeros(0)
    return step, float(np.abs(share).max(initial=0.0))


def _promise(here: Linearised, step: F64) -> float:
    """Return the fraction by which the cost would fall if everything were linear."""
    before = float(here.residuals @ here.residuals)
    after = here.residuals + here.jacobian @ step
    return 0.0 if before == 0.0 else abs(before - float(after @ after)) / before


def _descended(
    functions: ConstrainedCost, here: Linearised, step: F64, multiplier: float
) -> F64 | None:
    """Return a better point along the step; ``None`` if there is none."""
    z = here.z
    unit = 0.5 * float(here.residuals @ here.residuals)
    unit = unit if unit > 0.0 else 1.0
    weight = 2.0 * max(multiplier / unit, 1.0)
    first = functions.cost(z)
    scale = first if first > 0.0 else 1.0

    def merit(point: F64) -> float:
        return functions.cost(point) / scale + weight * functions.violation(point)

    before, length = merit(z), 1.0
    for _ in range(_HALVINGS):
        candidate = z + length * step
        if merit(candidate) < before:
            return candidate
        corrected = _corrected(functions, here, candidate)
        if corrected is not None and merit(corrected) < before:
            return corrected
        length *= 0.5
    return None


def _corrected(functions: ConstrainedCost, here: Linearised, candidate: F64) -> F64 | None:
    """Return a candidate corrected with the derivatives of `here`, if possible."""
    residuals = functions.residuals(candidate)
    if not bool(np.isfinite(residuals).all()):
        return None
    values, slopes = functions.values(candidate), functions.slopes(candidate)
    there = Linearised(candidate, residuals, here.jacobian, values, slopes)
    step, _ = constrained_step(there, functions)
    return np.clip(candidate + step, functions.lower, functions.upper)


@dataclass(frozen=True, eq=False)
class Linearised:
    """Residuals and constraints at a point of the search space with their derivatives.

    `residuals` and `jacobian` have the shapes (m,) and (m, n); `constraints` and `slopes`
    the shapes (k,) and (k, n), scaled to distances in sizes of the parameters.
    """

    z: F64
    residuals: F64
    jacobian: F64
    constraints: F64
    slopes: F64


class ConstrainedCost:
    """Cost and constraints for SciPy, from a physical start."""

    def __init__(
        self,
        problem: Problem,
        evaluator: Evaluator,
        monitor: Monitor,
        start: F64,
        loss: Loss,
    ) -> None:
        self._loss = loss
        self.constraints = Constraints.of(problem)
        self.equalities = self.constraints.equalities
        self.scale = self.constraints.scale(start)
        self.noise = HeldNoise(problem, evaluator)
        self._problem, self._evaluator, self._monitor = problem, evaluator, monitor
        self._space = evaluator.space
        self.lower, self.upper = self._space.lower, self._space.upper
        self._start, self.z0 = start, self._space.from_physical(start)
        self.hold(self.z0)
        self._largest = self._unit = max(self._cost(start), np.finfo(np.float64).tiny)
        self._best: tuple[float, float, F64] | None = None

    @property
    def best(self) -> F64:
        """Best point reported so far, physical, shape (n,)."""
        return self._start if self._best is None else self._best[2]

    def physical(self, z: F64) -> F64:
        """Return the physical point within the bounds, without rounding at the start."""
        p = np.where(z == self.z0, self._start, self._space.to_physical(z))
        inside: F64 = np.clip(p, self._problem.lower, self._problem.upper)
        return inside

    def cost(self, z: F64) -> float:
        """Return the cost relative to that at the start; large where a simulation fails."""
        value = self._cost(self.physical(z))
        if not np.isfinite(value):
            return _FAILED * self._largest / self._unit
        self._largest = max(self._largest, value)
        return value / self._unit

    def _cost(self, p: F64) -> float:
        """Return the cost at physical parameters, robust loss included."""
        if self._loss.robust:
            return self._loss.cost(self._rows(p))
        if self.noise.deviation is None:
            return self._evaluator.cost(p)
        rows = self._rows(p)
        value = 0.5 * float(np.einsum("i,i->", rows, rows))
        return value if np.isfinite(value) else float("inf")

    def _rows(self, p: F64) -> F64:
        return self.noise.residuals(p, self._evaluator.residuals(p))

    def gradient(self, z: F64) -> F64:
        """Return the gradient of :meth:`cost`, shape (n,)."""
        slope: F64
        if self._loss.robust:
            slope = self.jacobian(z).T @ self.residuals(z)
            return slope / self._unit
        p = self.physical(z)
        if self.noise.deviation is None:
            slope = self._evaluator.gradient(p)
        else:
            slope = self.noise.derivatives(p, self._evaluator.jacobian(p)).T @ self._rows(p)
        return slope * self._space.derivative(p) / self._unit

    def hessian(self, z: F64) -> F64:
        """Return the Gauss-Newton Hessian, shape (n, n)."""
        jacobian = self.jacobian(z)
        product: F64 = jacobian.T @ jacobian / self._unit
        return product

    def jacobian(self, z: F64) -> F64:
        """Return the derivatives of :meth:`residuals`, shape (m, n)."""
        p = self.physical(z)
        rows = self.noise.derivatives(p, self._evaluator.jacobian(p))
        derivatives: F64 = rows * self._space.derivative(p)
        if self._loss.robust:
            _, slopes = self._loss.residuals(self._rows(p))
            derivatives = slopes[:, np.newaxis] * derivatives
        return derivatives

    def hold(self, z: F64) -> None:
        """Hold the noise at a point, which weighs the priors."""
        if self.noise.weighs:
            self.noise.hold(self.physical(z))

    def residuals(self, z: F64) -> F64:
        """Return residuals whose squares sum to the cost, (m,); NaN where the simulation fails."""
        return self._loss.residuals(self._rows(self.physical(z)))[0]

    def values(self, z: F64) -> F64:
        """Return the constraints, shape (k,)."""
        return self.constraints.values(self.physical(z)) * self.scale

    def slopes(self, z: F64) -> F64:
        """Return the derivatives of the constraints, shape (k, n)."""
        p = self.physical(z)
        rows = self.constraints.at(p).jacobian * self._space.derivative(p)
        return rows * self.scale[:, np.newaxis]

    def curvature(self, z: F64, multipliers: F64) -> F64:
        """Return the Hessian of the sum of constraints times multipliers, shape (n, n)."""
        p = self.physical(z)
        values = self.constraints.at(p)
        first = self._space.derivative(p)
        weights = np.asarray(multipliers) * self.scale
        bent = np.tensordot(weights, values.hessians, axes=1) * np.outer(first, first)
        # d2p/dz2 is p itself for a logarithm.
        second = np.where(self._space.log, p, 0.0) * (weights @ values.jacobian)
        total: F64 = bent + np.diag(second)
        return total

    def violation(self, z: F64) -> float:
        """Return the total violation of the constraints, 0 if all are satisfied."""
        values = self.values(z)
        wrong = np.where(self.equalities, np.abs(values), np.maximum(-values, 0.0))
        return float(np.sum(np.where(np.isfinite(wrong), wrong, np.inf)))

    def linearised(self, z: F64) -> Linearised:
        """Return residuals and constraints at `z` with their derivatives."""
        jacobian = self.jacobian(z)
        return Linearised(z, self.residuals(z), jacobian, self.values(z), self.slopes(z))

    def report(self, z: F64) -> None:
        """Report the end of an iteration; the first is the start."""
        p = self.physical(z)
        cost = self._cost(p) if self._loss.robust else self._evaluator.cost(p)
        left = self.violation(z)
        violation = 0.0 if left <= 1e-6 else left
        if np.isfinite(cost) and (self._best is None or (violation, cost) < self._best[:2]):
            self._best = (violation, cost, p)
        if self._best is not None:
            more = {"violation": left} if len(self.constraints) else {}
            self._monitor.iteration(self._best[2], self._best[1], **more)
