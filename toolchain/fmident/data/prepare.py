"""Preparation of columns before they are used: outliers, zero-phase low-pass, derivatives.

Inverse dynamics needs speed and acceleration of a measured position. Noise grows with each
differentiation, so the position is filtered first, without a shift in time (Khalil and Dombre,
Modeling, Identification and Control of Robots, section 12.4).

An automatic cut-off rises until the variance of what is filtered out, per degree of freedom, no
longer falls: then only white noise is left above it. For white noise of variance s^2 and the gain
g(f) of both passes, that variance is ``s^2 * mean((1 - g)^2)``.

**Filters**: low-pass, differentiation, decimation. All are zero-phase: they shift nothing in time.
They take samples at equal steps; :func:`check_equidistant` checks whether they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt
import scipy

from fmident.arrays import F64
from fmident.data.outliers import Hampel, Outliers, find_outliers, share_of_noise
from fmident.data.table import Table
from fmident.data.time import uneven_step
from fmident.errors import DataError, Diagnostic, Location, unknown_name
from fmident.options import NOT_NEGATIVE, POSITIVE, Options, Range

ORDERS = Range(least=1, most=20)
"""Orders of filters, of one pass."""

_LOSS = 0.05
"""Part of a frequency that central differences may lose at the cut-off without a warning."""

_MANY, _LIKE_NOISE = 0.01, 3.0
"""A share of outliers above the first is compared with that of mere noise; above the second times
that, it is more than noise."""

_RATIO = 1.1
_PERIODS = 4.0
"""Periods of the lowest cut-off in the record."""

_DEVIATIONS = 3.0
"""Standard deviations by which a variance must lie above the least to be still falling."""

_LINES = 2048

_UNEVEN = 0.01
"""Steps may differ from their mean by this part: sampling jitter, rounded time stamps."""


@dataclass(frozen=True)
class LowPass(Options):
    """A Butterworth low-pass filter of a given order per pass, applied forwards and backwards.

    At the `cutoff`, Hz, the gain of one pass is 1/sqrt(2). `padding` is the number of
    samples of odd reflection at both ends; ``None`` means a period of the cut-off, at least
    three times the order.
    """

    cutoff: Annotated[float, POSITIVE]
    order: Annotated[int, ORDERS] = 4
    padding: Annotated[int | None, NOT_NEGATIVE] = None

    def padding_for(self, step: float, samples: int) -> int:
        """Return the padding in samples for a signal of `samples` samples every `step` s."""
        wanted = self.padding
        if wanted is None:
            wanted = max(3 * self.order, int(np.ceil(1.0 / (self.cutoff * step))))
        return min(wanted, samples - 1)


@dataclass(frozen=True)
class Edges:
    """Specification of a low-pass filter, which determines the minimum order.

    The edges `passband` and `stopband` are in Hz; `ripple` and `attenuation` are the
    attenuation of one pass there, dB. Raises `DataError` for values that contradict each
    other.
    """

    passband: float
    stopband: float
    ripple: float = 1.0
    attenuation: float = 60.0

    def __post_init__(self) -> None:
        if not 0.0 < self.passband < self.stopband:
            raise DataError(
                f"low-pass: the stop band ({self.stopband:g} Hz) must begin above the end of the "
                f"pass band ({self.passband:g} Hz), and both must be positive"
            )
        if not 0.0 < self.ripple < self.attenuation:
            raise DataError(
                f"low-pass: the attenuation ({self.attenuation:g} dB) must be larger than the "
                f"ripple ({self.ripple:g} dB), and both must be positive"
            )

    def low_pass(self, step: float, padding: int | None = None) -> LowPass:
        """Return the Butterworth filter of minimum order for samples every `step` s.

        Raises `DataError` if the stop band exceeds what the sampling allows, or the order would
        be too high.
        """
        nyquist = 0.5 / step
        if self.stopband >= nyquist:
            raise DataError(
                f"a stop band at {self.stopband:g} Hz is not possible with samples every "
                f"{step:g} s: it must lie below {nyquist:g} Hz"
            )
        order, cutoff = scipy.signal.buttord(
            self.passband, self.stopband, self.ripple, self.attenuation, fs=1.0 / step
        )
        return LowPass(float(cutoff), int(order), padding)


@dataclass(frozen=True)
class Automatic:
    """A low-pass filter whose cut-off is chosen from the data; fields as in :class:`LowPass`."""

    order: int = 4
    padding: int | None = None

    def low_pass(self, columns: Mapping[str, F64], step: float) -> tuple[LowPass, list[str]]:
        """Return the filter for columns sampled every `step` s, and an explanation.

        The highest cut-off of all columns is used.
        """
        chosen = {
            name: choose_cutoff(values, step, self.order, _highest(step))
            for name, values in columns.items()
        }
        cutoff = max(c.cutoff for c in chosen.values())
        notes = [
            f"'{name}': the cut-off {c.cutoff:.3g} Hz is chosen; above it is white noise with a"
            f" standard deviation of {c.noise:.3g}"
            if c.settled
            else f"'{name}': what a low-pass takes away falls up to the highest cut-off that"
            f" differences allow, {c.cutoff:.3g} Hz: there is signal, or noise that is not white"
            for name, c in chosen.items()
        ]
        return LowPass(cutoff, self.order, self.padding), notes


@dataclass(frozen=True)
class Preparation:
    """Preprocessing of the columns of a table.

    First `hampel` removes outliers, then `low_pass` filters `columns` in place; either may
    be ``None``. `derivatives` maps new columns to those whose time derivatives they are, in
    order; a derivative may be taken of an earlier one. `padding` is as in :class:`LowPass`,
    for a filter given by its edges.
    """

    columns: tuple[str, ...] = ()
    low_pass: LowPass | Edges | Automatic | None = None
    derivatives: Mapping[str, str] = field(default_factory=dict)
    padding: int | None = None
    hampel: Hampel | None = None


def prepare(
    table: Table, times: F64, preparation: Preparation
) -> tuple[Table, tuple[Diagnostic, ...]]:
    """Return the table with filtered and new columns, and warnings.

    `times` is its time axis, s, shape (n,). Raises `DataError` for columns that do not
    exist, exist already or have gaps, for uneven steps, and for a filter that the sampling
    does not allow.
    """
    place = Location(str(table.path))
    on_outliers: list[Diagnostic] = []
    if preparation.hampel is not None:
        table = _without_outliers(table, times, preparation)
        for name, outliers in table.outliers.items():
            on_outliers += _notes_on_outliers(name, outliers, preparation.hampel, place)
    if preparation.low_pass is None and not preparation.derivatives:
        return table, tuple(on_outliers)
    step = check_equidistant(times, "filtering or differentiating")
    columns, units = dict(table.columns), dict(table.units)
    design = preparation.low_pass
    if isinstance(design, Edges):
        design = design.low_pass(step, preparation.padding)
    texts: list[str] = []
    if isinstance(design, Automatic):
        chosen = {name: table.column(name) for name in preparation.columns}
        design, texts = design.low_pass(chosen, step)
    if design is not None:
        padding = design.padding_for(step, times.size)
        for name in preparation.columns:
            columns[name] = butterworth(
                table.column(name), design.cutoff, step, design.order, padding
            )
    for new, source in preparation.derivatives.items():
        if new in units:
            raise DataError(
                f"the derivative '{new}' has the name of a column that is there already",
                location=place,
                hint="give the new column another name",
            )
        if source not in units:
            raise DataError(
                f"there is no column '{source}' to differentiate",
                location=place,
                **unknown_name(source, list(units), "column"),
            )
        values = columns[source] if source in columns else table.column(source)
        columns[new] = differentiate(values, times)
        units[new] = None if units[source] is None else f"{units[source]}/s"
    notes = tuple(Diagnostic("note", text, place) for text in texts)
    warnings = _warnings(preparation, design, step, place)
    return replace(table, columns=columns, units=units), (*on_outliers, *notes, *warnings)


def _without_outliers(table: Table, times: F64, preparation: Preparation) -> Table:
    hampel = preparation.hampel
    assert hampel is not None
    unbroken = {*preparation.columns, *preparation.derivatives.values()}
    columns = dict(table.columns)
    outliers_by_column: dict[str, Outliers] = {}
    for name in hampel.columns:
        values = table.column(name)
        outliers = find_outliers(values, times, hampel)
        if not outliers.rows.size:
            continue
        if name in unbroken and not hampel.replace:
            raise DataError(
                f"column '{name}' has {outliers.rows.size} outlier"
                f"{'' if outliers.rows.size == 1 else 's'}, which the Hampel filter excludes, but"
                " a low-pass or a derivative takes a signal without gaps",
                location=table.where(int(outliers.rows[0])),
                hint="write replace = true in 'hampel', which puts the median in their place",
            )
        values = values.copy()
        values[outliers.rows] = outliers.medians if hampel.replace else np.nan
        columns[name], outliers_by_column[name] = values, outliers
    return replace(table, columns=columns, outliers=outliers_by_column)


def _notes_on_outliers(
    name: str, outliers: Outliers, hampel: Hampel, place: Location
) -> list[Diagnostic]:
    """Return notes if good samples are likely to be among the outliers."""
    notes = []
    if outliers.share > _MANY:
        by_chance = share_of_noise(hampel, outliers.width)
        if outliers.share < _LIKE_NOISE * by_chance:
            notes.append(
                Diagnostic(
                    "note",
                    f"'{name}': the Hampel filter takes {100.0 * outliers.share:.2g} % of the"
                    " samples for outliers; of normal noise without any, it takes"
                    f" {100.0 * by_chance:.2g} %",
                    place,
                    hint="a longer window and a higher threshold leave more of the good samples",
                    rule="good-samples-taken-for-outliers",
                )
            )
    if outliers.flat:
        notes.append(
            Diagnostic(
                "note",
                f"'{name}': {outliers.flat} of {outliers.rows.size} outliers lie where more than"
                " half of the window is one value, so that any other value counts as an outlier",
                place,
                hint="make the window of the Hampel filter longer if these are good samples of a"
                " quantised signal",
                rule="outliers-in-flat-windows",
            )
        )
    return notes


def _warnings(
    preparation: Preparation, design: LowPass | None, step: float, place: Location
) -> tuple[Diagnostic, ...]:
    if not preparation.derivatives:
        return ()
    if design is None:
        text = (
            f"{', '.join(preparation.derivatives)}: differentiated without a low-pass; the noise"
            " of the samples grows with each derivative"
        )
        hint = "give 'columns' and 'cutoff' in [experiments.prepare], unless the data are smooth"
        return (Diagnostic("note", text, place, hint=hint),)
    angle = 2.0 * np.pi * design.cutoff * step
    loss = 1.0 - float(np.sin(angle) / angle)
    if loss <= _LOSS * (1.0 + 1e-2):
        return ()
    text = (
        f"a cut-off of {design.cutoff:g} Hz is high for samples every {step:g} s: differences"
        f" lose {loss:.0%} of such a frequency with each derivative"
    )
    hint = f"stay below {_highest(step):.3g} Hz, or sample faster"
    return (Diagnostic("warning", text, place, hint=hint),)


def _highest(step: float) -> float:
    """Return the frequency at which a derivative's loss reaches the limit for a warning."""
    # 1 - sin(x)/x = x^2/6 - ...
    return float(np.sqrt(6.0 * _LOSS) / (2.0 * np.pi * step))


@dataclass(frozen=True)
class ChosenCutoff:
    """A chosen cut-off, Hz, and the standard deviation of the white noise above it.

    If it has not `settled`, the variance was still decreasing at the highest cut-off
    allowed.
    """

    cutoff: float
    noise: float
    settled: bool


def choose_cutoff(values: F64, step: float, order: int, highest: float) -> ChosenCutoff:
    """Return the lowest cut-off above which only white noise is left.

    `values` are equidistant with the given `step`, s, without gaps, shape (n,); `order` is
    that of one pass of the Butterworth filter, and `highest` the highest cut-off allowed,
    Hz. Raises `DataError` if the record is too short for any cut-off.
    """
    lowest = max(_PERIODS / (values.size * step), 1e-9)
    if lowest * _RATIO > highest:
        raise DataError(
            f"{values.size} samples every {step:g} s are too few to choose a cut-off",
            hint="give 'cutoff' in Hz",
        )
    count = int(np.floor(np.log(highest / lowest) / np.log(_RATIO))) + 1
    cutoffs = lowest * _RATIO ** np.arange(count)
    variances, freedoms = np.array([_left(values, f, step, order) for f in cutoffs]).T
    limit = variances * (1.0 - _DEVIATIONS * np.sqrt(2.0 / freedoms))
    # The first that none of the higher ones is visibly below.
    least = np.minimum.accumulate(variances[::-1])[::-1]
    falls_no_more = limit <= least
    settled = bool(falls_no_more[: -max(count // 10, 1)].any())
    chosen = int(np.argmax(falls_no_more)) if settled else count - 1
    return ChosenCutoff(float(cutoffs[chosen]), float(np.sqrt(variances[chosen])), settled)


def _left(values: F64, cutoff: float, step: float, order: int) -> tuple[float, float]:
    """Return the variance of the removed signal per degree of freedom, and their number."""
    padding = LowPass(cutoff, order).padding_for(step, values.size)
    removed = values - butterworth(values, cutoff, step, order, padding)
    edge = min(int(np.ceil(1.0 / (cutoff * step))), values.size // 4)
    inner = removed[edge : values.size - edge]
    sos = scipy.signal.butter(order, cutoff, fs=1.0 / step, output="sos")
    _, response = scipy.signal.freqz_sos(sos, _LINES, fs=1.0 / step)
    freedom = inner.size * float(np.mean((1.0 - np.abs(response) ** 2) ** 2))
    return float(inner @ inner) / freedom, freedom


@dataclass(frozen=True)
class Decimation(Options):
    """Zero-phase low-pass filter and decimation, for measured and simulated signal alike.

    A Chebyshev I filter of an order and pass-band ripple, dB, is applied forwards and
    backwards, then every `factor`-th sample is kept, always including the last. `cutoff` is
    the pass-band edge as a fraction of the new Nyquist frequency.
    """

    factor: Annotated[int, Range(least=2, most=10_000)]
    order: Annotated[int, ORDERS] = 8
    ripple: Annotated[float, Range(least=1e-6, most=20.0)] = 0.05
    cutoff: Annotated[float, Range(least=0.01, most=1.0)] = 0.8

    @property
    def shortest(self) -> int:
        """Minimum number of samples of a signal."""
        return 3 * self.order + 1


def kept_samples(count: int, factor: int) -> npt.NDArray[np.intp]:
    """Return the indices of the samples kept by a decimation, including the last."""
    return np.arange((count - 1) % factor, count, factor, dtype=np.intp)


def low_pass_for(values: F64, decimation: Decimation) -> F64:
    """Return the signal after a decimation's low-pass filter, with all samples.

    The Chebyshev I filter has its edge at ``cutoff / factor`` of the Nyquist frequency and
    runs forwards and backwards; both ends are padded with three times the order of samples
    by odd reflection. `values` are equidistant samples without gaps, shape (n,). Raises
    `DataError` for too few samples or a gap.
    """
    if values.size < decimation.shortest:
        raise DataError(
            f"{values.size} samples are too few for a filter of order {decimation.order}, "
            f"which takes {decimation.shortest} at least",
            hint="lower the order, or leave out the decimation",
        )
    _refuse_gaps(values, "decimated")
    sos = scipy.signal.cheby1(
        decimation.order, decimation.ripple, decimation.cutoff / decimation.factor, output="sos"
    )
    filtered: F64 = scipy.signal.sosfiltfilt(sos, values, padlen=3 * decimation.order)
    return filtered


def butterworth(
    values: F64, cutoff: float, step: float, order: int = 4, padding: int | None = None
) -> F64:
    """Return the signal after a zero-phase Butterworth low-pass filter.

    `values` are equidistant samples without gaps, shape (n,) or (n, columns), `step` s
    apart. At the `cutoff`, Hz, the gain of one pass is 1/sqrt(2) and that of both passes
    1/2. `order` is that of one pass, and `padding` the number of samples of odd reflection
    at both ends, by default three times the order. Raises `DataError` for a cut-off outside
    the range allowed by the sampling, too few samples or a gap.
    """
    nyquist = 0.5 / step
    if not 0.0 < cutoff < nyquist:
        raise DataError(
            f"a low-pass at {cutoff:g} Hz is not possible with samples every {step:g} s: it "
            f"must lie between 0 and {nyquist:g} Hz"
        )
    if len(values) <= 3 * order:
        raise DataError(f"{len(values)} samples are too few for a low-pass of order {order}")
    _refuse_gaps(values, "filtered")
    sos = scipy.signal.butter(order, cutoff, fs=1.0 / step, output="sos")
    padlen = 3 * order if padding is None else padding
    filtered: F64 = scipy.signal.sosfiltfilt(sos, values, axis=0, padlen=padlen)
    return filtered


def differentiate(values: F64, times: F64) -> F64:
    """Return the time derivative by central differences, one-sided at the ends.

    `values` has shape (n,) or (n, columns), n >= 2; `times`, shape (n,), s, may be unevenly
    spaced.
    """
    if len(values) < 2:
        raise DataError("a derivative takes two samples at least")
    _refuse_gaps(values, "differentiated")
    return np.asarray(np.gradient(values, times, axis=0), dtype=np.float64)


def check_equidistant(times: F64, purpose: str) -> float:
    """Return the step of equidistant samples.

    `times` has shape (n,), s; `purpose`, such as ``"decimation"``, is for the message.
    Raises `DataError` if the steps differ by more than jitter.
    """
    if times.size < 2:
        raise DataError(f"{purpose} takes two samples at least")
    mean = float(np.mean(np.diff(times)))
    worst = uneven_step(times, mean, _UNEVEN)
    if worst is not None:
        raise DataError(
            f"{purpose} takes samples at equal steps, but the step after {times[worst]:g} s is "
            f"{times[worst + 1] - times[worst]:g} s where the mean is {mean:g} s",
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
