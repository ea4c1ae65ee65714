"""Particle swarm.

Kennedy and Eberhart, Proc. IEEE ICNN, 1995; factors that adapt: Zhan, Zhang, Li and Chung, IEEE
Trans. Systems, Man, and Cybernetics B 39, 2009. The implementation is that of ``pymoo``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.particle_swarm.estimator import ParticleSwarm, ParticleSwarmOptions

__all__ = ["ParticleSwarm", "ParticleSwarmOptions", "fmident_register_estimators"]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "ParticleSwarm": "estimator",
        "ParticleSwarmOptions": "estimator",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``particle-swarm``."""
    registry.add_when_used(
        "particle-swarm", "fmident_estimators.particle_swarm.estimator:ParticleSwarm"
    )
