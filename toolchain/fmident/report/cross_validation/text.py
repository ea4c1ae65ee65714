"""A cross-validation as tables for the terminal; the page shows the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.cross_validation import parameter_spreads, summarised, verdict
from fmident.report.numbers import duration, plain, with_error
from fmident.report.terminal import Alignment, narrow_table, unit_text

if TYPE_CHECKING:
    from fmident.cross_validation import CrossValidation

MODEL_HEADER = (
    "model", "searched", "folds", "NRMSE", "log-likelihood per sample", "worse than the best",
)  # fmt: skip
PARAMETER_HEADER = (
    "model", "parameter", "all samples", "+-", "lowest fold", "highest fold", "jackknife +-",
    "ratio", "unit",
)  # fmt: skip


def headline(result: CrossValidation) -> str:
    """Return what was done, and which model to take."""
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
    """Return a row for each model, below `MODEL_HEADER`."""
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
    """Return a row for each model and searched parameter, below `PARAMETER_HEADER`."""
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
    """Return the tables of models and of parameters, at most so many columns wide."""
    right: list[Alignment] = ["<", *[">"] * (len(MODEL_HEADER) - 1)]  # type: ignore[list-item]
    models = narrow_table(MODEL_HEADER, model_rows(result), right, width, ["searched", "folds"])
    sides: list[Alignment] = ["<", "<", *[">"] * 6, "<"]  # type: ignore[list-item]
    spare = ["unit", "highest fold", "lowest fold"]
    parameters = narrow_table(PARAMETER_HEADER, parameter_rows(result), sides, width, spare)
    return [models, parameters if len(parameters.splitlines()) > 2 else ""]


def explanations(result: CrossValidation) -> list[str]:
    """Return what the columns mean, where that is no matter of course."""
    found = []
    spreads = [p for m in result.models for p in parameter_spreads(m)]
    if any(p.ratio > 2.0 for p in spreads):
        found.append(
            "Where 'ratio' is well above 1, parts of the data disagree about the parameter by more"
            " than its standard error says: the model misses something, the noise is of another"
            " kind, or the folds hold different motions."
        )
    return found


def effort(result: CrossValidation) -> str:
    """Return what was left out, and what it took."""
    return (
        f"{what_was_left_out(result)}; {result.simulations} simulations, {duration(result.seconds)}"
    )


def _pair(value: float, error: float) -> str:
    if error != error:
        return plain(value, 4)
    return " +- ".join(with_error(value, error))
