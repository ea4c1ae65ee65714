"""Pictures of draws, replicates, bands and folds on axes of Matplotlib, for methods of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist

from fmident.arrays import F64
from fmident.errors import EstimationError
from fmident.report.charts.chart import Panel
from fmident.report.charts.ranges import with_unit
from fmident.report.charts.signals.bands import band_chart
from fmident.report.charts.uncertainty.bootstrap import replicates_chart
from fmident.report.charts.uncertainty.draws import trace_chart
from fmident.report.cross_validation.pictures import (
    COLUMNS,
    draw_parameters,
    draw_scores,
    parameters_of,
    scores_of,
)
from fmident.report.plots.corner import CORNER_STYLE, MOST, corner_on
from fmident.report.plots.results import Panels, panels_of, unknown_name
from fmident.report.profile_text import percent_text
from fmident.report.static.drawing import draw_panel
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.cross_validation import CrossValidation
    from fmident.estimation.result import EstimationResult
    from fmident.prediction import OutputBand
    from fmident.resampling import BootstrapResult

_NARROW, _WIDE = 1.6, 3.0


def plot_draws(result: EstimationResult, name: str | None, ax: Any) -> Panels:
    """Draw the course of some chains; see ``EstimationResult.plot_draws``."""
    _drawn(result)
    chart = trace_chart(result)
    assert chart is not None
    return _charted(_one_of(name, _searched(result), chart.panels), ax, 1, _NARROW)


def plot_draws_corner(result: EstimationResult, ax: Any) -> Panels:
    """Draw the draws in pairs; see ``EstimationResult.plot_corner``."""
    values = _drawn(result)
    found = [e for e in result.estimates if e.searched]
    labels = [with_unit(e.name, unit_text(e.unit)) for e in found]
    flat = values.reshape(-1, values.shape[-1])
    return _corner(labels, flat, [e.value for e in found], ax)


def plot_replicates(result: BootstrapResult, name: str | None, ax: Any) -> Panels:
    """Draw histograms of the replicates; see ``BootstrapResult.plot_replicates``."""
    panels = _one_of(name, result.names, replicates_chart(result).panels)
    return _charted(panels, ax, COLUMNS, _WIDE)


def plot_replicates_corner(result: BootstrapResult, ax: Any) -> Panels:
    """Draw the replicates in pairs; see ``BootstrapResult.plot_corner``."""
    labels = [with_unit(p.name, unit_text(p.unit)) for p in result.parameters]
    return _corner(labels, result.replicates, [p.value for p in result.parameters], ax)


def plot_bands(
    bands: Sequence[OutputBand], level: float, output: str | None, experiment: str | None, ax: Any
) -> Panels:
    """Draw outputs with their bands; see ``Prediction.plot_bands``.

    Raises
    ------
    fmident.errors.EstimationError
        There is nothing of these names, or no band at all.
    """
    for kind, asked, known in (
        ("experiment", experiment, [b.experiment for b in bands]),
        ("output", output, [b.name for b in bands]),
    ):
        if asked is not None and asked not in known:
            raise unknown_name(f"the result has no {kind} '{asked}'", asked, known, kind)
    chosen = [b for b in bands if output in (None, b.name) and experiment in (None, b.experiment)]
    if not chosen:
        pair = f" of output '{output}' of experiment '{experiment}'" if output else ""
        raise EstimationError(
            f"the result has no bands{pair}", hint="'table' of the result says what it has"
        )
    level_text = percent_text(level)
    panels = [band_chart(band, level_text).panels[0] for band in chosen]
    axes = _charted(panels, ax, 1, _WIDE)
    for one, band in zip(axes, chosen, strict=True):
        one.set_xlabel("time (s)")
        if len({b.experiment for b in chosen}) > 1:
            one.set_title(band.experiment, loc="left", fontsize=9, parse_math=False)
    return axes


def plot_scores(result: CrossValidation, ax: Any) -> Panels:
    """Draw the scores fold by fold; see ``CrossValidation.plot_scores``."""
    count = len(scores_of(result))
    panels = panels_of(count, ax, columns=count, height=_WIDE)
    with mpl.rc_context({"text.parse_math": False}):
        draw_scores(list(panels), result)
        panels[0].legend(fontsize=8, frameon=False)
    return panels


def plot_parameters(result: CrossValidation, ax: Any) -> Panels:
    """Draw the parameters fold by fold; see ``CrossValidation.plot_parameters``.

    Raises
    ------
    fmident.errors.EstimationError
        There is none.
    """
    count = len(parameters_of(result))
    if not count:
        raise EstimationError("the result has no parameter that was searched, or no fold")
    panels = panels_of(count, ax, columns=COLUMNS, height=_WIDE)
    handles = draw_parameters(list(panels), result)
    panels[0].legend([*handles.values()], [*handles], fontsize=8, frameon=False)
    return panels


def _charted(panels: Sequence[Panel], ax: Any, columns: int, height: float) -> Panels:
    """Draw panels of charts, with one legend in the first."""
    axes = panels_of(len(panels), ax, columns=columns, height=height)
    handles: dict[str, Artist] = {}
    with mpl.rc_context({"text.parse_math": False}):
        for one, panel in zip(axes, panels, strict=True):
            draw_panel(one, panel, handles)
        if handles:
            axes[0].legend(
                [*handles.values()], [*handles], loc="lower left", bbox_to_anchor=(0.0, 1.0),
                ncols=len(handles) if columns == 1 else 2, fontsize=8, borderaxespad=0.1,
                frameon=False, columnspacing=1.0, handlelength=1.2,
            )  # fmt: skip
    return axes


def _corner(labels: Sequence[str], draws: F64, estimate: Sequence[float], ax: Any) -> Panels:
    count = min(len(labels), MOST)
    with mpl.rc_context(CORNER_STYLE):
        panels = panels_of(count * count, ax, columns=count, height=9.0 / count)
        corner_on(panels.reshape(count, count), labels, draws, estimate)
    return panels


def _one_of(name: str | None, names: Sequence[str], panels: Sequence[Panel]) -> Sequence[Panel]:
    """Return the panel of one parameter, or all."""
    if name is None:
        return panels
    if name not in names:
        raise unknown_name(f"no parameter '{name}' was searched", name, names, "parameter")
    return [panels[[*names].index(name)]]


def _searched(result: EstimationResult) -> list[str]:
    return [e.name for e in result.estimates if e.searched]


def _drawn(result: EstimationResult) -> F64:
    """Return the draws, shape (chains, draws, n).

    Raises
    ------
    fmident.errors.EstimationError
        There are none.
    """
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
    values: F64 = np.asarray(result.draws.values)
    return values
