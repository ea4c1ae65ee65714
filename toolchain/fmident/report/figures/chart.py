"""What a chart shows: panels with axes and marks.

Two renderers draw it: ``templates/report.js`` on a page, with the JavaScript of Bokeh, and
:mod:`fmident.report.figures.drawing` with Matplotlib. Both know each kind of mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.report.figures.browser import column_json, extremes, regular_grid
from fmident.report.figures.style import log_range, padded

if TYPE_CHECKING:
    from markupsafe import Markup

Values: TypeAlias = F64 | tuple[F64, ...]
"""A column, or several that are added in the browser."""

Hover: TypeAlias = Sequence[tuple[str, str]]
"""Text on a mark under the pointer: words and the name of a column."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a panel, from `low` to `high`, both positive if it is logarithmic.

    With `whole`, only integers have labels; `ticks` are positions with text labels instead
    of numbers. Horizontal axes with the same `link` move together in all charts of the
    page; a `fixed` vertical axis is excluded from zooming.
    """

    low: float
    high: float
    label: str = ""
    log: bool = False
    whole: bool = False
    ticks: Sequence[tuple[float, str]] = ()
    link: str = ""
    fixed: bool = False

    @classmethod
    def over(
        cls,
        label: str,
        *values: npt.ArrayLike,
        share: float = 0.05,
        log: bool = False,
        link: str = "",
    ) -> Axis:
        """Return an axis over all finite values, logarithmic if asked for and all are positive.

        `share` of the length is added at both ends.
        """
        every = np.concatenate([np.ravel(one).astype(np.float64) for one in values])
        finite = every[np.isfinite(every)]
        if log:
            ends, log = log_range(finite)
        else:
            low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
            ends = padded(float(low), float(high), share)
        return cls(*ends, label, log=log, link=link)

    @classmethod
    def of_time(cls, experiment: str, times: F64) -> Axis:
        """Return an axis over ascending times; those of an experiment move together everywhere."""
        begin, end = (float(times[0]), float(times[-1])) if times.size else (0.0, 1.0)
        link = f"time of {experiment}"
        return cls(begin, end if end > begin else begin + 1.0, "time (s)", link=link)

    def json(self) -> dict[str, Any]:
        """Return the axis for the browser."""
        return {**vars(self), "ticks": [list(t) for t in self.ticks] or None}


@dataclass(frozen=True, eq=False)
class Line:
    """A line through any number of samples with ascending x; NaN leaves gaps.

    A `hidden` line is shown by a click on its name in the legend.
    """

    x: F64
    y: Values
    color: str
    name: str = ""
    width: float = 1.2
    dashed: bool = False
    hidden: bool = False
    kind: ClassVar[str] = "line"


@dataclass(frozen=True, eq=False)
class Level:
    """A straight line across the panel at a value of y or x."""

    value: float
    color: str
    name: str = ""
    axis: str = "y"
    width: float = 1.0
    dashed: bool = False
    kind: ClassVar[str] = "level"


@dataclass(frozen=True, eq=False)
class Band:
    """The area between two lines of moderate length."""

    x: F64
    low: F64
    high: F64
    color: str
    name: str = ""
    alpha: float = 1.0
    kind: ClassVar[str] = "band"


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars from `left` to `right` and from zero to `top`."""

    left: F64
    right: F64
    top: F64
    color: str
    name: str = ""
    alpha: float = 1.0
    hover: Hover = ()
    extra: Mapping[str, F64 | Sequence[str]] = field(default_factory=dict)
    kind: ClassVar[str] = "bars"


@dataclass(frozen=True, eq=False)
class Segments:
    """Straight segments from (x0, y0) to (x1, y1)."""

    x0: F64
    y0: F64
    x1: F64
    y1: F64
    color: str
    name: str = ""
    width: float = 3.0
    hover: Hover = ()
    extra: Mapping[str, F64 | Sequence[str]] = field(default_factory=dict)
    kind: ClassVar[str] = "segments"


@dataclass(frozen=True, eq=False)
class Dots:
    """Single points.

    They have one `color`, or a number per dot in `values` mapped to a colour, which the
    last of `hover` names. `marker` is one of Bokeh's. The tooltip, `hover`, shows ``x``,
    ``y``, ``color`` and columns of `extra`, which are numbers or strings.
    """

    x: F64
    y: F64
    color: str
    name: str = ""
    size: float = 6.0
    marker: str = "circle"
    hollow: bool = False
    alpha: float = 1.0
    values: F64 | None = None
    hover: Hover = ()
    extra: Mapping[str, F64 | Sequence[str]] = field(default_factory=dict)
    kind: ClassVar[str] = "dots"


Mark: TypeAlias = Line | Level | Band | Bars | Segments | Dots

LONGEST_BAND = 2000
"""Samples of a band that are drawn at most: the browser draws all that it is given."""

CHART = '<figure class="chart"'
"""Beginning of the HTML of a chart."""

_COLUMNS = {
    "line": ("x", "y"),
    "level": (),
    "band": ("x", "low", "high"),
    "bars": ("left", "right", "top"),
    "segments": ("x0", "y0", "x1", "y1"),
    "dots": ("x", "y"),
}


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    height: int = 260
    title: str = ""


@dataclass(frozen=True, eq=False)
class Chart:
    """Panels with one legend.

    Parameters
    ----------
    panels
        From above to below, or side by side where there is room.
    label
        What the chart shows, for those who cannot see it.
    side_by_side
        Whether panels are beside each other.
    corner
        Whether the panels compare n parameters: a histogram of each, then each pair, row by row
        of the triangle that a picture makes of them.
    jumps
        Buttons: words, and the part of the horizontal axis that they show.
    """

    panels: Sequence[Panel]
    label: str
    side_by_side: bool = False
    corner: bool = False
    jumps: Sequence[tuple[str, float, float]] = ()
    kind: ClassVar[str] = "chart"

    def lines(self) -> Iterator[Lines]:
        """Yield the sizes of what the chart shows."""
        together: dict[int, list[Line]] = {}  # lines over the same places
        for mark in (mark for panel in self.panels for mark in panel.marks):
            if isinstance(mark, Line):
                together.setdefault(id(mark.x), []).append(mark)
            elif isinstance(mark, Band):
                yield Lines(mark.x.size, 2)
            elif isinstance(mark, Dots):
                yield Lines(mark.x.size, _DOT if mark.extra else 1)
        for group in together.values():
            x = group[0].x
            yield Lines(x.size, len(_columns(group)), regular_grid(x) is not None)

    def html(self, most: int | None = None) -> Markup:
        """Return the chart as HTML, without a caption; `most` as of :meth:`json`."""
        from markupsafe import Markup

        # "<" must not end the element that holds it.
        text = json.dumps(self.json(most), allow_nan=False, separators=(",", ":")).replace(
            "<", "\\u003c"
        )
        begin = Markup(CHART + ' role="group" aria-label="{}">').format(self.label)
        return begin + Markup(f'<script type="application/json">{text}</script></figure>')

    def json(self, most: int | None = None) -> dict[str, Any]:
        """Return the chart for the browser: columns, panels, jumps.

        `most` limits the samples of a line, a band and dots. Longer ones are reduced to samples
        that show the extremes at any zoom; ``envelope`` gives the numbers of line samples after
        and before.
        """
        panels, envelope = (self.panels, None) if most is None else _envelopes(self.panels, most)
        stored = _Stored()
        return {
            "data": stored.columns,
            "panels": [_panel(panel, stored) for panel in panels],
            "columns": 2 if self.side_by_side or self.corner else 1,
            "jumps": [list(jump) for jump in self.jumps],
            "envelope": envelope,
        }


_ROOM = 560_000
"""Numbers of all lines of a page, 3.0 MB; the library takes 0.5 MB, other plots up to 1 MB."""

_PLACE = 2
"""Numbers that the place of a sample takes: it has twice as many digits as a value."""

_DOT = 10
"""Numbers of a mark with the words below the pointer."""

_FEW = 1000
"""Samples that a mark has at least to count."""


class Lines(NamedTuple):
    """Lines over the same abscissae.

    Each has `samples` with a number of values, `numbers`, excluding the abscissa. The
    abscissae of `regular` samples take no space if all are drawn.
    """

    samples: int
    numbers: int
    regular: bool = False

    @property
    def whole(self) -> int:
        """Numbers of all samples."""
        return self.samples * (self.numbers + (0 if self.regular else _PLACE))


def most_samples(lines: Iterable[Lines], room: int = _ROOM) -> int:
    """Return the maximum number of samples of a line such that all lines fit into `room`.

    Short lines are drawn completely; the long ones share the remaining space.
    """
    whole = sorted(one for one in lines if one.samples >= _FEW)
    left, width = room - sum(one.whole for one in whole), 0
    longest = whole[-1].samples if whole else 0
    while left < 0 or (width and left // width < longest):
        last = whole.pop()
        left += last.whole
        width += last.numbers + _PLACE
        longest = whole[-1].samples if whole else 0
    return left // width if width else max(longest, _FEW)


def _envelopes(panels: Sequence[Panel], most: int) -> tuple[list[Panel], list[int] | None]:
    """Return panels with reduced marks, and the numbers of line samples after and before."""
    marks = [mark for panel in panels for mark in panel.marks]
    together: dict[int, list[Line]] = {}  # lines over the same places
    for mark in marks:
        if isinstance(mark, Line):
            together.setdefault(id(mark.x), []).append(mark)
    replacements: dict[int, Mark] = {
        id(mark): _shorter(mark, most) for mark in marks if isinstance(mark, Band | Dots)
    }
    drawn_count = count = 0
    for group in together.values():
        count += group[0].x.size
        if group[0].x.size <= most:
            drawn_count += group[0].x.size
            continue
        places = extremes([total(line.y) for line in group], most)
        drawn_count += places.size
        columns = {name: values[places] for name, values in _columns(group).items()}
        x = group[0].x[places]
        for line in group:
            y = line.y
            drawn = (
                tuple(columns[id(part)] for part in y) if isinstance(y, tuple) else columns[id(y)]
            )
            replacements[id(line)] = replace(line, x=x, y=drawn)
    return [
        replace(panel, marks=[replacements.get(id(mark), mark) for mark in panel.marks])
        for panel in panels
    ], ([drawn_count, count] if drawn_count < count else None)


def _shorter(mark: Band | Dots, most: int) -> Band | Dots:
    if mark.x.size <= most:
        return mark
    if isinstance(mark, Band):
        return long_band(mark, most)
    places = extremes([mark.y], most)
    return replace(
        mark,
        x=mark.x[places],
        y=mark.y[places],
        values=None if mark.values is None else mark.values[places],
        extra={
            name: given[places] if isinstance(given, np.ndarray) else [given[k] for k in places]
            for name, given in mark.extra.items()
        },
    )


def long_band(band: Band, most: int = LONGEST_BAND) -> Band:
    """Return a band reduced to `most` samples that include the extremes of both edges."""
    places = extremes([band.low, band.high], most)
    return replace(band, x=band.x[places], low=band.low[places], high=band.high[places])


def _columns(lines: Sequence[Line]) -> dict[int, F64]:
    parts = [part for line in lines for part in (line.y if isinstance(line.y, tuple) else [line.y])]
    return {id(part): part for part in parts}


def total(values: Values) -> F64:
    """Return a column, or the sum of several."""
    return np.sum(values, axis=0) if isinstance(values, tuple) else values


class _Stored:
    """Columns under short names; a column shared by several marks is stored once."""

    def __init__(self) -> None:
        self.columns: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._held: list[F64] = []  # an id is that of another array once the array is gone

    def name(self, values: F64, *, is_place: bool = False) -> str:
        key = id(values)
        if key not in self._names:
            self._names[key] = f"c{len(self.columns)}"
            self._held.append(values)
            self.columns[self._names[key]] = column_json(values, is_place=is_place)
        return self._names[key]

    def names(self, values: Values, *, is_place: bool = False) -> str | list[str]:
        if isinstance(values, tuple):
            return [self.name(part) for part in values]
        return self.name(values, is_place=is_place)


def _panel(panel: Panel, stored: _Stored) -> dict[str, Any]:
    return {
        "x": panel.x.json(),
        "y": panel.y.json(),
        "height": panel.height,
        "title": panel.title,
        "marks": [_mark(mark, stored) for mark in panel.marks],
    }


def _mark(mark: Mark, stored: _Stored) -> dict[str, Any]:
    content: dict[str, Any] = {"kind": mark.kind, "color": mark.color, "name": mark.name}
    for key in ("width", "value", "axis", "alpha", "size", "marker", "hollow", "hidden"):
        if hasattr(mark, key):
            content[key] = getattr(mark, key)
    if getattr(mark, "dashed", False):
        content["dash"] = [5, 3]
    columns: dict[str, Any] = {}
    for key in _COLUMNS[mark.kind]:
        place = key == "x" and mark.kind in ("line", "band")
        columns[key] = stored.names(getattr(mark, key), is_place=place)
    if isinstance(mark, Dots) and mark.values is not None:
        columns["color"] = stored.name(mark.values)
    texts: dict[str, list[str]] = {}
    for key, given in getattr(mark, "extra", {}).items():
        if isinstance(given, np.ndarray):
            columns[key] = stored.name(given)
        else:
            texts[key] = list(given)
    content["data"], content["texts"] = columns, texts
    hover = [
        [w, key, "text" if key in texts else "number"] for w, key in getattr(mark, "hover", ())
    ]
    content["hover"] = hover or None
    return content
