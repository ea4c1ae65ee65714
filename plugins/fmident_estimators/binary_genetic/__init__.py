"""The simple genetic algorithm on bit strings, as used for LuGre identification.

Zeng, "Parameter Identification for Dynamic Damping System Based on Genetic Algorithm",
Advances C 72, 2017: binary code, roulette on C_max - J (eq. 18), uniform crossover, bit
mutation. The paper does not specify the code length and elitism; both are options.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers("binary-genetic", "binary_genetic.estimator:BinaryGenetic")
