"""A cross-validation: its result folder, JSON file, tables, pictures and page, and its text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident._version import __version__
from fmident.cross_validation import (
    CrossValidation,
    Fold,
    FoldResult,
    ModelFolds,
    parameter_spreads,
    summarised,
    verdict,
)
from fmident.cross_validation.result import OutputScore
from fmident.cross_validation.summary import ModelSummary, ParameterSpread
from fmident.errors import Code, EstimationError
from fmident.report.codec import (
    LAYOUTS,
    Form,
    Json,
    Layout,
    checked,
    dump,
    load,
    read_file,
    written_by,
)
from fmident.report.contents import Contents, Said
from fmident.report.figures.files import NamedChart, write_chart
from fmident.report.figures.folds import parameters_chart, scores_chart
from fmident.report.folder import write_problem_as
from fmident.report.result_json import as_json, result_of
from fmident.report.sections.estimate import Entry
from fmident.report.sections.html import Section, Table, Text
from fmident.report.tables import column, whole_table
from fmident.report.terminal import Alignment, narrow_table, unit_text
from fmident.words import duration, plain, with_error

if TYPE_CHECKING:
    import pandas as pd

    from fmident.problem.model import Problem
    from fmident.report.figures.chart import Chart


SCORES_PICTURE, PARAMETERS_PICTURE = "scores.png", "parameters.png"


FILE_NAME = "cross-validation.json"
SCORES, PARAMETERS, PREDICTIONS = "scores.csv", "parameters.csv", "predictions.csv"
_COMMAND = "cross-validate"
_KEYS = ["model", "fold", "experiment", "output"]
_NOTHING = np.empty(0)

_Rows = Mapping[tuple[str, ...], "pd.DataFrame"]

LAYOUTS.update(
    {
        CrossValidation: Layout(
            keys={"way": "by", "gap": "gap_s", "seconds": "wall_time_s"},
            by_name={"models": "name"},
        ),
        Fold: Layout(keys={"spans": "left_out_s"}),
        ModelFolds: Layout(
            keys={"full": "all_samples"},
            forms={"full": Form(lambda full: as_json(full, __version__), result_of)},
            computed={
                "cost_of_all_samples": lambda m: m.full.cost_final,
                "parameters": lambda m: {p.name: p for p in parameter_spreads(m)},
            },
        ),
        ModelSummary: Layout(
            keys={
                "nrmse_error": "nrmse_standard_error",
                "log_likelihood": "log_likelihood_per_sample",
                "log_likelihood_error": "log_likelihood_standard_error",
                "worse": "worse_than_the_best",
                "worse_error": "worse_standard_error",
            },
            omitted={"name": "", "folds": 0},
        ),
        ParameterSpread: Layout(
            keys={
                "error": "standard_error",
                "low": "lowest",
                "high": "highest",
                "jackknife": "jackknife_standard_error",
            },
            omitted={"name": ""},
        ),
        FoldResult: Layout(
            keys={
                "fold": "name",
                "scores": "outputs",
                "values": "parameters",
                "errors": "standard_errors",
            },
            forms={
                "fold": Form(lambda f: f.name, lambda name, at: Fold(checked(name, str, at), {}))
            },
            computed={
                "samples": lambda f: f.samples,
                "nrmse": lambda f: f.nrmse,
                "log_likelihood_per_sample": lambda f: f.log_likelihood,
            },
        ),
        OutputScore: Layout(
            omitted=dict.fromkeys(("times", "measured", "predicted", "sigma"), _NOTHING),
            computed={
                "samples": lambda s: s.times.size,
                "rms": lambda s: s.rms,
                "nrmse": lambda s: s.nrmse,
                "log_likelihood": lambda s: s.log_likelihood,
            },
        ),
    }
)


MODEL_HEADER = (
    "model", "searched", "folds", "NRMSE", "log-likelihood per sample", "worse than the best",
)  # fmt: skip
PARAMETER_HEADER = (
    "model", "parameter", "all samples", "+-", "lowest fold", "highest fold", "jackknife +-",
    "ratio", "unit",
)  # fmt: skip


def read_cross_validation(folder: Path) -> CrossValidation:
    """Return the cross-validation stored in a folder with its tables.

    The estimates from all samples have no time series and no history. Raises
    `EstimationError` if a file is missing, broken, not written by fmident, or written by a
    version that did not store everything needed.
    """

    def convert(content: Json) -> CrossValidation:
        _check_version(content, folder)
        result: CrossValidation = load(CrossValidation, content)
        rows = _rows(folder) if any(f.scores for m in result.models for f in m.folds) else {}
        folds = {f.name: f for f in result.folds}
        models = [
            dataclasses.replace(
                model,
                folds=tuple(
                    dataclasses.replace(
                        one,
                        fold=folds[one.fold.name],
                        scores=tuple(
                            _score(s, rows.get((model.name, one.fold.name, s.experiment, s.output)))
                            for s in one.scores
                        ),
                    )
                    for one in model.folds
                ),
            )
            for model in result.models
        ]
        _check_samples(content, models)
        return dataclasses.replace(result, models=tuple(models))

    what = "a cross-validation of fmident"
    return read_file(folder / FILE_NAME, convert, what, written_by(_COMMAND))


def _check_version(content: Json, folder: Path) -> None:
    models = checked(content.get("models"), dict, "models")
    if all("all_samples" in checked(m, dict, f"models.{n}") for n, m in models.items()):
        return
    version = content.get("fmident") or "an earlier one"
    raise EstimationError(
        f"'{folder / FILE_NAME}' cannot be read: the version of fmident that wrote it,"
        f" {version}, did not store the estimates from all samples",
        hint=f"cross-validate again, or open '{folder / 'cross-validation.html'}'",
        code=Code.UNUSABLE_FILE,
    )


def _check_samples(content: Json, models: Sequence[ModelFolds]) -> None:
    for model in models:
        for fold, stored in zip(model.folds, content["models"][model.name]["folds"], strict=True):
            for score, output in zip(fold.scores, stored["outputs"], strict=True):
                if score.times.size != output["samples"]:
                    raise ValueError(
                        f"'{PREDICTIONS}' has {score.times.size} samples of '{score.output}' in"
                        f" '{fold.fold.name}' of '{model.name}', not {output['samples']}"
                    )


def _rows(folder: Path) -> _Rows:
    """Return the rows of the predictions by model, fold, experiment and output."""

    def convert(table: pd.DataFrame) -> _Rows:
        groups = table.groupby(_KEYS, sort=False)
        return {tuple(map(str, key)): rows for key, rows in groups}

    return whole_table(folder / PREDICTIONS, convert, _COMMAND)


def _score(score: OutputScore, rows: pd.DataFrame | None) -> OutputScore:
    if rows is None:
        return score
    return dataclasses.replace(
        score,
        times=column(rows, "time"),
        measured=column(rows, "measured"),
        predicted=column(rows, "predicted"),
        sigma=column(rows, "sigma"),
    )


class CrossValidationContents(Contents["CrossValidation"]):
    """Contents of the result folder of a cross-validation."""

    marker, page = FILE_NAME, "cross-validation.html"
    kicker, command = "Cross-validation", "cross-validate"

    def said(self, result: CrossValidation) -> Said:
        """Return a summary in words."""
        reasons = explanations(result)
        good = result.status == "complete" and not result.notes and not reasons
        return Said(headline(result), "good" if good else "doubtful", reasons, effort(result))

    def blocks(self, result: CrossValidation, width: int) -> Sequence[str]:
        """Return models and parameters."""
        return table_texts(result, width)

    def json(self, result: CrossValidation) -> Json:
        """Return the result with the scores of each model."""
        content = super().json(result)
        for model in summarised(result):
            content["models"][model.name] |= dump(model)
        return {**content, "verdict": verdict(result)}

    def tables(self, result: CrossValidation) -> Mapping[str, tuple[pd.DataFrame, str]]:
        """Return scores, parameters and predictions."""
        form = "%.10g"
        return {
            SCORES: (result.scores, form),
            PARAMETERS: (result.parameters, form),
            PREDICTIONS: (result.predictions, form),
        }

    def draw(self, result: CrossValidation, folder: Path) -> None:
        """Write the figures of scores and parameters over the folds."""
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
        """Return information on the run."""
        return [Entry.of("Status", result.status), Entry.of("Effort", effort(result))]

    def title(self, result: CrossValidation) -> str:
        """Return the names of the models."""
        return " · ".join(m.name for m in result.models)

    def read(self, folder: Path) -> CrossValidation:
        """Return the cross-validation stored in a folder."""
        return read_cross_validation(folder)


CROSS_VALIDATION = CrossValidationContents()


def write_cross_validation(
    result: CrossValidation, problems: Mapping[str, Problem], folder: Path
) -> None:
    """Write the files of a result; raises `OSError` if the disk is full.

    The problem file of the first model is already there as ``problem.toml``; those of the
    others are written as ``problem-2.toml`` and so on.
    """
    first, *others = problems.values()
    for number, problem in enumerate(others, 2):
        write_problem_as(problem, folder / f"problem-{number}.toml")
    CROSS_VALIDATION.write(result, first, folder)


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


def headline(result: CrossValidation) -> str:
    """Return what was done, and which model is best."""
    if result.status == "interrupted":
        done = sum(len(m.folds) for m in result.models)
        return f"Interrupted after {done} of {len(result.folds)} folds for each model."
    if len(result.models) > 1:
        return verdict(result)
    (one,) = summarised(result)
    if not one.folds:
        return "No fold was predicted."
    return f"What was left out is predicted with an NRMSE of {_pair(one.nrmse, one.nrmse_error)}."


def what_was_left_out(result: CrossValidation) -> str:
    """Return the folds in words."""
    if result.way == "experiments":
        return f"each of {len(result.folds)} experiments left out once"
    gap = f", {result.gap:g} s around it not fitted" if result.gap > 0.0 else ""
    return f"each of {len(result.folds)} blocks in time left out once{gap}"


def model_rows(result: CrossValidation) -> list[list[str]]:
    """Return a row per model, below `MODEL_HEADER`."""
    return [
        [
            s.name,
            str(s.searched),
            str(s.folds),
            _pair(s.nrmse, s.nrmse_error),
            _pair(s.log_likelihood, s.log_likelihood_error),
            "the best" if s.worse == 0.0 else _pair(s.worse, s.worse_error),
        ]
        for s in summarised(result)
    ]


def parameter_rows(result: CrossValidation) -> list[list[str]]:
    """Return a row per model and searched parameter, below `PARAMETER_HEADER`."""
    rows = []
    for model in result.models:
        for k, p in enumerate(parameter_spreads(model)):
            value, error = with_error(p.value, p.error)
            ends = [with_error(x, p.error)[0] for x in (p.low, p.high)]
            rows.append(
                [
                    "" if k else model.name,
                    p.name,
                    value,
                    error,
                    *ends,
                    plain(p.jackknife, 2),
                    plain(p.ratio, 2),
                    unit_text(p.unit),
                ]
            )
    return rows


def table_texts(result: CrossValidation, width: int) -> list[str]:
    """Return the tables of models and of parameters, at most `width` columns wide."""
    right: list[Alignment] = ["<", *[">"] * (len(MODEL_HEADER) - 1)]  # type: ignore[list-item]
    models = narrow_table(MODEL_HEADER, model_rows(result), right, width, ["searched", "folds"])
    sides: list[Alignment] = ["<", "<", *[">"] * 6, "<"]  # type: ignore[list-item]
    spare = ["unit", "highest fold", "lowest fold"]
    parameters = narrow_table(PARAMETER_HEADER, parameter_rows(result), sides, width, spare)
    return [models, parameters if len(parameters.splitlines()) > 2 else ""]


def explanations(result: CrossValidation) -> list[str]:
    """Return explanations of the columns that need one."""
    sentences = []
    spreads = [p for m in result.models for p in parameter_spreads(m)]
    if any(p.ratio > 2.0 for p in spreads):
        sentences.append(
            "Where 'ratio' is well above 1, parts of the data disagree about the parameter by more"
            " than its standard error says: the model misses something, the noise is of another"
            " kind, or the folds hold different motions."
        )
    return sentences


def effort(result: CrossValidation) -> str:
    """Return what was left out, and the computational effort."""
    return (
        f"{what_was_left_out(result)}; {result.simulations} simulations, {duration(result.seconds)}"
    )


def _pair(value: float, error: float) -> str:
    if error != error:
        return plain(value, 4)
    return " +- ".join(with_error(value, error))
