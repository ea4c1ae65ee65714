"""Charts of measured, initial and fitted signals with the residuals below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.report.figures import style
from fmident.report.figures.browser import extremes
from fmident.report.figures.chart import (
    Axis,
    Band,
    Chart,
    Dots,
    Level,
    Line,
    Mark,
    Panel,
    Values,
    long_band,
)
from fmident.report.figures.style import padded, short_name, time_link, with_unit
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.estimation.online.series import TimeSeriesEstimate
    from fmident.estimation.result import InputSignal, OutputFit
    from fmident.prediction import OutputBand


_SIGNALS, _RESIDUALS, _LOWER = 250, 130, 60
_EXCERPT_SHARE, _LONG = 0.06, 1000
_LABEL = 26
"""Letters of a name beside an axis, at most."""

_HALO = 6.0
"""Width of the measured line: it shows on both sides of one that fits."""

MOST_DOTS = 2000


_INPUT_HEIGHT, _INPUT_LOWER = 105, 45
_MOST_STEPS = 5000
"""Of more samples, steps and straight lines look the same."""


_SERIES_HEIGHT, _SERIES_LOWER = 160, 50


_BAND_HEIGHT, _BAND_LOWER = 260, 180
_MOST_BAND_DOTS = 2000


def fit_chart(fit: OutputFit, *, link: str) -> Chart:
    """Return measured, initial and fitted over time, residuals below.

    A button zooms to the stretch of a long signal in which initial and fitted differ most.

    Parameters
    ----------
    fit
        One output of one experiment.
    link
        Of the time axis.
    """
    times = np.asarray(fit.times, dtype=np.float64)
    begin, end = (float(times[0]), float(times[-1])) if times.size else (0.0, 1.0)
    end = end if end > begin else begin + 1.0
    residual = fit.measured - fit.fitted
    # What is measured is added up in the browser: that saves a third of the file.
    known = bool(np.all(np.isfinite(fit.fitted)))
    measured: Values = (fit.fitted, residual) if known else fit.measured
    low, high = focus(fit)
    excluded = excluded_marks(fit)
    time = Axis(begin, end, "time (s)", link=link)
    part = excerpt(fit)
    jumps = [] if part is None else [("largest change", *_ends(times, part))]
    return Chart(
        [
            Panel(
                Axis(begin, end, link=link),
                Axis(low, high, with_unit(short_name(fit.name, _LABEL), fit.unit)),
                [
                    Line(times, measured, style.MEASURED, "measured", width=_HALO),
                    Line(times, fit.initial, style.INITIAL, "initial", width=1.1, dashed=True),
                    Line(times, fit.fitted, style.FITTED, "fitted", width=1.3),
                    *([_dots(excluded)] if excluded.times.size else []),
                ],
                _SIGNALS,
            ),
            Panel(
                time,
                Axis(*_around(residual), with_unit("residual", fit.unit)),
                [
                    *_noise(fit, times),
                    Line(times, residual, style.RESIDUAL, "residual", width=0.8),
                    Level(0.0, style.FITTED, width=0.9),
                ],
                _RESIDUALS + _LOWER,
            ),
        ],
        f"{fit.name} of {fit.experiment}: measured, initial and fitted over time, residuals below",
        jumps=jumps,
    )


@dataclass(frozen=True, eq=False)
class ExcludedMarks:
    """Marks of excluded samples, very many of which are reduced to the extremes of strips.

    All have shape (n,). The `name` in the legend tells how many lie beyond the vertical
    axis.
    """

    times: F64
    values: F64
    reasons: tuple[str, ...]
    name: str


def excluded_marks(fit: OutputFit) -> ExcludedMarks:
    """Return the excluded samples as they are drawn."""
    known = [e for e in fit.excluded if e.times.size]
    times = np.concatenate([np.empty(0), *(e.times for e in known)])
    values = np.concatenate([np.empty(0), *(e.values for e in known)])
    words = [f"{e.reason}, replaced by the median" if e.replaced else e.reason for e in known]
    which = np.repeat(np.arange(len(known)), [e.times.size for e in known])
    low, high = focus(fit)
    beyond = int(np.count_nonzero((values < low) | (values > high)))
    order = np.argsort(times, kind="stable")
    selected = order[extremes([values[order]], MOST_DOTS)]
    return ExcludedMarks(
        times[selected],
        values[selected],
        tuple(words[k] for k in which[selected]),
        f"excluded, {beyond} beyond the axis" if beyond else "excluded",
    )


def _dots(gone: ExcludedMarks) -> Dots:
    return Dots(
        gone.times,
        gone.values,
        style.EXCLUDED,
        gone.name,
        size=7.0,
        marker="x",
        hollow=True,
        hover=(("excluded", "reason"), ("time (s)", "x"), ("measured", "y")),
        extra={"reason": gone.reasons},
    )


def excerpt(fit: OutputFit) -> slice | None:
    """Return the part of a long signal in which initial and fitted differ most."""
    count = fit.times.size
    length = max(round(_EXCERPT_SHARE * count), 2)
    if count < _LONG:
        return None
    change = np.nan_to_num(fit.fitted - fit.initial, posinf=0.0, neginf=0.0)
    total = np.concatenate([[0.0], np.cumsum(change**2)])
    sums = total[length:] - total[:-length]
    begin = int(np.argmax(sums)) if np.any(sums > 0.0) else (count - length) // 2
    return slice(begin, begin + length)


def focus(fit: OutputFit) -> tuple[float, float]:
    """Return limits that show the relevant signals despite extreme values.

    The initial simulation and excluded samples may be extreme.
    """
    values = np.concatenate([fit.measured, fit.fitted])
    values = values[np.isfinite(values)]
    if values.size == 0:
        return 0.0, 1.0
    low, high = float(np.min(values)), float(np.max(values))
    margin = 0.06 * (high - low) or 0.06 * max(abs(high), 1e-12)
    wild = np.concatenate([fit.initial, *(e.values for e in fit.excluded)])
    wild = wild[np.isfinite(wild)]
    if wild.size:
        reach = 1.0 * (high - low)
        low = max(min(low, float(np.min(wild))), low - reach)
        high = min(max(high, float(np.max(wild))), high + reach)
    return low - margin, high + margin


def _ends(times: F64, part: slice) -> tuple[float, float]:
    cut = times[part]
    return float(cut[0]), float(cut[-1])


def _around(values: F64) -> tuple[float, float]:
    finite = np.abs(values[np.isfinite(values)])
    reach = 1.1 * float(finite.max(initial=0.0)) or 1.0
    return -reach, reach


def _noise(fit: OutputFit, times: F64) -> list[Mark]:
    """Return the range of 95 % of the residuals of a perfect model."""
    sigma = np.broadcast_to(fit.sigma, fit.times.shape)
    if not np.all(np.isfinite(sigma)) or times.size < 2:
        return []
    if np.ptp(sigma) == 0.0:
        band, name = 1.96 * float(sigma[0]), "±1.96 σ"
        return [Level(level, style.FITTED, name, width=0.9, dashed=True) for level in (-band, band)]
    reach = 1.96 * sigma
    return [long_band(Band(times, -reach, reach, style.SPREAD, "±1.96 σ"))]


def inputs_chart(inputs: Sequence[InputSignal]) -> Chart:
    """Return one panel per input of an experiment, which has at least one."""
    experiment = inputs[0].experiment
    begin, end = float(inputs[0].times[0]), float(inputs[0].times[-1])
    panels = []
    for k, signal in enumerate(inputs):
        last = k == len(inputs) - 1
        times, values = _steps(signal)
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        panels.append(
            Panel(
                Axis(begin, end, "time (s)" if last else "", link=time_link(experiment)),
                Axis(*padded(low, high, 0.08)),
                [Line(times, values, style.FITTED, signal.name, width=1.2)],
                _INPUT_HEIGHT + (_INPUT_LOWER if last else 0),
                with_unit(signal.name, unit_text(signal.unit)),
            )
        )
    return Chart(panels, f"Inputs of {experiment} over time")


def _steps(signal: InputSignal) -> tuple[F64, F64]:
    if not signal.held or signal.times.size > _MOST_STEPS:
        return signal.times, signal.values
    return np.repeat(signal.times, 2)[1:], np.repeat(signal.values, 2)[:-1]


def series_chart(series: TimeSeriesEstimate, final: F64) -> Chart:
    """Return each parameter over time with its 95 % interval and the final estimate.

    `series` is that of one experiment, and `final` has the final estimates of the run,
    shape (n,).
    """
    times = np.asarray(series.times, dtype=np.float64)
    count = len(series.names)
    panels = [
        _series_panel(series, times, j, float(final[j]), j == count - 1) for j in range(count)
    ]
    return Chart(panels, f"Estimates over time of {series.experiment} with their 95 % intervals")


def series_range(series: TimeSeriesEstimate, j: int, final: float) -> tuple[float, float] | None:
    """Return the range of nine tenths of the estimates, which diverge near singular windows."""
    good = series.values[series.good, j]
    good = good[np.isfinite(good)]  # none for a parameter of other experiments
    if good.size == 0:
        return None
    low, high = (float(x) for x in np.quantile(good, [0.05, 0.95]))
    low, high = min(low, final), max(high, final)
    pad = 0.4 * (high - low) or 0.05 * abs(final) or 1.0
    return low - pad, high + pad


def _series_panel(
    series: TimeSeriesEstimate, times: F64, j: int, final: float, last: bool
) -> Panel:
    values = np.ascontiguousarray(series.values[:, j])
    margin = 1.96 * series.standard_errors[:, j]
    low, high = series_range(series, j, final) or (final - 1.0, final + 1.0)
    begin, end = float(times[0]), float(times[-1])
    return Panel(
        Axis(begin, end, "time (s)" if last else "", link=time_link(series.experiment)),
        Axis(low, high, with_unit(series.names[j], series.units[j])),
        [
            long_band(Band(times, values - margin, values + margin, style.SPREAD, "95 % interval")),
            Level(final, style.INITIAL, "whole run", width=1.0, dashed=True),
            Line(times, values, style.FITTED, "estimate", width=1.2),
        ],
        _SERIES_HEIGHT + (_SERIES_LOWER if last else 0),
    )


def band_chart(band: OutputBand, level: str) -> Chart:
    """Return an output with its bands, and below it both bands relative to the mean.

    `level` is the probability of the bands as text.
    """
    times = band.times
    begin, end = (float(times[0]), float(times[-1])) if times.size else (0.0, 1.0)
    end = end if end > begin else begin + 1.0
    link = time_link(band.experiment)
    ends = [band.mean_low, band.mean_high, band.new_low, band.new_high]
    whole = np.concatenate([band.measured, band.predicted, *ends])
    around = np.concatenate([band.measured - band.predicted, *(e - band.predicted for e in ends)])
    names = f"{level} of new samples", f"{level} of the mean"
    return Chart(
        [
            Panel(
                Axis(begin, end, link=link),
                Axis(*_span(whole), with_unit(band.name, band.unit)),
                [
                    *_band_marks(band, 0.0, names, _HALO),
                    Line(times, band.predicted, style.FITTED, "predicted", width=1.3),
                ],
                _BAND_HEIGHT,
            ),
            Panel(
                Axis(begin, end, "time (s)", link=link),
                Axis(*_span(around), with_unit("less the prediction", band.unit)),
                _band_marks(band, band.predicted, names, 2.5),
                _BAND_LOWER,
            ),
        ],
        f"{band.name} of {band.experiment}: prediction with the bands of its mean and new samples",
    )


def _band_marks(
    band: OutputBand, less: np.ndarray | float, names: tuple[str, str], size: float
) -> list[Mark]:
    marks: list[Mark] = []
    for low, high, color, name in (
        (band.new_low, band.new_high, style.SPREAD, names[0]),
        (band.mean_low, band.mean_high, style.INITIAL, names[1]),
    ):
        if bool(np.isfinite(low).all() and np.isfinite(high).all()):
            marks.append(
                long_band(Band(band.times, low - less, high - less, color, name, alpha=0.6))
            )
    known = np.flatnonzero(np.isfinite(band.measured))
    known = known[extremes([band.measured[known]], _MOST_BAND_DOTS)]
    if known.size:
        shift = np.broadcast_to(np.asarray(less, dtype=np.float64), band.times.shape)[known]
        marks.append(
            Dots(
                band.times[known], band.measured[known] - shift, style.RESIDUAL, "measured",
                size=size, alpha=0.5,
            )
        )  # fmt: skip
    return marks


def _span(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    return padded(float(finite.min()), float(finite.max()))
