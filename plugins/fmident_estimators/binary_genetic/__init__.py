"""The simple genetic algorithm on bit strings, as used for LuGre identification.

Zeng, "Parameter Identification for Dynamic Damping System Based on Genetic Algorithm",
Advances C 72, 2017: binary code, roulette on C_max - J (eq. 18), uniform crossover, mutation
of bits. The paper leaves the length of the code and elitism open; both are options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.binary_genetic.estimator import BinaryGenetic
    from fmident_estimators.binary_genetic.options import BinaryGeneticOptions

__all__ = ["BinaryGenetic", "BinaryGeneticOptions", "fmident_register_estimators"]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "BinaryGenetic": "estimator",
        "BinaryGeneticOptions": "options",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``binary-genetic``."""
    registry.add_when_used(
        "binary-genetic", "fmident_estimators.binary_genetic.estimator:BinaryGenetic"
    )
