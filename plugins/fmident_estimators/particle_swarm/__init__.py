"""Particle swarm.

Kennedy and Eberhart, Proc. IEEE ICNN, 1995; adaptive factors: Zhan, Zhang, Li and
Chung, IEEE Trans. Systems, Man, and Cybernetics B 39, 2009. The implementation is that
of ``pymoo``.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers("particle-swarm", "particle_swarm.estimator:ParticleSwarm")
