"""Figures of results on axes of Matplotlib: what ``result.plot_fit()`` and its like draw.

Without `ax` a figure of :mod:`matplotlib.pyplot` is made, which a notebook shows by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from fmident.errors import EstimationError, unknown_name
from fmident.report.figures.chart import Chart, Panel
from fmident.report.figures.drawing import STYLE, corner_size, draw, legend_of
from fmident.report.figures.draws import (
    draws_corner,
    replicates_chart,
    replicates_corner,
    trace_chart,
)
from fmident.report.figures.fits import band_chart, fit_chart
from fmident.report.figures.folds import parameters_chart, scores_chart
from fmident.report.figures.profiles import Kind, profile_panel
from fmident.report.figures.search import cost_panel, searches
from fmident.report.figures.uncertainty import intervals_panel
from fmident.words import interval, percent_text, unit_text, with_error

if TYPE_CHECKING:
    from fmident.cross_validation import CrossValidation
    from fmident.estimation.comparisons import OutputFit
    from fmident.estimation.result import EstimationResult, ParameterEstimate
    from fmident.prediction import OutputBand
    from fmident.profiles import ProfileResult
    from fmident.resampling import BootstrapResult

_WIDTH, _PANEL, _ROW = 9.0, 2.4, 0.42
_COLUMNS = 3

Panels = npt.NDArray[np.object_]
"""Axes, shape (n,)."""


def plot_fit(
    result: EstimationResult, output: str | None, experiment: str | None, ax: Any
) -> Panels:
    """Plot measured, initial and fitted signals; see ``EstimationResult.plot_fit``."""
    return _over_time(_chosen(result, output, experiment), 0, ax)


def plot_residuals(
    result: EstimationResult, output: str | None, experiment: str | None, ax: Any
) -> Panels:
    """Plot residuals over time; see ``EstimationResult.plot_residuals``."""
    return _over_time(_chosen(result, output, experiment), 1, ax)


def _over_time(fits: Sequence[OutputFit], which: int, ax: Any) -> Panels:
    """Draw one panel of the chart of each fit: 0 is the signals, 1 the residuals."""
    return _plotted(_named([(f.experiment, fit_chart(f), which) for f in fits]), ax)


def _named(charts: Sequence[tuple[str, Chart, int]]) -> list[Panel]:
    """Return one panel of each chart over the time; of several experiments with their names."""
    several = len({experiment for experiment, _, _ in charts}) > 1
    return [
        replace(chart.panels[which], x=chart.panels[-1].x, title=experiment if several else "")
        for experiment, chart, which in charts
    ]


def plot_intervals(result: EstimationResult, ax: Any) -> Axes:
    """Plot the intervals of all parameters; see ``EstimationResult.plot_intervals``."""
    estimates = [e for e in result.rows if not (e.fixed or e.base)]
    panel = intervals_panel(estimates, [_value_text(e) for e in estimates])
    (axes,) = _plotted([panel], ax, height=1.0 + _ROW * len(estimates), legend=False)
    one: Axes = axes
    for (row, _), estimate in zip(panel.y.ticks, estimates, strict=True):
        text = f" {_interval_text(estimate)}"
        one.text(panel.x.high, row, text, va="center", fontsize=8.5, parse_math=False)
    return one


def plot_convergence(result: EstimationResult, ax: Any) -> Axes:
    """Plot the cost over the iterations; see ``EstimationResult.plot_convergence``."""
    lines = searches(result.history)
    if not lines:
        raise EstimationError(
            "the result has no iteration with a finite cost",
            hint="a result that is read from its folder has those of 'history.csv' there",
        )
    (axes,) = _plotted([cost_panel(lines)], ax, height=1.3 * _PANEL, legend=len(lines) > 1)
    one: Axes = axes
    return one


def plot_profile(result: ProfileResult, name: str | None, kind: Kind, ax: Any) -> Panels:
    """Plot profiles; see ``ProfileResult.plot_profile``."""
    if kind not in ("tau", "rise"):
        raise EstimationError(f"the kind is '{kind}'", hint="give 'tau' or 'rise'")
    names = [p.name for p in result.profiles]
    panels = _one_of(name, names, [profile_panel(p, result, kind) for p in result.profiles])
    return _plotted(panels, ax, columns=_COLUMNS, height=1.2 * _PANEL)


def plot_draws(result: EstimationResult, name: str | None, ax: Any) -> Panels:
    """Plot the traces of some chains; see ``EstimationResult.plot_draws``."""
    chart = trace_chart(_with_draws(result))
    assert chart is not None
    names = [e.name for e in result.estimates if e.searched]
    return _plotted(_one_of(name, names, chart.panels), ax, height=1.6)


def plot_draws_corner(result: EstimationResult, ax: Any) -> Panels:
    """Plot the draws in pairs; see ``EstimationResult.plot_corner``."""
    return _corner(draws_corner(_with_draws(result)), ax)


def plot_replicates(result: BootstrapResult, name: str | None, ax: Any) -> Panels:
    """Plot histograms of the replicates; see ``BootstrapResult.plot_replicates``."""
    panels = _one_of(name, result.names, replicates_chart(result).panels)
    return _plotted(panels, ax, columns=_COLUMNS, height=3.0)


def plot_replicates_corner(result: BootstrapResult, ax: Any) -> Panels:
    """Plot the replicates in pairs; see ``BootstrapResult.plot_corner``."""
    return _corner(replicates_corner(result), ax)


def plot_bands(
    bands: Sequence[OutputBand], level: float, output: str | None, experiment: str | None, ax: Any
) -> Panels:
    """Plot outputs with their bands; see ``Prediction.plot_bands``.

    Raises `EstimationError` if there are no such outputs or no bands.
    """
    _check_names(bands, output, experiment)
    chosen = [b for b in bands if output in (None, b.name) and experiment in (None, b.experiment)]
    if not chosen:
        pair = f" of output '{output}' of experiment '{experiment}'" if output else ""
        raise EstimationError(
            f"the result has no bands{pair}", hint="'table' of the result says what it has"
        )
    charts = [(b.experiment, band_chart(b, percent_text(level)), 0) for b in chosen]
    return _plotted(_named(charts), ax, height=3.0)


def plot_scores(result: CrossValidation, ax: Any) -> Panels:
    """Plot the scores over the folds; see ``CrossValidation.plot_scores``."""
    panels = scores_chart(result).panels
    return _plotted(panels, ax, columns=len(panels), height=3.0)


def plot_parameters(result: CrossValidation, ax: Any) -> Panels:
    """Plot the parameters over the folds; see ``CrossValidation.plot_parameters``.

    Raises `EstimationError` if there are none.
    """
    chart = parameters_chart(result)
    if chart is None:
        raise EstimationError("the result has no parameter that was searched, or no fold")
    return _plotted(chart.panels, ax, columns=_COLUMNS, height=3.0)


def _plotted(
    panels: Sequence[Panel],
    ax: Any,
    *,
    columns: int = 1,
    height: float = _PANEL,
    legend: bool = True,
) -> Panels:
    axes = _axes(len(panels), ax, columns=columns, height=height)
    draw([*axes], Chart(panels, ""))
    handles = legend_of(axes)
    if legend and handles:
        with mpl.rc_context({"text.parse_math": False}):
            axes[0].legend(
                [*handles.values()], [*handles], loc="lower right", bbox_to_anchor=(1.0, 1.0),
                ncols=len(handles) if columns == 1 else 2, fontsize=8, borderaxespad=0.1,
                frameon=False, columnspacing=1.0, handlelength=1.4,
            )  # fmt: skip
    return axes


def _corner(chart: Chart, ax: Any) -> Panels:
    count = corner_size(chart)
    axes = _axes(count * count, ax, columns=count, height=9.0 / count)
    draw([*axes], chart)
    return axes


def _axes(count: int, ax: Any, *, columns: int, height: float) -> Panels:
    """Return the given axes, or a new figure's; raises `EstimationError` for a wrong number."""
    if ax is not None:
        given = np.atleast_1d(np.array(ax, dtype=object)).ravel()
        if given.size != count:
            raise EstimationError(
                f"there are {given.size} axes for {count} picture" + ("s" if count != 1 else ""),
                hint="give one for each, or choose one output or parameter by its name",
            )
        return given
    import matplotlib.pyplot as plt  # chooses a window system, which files do not need

    columns = max(min(count, columns), 1)
    rows = math.ceil(count / columns)
    with mpl.rc_context(STYLE):
        _, grid = plt.subplots(
            rows, columns, squeeze=False, layout="constrained", figsize=(_WIDTH, height * rows)
        )
        for axes in grid.ravel()[count:]:
            axes.set_axis_off()
    panels: Panels = grid.ravel()[:count]
    return panels


def _chosen(
    result: EstimationResult, output: str | None, experiment: str | None
) -> list[OutputFit]:
    held_out = result.validation.fits if result.validation is not None else ()
    every = [*result.fits, *held_out]
    _check_names(every, output, experiment)
    # What was held out is not fitted: it is shown when asked for.
    candidates = result.fits if experiment is None else every
    fits = [
        f for f in candidates if output in (None, f.name) and experiment in (None, f.experiment)
    ]
    if not fits and output is not None and experiment is not None:
        known = [f.name for f in every if f.experiment == experiment]
        raise _unknown_name(
            f"experiment '{experiment}' has no output '{output}'", output, known, "output"
        )
    if not any(f.times.size for f in fits):
        raise EstimationError(
            "the result has no samples",
            hint="a result that is read from its folder has those of 'fit.csv' there",
        )
    return fits


def _check_names(
    every: Sequence[OutputFit | OutputBand], output: str | None, experiment: str | None
) -> None:
    for name, asked, known in (
        ("experiment", experiment, [f.experiment for f in every]),
        ("output", output, [f.name for f in every]),
    ):
        if asked is not None and asked not in known:
            raise _unknown_name(f"the result has no {name} '{asked}'", asked, known, name)


def _unknown_name(message: str, name: str, known: Sequence[str], kind: str) -> EstimationError:
    return EstimationError(message, **unknown_name(name, known, kind))


def _one_of(name: str | None, names: Sequence[str], panels: Sequence[Panel]) -> Sequence[Panel]:
    if name is None:
        return panels
    if name not in names:
        raise _unknown_name(f"the result has no parameter '{name}'", name, names, "parameter")
    return [panels[[*names].index(name)]]


def _with_draws(result: EstimationResult) -> EstimationResult:
    """Return the result; raises `EstimationError` if it has no draws."""
    if result.draws is None:
        raise EstimationError(
            f"the estimator '{result.estimator}' does not draw",
            hint="estimate with --set estimator.name=posterior",
        )
    if not result.draws.values.size:
        raise EstimationError(
            "the result has no draws",
            hint="a result that is read from its folder has those of 'draws.csv' there",
        )
    return result


def _value_text(estimate: ParameterEstimate) -> str:
    value, _ = with_error(estimate.value, estimate.standard_error)
    return f"{estimate.name} = {value} {unit_text(estimate.unit)}".rstrip()


def _interval_text(estimate: ParameterEstimate) -> str:
    if math.isnan(estimate.interval_95[0]):
        return "at a bound: no interval" if estimate.at_bound else "no interval"
    if estimate.is_open:
        return "not determined by the data"
    return interval(estimate.interval_95, estimate.standard_error)
