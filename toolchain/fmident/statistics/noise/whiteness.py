"""Tests of the assumptions of the formulas for white noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail
from fmident.statistics.noise.series import Series

_LAGS = 20
_FEWEST = 10
"""Samples from which on a test says something."""

_SHARE = 5
"""Samples per lag."""

_LOOKS = (1, 5, _LAGS)
"""Lags that are looked at."""

_PER_SAMPLE, _STRICT, _LENIENT = 2.5, 1e-3, 0.05
"""Probability from which on a record counts as correlated, times its samples; its limits."""


def portmanteau(
    series: Sequence[Series], values: Sequence[F64], fitted: int = 0, most: int = _LAGS
) -> float:
    """Return the probability of autocorrelations as large as these in white noise.

    The sum over lags of the test of Ljung and Box (Biometrika 65, 1978), with each
    correlation over the root of the sum of its squared products, which is its variance for
    any sizes and tails of the samples (Dalla, Giraitis and Phillips, Econometric Theory 38,
    2022). Pairs are formed by distance in time, so that missing samples do not turn others
    into neighbours; in series that do not lie on grids, by order.

    `fitted` is the number of coefficients of an autoregression that whitened the values,
    `most` the number of additional lags. NaN for too few samples.
    """
    size = sum(v.size for v in values)
    power = sum(float(v @ v) for v in values)
    lags = min(most + fitted, size // _SHARE)
    if size < _FEWEST or lags <= fitted or power == 0.0:
        return float("nan")
    even = all(s.even for s in series)
    total, used = 0.0, 0
    for lag in range(1, (lags if even else 1) + 1):
        products, squares, pairs = 0.0, 0.0, 0
        for one, value in zip(series, values, strict=True):
            later, earlier = _pairs(one, lag)
            product = value[later] * value[earlier]
            products, squares = products + float(product.sum()), squares + float(product @ product)
            pairs += later.size
        if pairs < _FEWEST or squares == 0.0:
            continue
        total += products**2 / squares
        used += 1
    freedom = used - fitted
    return chi_squared_tail(freedom, total) if freedom > 0 else float("nan")


def white_chance(series: Sequence[Series], values: Sequence[F64]) -> float:
    """Return the probability of autocorrelations as large as these in white noise.

    The minimum of :func:`portmanteau` over one, five and twenty lags, times three
    (Bonferroni): neighbours alone are most sensitive to slowly changing noise, which twenty
    lags hide in a short record. NaN for too few samples.
    """
    known = [portmanteau(series, values, most=lags) for lags in _LOOKS]
    known = [p for p in known if not np.isnan(p)]
    return min(len(known) * min(known), 1.0) if known else float("nan")


def colour_level(size: int) -> float:
    """Return the probability below which a record of `size` samples counts as correlated.

    It falls with the length of the record. In a short one, a correlation that doubles
    standard errors may give only weak evidence, and including a correlation that does not
    exist costs little.
    """
    return float(np.clip(_PER_SAMPLE / max(size, 1), _STRICT, _LENIENT))


def neighbours(series: Sequence[Series], values: Sequence[F64]) -> float:
    """Return the correlation of neighbouring samples; NaN for too few."""
    products, pairs = 0.0, 0
    for one, value in zip(series, values, strict=True):
        later, earlier = _pairs(one, 1)
        products += float(value[later] @ value[earlier])
        pairs += later.size
    size, power = sum(v.size for v in values), sum(float(v @ v) for v in values)
    return products / pairs * size / power if pairs >= _FEWEST and power > 0.0 else float("nan")


def _pairs(series: Series, lag: int) -> tuple[np.ndarray, np.ndarray]:
    """Return indices of samples that are `lag` sampling intervals apart."""
    if not series.even:
        index = np.arange(series.positions.size)
        return index[lag:], index[:-lag]
    positions = series.positions.astype(np.int64)
    earlier = np.searchsorted(positions, positions - lag)
    exists = positions[np.minimum(earlier, positions.size - 1)] == positions - lag
    later = np.flatnonzero(exists)
    return later, earlier[later]


def bartlett(squares: F64, freedoms: F64) -> float:
    """Return Bartlett's probability of variances as different in noise of one size.

    M. S. Bartlett, Proc. Royal Society A 160, 1937, from sums of squares and degrees of
    freedom.
    """
    usable = (freedoms > 1.0) & (squares > 0.0)
    squares, freedoms = squares[usable], freedoms[usable]
    if squares.size < 2:
        return float("nan")
    pooled = float(squares.sum() / freedoms.sum())
    statistic = float(np.sum(freedoms * np.log(pooled / (squares / freedoms))))
    correction = 1.0 + (float(np.sum(1.0 / freedoms)) - 1.0 / freedoms.sum()) / (
        3.0 * (squares.size - 1)
    )
    # Of sizes that are equal, rounding may make it negative.
    return chi_squared_tail(squares.size - 1, max(statistic / correction, 0.0))


def white_test(innovations: F64, shares: F64) -> float:
    """Return the probability of squares that follow the regressors so closely in even noise.

    The direct test of White (Econometrica 48, 1980) whether unequal variances change the
    standard errors, studentised like that of Breusch and Pagan by Koenker (J. Econometrics
    17, 1981): the squares of the innovations, shape (m,), are regressed on their
    contributions to the variance of each parameter, `shares`, shape (n, m).
    """
    totals = shares.sum(axis=1)
    columns = shares[totals > 0.0] / totals[totals > 0.0, np.newaxis]
    columns = columns - columns.mean(axis=1, keepdims=True)
    size = innovations.size
    if not len(columns) or size < _FEWEST * (len(columns) + 1):
        return float("nan")
    squares = innovations**2
    squares = squares - squares.mean()
    left, singular, _ = np.linalg.svd(columns.T, full_matrices=False)
    left = left[:, singular > 1e-8 * singular[0]] if singular[0] > 0.0 else left[:, :0]
    power = float(squares @ squares)
    if not left.shape[1] or power == 0.0:
        return float("nan")
    explained = float(np.sum((left.T @ squares) ** 2)) / power
    return chi_squared_tail(left.shape[1], size * explained)
