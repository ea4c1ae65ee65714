"""Intervals of all parameters beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Chart, Dots, Level, Mark, Panel, Segments
from fmident.report.charts.ranges import padded, short_names
from fmident.report.numbers import plain
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, ParameterEstimate

_ROW, _REST, _MOST = 24, 78, 60
_BOUNDS = "#d8dce2"


def forest_chart(result: EstimationResult) -> Chart | None:
    """Return intervals, initial values and bounds in relation to the estimates.

    Two panels show the same marks: one as far as the intervals go, the other as far as initial
    values and bounds.

    Returns
    -------
    Chart or None
        ``None`` without a parameter that was searched and is not zero.
    """
    shown = [e for e in result.estimates if e.searched and not e.base]
    rows = [e for e in (*shown, *result.base_parameters) if e.value != 0.0][:_MOST]
    if not rows:
        return None
    near = [abs(v) for e in rows for v in _percent(e, e.interval_95) if np.isfinite(v)]
    reach = 1.25 * max(near, default=1.0) or 1.0
    far = [v for e in rows for v in _percent(e, (e.initial, e.lower, e.upper)) if np.isfinite(v)]
    wide = padded(min([-reach, *far]), max([reach, *far]), 0.05)
    names = short_names([e.name for e in rows])
    ticks = [(float(len(rows) - k), name) for k, name in enumerate(names)]
    down = Axis(0.4, len(rows) + 0.6, ticks=ticks, fixed=True)
    height = _ROW * len(rows) + _REST
    label = "difference from the estimate (%)"
    marks = _marks(rows, wide)
    panels = [
        Panel(Axis(-reach, reach, label), down, marks, height, "As far as the intervals"),
        Panel(Axis(*wide, label), down, marks, height, "As far as initial values and bounds"),
    ]
    words = "Intervals, initial values and bounds of the parameters in relation to the estimates"
    return Chart(panels, words, side_by_side=True)


def _percent(e: ParameterEstimate, values: Sequence[float]) -> list[float]:
    return [100.0 * (v - e.value) / abs(e.value) for v in values]


def _marks(rows: Sequence[ParameterEstimate], wide: tuple[float, float]) -> list[Mark]:
    heights = [float(len(rows) - k) for k in range(len(rows))]
    hover = [(w, w) for w in ("parameter", "estimate", "95 % interval", "initial", "bounds")]
    extra = {
        "parameter": [e.name for e in rows],
        "estimate": [_with_unit(e.value, e) for e in rows],
        "95 % interval": [_ends(e.interval_95) for e in rows],
        "initial": [_with_unit(e.initial, e) for e in rows],
        "bounds": [_ends((e.lower, e.upper)) for e in rows],
    }

    def pieces(pairs: Sequence[Sequence[float]], color: str, name: str, width: float) -> list[Mark]:
        """Return a horizontal line for each pair of ends, as far as the wider panel."""
        kept = [
            (max(p[0], 3.0 * wide[0]), min(p[1], 3.0 * wide[1]), y)
            for p, y in zip(pairs, heights, strict=True)
            if not np.isnan(p).any()
        ]
        if not kept:
            return []
        low, high, y = (np.array(column) for column in zip(*kept, strict=True))
        return [Segments(low, y, high, y.copy(), color, name, width)]

    bounds = [_percent(e, (e.lower, e.upper)) for e in rows]
    ends = [_percent(e, e.interval_95) for e in rows]
    finite = [p if np.all(np.isfinite(p)) else [np.nan, np.nan] for p in ends]
    endless = [p if np.any(np.isinf(p)) else [np.nan, np.nan] for p in ends]
    starts = np.array([_percent(e, (e.initial,))[0] for e in rows])
    places = np.array(heights)
    return [
        *pieces(bounds, _BOUNDS, "bounds", 9.0),
        *pieces(endless, colors.INITIAL, "no finite interval", 4.0),
        *pieces(finite, colors.FITTED, "95 % interval", 4.0),
        Level(0.0, colors.RESIDUAL, axis="x", dashed=True),
        Dots(
            starts, places, colors.INITIAL, "initial", 8.0, "square", hollow=True, hover=hover,
            extra=extra,
        ),
        Dots(
            np.zeros(len(rows)), places, colors.RESULT, "estimate", 7.0, hover=hover, extra=extra
        ),
    ]  # fmt: skip


def _with_unit(value: float, e: ParameterEstimate) -> str:
    return f"{plain(value)} {unit_text(e.unit)}".rstrip()


def _ends(pair: tuple[float, float]) -> str:
    words = ["n/a" if np.isnan(v) else "∞" if v == np.inf else "-∞" if v == -np.inf else plain(v)
             for v in pair]  # fmt: skip
    return f"{words[0]} … {words[1]}"
