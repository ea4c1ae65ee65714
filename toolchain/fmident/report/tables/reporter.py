"""The result for spreadsheets, as CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.estimation.result import parameter_columns
from fmident.report.contract import Reporter
from fmident.report.tables.csv_file import Column, Columns, write_csv
from fmident.report.tables.series import series_table

if TYPE_CHECKING:
    import pandas as pd

    from fmident.estimation.contract import Iteration
    from fmident.estimation.population import Generation
    from fmident.estimation.result import (
        DrawnPosterior,
        EstimationResult,
        InputSignal,
        OutputFit,
        OutputSensitivity,
    )
    from fmident.problem.model import Problem


class CsvReporter(Reporter):
    """Writes the tables; all but parameters, fit and history where there is something in them."""

    summary = (
        "parameters.csv, fit.csv, history.csv and, if any, inputs, validation, excluded,"
        " sensitivities, series, population, draws"
    )

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write the tables into `folder`."""
        parameters = parameter_columns(result.rows)
        write_csv(folder / "parameters.csv", [*parameters], [parameters])
        _write_fits(folder / "fit.csv", result.fits)
        if result.validation is not None:
            _write_fits(folder / "validation.csv", result.validation.fits)
        _write_excluded(folder / "excluded.csv", result)
        names = [e.name for e in result.estimates if e.searched]
        history = history_columns(result.history, names)
        write_csv(folder / "history.csv", [*history], [history])
        for file, parts, digits in (
            ("series.csv", series_table(result.series), 9),
            ("population.csv", population_table(result.generations, names), 12),
            ("draws.csv", draws_table(result.draws, names), 12),
            ("inputs.csv", inputs_table(result.inputs), 9),
            ("sensitivities.csv", sensitivities_table(result.sensitivities), 9),
        ):
            if parts:
                columns = list(dict.fromkeys(name for part in parts for name in part))
                write_csv(folder / file, columns, parts, digits=digits)


def _write_fits(path: Path, fits: Iterable[OutputFit]) -> None:
    """Write one row per sample."""
    header = ("experiment", "output", "time", "measured", "initial", "fitted", "sigma")
    write_csv(path, header, (_fit_columns(fit) for fit in fits), digits=9)


def _write_excluded(path: Path, result: EstimationResult) -> None:
    """Write one row per sample that does not count, if there are any."""
    held_out = () if result.validation is None else result.validation.fits
    parts: list[Columns] = [
        {
            "experiment": [fit.experiment] * e.times.size,
            "output": [fit.name] * e.times.size,
            "reason": [e.reason] * e.times.size,
            "time": e.times.tolist(),
            "measured": e.values.tolist(),
        }
        for fit in (*result.fits, *held_out)
        for e in fit.excluded
        if e.times.size
    ]
    if parts:
        write_csv(path, [*parts[0]], parts, digits=9)


def fit_table(fits: Iterable[OutputFit]) -> pd.DataFrame:
    """Return one row per sample: experiment, output, time, measured, initial, fitted, sigma."""
    import pandas as pd  # here, since it is slow to import and seldom needed

    return pd.concat([pd.DataFrame(_fit_columns(fit)) for fit in fits], ignore_index=True)


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


def history_columns(history: Iterable[Iteration], names: Sequence[str]) -> Columns:
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
    if rows:
        columns = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in columns}


def draws_table(found: DrawnPosterior | None, names: Sequence[str]) -> list[Columns]:
    """Return the table in parts, one per chain: its number, the draw, density and parameters.

    Parameters
    ----------
    found
        With the draws, if there are any.
    names
        Of the searched parameters.
    """
    if found is None:
        return []
    parts: list[Columns] = []
    for chain, (values, densities) in enumerate(zip(found.values, found.densities, strict=True), 1):
        columns: dict[str, Sequence[object]] = {
            "chain": [chain] * len(values),
            "draw": list(range(1, len(values) + 1)),
            "log_density": densities.tolist(),
        }
        columns |= {f"p:{name}": values[:, j].tolist() for j, name in enumerate(names)}
        parts.append(columns)
    return parts


def inputs_table(inputs: Iterable[InputSignal]) -> list[Columns]:
    """Return the table in parts, a row per sample: experiment, time, ``u:NAME`` for each input."""
    parts: dict[str, dict[str, Column]] = {}
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
    """Return the table in parts, one row per vector: generation, cost and parameters.

    Generation 0 is the initial point; infinite cost means that the simulation failed. A run in
    stages has a column with the stage's name, too, and counts the generations of each.

    Parameters
    ----------
    generations
        In order.
    names
        Of the free parameters.
    """
    parts: list[Columns] = []
    count: Counter[str] = Counter()
    staged = any(g.stage for g in generations)
    for generation in generations:
        columns: dict[str, Sequence[object]] = (
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
    """Return the table in parts, a row per sample: experiment, output, time, ``p:NAME`` for each.

    A run in stages has a column with the stage's name, too.
    """
    every = list(sensitivities)
    staged = any(s.stage for s in every)
    parts: list[Columns] = []
    for s in every:
        count = s.times.size
        columns: dict[str, Column] = {"stage": [s.stage] * count} if staged else {}
        columns["experiment"] = [s.experiment] * count
        columns["output"] = [s.name] * count
        columns["time"] = s.times
        for j, name in enumerate(s.parameters):
            columns[f"p:{name}"] = s.values[:, j]
        parts.append(columns)
    return parts
