"""Check that the FMU follows a recorded trajectory within a tube in time and value.

A signal is inside if at each instant t it lies within ``width`` (times the range of the
reference) of a value that the reference takes between ``t - time_width`` and ``t +
time_width``; between its samples the reference is a straight line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.validation.bench import Bench
from fmident.validation.fmu_plan import Reference
from fmident.validation.result import Check

_NO_RANGE = 1e-12


def check_reference(bench: Bench, reference: Reference, name: str) -> Check:
    """Reproduce the recording; every signal must stay in the tube around it."""
    asked, recording = reference.experiment, reference.recording
    experiment = bench.reference(reference)
    outputs = bench.simulate(experiment.setup, experiment.values)[:: experiment.stride]
    assert experiment.expected is not None  # an experiment of a reference has it
    excesses: list[tuple[float, str, Excess]] = []
    for column, signal in enumerate(experiment.setup.output_names):
        excess = largest_excess(
            recording.times,
            experiment.expected[:, column],
            recording.times,
            outputs[:, column],
            asked.tube_time,
        )
        excesses.append((excess.deviation / asked.tubes.get(signal, asked.tube), signal, excess))
    share, signal, worst = max(excesses, key=lambda item: item[0])
    figure = max(excess.deviation for _, _, excess in excesses)
    allowed = asked.tubes.get(signal, asked.tube)
    detail = (
        f"'{signal}' deviates most: {worst.deviation:.1e} of its range at t = {worst.time:g} s, "
        f"allowed {allowed:.0e}; {len(excesses)} signals, {recording.times.size} instants"
    )
    passed = share <= 1.0
    if not passed:
        others = [s for other, s, _ in excesses if other > 1.0 and s != signal]
        detail += f"; there it is {worst.value:.9g}, the reference {_interval(worst)}"
        detail += f"; outside too: {', '.join(others)}" if others else ""
    given = {*experiment.setup.input_names, *experiment.values}
    held = [v.name for v in bench.description.inputs if v.name not in given]
    if held:
        detail += f"; without a column, inputs keep their start values: {', '.join(held)}"
    if experiment.left_out and not reference.strict:
        detail += f"; not in the FMU: {', '.join(experiment.left_out)}"
    return Check(name, "ok" if passed else "failed", detail, figure)


def _interval(excess: Excess) -> str:
    if excess.low == excess.high:
        return f"{excess.low:.9g}"
    return f"{excess.low:.9g} to {excess.high:.9g}"


@dataclass(frozen=True)
class Excess:
    """Point of a signal's largest deviation from its reference.

    `deviation` is the distance from the values of the reference within the time width, over
    its range; infinite if the signal is not finite. `value` is the signal there, and `low`
    to `high` the range of the reference around it.
    """

    deviation: float
    time: float
    value: float
    low: float
    high: float


def scale_of(reference: F64) -> float:
    """Return the reference of deviations: range, else magnitude, else 1.

    A constant signal is compared relative to its magnitude, a zero signal absolutely.
    """
    span = float(np.ptp(reference))
    size = float(np.max(np.abs(reference)))
    if span > _NO_RANGE * max(size, 1.0):
        return span
    return size if size > _NO_RANGE else 1.0


def band(times: F64, reference: F64, at: F64, time_width: float) -> tuple[F64, F64]:
    """Return the minimum and maximum of the reference around each instant `at`, shape (m,).

    `times` are increasing, shape (n,), and `time_width` is a half width, s.
    """
    centre = np.interp(at, times, reference)
    if time_width <= 0.0:
        return centre, centre
    left = np.interp(at - time_width, times, reference)
    right = np.interp(at + time_width, times, reference)
    low = np.minimum(np.minimum(left, right), centre)
    high = np.maximum(np.maximum(left, right), centre)
    first = np.searchsorted(times, at - time_width, side="left")
    last = np.searchsorted(times, at + time_width, side="right")
    inside = last > first
    if inside.any():
        # reduceat takes [first, last) pairs; every second result is of the gap between.
        pairs = np.column_stack([first, last])[inside].ravel()
        padded = np.append(reference, reference[-1])
        low[inside] = np.minimum(low[inside], np.minimum.reduceat(padded, pairs)[::2])
        high[inside] = np.maximum(high[inside], np.maximum.reduceat(padded, pairs)[::2])
    return low, high


def largest_excess(
    times: F64, reference: F64, at: F64, values: F64, time_width: float = 0.0
) -> Excess:
    """Return where `values` at the instants `at` deviate most from the reference.

    They have shape (m,); `times` and `reference` have shape (n,), and `time_width` is the
    half width of the tube in time, s.
    """
    low, high = band(times, reference, at, time_width)
    outside = np.maximum(np.maximum(values - high, low - values), 0.0)
    outside = np.where(np.isfinite(values), outside, np.inf)
    worst = int(np.argmax(outside))
    return Excess(
        float(outside[worst]) / scale_of(reference),
        float(at[worst]),
        float(values[worst]),
        float(low[worst]),
        float(high[worst]),
    )
