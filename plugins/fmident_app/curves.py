"""Signals over time, drawn with as many points as the screen has columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from nicegui import ui
from nicegui.events import GenericEventArguments

from fmident_app.naming import named
from fmident_app.simulations import Curve

F64 = npt.NDArray[np.float64]

_COLUMNS = 700
"""Parts of the visible window; each is drawn with its least and its largest value."""

_ONCE = "(() => { let first = true; return () => { if (first) { first = false; emit(); } } })()"
"""A handler in the browser that passes the first event on, and no other."""

COLORS = ("#3b82f6", "#d97706", "#059669", "#c026d3", "#dc2626", "#0891b2", "#65a30d", "#7c3aed")
MEASURED = "#8b949e"
_INK = "#7d8590"


def decimated(times: F64, values: F64, low: float, high: float, columns: int = _COLUMNS) -> F64:
    """Return the points to draw of a signal in a window, shape (k, 2).

    The window has at most `columns` parts of equal numbers of samples; each keeps its least and its
    largest value, so that no peak is lost. The samples beside the window belong to it: lines cross
    its border.
    """
    first = max(int(np.searchsorted(times, low)) - 1, 0)
    last = min(int(np.searchsorted(times, high, side="right")) + 1, times.size)
    t, y = times[first:last], values[first:last]
    if t.size <= 2 * columns:
        return np.column_stack((t, y))
    size = -(-t.size // columns)
    whole = t.size - t.size % size
    blocks = y[:whole].reshape(-1, size)
    ends = np.column_stack((np.fmin.reduce(blocks, axis=1), np.fmax.reduce(blocks, axis=1)))
    at = np.column_stack((t[:whole:size], t[size // 2 : whole : size]))
    return np.column_stack(
        (
            np.concatenate((t[:1], at.ravel(), t[whole:])),
            np.concatenate((y[:1], ends.ravel(), y[whole:])),
        )
    )


@dataclass(frozen=True, eq=False)
class Line:
    """A signal of a chart.

    A `measured` one is a broad grey line, below the others; one that is `held` has steps, and of
    one of `points` there are only these.
    """

    name: str
    times: F64
    values: F64
    measured: bool = False
    held: bool = False
    points: bool = False


class Chart:
    """Lines over time, with zoom.

    Parameters
    ----------
    title
        With the unit; also what a screen reader says.
    height
        As in CSS.
    x_name
        Under the horizontal axis.
    log
        Whether the vertical axis is logarithmic.
    """

    def __init__(
        self, title: str, *, height: str = "15rem", x_name: str = "t [s]", log: bool = False
    ) -> None:
        self._lines: Sequence[Line] = ()
        self._window = 0.0, 100.0
        axis: dict[str, Any] = {
            "nameLocation": "middle",
            "axisLine": {"lineStyle": {"color": _INK}},
            "axisLabel": {"color": _INK, "hideOverlap": True},
            "nameTextStyle": {"color": _INK},
            "splitLine": {"lineStyle": {"color": "#8882"}},
        }
        options: dict[str, Any] = {
            "animation": False,
            "title": {
                "text": title,
                "top": 0,
                "left": 0,
                "textStyle": {"fontSize": 13, "fontWeight": "normal", "color": _INK},
            },
            "legend": {
                "type": "scroll",
                "top": 22,
                "left": 0,
                "icon": "rect",
                "itemHeight": 4,
                "textStyle": {"color": _INK},
            },
            "grid": {"left": 70, "right": 16, "top": 50, "bottom": 46},
            "tooltip": {"trigger": "axis"},
            "xAxis": {**axis, "type": "value", "name": x_name, "nameGap": 26},
            "yAxis": {**axis, "type": "value", "scale": True, "splitNumber": 3},
            "dataZoom": [{"type": "inside", "filterMode": "none", "zoomOnMouseWheel": "ctrl"}],
            "toolbox": {
                "right": 0,
                "bottom": 0,
                "itemSize": 12,
                "feature": {"dataZoom": {"yAxisIndex": "none"}, "restore": {}},
            },
            "series": [],
        }
        if log:
            label = {"color": _INK, ":formatter": "value => value.toExponential(0)"}
            options["yAxis"] = {**axis, "type": "log", "axisLabel": label}
        self.element = ui.echart(options).classes("w-full").style(f"height: {height}")
        named(self.element, title).props("role=img")
        self._drawn = False
        self.element.on("chart:rendered", self._begin, js_handler=_ONCE)
        self.element.on("chart:datazoom", self._zoom, ["start", "end", "batch"])
        self.element.on("chart:restore", lambda: self._zoom_to(0.0, 100.0))

    def show(self, lines: Sequence[Line]) -> None:
        """Show other lines in the same window."""
        self._lines = lines
        if self._drawn:
            self._send()

    def _begin(self) -> None:
        """Show the lines once the browser has made the chart."""
        self._drawn = True
        self._send()

    def _send(self) -> None:
        # Not by the options of the element: these are compared and copied value by value.
        axis = dict(zip(("min", "max"), self._ends(), strict=True))
        content = {"series": self._series(), "xAxis": axis}
        self.element.run_chart_method("setOption", content, {"replaceMerge": ["series"]})

    def _ends(self) -> tuple[float, float]:
        times = [line.times for line in self._lines if line.times.size]
        if not times:
            return 0.0, 1.0
        return min(float(t[0]) for t in times), max(float(t[-1]) for t in times)

    def _series(self) -> list[dict[str, Any]]:
        begin, end = self._ends()
        low, high = (begin + (end - begin) * share / 100.0 for share in self._window)
        colors = iter(COLORS * (1 + len(self._lines) // len(COLORS)))
        return [
            {
                "name": line.name,
                "type": "line",
                "showSymbol": line.points,
                "data": decimated(line.times, line.values, low, high),
                "color": MEASURED if line.measured else next(colors),
                "lineStyle": {"width": 0 if line.points else 4 if line.measured else 1.5},
                "connectNulls": False,
                "step": "end" if line.held else False,
            }
            for line in self._lines
        ]

    def _zoom(self, event: GenericEventArguments) -> None:
        given = event.args if isinstance(event.args, dict) else {}
        batch = given.get("batch") or [given]
        low, high = batch[0].get("start"), batch[0].get("end")
        if low is None:  # the box of the toolbox gives values
            ends = [batch[0].get(key) for key in ("startValue", "endValue")]
            if None in ends:
                return
            begin, end = self._ends()
            low, high = (100.0 * (e - begin) / (end - begin or 1.0) for e in ends)
        self._zoom_to(low, high)

    def _zoom_to(self, low: float, high: float) -> None:
        self._window = low, high
        self._send()


def show_fit(
    curves: list[Curve],
    charts: dict[tuple[str, str], list[Chart]],
    place: ui.column,
    *,
    residuals: bool = False,
) -> None:
    """Draw measured and simulated outputs, and the residuals.

    The charts of an output are made in `place` where `charts` has none of it yet.
    """
    for curve in curves:
        key = curve.experiment, curve.name
        if key not in charts:
            title = f"{curve.experiment}: {curve.name}" + (f" [{curve.unit}]" if curve.unit else "")
            with place:
                charts[key] = [Chart(title, height="13rem")]
                if residuals:
                    charts[key].append(Chart(f"measured minus simulated, {title}", height="9rem"))
        lines = [Line("simulated", curve.times, curve.simulated)]
        if curve.measured is not None:
            lines.insert(0, Line("measured", curve.times, curve.measured, measured=True))
            if residuals:
                difference = curve.measured - curve.simulated
                charts[key][1].show([Line("residual", curve.times, difference)])
        charts[key][0].show(lines)
