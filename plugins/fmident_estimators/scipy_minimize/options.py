"""Options of the estimator ``scipy-minimize``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fmident.options import POSITIVE, Options, Range


@dataclass(frozen=True)
class ScipyMinimizeOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    method
        ``"SLSQP"``: sequential quadratic programming, which takes fewer simulations;
        ``"trust-constr"``: a trust region with barriers for inequalities, which is more patient
        with constraints that bend strongly.
    max_iterations
        Of the method, and again of the steps that complete it.
    cost_tolerance
        The method ends when the cost changes by less than this fraction of that at the start.
    step_tolerance
        Converged when the constrained step of Gauss and Newton that is left is shorter than this
        fraction of each parameter, or lowers the cost by less than can be computed.
    """

    method: Literal["trust-constr", "SLSQP"] = "trust-constr"
    max_iterations: Annotated[int, Range(least=1)] = 200
    cost_tolerance: Annotated[float, POSITIVE] = 1e-6
    step_tolerance: Annotated[float, POSITIVE] = 1e-7
