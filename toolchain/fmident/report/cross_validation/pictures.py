"""Pictures of a cross-validation: scores fold by fold, and how far the parameters move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmident.cross_validation.summary import Score, score_of
from fmident.report.plots import style
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.cross_validation import CrossValidation, ModelFolds

COLUMNS, _PANEL = 3, (3.3, 2.4)
_COLOURS = (style.FITTED, style.MEASURED, style.RESIDUAL, style.INITIAL)


_TITLES: dict[Score, str] = {
    "nrmse": "NRMSE of what was left out (less is better)",
    "log_likelihood": "log-likelihood per sample (more is better)",
}


def scores_of(result: CrossValidation) -> list[Score]:
    """Return the scores that are drawn, a panel each."""
    return ["nrmse"] if score_of(result) == "nrmse" else ["nrmse", "log_likelihood"]


def parameters_of(result: CrossValidation) -> list[str]:
    """Return the parameters that are drawn, a panel each."""
    if not result.folds:
        return []
    every = (e for m in result.models for e in m.full.estimates if e.searched)
    return list(dict.fromkeys(e.name for e in every))


def scores_figure(result: CrossValidation) -> Figure:
    """Return the NRMSE and the log-likelihood of each fold, a line for each model."""
    count = len(scores_of(result))
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(4.6 * count, 3.2), layout="constrained")
        panels = figure.subplots(1, count, squeeze=False).ravel()
        draw_scores(list(panels), result)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def draw_scores(panels: Sequence[Axes], result: CrossValidation) -> None:
    """Draw each of `scores_of`, fold by fold."""
    places = {f.name: k for k, f in enumerate(result.folds)}
    for axes, score in zip(panels, scores_of(result), strict=True):
        for model, colour in _coloured(result):
            folds = [f for f in model.folds if not f.failure]
            axes.plot(
                [places[f.fold.name] for f in folds],
                [getattr(f, score) for f in folds],
                "o-",
                color=colour,
                markersize=4.5,
                linewidth=1.0,
                label=model.name,
            )
        axes.set_title(_TITLES[score], fontsize=9.5)
        axes.set_xticks(range(len(places)), [*places], rotation=30, ha="right")


def parameters_figure(result: CrossValidation) -> Figure | None:
    """Return each parameter over the folds, beside the fit of all samples with its interval."""
    count = len(parameters_of(result))
    if not count:
        return None
    columns = min(count, COLUMNS)
    rows = math.ceil(count / columns)
    with mpl.rc_context(style.STYLE):
        size = (max(_PANEL[0] * columns, 5.0), _PANEL[1] * rows + 0.4)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in panels[count:]:
            axes.set_axis_off()
        handles = draw_parameters(list(panels[:count]), result)
        figure.legend([*handles.values()], [*handles], loc="outside upper center", ncols=4)
    return figure


def draw_parameters(panels: Sequence[Axes], result: CrossValidation) -> dict[str, Any]:
    """Draw each of `parameters_of` over the folds; return what a legend is to show, by model."""
    handles: dict[str, Any] = {}
    for axes, name in zip(panels, parameters_of(result), strict=True):
        for k, (model, colour) in enumerate(_coloured(result)):
            off = 0.14 * (k - 0.5 * (len(result.models) - 1))
            full = [e for e in model.full.estimates if e.name == name and e.searched]
            values = [(0, e.value, e.standard_error) for e in full] + [
                (j + 1, f.values[name], f.errors[name])
                for j, f in enumerate(model.folds)
                if name in f.values
            ]
            if not values:
                continue
            x, y, error = np.array(values, dtype=np.float64).T
            handles[model.name] = axes.errorbar(
                x + off, y, 1.96 * np.nan_to_num(error), fmt="o", color=colour, markersize=3.5,
                linewidth=1.0,
            )  # fmt: skip
            unit = unit_text(full[0].unit) if full else ""
            axes.set_ylabel(f"{name} ({unit})" if unit else name, parse_math=False)
        axes.axvline(0.5, color="#b6bec9", linewidth=0.8, linestyle=":")
        labels = ["all", *(f.name.removeprefix("block ") for f in result.folds)]
        axes.set_xticks(range(len(labels)), labels, fontsize=8)
    return handles


def _coloured(result: CrossValidation) -> list[tuple[ModelFolds, str]]:
    return [(m, _COLOURS[k % len(_COLOURS)]) for k, m in enumerate(result.models)]
