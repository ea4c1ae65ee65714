"""The special genetic algorithm: children around the best vectors of all generations.

Ludwig and Gerstmayr's algorithm. The first generation is uniform in the box (eq. 22 of
"Special Genetic Identification Algorithm with smoothing in the frequency domain"). Of all
vectors so far the best survive; each has children at distances that are distributed
symmetrically and exponentially, in a range that shrinks from generation to generation
(eqs. 23 and 24, whose printed text lost a product sign and an exponent). Further cycles, in
which the range shrinks anew around the best vector so far, are an addition; by default there
is one cycle, as published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.special_genetic.estimator import SpecialGenetic
    from fmident_estimators.special_genetic.options import SpecialGeneticOptions

__all__ = ["SpecialGenetic", "SpecialGeneticOptions", "fmident_register_estimators"]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "SpecialGenetic": "estimator",
        "SpecialGeneticOptions": "options",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``special-genetic``."""
    registry.add_when_used(
        "special-genetic", "fmident_estimators.special_genetic.estimator:SpecialGenetic"
    )
