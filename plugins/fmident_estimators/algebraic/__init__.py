"""Algebraic estimation after Fliess and Sira-Ramirez: exact formulas over a sliding window.

The coefficients of ``sum a_i y^(i) = sum b_j u^(j)`` are solutions of a small linear system whose
entries are iterated integrals of the signals; initial conditions do not appear in it. See
:mod:`fmident_estimators.algebraic.weights` for the formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident.plugins.hookspecs import hookimpl
from fmident_estimators.algebraic.estimator import Algebraic
from fmident_estimators.algebraic.options import AlgebraicOptions
from fmident_estimators.algebraic.window import AlgebraicStream, AlgebraicWindow, WindowDesign

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry

__all__ = [
    "Algebraic",
    "AlgebraicOptions",
    "AlgebraicStream",
    "AlgebraicWindow",
    "WindowDesign",
    "fmident_register_estimators",
]


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``algebraic``."""
    registry.add(Algebraic.name, Algebraic)
