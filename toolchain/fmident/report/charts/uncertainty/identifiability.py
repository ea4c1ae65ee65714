"""What the data determine: singular values, and the directions that are known least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Chart, Dots, Level, Mark, Panel, Segments
from fmident.report.charts.ranges import log_range, padded, short_names
from fmident.report.numbers import plain

if TYPE_CHECKING:
    from fmident.statistics.identifiability import Identifiability, WeakDirection

_HEIGHT, _ROW, _REST = 230, 24, 78
_WEAK = 0.5
"""Singular value up to which a direction is worth a look; the weakest is shown in any case."""

_MOST_DIRECTIONS, _MOST_PARAMETERS = 5, 10
_LEAST_SHARE = 0.05


def identifiability_chart(judged: Identifiability | None) -> Chart | None:
    """Return the singular values, and the shares of the parameters in the weakest directions.

    Returns
    -------
    Chart or None
        ``None`` with fewer than two parameters between their bounds.
    """
    if judged is None or len(judged.singular_values) < 2:
        return None
    values = _singular_values(judged)
    weak = [d for d in judged.weakest if not d.determined or d.singular_value < _WEAK]
    panels = [_direction(d) for d in (weak or judged.weakest[:1])[:_MOST_DIRECTIONS]]
    if values is not None:
        panels.insert(0, values)
    if not panels:
        return None
    return Chart(panels, "Singular values and weakest directions", side_by_side=True)


def _singular_values(judged: Identifiability) -> Panel | None:
    values = np.asarray(judged.singular_values, dtype=np.float64)
    numbers = np.arange(1.0, values.size + 1.0)
    shown = np.isfinite(values) & (values > 0.0)
    if not shown.any():
        return None
    ends, log = log_range(values[shown])
    marks: list[Mark] = []
    for which, color, name in (
        (numbers <= judged.rank, colors.FITTED, "determined"),
        (numbers > judged.rank, colors.THRESHOLD, "not determined"),
    ):
        if np.any(which & shown):
            marks.append(
                Dots(
                    numbers[which & shown], values[which & shown], color, name, 8.0,
                    hover=[("combination", "x"), ("singular value", "y")],
                )
            )  # fmt: skip
    return Panel(
        Axis(*padded(1.0, float(numbers[-1]), 0.06), "combination of parameters", whole=True),
        Axis(*ends, "singular value", log=log),
        marks,
        _HEIGHT,
        "Singular values of the scaled Jacobian",
    )


def _direction(direction: WeakDirection) -> Panel:
    ordered = sorted(direction.shares.items(), key=lambda one: -abs(one[1]))
    kept = [one for one in ordered if abs(one[1]) >= _LEAST_SHARE][:_MOST_PARAMETERS]
    names: Sequence[str] = [name for name, _ in kept]
    shares = np.array([share for _, share in kept])
    rows = np.arange(float(len(kept)), 0.0, -1.0)
    ticks = list(zip(rows.tolist(), short_names(names), strict=True))
    word = plain(direction.singular_value, 3)
    title = f"Singular value {word}" if direction.determined else "Not determined"
    return Panel(
        Axis(-1.05, 1.05, "share"),
        Axis(0.4, len(kept) + 0.6, ticks=ticks, fixed=True),
        [
            Segments(
                np.zeros(len(kept)), rows, shares, rows.copy(),
                colors.FITTED if direction.determined else colors.THRESHOLD, "", 12.0,
                hover=[("parameter", "parameter"), ("share", "x1")], extra={"parameter": names},
            ),
            Level(0.0, colors.RESIDUAL, axis="x", width=0.9),
        ],
        max(_ROW * len(kept) + _REST, 130),
        title,
    )  # fmt: skip
