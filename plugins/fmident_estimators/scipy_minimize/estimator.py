"""The estimator ``scipy-minimize``: a local search that keeps constraints between parameters."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Estimate, Estimator, Monitor
from fmident.evaluation.contract import Evaluator
from fmident.problem.model import Problem
from fmident.problem.relations.constraints import VIOLATED
from fmident.problem.relations.feasibility import nearest_feasible
from fmident_estimators.scipy_minimize.functions import Functions
from fmident_estimators.scipy_minimize.options import ScipyMinimizeOptions
from fmident_estimators.scipy_minimize.steps import complete_in_turn

_USUAL_ITERATIONS = 12
_MANY_ITERATIONS = 60


class ScipyMinimize(Estimator[ScipyMinimizeOptions]):
    """SciPy's SLSQP or trust-constr, completed by constrained Gauss-Newton steps."""

    name: ClassVar[str] = "scipy-minimize"
    summary: ClassVar[str] = (
        "constraints between parameters: SLSQP or trust-constr (SciPy), gradients of the cost"
    )
    descends: ClassVar[bool] = True
    keeps_constraints: ClassVar[bool] = True
    options_type: ClassVar[type[ScipyMinimizeOptions]] = ScipyMinimizeOptions

    def expected_simulations(self, options: ScipyMinimizeOptions, problem: Problem) -> int:
        """Return some iterations with a gradient each."""
        return self._simulations(min(options.max_iterations, _USUAL_ITERATIONS), problem)

    def most_simulations(self, options: ScipyMinimizeOptions, problem: Problem) -> int:
        """Return those of a long search."""
        return self._simulations(min(options.max_iterations, _MANY_ITERATIONS), problem)

    def _simulations(self, iterations: int, problem: Problem) -> int:
        moved = sum(q.variable is not None for q in problem.free)
        columns = moved * (2 if problem.evaluation.difference == "central" else 1)
        return len(problem.experiments) * (7 + 2 * moved + iterations * (1 + columns))

    def estimate(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: ScipyMinimizeOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Search from the initial values, or the nearest ones that keep the constraints.

        Raises
        ------
        fmident.evaluation.JacobianError
            A gradient cannot be computed, since all simulations nearby fail.
        """
        functions = Functions(problem, evaluator, monitor, _start(problem, evaluator))
        functions.report(functions.z0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy's, of what the end of the search says
            found = _minimised(functions, options)
        z = np.clip(np.asarray(found.x, dtype=np.float64), functions.lower, functions.upper)
        if not (np.isfinite(z).all() and functions.cost(z) <= functions.cost(functions.z0)):
            z = evaluator.space.from_physical(functions.best)
        ended = complete_in_turn(functions, z, options.max_iterations, options.step_tolerance)
        p = functions.physical(ended.z)
        steps = f"{ended.steps} Gauss-Newton step{'s' * (ended.steps > 1)}"
        said = f"{options.method} took {int(found.nit)} iterations" + (
            f", {steps} {'completed it' if ended.arrived else 'followed'}" if ended.steps else ""
        )
        details = {"method_message": str(found.message).strip(), "method_status": int(found.status)}
        left = functions.violation(ended.z)
        if left > VIOLATED:
            return Estimate(
                p,
                "limit",
                f"{said}; the constraints are not kept: a distance of {left:.2g} is left, in sizes"
                " of the parameters",
                details,
                ended_by="stuck",
            )
        if ended.arrived:
            return Estimate(p, "converged", f"{said}; nothing is left to go", details)
        limited = ended.steps >= options.max_iterations
        return Estimate(
            p,
            "limit",
            f"{said}; "
            + ("the limit of iterations is reached" if limited else "no further step is lower"),
            details,
            ended_by="limit" if limited else "stuck",
        )


def _start(problem: Problem, evaluator: Evaluator) -> F64:
    """Return the initial point, or the nearest one that keeps all constraints if it works."""
    near = nearest_feasible(problem, problem.initial)
    if near is None or not np.isfinite(evaluator.cost(near)):
        return problem.initial
    return near


def _minimised(functions: Functions, options: ScipyMinimizeOptions) -> Any:
    """Run the method; return SciPy's result."""
    from scipy import optimize  # here, since it is slow to import and seldom needed

    minimize: Any = optimize.minimize
    common = {
        "x0": functions.z0,
        "jac": functions.gradient,
        "bounds": optimize.Bounds(functions.lower, functions.upper),
    }
    if options.method == "SLSQP":
        return minimize(
            functions.cost,
            **common,
            constraints=_parts(functions),
            method="SLSQP",
            callback=functions.report,
            options={"maxiter": options.max_iterations, "ftol": options.cost_tolerance},
        )
    return minimize(
        functions.cost,
        **common,
        hess=functions.hessian,
        constraints=_nonlinear(functions),
        method="trust-constr",
        callback=lambda z, _: functions.report(z),
        options={
            "maxiter": options.max_iterations,
            "gtol": options.cost_tolerance,
            "xtol": options.step_tolerance,
            "barrier_tol": options.cost_tolerance,
        },
    )


def _parts(functions: Functions) -> list[dict[str, Any]]:
    """Return the constraints as SLSQP takes them."""
    equal = functions.equalities
    return [
        {
            "type": kind,
            "fun": lambda z, chosen=chosen: functions.values(z)[chosen],
            "jac": lambda z, chosen=chosen: functions.slopes(z)[chosen],
        }
        for kind, chosen in (("eq", equal), ("ineq", ~equal))
        if bool(chosen.any())
    ]


def _nonlinear(functions: Functions) -> Any:
    """Return the constraints as trust-constr takes them, with their exact Hessians."""
    from scipy import optimize

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
