"""A cross-validation, from its ``cross-validation.json`` and the table beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from fmident._json import JsonTable
from fmident.cross_validation import CrossValidation, Fold, FoldResult, ModelFolds, Way
from fmident.cross_validation.result import OutputScore
from fmident.errors import Code, EstimationError
from fmident.report.stored.estimation import result_of
from fmident.report.stored.json_file import read_json, word, written_by
from fmident.report.stored.tables import column, whole_table

if TYPE_CHECKING:
    import pandas as pd

FILE_NAME = "cross-validation.json"
SCORES, PARAMETERS, PREDICTIONS = "scores.csv", "parameters.csv", "predictions.csv"
_COMMAND = "cross-validate"
_KEYS = ["model", "fold", "experiment", "output"]

Status = Literal["complete", "interrupted"]
_Rows = Mapping[tuple[str, ...], "pd.DataFrame"]


def read_cross_validation(folder: Path) -> CrossValidation:
    """Read the folder of a cross-validation.

    Parameters
    ----------
    folder
        With its tables.

    Returns
    -------
    CrossValidation
        The estimates from all samples have no time series and no history.

    Raises
    ------
    fmident.errors.EstimationError
        A file is missing, broken, was not written by fmident or by a version that did not store
        all that is needed.
    """

    def convert(content: JsonTable) -> CrossValidation:
        return _result(content, folder)

    what = "a cross-validation of fmident"
    return read_json(folder / FILE_NAME, convert, what, written_by(_COMMAND))


def _result(content: JsonTable, folder: Path) -> CrossValidation:
    models = content.table("models")
    for name in models.keys():  # noqa: SIM118
        if "all_samples" not in models.table(name).keys():  # noqa: SIM118
            version = content.text("fmident", "") or "an earlier one"
            raise EstimationError(
                f"'{folder / FILE_NAME}' cannot be read: the version of fmident that wrote it,"
                f" {version}, did not store the estimates from all samples",
                hint=f"cross-validate again, or open '{folder / 'cross-validation.html'}'",
                code=Code.UNUSABLE_FILE,
            )
    folds = {f.name: f for f in content.each("folds", _fold)}
    rows = _rows(folder, content)
    return CrossValidation(
        cast(Status, word(content, "status", get_args(Status))),
        cast(Way, word(content, "by", get_args(Way))),
        content.number("gap_s"),
        tuple(folds.values()),
        tuple(_model(n, models.table(n), folds, rows) for n in models.keys()),  # noqa: SIM118
        content.count("simulations"),
        content.number("wall_time_s"),
        content.texts("notes"),
    )


def _rows(folder: Path, content: JsonTable) -> _Rows:
    """Return the rows of the predictions by model, fold, experiment and output."""
    models = content.table("models")
    whole = [
        fold
        for name in models.keys()  # noqa: SIM118
        for fold in models.table(name).each("folds", lambda f: f.listed("outputs"))
    ]
    if not any(whole):  # the table is empty then
        return {}

    def convert(table: pd.DataFrame) -> _Rows:
        groups = table.groupby(_KEYS, sort=False)
        return {tuple(map(str, key)): rows for key, rows in groups}

    return whole_table(folder / PREDICTIONS, convert, _COMMAND)


def _fold(stored: JsonTable) -> Fold:
    spans = stored.table("left_out_s")
    nothing = (float("nan"), float("nan"))
    return Fold(
        stored.text("name"),
        {name: spans.pair(name, nothing) for name in spans.keys()},  # noqa: SIM118
    )


def _model(name: str, stored: JsonTable, folds: Mapping[str, Fold], rows: _Rows) -> ModelFolds:
    return ModelFolds(
        name,
        result_of(stored.table("all_samples")),
        tuple(stored.each("folds", lambda fold: _fold_result(name, fold, folds, rows))),
    )


def _fold_result(
    model: str, stored: JsonTable, folds: Mapping[str, Fold], rows: _Rows
) -> FoldResult:
    name = stored.text("name")
    return FoldResult(
        folds[name],
        tuple(stored.each("outputs", lambda output: _score(model, name, output, rows))),
        stored.named_numbers("parameters"),
        stored.named_numbers("standard_errors"),
        stored.text("status"),
        stored.text("failure"),
    )


def _score(model: str, fold: str, stored: JsonTable, rows: _Rows) -> OutputScore:
    experiment, output = stored.text("experiment"), stored.text("output")
    table, count = rows.get((model, fold, experiment, output)), stored.count("samples")
    if table is None or len(table) != count:
        raise ValueError(
            f"'{PREDICTIONS}' has {0 if table is None else len(table)} samples of '{output}' in"
            f" '{fold}' of '{model}', not {count}"
        )
    return OutputScore(
        experiment,
        output,
        stored.maybe_text("unit"),
        column(table, "time"),
        column(table, "measured"),
        column(table, "predicted"),
        column(table, "sigma"),
        stored.number("spread"),
    )
