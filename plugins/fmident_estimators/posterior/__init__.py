"""Draws from the posterior distribution of the parameters, with the package ``emcee``.

Ensemble sampler: Goodman and Weare, Communications in Applied Mathematics and
Computational Science 5, 2010; Foreman-Mackey, Hogg, Lang and Goodman, Publications of
the Astronomical Society of the Pacific 125, 2013. ArviZ computes the convergence
diagnostics: Vehtari, Gelman, Simpson, Carpenter and Buerkner, Bayesian Analysis 16,
2021.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers("posterior", "posterior.estimator:Posterior")
