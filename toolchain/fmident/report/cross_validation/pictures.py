"""Pictures of a cross-validation: scores fold by fold, and how far the parameters move."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fmident.cross_validation.summary import score_of
from fmident.report.plots import style
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.cross_validation import CrossValidation, ModelFolds

_COLUMNS, _PANEL = 3, (3.3, 2.4)
_COLOURS = (style.FITTED, style.MEASURED, style.RESIDUAL, style.INITIAL)


def scores_figure(result: CrossValidation) -> Figure:
    """Return the NRMSE and the log-likelihood of each fold, a line for each model."""
    shown = ["nrmse"] if score_of(result) == "nrmse" else ["nrmse", "log_likelihood"]
    titles = {
        "nrmse": "NRMSE of what was left out (less is better)",
        "log_likelihood": "log-likelihood per sample (more is better)",
    }
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(4.6 * len(shown), 3.2), layout="constrained")
        panels = figure.subplots(1, len(shown), squeeze=False).ravel()
        places = {f.name: k for k, f in enumerate(result.folds)}
        for axes, score in zip(panels, shown, strict=True):
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
            axes.set_title(titles[score], fontsize=9.5)
            axes.set_xticks(range(len(places)), [*places], rotation=30, ha="right")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def parameters_figure(result: CrossValidation) -> Figure | None:
    """Return each parameter over the folds, beside the fit of all samples with its interval."""
    names = list(dict.fromkeys(e.name for m in result.models for e in m.full.estimates
                               if e.searched))  # fmt: skip
    if not names or not result.folds:
        return None
    columns = min(len(names), _COLUMNS)
    rows = math.ceil(len(names) / columns)
    with mpl.rc_context(style.STYLE):
        size = (max(_PANEL[0] * columns, 5.0), _PANEL[1] * rows + 0.4)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in panels[len(names) :]:
            axes.set_axis_off()
        handles = {}
        for axes, name in zip(panels, names, strict=False):
            for k, (model, colour) in enumerate(_coloured(result)):
                off = 0.14 * (k - 0.5 * (len(result.models) - 1))
                values = [(j + 1, f.values[name], f.errors[name])
                          for j, f in enumerate(model.folds) if name in f.values]  # fmt: skip
                full = [e for e in model.full.estimates if e.name == name and e.searched]
                values = [(0, e.value, e.standard_error) for e in full] + values
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
        figure.legend([*handles.values()], [*handles], loc="outside upper center", ncols=4)
    return figure


def _coloured(result: CrossValidation) -> list[tuple[ModelFolds, str]]:
    return [(m, _COLOURS[k % len(_COLOURS)]) for k, m in enumerate(result.models)]
