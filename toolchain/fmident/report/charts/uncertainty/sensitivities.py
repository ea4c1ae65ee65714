"""How an output answers to the parameters over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Chart, Level, Line, Mark, Panel
from fmident.report.charts.ranges import time_link

if TYPE_CHECKING:
    from fmident.estimation.result import OutputSensitivity

_HEIGHT = 230
_MOST, _MOST_SHOWN = 60, 8


def sensitivity_chart(one: OutputSensitivity) -> Chart | None:
    """Return a line for each parameter that the output shows; few of them are seen at first.

    Returns
    -------
    Chart or None
        ``None`` where the output shows none.
    """
    seen = [int(j) for j in np.argsort(-one.shares, kind="stable") if one.shares[j] > 0.0][:_MOST]
    if not seen or one.times.size < 2:
        return None
    at_first = {*seen[:_MOST_SHOWN]}
    marks: list[Mark] = [Level(0.0, colors.RESIDUAL, width=0.8)]
    for place, j in enumerate(sorted(seen)):
        marks.append(
            Line(
                one.times,
                np.ascontiguousarray(one.values[:, j]),
                colors.SERIES[place % len(colors.SERIES)],
                one.parameters[j],
                width=1.3,
                hidden=j not in at_first,
            )
        )
    reach = 1.08 * float(np.max(np.abs(one.values[:, sorted(at_first)])))
    begin, end = float(one.times[0]), float(one.times[-1])
    panel = Panel(
        Axis(begin, end, "time (s)", link=time_link(one.experiment)),
        Axis(-reach, reach, "change / σ"),
        marks,
        _HEIGHT,
    )
    return Chart([panel], f"Sensitivities of {one.name} of {one.experiment} over time")
