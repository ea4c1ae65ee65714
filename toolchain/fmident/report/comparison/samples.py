"""The samples of a result, as far as criteria and tests of models need them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.report.tables.reporter import fit_table
from fmident.statistics.choice import Fit

if TYPE_CHECKING:
    import pandas as pd

    from fmident.estimation.result import EstimationResult

_SAME = 1e-8
"""Relative difference of numbers in ``fit.csv`` from rounding."""

_KEYS = ["experiment", "output", "time"]
_WANTED = {*_KEYS, "measured", "fitted", "sigma"}


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples that were compared, sorted by experiment, output and time.

    Parameters
    ----------
    outputs
        Experiment and output of each, shape (m, 2).
    times, measured, fitted, sigma
        Shape (m,).
    """

    outputs: npt.NDArray[np.object_]
    times: F64
    measured: F64
    fitted: F64
    sigma: F64

    @classmethod
    def of(cls, table: pd.DataFrame) -> Samples:
        """Return the samples of the table ``fit.csv``."""
        known = table[table["measured"].notna()].sort_values(_KEYS, kind="stable")
        return cls(
            known[_KEYS[:2]].astype(str).to_numpy(dtype=np.object_),
            known["time"].to_numpy(dtype=np.float64),
            known["measured"].to_numpy(dtype=np.float64),
            known["fitted"].to_numpy(dtype=np.float64),
            known["sigma"].to_numpy(dtype=np.float64),
        )

    def fit(self, result: EstimationResult, sigma: F64 | None = None) -> Fit:
        """Return what criteria need; with another `sigma`, shape (m,), where it is given."""
        assert result.residuals is not None
        chosen = self.sigma if sigma is None else sigma
        return Fit(
            self.measured.size,
            float(np.sum(((self.measured - self.fitted) / chosen) ** 2)),
            float(np.sum(np.log(2.0 * np.pi * chosen**2))),
            sum(e.searched for e in result.estimates),
            not math.isnan(result.residuals.noise_ratio),
        )

    def series(self) -> list[F64]:
        """Return the residuals over sigma of each output, in order of time."""
        changes = (self.outputs[1:] != self.outputs[:-1]).any(axis=1)
        residuals = (self.measured - self.fitted) / self.sigma
        return np.split(residuals, np.flatnonzero(changes) + 1)

    def difference(self, other: Samples) -> str:
        """Return what the samples of another result are not the same in; empty for the same."""
        if len(self.outputs) != len(other.outputs):
            return f"there are {len(other.outputs)} of them, not {len(self.outputs)}"
        if (self.outputs != other.outputs).any():
            return "they are of other experiments or outputs"
        for what, mine, theirs in (
            ("instants", self.times, other.times),
            ("measured values", self.measured, other.measured),
        ):
            if not _equal(mine, theirs).all():
                return f"their {what} differ"
        return ""

    def same_noise(self, other: Samples, *, known: bool) -> bool:
        """Return whether both assume the same sigma; up to a factor where it is not known."""
        if known:
            return bool(_equal(self.sigma, other.sigma).all())
        ratio = other.sigma / self.sigma
        return bool(np.ptp(ratio) <= 10.0 * _SAME * ratio[0])


def _equal(one: F64, other: F64) -> npt.NDArray[np.bool_]:
    same: npt.NDArray[np.bool_] = np.abs(one - other) <= _SAME * np.maximum(
        np.abs(one), np.abs(other)
    )
    return same


def stored_table(folder: Path) -> pd.DataFrame | None:
    """Return ``fit.csv``, ``None`` where there is none that can be read."""
    import pandas as pd  # here, since it is slow to import and seldom needed

    try:
        table = pd.read_csv(folder / "fit.csv", dtype={"experiment": str, "output": str})
    except (OSError, ValueError):
        return None
    return table if set(table.columns) >= _WANTED else None


def table_of(result: EstimationResult) -> pd.DataFrame | None:
    """Return the same of a result in memory."""
    return fit_table(result.fits) if any(f.times.size for f in result.fits) else None


def why_not(result: EstimationResult, table: pd.DataFrame | None) -> str:
    """Return why a result has no likelihood at its maximum; empty where it has."""
    options = result.settings.get("options", {})
    loss = options.get("loss", "linear") if isinstance(options, dict) else "linear"
    if result.cost != "time-domain" or result.cost_options.get("normalisation", "none") != "none":
        return f"the cost '{result.cost}' is not a likelihood"
    if loss != "linear":
        return f"the loss '{loss}' is not the likelihood of Gaussian noise"
    if result.priors is not None:
        return "with priors its estimate is not the maximum of the likelihood"
    if result.draws is not None:
        return "its values are medians of draws, not the maximum of the likelihood"
    if result.residuals is None:
        return "the run ended before its residuals were judged"
    if table is None:
        return "there is no fit.csv beside its result.json"
    known = np.isfinite(table["measured"].to_numpy(dtype=np.float64))
    values = table.loc[known, ["fitted", "sigma"]].to_numpy(dtype=np.float64)
    if not values.size or not np.isfinite(values).all() or not (values[:, 1] > 0.0).all():
        return "its fit.csv lacks fitted values or sigma"
    return ""
