"""Benchmark: two Dask workers of this machine against one, and what a simulation costs more.

A batch of simulations of about 10 ms each is run by one worker, by two workers, by one
process worker, and in this process. All four are warm and take turns, so that a busy
machine is busy for all; each has its least time of several rounds, since whatever else runs
can only add to it. A simulation is the cycle of examples/delta, repeated as often as it takes;
all its outputs come back, some hundred kilobytes.

    python benchmarks/dask_workers.py [--milliseconds T] [--simulations N] [--rounds N]

Prints times, overhead per simulation and the ratio. Ends with 1 when the results differ from
those of this process in any bit, or when two workers are less than 1.6 times as fast as one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

import fmident
from fmident.evaluation import (
    Executor,
    InProcessExecutor,
    ProcessExecutor,
    SimulationFailure,
    SimulationTask,
)
from fmident.problem.model import Problem
from fmident_dask import DaskExecutor

BAR = 1.6
PROBLEM = Path(__file__).resolve().parents[1] / "examples" / "delta" / "problem.toml"


def repeated(problem: Problem, times: float) -> Problem:
    """Return the problem with its cycle so many times in a row, whole or not."""
    (cycle,) = problem.experiments
    count = max(2, round(times * cycle.times.size))
    whole, rest = np.divmod(np.arange(count), cycle.times.size)
    period = cycle.times[-1] - cycle.times[0] + (cycle.times[1] - cycle.times[0])
    measurements = tuple(
        replace(m, values=m.values[rest], sigma=np.array(1.0)) for m in cycle.measurements
    )
    longer = replace(
        cycle,
        times=cycle.times[rest] + whole * period,
        inputs={name: values[rest] for name, values in cycle.inputs.items()},
        measurements=measurements,
    )
    return replace(problem, experiments=(longer,))


def make_tasks(problem: Problem, count: int) -> list[SimulationTask]:
    """Return tasks that differ a little in all parameters."""
    return [
        SimulationTask(
            0, {str(p.variable): p.initial * (1.0 + 1e-6 * k) for p in problem.parameters}
        )
        for k in range(count)
    ]


def sized(problem: Problem, seconds: float) -> Problem:
    """Return the problem whose simulation takes about the time asked for."""
    with InProcessExecutor(problem) as executor:
        tasks = make_tasks(problem, 10)
        executor.run_all(tasks)
        each = min(timed(executor, [task]) for task in tasks)
    return repeated(problem, seconds / each)


def timed(executor: Executor, tasks: Sequence[SimulationTask]) -> float:
    """Return the seconds that a batch takes."""
    begin = time.perf_counter()
    executor.run_all(tasks)
    return time.perf_counter() - begin


def agree(executors: dict[str, Executor], tasks: Sequence[SimulationTask]) -> bool:
    """Return whether all give the same bits; this also warms them up."""
    found = {name: executor.run_all(tasks) for name, executor in executors.items()}
    expected = found.pop("this process")
    return all(
        not isinstance(one, SimulationFailure)
        and not isinstance(other, SimulationFailure)
        and one.tobytes() == other.tobytes()
        for outcomes in found.values()
        for one, other in zip(outcomes, expected, strict=True)
    )


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--milliseconds", type=float, default=10.0)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    problem = fmident.load_problem(PROBLEM)
    settings = replace(problem.evaluation, executor="dask", workers=1)
    problem = sized(replace(problem, evaluation=settings), 1e-3 * chosen.milliseconds)
    tasks = make_tasks(problem, chosen.simulations)
    two = replace(problem, evaluation=replace(problem.evaluation, workers=2))
    with ExitStack() as stack:
        executors: dict[str, Executor] = {
            "this process": InProcessExecutor(problem),
            "one process worker": ProcessExecutor(problem),
            "one Dask worker": DaskExecutor(problem),
            "two Dask workers": DaskExecutor(two),
        }
        for executor in executors.values():
            stack.enter_context(executor)
        same = all(agree(executors, tasks) for _ in range(2))
        least = dict.fromkeys(executors, np.inf)
        for _ in range(chosen.rounds):
            for name, executor in executors.items():
                least[name] = min(least[name], timed(executor, tasks))
    shape = (problem.experiments[0].times.size, len(problem.experiments[0].measurements))
    each = least["this process"] / len(tasks)
    print(
        f"{problem.fmu.name}: {len(tasks)} simulations of {1e3 * each:.1f} ms,"
        f" {shape[0]} instants x {shape[1]} outputs ({8e-3 * shape[0] * shape[1]:.0f} kB) each;"
        f" least of {chosen.rounds} rounds; {os.cpu_count()} processors,"
        f" load {os.getloadavg()[0]:.1f}"
    )
    for name, seconds in least.items():
        more = "" if name == "this process" else f"  {1e3 * (seconds / len(tasks) - each):+8.3f} ms"
        print(f"{name:20s} {1e3 * seconds / len(tasks):8.3f} ms per simulation{more}")
    ratio = least["one Dask worker"] / least["two Dask workers"]
    print(f"two Dask workers / one: {ratio:.2f} times as fast (bar {BAR})")
    print("results: the same to the last bit" if same else "results DIFFER")
    return 0 if same and ratio >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
