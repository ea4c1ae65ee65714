"""The inputs of an experiment over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Chart, Line, Panel
from fmident.report.charts.ranges import padded, time_link, with_unit
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.estimation.result import InputSignal

_HEIGHT, _LOWER = 105, 45
_MOST_STEPS = 5000
"""Of more samples, steps and straight lines look the same."""


def inputs_chart(inputs: Sequence[InputSignal]) -> Chart:
    """Return one panel for each input.

    Parameters
    ----------
    inputs
        Of one experiment, at least one.
    """
    experiment = inputs[0].experiment
    begin, end = float(inputs[0].times[0]), float(inputs[0].times[-1])
    panels = []
    for k, signal in enumerate(inputs):
        last = k == len(inputs) - 1
        times, values = _drawn(signal)
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        panels.append(
            Panel(
                Axis(begin, end, "time (s)" if last else "", link=time_link(experiment)),
                Axis(*padded(low, high, 0.08)),
                [Line(times, values, colors.FITTED, signal.name, width=1.2)],
                _HEIGHT + (_LOWER if last else 0),
                with_unit(signal.name, unit_text(signal.unit)),
            )
        )
    return Chart(panels, f"Inputs of {experiment} over time")


def _drawn(signal: InputSignal) -> tuple[F64, F64]:
    if not signal.held or signal.times.size > _MOST_STEPS:
        return signal.times, signal.values
    return np.repeat(signal.times, 2)[1:], np.repeat(signal.values, 2)[:-1]
