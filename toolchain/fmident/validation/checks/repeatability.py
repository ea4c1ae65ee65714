"""Whether the same run gives the same result."""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.fmu import ModelDescription, Simulator, Value
from fmident.validation.bench import Bench, Experiment
from fmident.validation.check import Check
from fmident.validation.checks.accuracy import magnitudes

ALLOWED = 1e-9
"""Largest difference between equal runs over a signal's range, for FMUs of other tools."""


def check_repeatability(bench: Bench) -> Check:
    """Run, run with other values, run again after reset and in a fresh instance.

    An estimator compares runs whose parameters differ by a millionth: differences must stay
    below :data:`ALLOWED` of a signal's range. FMUs of the embedded compiler agree to the last bit,
    and must; an integrator of another tool may keep its step size over a reset.
    """
    name = "repeatability"
    try:
        experiment = bench.main
        # The shared instance is replaced where a reset is not clean: here that must show.
        with bench.new_simulator("trusted") as used:
            first = bench.simulate(experiment.setup, experiment.values, used)
            other = _other_values(bench, experiment)
            if other:
                _simulate_or_ignore(bench, experiment, other, used)
            again = bench.simulate(experiment.setup, experiment.values, used)
        share, difference = _difference(bench.description, experiment, first, again)
        if share > _allowed(bench):
            return Check(name, "failed", f"{difference} after reset")
        with bench.new_simulator() as fresh:
            anew = bench.simulate(experiment.setup, experiment.values, fresh)
        fresh_share, difference = _difference(bench.description, experiment, first, anew)
        if fresh_share > _allowed(bench):
            return Check(name, "failed", f"{difference} in a fresh instance")
    except FmidentError as error:
        return Check(name, "failed", error.message)
    between = "a run with other values, " if other else ""
    largest = max(share, fresh_share)
    equal = "equal to the last bit" if largest == 0.0 else f"within {largest:.1e} of range"
    return Check(name, "ok", f"{equal} after {between}reset, and in a fresh instance")


def _allowed(bench: Bench) -> float:
    return 0.0 if bench.description.is_own else ALLOWED


def _other_values(bench: Bench, experiment: Experiment) -> dict[str, Value]:
    """Return values that leave other traces in the instance: one parameter 1 % off."""
    for variable in bench.description.settable_parameters:
        value = experiment.values.get(variable.name, variable.start)
        if variable.type == "Real" and isinstance(value, float) and value != 0.0:
            changed = 1.01 * value
            if variable.maximum is not None and changed > variable.maximum:
                changed = 0.99 * value
            return {**experiment.values, variable.name: changed}
    return {}


def _simulate_or_ignore(
    bench: Bench, experiment: Experiment, values: dict[str, Value], simulator: Simulator
) -> None:
    """Run with other values; that this run may fail is not the business of this check."""
    try:
        bench.simulate(experiment.setup, values, simulator)
    except FmidentError:
        return


def _difference(
    description: ModelDescription, experiment: Experiment, first: F64, second: F64
) -> tuple[float, str]:
    """Return the largest difference over its signal's range, and the same in words."""
    if np.array_equal(first, second):
        return 0.0, ""
    gaps = np.abs(second - first)
    size = magnitudes(first, experiment.setup.output_names, description).scale
    row, column = np.unravel_index(int(np.argmax(gaps / size)), gaps.shape)
    return float(gaps[row, column] / size[column]), (
        f"'{experiment.setup.output_names[column]}' differs by {gaps[row, column]:.3g} "
        f"at t = {experiment.setup.times[row]:g} s"
    )
