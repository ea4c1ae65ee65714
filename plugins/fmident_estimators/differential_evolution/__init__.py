"""Differential evolution.

Storn and Price, J. Global Optimization 11, 1997. The implementation is that of SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident.plugins.hookspecs import hookimpl
from fmident_estimators.differential_evolution.estimator import DifferentialEvolution
from fmident_estimators.differential_evolution.options import DifferentialEvolutionOptions

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry

__all__ = ["DifferentialEvolution", "DifferentialEvolutionOptions", "fmident_register_estimators"]


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``differential-evolution``."""
    registry.add(DifferentialEvolution.name, DifferentialEvolution)
