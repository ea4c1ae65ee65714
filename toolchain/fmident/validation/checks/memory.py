"""Whether the FMU gives back the memory that it takes."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from itertools import pairwise

from fmident.errors import FmidentError
from fmident.fmu import SimulationSetup
from fmident.operating_system import resident_bytes
from fmident.validation.bench import Bench
from fmident.validation.check import Check

ALLOWED_PER_RUN = 1024.0
"""Growth in bytes per run that is passed: an estimation of 10000 runs then takes 10 MB."""

FEWEST_RUNS = 25
"""A process must survive so many runs, or its growth cannot be bounded by replacing it."""

_ROWS = 11
_WARM_UP = 0.1
_PARTS = 4


def check_memory(bench: Bench) -> Check:
    """Run and reset many times; the process's resident memory must not grow steadily.

    Growth that estimations bound, by replacing the instance or the worker process, is a finding.
    FMUs of the embedded compiler must not grow at all.
    """
    name = "memory"
    if resident_bytes() is None:
        return Check(name, "skipped", f"cannot be measured on {sys.platform}")
    try:
        marks, given_back = _measure(bench)
    except FmidentError as error:
        return Check(name, "failed", error.message)
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
    from fmident.evaluation.executors.resident import GROWTH_LIMIT

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
    """Return runs done and resident bytes at some marks, and what a new instance gives back."""
    experiment = bench.main
    setup = _short(experiment.setup)
    runs = bench.plan.resets
    warm_up = max(1, int(_WARM_UP * runs))
    deadline = time.monotonic() + bench.plan.memory_budget
    done = 0
    marks: list[tuple[int, float]] = []
    parts = {warm_up + part * runs // _PARTS for part in range(_PARTS)}
    with bench.new_simulator("trusted") as simulator:
        while done < warm_up + runs:
            if done in parts:
                marks.append((done, resident_bytes() or 0.0))
            bench.simulate(setup, experiment.values, simulator)
            done += 1
            if time.monotonic() > deadline:
                break
        marks.append((done, resident_bytes() or 0.0))
        simulator.renew_instance()
        return marks, marks[-1][1] - (resident_bytes() or 0.0)


def _short(setup: SimulationSetup) -> SimulationSetup:
    assert setup.inputs is not None  # set by SimulationSetup itself
    return replace(setup, times=setup.times[:_ROWS], inputs=setup.inputs[:_ROWS])
