r"""Which of several models: information criteria, tests of nested models, coloured residuals.

**Information criteria** of Gaussian noise: AIC is that of H. Akaike (IEEE Trans. Automatic Control
19, 1974), BIC that of G. Schwarz (Annals of Statistics 6, 1978), constants included: ``-2 ln L =
sum(ln(2 pi sigma^2) + (r / sigma)^2)``. Where sigma is not given, the one that maximises the
likelihood takes its place, and counts as one parameter more; the outputs keep their sizes relative
to each other.

AICc takes off the bias that AIC has with few samples (C. M. Hurvich and C.-L. Tsai, Biometrika 76,
1989, eq. 4). That bias comes from the estimated variance: with given sigma the penalty of AIC is
exact for a linear model, and AICc is AIC.

Where the noise was modelled, the likelihood is that of its model, whose coefficients and variances
count as parameters.

With coloured residuals that were taken for white, the likelihood counts the same information
several times. It is divided by a variance inflation factor then, as in the criterion QAIC (K. P.
Burnham and D. R. Anderson, Model Selection and Multimodel Inference, 2002, section 2.5), and so is
the number of samples.

**Coloured residuals**, and how many of them hold as much information as one independent one: the
mean of n samples with autocorrelations rho_k has the variance of ``n / tau`` independent samples,
``tau = 1 + 2 sum rho_k`` (G. V. Bayley and J. M. Hammersley, Supplement to the Journal of the Royal
Statistical Society 8, 1946). The sum ends where nothing but noise is left: with the last pair
``rho_2k + rho_2k+1`` before one that is not positive (C. J. Geyer, Statistical Science 7, 1992,
section 3.3).

It is right for parameters that act on the outputs more slowly than the noise changes, such as an
offset; for others it overstates what is lost, so that a parameter is rather left out.

**The likelihood with a model of the noise**: independent outputs, each an autoregression. With R
the covariance of the samples of an output for innovations of variance 1, exact from the stationary
beginning of each record and over missing samples,

.. math:: -2 \ln L = n \ln(2 \pi s^2) + \ln|R| + n, \qquad s^2 = e^T R^{-1} e / n

at the best variance of the innovations (P. J. Brockwell and R. A. Davis, Time Series: Theory and
Methods, 1991, section 8.7). The coefficients are those of the greatest likelihood of the residuals,
of the order that the result has: its own are those of the restricted likelihood, which differs by
what the parameters have taken.

**The likelihood-ratio test** of a model against a larger one that contains it: with S the sum of
squared residuals over sigma, ``S_smaller - S_larger`` has the chi-squared distribution with as many
degrees of freedom as there are further parameters, if the smaller model is right, its parameters
are inside of their bounds and the samples are many (S. S. Wilks, Annals of Mathematical Statistics
9, 1938); exactly so for linear models. Where sigma is not known, the same over the residual
variance of the larger model, per further parameter, has the F distribution, exactly so for linear
models (G. A. F. Seber and C. J. Wild, Nonlinear Regression, 1989, section 5.3). Where both have a
model of the noise of the same orders, the statistic is the difference of their ``-2 ln L``, with
the chi-squared distribution if the samples are many.

Where the smaller model holds one further parameter at its bound in the larger one, half of the
estimates of the larger model end there: the distribution is the even mixture of those with one
degree of freedom less and with all (S. G. Self and K.-Y. Liang, Journal of the American Statistical
Association 82, 1987, case 6). With more than one such parameter the shares depend on the data; the
same mixture gives an upper limit of the probability (D. A. Kodde and F. C. Palm, Econometrica 54,
1986, eq. 2.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail, f_tail
from fmident.statistics.noise.processes import (
    FittedAutoregression,
    NoiseModel,
    NoisyOutput,
    RestrictedLikelihood,
    partial_of,
)
from fmident.statistics.residuals import residual_statistics

__all__ = [
    "Criteria",
    "Fit",
    "LikelihoodRatio",
    "ModelledLikelihood",
    "akaike_weights",
    "correlation_time",
    "criteria",
    "inflation_of",
    "likelihood_ratio",
    "modelled_likelihood",
]

_LARGEST = 0.9999
"""Largest partial autocorrelation from which a search begins."""


@dataclass(frozen=True)
class Fit:
    """Data of a fit for the criteria.

    `squares` is the sum of squared residuals over sigma, `constant` the sum of
    ``ln(2 pi sigma^2)`` over the samples, and `searched` the number of free parameters.
    Unless `sigma_known`, sigma is known only up to a common factor. With `noise` unknowns
    of a noise model, `squares` are those of its innovations, and `constant` is the rest of
    ``-2 ln L``.
    """

    count: int
    squares: float
    constant: float
    searched: int
    sigma_known: bool
    noise: int = 0

    @property
    def parameters(self) -> int:
        """Number of free parameters and of unknowns of an estimated noise."""
        return self.searched + (self.noise or (not self.sigma_known))

    @property
    def deviance(self) -> float:
        """``-2 ln L`` at the estimate; minus infinity if the residuals are zero."""
        if self.sigma_known or self.noise:
            return self.constant + self.squares
        if self.squares <= 0.0:
            return -math.inf
        return self.constant + self.count * (math.log(self.squares / self.count) + 1.0)


@dataclass(frozen=True)
class Criteria:
    """Information criteria of a result: of Akaike, of Hurvich and Tsai, and of Schwarz.

    NaN without any, for the reason in `missing`; infinite AICc for too few samples.
    """

    aic: float = math.nan
    aicc: float = math.nan
    bic: float = math.nan
    missing: str = ""


def criteria(fit: Fit, inflation: float = 1.0) -> Criteria:
    """Return the criteria of a fit at the maximum of the likelihood.

    `inflation` is the number of samples with as much information as one independent sample.
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
    """Return the weights of models, which add up to 1, from their AICc for the same data.

    NaN for a model without AICc. H. Akaike, Bulletin of the International Statistical
    Institute 50 (1983); Burnham and Anderson 2002, section 2.9.
    """
    known = [v for v in values if math.isfinite(v)]
    if not known:
        return [math.nan for _ in values]
    least = min(known)
    parts = [0.0 if v == math.inf else math.exp(-0.5 * (v - least)) for v in values]
    total = sum(p for p in parts if not math.isnan(p))
    return [p / total for p in parts]


def inflation_of(series: Sequence[F64]) -> float:
    """Return the number of samples with as much information as an independent one, from 1.

    `series` are the residuals of each output in order of time, NaN for missing samples. A
    series without correlated neighbours (99.9 % limits) counts as white.
    """
    count = sum(int(np.count_nonzero(np.isfinite(r))) for r in series)
    independent = sum(_independent(r) for r in series)
    return count / independent if independent > 0.0 else 1.0


def _independent(residuals: F64) -> float:
    known = int(np.count_nonzero(np.isfinite(residuals)))
    statistics = residual_statistics(residuals)
    if statistics.white or not statistics.autocorrelation > 0.0:
        return float(known)
    return known / correlation_time(residuals)


def correlation_time(residuals: F64) -> float:
    """Return ``1 + 2 sum rho_k`` of residuals in order of time, in samples; at least 1."""
    there = np.isfinite(residuals)
    if np.count_nonzero(there) < 2:
        return 1.0
    centred = np.where(there, residuals - np.mean(residuals[there]), 0.0)
    size = fft.next_fast_len(2 * centred.size, real=True)
    power = np.abs(fft.rfft(centred, size)) ** 2
    correlations = fft.irfft(power, size)[: centred.size]
    if not correlations[0] > 0.0:
        return 1.0
    correlations = correlations / correlations[0]
    even = correlations[: correlations.size // 2 * 2]
    pairs = even[0::2] + even[1::2]
    end = np.flatnonzero(pairs <= 0.0)
    pairs = pairs[: end[0]] if end.size else pairs
    return max(1.0, float(2.0 * np.sum(pairs) - 1.0))


@dataclass(frozen=True, eq=False)
class ModelledLikelihood:
    """The likelihood of residuals for the best noise model.

    `deviance` is ``-2 ln L``, minus infinity if the residuals of an output are all zero;
    `unknowns` counts the estimated coefficients and variances; `innovations` are the
    residuals whitened by the model, of variance 1.
    """

    deviance: float
    unknowns: int
    innovations: F64


def modelled_likelihood(
    outputs: Sequence[NoisyOutput], coefficients: Sequence[F64], residuals: F64
) -> ModelledLikelihood:
    """Return the maximum likelihood of residuals over autoregressions of given orders.

    `coefficients` are the initial values for each output; their number is the order.
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


@dataclass(frozen=True)
class LikelihoodRatio:
    """A test of a model against a larger one with `extra` parameters.

    The statistic is the difference of the sums of squares over the variance, or F times the
    degrees of freedom for unknown sigma. `boundary` of the extra parameters are held at a
    bound by the smaller model; with several, `p_value`, the probability of the difference
    for a correct smaller model, is an upper limit. `freedom` is that of the residual
    variance, infinite for known sigma.
    """

    statistic: float
    extra: int
    boundary: int
    freedom: float
    p_value: float

    @property
    def at_most(self) -> bool:
        """Whether `p_value` is an upper limit."""
        return self.boundary > 1

    @property
    def distribution(self) -> str:
        """Distribution of the statistic for a correct smaller model, in words."""
        full = self._named(self.extra)
        if not self.boundary:
            return full
        less = "0" if self.extra == 1 else self._named(self.extra - 1)
        return f"half {less}, half {full}"

    def _named(self, extra: int) -> str:
        if math.isinf(self.freedom):
            return f"chi2({extra})"
        return f"F({extra}, {self.freedom:.0f})"


def likelihood_ratio(
    smaller: Fit, larger: Fit, *, boundary: int = 0, inflation: float = 1.0
) -> LikelihoodRatio:
    """Return the test of a model against a larger one with the same samples and sigma.

    `boundary` is the number of parameters that the smaller model holds at a bound of the
    larger one; `inflation` is that of :func:`criteria`, which
    also reduces the degrees of freedom. The probability is NaN without degrees of freedom,
    or if the larger model has no residuals.
    """
    extra = larger.searched - smaller.searched
    statistic = max(smaller.squares - larger.squares, 0.0) / inflation
    freedom = math.inf
    if larger.noise:
        statistic = max(smaller.deviance - larger.deviance, 0.0) / inflation
    elif not larger.sigma_known:
        left = larger.count - larger.searched
        variance = larger.squares / left if left > 0 else math.nan
        statistic = statistic / variance if variance > 0.0 else math.nan
        freedom = larger.count / inflation - larger.searched
    p = _tail(extra, freedom, statistic)
    if boundary and statistic > 0.0:
        p = 0.5 * (p + _tail(extra - 1, freedom, statistic))
    return LikelihoodRatio(statistic, extra, boundary, freedom, p)


def _tail(extra: int, freedom: float, statistic: float) -> float:
    if not statistic >= 0.0:
        return math.nan
    if extra == 0:
        return 0.0 if statistic > 0.0 else 1.0
    if math.isinf(freedom):
        return chi_squared_tail(extra, statistic)
    return f_tail(extra, freedom, statistic / extra)
