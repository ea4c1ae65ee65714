"""An output over time with the bands of its mean and of new samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Band, Chart, Dots, Line, Mark, Panel, long_band
from fmident.report.charts.envelopes import extremes
from fmident.report.charts.ranges import padded, time_link, with_unit

if TYPE_CHECKING:
    from fmident.prediction import OutputBand

_HEIGHT, _LOWER = 260, 180
_MOST_DOTS = 2000


def band_chart(band: OutputBand, level: str) -> Chart:
    """Return an output with its bands, and both bands around the mean below.

    Parameters
    ----------
    band
        The output.
    level
        Probability of the bands as text.
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
                    *_marks(band, 0.0, names),
                    Line(times, band.predicted, colors.FITTED, "predicted", width=1.3),
                ],
                _HEIGHT,
            ),
            Panel(
                Axis(begin, end, "time (s)", link=link),
                Axis(*_span(around), with_unit("less the prediction", band.unit)),
                _marks(band, band.predicted, names),
                _LOWER,
            ),
        ],
        f"{band.name} of {band.experiment}: prediction with the bands of its mean and new samples",
    )


def _marks(band: OutputBand, less: np.ndarray | float, names: tuple[str, str]) -> list[Mark]:
    found: list[Mark] = []
    for low, high, color, name in (
        (band.new_low, band.new_high, colors.SPREAD, names[0]),
        (band.mean_low, band.mean_high, colors.INITIAL, names[1]),
    ):
        if bool(np.isfinite(low).all() and np.isfinite(high).all()):
            found.append(
                long_band(Band(band.times, low - less, high - less, color, name, alpha=0.6))
            )
    known = np.flatnonzero(np.isfinite(band.measured))
    known = known[extremes([band.measured[known]], _MOST_DOTS)]
    if known.size:
        shift = np.broadcast_to(np.asarray(less, dtype=np.float64), band.times.shape)[known]
        found.append(
            Dots(
                band.times[known], band.measured[known] - shift, colors.RESIDUAL, "measured",
                size=2.5, alpha=0.6,
            )
        )  # fmt: skip
    return found


def _span(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    return padded(float(finite.min()), float(finite.max()))
