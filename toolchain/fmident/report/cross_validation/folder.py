"""The result folder of a cross-validation: JSON, tables, pictures and a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident._version import __version__
from fmident.cross_validation import parameter_spreads, summarised, verdict
from fmident.report.cross_validation.pictures import parameters_figure, scores_figure
from fmident.report.cross_validation.text import (
    MODEL_HEADER,
    PARAMETER_HEADER,
    effort,
    explanations,
    headline,
    model_rows,
    parameter_rows,
    what_was_left_out,
)
from fmident.report.folder import write_problem_as
from fmident.report.plots import style
from fmident.report.result_json import plain_json
from fmident.report.sections.content import Figure, Section, Table, Text
from fmident.report.sections.html import document
from fmident.report.sections.run_facts import Entry, run_section
from fmident.report.sections.verdict import verdict_section

if TYPE_CHECKING:
    from fmident.cross_validation import CrossValidation, FoldResult
    from fmident.problem.model import Problem

FILE_NAME, PAGE = "cross-validation.json", "cross-validation.html"
SCORES, PARAMETERS, PREDICTIONS = "scores.csv", "parameters.csv", "predictions.csv"
SCORES_PICTURE, PARAMETERS_PICTURE = "scores.png", "parameters.png"


def write_cross_validation(
    result: CrossValidation, problems: Mapping[str, Problem], folder: Path
) -> None:
    """Write the files of a result.

    Parameters
    ----------
    result
        The cross-validation.
    problems
        By the names of the models. The file of the first is there as ``problem.toml``; those of the
        others are written as ``problem-2.toml`` and so on.
    folder
        Where.

    Raises
    ------
    OSError
        The disk is full.
    """
    for number, problem in enumerate([*problems.values()][1:], 2):
        write_problem_as(problem, folder / f"problem-{number}.toml")
    text = json.dumps(cross_validation_json(result, __version__), indent=2, allow_nan=False)
    (folder / FILE_NAME).write_text(text + "\n", encoding="utf-8")
    for name, table in (
        (SCORES, result.scores),
        (PARAMETERS, result.parameters),
        (PREDICTIONS, result.predictions),
    ):
        table.to_csv(folder / name, index=False, float_format="%.10g")
    style.write(scores_figure(result), folder / SCORES_PICTURE)
    figure = parameters_figure(result)
    if figure is not None:
        style.write(figure, folder / PARAMETERS_PICTURE)
    (folder / PAGE).write_text(render(result, __version__), encoding="utf-8")


def cross_validation_json(result: CrossValidation, version: str) -> dict[str, Any]:
    """Return the content of ``cross-validation.json``: JSON's own types, no NaN, no infinity."""
    content = {
        "status": result.status,
        "by": result.way,
        "gap_s": result.gap,
        "folds": [
            {"name": f.name, "left_out_s": {n: list(span) for n, span in f.spans.items()}}
            for f in result.folds
        ],
        "verdict": verdict(result),
        "models": {
            s.name: {
                "searched": s.searched,
                "nrmse": s.nrmse,
                "nrmse_standard_error": s.nrmse_error,
                "log_likelihood_per_sample": s.log_likelihood,
                "log_likelihood_standard_error": s.log_likelihood_error,
                "worse_than_the_best": s.worse,
                "worse_standard_error": s.worse_error,
                "cost_of_all_samples": m.full.cost_final,
                "parameters": {
                    p.name: {
                        "value": p.value,
                        "unit": p.unit,
                        "standard_error": p.error,
                        "lowest": p.low,
                        "highest": p.high,
                        "jackknife_standard_error": p.jackknife,
                    }
                    for p in parameter_spreads(m)
                },
                "folds": [_fold_json(f) for f in m.folds],
            }
            for s, m in zip(summarised(result), result.models, strict=True)
        },
        "simulations": result.simulations,
        "wall_time_s": result.seconds,
        "notes": list(result.notes),
        "fmident": version,
    }
    found: dict[str, Any] = plain_json(content)
    return found


def _fold_json(fold: FoldResult) -> dict[str, Any]:
    return {
        "name": fold.fold.name,
        "status": fold.status,
        "failure": fold.failure,
        "samples": fold.samples,
        "nrmse": fold.nrmse,
        "log_likelihood_per_sample": fold.log_likelihood,
        "parameters": dict(fold.values),
        "outputs": [
            {
                "experiment": s.experiment,
                "output": s.output,
                "unit": s.unit,
                "samples": s.times.size,
                "rms": s.rms,
                "nrmse": s.nrmse,
                "log_likelihood": s.log_likelihood,
            }
            for s in fold.scores
        ],
    }


def render(result: CrossValidation, version: str) -> str:
    """Return the page, which needs nothing beside it."""
    grade = "good" if result.status == "complete" and not result.notes else "doubtful"
    figure = parameters_figure(result)
    moved = [] if figure is None else [Figure(style.svg_of(figure, "parameters"))]
    sections = [
        Section(
            "Models",
            [
                Table(MODEL_HEADER, model_rows(result)),
                Text(
                    "NRMSE: root mean square of the prediction error over the standard deviation of"
                    " the measured values. Log-likelihood: of the predicted samples, taken for"
                    " independent. Means over the folds with their standard errors; the difference"
                    " to the best model is taken fold by fold."
                ),
                Figure(style.svg_of(scores_figure(result), "scores"), "Fold by fold."),
            ],
        ).html(),
        Section(
            "Parameters",
            [
                Table(PARAMETER_HEADER, parameter_rows(result)),
                Text(
                    "The jackknife's standard error says how far the parameter moves between folds;"
                    " it needs no model of the noise."
                ),
                *moved,
            ],
        ).html(),
    ]
    names = " · ".join(m.name for m in result.models)
    return document(
        kicker="Cross-validation",
        title=names,
        headline=headline(result),
        subtitle=what_was_left_out(result),
        sections=[
            verdict_section(grade, headline(result), explanations(result), result.notes),
            *sections,
            run_section(
                [
                    Entry.of("Status", result.status),
                    Entry.of("Effort", effort(result)),
                    Entry.of("fmident", version),
                ]
            ),
        ],
    )
