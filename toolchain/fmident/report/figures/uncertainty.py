"""What the data say about the parameters: intervals, identifiability, sensitivities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.report.figures import style
from fmident.report.figures.chart import Axis, Chart, Dots, Level, Line, Mark, Panel, Segments
from fmident.report.figures.style import padded, short_names
from fmident.words import plain, unit_text

if TYPE_CHECKING:
    from fmident.estimation.comparisons import OutputSensitivity
    from fmident.estimation.result import EstimationResult, ParameterEstimate
    from fmident.statistics.identifiability import Identifiability, WeakDirection


_ROW, _REST, _MOST = 24, 78, 60
_BOUNDS = "#d8dce2"
_FAR = 8.0
"""Distance from the estimate, as a multiple of the median, beyond which bars are cut off."""

_LEAST_REACH, _LEAST_WIDE = 1e-7, 150.0
"""Percent that an axis shows at least: of intervals that have no width, and of bounds."""

_VALUES_HEIGHT, _SHARE_ROW, _SHARE_REST = 230, 24, 78
_WEAK = 0.5
"""Singular value up to which a direction is worth a look; the weakest is shown in any case."""

_MOST_DIRECTIONS, _MOST_PARAMETERS = 5, 10
_LEAST_SHARE = 0.05


_TIME_HEIGHT = 230
_MOST_LINES, _MOST_SHOWN = 60, 8


def forest_chart(result: EstimationResult) -> Chart | None:
    """Return intervals, and beside them initial values and bounds, in percent of the estimates.

    Returns
    -------
    Chart or None
        ``None`` without a parameter that was searched and is not zero.
    """
    searched = [e for e in result.estimates if e.searched and not e.base]
    rows = [e for e in (*searched, *result.base_parameters) if e.value != 0.0][:_MOST]
    if not rows:
        return None
    names = short_names([e.name for e in rows])
    panels = [_bounds_panel(rows, names)]
    if any(np.isfinite(e.interval_95).any() for e in rows):
        panels.insert(0, intervals_panel(rows, names, "95 % intervals"))
    words = "Intervals, initial values and bounds of the parameters in relation to the estimates"
    return Chart(panels, words, side_by_side=True)


def intervals_panel(
    rows: Sequence[ParameterEstimate], names: Sequence[str], title: str = ""
) -> Panel:
    """Return the 95 % interval of each parameter; one that is much wider than most is cut off."""
    ends = _percent([_interval(e) for e in rows], rows)
    reach = 1.15 * _reach(ends)
    marks = [*_intervals(ends, reach), *_beyond(ends, reach), *_estimates(rows)]
    return _rows_panel(names, (-reach, reach), marks, title)


def _bounds_panel(rows: Sequence[ParameterEstimate], names: Sequence[str]) -> Panel:
    ends = _percent([_interval(e) for e in rows], rows)
    bounds = _percent([(e.lower, e.upper) for e in rows], rows)
    initial = _percent([(e.initial,) for e in rows], rows)
    near = max(_reach(ends), _reach(initial))
    reach = 1.1 * max(near, min(_reach(bounds), max(3.0 * near, _LEAST_WIDE)))
    low, high = np.clip(bounds, -reach, reach).T
    there = np.abs(initial[:, 0]) <= reach
    places = _places(len(rows))
    marks: list[Mark] = [
        Segments(low, places, high, places.copy(), _BOUNDS, "bounds", 9.0),
        *_intervals(ends, reach),
        Dots(
            initial[there, 0], places[there], style.INITIAL, "initial", 8.0, "square", hollow=True,
            hover=_HOVER, extra=_words([e for e, seen in zip(rows, there, strict=True) if seen]),
        ),
        *_beyond(np.hstack([ends, bounds, initial]), reach),
        *_estimates(rows),
    ]  # fmt: skip
    return _rows_panel(names, (-reach, reach), marks, "Initial values and bounds")


def _rows_panel(
    names: Sequence[str], ends: tuple[float, float], marks: Sequence[Mark], title: str
) -> Panel:
    ticks = [*zip(_places(len(names)).tolist(), names, strict=True)]
    down = Axis(0.4, len(names) + 0.6, ticks=ticks, fixed=True)
    height = _ROW * len(names) + _REST
    return Panel(Axis(*ends, "difference from the estimate (%)"), down, marks, height, title)


def _interval(e: ParameterEstimate) -> tuple[float, float]:
    return (-np.inf, np.inf) if e.is_open else e.interval_95


def _places(count: int) -> F64:
    return np.arange(float(count), 0.0, -1.0)


def _percent(values: Sequence[Sequence[float]], rows: Sequence[ParameterEstimate]) -> F64:
    """Return values of each parameter in percent of its estimate, shape (n, k); NaN for zero."""
    middle = np.array([e.value for e in rows])[:, np.newaxis]
    size = np.where(middle == 0.0, np.nan, np.abs(middle))
    percent: F64 = 100.0 * (np.array(values, dtype=np.float64) - middle) / size
    return percent


def _reach(percent: F64) -> float:
    """Return the largest size of values, without those that are many times as far as most."""
    sizes = np.abs(percent[np.isfinite(percent) & (percent != 0.0)])
    if not sizes.size:
        return 1.0
    return max(float(sizes[sizes <= _FAR * np.median(sizes)].max()), _LEAST_REACH)


def _intervals(ends: F64, reach: float) -> list[Mark]:
    places, (low, high) = _places(len(ends)), np.clip(ends, -reach, reach).T
    known, endless = ~np.isnan(ends).any(axis=1), np.isinf(ends).any(axis=1)
    marks: list[Mark] = []
    for which, color, name, width in (
        (known & ~endless, style.FITTED, "95 % interval", 4.0),
        (known & endless, style.THRESHOLD, "no finite interval", 2.0),
    ):
        if which.any():
            y = places[which]
            marks.append(Segments(low[which], y, high[which], y.copy(), color, name, width))
    return marks


def _beyond(percent: F64, reach: float) -> list[Mark]:
    """Return an arrow at the end of each row that goes on beyond the axis."""
    places, marks = _places(len(percent)), []
    for side, marker in ((-1.0, "left"), (1.0, "right")):
        far = np.any(np.isfinite(percent) & (side * percent > reach), axis=1)
        if far.any():
            x = np.full(int(far.sum()), side * 0.985 * reach)
            marks.append(Dots(x, places[far], style.RESIDUAL, "beyond the axis", 8.0, marker))
    return [*marks]


def _estimates(rows: Sequence[ParameterEstimate]) -> list[Mark]:
    return [
        Level(0.0, style.RESIDUAL, axis="x", dashed=True),
        Dots(
            np.zeros(len(rows)), _places(len(rows)), style.RESULT, "estimate", 7.0, hover=_HOVER,
            extra=_words(rows),
        ),
    ]  # fmt: skip


_HOVER = [(w, w) for w in ("parameter", "estimate", "95 % interval", "initial", "bounds")]


def _words(rows: Sequence[ParameterEstimate]) -> dict[str, list[str]]:
    return {
        "parameter": [e.name for e in rows],
        "estimate": [_with_unit(e.value, e) for e in rows],
        "95 % interval": [_ends(e.interval_95) for e in rows],
        "initial": [_with_unit(e.initial, e) for e in rows],
        "bounds": [_ends((e.lower, e.upper)) for e in rows],
    }


def _with_unit(value: float, e: ParameterEstimate) -> str:
    return f"{plain(value)} {unit_text(e.unit)}".rstrip()


def _ends(pair: tuple[float, float]) -> str:
    words = ["n/a" if np.isnan(v) else "∞" if v == np.inf else "-∞" if v == -np.inf else plain(v)
             for v in pair]  # fmt: skip
    return f"{words[0]} … {words[1]}"


def identifiability_chart(judged: Identifiability | None) -> Chart | None:
    """Return the singular values, and the parameters' shares in the weakest directions.

    It is ``None`` with fewer than two parameters within their bounds.
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
    positive = np.isfinite(values) & (values > 0.0)
    if not positive.any():
        return None
    marks: list[Mark] = []
    for which, color, name in (
        (numbers <= judged.rank, style.FITTED, "determined"),
        (numbers > judged.rank, style.THRESHOLD, "not determined"),
    ):
        if np.any(which & positive):
            marks.append(
                Dots(
                    numbers[which & positive], values[which & positive], color, name, 8.0,
                    hover=[("combination", "x"), ("singular value", "y")],
                )
            )  # fmt: skip
    return Panel(
        Axis(*padded(1.0, float(numbers[-1]), 0.06), "combination of parameters", whole=True),
        Axis.over("singular value", values[positive], log=True),
        marks,
        _VALUES_HEIGHT,
        "Singular values of the scaled Jacobian",
    )


def _direction(direction: WeakDirection) -> Panel:
    ordered = sorted(direction.shares.items(), key=lambda one: -abs(one[1]))
    largest = [one for one in ordered if abs(one[1]) >= _LEAST_SHARE][:_MOST_PARAMETERS]
    names: Sequence[str] = [name for name, _ in largest]
    shares = np.array([share for _, share in largest])
    rows = np.arange(float(len(largest)), 0.0, -1.0)
    ticks = list(zip(rows.tolist(), short_names(names), strict=True))
    word = plain(direction.singular_value, 3)
    title = f"Singular value {word}" if direction.determined else "Not determined"
    return Panel(
        Axis(-1.05, 1.05, "share"),
        Axis(0.4, len(largest) + 0.6, ticks=ticks, fixed=True),
        [
            Segments(
                np.zeros(len(largest)), rows, shares, rows.copy(),
                style.FITTED if direction.determined else style.THRESHOLD, "", 12.0,
                hover=[("parameter", "parameter"), ("share", "x1")], extra={"parameter": names},
            ),
            Level(0.0, style.RESIDUAL, axis="x", width=0.9),
        ],
        max(_SHARE_ROW * len(largest) + _SHARE_REST, 130),
        title,
    )  # fmt: skip


def sensitivity_chart(one: OutputSensitivity) -> Chart | None:
    """Return a line per parameter that affects the output; only a few are visible initially.

    It is ``None`` if no parameter affects it.
    """
    influential = [int(j) for j in np.argsort(-one.shares, kind="stable") if one.shares[j] > 0.0][
        :_MOST_LINES
    ]
    if not influential or one.times.size < 2:
        return None
    at_first = {*influential[:_MOST_SHOWN]}
    marks: list[Mark] = [Level(0.0, style.RESIDUAL, width=0.8)]
    for j in sorted(influential):
        marks.append(
            Line(
                one.times,
                np.ascontiguousarray(one.values[:, j]),
                style.SERIES[j % len(style.SERIES)],
                one.parameters[j],
                width=1.3,
                hidden=j not in at_first,
            )
        )
    reach = 1.08 * float(np.max(np.abs(one.values[:, sorted(at_first)])))
    panel = Panel(
        Axis.of_time(one.experiment, one.times),
        Axis(-reach, reach, "change / σ"),
        marks,
        _TIME_HEIGHT,
    )
    return Chart([panel], f"Sensitivities of {one.name} of {one.experiment} over time")
