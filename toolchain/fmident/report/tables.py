"""The result for spreadsheets: the CSV files of a result folder, written and read."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from fmident.arrays import F64
from fmident.errors import Code, Diagnostic, EstimationError
from fmident.estimation.comparisons import (
    DrawnPosterior,
    ExcludedSamples,
    InputSignal,
    OutputFit,
    OutputSensitivity,
)
from fmident.estimation.contract import Generation, Iteration, TimeSeriesEstimate
from fmident.estimation.result import EstimationResult, parameter_columns
from fmident.report.codec import BROKEN
from fmident.report.result_json import StoredResult
from fmident.views import stacked

FLAGS = ("", "filling", "singular", "missing", "skipped")
"""Words for :class:`~fmident.estimation.contract.Flag`, by number."""

_Read = TypeVar("_Read")
_Item = TypeVar("_Item")

_TEXTS = ("experiment", "output", "stage", "flag", "reason", "unit", "model", "fold", "parameter")
"""Columns that hold no numbers."""

_REQUIRED = ("fit.csv", "history.csv", "validation.csv")

_COUNTS = ("iteration", "stage", "cost", "simulations", "jacobians", "seconds")

_FIT = ("experiment", "output", "time", "measured", "initial", "fitted", "sigma")


def tables_of(result: EstimationResult) -> dict[str, tuple[pd.DataFrame, str | None]]:
    """Return each CSV file of an estimate by name, with its number format.

    Only parameters, fit and history are there even if empty. Without a format, numbers have as
    many digits as tell them apart.
    """
    names = [e.name for e in result.estimates if e.searched]
    tables: dict[str, tuple[pd.DataFrame, str | None]] = {
        "parameters.csv": (pd.DataFrame(parameter_columns(result.rows)), None),
        "fit.csv": (fit_table(result.fits), "%.9g"),
    }
    if result.validation is not None:
        tables["validation.csv"] = (fit_table(result.validation.fits), "%.9g")
    tables["history.csv"] = (history_table(result.history, names), None)
    others = {
        "excluded.csv": (_excluded_table(result), "%.9g"),
        "series.csv": (series_table(result.series), "%.9g"),
        "population.csv": (population_table(result.generations, names), "%.12g"),
        "draws.csv": (_draws_table(result.draws, names), "%.12g"),
        "inputs.csv": (_inputs_table(result.inputs), "%.9g"),
        "sensitivities.csv": (_sensitivities_table(result.sensitivities), "%.9g"),
    }
    return tables | {name: table for name, table in others.items() if not table[0].empty}


def _stage(name: str, every: Iterable[str]) -> dict[str, str]:
    return {"stage": name} if any(every) else {}


def _of_parameters(names: Sequence[str], values: F64) -> dict[str, F64]:
    return {f"p:{name}": values[:, j] for j, name in enumerate(names)}


def _excluded_table(result: EstimationResult) -> pd.DataFrame:
    held_out = () if result.validation is None else result.validation.fits
    return stacked(
        {"experiment": fit.experiment, "output": fit.name, "reason": e.reason, "time": e.times,
         "measured": e.values}
        for fit in (*result.fits, *held_out)
        for e in fit.excluded
        if e.times.size
    )  # fmt: skip


def fit_table(fits: Sequence[OutputFit]) -> pd.DataFrame:
    """Return one row per sample: experiment, output, time, measured, initial, fitted, sigma."""
    return stacked(
        (
            {"experiment": fit.experiment, "output": fit.name, "time": fit.times,
             "measured": fit.measured, "initial": fit.initial, "fitted": fit.fitted,
             "sigma": np.broadcast_to(fit.sigma, fit.times.shape)}
            for fit in fits
        ),
        _FIT,
    )  # fmt: skip


def history_table(history: Iterable[Iteration], names: Sequence[str]) -> pd.DataFrame:
    """Return one row per iteration: counts, cost, what the estimator adds, parameters."""
    history = list(history)
    rows: list[dict[str, object]] = [
        {
            "iteration": state.number,
            **_stage(state.stage, (other.stage for other in history)),
            "cost": state.cost,
            "simulations": state.simulations,
            "jacobians": state.jacobians,
            "seconds": state.seconds,
            **state.details,
            **{f"p:{n}": float(v) for n, v in zip(names, state.parameters, strict=True)},
        }
        for state in history
    ]
    columns = ["iteration", "cost", "simulations", "jacobians", "seconds"]
    return pd.DataFrame(rows, columns=None if rows else columns)


def _draws_table(draws: DrawnPosterior | None, names: Sequence[str]) -> pd.DataFrame:
    chains = () if draws is None else zip(draws.values, draws.densities, strict=True)
    return stacked(
        {"chain": chain, "draw": np.arange(1, len(values) + 1), "log_density": densities,
         **_of_parameters(names, values)}
        for chain, (values, densities) in enumerate(chains, 1)
    )  # fmt: skip


def _inputs_table(inputs: Iterable[InputSignal]) -> pd.DataFrame:
    """Return a row per sample: experiment, time, ``u:NAME`` per input."""
    parts: dict[str, dict[str, Any]] = {}
    for signal in inputs:
        first = {"experiment": signal.experiment, "time": signal.times}
        parts.setdefault(signal.experiment, first)[f"u:{signal.name}"] = signal.values
    return stacked(parts.values())


def population_table(generations: Sequence[Generation], names: Sequence[str]) -> pd.DataFrame:
    """Return one row per vector: generation, cost and free parameters.

    Generation 0 is the initial point; an infinite cost means that the simulation failed. A
    run in stages numbers the generations of each.
    """
    parts: list[dict[str, Any]] = []
    count: Counter[str] = Counter()
    for generation in generations:
        parts.append(
            {
                **_stage(generation.stage, (g.stage for g in generations)),
                "generation": count[generation.stage],
                "cost": generation.costs,
                **_of_parameters(names, generation.points),
            }
        )
        count[generation.stage] += 1
    return stacked(parts)


def _sensitivities_table(sensitivities: Sequence[OutputSensitivity]) -> pd.DataFrame:
    """Return a row per sample: experiment, output, time, ``p:NAME`` for each."""
    return stacked(
        {
            **_stage(s.stage, (other.stage for other in sensitivities)),
            "experiment": s.experiment,
            "output": s.name,
            "time": s.times,
            **_of_parameters(s.parameters, s.values),
        }
        for s in sensitivities
    )


def series_table(series: Iterable[TimeSeriesEstimate]) -> pd.DataFrame:
    """Return a row per sample: experiment, time, flag, values and errors."""
    parts: list[dict[str, Any]] = []
    for s in series:
        flags = [FLAGS[f] for f in s.flags]
        parts.append({"experiment": s.experiment, "time": s.times, "flag": flags})
        for j, name in enumerate(s.names):
            parts[-1][name] = s.values[:, j]
            parts[-1][f"{name} standard error"] = s.standard_errors[:, j]
    return stacked(parts)


def read_table(
    file: Path, convert: Callable[[pd.DataFrame], _Read], command: str = "estimate"
) -> _Read:
    """Return the converted content of a table.

    For invalid content `convert` raises one of `BROKEN`. Raises `EstimationError`, naming
    the `command` that writes the table, if it is missing or was not written by fmident.
    """
    if not file.exists():
        raise EstimationError(
            f"there is no '{file}'",
            hint=f"pictures are made from the whole folder that 'fmident {command}' wrote",
            code=Code.UNKNOWN_NAME,
        )
    try:
        # A name such as "NA" or "1" is a name, not a gap or a number.
        table = pd.read_csv(file, keep_default_na=False, dtype=str)
        for column in [c for c in table.columns if c not in _TEXTS]:
            table[column] = table[column].replace("", "nan").astype(np.float64)
        return convert(table)
    except (OSError, *BROKEN, pd.errors.ParserError) as error:
        raise EstimationError(
            f"'{file}' is not a table of fmident: {error}",
            hint=f"give the folder as 'fmident {command}' wrote it",
            code=Code.UNUSABLE_FILE,
        ) from error


def column(table: pd.DataFrame, name: str) -> F64:
    """Return a numeric column."""
    values: F64 = table[name].to_numpy(dtype=np.float64)
    return values


def points(table: pd.DataFrame, names: Sequence[str]) -> F64:
    """Return the columns of parameters, shape (rows, n)."""
    return np.column_stack([column(table, f"p:{n}") for n in names])


def with_signals(
    result: EstimationResult, folder: Path, *, required: bool = True
) -> EstimationResult:
    """Return a result from ``result.json`` completed from the tables beside it.

    If not `required`, the content of missing tables is omitted. Raises `EstimationError` if
    a required table is missing or a table was not written by fmident.
    """
    names = [e.name for e in result.estimates if e.searched]

    def read(file: str, convert: Callable[[pd.DataFrame], _Read], default: _Read) -> _Read:
        wanted = (required and file in _REQUIRED) or (folder / file).exists()
        return read_table(folder / file, convert) if wanted else default

    empty: tuple[Any, ...] = ()
    history = read("history.csv", lambda t: _history(t, names), empty)
    held_out = result.validation
    if held_out is not None:
        own = held_out.fits
        held_out = dataclasses.replace(
            held_out, fits=read("validation.csv", lambda t: _fits(t, own), own)
        )
    fits = read("fit.csv", lambda t: _fits(t, result.fits), result.fits)
    whole = dataclasses.replace(result, fits=fits, validation=held_out)
    return dataclasses.replace(
        read("excluded.csv", lambda t: _with_excluded(whole, t), whole),
        history=history,
        draws=read("draws.csv", lambda t: _draws(t, result.draws, names), result.draws),
        generations=read("population.csv", lambda t: _generations(t, names), empty),
        series=read("series.csv", lambda t: _series(t, result), empty),
        inputs=read("inputs.csv", lambda t: _inputs(t, result.inputs), empty),
        sensitivities=read(
            "sensitivities.csv",
            lambda t: _sensitivities(t, result.sensitivities),
            result.sensitivities,
        ),
    )


def other_samples(read: StoredResult, whole: EstimationResult) -> list[Diagnostic]:
    """Return a warning if tables do not have the samples from which the result was obtained.

    `read` is the content of ``result.json`` and `whole` the result with its tables; outputs
    without any samples are not compared.
    """
    held_out = () if whole.validation is None else whole.validation.fits
    warnings = []
    for fit in (*whole.fits, *held_out):
        wanted = read.samples.get((fit.experiment, fit.name))
        there = int(np.count_nonzero(np.isfinite(fit.measured)))
        if fit.times.size and wanted is not None and there != wanted:
            warnings.append(
                Diagnostic(
                    "warning",
                    f"the tables have {there} samples of '{fit.name}' of experiment"
                    f" '{fit.experiment}', the result was found from {wanted}: somebody has"
                    " changed them, or they are not whole",
                    hint="give the folder as 'fmident estimate' wrote it",
                    rule="other-samples",
                )
            )
    return warnings


def with_inputs(result: EstimationResult, folder: Path) -> EstimationResult:
    """Return a result from ``result.json`` with the values of its inputs, if stored.

    Raises `EstimationError` if the table was not written by fmident.
    """
    file = folder / "inputs.csv"
    if not file.exists():
        return result
    return dataclasses.replace(result, inputs=read_table(file, lambda t: _inputs(t, result.inputs)))


def groups_of(table: pd.DataFrame, *keys: str) -> dict[tuple[str, ...], pd.DataFrame]:
    """Return the rows of a table by the texts in some columns."""
    return {tuple(map(str, key)): rows for key, rows in table.groupby([*keys], sort=False)}


def filled(item: _Item, rows: pd.DataFrame, **columns: str) -> _Item:
    """Return a dataclass with columns of a table, named by the fields that they fill."""
    values = {field: column(rows, name) for field, name in columns.items()}
    return dataclasses.replace(item, **values)  # type: ignore[type-var]


def _fits(table: pd.DataFrame, fits: Sequence[OutputFit]) -> tuple[OutputFit, ...]:
    groups = groups_of(table, "experiment", "output")
    columns = {name: name for name in ("measured", "initial", "fitted", "sigma")}
    return tuple(filled(f, groups[f.experiment, f.name], times="time", **columns) for f in fits)


def _draws(
    table: pd.DataFrame, draws: DrawnPosterior | None, names: Sequence[str]
) -> DrawnPosterior | None:
    if draws is None:
        return None
    chains = int(table["chain"].max())
    return dataclasses.replace(
        draws,
        values=points(table, names).reshape(chains, -1, len(names)),
        densities=column(table, "log_density").reshape(chains, -1),
    )


def _inputs(table: pd.DataFrame, inputs: Sequence[InputSignal]) -> tuple[InputSignal, ...]:
    groups = groups_of(table, "experiment")
    return tuple(
        filled(one, groups[one.experiment,], times="time", values=f"u:{one.name}") for one in inputs
    )


def _sensitivities(
    table: pd.DataFrame, sensitivities: Sequence[OutputSensitivity]
) -> tuple[OutputSensitivity, ...]:
    if "stage" not in table:
        table["stage"] = ""
    groups = groups_of(table, "stage", "experiment", "output")
    rows = [groups[s.stage, s.experiment, s.name] for s in sensitivities]
    return tuple(
        dataclasses.replace(s, times=column(own, "time"), values=points(own, s.parameters))
        for s, own in zip(sensitivities, rows, strict=True)
    )


def _with_excluded(result: EstimationResult, table: pd.DataFrame) -> EstimationResult:
    groups = groups_of(table, "experiment", "output", "reason")

    def samples(fit: OutputFit, e: ExcludedSamples) -> ExcludedSamples:
        if not e.count:
            return e
        # A reason that stands twice has samples the first time.
        rows = groups.pop((fit.experiment, fit.name, e.reason))
        return filled(e, rows, times="time", values="measured")

    def completed(fits: Sequence[OutputFit]) -> tuple[OutputFit, ...]:
        return tuple(
            dataclasses.replace(f, excluded=tuple(samples(f, e) for e in f.excluded)) for f in fits
        )

    held_out = result.validation
    if held_out is not None:
        held_out = dataclasses.replace(held_out, fits=completed(held_out.fits))
    return dataclasses.replace(result, fits=completed(result.fits), validation=held_out)


def _history(table: pd.DataFrame, names: Sequence[str]) -> tuple[Iteration, ...]:
    if table.empty:
        return ()
    parameters = points(table, names)
    known = {*_COUNTS, *(f"p:{n}" for n in names)}
    details = {str(c): column(table, c) for c in table.columns if c not in known}
    stages = table["stage"].tolist() if "stage" in table else [""] * len(table)
    cost, seconds = column(table, "cost"), column(table, "seconds")
    counts = [column(table, c).astype(int) for c in ("iteration", "simulations", "jacobians")]
    return tuple(
        Iteration(
            int(counts[0][k]),
            parameters[k],
            float(cost[k]),
            int(counts[1][k]),
            int(counts[2][k]),
            float(seconds[k]),
            {n: float(v[k]) for n, v in details.items() if not np.isnan(v[k])},
            stages[k],
        )
        for k in range(len(table))
    )


def _generations(table: pd.DataFrame, names: Sequence[str]) -> tuple[Generation, ...]:
    keys = ["stage", "generation"] if "stage" in table else ["generation"]
    return tuple(
        Generation.of(
            points(rows, names),
            column(rows, "cost"),
            str(rows["stage"].iloc[0]) if "stage" in table else "",
        )
        for _, rows in table.groupby(keys, sort=False)
    )


def _series(table: pd.DataFrame, result: EstimationResult) -> tuple[TimeSeriesEstimate, ...]:
    searched = [e for e in result.estimates if e.searched and e.name in table]
    names = [e.name for e in searched]
    series = []
    for experiment, rows in table.groupby("experiment", sort=False):
        flags = [FLAGS.index(f) for f in rows["flag"]]
        series.append(
            TimeSeriesEstimate(
                str(experiment),
                tuple(names),
                tuple(e.unit for e in searched),
                column(rows, "time"),
                np.column_stack([column(rows, n) for n in names]),
                np.column_stack([column(rows, f"{n} standard error") for n in names]),
                np.array(flags, dtype=np.uint8),
            )
        )
    return tuple(series)
