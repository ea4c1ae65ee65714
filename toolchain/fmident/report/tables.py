"""The result for spreadsheets: ``parameters.csv``, ``fit.csv``, ``history.csv``, ``series.csv``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fmident.report.contract import Reporter
from fmident.report.series_table import series_table

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.estimation.result import EstimationResult, OutputFit
    from fmident.problem.model import Problem


class CsvReporter(Reporter):
    """Writes the tables; ``series.csv`` for online estimators only."""

    summary = "parameters.csv, fit.csv, history.csv and, of online estimators, series.csv"

    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write the tables into `folder`."""
        result.parameters.to_csv(folder / "parameters.csv")
        fit_table(result.fits).to_csv(folder / "fit.csv", index=False, float_format="%.9g")
        names = [e.name for e in result.estimates if not e.fixed]
        history_table(result.history, names).to_csv(folder / "history.csv", index=False)
        if result.series:
            series_table(result.series).to_csv(
                folder / "series.csv", index=False, float_format="%.9g"
            )


def fit_table(fits: Iterable[OutputFit]) -> pd.DataFrame:
    """Return one row per sample: experiment, output, time, measured, initial, fitted, sigma."""
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
    """Return one row per iteration: counts, cost, what the estimator adds, parameters."""
    rows = [
        {
            "iteration": state.number,
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
