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
from fmident.report.numbers import plain
from fmident.report.plots import style
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.profiles import ParameterProfile, ProfileResult

Kind = Literal["tau", "rise"]

_COLUMNS, _PANEL = 3, (3.6, 2.7)
_ABOVE = 1.35
"""Height of a picture in thresholds."""

_MARGIN = 0.04
_TITLE = 52
_WIDE = 5.0
"""Ratio of the ends of an axis from which it is logarithmic, for a parameter with log scaling."""

_LONG_LABEL = 8
_SAMPLES = 241
_END = "#2b8a4b"
_THRESHOLD = "#b93434"


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


def profile_svg(profile: ParameterProfile, result: ProfileResult) -> bytes:
    """Return tau and the rise of the cost of one parameter side by side, as SVG."""
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(10.6, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_profile(left, profile, result, "tau")
        draw_profile(right, profile, result, "rise")
        handles, labels = legend_of([left])
        figure.legend(handles, labels, loc="outside upper center", ncols=5)
        return style.svg_of(figure, f"profile/{profile.name}")


def draw_profile(axes: Axes, profile: ParameterProfile, result: ProfileResult, kind: Kind) -> None:
    """Draw tau, or the rise of the cost, of one parameter."""
    critical = result.critical_tau
    low, high = _span(profile, critical)
    lowest, highest = _limits(profile, low, high)
    grid = _grid(profile, max(lowest, low), min(highest, high))
    curve = tau_curve(profile.points, grid)
    values = np.array([p.value for p in profile.points])
    taus = np.array([p.tau for p in profile.points])
    good = np.array([p.converged for p in profile.points], dtype=np.bool_)
    line = (_grid(profile, lowest, highest) - profile.value) / profile.standard_error
    squared = kind == "rise"

    def shown(tau: F64) -> F64:
        return tau**2 if squared else tau

    if np.isfinite(profile.standard_error) and profile.standard_error > 0.0:
        axes.plot(
            _grid(profile, lowest, highest), shown(line), "--", color=style.INITIAL, linewidth=1.0,
            label="linearised",
        )  # fmt: skip
    axes.plot(grid, shown(curve), color=style.FITTED, linewidth=1.4, label="profile")
    axes.plot(values[good], shown(taus[good]), "o", color=style.FITTED, markersize=3.2)
    if not bool(good.all()):
        axes.plot(
            values[~good], shown(taus[~good]), "o", color="white", markeredgecolor=style.FITTED,
            markersize=3.8, label="upper limit",
        )  # fmt: skip
    levels = [critical**2] if squared else [-critical, critical]
    for level in levels:
        axes.axhline(level, color=_THRESHOLD, linewidth=0.9, linestyle=":", label="threshold")
    for end in profile.interval:
        if math.isfinite(end):
            axes.axvline(end, color=_END, linewidth=0.9, label="end of the interval")
    _bounds(axes, profile, lowest, highest)
    _scale(axes, profile, lowest, highest)
    top = _ABOVE * critical
    axes.set_ylim((-0.06 * top**2, top**2) if squared else (-top, top))
    axes.set_ylabel("2 · rise of the cost / s²" if squared else "tau")


def _span(profile: ParameterProfile, critical: float) -> tuple[float, float]:
    """Return the first and the last point, without those that are far above the threshold."""
    near = [p.value for p in profile.points if abs(p.tau) <= _ABOVE * critical]
    values = [p.value for p in profile.points]
    left = max((v for v in values if v < near[0]), default=near[0])
    right = min((v for v in values if v > near[-1]), default=near[-1])
    return left, right


def _limits(profile: ParameterProfile, low: float, high: float) -> tuple[float, float]:
    """Return what to show: both intervals as far as they have ends, else where the walk came."""
    ends = [profile.value]
    for end, far in ((profile.interval[0], low), (profile.interval[1], high)):
        ends.append(end if math.isfinite(end) else far)
    half = abs(ends[1] - ends[2]) / 2.0
    for end in profile.linearised:  # unless that hides the profile
        if math.isfinite(end) and abs(end - profile.value) <= 3.0 * half:
            ends.append(end)
    if profile.log:
        positive = [e for e in ends if e > 0.0]
        ratio = (max(positive) / min(positive)) ** (3.0 * _MARGIN)
        return min(positive) / ratio, max(positive) * ratio
    margin = 3.0 * _MARGIN * (max(ends) - min(ends)) or 0.1 * max(abs(profile.value), 1e-12)
    return min(ends) - margin, max(ends) + margin


def _is_log(profile: ParameterProfile, low: float, high: float) -> bool:
    """Return whether the axis is logarithmic: only where it shows."""
    return profile.log and low > 0.0 and high > _WIDE * low


def _grid(profile: ParameterProfile, low: float, high: float) -> F64:
    if _is_log(profile, low, high):
        return np.geomspace(low, high, _SAMPLES)
    return np.linspace(low, high, _SAMPLES)


def _bounds(axes: Axes, profile: ParameterProfile, low: float, high: float) -> None:
    """Shade what lies outside of the bounds."""
    for first, last in ((-math.inf, profile.bounds[0]), (profile.bounds[1], math.inf)):
        left, right = max(first, low), min(last, high)
        if left < right:
            axes.axvspan(left, right, color="#d8dce2", linewidth=0, label="outside of the bounds")


def _scale(axes: Axes, profile: ParameterProfile, low: float, high: float) -> None:
    if _is_log(profile, low, high):
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
