"""Levenberg-Marquardt of Ceres Solver through pyceres."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, PluginError
from fmident.estimation.contract import Status
from fmident_estimators.least_squares.losses import robust_residuals
from fmident_estimators.least_squares.progress import LocalResult
from fmident_estimators.least_squares.search import LocalSearch

_TRIALS_PER_ITERATION = 20

_SHORT = 1e-2
"""Trust region of a search that begins again, where Ceres' own, 1e4, let it leap away."""

_EPS = float(np.finfo(np.float64).eps)


def solve(search: LocalSearch) -> LocalResult:
    """Run one local search.

    Ceres requests a Jacobian at each accepted point and only there. An exception must not
    cross its C++ code: it is stored, the solver is given a success, since it logs failures,
    and the exception is raised afterwards.
    """
    pyceres = _import_pyceres()
    options = search.options
    z = search.z0.copy()
    cost = _cost_function(pyceres, search)
    callback = _iteration_callback(pyceres, search, cost)
    problem = pyceres.Problem()
    problem.add_residual_block(cost, None, [z])
    for j in range(z.size):
        if np.isfinite(search.space.lower[j]):
            problem.set_parameter_lower_bound(z, j, float(search.space.lower[j]))
        if np.isfinite(search.space.upper[j]):
            problem.set_parameter_upper_bound(z, j, float(search.space.upper[j]))
    settings = pyceres.SolverOptions()
    settings.minimizer_type = pyceres.MinimizerType.TRUST_REGION
    settings.trust_region_strategy_type = pyceres.TrustRegionStrategyType.LEVENBERG_MARQUARDT
    settings.linear_solver_type = pyceres.LinearSolverType.DENSE_QR
    settings.logging_type = pyceres.LoggingType.SILENT
    settings.num_threads = 1
    settings.function_tolerance = options.cost_tolerance
    settings.parameter_tolerance = _EPS
    settings.gradient_tolerance = options.gradient_tolerance * cost.scale**2
    settings.max_num_iterations = _TRIALS_PER_ITERATION * options.max_iterations
    # With bounds Ceres would search along each projected step, with a Jacobian per trial
    # point. Without it, a projected step that is worse is rejected like any other.
    settings.max_num_line_search_step_size_iterations = 0
    settings.callbacks = [callback]
    if options.initial_trust_region is not None:
        settings.initial_trust_region_radius = options.initial_trust_region
    elif search.cautious:
        settings.initial_trust_region_radius = _SHORT
    summary = pyceres.SolverSummary()
    pyceres.solve(settings, problem, summary)
    if cost.error is not None:
        raise cost.error
    point = cost.accepted
    message = str(summary.message).strip().rstrip(".")
    if callback.limit_reached:
        message = f"the limit of {options.max_iterations} iterations is reached"
        return search.finish(point, "limit", message)
    kinds = pyceres.TerminationType
    status: Status = "failed"
    if summary.termination_type == kinds.CONVERGENCE:
        status = "converged"
    elif summary.termination_type == kinds.NO_CONVERGENCE:
        status = "limit"
    return search.finish(point, status, message)


def _import_pyceres() -> ModuleType:
    try:
        import pyceres
    except ImportError as error:
        raise PluginError(
            f"solver 'ceres' needs the package pyceres, which cannot be imported: {error}",
            hint='pip install pyceres, or choose solver = "scipy"',
            code=Code.NOT_INSTALLED,
        ) from error
    module: ModuleType = pyceres
    return module


def _cost_function(pyceres: ModuleType, search: LocalSearch) -> Any:
    options = search.options

    class ResidualBlock(pyceres.CostFunction):  # type: ignore[name-defined, misc]
        """All residuals as one block, so that one call is one simulation."""

        def __init__(self) -> None:
            super().__init__()
            self.error: BaseException | None = None
            self.accepted: F64 = search.z0.copy()
            first = search.residuals(search.z0)
            # Ceres has limits of its own that depend on the unit of the residuals.
            size = float(np.linalg.norm(first)) / np.sqrt(first.size)
            self.scale = 1.0 / size if size > 0.0 else 1.0
            self.set_num_residuals(first.size)
            self.set_parameter_block_sizes([search.z0.size])

        def Evaluate(  # noqa: N802 - the name pyceres asks for
            self, parameters: list[F64], residuals: F64, jacobians: list[F64] | None
        ) -> bool:
            """Write the residuals and, at an accepted point, the Jacobian."""
            if self.error is None:
                # Whatever is raised, KeyboardInterrupt included, is raised again by solve().
                try:
                    return self._evaluate(parameters[0].copy(), residuals, jacobians)
                except BaseException as error:
                    self.error = error
            residuals[:] = 1.0
            if jacobians is not None:
                jacobians[0][:] = 0.0
            return True

        def _evaluate(self, z: F64, residuals: F64, jacobians: list[F64] | None) -> bool:
            plain = search.residuals(z)
            # Ceres adds up the squares and complains aloud where that overflows.
            if not bool(np.isfinite(plain).all()) or not np.isfinite(search.cost_of(plain)):
                return False
            if jacobians is None:
                robust, _ = robust_residuals(options.loss, options.loss_scale, plain)
                residuals[:] = self.scale * robust
            else:
                # Ceres projects its step onto the bounds but computes it without them; that
                # the columns of blocked parameters are zero makes the step of the others right.
                robust, jacobian = search.robust_system(z)
                residuals[:] = self.scale * robust
                jacobians[0][:] = self.scale * jacobian.ravel()
                self.accepted = z
            return True

    return ResidualBlock()


def _iteration_callback(pyceres: ModuleType, search: LocalSearch, cost: Any) -> Any:
    result = pyceres.CallbackReturnType

    class Iterations(pyceres.IterationCallback):  # type: ignore[name-defined, misc]
        """Reports accepted steps and ends the search at the limit."""

        def __init__(self) -> None:
            super().__init__()
            self.limit_reached = False

        def __call__(self, summary: Any) -> Any:
            """Record an iteration."""
            if cost.error is not None:
                return result.SOLVER_TERMINATE_SUCCESSFULLY
            if not summary.step_is_successful:
                return result.SOLVER_CONTINUE
            try:
                search.accept(
                    cost.accepted,
                    gradient=float(summary.gradient_max_norm) / cost.scale**2,
                    trust_region=float(summary.trust_region_radius),
                )
            except BaseException as error:
                cost.error = error
                return result.SOLVER_TERMINATE_SUCCESSFULLY
            if search.iterations >= search.options.max_iterations:
                self.limit_reached = True
                return result.SOLVER_TERMINATE_SUCCESSFULLY
            return result.SOLVER_CONTINUE

    return Iterations()
