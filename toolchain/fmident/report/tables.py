"""The result for spreadsheets: the CSV files of a result folder, written and read."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from fmident.arrays import F64
from fmident.errors import Code, Diagnostic, EstimationError
from fmident.estimation.contract import Iteration
from fmident.estimation.online.series import TimeSeriesEstimate
from fmident.estimation.population import Generation
from fmident.estimation.result import (
    DrawnPosterior,
    EstimationResult,
    InputSignal,
    OutputFit,
    OutputSensitivity,
    parameter_columns,
)
from fmident.problem.model import Problem
from fmident.report.codec import BROKEN
from fmident.report.contract import Reporter
from fmident.report.result_json import StoredResult

Columns = Mapping[str, Sequence[object] | npt.NDArray[Any]]
"""Name to values."""

FLAGS = ("", "filling", "singular", "missing", "skipped")
"""Words for :class:`~fmident.estimation.online.series.Flag`, by number."""

_Read = TypeVar("_Read")

_TEXTS = ("experiment", "output", "stage", "flag", "reason", "unit", "model", "fold", "parameter")
"""Columns that hold no numbers."""

_COUNTS = ("iteration", "stage", "cost", "simulations", "jacobians", "seconds")

_FIT = ("experiment", "output", "time", "measured", "initial", "fitted", "sigma")


class CsvReporter(Reporter):
    """Writes the tables; only parameters, fit and history are written even if empty."""

    summary = (
        "parameters.csv, fit.csv, history.csv and, if any, inputs, validation, excluded,"
        " sensitivities, series, population, draws"
    )

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write the tables into `folder`."""
        names = [e.name for e in result.estimates if e.searched]
        _write(folder / "parameters.csv", pd.DataFrame(parameter_columns(result.rows)))
        _write(folder / "fit.csv", fit_table(result.fits), 9)
        if result.validation is not None:
            _write(folder / "validation.csv", fit_table(result.validation.fits), 9)
        _write(folder / "history.csv", history_table(result.history, names))
        for file, parts, digits in (
            ("excluded.csv", excluded_table(result), 9),
            ("series.csv", series_table(result.series), 9),
            ("population.csv", population_table(result.generations, names), 12),
            ("draws.csv", draws_table(result.draws, names), 12),
            ("inputs.csv", inputs_table(result.inputs), 9),
            ("sensitivities.csv", sensitivities_table(result.sensitivities), 9),
        ):
            if parts:
                _write(folder / file, _below_each_other(parts), digits)


def _write(path: Path, table: pd.DataFrame, digits: int | None = None) -> None:
    """Write a table; by default numbers have as many digits as tell them apart."""
    form = None if digits is None else f"%.{digits}g"
    table.to_csv(path, index=False, float_format=form)


def _below_each_other(parts: Iterable[Columns]) -> pd.DataFrame:
    return pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)


def excluded_table(result: EstimationResult) -> list[Columns]:
    """Return a row per sample that does not count."""
    held_out = () if result.validation is None else result.validation.fits
    return [
        {
            "experiment": [fit.experiment] * e.times.size,
            "output": [fit.name] * e.times.size,
            "reason": [e.reason] * e.times.size,
            "time": e.times,
            "measured": e.values,
        }
        for fit in (*result.fits, *held_out)
        for e in fit.excluded
        if e.times.size
    ]


def fit_table(fits: Sequence[OutputFit]) -> pd.DataFrame:
    """Return one row per sample: experiment, output, time, measured, initial, fitted, sigma."""
    return _below_each_other(map(_fit_columns, fits)) if fits else pd.DataFrame(columns=_FIT)


def _fit_columns(fit: OutputFit) -> Columns:
    count = fit.times.size
    return {
        "experiment": [fit.experiment] * count,
        "output": [fit.name] * count,
        "time": fit.times,
        "measured": fit.measured,
        "initial": fit.initial,
        "fitted": fit.fitted,
        "sigma": np.broadcast_to(fit.sigma, fit.times.shape),
    }


def history_table(history: Iterable[Iteration], names: Sequence[str]) -> pd.DataFrame:
    """Return one row per iteration: counts, cost, what the estimator adds, parameters.

    A run in stages has a column with the stage's name, too.
    """
    history = list(history)
    staged = any(state.stage for state in history)
    rows: list[dict[str, object]] = [
        {
            "iteration": state.number,
            **({"stage": state.stage} if staged else {}),
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


def draws_table(found: DrawnPosterior | None, names: Sequence[str]) -> list[Columns]:
    """Return one table per chain: its number, the draw, log density and searched parameters."""
    if found is None:
        return []
    parts: list[Columns] = []
    for chain, (values, densities) in enumerate(zip(found.values, found.densities, strict=True), 1):
        columns: dict[str, Any] = {
            "chain": [chain] * len(values),
            "draw": list(range(1, len(values) + 1)),
            "log_density": densities.tolist(),
        }
        columns |= {f"p:{name}": values[:, j].tolist() for j, name in enumerate(names)}
        parts.append(columns)
    return parts


def inputs_table(inputs: Iterable[InputSignal]) -> list[Columns]:
    """Return tables with a row per sample: experiment, time, ``u:NAME`` per input."""
    parts: dict[str, dict[str, Any]] = {}
    for signal in inputs:
        columns = parts.setdefault(
            signal.experiment,
            {
                "experiment": [signal.experiment] * signal.times.size,
                "time": signal.times,
            },
        )
        columns[f"u:{signal.name}"] = signal.values
    return list(parts.values())


def population_table(generations: Sequence[Generation], names: Sequence[str]) -> list[Columns]:
    """Return tables with one row per vector: generation, cost and free parameters.

    Generation 0 is the initial point; an infinite cost means that the simulation failed. A
    run in stages also has a column with the stage's name, and numbers the generations of
    each.
    """
    parts: list[Columns] = []
    count: Counter[str] = Counter()
    staged = any(g.stage for g in generations)
    for generation in generations:
        columns: dict[str, Any] = (
            {"stage": [generation.stage] * generation.costs.size} if staged else {}
        )
        columns["generation"] = [count[generation.stage]] * generation.costs.size
        columns["cost"] = generation.costs.tolist()
        count[generation.stage] += 1
        for j, name in enumerate(names):
            columns[f"p:{name}"] = generation.points[:, j].tolist()
        parts.append(columns)
    return parts


def sensitivities_table(sensitivities: Iterable[OutputSensitivity]) -> list[Columns]:
    """Return tables with a row per sample: experiment, output, time, ``p:NAME`` for each.

    A run in stages also has a column with the stage's name.
    """
    every = list(sensitivities)
    staged = any(s.stage for s in every)
    parts: list[Columns] = []
    for s in every:
        count = s.times.size
        columns: dict[str, Any] = {"stage": [s.stage] * count} if staged else {}
        columns["experiment"] = [s.experiment] * count
        columns["output"] = [s.name] * count
        columns["time"] = s.times
        for j, name in enumerate(s.parameters):
            columns[f"p:{name}"] = s.values[:, j]
        parts.append(columns)
    return parts


def series_table(series: Iterable[TimeSeriesEstimate]) -> list[Columns]:
    """Return tables with a row per sample: experiment, time, flag, values and errors."""
    parts: list[Columns] = []
    for s in series:
        columns: dict[str, Any] = {
            "experiment": [s.experiment] * s.times.size,
            "time": s.times.tolist(),
            "flag": [FLAGS[f] for f in s.flags],
        }
        for j, name in enumerate(s.names):
            columns[name] = s.values[:, j].tolist()
            columns[f"{name} standard error"] = s.standard_errors[:, j].tolist()
        parts.append(columns)
    return parts


def read_table(
    file: Path,
    convert: Callable[[pd.DataFrame], _Read],
    *,
    required: bool = False,
    command: str = "estimate",
) -> _Read | None:
    """Return the converted content of a table; ``None`` if an optional one does not exist.

    For invalid content `convert` raises one of `BROKEN`. Raises `EstimationError`, naming
    the `command` that writes the table, if it is missing or was not written by fmident.
    """
    if not file.exists():
        if not required:
            return None
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


def whole_table(file: Path, convert: Callable[[pd.DataFrame], _Read], command: str) -> _Read:
    """Return the content of a required table; see :func:`read_table`."""
    content = read_table(file, convert, required=True, command=command)
    assert content is not None
    return content


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
    history = read_table(folder / "history.csv", lambda t: _history(t, names), required=required)
    fits = read_table(folder / "fit.csv", lambda t: _fits(t, result.fits), required=required)
    held_out = result.validation
    if held_out is not None:
        own = held_out.fits
        validation_fits = read_table(
            folder / "validation.csv", lambda t: _fits(t, own), required=required
        )
        held_out = (
            held_out
            if validation_fits is None
            else dataclasses.replace(held_out, fits=validation_fits)
        )
    whole = dataclasses.replace(
        result, fits=result.fits if fits is None else fits, validation=held_out
    )
    out = read_table(folder / "excluded.csv", lambda t: _with_excluded(whole, t))
    return dataclasses.replace(
        whole if out is None else out,
        history=history or (),
        draws=read_table(folder / "draws.csv", lambda t: _draws(t, result.draws, names))
        or result.draws,
        generations=read_table(folder / "population.csv", lambda t: _generations(t, names)) or (),
        series=read_table(folder / "series.csv", lambda t: _series(t, result)) or (),
        inputs=read_table(folder / "inputs.csv", lambda t: _inputs(t, result.inputs)) or (),
        sensitivities=read_table(
            folder / "sensitivities.csv", lambda t: _sensitivities(t, result.sensitivities)
        )
        or result.sensitivities,
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
    inputs = read_table(folder / "inputs.csv", lambda t: _inputs(t, result.inputs))
    return result if inputs is None else dataclasses.replace(result, inputs=inputs)


def _fits(table: pd.DataFrame, fits: Sequence[OutputFit]) -> tuple[OutputFit, ...]:
    groups = dict(iter(table.groupby(["experiment", "output"], sort=False)))
    output_fits = []
    for fit in fits:
        rows = groups[fit.experiment, fit.name]
        output_fits.append(
            dataclasses.replace(
                fit,
                times=column(rows, "time"),
                measured=column(rows, "measured"),
                initial=column(rows, "initial"),
                fitted=column(rows, "fitted"),
                sigma=column(rows, "sigma"),
            )
        )
    return tuple(output_fits)


def _draws(
    table: pd.DataFrame, found: DrawnPosterior | None, names: Sequence[str]
) -> DrawnPosterior | None:
    if found is None:
        return None
    chains = int(table["chain"].max())
    values = np.column_stack([column(table, f"p:{name}") for name in names])
    return dataclasses.replace(
        found,
        values=values.reshape(chains, -1, len(names)),
        densities=column(table, "log_density").reshape(chains, -1),
    )


def _inputs(table: pd.DataFrame, inputs: Sequence[InputSignal]) -> tuple[InputSignal, ...]:
    groups = dict(iter(table.groupby("experiment", sort=False)))
    return tuple(
        dataclasses.replace(
            one,
            times=column(groups[one.experiment], "time"),
            values=column(groups[one.experiment], f"u:{one.name}"),
        )
        for one in inputs
    )


def _sensitivities(
    table: pd.DataFrame, sensitivities: Sequence[OutputSensitivity]
) -> tuple[OutputSensitivity, ...]:
    if "stage" not in table:
        table["stage"] = ""
    groups = dict(iter(table.groupby(["stage", "experiment", "output"], sort=False)))
    found = []
    for one in sensitivities:
        rows = groups[one.stage, one.experiment, one.name]
        values = points(rows, one.parameters)
        found.append(dataclasses.replace(one, times=column(rows, "time"), values=values))
    return tuple(found)


def _with_excluded(result: EstimationResult, table: pd.DataFrame) -> EstimationResult:
    groups = dict(iter(table.groupby(["experiment", "output", "reason"], sort=False)))

    def filled(fit: OutputFit) -> OutputFit:
        exclusions = []
        for e in fit.excluded:
            # A reason that stands twice has samples the first time.
            rows = groups.pop((fit.experiment, fit.name, e.reason)) if e.count else None
            exclusions.append(
                e
                if rows is None
                else dataclasses.replace(
                    e, times=column(rows, "time"), values=column(rows, "measured")
                )
            )
        return dataclasses.replace(fit, excluded=tuple(exclusions))

    held_out = result.validation
    if held_out is not None:
        held_out = dataclasses.replace(held_out, fits=tuple(map(filled, held_out.fits)))
    return dataclasses.replace(result, fits=tuple(map(filled, result.fits)), validation=held_out)


def _history(table: pd.DataFrame, names: Sequence[str]) -> tuple[Iteration, ...]:
    if table.empty:
        return ()
    parameters = points(table, names)
    known = {*_COUNTS, *(f"p:{n}" for n in names)}
    details = {str(c): column(table, c) for c in table.columns if c not in known}
    stages = table["stage"].tolist() if "stage" in table else [""] * len(table)
    cost, seconds = column(table, "cost"), column(table, "seconds")
    counts = {c: column(table, c).astype(int) for c in ("iteration", "simulations", "jacobians")}
    return tuple(
        Iteration(
            int(counts["iteration"][k]),
            parameters[k],
            float(cost[k]),
            int(counts["simulations"][k]),
            int(counts["jacobians"][k]),
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
