"""Quantiles and tails of the normal, Student's t, chi-squared and F distributions.

For scalars, and without SciPy, which takes longer to import than a small estimation
takes. Values are accurate to ten digits and mostly to twelve, those of F to eight, as
the test shows. Formula numbers are those of the NIST Digital Library of Mathematical
Functions (https://dlmf.nist.gov).
"""

from __future__ import annotations

import math
from collections.abc import Callable

_TINY = 1e-300
_ROUNDING = 2.0**-53
_MOST = 100_000
"""Terms of a continued fraction or a series: some times the root of the degrees of freedom."""

_LARGE = 100.0
"""From here on, what follows of expansions in powers of one over it is below rounding."""

_FAR = 3.0
"""From here on, one half minus the rest of Student's distribution loses digits of its tail."""

_HALF_STEP = (
    1.0, -1.0 / 8.0, 1.0 / 128.0, 5.0 / 1024.0, -21.0 / 32768.0, -399.0 / 262144.0,
    869.0 / 4194304.0,
)  # fmt: skip
"""Of gamma(z + 1/2)/(gamma(z) sqrt(z)) in powers of 1/z; DLMF 5.11.13."""

_STIRLING = (1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0)
"""Of the logarithm of gamma(z)/(z^(z - 1/2) exp(-z) sqrt(2 pi)) in 1/z, 1/z^3, ...; DLMF 5.11.1."""

_SAME = 1e-9
"""Relative difference of quantiles that is rounding."""

_HALVINGS = 60


def normal_quantile(level: float) -> float:
    """Return the standard normal quantile; infinite for a level of 0 or 1, NaN beyond."""
    return _quantile(level, _normal_tail, lambda x: math.exp(-0.5 * x * x) / math.sqrt(math.tau))


def student_quantile(level: float, freedom: float) -> float:
    """Return the quantile of Student's t; infinite for a level of 0 or 1, NaN beyond."""
    if not freedom > 0.0:
        return math.nan
    if math.isinf(freedom):
        return normal_quantile(level)
    scale = _gamma_ratio(0.5 * freedom) / math.sqrt(math.pi * freedom)

    def density(t: float) -> float:
        return scale * math.exp(-0.5 * (freedom + 1.0) * math.log1p(t * t / freedom))

    return _quantile(level, lambda t: _student_tail(t, freedom), density)


def student_freedom(level: float, quantile: float) -> float:
    """Return the degrees of freedom for which Student's t has a quantile at `level` above 0.5.

    Infinite for the normal quantile or a smaller one; 1 if the quantile is larger than that
    of 1; NaN for NaN.
    """
    if math.isnan(quantile):
        return math.nan
    if quantile <= normal_quantile(level) * (1.0 + _SAME):
        return math.inf
    low, high = 0.0, 1.0  # of the reciprocal, with which the quantile grows
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if student_quantile(level, 1.0 / middle) < quantile:
            low = middle
        else:
            high = middle
    return 1.0 / high


def chi_squared_tail(freedom: float, value: float) -> float:
    """Return the probability that chi-squared exceeds a value; NaN if that is negative."""
    if not value >= 0.0:
        return math.nan
    if value == 0.0 or math.isinf(value):
        return 1.0 if value == 0.0 else 0.0
    a, x = 0.5 * freedom, 0.5 * value
    front = _gamma_front(a, x)
    if x < a + 1.0:  # DLMF 8.11.4
        return max(1.0 - front / a * _series(lambda n: x / (a + n + 1)), 0.0)
    # DLMF 8.9.2, contracted to its even part.
    fraction = _continued(x + 1.0 - a, lambda n: -n * (n - a), lambda n: x + 2.0 * n + 1.0 - a)
    return min(front / fraction, 1.0)


def f_tail(first: float, second: float, value: float) -> float:
    """Return the probability that F exceeds a value, NaN if that is negative; DLMF 8.17."""
    if not (value >= 0.0 and first > 0.0 and second > 0.0):
        return math.nan
    if value == 0.0 or math.isinf(value):
        return 1.0 if value == 0.0 else 0.0
    a, b = 0.5 * second, 0.5 * first
    ratio = first * value / second
    x, y = 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
    # x^a y^b / B(a, b)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm - a * math.log1p(ratio) + b * math.log(y))
    if x < (a + 1.0) / (a + b + 2.0):
        return min(front / (a * _beta_fraction(a, b, x)), 1.0)
    return max(1.0 - front / (b * _beta_fraction(b, a, y)), 0.0)


def _quantile(
    level: float, tail: Callable[[float], float], density: Callable[[float], float]
) -> float:
    """Return a quantile of a symmetric distribution by Newton's method on its upper tail."""
    if not 0.0 < level < 1.0:
        return {0.0: -math.inf, 1.0: math.inf}.get(level, math.nan)
    if level < 0.5:
        return -_upper_quantile(level, tail, density)
    return _upper_quantile(1.0 - level, tail, density)


def _upper_quantile(
    share: float, tail: Callable[[float], float], density: Callable[[float], float]
) -> float:
    low, high = 0.0, 1.0
    while tail(high) > share:
        low, high = high, 2.0 * high
    x = low
    for _ in range(200):
        excess = tail(x) - share
        if excess > 0.0:
            low = x
        else:
            high = x
        step = excess / density(x)
        following = x + step
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - x) <= 2.0 * _ROUNDING * abs(following):
            return following
        x = following
    return x


def _normal_tail(x: float) -> float:
    return 0.5 * math.erfc(x / math.sqrt(2.0))


def _student_tail(t: float, freedom: float) -> float:
    """Return the probability that t exceeds a non-negative value; DLMF 8.17.22."""
    a, square = 0.5 * freedom, t * t / freedom
    # x^a (1 - x)^(1/2) / B(a, 1/2) with x = 1/(1 + t^2/freedom)
    root = math.sqrt(square / (1.0 + square))
    front = _gamma_ratio(a) / math.sqrt(math.pi) * math.exp(-a * math.log1p(square)) * root
    x, y = 1.0 / (1.0 + square), square / (1.0 + square)
    if a > _LARGE and t < _FAR:  # where 1 - x would lose digits; DLMF 8.17.7 and 15.2.1
        return 0.5 - front * _series(lambda n: (a + 0.5 + n) * y / (1.5 + n))
    if x * (a + 2.5) < a + 1.0:
        return 0.5 * front / (a * _beta_fraction(a, 0.5, x))
    return 0.5 - front / _beta_fraction(0.5, a, y)


def _series(ratio: Callable[[int], float]) -> float:
    """Return 1 + r_0 + r_0 r_1 + ..., for positive terms."""
    total = term = 1.0
    for n in range(_MOST):
        term *= ratio(n)
        total += term
        if term < total * _ROUNDING:
            break
    return total


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return 1 + d_1/(1 + d_2/(1 + ...)) of the incomplete beta function; DLMF 8.17.22."""

    def numerator(n: int) -> float:
        m = n // 2
        if n % 2:
            return -(a + m) * (a + b + m) * x / ((a + n - 1.0) * (a + n))
        return m * (b - m) * x / ((a + n - 1.0) * (a + n))

    return _continued(1.0, numerator, lambda _: 1.0)


def _continued(
    first: float, numerator: Callable[[int], float], denominator: Callable[[int], float]
) -> float:
    """Return first + a_1/(b_1 + a_2/(b_2 + ...)) by the method of Lentz; DLMF 3.10(iii)."""
    value = first or _TINY
    c, d = value, 0.0
    for n in range(1, _MOST):
        a, b = numerator(n), denominator(n)
        d = 1.0 / ((b + a * d) or _TINY)
        c = (b + a / c) or _TINY
        value *= c * d
        if abs(c * d - 1.0) <= 2.0 * _ROUNDING:
            break
    return value


def _gamma_ratio(z: float) -> float:
    """Return gamma(z + 1/2)/gamma(z)."""
    if z < _LARGE:
        return math.gamma(z + 0.5) / math.gamma(z)
    return math.sqrt(z) * _polynomial(_HALF_STEP, 1.0 / z)


def _gamma_front(a: float, x: float) -> float:
    """Return x^a exp(-x)/gamma(a)."""
    if a < _LARGE:
        return math.exp(a * math.log(x) - x) / math.gamma(a)
    off = (x - a) / a
    logarithm = math.log1p(off) if off > -0.5 else math.log(x) - math.log(a)
    correction = _polynomial(_STIRLING, 1.0 / (a * a)) / a
    return math.exp(-a * (off - logarithm) - correction) * math.sqrt(a / math.tau)


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value
