"""Hampel filter: outliers are samples far from the median of their neighbours.

Pearson, Neuvo, Astola and Gabbouj, Generalized Hampel Filters, EURASIP Journal on
Advances in Signal Processing, 2016. Windows are truncated at both ends of the record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import DataError
from fmident.options import FINITE, OptionError, Options, Range

_TO_SIGMA = 1.4826
"""Standard deviation of normal samples over the median of their absolute deviations."""

_LEAST = 3
_AT_ONCE = 4_000_000
"""Samples in windows that are sorted at once, which bounds the memory."""

_TRIAL = 20_000
"""Samples of noise that tell how many good ones a filter takes for outliers."""

_SLACK = 1e-6
"""Part of a window by which a time stamp may miss its end and still be in it."""


@dataclass(frozen=True)
class Hampel(Options):
    """Settings of the Hampel filter for some columns.

    The window about each sample has the width `window`, s, or, if ``None``, an odd number
    of `samples` including the middle one. A sample is an outlier if it differs from the
    median of the window by more than `threshold` standard deviations, estimated as 1.4826
    times the median absolute deviation. The median replaces an outlier if `replace` is set,
    else it becomes a missing sample.
    """

    columns: tuple[str, ...]
    window: Annotated[float | None, Range(above=0.0, below=math.inf)] = None
    samples: Annotated[int, Range(least=_LEAST)] = 7
    threshold: Annotated[float, FINITE] = 3.0
    replace: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.columns:
            raise OptionError("columns must be names of columns", "columns")
        if self.samples % 2 == 0:
            message = f"samples must be odd, the one in the middle included, not {self.samples}"
            raise OptionError(message, "samples")

    def __str__(self) -> str:
        width = f"{self.samples} samples" if self.window is None else f"{self.window:g} s"
        return f"Hampel filter, {width}, {self.threshold:g} sigma"


@dataclass(frozen=True, eq=False)
class Outliers:
    """Outliers of a column.

    `rows` are increasing row indices in the table, `values` are as measured, and `medians`
    are those of their windows, shape (k,). `flat` outliers are in windows that are mostly a
    single value, so that any other value counts as an outlier. `replaced` says whether the
    medians have replaced them, `share` is the fraction of outliers in the samples, and
    `width` the number of samples in most windows.
    """

    reason: str
    rows: npt.NDArray[np.intp]
    values: F64
    medians: F64
    flat: int = 0
    replaced: bool = False
    share: float = 0.0
    width: int = 0


def find_outliers(values: F64, times: F64, hampel: Hampel) -> Outliers:
    """Return the outliers of a column.

    `values`, shape (n,), may have NaN for missing samples, which are ignored; `times`,
    shape (n,), s, are increasing. Raises `DataError` if the window or the record holds
    fewer than three samples.
    """
    low, high = _windows(times, hampel)
    widest = int((high - low).max(initial=0))
    if times.size < _LEAST:
        raise DataError(
            f"a record of {times.size} sample{'' if times.size == 1 else 's'} has no outliers: a"
            f" Hampel filter takes at least {_LEAST}",
            hint="leave out the filter",
        )
    if widest < _LEAST:
        raise DataError(
            f"a window of {hampel.window:g} s holds fewer than {_LEAST} samples, which come every"
            f" {float(np.median(np.diff(times))):.4g} s",
            hint="make 'window' longer, or give its width in 'samples'",
        )
    medians, spreads = np.full(values.shape, np.nan), np.full(values.shape, np.nan)
    rows = max(_AT_ONCE // widest, 1)
    for begin in range(0, values.size, rows):
        part = slice(begin, begin + rows)
        places = low[part, None] + np.arange(widest)
        inside = places < high[part, None]
        window = np.where(inside, values[np.minimum(places, values.size - 1)], np.nan)
        window[~np.isfinite(window)] = np.nan
        medians[part] = _row_medians(window)
        spreads[part] = _row_medians(np.abs(window - medians[part, None]))
    distance = np.abs(values - medians)
    with np.errstate(invalid="ignore"):
        beyond = distance > hampel.threshold * _TO_SIGMA * spreads
    outlier_rows = np.flatnonzero(beyond)
    return Outliers(
        str(hampel),
        outlier_rows,
        values[outlier_rows],
        medians[outlier_rows],
        int(np.count_nonzero(spreads[outlier_rows] == 0.0)),
        hampel.replace,
        outlier_rows.size / max(int(np.count_nonzero(np.isfinite(values))), 1),
        int(np.median(high - low)),
    )


def share_of_noise(hampel: Hampel, width: int) -> float:
    """Return the fraction of independent normal noise that a filter would call outliers.

    `width` is the number of samples in a window.
    """
    noise = np.random.default_rng(0).normal(size=_TRIAL)
    alike = replace(hampel, window=None, samples=max(width - 1 + width % 2, _LEAST))
    return find_outliers(noise, np.arange(_TRIAL, dtype=np.float64), alike).share


def _windows(times: F64, hampel: Hampel) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    if hampel.window is None:
        rows, half = np.arange(times.size, dtype=np.intp), hampel.samples // 2
        return np.maximum(rows - half, 0), np.minimum(rows + half + 1, times.size)
    reach = 0.5 * hampel.window * (1.0 + _SLACK)
    return (
        np.searchsorted(times, times - reach, side="left"),
        np.searchsorted(times, times + reach, side="right"),
    )


def _row_medians(rows: F64) -> F64:
    """Return the median of the finite values per row, shape (n,); NaN for fewer than three."""
    ordered = np.sort(rows, axis=1)  # NaN comes last
    count = np.count_nonzero(np.isfinite(rows), axis=1)
    enough = count >= _LEAST
    lower, upper = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, rows.shape[1] - 1)
    each = np.arange(rows.shape[0])
    medians: F64 = np.where(enough, 0.5 * (ordered[each, lower] + ordered[each, upper]), np.nan)
    return medians
