"""Information criteria of Gaussian noise, and weights of models.

AIC is that of H. Akaike (IEEE Trans. Automatic Control 19, 1974), BIC that of G. Schwarz (Annals of
Statistics 6, 1978), constants included: ``-2 ln L = sum(ln(2 pi sigma^2) + (r / sigma)^2)``. Where
sigma is not given, the one that maximises the likelihood takes its place, and counts as one
parameter more; the outputs keep their sizes relative to each other.

AICc takes off the bias that AIC has with few samples (C. M. Hurvich and C.-L. Tsai, Biometrika 76,
1989, eq. 4). That bias comes from the estimated variance: with given sigma the penalty of AIC is
exact for a linear model, and AICc is AIC.

Where the noise was modelled, the likelihood is that of its model
(:mod:`fmident.statistics.choice.modelled`), whose coefficients and variances count as parameters.

With coloured residuals that were taken for white, the likelihood counts the same information
several times. It is divided by a variance inflation factor then, as in the criterion QAIC (K. P.
Burnham and D. R. Anderson, Model Selection and Multimodel Inference, 2002, section 2.5), and so is
the number of samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fit:
    """What criteria need of a fit.

    Parameters
    ----------
    count
        Samples that were compared.
    squares
        Sum of the squared residuals, each over its sigma.
    constant
        Sum of ``ln(2 pi sigma^2)`` over the samples.
    searched
        Parameters that were searched.
    sigma_known
        Whether sigma was given; else it is known up to a common factor only.
    noise
        Unknowns of a model of the noise; `squares` are those of its innovations then, and
        `constant` is the rest of ``-2 ln L``.
    """

    count: int
    squares: float
    constant: float
    searched: int
    sigma_known: bool
    noise: int = 0

    @property
    def parameters(self) -> int:
        """Searched parameters, and the unknowns of the noise where it was estimated."""
        return self.searched + (self.noise or (not self.sigma_known))

    @property
    def deviance(self) -> float:
        """``-2 ln L`` at the estimate; minus infinity where the residuals are zero."""
        if self.sigma_known or self.noise:
            return self.constant + self.squares
        if self.squares <= 0.0:
            return -math.inf
        return self.constant + self.count * (math.log(self.squares / self.count) + 1.0)


@dataclass(frozen=True)
class Criteria:
    """Information criteria of a result.

    Parameters
    ----------
    aic, aicc, bic
        Of Akaike, of Hurvich and Tsai, and of Schwarz; NaN where there are none, infinite AICc
        where there are too few samples for it.
    missing
        Why there are none; empty where there are.
    """

    aic: float = math.nan
    aicc: float = math.nan
    bic: float = math.nan
    missing: str = ""


def criteria(fit: Fit, inflation: float = 1.0) -> Criteria:
    """Return the criteria of a fit.

    Parameters
    ----------
    fit
        At the maximum of the likelihood.
    inflation
        Samples that hold as much information as one independent sample: 1 for white residuals.
    """
    deviance = fit.deviance / inflation
    if not math.isfinite(deviance):
        return Criteria(missing="its residuals are zero")
    k, count = fit.parameters, fit.count / inflation
    aic = deviance + 2.0 * k
    aicc = aic
    if not fit.sigma_known:
        left = count - k - 1.0
        aicc = aic + 2.0 * k * (k + 1.0) / left if left > 0.0 else math.inf
    return Criteria(aic, aicc, deviance + k * math.log(count))


def akaike_weights(values: Sequence[float]) -> list[float]:
    """Return the weights of models from their AICc, which add up to 1.

    Parameters
    ----------
    values
        Of the same data; NaN where a model has none, which gets NaN.

    Notes
    -----
    H. Akaike, Bulletin of the International Statistical Institute 50 (1983); Burnham and Anderson
    2002, section 2.9.
    """
    known = [v for v in values if math.isfinite(v)]
    if not known:
        return [math.nan for _ in values]
    least = min(known)
    parts = [0.0 if v == math.inf else math.exp(-0.5 * (v - least)) for v in values]
    total = sum(p for p in parts if not math.isnan(p))
    return [p / total for p in parts]
