"""Charts of profiles: tau over the parameter, and the cost increase.

Tau is the signed root of the cost increase (Bates and Watts 1988, section 6.1):
straight if the linearisation is valid, curved if not, flat if the data do not determine
the parameter.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from fmident.arrays import F64
from fmident.profiles import tau_curve
from fmident.report.figures import style
from fmident.report.figures.chart import Axis, Band, Chart, Dots, Level, Line, Mark, Panel, Segments
from fmident.report.figures.style import with_unit
from fmident.words import unit_text

if TYPE_CHECKING:
    from fmident.profiles import JointRegion, ParameterProfile, ProfileResult


Kind = Literal["tau", "rise"]

_ABOVE = 1.35
"""Height of a picture in thresholds."""

_MARGIN = 0.04
_WIDE = 5.0
"""Ratio of the ends of an axis from which it is logarithmic, for a parameter with log scaling."""

_SAMPLES = 241
_HEIGHT = 280
_OUTSIDE = "#d8dce2"


_REGION_HEIGHT = 420


def profile_chart(profile: ParameterProfile, result: ProfileResult) -> Chart:
    """Return tau and the cost increase of one parameter side by side."""
    panels = [profile_panel(profile, result, "tau"), profile_panel(profile, result, "rise")]
    words = f"Profile of {profile.name}: tau, and the rise of the cost, with the linearised ones"
    return Chart(panels, words, side_by_side=True)


def profiles_chart(result: ProfileResult, kind: Kind) -> Chart:
    """Return tau, or the rise of the cost, of all parameters, with the verdicts."""
    panels = [
        replace(profile_panel(p, result, kind), title=p.verdict.text) for p in result.profiles
    ]
    return Chart(panels, f"Profiles: {kind}", side_by_side=True)


def profile_panel(profile: ParameterProfile, result: ProfileResult, kind: Kind) -> Panel:
    """Return tau over the parameter, or the rise of the cost."""
    critical = profile.factor * result.critical_tau
    low, high = _span(profile, critical)
    lowest, highest = _limits(profile, low, high)
    power = 2 if kind == "rise" else 1
    values = np.array([p.value for p in profile.points])
    taus = np.array([p.tau for p in profile.points])
    good = np.array([p.converged for p in profile.points], dtype=np.bool_)
    top = _ABOVE * critical
    bottom, top = (-0.06 * top**2, top**2) if power == 2 else (-top, top)
    marks: list[Mark] = [*_outside(profile, lowest, highest, bottom, top)]
    if np.isfinite(profile.standard_error) and profile.standard_error > 0.0:
        whole = _grid(profile, lowest, highest)
        line = ((whole - profile.value) / profile.standard_error) ** power
        marks.append(Line(whole, line, style.INITIAL, "linearised", dashed=True))
    places = _grid(profile, max(lowest, low), min(highest, high))
    curve = tau_curve(profile.points, places) ** power
    marks.append(Line(places, curve, style.FITTED, "profile", width=1.6))
    words = "tau" if power == 1 else "rise"
    for which, name, hollow in ((good, "profile", False), (~good, "upper limit", True)):
        if bool(which.any()):
            marks.append(
                Dots(
                    values[which], taus[which] ** power, style.FITTED, name, size=6.0,
                    hollow=hollow, hover=[(profile.name, "x"), (words, "y")],
                )
            )  # fmt: skip
    levels = [critical**2] if power == 2 else [-critical, critical]
    marks += [Level(v, style.THRESHOLD, "threshold", dashed=True) for v in levels]
    marks += [
        Level(end, style.END, "end of the interval", axis="x")
        for end in profile.interval
        if math.isfinite(end)
    ]
    across = with_unit(profile.name, unit_text(profile.unit))
    log = _is_log(profile, lowest, highest)
    label = "2 · rise of the cost / s²" if power == 2 else "tau"
    return Panel(
        Axis(lowest, highest, across, log=log, link=f"profile of {profile.name}"),
        Axis(bottom, top, label),
        marks,
        _HEIGHT,
    )


def _outside(
    profile: ParameterProfile, low: float, high: float, bottom: float, top: float
) -> list[Mark]:
    marks: list[Mark] = []
    for first, last in ((-math.inf, profile.bounds[0]), (profile.bounds[1], math.inf)):
        left, right = max(first, low), min(last, high)
        if left < right:
            ends = np.array([left, right])
            name = "outside of the bounds"
            marks.append(Band(ends, np.full(2, bottom), np.full(2, top), _OUTSIDE, name))
    return marks


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
    return profile.log and low > 0.0 and high > _WIDE * low


def _grid(profile: ParameterProfile, low: float, high: float) -> F64:
    """Return places for a smooth curve, shape (k,)."""
    if _is_log(profile, low, high):
        return np.geomspace(low, high, _SAMPLES)
    return np.linspace(low, high, _SAMPLES)


def region_chart(region: JointRegion) -> Chart:
    """Return the edge of the region, the linearised one, and the estimate."""
    ends = np.array([e.values for e in region.ends])
    reached = np.array([e.outcome == "reached" for e in region.ends])
    around = [*range(len(ends)), 0]
    # Between two directions without an edge nothing is drawn.
    edge = np.where(reached[:, np.newaxis], ends, np.nan)[around]
    marks: list[Mark] = []
    if region.linearised.size:
        first, second = region.linearised.T
        marks.append(_closed(first, second, style.INITIAL, "linearised", 1.2))
    marks.append(_closed(edge[:, 0], edge[:, 1], style.FITTED, "region", 1.8))
    hover = [(region.names[0], "x"), (region.names[1], "y")]
    for which, name, hollow in ((reached, "edge", False), (~reached, "no edge", True)):
        if which.any():
            x, y = ends[which].T
            marks.append(
                Dots(x.copy(), y.copy(), style.FITTED, name, 5.0, hollow=hollow, hover=hover)
            )
    estimate = np.array(region.estimate)
    marks.append(
        Dots(estimate[:1], estimate[1:], style.RESULT, "estimate", 9.0, "diamond", hover=hover)
    )
    x, y = (_region_axis(region, k, ends[:, k]) for k in range(2))
    words = f"Joint region of {region.names[0]} and {region.names[1]}"
    return Chart([Panel(x, y, marks, _REGION_HEIGHT)], words)


def _closed(x: F64, y: F64, color: str, name: str, width: float) -> Segments:
    """Return the segments of a closed curve; those with a missing end are omitted."""
    known = np.isfinite(x[:-1]) & np.isfinite(x[1:]) & np.isfinite(y[:-1]) & np.isfinite(y[1:])
    return Segments(x[:-1][known], y[:-1][known], x[1:][known], y[1:][known], color, name, width)


def _region_axis(region: JointRegion, k: int, ends: F64) -> Axis:
    values = np.append(ends, region.estimate[k])
    label = with_unit(region.names[k], unit_text(region.units[k]))
    log = bool(region.log[k] and values.min() > 0.0 and values.max() > _WIDE * values.min())
    return Axis.over(label, values, share=0.08, log=log)
