"""Filters for measured signals: low-pass, differentiation, decimation, resampling.

All are zero-phase: they shift nothing in time. All but :func:`resample` take samples at
equal steps; :func:`check_equidistant` checks whether they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import DataError

_UNEVEN = 0.01
"""Steps may differ from their mean by this part: sampling jitter, rounded time stamps."""


@dataclass(frozen=True)
class Decimation:
    """Zero-phase low-pass and decimation of measured and simulated signal alike.

    Chebyshev I, applied forwards and backwards, then every `factor`-th sample is kept.
    The last sample is always among those kept.

    Parameters
    ----------
    factor
        Keep one sample of this many.
    order
        Order of the filter.
    ripple
        Pass-band ripple, dB.
    cutoff
        Pass-band edge as a fraction of the new Nyquist frequency.

    Raises
    ------
    fmident.errors.DataError
        A value out of its range.
    """

    factor: int
    order: int = 8
    ripple: float = 0.05
    cutoff: float = 0.8

    def __post_init__(self) -> None:
        for name, good, wanted in (
            ("factor", 2 <= self.factor <= 10_000, "between 2 and 10000"),
            ("order", 1 <= self.order <= 20, "between 1 and 20"),
            ("ripple", 1e-6 <= self.ripple <= 20.0, "between 1e-6 and 20 dB"),
            ("cutoff", 0.01 <= self.cutoff <= 1.0, "between 0.01 and 1"),
        ):
            if not good:
                raise DataError(f"decimation: {name} must be {wanted}, not {getattr(self, name)!r}")

    @property
    def shortest(self) -> int:
        """Number of samples that a signal must have at least."""
        return 3 * self.order + 1


def kept_samples(count: int, factor: int) -> npt.NDArray[np.intp]:
    """Return the indices of the samples that a decimation keeps, the last one included."""
    return np.arange((count - 1) % factor, count, factor, dtype=np.intp)


def low_pass_for(values: F64, decimation: Decimation) -> F64:
    """Return the signal after a decimation's filter, all samples kept.

    Chebyshev I of the given order and ripple with its edge at ``cutoff / factor`` of the
    Nyquist frequency, forwards and backwards, the ends continued by three times the order
    of samples with odd symmetry.

    Parameters
    ----------
    values
        Shape (n,), equidistant samples without gaps.
    decimation
        The filter.

    Raises
    ------
    fmident.errors.DataError
        Too few samples, or a gap.
    """
    from scipy import signal  # here, since it is slow to import and seldom needed

    if values.size < decimation.shortest:
        raise DataError(
            f"{values.size} samples are too few for a filter of order {decimation.order}, "
            f"which takes {decimation.shortest} at least",
            hint="lower the order, or leave out the decimation",
        )
    _refuse_gaps(values, "decimated")
    sos = signal.cheby1(
        decimation.order, decimation.ripple, decimation.cutoff / decimation.factor, output="sos"
    )
    filtered: F64 = signal.sosfiltfilt(sos, values, padlen=3 * decimation.order)
    return filtered


def apply_decimation(values: F64, decimation: Decimation) -> F64:
    """Return the signal filtered and decimated, (n,) -> (ceil(n / factor),).

    Raises
    ------
    fmident.errors.DataError
        Too few samples, or a gap.
    """
    return low_pass_for(values, decimation)[kept_samples(values.size, decimation.factor)]


def butterworth(
    values: F64, cutoff: float, step: float, order: int = 4, padding: int | None = None
) -> F64:
    """Return the signal after a zero-phase Butterworth low-pass.

    Parameters
    ----------
    values
        Shape (n,) or (n, columns), equidistant samples without gaps.
    cutoff
        Frequency at which one pass lets 1/sqrt(2) through, Hz; both passes let 1/2 through.
    step
        Time between samples, s.
    order
        Of one pass.
    padding
        Samples of odd reflection at both ends; three times the order by default.

    Raises
    ------
    fmident.errors.DataError
        A cut-off outside of what the sampling allows, too few samples, or a gap.
    """
    from scipy import signal  # here, since it is slow to import and seldom needed

    nyquist = 0.5 / step
    if not 0.0 < cutoff < nyquist:
        raise DataError(
            f"a low-pass at {cutoff:g} Hz is not possible with samples every {step:g} s: it "
            f"must lie between 0 and {nyquist:g} Hz"
        )
    if len(values) <= 3 * order:
        raise DataError(f"{len(values)} samples are too few for a low-pass of order {order}")
    _refuse_gaps(values, "filtered")
    sos = signal.butter(order, cutoff, fs=1.0 / step, output="sos")
    padlen = 3 * order if padding is None else padding
    filtered: F64 = signal.sosfiltfilt(sos, values, axis=0, padlen=padlen)
    return filtered


def differentiate(values: F64, times: F64) -> F64:
    """Return the time derivative by central differences, one-sided at the ends.

    Parameters
    ----------
    values
        Shape (n,) or (n, columns), n >= 2.
    times
        Shape (n,), s; steps may differ.
    """
    if len(values) < 2:
        raise DataError("a derivative takes two samples at least")
    _refuse_gaps(values, "differentiated")
    return np.asarray(np.gradient(values, times, axis=0), dtype=np.float64)


def check_equidistant(times: F64, purpose: str) -> float:
    """Return the step of equidistant samples.

    Parameters
    ----------
    times
        Shape (n,), s.
    purpose
        What they are needed for, such as ``"decimation"``.

    Raises
    ------
    fmident.errors.DataError
        The steps differ by more than jitter.
    """
    if times.size < 2:
        raise DataError(f"{purpose} takes two samples at least")
    steps = np.diff(times)
    mean = float(np.mean(steps))
    worst = int(np.argmax(np.abs(steps - mean)))
    if abs(float(steps[worst]) - mean) > _UNEVEN * mean:
        raise DataError(
            f"{purpose} takes samples at equal steps, but the step after {times[worst]:g} s is "
            f"{steps[worst]:g} s where the mean is {mean:g} s",
            hint="resample the data first",
        )
    return mean


def _refuse_gaps(values: F64, verb: str) -> None:
    gaps = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if gaps.size:
        raise DataError(
            f"a signal with missing samples cannot be {verb}: sample {gaps[0] + 1} of "
            f"{len(values)} is missing",
            hint="fill the gaps first",
        )
