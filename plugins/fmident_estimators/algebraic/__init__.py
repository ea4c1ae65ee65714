"""Algebraic estimation after Fliess and Sira-Ramirez: exact formulas over a sliding window.

The coefficients of ``sum a_i y^(i) = sum b_j u^(j)`` are solutions of a small linear system whose
entries are iterated integrals of the signals; initial conditions do not appear in it. See
:mod:`fmident_estimators.algebraic.kernels` for the formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.algebraic.estimator import (
        Algebraic,
        AlgebraicOptions,
        AlgebraicStream,
        AlgebraicWindow,
        WindowDesign,
    )

__all__ = [
    "Algebraic",
    "AlgebraicOptions",
    "AlgebraicStream",
    "AlgebraicWindow",
    "WindowDesign",
    "fmident_register_estimators",
]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "Algebraic": "estimator",
        "AlgebraicOptions": "estimator",
        "AlgebraicStream": "estimator",
        "AlgebraicWindow": "estimator",
        "WindowDesign": "estimator",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``algebraic``."""
    registry.add_when_used("algebraic", "fmident_estimators.algebraic.estimator:Algebraic")
