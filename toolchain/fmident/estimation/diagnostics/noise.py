"""Groups of residuals with a common noise, and its properties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.compared import RepeatedResiduals
from fmident.estimation.diagnostics.disturbances import placed_waves, step_of
from fmident.estimation.noise.counted import CountedNoise, CountedWave, OutputNoise, SharedNoise
from fmident.estimation.noise.prewhitened import finding_of
from fmident.problem.cost import MeasuredSignal, TimeDomain
from fmident.problem.residuals import measured_signals, residual_layout
from fmident.statistics.noise import (
    NoiseFinding,
    NoisyOutput,
    Steps,
    Wave,
    factor_of,
    fit_noise,
    noise_found,
    outputs_of,
    repetitions,
)

if TYPE_CHECKING:
    from fmident.problem.model import Problem
    from fmident.statistics import ParameterStatistics

_FINE = 1.0
"""Steps of a sensor in standard deviations of the residuals, below which they leave no wave: other
noise mixes it up."""

_COMMON = 0.5
"""Samples of an output over those of the output with most, from which on it is compared with it."""

_ROUNDING = 1e-9
"""Residuals smaller than this part of the measured range are rounding, or the solver's error."""


def noisy_outputs(
    problem: Problem, used: npt.NDArray[np.bool_] | None = None
) -> tuple[NoisyOutput, ...]:
    """Return the residuals of each noise: those of one output at one sampling rate.

    Rows are numbered among the residuals that count, marked by `used`; all by default.
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

    records = [i for i, e in enumerate(problem.experiments) for _ in e.measurements]
    return outputs_of(signals(), records)


def sampled_together(
    problem: Problem, used: npt.NDArray[np.bool_] | None = None
) -> list[npt.NDArray[np.intp]]:
    """Return rows of samples of several outputs at the same instants, by experiment.

    Each item has the shape (k, outputs); there is none for experiments with a single
    output. Outputs with far fewer samples than others are left out. `used` marks residuals
    that count, shape (m,), all by default; rows are numbered among them.
    """
    layout = residual_layout(problem)
    chosen = np.ones(layout.size, dtype=np.bool_) if used is None else used
    number = np.cumsum(chosen) - 1
    samples = []
    for i, experiment in enumerate(problem.experiments):
        each = [layout.rows_of(i, j) for j in range(len(experiment.measurements))]
        each = [rows[chosen[rows]] for rows in each]
        most = max((rows.size for rows in each), default=0)
        each = [rows for rows in each if rows.size >= max(_COMMON * most, 1)]
        if len(each) < 2:
            continue
        common = reduce(np.intersect1d, [layout.sample[rows] for rows in each])
        there = [rows[np.isin(layout.sample[rows], common)] for rows in each]
        if common.size:
            samples.append(number[np.column_stack(there)])
    return samples


def coarse_sensors(
    problem: Problem, residuals: F64, used: npt.NDArray[np.bool_] | None = None
) -> list[Steps]:
    """Return the outputs whose measured values come in steps; `used` marks residuals."""
    layout = residual_layout(problem)
    chosen = np.ones(layout.size, dtype=np.bool_) if used is None else used
    number = np.cumsum(chosen) - 1
    sensors, signals = [], iter(measured_signals(problem))
    for i, experiment in enumerate(problem.experiments):
        for j in range(len(experiment.measurements)):
            signal, rows = next(signals), layout.rows_of(i, j)
            there = chosen[rows]
            measured, own = signal.measured[signal.rows], number[rows[there]]
            step = step_of(measured)
            if step > 0.0 and own.size:
                left = residuals[own] / signal.scaled(np.ones(signal.measured.size))[there]
                if step > _FINE * float(np.std(left)):
                    sensors.append(Steps(own, measured[there] - left, step))
    return sensors


def repeated_residuals(
    problem: Problem, residuals: F64, statistics: ParameterStatistics
) -> tuple[RepeatedResiduals, ...]:
    """Return the outputs whose residuals recur in other experiments."""
    linear, layout = statistics.linearisation, residual_layout(problem)
    jacobian, noise = linear.data_jacobian, linear.coloured
    if len(problem.experiments) < 2 or not problem.cost.gives_intervals:
        return ()
    if not layout.size == residuals.size == len(jacobian) or not np.isfinite(jacobian).all():
        return ()
    if (noise is None and not isinstance(problem.cost, TimeDomain)) or _rounding(
        problem, residuals, None
    ):
        return ()
    outputs = noisy_outputs(problem)
    if noise is None:  # what is too weak to be seen in each is there all the same
        innovations = fit_noise(outputs, residuals, jacobian, ["auto"] * len(outputs)).whiten(
            residuals
        )
    else:
        innovations = residuals if noise.whitened else noise.model.whiten(residuals)
    names = np.empty(layout.size, dtype=object)
    for i, experiment in enumerate(problem.experiments):
        for j in range(len(experiment.measurements)):
            names[layout.rows_of(i, j)] = experiment.name
    each = []
    for repeat in repetitions(outputs, innovations):
        output = outputs[repeat.output]
        where = tuple(str(names[output.series[k].rows[0]]) for k in repeat.series)
        each.append(RepeatedResiduals(output.measurement, where, repeat.correlation))
    return tuple(each)


def noise_of(
    problem: Problem,
    residuals: F64,
    jacobian: F64,
    used: npt.NDArray[np.bool_] | None = None,
    *,
    counts: bool = True,
) -> NoiseFinding | None:
    """Return the noise of residuals if it is not white noise of one size.

    ``None`` also if residuals do not belong to samples, or are only rounding errors.
    `residuals` and `jacobian` have only rows that count, marked by `used`; `counts` says
    whether the noise is requested at all.
    """
    if not counts:
        return None
    modelled = finding_of(problem, residuals, jacobian, sampled_together(problem, used))
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
        noisy_outputs(problem, used),
        residuals,
        jacobian,
        sigma_known=problem.sigma_known,
        steps=coarse_sensors(problem, residuals, used),
        together=sampled_together(problem, used),
    )


def counted_noise(problem: Problem, statistics: ParameterStatistics | None) -> CountedNoise | None:
    """Return the noise that the standard errors include; ``None`` if that is white noise."""
    if statistics is None or statistics.linearisation.coloured is None:
        return None
    noise, names = statistics.linearisation.coloured, [q.name for q in problem.free]
    modelled = noise.whitened
    known = np.isfinite(statistics.standard_errors)
    white = statistics.linearisation.white_errors()

    def by_name(values: F64) -> dict[str, float]:
        each = zip(names, values, known, strict=True)
        return {name: float(value) for name, value, k in each if k}

    with np.errstate(divide="ignore", invalid="ignore"):
        factors = by_name(statistics.standard_errors / white)
    return CountedNoise(
        noise.coloured,
        noise.unequal,
        noise.uneven,
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
            for o in noise.outputs
        ),
        noise.sums is not None,
        {} if modelled else by_name(white),
        {} if modelled else factors,
        by_name(statistics.freedoms),
        modelled,
        _counted_waves(problem, statistics, noise),
        _shared_noise(noise),
    )


def _counted_waves(
    problem: Problem, statistics: ParameterStatistics, found: NoiseFinding
) -> tuple[CountedWave, ...]:
    """Return the waves in the standard errors, one per frequency, and their share in them."""
    if found.sums is not None:
        return ()
    linear, names = statistics.linearisation, [q.name for q in problem.free]
    places = placed_waves(problem, found)
    groups: dict[tuple[tuple[str, ...], str, str], list[tuple[tuple[Wave, ...], CountedWave]]] = {}
    placed = {id(wave): (output, unit, scale) for wave, output, unit, scale in places}
    for together in found.model.groups:
        wave = max(together, key=lambda w: w.amplitude)
        output, unit, scale = placed[id(wave)]
        others = tuple(sorted(placed[id(w)][0] for w in together if w is not wave))
        size = wave.frequency if wave.kind == "tone" else wave.step
        counted = CountedWave(output, wave.kind, size, wave.amplitude / scale, unit, others=others)
        outputs = tuple(sorted([output, *others]))
        groups.setdefault((outputs, wave.kind, f"{size:.3g}"), []).append((together, counted))
    waves = []
    for group in groups.values():
        strongest = max((c for _, c in group), key=lambda c: c.amplitude)
        strongest = replace(strongest, driven=any(w.driven for g, _ in group for w in g))
        if not found.whitened:
            variances = np.zeros(len(names))
            for together, _ in group:
                columns = factor_of(together, linear.residuals.size)
                variances += np.sum(linear.answer(columns) ** 2, axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.nan_to_num(variances / statistics.standard_errors**2)
            most = int(np.argmax(shares))
            strongest = replace(strongest, share=float(shares[most]), parameter=names[most])
        waves.append(strongest)
    return tuple(waves)


def _shared_noise(found: NoiseFinding) -> tuple[SharedNoise, ...]:
    """Return which outputs have noise in common, each pair where it is strongest."""
    pairs: dict[tuple[str, str], float] = {}
    for shared in found.model.shared:
        names = [_output_of(found, int(row)) for row in shared.rows[0]]
        for i, j in shared.pairs:
            value, pair = float(shared.correlation[i, j]), (names[i], names[j])
            pairs[pair] = max(value, pairs.get(pair, 0.0), key=abs)
    each = sorted(pairs.items(), key=lambda item: -abs(item[1]))
    return tuple(SharedNoise(*names, value) for names, value in each)


def _output_of(found: NoiseFinding, row: int) -> str:
    outputs = found.model.outputs
    own = next(o for o in outputs if any(bool((s.rows == row).any()) for s in o.series))
    return own.measurement


def _rounding(problem: Problem, residuals: F64, used: npt.NDArray[np.bool_] | None) -> bool:
    """Return whether the residuals of an output are only rounding errors."""
    ranges = np.concatenate([_ranges(s) for s in measured_signals(problem)])
    if used is not None:
        ranges = ranges[used]
    small = np.abs(residuals) <= _ROUNDING * ranges
    return bool(np.mean(small) > 0.5)


def _ranges(signal: MeasuredSignal) -> F64:
    """Return for each sample the range of the measured values, in units of residuals."""
    scaled = signal.scaled(signal.measured)
    return np.full(scaled.size, float(np.ptp(scaled)) if scaled.size else 0.0)
