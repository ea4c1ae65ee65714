"""Algebraic estimation after Fliess and Sira-Ramirez: exact formulas over a sliding window.

The coefficients of ``sum a_i y^(i) = sum b_j u^(j)`` are solutions of a small linear system whose
entries are iterated integrals of the signals; initial conditions do not appear in it. See
:mod:`fmident_estimators.algebraic.kernels` for the formulas.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers("algebraic", "algebraic.estimator:Algebraic")
