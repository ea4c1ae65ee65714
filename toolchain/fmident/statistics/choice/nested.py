"""The likelihood-ratio test of a model against a larger one that contains it.

With S the sum of squared residuals over sigma, ``S_smaller - S_larger`` has the chi-squared
distribution with as many degrees of freedom as there are further parameters, if the smaller model
is right, its parameters are inside of their bounds and the samples are many (S. S. Wilks, Annals of
Mathematical Statistics 9, 1938); exactly so for linear models. Where sigma is not known, the same
over the residual variance of the larger model, per further parameter, has the F distribution,
exactly so for linear models (G. A. F. Seber and C. J. Wild, Nonlinear Regression, 1989, section
5.3). Where both have a model of the noise of the same orders, the statistic is the difference of
their ``-2 ln L``, with the chi-squared distribution if the samples are many.

Where the smaller model holds one further parameter at its bound in the larger one, half of the
estimates of the larger model end there: the distribution is the even mixture of those with one
degree of freedom less and with all (S. G. Self and K.-Y. Liang, Journal of the American Statistical
Association 82, 1987, case 6). With more than one such parameter the shares depend on the data; the
same mixture gives an upper limit of the probability (D. A. Kodde and F. C. Palm, Econometrica 54,
1986, eq. 2.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fmident.statistics.choice.criteria import Fit
from fmident.statistics.distributions import chi_squared_tail, f_tail


@dataclass(frozen=True)
class LikelihoodRatio:
    """A test of a model against a larger one.

    Parameters
    ----------
    statistic
        Difference of the sums of squares over the variance; F times the degrees of freedom where
        sigma is not known.
    extra
        Further parameters.
    boundary
        Those of them that the smaller model holds at a bound.
    freedom
        Degrees of freedom of the residual variance; infinite where sigma is known.
    p_value
        Probability of such a difference if the smaller model is right; an upper limit with several
        parameters at bounds.
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
        """Of the statistic if the smaller model is right, in words."""
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
    """Return the test of a model against a larger one.

    Parameters
    ----------
    smaller, larger
        Of the same samples with the same sigma.
    boundary
        Parameters of the larger model that the smaller one holds at a bound of the larger one.
    inflation
        As of :func:`fmident.statistics.choice.criteria`; degrees of freedom count independent
        samples, too.

    Returns
    -------
    LikelihoodRatio
        NaN for the probability without degrees of freedom, or if the larger model leaves nothing.
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
