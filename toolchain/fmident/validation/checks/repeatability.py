"""Check that equal runs give equal results."""

from __future__ import annotations

import contextlib
import time
from itertools import pairwise

import numpy as np
import psutil  # type: ignore[import-untyped]

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.fmu import ModelDescription, Value
from fmident.validation.bench import Bench, Experiment
from fmident.validation.checks.accuracy import magnitudes
from fmident.validation.result import Check

ALLOWED = 1e-9
"""Largest difference between equal runs over a signal's range, for FMUs of other tools."""


ALLOWED_PER_RUN = 1024.0
"""Growth in bytes per run that is passed: an estimation of 10000 runs then takes 10 MB."""

FEWEST_RUNS = 25
"""Runs that a process must survive, or its growth cannot be bounded by replacing it."""

_ROWS = 11
_WARM_UP = 0.1
_PARTS = 4


def check_repeatability(bench: Bench) -> Check:
    """Run, run with other values, then run again after reset and in a new instance.

    An estimator compares runs whose parameters differ by a millionth: differences must stay
    below :data:`ALLOWED` of a signal's range. FMUs of the embedded compiler must agree bit
    for bit; an integrator of another tool may keep its step size over a reset.
    """
    name = "repeatability"
    experiment = bench.main
    # The shared instance is replaced where a reset is not clean: here that must show.
    with bench.new_simulator("trusted") as used:
        first = bench.simulate(experiment.setup, experiment.values, used)
        other = _other_values(bench, experiment)
        if other:
            with contextlib.suppress(FmidentError):  # only the run after it matters
                bench.simulate(experiment.setup, other, used)
        again = bench.simulate(experiment.setup, experiment.values, used)
    share, difference = _difference(bench.description, experiment, first, again)
    if share > _allowed(bench):
        return Check(name, "failed", f"{difference} after reset")
    with bench.new_simulator() as fresh:
        repeated = bench.simulate(experiment.setup, experiment.values, fresh)
    fresh_share, difference = _difference(bench.description, experiment, first, repeated)
    if fresh_share > _allowed(bench):
        return Check(name, "failed", f"{difference} in a fresh instance")
    between = "a run with other values, " if other else ""
    largest = max(share, fresh_share)
    equal = "equal to the last bit" if largest == 0.0 else f"within {largest:.1e} of range"
    return Check(name, "ok", f"{equal} after {between}reset, and in a fresh instance")


def _allowed(bench: Bench) -> float:
    return 0.0 if bench.description.is_own else ALLOWED


def _other_values(bench: Bench, experiment: Experiment) -> dict[str, Value]:
    for variable in bench.description.settable_parameters:
        value = experiment.values.get(variable.name, variable.start)
        if variable.type == "Real" and isinstance(value, float) and value != 0.0:
            changed = 1.01 * value
            if variable.maximum is not None and changed > variable.maximum:
                changed = 0.99 * value
            return {**experiment.values, variable.name: changed}
    return {}


def _difference(
    description: ModelDescription, experiment: Experiment, first: F64, second: F64
) -> tuple[float, str]:
    """Return the largest difference over its signal's range, and its description."""
    if np.array_equal(first, second):
        return 0.0, ""
    gaps = np.abs(second - first)
    size = magnitudes(first, experiment.setup.output_names, description).scale
    row, column = np.unravel_index(int(np.argmax(gaps / size)), gaps.shape)
    return float(gaps[row, column] / size[column]), (
        f"'{experiment.setup.output_names[column]}' differs by {gaps[row, column]:.3g} "
        f"at t = {experiment.setup.times[row]:g} s"
    )


def check_memory(bench: Bench) -> Check:
    """Run and reset many times; the process's resident memory must not grow steadily.

    Growth that estimations limit by replacing the instance or the worker process is a
    finding. FMUs of the embedded compiler must not grow at all.
    """
    name = "memory"
    marks, given_back = _measure(bench)
    if len(marks) < 2:
        done = marks[-1][0]
        return Check(name, "skipped", f"only {done} runs in {bench.plan.memory_budget:g} s")
    counted = marks[-1][0] - marks[0][0]
    growth = marks[-1][1] - marks[0][1]
    # What grows once is not a leak: each part of the runs must grow.
    per_run = min(
        (later[1] - earlier[1]) / max(later[0] - earlier[0], 1)
        for earlier, later in pairwise(marks)
    )
    detail = (
        f"{growth / 1024:+.0f} KiB over {counted} resets, "
        f"throughout at least {per_run:+.0f} bytes per run"
    )
    if counted < bench.plan.resets:
        detail += f"; ended after {bench.plan.memory_budget:g} s"
    if per_run <= ALLOWED_PER_RUN:
        return Check(name, "ok", detail, per_run)
    # The package of the executors takes long to load, and few FMUs need it here.
    from fmident.evaluation.executors.base import GROWTH_LIMIT

    tool = bench.description.generation_tool or "the tool that made it"
    runs = GROWTH_LIMIT / per_run
    if bench.description.is_own or runs < FEWEST_RUNS:
        return Check(name, "failed", f"{detail}; up to {ALLOWED_PER_RUN:.0f} are passed", per_run)
    back = given_back > 0.5 * growth
    detail += (
        f"; a finding about {tool}: its FMU loses memory in each run, and a new instance"
        f" {'gives it back' if back else 'does not give it back'}. fmident replaces"
        f" {'the instance' if back else 'the worker process'} about every {runs:.2g} runs, when"
        f" {GROWTH_LIMIT / 1024**2:.0f} MiB are lost"
    )
    return Check(name, "finding", detail, per_run)


def _measure(bench: Bench) -> tuple[list[tuple[int, float]], float]:
    """Return completed runs and resident bytes at some points, and the gain of a new instance."""
    experiment = bench.main
    setup = experiment.setup.shortened(_ROWS)
    runs = bench.plan.resets
    warm_up = max(1, int(_WARM_UP * runs))
    deadline = time.monotonic() + bench.plan.memory_budget
    done = 0
    marks: list[tuple[int, float]] = []
    parts = {warm_up + part * runs // _PARTS for part in range(_PARTS)}
    with bench.new_simulator("trusted") as simulator:
        while done < warm_up + runs:
            if done in parts:
                marks.append((done, _resident_bytes()))
            bench.simulate(setup, experiment.values, simulator)
            done += 1
            if time.monotonic() > deadline:
                break
        marks.append((done, _resident_bytes()))
        simulator.renew_instance()
        return marks, marks[-1][1] - _resident_bytes()


def _resident_bytes() -> float:
    return float(psutil.Process().memory_info().rss)
