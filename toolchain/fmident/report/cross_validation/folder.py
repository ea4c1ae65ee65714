"""The result folder of a cross-validation: JSON, tables, pictures and a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident._version import __version__
from fmident.cross_validation import parameter_spreads, summarised, verdict
from fmident.report.contents import Contents, Said
from fmident.report.cross_validation.text import (
    MODEL_HEADER,
    PARAMETER_HEADER,
    effort,
    explanations,
    headline,
    model_rows,
    parameter_rows,
    table_texts,
    what_was_left_out,
)
from fmident.report.figures.files import NamedChart, write_chart
from fmident.report.figures.folds import parameters_chart, scores_chart
from fmident.report.folder import write_problem_as
from fmident.report.result_json import as_json
from fmident.report.sections.content import Section, Table, Text
from fmident.report.sections.run_facts import Entry
from fmident.report.stored.cross_validation import (
    FILE_NAME,
    PARAMETERS,
    PREDICTIONS,
    SCORES,
    read_cross_validation,
)

if TYPE_CHECKING:
    import pandas as pd

    from fmident.cross_validation import CrossValidation, FoldResult
    from fmident.problem.model import Problem
    from fmident.report.figures.chart import Chart


SCORES_PICTURE, PARAMETERS_PICTURE = "scores.png", "parameters.png"


class CrossValidationContents(Contents["CrossValidation"]):
    """A cross-validation."""

    marker, page = FILE_NAME, "cross-validation.html"
    kicker, command = "Cross-validation", "cross-validate"

    def said(self, result: CrossValidation) -> Said:
        """Return the cross-validation in words."""
        reasons = explanations(result)
        good = result.status == "complete" and not result.notes and not reasons
        return Said(headline(result), "good" if good else "doubtful", reasons, effort(result))

    def blocks(self, result: CrossValidation, width: int) -> Sequence[str]:
        """Return models and parameters."""
        return table_texts(result, width)

    def json(self, result: CrossValidation) -> Mapping[str, Any]:
        """Return what ``cross-validation.json`` holds."""
        return {
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
                    "all_samples": as_json(m.full, __version__),
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
        }

    def tables(self, result: CrossValidation) -> Mapping[str, tuple[pd.DataFrame, str]]:
        """Return scores, parameters and predictions."""
        form = "%.10g"
        return {
            SCORES: (result.scores, form),
            PARAMETERS: (result.parameters, form),
            PREDICTIONS: (result.predictions, form),
        }

    def draw(self, result: CrossValidation, folder: Path) -> None:
        """Write scores and parameters, fold by fold."""
        write_chart(scores_chart(result), folder / SCORES_PICTURE)
        if (parameters := parameters_chart(result)) is not None:
            write_chart(parameters, folder / PARAMETERS_PICTURE)

    def charts(self, result: CrossValidation) -> Iterator[NamedChart]:
        """Yield scores and parameters, fold by fold."""
        yield "scores", scores_chart(result)
        yield "parameters", parameters_chart(result)

    def sections(self, result: CrossValidation) -> Sequence[str]:
        """Return models and parameters, with their charts."""
        return _sections(result, scores_chart(result), parameters_chart(result))

    def shown(self, result: CrossValidation) -> Sequence[str]:
        """Return models and parameters."""
        return _sections(result, None, None)

    def facts(self, result: CrossValidation) -> Sequence[str]:
        """Return what was left out."""
        return [what_was_left_out(result)]

    def entries(self, result: CrossValidation) -> Sequence[Entry]:
        """Return how the run went."""
        return [Entry.of("Status", result.status), Entry.of("Effort", effort(result))]

    def title(self, result: CrossValidation) -> str:
        """Return the names of the models."""
        return " · ".join(m.name for m in result.models)

    def read(self, folder: Path) -> CrossValidation:
        """Return the cross-validation that a folder holds."""
        return read_cross_validation(folder)


CROSS_VALIDATION = CrossValidationContents()


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
    first, *others = problems.values()
    for number, problem in enumerate(others, 2):
        write_problem_as(problem, folder / f"problem-{number}.toml")
    CROSS_VALIDATION.write(result, first, folder)


def _fold_json(fold: FoldResult) -> dict[str, Any]:
    return {
        "name": fold.fold.name,
        "status": fold.status,
        "failure": fold.failure,
        "samples": fold.samples,
        "nrmse": fold.nrmse,
        "log_likelihood_per_sample": fold.log_likelihood,
        "parameters": dict(fold.values),
        "standard_errors": dict(fold.errors),
        "outputs": [
            {
                "experiment": s.experiment,
                "output": s.output,
                "unit": s.unit,
                "samples": s.times.size,
                "rms": s.rms,
                "nrmse": s.nrmse,
                "spread": s.spread,
                "log_likelihood": s.log_likelihood,
            }
            for s in fold.scores
        ],
    }


def _sections(result: CrossValidation, scores: Chart | None, parameters: Chart | None) -> list[str]:
    return [
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
                *([scores] if scores else []),
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
                *([parameters] if parameters else []),
            ],
        ).html(),
    ]
