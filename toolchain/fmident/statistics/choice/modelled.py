r"""The likelihood of residuals whose noise was modelled: independent outputs, autoregressions.

With R the covariance of the samples of an output for innovations of variance 1, exact from the
stationary beginning of each record and over missing samples,

.. math:: -2 \ln L = n \ln(2 \pi s^2) + \ln|R| + n, \qquad s^2 = e^T R^{-1} e / n

at the best variance of the innovations (P. J. Brockwell and R. A. Davis, Time Series: Theory and
Methods, 1991, section 8.7). The coefficients are those of the greatest likelihood of the residuals,
of the order that the result has: its own are those of the restricted likelihood, which differs by
what the parameters have taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.statistics.noise import NoiseModel, NoisyOutput
from fmident.statistics.noise.restricted import (
    FittedAutoregression,
    RestrictedLikelihood,
    partial_of,
)

_LARGEST = 0.9999
"""Of a partial autocorrelation by which a search begins."""


@dataclass(frozen=True, eq=False)
class ModelledLikelihood:
    """Of residuals at their best model of the noise.

    Parameters
    ----------
    deviance
        ``-2 ln L``; minus infinity where an output has no residuals but zeros.
    unknowns
        Coefficients and variances that were estimated.
    innovations
        The residuals whitened by the model, of variance 1, shape (m,).
    """

    deviance: float
    unknowns: int
    innovations: F64


def modelled_likelihood(
    outputs: Sequence[NoisyOutput], coefficients: Sequence[F64], residuals: F64
) -> ModelledLikelihood:
    """Return the greatest likelihood of residuals over autoregressions of given orders.

    Parameters
    ----------
    outputs
        To which the residuals belong.
    coefficients
        Of the autoregression of each, by which the search begins; their number is the order.
    residuals
        Shape (m,).
    """
    fits: list[FittedAutoregression] = []
    deviance, unknowns = 0.0, 0
    for output, start in zip(outputs, coefficients, strict=True):
        own = [residuals[s.rows] for s in output.series]
        if not any(bool(np.any(r)) for r in own):
            return ModelledLikelihood(-np.inf, unknowns, np.zeros(residuals.size))
        nothing = [np.empty((r.size, 0)) for r in own]
        likelihood = RestrictedLikelihood(output.series, own, nothing, start.size)
        fit = likelihood.fitted(partial_of(start, _LARGEST))
        fits.append(fit)
        # What the likelihood leaves out: constants of the number of samples alone.
        deviance += -2.0 * fit.log_likelihood + output.size * (
            1.0 + np.log(2.0 * np.pi / output.size)
        )
        unknowns += 1 + start.size
    model = NoiseModel(tuple(outputs), tuple(fits))
    return ModelledLikelihood(float(deviance), unknowns, model.whiten(residuals))
