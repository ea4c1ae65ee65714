"""Whether residuals come back in other experiments: what a model lacks does, noise does not.

Innovations of independent series are uncorrelated, whatever the noise of each (Haugh, J. American
Statistical Association 71, 1976). So are not those of residuals that have a part in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail
from fmident.statistics.noise.processes import NoisyOutput
from fmident.statistics.noise.series import Indices, Series

_FEWEST = 30
"""Samples that two series have in common at least."""

_MATTERS = 0.2
"""Correlation below which intervals hardly suffer."""

_LARGEST = 1.0 - 1e-12


@dataclass(frozen=True, eq=False)
class Repetition:
    """Series of one output that have a part of their residuals in common.

    Parameters
    ----------
    output
        Its place among the outputs.
    series
        Which of its series, in their order.
    correlation
        The mean over pairs of them by samples, or the largest of a pair where some change sign.
    """

    output: int
    series: tuple[int, ...]
    correlation: float


def repetitions(
    outputs: Sequence[NoisyOutput], innovations: F64, level: float = 1e-3
) -> tuple[Repetition, ...]:
    """Return which series of an output have residuals in common, sample by sample.

    Each pair of series is compared from its first sample on, over the length that both have, and
    all pairs together: many weak correlations of one sign are found, too.

    Parameters
    ----------
    outputs
        To which each residual belongs.
    innovations
        What the noise model leaves of the residuals, shape (m,).
    level
        Probability of finding any in independent noise, by Bonferroni.
    """
    each = [_pairs(output, innovations) for output in outputs]
    tests = sum(len(pairs) + (len(pairs) > 1) for pairs in each)
    if not tests:
        return ()
    found = []
    for place, pairs in enumerate(each):
        strong = {
            pair
            for pair, (r, n) in pairs.items()
            if abs(r) > _MATTERS and _chance(r, n) < level / tests
        }
        if _together(pairs) < level / tests:
            alike = {k for pair in pairs for k in pair if _mean(pairs, k) > _MATTERS}
            strong |= {pair for pair in pairs if alike.issuperset(pair)}
        if strong:
            values = [pairs[pair] for pair in strong]
            mean = sum(r * n for r, n in values) / sum(n for _, n in values)
            opposed = any(r < -_MATTERS for r, _ in values) and any(r > _MATTERS for r, _ in values)
            shown = max((r for r, _ in values), key=abs) if opposed else mean
            found.append(Repetition(place, tuple(sorted({k for p in strong for k in p})), shown))
    return tuple(found)


def _pairs(output: NoisyOutput, innovations: F64) -> dict[tuple[int, int], tuple[float, int]]:
    """Return correlation and number of common samples of each pair of series."""
    found = {}
    for (i, a), (j, b) in combinations(enumerate(output.series), 2):
        if a.even and b.even:
            first, second = _common(a, b)
            x, y = innovations[a.rows[first]], innovations[b.rows[second]]
            size = float(np.linalg.norm(x) * np.linalg.norm(y))
            if x.size >= _FEWEST and size > 0.0:
                found[i, j] = float(x @ y) / size, x.size
    return found


def _mean(pairs: dict[tuple[int, int], tuple[float, int]], series: int) -> float:
    """Return the mean correlation of a series with the others."""
    own = [found for pair, found in pairs.items() if series in pair]
    return sum(r * n for r, n in own) / sum(n for _, n in own)


def _common(a: Series, b: Series) -> tuple[Indices, Indices]:
    _, first, second = np.intersect1d(
        np.rint(a.positions), np.rint(b.positions), assume_unique=True, return_indices=True
    )
    return first, second


def _chance(correlation: float, count: int) -> float:
    """Return the probability of a correlation at least as large, by Fisher's z."""
    bounded = min(abs(correlation), _LARGEST)
    return math.erfc(math.atanh(bounded) * math.sqrt(0.5 * (count - 3)))


def _together(pairs: dict[tuple[int, int], tuple[float, int]]) -> float:
    """Return the probability of so large a mean correlation of one sign.

    Pairs are uncorrelated, but not independent: of many series with n samples, the sum goes with
    chi-square for n degrees of freedom, whose tail is the longer one.
    """
    counts = np.array([n for _, n in pairs.values()], dtype=np.float64)
    values = np.array([r for r, _ in pairs.values()])
    if counts.size < 2 or float(values @ counts) <= _MATTERS * float(counts.sum()):
        return 1.0
    z = float(values @ counts) / math.sqrt(counts.sum())
    least = float(counts.min())
    return chi_squared_tail(least, least + z * math.sqrt(2.0 * least))
