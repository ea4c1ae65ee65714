"""Charts of measured, initial and fitted signals with the residuals below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from fmident.report.figures.style import short_name, with_unit
from fmident.words import unit_text

if TYPE_CHECKING:
    from fmident.estimation.comparisons import InputSignal, OutputFit
    from fmident.estimation.contract import TimeSeriesEstimate
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


def fit_chart(fit: OutputFit) -> Chart:
    """Return measured, initial and fitted over time, residuals below.

    A button zooms to the stretch of a long signal in which initial and fitted differ most.
    """
    times = np.asarray(fit.times, dtype=np.float64)
    time = Axis.of_time(fit.experiment, times)
    residual = fit.measured - fit.fitted
    # What is measured is added up in the browser: that saves a third of the file.
    known = bool(np.all(np.isfinite(fit.fitted)))
    measured: Values = (fit.fitted, residual) if known else fit.measured
    excluded = excluded_dots(fit)
    part = excerpt(fit)
    cut = np.empty(0) if part is None else times[part]
    jumps = [("largest change", float(cut[0]), float(cut[-1]))] if cut.size else []
    return Chart(
        [
            Panel(
                replace(time, label=""),
                Axis(*focus(fit), with_unit(short_name(fit.name, _LABEL), fit.unit)),
                [
                    Line(times, measured, style.MEASURED, "measured", width=_HALO),
                    Line(times, fit.initial, style.INITIAL, "initial", width=1.1, dashed=True),
                    Line(times, fit.fitted, style.FITTED, "fitted", width=1.3),
                    *([excluded] if excluded.x.size else []),
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


def excluded_dots(fit: OutputFit) -> Dots:
    """Return the excluded samples; very many are reduced to the extremes of strips.

    The name in the legend tells how many lie beyond the vertical axis.
    """
    known = [e for e in fit.excluded if e.times.size]
    times = np.concatenate([np.empty(0), *(e.times for e in known)])
    values = np.concatenate([np.empty(0), *(e.values for e in known)])
    reasons = [f"{e.reason}, replaced by the median" if e.replaced else e.reason for e in known]
    which = np.repeat(np.arange(len(known)), [e.times.size for e in known])
    low, high = focus(fit)
    beyond = int(np.count_nonzero((values < low) | (values > high)))
    order = np.argsort(times, kind="stable")
    drawn = order[extremes([values[order]], MOST_DOTS)]
    return Dots(
        times[drawn], values[drawn], style.EXCLUDED,
        f"excluded, {beyond} beyond the axis" if beyond else "excluded",
        size=7.0, marker="x", hollow=True,
        hover=(("excluded", "reason"), ("time (s)", "x"), ("measured", "y")),
        extra={"reason": [reasons[k] for k in which[drawn]]},
    )  # fmt: skip


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
    time = Axis.of_time(experiment, inputs[0].times)
    panels = []
    for k, signal in enumerate(inputs):
        last = k == len(inputs) - 1
        times, values = _steps(signal)
        panels.append(
            Panel(
                time if last else replace(time, label=""),
                Axis.over("", values, share=0.08),
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


def _series_panel(
    series: TimeSeriesEstimate, times: F64, j: int, final: float, last: bool
) -> Panel:
    values = np.ascontiguousarray(series.values[:, j])
    margin = 1.96 * series.standard_errors[:, j]
    # Near singular windows estimates diverge: nine tenths of them are shown.
    good = series.values[series.good, j]
    good = good[np.isfinite(good)]  # none for a parameter of other experiments
    low, high = np.quantile(good, [0.05, 0.95]) if good.size else (final - 1.0, final + 1.0)
    low, high = min(float(low), final), max(float(high), final)
    pad = (0.4 * (high - low) or 0.05 * abs(final) or 1.0) if good.size else 0.0
    time = Axis.of_time(series.experiment, times)
    return Panel(
        time if last else replace(time, label=""),
        Axis(low - pad, high + pad, with_unit(series.names[j], series.units[j])),
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
    time = Axis.of_time(band.experiment, times)
    ends = [band.mean_low, band.mean_high, band.new_low, band.new_high]
    names = f"{level} of new samples", f"{level} of the mean"
    return Chart(
        [
            Panel(
                replace(time, label=""),
                Axis.over(with_unit(band.name, band.unit), band.measured, band.predicted, *ends),
                [
                    *_band_marks(band, 0.0, names, _HALO),
                    Line(times, band.predicted, style.FITTED, "predicted", width=1.3),
                ],
                _BAND_HEIGHT,
            ),
            Panel(
                time,
                Axis.over(
                    with_unit("less the prediction", band.unit),
                    *(one - band.predicted for one in (band.measured, *ends)),
                ),
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
