"""CMA-ES: covariance matrix adaptation evolution strategy, with restarts.

Hansen and Ostermeier, Evolutionary Computation 9, 2001; restarts with growing population
(IPOP): Auger and Hansen, CEC 2005. The implementation is that of the package ``cma``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.cma_es.estimator import CmaEs
    from fmident_estimators.cma_es.options import CmaEsOptions

__all__ = ["CmaEs", "CmaEsOptions", "fmident_register_estimators"]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "CmaEs": "estimator",
        "CmaEsOptions": "options",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``cma-es``."""
    registry.add_when_used("cma-es", "fmident_estimators.cma_es.estimator:CmaEs")
