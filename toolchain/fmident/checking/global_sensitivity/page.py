"""Tables and charts of global sensitivities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fmident.checking.global_sensitivity.result import GlobalSensitivity, OutputIndices
from fmident.report.figures import style
from fmident.report.figures.chart import Axis, Chart, Dots, Line, Mark, Panel, Segments
from fmident.report.figures.style import padded, time_link
from fmident.words import plain

_ROW, _REST, _TIME_HEIGHT = 26, 84, 220
_MOST_SHOWN = 8

ABOUT = {
    "sobol": "S1 is the part of the output's variance, summed over time, that goes if only this "
    "parameter were known; ST the part that stays if only this one were not known. ST beyond S1 "
    "comes from acting together with others. All parameters are spread evenly over their bounds.",
    "morris": "mu* is the mean size of the change of the output when the parameter moves through "
    "its whole range, in units of the output's own spread; sigma says by how much that change "
    "depends on where it and the others are. All parameters are spread evenly over their bounds.",
}


def columns(found: GlobalSensitivity) -> list[tuple[str, str]]:
    """Return title and name of each displayed index."""
    if found.method.name == "sobol":
        return [("S1", "S1"), ("ST", "ST"), ("+-", "ST_conf")]
    return [("mu*", "mu_star"), ("+-", "mu_star_conf"), ("sigma", "sigma")]


def tables(found: GlobalSensitivity) -> Iterator[tuple[OutputIndices, list[str], list[list[str]]]]:
    """Yield each output with header and rows, the most important parameter first."""
    index_columns = columns(found)
    for output in found.outputs:
        order = np.argsort(-output.indices[found.index])
        rows = [
            [found.names[j], *(plain(float(output.indices[key][j]), 2) for _, key in index_columns)]
            for j in order
        ]
        yield output, ["parameter", *(title for title, _ in index_columns)], rows


def global_section(found: GlobalSensitivity | None, *, charts: bool) -> str:
    """Return the section of a page; empty without global sensitivities.

    `charts` says whether the page can draw; otherwise it has tables only.
    """
    from fmident.report.sections.html import fragment

    if found is None or not found.outputs:
        return ""
    return fragment(
        "global-sensitivity",
        about=ABOUT[found.method.name],
        ranges=[
            (name, plain(float(low), 4), plain(float(high), 4))
            for name, low, high in zip(found.names, found.lower, found.upper, strict=True)
        ],
        effort=f"{found.used} samples, {found.points} simulations of each experiment",
        outputs=[
            {
                "name": f"{o.experiment}: {o.output}",
                "header": header,
                "rows": rows,
                "chart": global_chart(found, o).html() if charts else "",
            }
            for o, header, rows in tables(found)
        ],
    )


def global_chart(found: GlobalSensitivity, output: OutputIndices) -> Chart:
    """Return the indices of one output, and the ranking index over time."""
    return Chart(
        [_ranking(found, output), _over_time(found, output)],
        f"Global sensitivities of {output.output}",
        side_by_side=True,
    )


def _ranking(found: GlobalSensitivity, output: OutputIndices) -> Panel:
    key = found.index
    order = np.argsort(-output.indices[key])
    names = [found.names[j] for j in order]
    rows = np.arange(float(len(names)), 0.0, -1.0)
    main = output.indices[key][order]
    width = output.indices[f"{key}_conf"][order]
    is_sobol = found.method.name == "sobol"
    other = output.indices["S1" if is_sobol else "sigma"][order]
    zero = np.zeros(len(names))
    words = {"parameter": names}
    title, second = ("ST", "S1") if is_sobol else ("mu*", "sigma")
    label = "part of the variance" if is_sobol else "effect / spread of the output"
    marks: list[Mark] = [
        Segments(
            zero, rows, main, rows, style.FITTED, title, 12.0,
            hover=[("parameter", "parameter"), (title, "x1")], extra=words,
        ),
        Segments(np.maximum(main - width, 0.0), rows, main + width, rows, style.END, "95 %", 2.0),
        Dots(
            other, rows, style.INITIAL, second, 8.0, "diamond",
            hover=[("parameter", "parameter"), (second, "x")], extra=words,
        ),
    ]  # fmt: skip
    far = float(np.max([main + width, other]))
    ticks = [(float(y), name) for y, name in zip(rows, names, strict=True)]
    return Panel(
        Axis(0.0, 1.05 * (max(far, 1.0) if is_sobol else far), label),
        Axis(0.4, len(names) + 0.6, ticks=ticks, fixed=True),
        marks,
        max(_ROW * len(names) + _REST, 150),
        f"{output.experiment}: {output.output}",
    )


def _over_time(found: GlobalSensitivity, output: OutputIndices) -> Panel:
    marks = [
        Line(
            output.times,
            np.ascontiguousarray(output.over_time[:, j]),
            style.SERIES[j % len(style.SERIES)],
            found.names[j],
            hidden=k >= _MOST_SHOWN,
        )
        for k, j in enumerate(np.argsort(-output.indices[found.index]))
    ]
    top = float(np.max(output.over_time, initial=0.0))
    label = "ST x variance / mean" if found.method.name == "sobol" else "mu*"
    begin, end = float(output.times[0]), float(output.times[-1])
    return Panel(
        Axis(begin, end, "time (s)", link=time_link(output.experiment)),
        Axis(*padded(0.0, top or 1.0, 0.05), label),
        marks,
        _TIME_HEIGHT,
        "over time",
    )
