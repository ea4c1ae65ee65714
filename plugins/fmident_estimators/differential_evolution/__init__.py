"""Differential evolution.

Storn and Price, J. Global Optimization 11, 1997. The implementation is that of SciPy.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers(
    "differential-evolution", "differential_evolution.estimator:DifferentialEvolution"
)
