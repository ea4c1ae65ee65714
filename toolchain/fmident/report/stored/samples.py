"""Signals, iterations, populations, series and the like of a result folder, from its tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from fmident.errors import Code, EstimationError
from fmident.estimation.contract import Iteration
from fmident.estimation.online.series import TimeSeriesEstimate
from fmident.estimation.population import Generation
from fmident.report.tables.series import FLAGS

if TYPE_CHECKING:
    import pandas as pd

    from fmident.arrays import F64
    from fmident.estimation.result import (
        DrawnPosterior,
        EstimationResult,
        InputSignal,
        OutputFit,
        OutputSensitivity,
    )

_Read = TypeVar("_Read")

_TEXTS = ("experiment", "output", "stage", "flag", "reason")
"""Columns that hold no numbers."""

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
    history = _read(folder / "history.csv", lambda t: _history(t, names), required=required)
    fits = _read(folder / "fit.csv", lambda t: _fits(t, result.fits), required=required)
    held_out = result.validation
    if held_out is not None:
        own = held_out.fits
        found = _read(folder / "validation.csv", lambda t: _fits(t, own), required=required)
        held_out = held_out if found is None else dataclasses.replace(held_out, fits=found)
    whole = dataclasses.replace(
        result, fits=result.fits if fits is None else fits, validation=held_out
    )
    out = _read(folder / "excluded.csv", lambda t: _with_excluded(whole, t))
    return dataclasses.replace(
        whole if out is None else out,
        history=history or (),
        draws=_read(folder / "draws.csv", lambda t: _draws(t, result.draws, names)) or result.draws,
        generations=_read(folder / "population.csv", lambda t: _generations(t, names)) or (),
        series=_read(folder / "series.csv", lambda t: _series(t, result)) or (),
        inputs=_read(folder / "inputs.csv", lambda t: _inputs(t, result.inputs)) or (),
        sensitivities=_read(
            folder / "sensitivities.csv", lambda t: _sensitivities(t, result.sensitivities)
        )
        or result.sensitivities,
    )


def _read(
    file: Path, convert: Callable[[pd.DataFrame], _Read], *, required: bool = False
) -> _Read | None:
    import pandas as pd  # slow to import

    if not file.exists():
        if not required:
            return None
        raise EstimationError(
            f"there is no '{file}'",
            hint="pictures are made from the whole folder that 'fmident estimate' wrote",
            code=Code.UNKNOWN_NAME,
        )
    try:
        # A name such as "NA" or "1" is a name, not a gap or a number.
        table = pd.read_csv(file, keep_default_na=False, dtype=str)
        for column in [c for c in table.columns if c not in _TEXTS]:
            table[column] = table[column].replace("", "nan").astype(np.float64)
        return convert(table)
    except (OSError, ValueError, KeyError, TypeError, pd.errors.ParserError) as error:
        raise EstimationError(
            f"'{file}' is not a table of fmident: {error}",
            hint="give the folder as 'fmident estimate' wrote it",
            code=Code.UNUSABLE_FILE,
        ) from error


def _column(table: pd.DataFrame, name: str) -> F64:
    found: F64 = table[name].to_numpy(dtype=np.float64)
    return found


def _fits(table: pd.DataFrame, fits: Sequence[OutputFit]) -> tuple[OutputFit, ...]:
    groups = dict(iter(table.groupby(["experiment", "output"], sort=False)))
    found = []
    for fit in fits:
        rows = groups[fit.experiment, fit.name]
        found.append(
            dataclasses.replace(
                fit,
                times=_column(rows, "time"),
                measured=_column(rows, "measured"),
                initial=_column(rows, "initial"),
                fitted=_column(rows, "fitted"),
                sigma=_column(rows, "sigma"),
            )
        )
    return tuple(found)


def _draws(
    table: pd.DataFrame, found: DrawnPosterior | None, names: Sequence[str]
) -> DrawnPosterior | None:
    if found is None:
        return None
    chains = int(table["chain"].max())
    values = np.column_stack([_column(table, f"p:{name}") for name in names])
    return dataclasses.replace(
        found,
        values=values.reshape(chains, -1, len(names)),
        densities=_column(table, "log_density").reshape(chains, -1),
    )


def _inputs(table: pd.DataFrame, inputs: Sequence[InputSignal]) -> tuple[InputSignal, ...]:
    groups = dict(iter(table.groupby("experiment", sort=False)))
    return tuple(
        dataclasses.replace(
            one,
            times=_column(groups[one.experiment], "time"),
            values=_column(groups[one.experiment], f"u:{one.name}"),
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
        values = _points(rows, one.parameters)
        found.append(dataclasses.replace(one, times=_column(rows, "time"), values=values))
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
                    e, times=_column(rows, "time"), values=_column(rows, "measured")
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
    parameters = _points(table, names)
    known = {*_COUNTS, *(f"p:{n}" for n in names)}
    details = {str(c): _column(table, c) for c in table.columns if c not in known}
    stages = table["stage"].tolist() if "stage" in table else [""] * len(table)
    cost, seconds = _column(table, "cost"), _column(table, "seconds")
    counts = {c: _column(table, c).astype(int) for c in ("iteration", "simulations", "jacobians")}
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


def _points(table: pd.DataFrame, names: Sequence[str]) -> F64:
    return np.column_stack([_column(table, f"p:{n}") for n in names])


def _generations(table: pd.DataFrame, names: Sequence[str]) -> tuple[Generation, ...]:
    keys = ["stage", "generation"] if "stage" in table else ["generation"]
    return tuple(
        Generation.of(
            _points(rows, names),
            _column(rows, "cost"),
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
                _column(rows, "time"),
                np.column_stack([_column(rows, n) for n in names]),
                np.column_stack([_column(rows, f"{n} standard error") for n in names]),
                np.array(flags, dtype=np.uint8),
            )
        )
    return tuple(found)
