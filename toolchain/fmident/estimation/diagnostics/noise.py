"""Which residuals share one noise, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.compared import CountedNoise, OutputNoise
from fmident.estimation.noise.prewhitened import finding_of
from fmident.problem.cost import MeasuredSignal, TimeDomain
from fmident.problem.residuals import measured_signals, residual_layout
from fmident.statistics.noise import (
    NoiseFinding,
    NoisyOutput,
    noise_found,
    outputs_of,
)

if TYPE_CHECKING:
    from fmident.problem.model import Problem
    from fmident.statistics import ParameterStatistics

_ROUNDING = 1e-9
"""Residuals smaller than this part of the measured range are rounding, or the solver's error."""


def noisy_outputs(
    problem: Problem, used: npt.NDArray[np.bool_] | None = None
) -> tuple[NoisyOutput, ...]:
    """Return which residuals share one noise: those of one output at one sampling rate.

    Parameters
    ----------
    problem
        With residuals sample by sample.
    used
        Residuals that count, shape (m,); rows are numbered among them. All by default.
    """
    layout = residual_layout(problem)
    chosen = np.ones(layout.size, dtype=np.bool_) if used is None else used
    number = np.cumsum(chosen) - 1

    def signals() -> Iterator[tuple[str, npt.NDArray[np.intp], F64]]:
        for i, experiment in enumerate(problem.experiments):
            for j, measurement in enumerate(experiment.measurements):
                rows = layout.rows_of(i, j)
                rows = rows[chosen[rows]]
                yield measurement.name, number[rows], layout.time[rows]

    return outputs_of(signals())


def noise_of(
    problem: Problem,
    residuals: F64,
    jacobian: F64,
    used: npt.NDArray[np.bool_] | None = None,
    *,
    counts: bool = True,
) -> NoiseFinding | None:
    """Return the noise of residuals where it is not white noise of one size.

    Parameters
    ----------
    problem
        Whose residuals they are.
    residuals, jacobian
        Those that count, shapes (m,) and (m, n).
    used
        Which of all residuals count; all by default.
    counts
        Whether it is wanted at all.

    Returns
    -------
    NoiseFinding or None
        ``None`` also where residuals do not belong to samples, and where they are rounding.
    """
    if not counts:
        return None
    modelled = finding_of(problem, residuals, jacobian)
    if modelled is not None:
        return modelled
    layout = residual_layout(problem)
    total = layout.size if used is None else used.size
    if not problem.cost.gives_intervals or not isinstance(problem.cost, TimeDomain):
        return None
    if (
        layout.size != total
        or not np.isfinite(jacobian).all()
        or _rounding(problem, residuals, used)
    ):
        return None
    return noise_found(
        noisy_outputs(problem, used), residuals, jacobian, sigma_known=problem.sigma_known
    )


def counted_noise(problem: Problem, statistics: ParameterStatistics | None) -> CountedNoise | None:
    """Return the noise that the standard errors count; ``None`` where that is white noise."""
    if statistics is None or statistics.linearisation.coloured is None:
        return None
    found, names = statistics.linearisation.coloured, [q.name for q in problem.free]
    modelled = found.whitened
    known = np.isfinite(statistics.standard_errors)
    white = statistics.linearisation.white_errors()

    def by_name(values: F64) -> dict[str, float]:
        each = zip(names, values, known, strict=True)
        return {name: float(value) for name, value, k in each if k}

    with np.errstate(divide="ignore", invalid="ignore"):
        factors = by_name(statistics.standard_errors / white)
    return CountedNoise(
        found.coloured,
        found.unequal,
        found.uneven,
        tuple(
            OutputNoise(
                o.name,
                o.samples,
                o.correlation,
                o.p_white,
                o.order,
                tuple(float(c) for c in o.coefficients),
                o.deviation,
                o.p_left,
            )
            for o in found.outputs
        ),
        found.sums is not None,
        {} if modelled else by_name(white),
        {} if modelled else factors,
        by_name(statistics.freedoms),
        modelled,
    )


def _rounding(problem: Problem, residuals: F64, used: npt.NDArray[np.bool_] | None) -> bool:
    """Return whether an output leaves nothing but rounding."""
    ranges = np.concatenate([_ranges(s) for s in measured_signals(problem)])
    if used is not None:
        ranges = ranges[used]
    small = np.abs(residuals) <= _ROUNDING * ranges
    return bool(np.mean(small) > 0.5)


def _ranges(signal: MeasuredSignal) -> F64:
    """Return for each sample how far the measured values reach, in units of residuals."""
    scaled = signal.scaled(signal.measured)
    return np.full(scaled.size, float(np.ptp(scaled)) if scaled.size else 0.0)
