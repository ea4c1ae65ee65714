"""CMA-ES: covariance matrix adaptation evolution strategy, with restarts.

Hansen and Ostermeier, Evolutionary Computation 9, 2001; restarts with growing
population (IPOP): Auger and Hansen, CEC 2005. The implementation is that of the package
``cma``.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers("cma-es", "cma_es.estimator:CmaEs")
