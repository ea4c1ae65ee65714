"""Which samples of long signals are drawn, so that no peak is lost at any zoom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64

Indices = npt.NDArray[np.intp]

_LARGEST_GAP = 20
"""More missing samples than this in a row leave a gap in a line, in ``report.js``, too."""

_GAP_SHARE = 0.01
"""So many gaps are seen, the longest, for each sample that is kept."""

_SEEN = 1e-5
"""A line that is off by less than this share of the range of its signal is right."""


def extremes(signals: Sequence[F64], most: int) -> Indices:
    """Return which samples show long signals at any zoom.

    Three quarters are the first and the last sample, and the smallest and the largest of strips of
    equal numbers of samples. The others are where a line through these would be furthest off,
    such as beside a single peak. Of several signals it is those of each: all signals have values
    at all places that are kept. Of the longest gaps as many samples are kept as show them.

    Parameters
    ----------
    signals
        Shape (n,) each; NaN and infinity are missing.
    most
        So many samples are kept at most, but both ends and the extremes of each; of fewer, all.

    Returns
    -------
    array of int, shape (k,)
        In ascending order.
    """
    count = signals[0].size
    if count <= most:
        return np.arange(count)
    held = [np.where(np.isfinite(signal), signal, np.nan) for signal in signals]
    gaps = _gaps(held, int(_GAP_SHARE * most))
    most -= gaps.size
    found = _envelope(held, most - most // 4)
    off = np.zeros(count)
    for signal in held:
        there = found[np.isfinite(signal[found])]
        if there.size and (size := np.ptp(signal[there])) > 0.0:
            line = np.interp(np.arange(count), there, signal[there])
            np.fmax(off, np.abs(signal - line) / size, out=off)
    room = max(most - found.size, 0)
    more = np.argpartition(off, count - 1 - room)[count - room :]
    return np.unique(np.concatenate([found, more[off[more] > _SEEN], gaps]))


def _envelope(signals: Sequence[F64], most: int) -> Indices:
    """Return the first, the last and the extremes of strips that are as short as `most` allows."""
    count = signals[0].size
    size = 2 * count // most
    while True:
        kept = np.zeros(count, dtype=bool)
        kept[[0, -1]] = True
        whole = count - count % size
        for signal in signals:
            for sign in (1.0, -1.0):
                filled = np.where(np.isnan(signal), np.inf, sign * signal)
                inside = np.argmin(filled[:whole].reshape(-1, size), axis=1)
                kept[inside + np.arange(0, whole, size)] = True
                if whole < count:
                    kept[whole + np.argmin(filled[whole:])] = True
        found = np.flatnonzero(kept)
        if found.size <= most or size >= count:
            return found
        size = max(size * found.size // most, size + 1)


def _gaps(signals: Sequence[F64], most: int) -> Indices:
    """Return the first samples of the longest gaps, one more than a line is drawn across."""
    begins, lengths = [], []
    for signal in signals:
        there = np.flatnonzero(np.isfinite(signal))
        steps = np.diff(there)
        begins.append(there[:-1][steps > _LARGEST_GAP + 1])
        lengths.append(steps[steps > _LARGEST_GAP + 1])
    first, which = np.unique(np.concatenate(begins), return_index=True)
    longest = np.argsort(-np.concatenate(lengths)[which], kind="stable")[:most]
    return (first[longest, np.newaxis] + np.arange(1, _LARGEST_GAP + 2)).ravel()
