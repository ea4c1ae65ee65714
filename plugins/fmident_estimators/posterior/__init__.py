"""Draws from the posterior distribution of the parameters, with the package ``emcee``.

Ensemble sampler: Goodman and Weare, Communications in Applied Mathematics and
Computational Science 5, 2010; Foreman-Mackey, Hogg, Lang and Goodman, Publications of
the Astronomical Society of the Pacific 125, 2013. ArviZ computes the convergence
diagnostics: Vehtari, Gelman, Simpson, Carpenter and Buerkner, Bayesian Analysis 16,
2021.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.posterior.estimator import Posterior
    from fmident_estimators.posterior.target import PosteriorOptions

__all__ = ["Posterior", "PosteriorOptions", "fmident_register_estimators"]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "Posterior": "estimator",
        "PosteriorOptions": "target",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``posterior``."""
    registry.add_when_used("posterior", "fmident_estimators.posterior.estimator:Posterior")
