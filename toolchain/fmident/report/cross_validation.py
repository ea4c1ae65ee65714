"""A cross-validation: its result folder, JSON file, tables, pictures and page, and its text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident._json import checked
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
from fmident.cross_validation.result import ModelSummary, OutputScore, ParameterSpread
from fmident.errors import Code, EstimationError
from fmident.report.codec import Codec, Form, Json, Layout
from fmident.report.contents import Contents
from fmident.report.figures.folds import parameters_chart, scores_chart
from fmident.report.folder import write_problem_as
from fmident.report.result_json import LAYOUTS, as_json, noted, result_of
from fmident.report.sections import Block, Cell, Entry, Part, Plot, Summary, Table, Text
from fmident.report.tables import filled, groups_of, read_table
from fmident.words import duration, plain, unit_text, with_error

if TYPE_CHECKING:
    import pandas as pd

    from fmident.problem.model import Problem

FILE_NAME = "cross-validation.json"
PREDICTIONS = "predictions.csv"
_COMMAND = "cross-validate"
_KEYS = ["model", "fold", "experiment", "output"]
_SAMPLES = {name: name for name in ("measured", "predicted", "sigma")}
_NOTHING = np.empty(0)

CODEC = Codec(
    {
        **LAYOUTS,
        CrossValidation: noted(
            Layout(
                keys={"way": "by", "gap": "gap_s", "seconds": "wall_time_s"},
                by_name={"models": "name"},
                unwritten=("models",),
                computed={"models": lambda r: _stored_models(r), "verdict": verdict},
            )
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


def _stored_models(result: CrossValidation) -> Json:
    models: Json = {}
    for model, summary in zip(result.models, summarised(result), strict=True):
        models[model.name] = {**CODEC.dump(model), **CODEC.dump(summary)}
        del models[model.name]["name"]
    return models


def _load(content: Json, folder: Path) -> CrossValidation:
    """Return it with its tables; the estimates from all samples have no series and no history."""
    _check_version(content, folder)
    result: CrossValidation = CODEC.load(CrossValidation, content)
    rows: Mapping[tuple[str, ...], pd.DataFrame] = {}
    if any(f.scores for m in result.models for f in m.folds):
        file = folder / PREDICTIONS
        rows = read_table(file, lambda table: groups_of(table, *_KEYS), _COMMAND)
    folds = {f.name: f for f in result.folds}

    def complete(model: ModelFolds, one: FoldResult) -> FoldResult:
        key = (model.name, one.fold.name)
        scores = tuple(
            s
            if (own := rows.get((*key, s.experiment, s.output))) is None
            else filled(s, own, times="time", **_SAMPLES)
            for s in one.scores
        )
        return dataclasses.replace(one, fold=folds[one.fold.name], scores=scores)

    models = [
        dataclasses.replace(model, folds=tuple(complete(model, one) for one in model.folds))
        for model in result.models
    ]
    _check_samples(content, models)
    return dataclasses.replace(result, models=tuple(models))


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


def _summary(result: CrossValidation) -> Summary:
    reasons = []
    if any(p.ratio > 2.0 for m in result.models for p in parameter_spreads(m)):
        reasons.append(
            "Where 'ratio' is well above 1, parts of the data disagree about the parameter by more"
            " than its standard error says: the model misses something, the noise is of another"
            " kind, or the folds hold different motions."
        )
    good = result.status == "complete" and not result.notes and not reasons
    grade = "good" if good else "doubtful"
    effort = f"{_what_was_left_out(result)}; {result.simulations} simulations, "
    effort += duration(result.seconds)
    return Summary(_headline(result), grade, reasons, result.notes, effort=effort)


def _headline(result: CrossValidation) -> str:
    if result.status == "interrupted":
        done = sum(len(m.folds) for m in result.models)
        return f"Interrupted after {done} of {len(result.folds)} folds for each model."
    if len(result.models) > 1:
        return verdict(result)
    (one,) = summarised(result)
    if not one.folds:
        return "No fold was predicted."
    return f"What was left out is predicted with an NRMSE of {_pair(one.nrmse, one.nrmse_error)}."


def _what_was_left_out(result: CrossValidation) -> str:
    if result.way == "experiments":
        return f"each of {len(result.folds)} experiments left out once"
    gap = f", {result.gap:g} s around it not fitted" if result.gap > 0.0 else ""
    return f"each of {len(result.folds)} blocks in time left out once{gap}"


def _pair(value: float, error: float) -> str:
    if error != error:
        return plain(value, 4)
    return " +- ".join(with_error(value, error))


def _models(result: CrossValidation) -> list[Block]:
    rows = [
        [
            Cell(s.name, "code"),
            str(s.searched),
            str(s.folds),
            _pair(s.nrmse, s.nrmse_error),
            _pair(s.log_likelihood, s.log_likelihood_error),
            "the best" if s.worse == 0.0 else _pair(s.worse, s.worse_error),
        ]
        for s in summarised(result)
    ]
    header = ["model", "searched", "folds", "NRMSE", "log-likelihood per sample",
              "worse than the best"]  # fmt: skip
    about = (
        "NRMSE: root mean square of the prediction error over the standard deviation of the"
        " measured values. Log-likelihood: of the predicted samples, taken for independent. Means"
        " over the folds with their standard errors; the difference to the best model is taken fold"
        " by fold."
    )
    return [
        Table(header, rows, "<>>>>>", ["searched", "folds"]),
        Text(about, about=True),
        Plot(partial(scores_chart, result), file="scores"),
    ]


def _parameters(result: CrossValidation) -> list[Block]:
    rows = []
    for model in result.models:
        for k, p in enumerate(parameter_spreads(model)):
            rows.append(
                [
                    "" if k else model.name,
                    Cell(p.name, "code"),
                    *with_error(p.value, p.error),
                    *(with_error(x, p.error)[0] for x in (p.low, p.high)),
                    plain(p.jackknife, 2),
                    plain(p.ratio, 2),
                    unit_text(p.unit),
                ]
            )
    header = ["model", "parameter", "all samples", "+-", "lowest fold", "highest fold",
              "jackknife +-", "ratio", "unit"]  # fmt: skip
    about = (
        "The jackknife's standard error says how far the parameter moves between folds; it needs no"
        " model of the noise."
    )
    return [
        Table(header, rows, "<<>>>>>><", ["unit", "highest fold", "lowest fold"]),
        Text(about, about=True),
        Plot(partial(parameters_chart, result), file="parameters"),
    ]


CROSS_VALIDATION: Contents[CrossValidation] = Contents(
    "Cross-validation", _COMMAND, FILE_NAME, "cross-validation.html", CODEC,
    _load, _summary,
    [Part("Models", _models, brief=True), Part("Parameters", _parameters, brief=True)],
    lambda result: [_what_was_left_out(result)],
    lambda result: [Entry("Status", [result.status])],
    lambda result: {
        "scores.csv": (result.scores, "%.10g"),
        "parameters.csv": (result.parameters, "%.10g"),
        PREDICTIONS: (result.predictions, "%.10g"),
    },
    lambda result: [
        ("scores.png", scores_chart(result)), ("parameters.png", parameters_chart(result)),
    ],
    title=lambda result: " · ".join(m.name for m in result.models),
)  # fmt: skip


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
