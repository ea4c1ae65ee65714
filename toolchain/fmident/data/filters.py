"""Filters that leave the phase alone."""

from __future__ import annotations

import numpy as np
from scipy import signal

from fmident._types import F64
from fmident.data.experiment import Decimation
from fmident.errors import DataError


def low_pass(values: F64, cutoff: float, rate: float, *, order: int = 4) -> F64:
    """Zero-phase Butterworth low-pass, applied forwards and backwards.

    Parameters
    ----------
    values
        Shape (n,), equidistant, without gaps.
    cutoff
        Frequency at which each of the two passes takes 3 dB, Hz.
    rate
        Sampling rate, Hz.
    order
        Order of the filter.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    DataError
        The cut-off is not below half the sampling rate, or the signal is too short.
    """
    if not 0.0 < cutoff < 0.5 * rate:
        raise DataError(
            f"the cut-off of {cutoff:g} Hz must lie between 0 and half the sampling rate,"
            f" {0.5 * rate:g} Hz"
        )
    padding = 3 * order
    if values.size <= padding:
        raise DataError(f"{values.size} samples are too few for this filter ({padding} needed)")
    b, a = signal.butter(order, cutoff, fs=rate)
    return np.asarray(signal.filtfilt(b, a, values, padtype="odd", padlen=padding), np.float64)


def differentiate(values: F64, period: float) -> F64:
    """Central differences, one-sided at the ends.

    Parameters
    ----------
    values
        Shape (n,), equidistant.
    period
        Sampling period, s.
    """
    return np.asarray(np.gradient(values, period), dtype=np.float64)


def kept_samples(count: int, decimation: Decimation) -> slice:
    """Return which of `count` samples decimation keeps: every factor-th, the last one included."""
    kept = -(-count // decimation.factor)
    return slice(count - 1 - decimation.factor * (kept - 1), None, decimation.factor)


def decimate(values: F64, decimation: Decimation) -> F64:
    """Low-pass without phase shift, then keep every factor-th sample, the last one included.

    The result is linear in `values`, so that a simulated and a measured signal treated alike
    stay comparable.

    Parameters
    ----------
    values
        Shape (n,), equidistant, without gaps.
    decimation
        Factor and filter.

    Returns
    -------
    ndarray, shape (ceil(n / factor),)

    Raises
    ------
    DataError
        The signal has gaps or is too short for the filter.
    """
    padding = 3 * decimation.order
    if values.size <= padding:
        raise DataError(
            f"{values.size} samples are too few to decimate with a filter of order"
            f" {decimation.order} ({padding + 1} needed)"
        )
    if not np.isfinite(values).all():
        raise DataError("a signal with gaps cannot be decimated", hint="fill the gaps first")
    b, a = signal.cheby1(decimation.order, decimation.ripple, decimation.cutoff / decimation.factor)
    smooth = signal.filtfilt(b, a, values, padtype="odd", padlen=padding)
    return np.asarray(smooth[kept_samples(values.size, decimation)], dtype=np.float64)
