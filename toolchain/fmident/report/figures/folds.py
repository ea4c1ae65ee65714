"""Folds of a cross-validation: their scores, and how far the parameters move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.cross_validation.result import Score, score_of
from fmident.report.figures import style
from fmident.report.figures.chart import Axis, Chart, Dots, Level, Line, Mark, Panel, Segments
from fmident.report.figures.style import with_unit
from fmident.words import unit_text

if TYPE_CHECKING:
    from fmident.cross_validation import CrossValidation, ModelFolds

_HEIGHT = 240
_TITLES: dict[Score, str] = {
    "nrmse": "NRMSE of what was left out (less is better)",
    "log_likelihood": "log-likelihood per sample (more is better)",
}


def scores_chart(result: CrossValidation) -> Chart:
    """Return NRMSE and log-likelihood of each fold, a line for each model."""
    scores: list[Score] = ["nrmse"] if score_of(result) == "nrmse" else [*_TITLES]
    names = [f.name for f in result.folds]
    across = Axis(-0.5, len(names) - 0.5, ticks=[(float(k), n) for k, n in enumerate(names)])
    panels = []
    for score in scores:
        marks: list[Mark] = []
        for model, color in _colored(result):
            folds = [f for f in model.folds if not f.failure]
            x = np.array([names.index(f.fold.name) for f in folds], dtype=np.float64)
            y = np.array([getattr(f, score) for f in folds], dtype=np.float64)
            marks += [
                Line(x, y, color, model.name),
                Dots(x, y, color, model.name, hover=[(score, "y")]),
            ]
        panels.append(Panel(across, _axis(marks), marks, _HEIGHT, _TITLES[score]))
    return Chart(panels, "Scores fold by fold", side_by_side=True)


def parameters_chart(result: CrossValidation) -> Chart | None:
    """Return each parameter over the folds, beside the fit of all samples, with 95 % intervals.

    Returns
    -------
    Chart or None
        ``None`` without a parameter that was searched, or without folds.
    """
    searched = {e.name: e for m in result.models for e in m.full.estimates if e.searched}
    if not result.folds or not searched:
        return None
    labels = ["all", *(f.name.removeprefix("block ") for f in result.folds)]
    across = Axis(-0.5, len(labels) - 0.5, ticks=[(float(k), n) for k, n in enumerate(labels)])
    panels = []
    for name, parameter in searched.items():
        marks: list[Mark] = [Level(0.5, "#b6bec9", axis="x", dashed=True)]
        for k, (model, color) in enumerate(_colored(result)):
            full = [e for e in model.full.estimates if e.name == name and e.searched]
            rows = [(0, e.value, e.standard_error) for e in full] + [
                (j + 1, f.values[name], f.errors[name])
                for j, f in enumerate(model.folds)
                if name in f.values
            ]
            if not rows:
                continue
            x, y, error = np.array(rows, dtype=np.float64).T
            x = x + 0.14 * (k - 0.5 * (len(result.models) - 1))
            half = 1.96 * np.nan_to_num(error)
            marks += [
                Segments(x, y - half, x, y + half, color, model.name, 1.4),
                Dots(x, y, color, model.name, 5.0, hover=[(name, "y")]),
            ]
        down = _axis(marks, with_unit(name, unit_text(parameter.unit)))
        panels.append(Panel(across, down, marks, _HEIGHT))
    return Chart(panels, "Parameters fold by fold", side_by_side=True)


def _axis(marks: list[Mark], label: str = "") -> Axis:
    dots = [mark.y for mark in marks if isinstance(mark, Dots)]
    ends = [y for mark in marks if isinstance(mark, Segments) for y in (mark.y0, mark.y1)]
    return Axis.over(label, *dots, *ends, share=0.08)


def _colored(result: CrossValidation) -> list[tuple[ModelFolds, str]]:
    return [(m, style.SERIES[k % len(style.SERIES)]) for k, m in enumerate(result.models)]
