"""Search with constraints between parameters.

Conn, Gould and Toint, Trust-Region Methods, 2000 (``trust-constr``); Kraft, A Software Package for
Sequential Quadratic Programming, DFVLR-FB 88-28, 1988 (``SLSQP``). The implementations are SciPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.scipy_minimize.estimator import ScipyMinimize
    from fmident_estimators.scipy_minimize.options import ScipyMinimizeOptions

__all__ = ["ScipyMinimize", "ScipyMinimizeOptions", "fmident_register_estimators"]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "ScipyMinimize": "estimator",
        "ScipyMinimizeOptions": "options",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``scipy-minimize``."""
    registry.add_when_used(
        "scipy-minimize", "fmident_estimators.scipy_minimize.estimator:ScipyMinimize"
    )
