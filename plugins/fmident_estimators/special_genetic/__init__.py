"""The special genetic algorithm: children around the best vectors of all generations.

Ludwig and Gerstmayr's algorithm. The first generation is uniform in the box (eq. 22 of
"Special Genetic Identification Algorithm with smoothing in the frequency domain"). The
best of all vectors so far survive; each has children at distances that are distributed
symmetrically and exponentially, in a range that shrinks from generation to generation
(eqs. 23 and 24, whose printed text lacks a product sign and an exponent). Further
cycles, in which the range shrinks anew around the best vector so far, are an addition;
the default is one cycle, as published.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers(
    "special-genetic", "special_genetic.estimator:SpecialGenetic"
)
