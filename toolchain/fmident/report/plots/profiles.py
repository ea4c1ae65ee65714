"""Pictures of profiles: tau over the parameter, and the rise of the cost.

Tau is the signed root of the rise of the cost (Bates and Watts 1988, section 6.1): a straight line
where the linearisation holds, bent where it does not, level where the data do not determine the
parameter.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from fmident.arrays import F64
from fmident.profiles import tau_curve
from fmident.report.charts.colors import END, THRESHOLD
from fmident.report.charts.uncertainty.profiles import ABOVE, grid, is_log, limits, span
from fmident.report.numbers import plain
from fmident.report.plots import style
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.profiles import ParameterProfile, ProfileResult

Kind = Literal["tau", "rise"]

_COLUMNS, _PANEL = 3, (3.6, 2.7)
_TITLE = 52
_LONG_LABEL = 8


def draw_profiles(result: ProfileResult, path: Path, kind: Kind = "tau") -> None:
    """Draw all profiles into one picture, a panel each.

    Parameters
    ----------
    result
        The profiles, one at least.
    path
        PNG, SVG or PDF, by its suffix.
    kind
        ``"tau"``, or ``"rise"``: twice the rise of the cost over the variance.
    """
    count = len(result.profiles)
    columns = min(count, _COLUMNS)
    rows = math.ceil(count / columns)
    with mpl.rc_context(style.STYLE):
        size = (max(_PANEL[0] * columns, 5.4), _PANEL[1] * rows + 0.4)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in panels[count:]:
            axes.set_axis_off()
        for axes, profile in zip(panels, result.profiles, strict=False):
            draw_profile(axes, profile, result, kind)
            axes.set_title(
                textwrap.fill(profile.verdict.text, _TITLE), fontsize=8.5, color="#5b6673"
            )
        handles, labels = legend_of(panels[:count])
        figure.legend(handles, labels, loc="outside upper center", ncols=5)
        style.write(figure, path)


def draw_profile(axes: Axes, profile: ParameterProfile, result: ProfileResult, kind: Kind) -> None:
    """Draw tau, or the rise of the cost, of one parameter."""
    critical = profile.factor * result.critical_tau
    low, high = span(profile, critical)
    lowest, highest = limits(profile, low, high)
    places = grid(profile, max(lowest, low), min(highest, high))
    curve = tau_curve(profile.points, places)
    values = np.array([p.value for p in profile.points])
    taus = np.array([p.tau for p in profile.points])
    good = np.array([p.converged for p in profile.points], dtype=np.bool_)
    line = (grid(profile, lowest, highest) - profile.value) / profile.standard_error
    squared = kind == "rise"

    def shown(tau: F64) -> F64:
        return tau**2 if squared else tau

    if np.isfinite(profile.standard_error) and profile.standard_error > 0.0:
        axes.plot(
            grid(profile, lowest, highest), shown(line), "--", color=style.INITIAL, linewidth=1.0,
            label="linearised",
        )  # fmt: skip
    axes.plot(places, shown(curve), color=style.FITTED, linewidth=1.4, label="profile")
    axes.plot(values[good], shown(taus[good]), "o", color=style.FITTED, markersize=3.2)
    if not bool(good.all()):
        axes.plot(
            values[~good], shown(taus[~good]), "o", color="white", markeredgecolor=style.FITTED,
            markersize=3.8, label="upper limit",
        )  # fmt: skip
    levels = [critical**2] if squared else [-critical, critical]
    for level in levels:
        axes.axhline(level, color=THRESHOLD, linewidth=0.9, linestyle=":", label="threshold")
    for end in profile.interval:
        if math.isfinite(end):
            axes.axvline(end, color=END, linewidth=0.9, label="end of the interval")
    _bounds(axes, profile, lowest, highest)
    _scale(axes, profile, lowest, highest)
    top = ABOVE * critical
    axes.set_ylim((-0.06 * top**2, top**2) if squared else (-top, top))
    axes.set_ylabel("2 · rise of the cost / s²" if squared else "tau")


def _bounds(axes: Axes, profile: ParameterProfile, low: float, high: float) -> None:
    """Shade what lies outside of the bounds."""
    for first, last in ((-math.inf, profile.bounds[0]), (profile.bounds[1], math.inf)):
        left, right = max(first, low), min(last, high)
        if left < right:
            axes.axvspan(left, right, color="#d8dce2", linewidth=0, label="outside of the bounds")


def _scale(axes: Axes, profile: ParameterProfile, low: float, high: float) -> None:
    if is_log(profile, low, high):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: plain(value, 3))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        longest = max(len(plain(low)), len(plain(high)))
        axes.xaxis.set_major_locator(MaxNLocator(4 if longest < _LONG_LABEL else 3))
    axes.set_xlim(low, high)
    unit = unit_text(profile.unit)
    name = f"{profile.name} ({unit})" if unit else profile.name
    axes.set_xlabel(name, parse_math=False)


def legend_of(panels: Iterable[Axes]) -> tuple[list[Artist], list[str]]:
    """Return each label of any panel once."""
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
