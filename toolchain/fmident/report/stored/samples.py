"""Signals, iterations, populations, series and the like of a result folder, from its tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.errors import Diagnostic
from fmident.estimation.contract import Iteration
from fmident.estimation.online.series import TimeSeriesEstimate
from fmident.estimation.population import Generation
from fmident.report.stored.tables import column, points, read_table
from fmident.report.tables.series import FLAGS

if TYPE_CHECKING:
    import pandas as pd

    from fmident.estimation.result import (
        DrawnPosterior,
        EstimationResult,
        InputSignal,
        OutputFit,
        OutputSensitivity,
    )
    from fmident.report.stored.estimation import StoredResult

_COUNTS = ("iteration", "stage", "cost", "simulations", "jacobians", "seconds")


def with_signals(
    result: EstimationResult, folder: Path, *, required: bool = True
) -> EstimationResult:
    """Return a stored result with what is in the tables beside it.

    Parameters
    ----------
    result
        From ``result.json``.
    folder
        That holds it.
    required
        Whether the tables that every result has must be there; else what is in a missing one is
        left out.

    Raises
    ------
    fmident.errors.EstimationError
        A table is missing that every result has, or is none that fmident wrote.
    """
    names = [e.name for e in result.estimates if e.searched]
    history = read_table(folder / "history.csv", lambda t: _history(t, names), required=required)
    fits = read_table(folder / "fit.csv", lambda t: _fits(t, result.fits), required=required)
    held_out = result.validation
    if held_out is not None:
        own = held_out.fits
        found = read_table(folder / "validation.csv", lambda t: _fits(t, own), required=required)
        held_out = held_out if found is None else dataclasses.replace(held_out, fits=found)
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
    """Return a warning where tables do not have the samples that the result was found from.

    Parameters
    ----------
    read
        What ``result.json`` says.
    whole
        The same result with its tables; an output without any samples has none to say.
    """
    held_out = () if whole.validation is None else whole.validation.fits
    found = []
    for fit in (*whole.fits, *held_out):
        wanted = read.samples.get((fit.experiment, fit.name))
        there = int(np.count_nonzero(np.isfinite(fit.measured)))
        if fit.times.size and wanted is not None and there != wanted:
            found.append(
                Diagnostic(
                    "warning",
                    f"the tables have {there} samples of '{fit.name}' of experiment"
                    f" '{fit.experiment}', the result was found from {wanted}: somebody has"
                    " changed them, or they are not whole",
                    hint="give the folder as 'fmident estimate' wrote it",
                    rule="other-samples",
                )
            )
    return found


def with_inputs(result: EstimationResult, folder: Path) -> EstimationResult:
    """Return a stored result with the values of its inputs, where their table is there.

    Parameters
    ----------
    result
        From ``result.json``.
    folder
        That holds it.

    Raises
    ------
    fmident.errors.EstimationError
        The table is none that fmident wrote.
    """
    inputs = read_table(folder / "inputs.csv", lambda t: _inputs(t, result.inputs))
    return result if inputs is None else dataclasses.replace(result, inputs=inputs)


def _fits(table: pd.DataFrame, fits: Sequence[OutputFit]) -> tuple[OutputFit, ...]:
    groups = dict(iter(table.groupby(["experiment", "output"], sort=False)))
    found = []
    for fit in fits:
        rows = groups[fit.experiment, fit.name]
        found.append(
            dataclasses.replace(
                fit,
                times=column(rows, "time"),
                measured=column(rows, "measured"),
                initial=column(rows, "initial"),
                fitted=column(rows, "fitted"),
                sigma=column(rows, "sigma"),
            )
        )
    return tuple(found)


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
        found = []
        for e in fit.excluded:
            # A reason that stands twice has samples the first time.
            rows = groups.pop((fit.experiment, fit.name, e.reason)) if e.count else None
            found.append(
                e
                if rows is None
                else dataclasses.replace(
                    e, times=column(rows, "time"), values=column(rows, "measured")
                )
            )
        return dataclasses.replace(fit, excluded=tuple(found))

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
    found = []
    for experiment, rows in table.groupby("experiment", sort=False):
        flags = [FLAGS.index(f) for f in rows["flag"]]
        found.append(
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
    return tuple(found)
