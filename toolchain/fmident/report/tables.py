"""The result for spreadsheets: parameters, fit, validation, history, series, population as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.contract import Reporter
from fmident.report.population_table import population_table
from fmident.report.series_table import series_table

if TYPE_CHECKING:
    import pandas as pd

    from fmident.estimation.contract import Iteration
    from fmident.estimation.result import EstimationResult, OutputFit
    from fmident.problem.model import Problem


class CsvReporter(Reporter):
    """Writes the tables; series of online estimators and populations where there are any."""

    summary = "parameters.csv, fit.csv, history.csv and, if any, validation, series, population"

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write the tables into `folder`."""
        result.parameters.to_csv(folder / "parameters.csv")
        fit_table(result.fits).to_csv(folder / "fit.csv", index=False, float_format="%.9g")
        if result.validation is not None:
            fit_table(result.validation.fits).to_csv(
                folder / "validation.csv", index=False, float_format="%.9g"
            )
        names = [e.name for e in result.estimates if e.searched]
        history_table(result.history, names).to_csv(folder / "history.csv", index=False)
        if result.series:
            series_table(result.series).to_csv(
                folder / "series.csv", index=False, float_format="%.9g"
            )
        if result.generations:
            population_table(result.generations, names).to_csv(
                folder / "population.csv", index=False, float_format="%.12g"
            )


def fit_table(fits: Iterable[OutputFit]) -> pd.DataFrame:
    """Return one row per sample: experiment, output, time, measured, initial, fitted, sigma."""
    import pandas as pd  # here, since it is slow to import and seldom needed

    columns = ["experiment", "output", "time", "measured", "initial", "fitted", "sigma"]
    parts = [
        pd.DataFrame(
            {
                "experiment": fit.experiment,
                "output": fit.name,
                "time": fit.times,
                "measured": fit.measured,
                "initial": fit.initial,
                "fitted": fit.fitted,
                "sigma": np.broadcast_to(fit.sigma, fit.times.shape),
            }
        )
        for fit in fits
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def history_table(history: Iterable[Iteration], names: list[str]) -> pd.DataFrame:
    """Return one row per iteration: counts, cost, what the estimator adds, parameters.

    A run in stages has a column with the stage's name, too.
    """
    import pandas as pd  # here, since it is slow to import and seldom needed

    history = list(history)
    staged = any(state.stage for state in history)
    rows = [
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
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
