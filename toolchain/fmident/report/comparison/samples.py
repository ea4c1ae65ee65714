"""Samples of a result, as needed for criteria and tests of models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from fmident.arrays import F64
from fmident.report.tables import fit_table
from fmident.statistics.choice import Fit, ModelledLikelihood, modelled_likelihood
from fmident.statistics.noise import NoisyOutput, outputs_of

if TYPE_CHECKING:
    from fmident.estimation.result import CountedNoise, EstimationResult

_SAME = 1e-8
"""Relative difference of numbers in ``fit.csv`` from rounding."""

_KEYS = ["experiment", "output", "time"]
_WANTED = {*_KEYS, "measured", "fitted", "sigma"}


@dataclass(frozen=True, eq=False)
class Samples:
    """Compared samples, sorted by experiment, output and time.

    `outputs` has the experiment and output of each, shape (m, 2); the other fields have
    shape (m,).
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
        """Return the data for criteria; with another `sigma`, shape (m,), if given."""
        assert result.residuals is not None
        chosen = self.sigma if sigma is None else sigma
        residuals = (self.measured - self.fitted) / chosen
        constant = float(np.sum(np.log(2.0 * np.pi * chosen**2)))
        searched = sum(e.searched for e in result.estimates)
        likelihood = self._modelled(result)
        if likelihood is not None:
            rest = likelihood.deviance - residuals.size * (1.0 + math.log(2.0 * math.pi))
            return Fit(
                residuals.size, float(residuals.size), constant + rest, searched, False,
                likelihood.unknowns,
            )  # fmt: skip
        known = not math.isnan(result.residuals.noise_ratio)
        return Fit(residuals.size, float(np.sum(residuals**2)), constant, searched, known)

    def series(self, result: EstimationResult) -> list[F64]:
        """Return the series of each output that should be white, in order of time.

        These are the residuals over sigma, or the innovations of a noise model.
        """
        likelihood = self._modelled(result)
        changes = (self.outputs[1:] != self.outputs[:-1]).any(axis=1)
        white = self._residuals if likelihood is None else likelihood.innovations
        return np.split(white, np.flatnonzero(changes) + 1)

    @property
    def _residuals(self) -> F64:
        return (self.measured - self.fitted) / self.sigma

    def _modelled(self, result: EstimationResult) -> ModelledLikelihood | None:
        """Return the likelihood of a result's noise model; ``None`` without one."""
        noise = modelled_noise(result)
        if noise is None:
            return None
        outputs = self.noisy_outputs(result)
        own = {o.name: np.array(o.coefficients) for o in noise.outputs}
        return modelled_likelihood(outputs, [own[o.name] for o in outputs], self._residuals)

    def noisy_outputs(self, result: EstimationResult) -> tuple[NoisyOutput, ...]:
        """Return which residuals share one noise, in the order of the result."""

        def signals() -> Iterator[tuple[str, npt.NDArray[np.intp], F64]]:
            for fit in result.fits:
                same = (self.outputs == [fit.experiment, fit.name]).all(axis=1)
                rows = np.flatnonzero(same)
                yield fit.name, rows, self.times[rows]

        return outputs_of(signals())

    def difference(self, other: Samples) -> str:
        """Return how the samples differ from those of another result; empty if they do not."""
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
        """Return whether both assume the same sigma, up to a factor if it is unknown."""
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
    """Return ``fit.csv``, or ``None`` if there is no readable one."""
    try:
        # A name such as "NA" is a name, not a gap.
        table = pd.read_csv(
            folder / "fit.csv",
            dtype={"experiment": str, "output": str},
            keep_default_na=False,
            na_values={
                name: ["", "nan"] for name in (*_WANTED, "initial") if name not in _KEYS[:2]
            },
        )
    except (OSError, ValueError):
        return None
    return table if set(table.columns) >= _WANTED else None


def table_of(result: EstimationResult) -> pd.DataFrame | None:
    """Return the table ``fit.csv`` of a result in memory."""
    return fit_table(result.fits) if any(f.times.size for f in result.fits) else None


def modelled_noise(result: EstimationResult) -> CountedNoise | None:
    """Return the noise estimated with the parameters; ``None`` if it was not."""
    noise = result.noise
    return noise if noise is not None and noise.modelled else None


def why_not(result: EstimationResult, table: pd.DataFrame | None) -> str:
    """Return why a result has no maximum likelihood; empty if it has."""
    options = result.settings.get("options", {})
    loss = options.get("loss", "linear") if isinstance(options, dict) else "linear"
    if result.cost != "time-domain" or result.cost_options.get("normalisation", "none") != "none":
        return f"the cost '{result.cost}' is not a likelihood"
    if loss != "linear":
        return f"the loss '{loss}' is not the likelihood of Gaussian noise"
    if result.priors is not None:
        return "with priors its estimate is not the maximum of the likelihood"
    if result.truncation is not None:
        return "it held at the start what the data do not determine, and is not the maximum"
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
    noise = modelled_noise(result)
    if noise is not None and noise.waves:
        held = ", ".join(map(str, noise.waves))
        return f"its model of the noise holds {held}, of which comparison knows no likelihood"
    if noise is not None:
        there = {o.name: o.size for o in Samples.of(table).noisy_outputs(result)}
        if there != {o.name: o.samples for o in noise.outputs}:
            return "its model of the noise is not one of the samples in its fit.csv"
    return ""
