"""Differential evolution.

Storn and Price, J. Global Optimization 11, 1997. The implementation is that of SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.differential_evolution.estimator import DifferentialEvolution
    from fmident_estimators.differential_evolution.options import DifferentialEvolutionOptions

__all__ = ["DifferentialEvolution", "DifferentialEvolutionOptions", "fmident_register_estimators"]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "DifferentialEvolution": "estimator",
        "DifferentialEvolutionOptions": "options",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``differential-evolution``."""
    registry.add_when_used(
        "differential-evolution",
        "fmident_estimators.differential_evolution.estimator:DifferentialEvolution",
    )
