"""SciPy's trust-region algorithms.

Without bounds ``trf``. With bounds ``dogbox`` (Voglis and Lagaris, WSEAS Conf. on
Applied Mathematics, 2004), a dogleg in a box that treats bounds as an active set: on
the delta robot it converges with 5 Jacobians where ``trf``, whose scaling by the
distance to the bounds bends the Gauss-Newton step, takes 10. Its dogleg fails for a
rank-deficient Jacobian, for which ``trf`` is used again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.optimize import least_squares

from fmident.arrays import F64
from fmident_estimators.least_squares.progress import IterationLimit, LocalResult, Stalled
from fmident_estimators.least_squares.search import LocalSearch

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_MESSAGES = {
    0: "the limit of simulations is reached",
    1: "the gradient is below gradient_tolerance",
    2: "the cost changes by less than cost_tolerance",
    3: "no shorter step lowers the cost",
    4: "cost and step no longer change",
}
_TRIALS_PER_ITERATION = 20

_PATIENCE = 50
"""Iterations after which another method goes on where the dogleg crawls along."""

_EPS = float(np.finfo(np.float64).eps)


def solve(search: LocalSearch) -> LocalResult:
    """Run one local search.

    The algorithm requests a Jacobian at each accepted point and only there, so iterations
    are counted there. Trial points with NaN residuals shrink its trust region.
    """
    options = search.options
    if not bool(np.isfinite(search.residuals(search.z0)).all()):
        raise ValueError("the start of a local search must be a point that can be simulated")

    method = _method(search)
    patient = method == "trf" or options.method != "auto"

    def jacobian(z: F64) -> F64:
        search.accept(z)
        if search.iterations >= options.max_iterations:
            raise IterationLimit(z)
        if not patient and search.iterations >= _PATIENCE:
            raise Stalled(z)
        return search.jacobian(z)

    try:
        with np.errstate(over="ignore"):  # such trial points are rejected
            solution: OptimizeResult = least_squares(
                search.residuals,
                search.z0,
                jac=jacobian,
                bounds=(search.space.lower, search.space.upper),
                method=method,
                x_scale="jac",
                loss=options.loss,
                f_scale=options.loss_scale,
                ftol=_tolerance(options.cost_tolerance),
                xtol=_EPS,
                gtol=_tolerance(options.gradient_tolerance),
                max_nfev=_TRIALS_PER_ITERATION * options.max_iterations,
            )
    except IterationLimit as limit:
        message = f"the limit of {options.max_iterations} iterations is reached"
        return search.finish(limit.z, "limit", message)
    status = int(solution.status)
    z = _onto_bounds(search, np.asarray(solution.x, dtype=np.float64), solution.active_mask)
    return search.finish(z, "limit" if status == 0 else "converged", _MESSAGES[status])


def _method(search: LocalSearch) -> Literal["trf", "dogbox"]:
    if search.options.method != "auto":
        return search.options.method
    bounded = np.isfinite(search.space.lower).any() or np.isfinite(search.space.upper).any()
    if not bounded:
        return "trf"
    if search.cautious or search.iterations >= _PATIENCE:
        return "trf"
    # The solver asks for the same Jacobian next, so this costs nothing.
    return "dogbox" if search.has_full_rank(search.z0) else "trf"


def _tolerance(value: float) -> float | None:
    """Return a tolerance that SciPy accepts; ``None`` disables it."""
    return max(value, _EPS) if value > 0.0 else None


def _onto_bounds(search: LocalSearch, z: F64, active: F64) -> F64:
    """Return `z` with parameters close to a bound set to it, if that is no worse.

    The iterates of ``trf`` stay strictly within the bounds.
    """
    if not np.any(active):
        return z
    on_bounds = np.where(
        active < 0, search.space.lower, np.where(active > 0, search.space.upper, z)
    )
    before, after = search.cost(z), search.cost(on_bounds)
    return on_bounds if after <= before * (1.0 + search.options.cost_tolerance) else z
