"""Measured, initial and fitted over time, with the residuals below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.report.charts import colors
from fmident.report.charts.chart import (
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
from fmident.report.charts.envelopes import extremes
from fmident.report.charts.ranges import short_name, with_unit

if TYPE_CHECKING:
    from fmident.estimation.result import OutputFit

_SIGNALS, _RESIDUALS, _LOWER = 250, 130, 60
_EXCERPT_SHARE, _LONG = 0.06, 1000
_LABEL = 26
"""Letters of a name beside an axis, at most."""

MOST_DOTS = 2000


def fit_chart(fit: OutputFit, *, link: str) -> Chart:
    """Return measured, initial and fitted over time, residuals below.

    A button zooms to the stretch in which the fit moved the simulation most.

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
    gone = excluded_marks(fit)
    time = Axis(begin, end, "time (s)", link=link)
    part = excerpt(fit)
    jumps = [] if part is None else [("where the fit moved it most", *_ends(times, part))]
    return Chart(
        [
            Panel(
                Axis(begin, end, link=link),
                Axis(low, high, with_unit(short_name(fit.name, _LABEL), fit.unit)),
                [
                    Line(times, measured, colors.MEASURED, "measured", width=3.0),
                    Line(times, fit.initial, colors.INITIAL, "initial", width=1.1, dashed=True),
                    Line(times, fit.fitted, colors.FITTED, "fitted", width=1.3),
                    *([_dots(gone)] if gone.times.size else []),
                ],
                _SIGNALS,
            ),
            Panel(
                time,
                Axis(*_around(residual), with_unit("residual", fit.unit)),
                [
                    *_noise(fit, times),
                    Line(times, residual, colors.RESIDUAL, "residual", width=0.8),
                    Level(0.0, colors.FITTED, width=0.9),
                ],
                _RESIDUALS + _LOWER,
            ),
        ],
        f"{fit.name} of {fit.experiment}: measured, initial and fitted over time, residuals below",
        jumps=jumps,
    )


@dataclass(frozen=True, eq=False)
class ExcludedMarks:
    """Where samples that do not count are drawn.

    Parameters
    ----------
    times, values
        Shape (n,); of very many only the extremes of narrow strips.
    reasons
        Why each does not count, n of them.
    name
        In the legend; it says how many lie beyond the vertical axis.
    """

    times: F64
    values: F64
    reasons: tuple[str, ...]
    name: str


def excluded_marks(fit: OutputFit) -> ExcludedMarks:
    """Return the samples that do not count as they are drawn."""
    known = [e for e in fit.excluded if e.times.size]
    times = np.concatenate([np.empty(0), *(e.times for e in known)])
    values = np.concatenate([np.empty(0), *(e.values for e in known)])
    words = [f"{e.reason}, replaced by the median" if e.replaced else e.reason for e in known]
    which = np.repeat(np.arange(len(known)), [e.times.size for e in known])
    low, high = focus(fit)
    beyond = int(np.count_nonzero((values < low) | (values > high)))
    order = np.argsort(times, kind="stable")
    shown = order[extremes([values[order]], MOST_DOTS)]
    return ExcludedMarks(
        times[shown],
        values[shown],
        tuple(words[k] for k in which[shown]),
        f"excluded, {beyond} beyond the axis" if beyond else "excluded",
    )


def _dots(gone: ExcludedMarks) -> Dots:
    return Dots(
        gone.times,
        gone.values,
        colors.EXCLUDED,
        gone.name,
        size=7.0,
        marker="x",
        hollow=True,
        hover=(("excluded", "reason"), ("time (s)", "x"), ("measured", "y")),
        extra={"reason": gone.reasons},
    )


def excerpt(fit: OutputFit) -> slice | None:
    """Return the stretch of a long signal in which initial and fitted differ most."""
    count = fit.times.size
    length = max(round(_EXCERPT_SHARE * count), 2)
    if count < _LONG:
        return None
    moved = np.nan_to_num(fit.fitted - fit.initial, posinf=0.0, neginf=0.0)
    total = np.concatenate([[0.0], np.cumsum(moved**2)])
    sums = total[length:] - total[:-length]
    begin = int(np.argmax(sums)) if np.any(sums > 0.0) else (count - length) // 2
    return slice(begin, begin + length)


def focus(fit: OutputFit) -> tuple[float, float]:
    """Return limits within which what is wild does not flatten what counts.

    Wild may be the initial simulation, and the samples that are excluded.
    """
    shown = np.concatenate([fit.measured, fit.fitted])
    shown = shown[np.isfinite(shown)]
    if shown.size == 0:
        return 0.0, 1.0
    low, high = float(np.min(shown)), float(np.max(shown))
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
    """Return where 95 % of the residuals of a perfect model lie."""
    sigma = np.broadcast_to(fit.sigma, fit.times.shape)
    if not np.all(np.isfinite(sigma)) or times.size < 2:
        return []
    if np.ptp(sigma) == 0.0:
        band, name = 1.96 * float(sigma[0]), "±1.96 σ"
        return [
            Level(level, colors.FITTED, name, width=0.9, dashed=True) for level in (-band, band)
        ]
    reach = 1.96 * sigma
    return [long_band(Band(times, -reach, reach, colors.SPREAD, "±1.96 σ"))]
