"""Algebraic estimation after Fliess and Sira-Ramirez: exact formulas over a sliding window.

The coefficients of ``sum a_i y^(i) = sum b_j u^(j)`` are solutions of a small linear system whose
entries are iterated integrals of the signals; initial conditions do not appear in it. See
:mod:`fmident_estimators.algebraic.kernels` for the formulas.
"""

from __future__ import annotations

from typing import Any

from fmident.estimation.contract import Estimator
from fmident.plugins.hookspecs import hookimpl
from fmident.plugins.registry import Registry


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``algebraic``."""
    registry.add_when_used("algebraic", "fmident_estimators.algebraic.estimator:Algebraic")
