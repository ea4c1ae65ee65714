"""Pictures of results on axes of Matplotlib: what ``result.plot_fit()`` and its like draw.

Colours are those of the report. Without `ax` a figure of :mod:`matplotlib.pyplot` is made, which a
notebook shows by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from fmident.errors import Code, EstimationError, did_you_mean
from fmident.report.charts.search.iterations import searches
from fmident.report.numbers import interval, with_error
from fmident.report.plots import style
from fmident.report.plots.fits import draw_costs, draw_residual, draw_signals
from fmident.report.plots.profiles import Kind, draw_profile, legend_of
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, OutputFit, ParameterEstimate
    from fmident.profiles import ParameterProfile, ProfileResult

_WIDTH, _PANEL, _ROW = 9.0, 2.4, 0.42
_COLUMNS = 3
_OPEN = "#b93434"
_LEAST_REACH = 1e-9
"""Half-width of the axis of intervals that are all of no width, in relation to the estimate."""

Panels = npt.NDArray[np.object_]
"""Axes, shape (n,)."""


def plot_fit(
    result: EstimationResult, output: str | None, experiment: str | None, ax: Any
) -> Panels:
    """Draw measured, initial and fitted signals; see ``EstimationResult.plot_fit``."""
    fits = _chosen(result, output, experiment)
    panels = panels_of(len(fits), ax)
    for axes, fit in zip(panels, fits, strict=True):
        draw_signals(axes, fit)
        _title(axes, fit, fits)
        axes.set_xlabel("time (s)")
    if panels.size:
        panels[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.1)
    for axes, fit in list(zip(panels, fits, strict=True))[1:]:
        if any(e.times.size for e in fit.excluded):  # what the first panel's legend may not name
            marks = axes.get_lines()[-1:]
            axes.legend(
                handles=marks, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1
            )
    return panels


def plot_residuals(
    result: EstimationResult, output: str | None, experiment: str | None, ax: Any
) -> Panels:
    """Draw residuals over time; see ``EstimationResult.plot_residuals``."""
    fits = _chosen(result, output, experiment)
    panels = panels_of(len(fits), ax)
    for axes, fit in zip(panels, fits, strict=True):
        draw_residual(axes, fit)
        _title(axes, fit, fits)
        axes.set_xlabel("time (s)")
    return panels


def plot_intervals(result: EstimationResult, ax: Any) -> Axes:
    """Draw the intervals of all parameters; see ``EstimationResult.plot_intervals``."""
    shown = [e for e in result.rows if not (e.fixed or e.base)]
    (axes,) = panels_of(1, ax, height=1.0 + _ROW * len(shown))
    found: Axes = axes
    ends = [_relative(e) for e in shown]
    finite = [abs(x) for pair in ends for x in pair if math.isfinite(x)]
    reach = 1.15 * max([*finite, 100.0 * _LEAST_REACH])
    for row, (estimate, (low, high)) in enumerate(zip(shown, ends, strict=True)):
        if math.isinf(low) or math.isinf(high):
            found.hlines(row, -reach, reach, color=_OPEN, linestyle="--", linewidth=1.2)
        elif not math.isnan(low):
            found.hlines(row, low, high, color=style.FITTED, linewidth=3.0)
        found.plot(0.0, row, "o", color=style.FITTED, markersize=5.0)
        found.text(
            reach, row, f" {_interval_text(estimate)}", va="center", fontsize=8.5, parse_math=False
        )
    found.axvline(0.0, color=style.MEASURED, linewidth=0.8, zorder=0)
    found.set_yticks(range(len(shown)))
    found.set_yticklabels([_value_text(e) for e in shown], parse_math=False)
    found.set_ylim(len(shown) - 0.5, -0.5)
    found.set_xlim(-reach, reach)
    found.set_xlabel("95 % interval: deviation from the estimate (%)")
    return found


def plot_convergence(result: EstimationResult, ax: Any) -> Axes:
    """Draw the cost over the iterations; see ``EstimationResult.plot_convergence``."""
    lines = searches(result.history)
    if not lines:
        raise EstimationError(
            "the result has no iteration with a finite cost",
            hint="a result that is read from its folder has those of 'history.csv' there",
        )
    (axes,) = panels_of(1, ax, height=1.3 * _PANEL)
    found: Axes = axes
    draw_costs(found, lines)
    return found


def plot_profile(result: ProfileResult, name: str | None, kind: Kind, ax: Any) -> Panels:
    """Draw profiles; see ``ProfileResult.plot_profile``."""
    if kind not in ("tau", "rise"):
        raise EstimationError(f"the kind is '{kind}'", hint="give 'tau' or 'rise'")
    profiles: Sequence[ParameterProfile] = result.profiles
    if name is not None:
        profiles = [p for p in profiles if p.name == name]
        if not profiles:
            known = [p.name for p in result.profiles]
            raise unknown_name(f"there is no profile of '{name}'", name, known, "profile")
    panels = panels_of(len(profiles), ax, columns=_COLUMNS, height=1.2 * _PANEL)
    for axes, profile in zip(panels, profiles, strict=True):
        draw_profile(axes, profile, result, kind)
    handles, labels = legend_of(panels)
    if panels.size:
        panels[0].legend(
            handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize=8,
            borderaxespad=0.1,
        )  # fmt: skip
    return panels


def _chosen(
    result: EstimationResult, output: str | None, experiment: str | None
) -> list[OutputFit]:
    """Return the outputs that are asked for.

    Raises
    ------
    EstimationError
        There is none of these names, or no samples at all.
    """
    held_out = result.validation.fits if result.validation is not None else ()
    every = [*result.fits, *held_out]
    for name, asked, known in (
        ("experiment", experiment, [f.experiment for f in every]),
        ("output", output, [f.name for f in every]),
    ):
        if asked is not None and asked not in known:
            raise unknown_name(f"the result has no {name} '{asked}'", asked, known, name)
    # What was held out is not fitted: it is shown when asked for.
    candidates = result.fits if experiment is None else every
    fits = [
        f for f in candidates if output in (None, f.name) and experiment in (None, f.experiment)
    ]
    if not fits and output is not None and experiment is not None:
        known = [f.name for f in every if f.experiment == experiment]
        raise unknown_name(
            f"experiment '{experiment}' has no output '{output}'", output, known, "output"
        )
    if not any(f.times.size for f in fits):
        raise EstimationError(
            "the result has no samples",
            hint="a result that is read from its folder has those of 'fit.csv' there",
        )
    return fits


def unknown_name(message: str, name: str, known: Sequence[str], kind: str) -> EstimationError:
    """Return the error that refuses a name, with those near to it."""
    return EstimationError(
        message, hint=did_you_mean(name, known, kind=kind), code=Code.UNKNOWN_NAME
    )


def panels_of(count: int, ax: Any, *, columns: int = 1, height: float = _PANEL) -> Panels:
    """Return the axes that were given, or a new figure's.

    Raises
    ------
    EstimationError
        There are fewer or more than are drawn on.
    """
    if ax is not None:
        given = np.atleast_1d(np.array(ax, dtype=object)).ravel()
        if given.size != count:
            raise EstimationError(
                f"there are {given.size} axes for {count} picture" + ("s" if count != 1 else ""),
                hint="give one for each, or choose one output or parameter by its name",
            )
        return given
    import matplotlib.pyplot as plt  # chooses a window system, which pictures in files need not

    columns = max(min(count, columns), 1)
    rows = math.ceil(count / columns)
    with mpl.rc_context(style.STYLE):
        _, grid = plt.subplots(
            rows, columns, squeeze=False, layout="constrained", figsize=(_WIDTH, height * rows)
        )
        for axes in grid.ravel()[count:]:
            axes.set_axis_off()
    panels: Panels = grid.ravel()[:count]
    return panels


def _title(axes: Axes, fit: OutputFit, fits: Sequence[OutputFit]) -> None:
    if len({f.experiment for f in fits}) > 1:
        axes.set_title(fit.experiment, loc="left", fontsize=9, parse_math=False)


def _relative(estimate: ParameterEstimate) -> tuple[float, float]:
    """Return both ends as deviations in percent; NaN where there is no interval to draw."""
    low, high = estimate.interval_95
    if estimate.value == 0.0 and math.isfinite(low) and math.isfinite(high):
        return math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high)):
        return low, high
    size = abs(estimate.value)
    return 100.0 * (low - estimate.value) / size, 100.0 * (high - estimate.value) / size


def _value_text(estimate: ParameterEstimate) -> str:
    value, _ = with_error(estimate.value, estimate.standard_error)
    unit = unit_text(estimate.unit)
    return f"{estimate.name} = {value}" + (f" {unit}" if unit else "")


def _interval_text(estimate: ParameterEstimate) -> str:
    if math.isnan(estimate.interval_95[0]):
        return "at a bound: no interval" if estimate.at_bound else "no interval"
    if math.isinf(estimate.interval_95[0]) or math.isinf(estimate.interval_95[1]):
        return "not determined by the data"
    return interval(estimate.interval_95, estimate.standard_error)
