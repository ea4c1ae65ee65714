"""Benchmark: worker processes against simulations in this process, and two workers against one.

The delta robot's inverse dynamics (6250 samples, 3 outputs) is simulated with parameters that
differ from run to run. *Overhead* is what a simulation costs more with one worker than in this
process: in time of the processor, of both processes, which a busy machine does not falsify, and
in wall-clock time, which it does. It is measured with a run of two samples as well, where hardly
anything is simulated. *Speed-up* is the wall-clock time with one worker over that with two. The
kinds take turns, and the quickest round of each counts.

    python benchmarks/workers.py [--simulations N] [--rounds N]

Prints times and ratios. Ends with 1 when the overhead in time of the processor is 0.3 ms or more,
or when two workers on two processors are less than 1.8 times as fast as one.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path

import numpy as np

import fmident
from fmident.data.experiment import Experiment
from fmident.evaluation import (
    Executor,
    InProcessExecutor,
    ProcessExecutor,
    SimulationFailure,
    SimulationTask,
)
from fmident.operating_system import processors
from fmident.problem.model import Problem
from fmident.problem.residuals import parameter_values_for

ROOT = Path(__file__).resolve().parents[1]
OVERHEAD = 0.3e-3
SPEED_UP = 1.8


def tasks_of(problem: Problem, count: int) -> list[SimulationTask]:
    """Return tasks, each with parameters of its own."""
    factors = np.random.default_rng(1).uniform(0.9, 1.1, (count, len(problem.free)))
    experiment = problem.experiments[0]
    return [
        SimulationTask(0, parameter_values_for(problem, experiment, f * problem.initial))
        for f in factors
    ]


def shortened(problem: Problem, samples: int) -> Problem:
    """Return the problem with the first samples only."""
    whole = problem.experiments[0]
    inputs = {name: values[:samples] for name, values in whole.inputs.items()}
    measurements = tuple(
        dataclasses.replace(m, values=m.values[:samples]) for m in whole.measurements
    )
    short = Experiment(whole.name, whole.times[:samples], inputs, measurements)
    return dataclasses.replace(problem, experiments=(short,))


def seconds(executor: Executor, tasks: list[SimulationTask]) -> tuple[float, float]:
    """Return the wall-clock time of one batch, and the time of the processor."""
    pids = executor.pids if isinstance(executor, ProcessExecutor) else ()
    spent = time.process_time() + used(pids)
    began = time.perf_counter()
    found = executor.run_all(tasks)
    took = time.perf_counter() - began
    assert not any(isinstance(outcome, SimulationFailure) for outcome in found)
    return took, time.process_time() + used(pids) - spent


def used(pids: tuple[int, ...]) -> float:
    """Return the time of the processor that other processes have had, all their threads."""
    threads = [path for p in pids for path in Path(f"/proc/{p}/task").iterdir()]
    return sum(1e-9 * int((path / "schedstat").read_text().split()[0]) for path in threads)


def compare(
    problem: Problem, simulations: int, rounds: int, kinds: tuple[int, ...]
) -> list[list[float]]:
    """Return the least times per simulation of each kind: so many workers, 0 for none."""
    tasks = tasks_of(problem, simulations)
    executors: list[Executor] = []
    try:
        for workers in kinds:
            settings = dataclasses.replace(problem.evaluation, workers=workers or None)
            chosen = dataclasses.replace(problem, evaluation=settings)
            kind = ProcessExecutor if workers else InProcessExecutor
            executors.append(kind(chosen))
            executors[-1].run_all(tasks[:8])
        best = np.full((len(executors), 2), np.inf)
        for _ in range(rounds):
            for k, executor in enumerate(executors):
                best[k] = np.minimum(best[k], seconds(executor, tasks))
    finally:
        for executor in executors:
            executor.close()
    found: list[list[float]] = (best / simulations).tolist()
    return found


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=300, help="per round")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    problem = fmident.load_problem(ROOT / "examples" / "delta" / "problem.toml")
    good = True
    for name, case in (("6250 samples", problem), ("2 samples", shortened(problem, 2))):
        here, one = compare(case, chosen.simulations, chosen.rounds, (0, 1))
        good &= one[1] - here[1] < OVERHEAD
        print(name)
        for kind, k in (("wall clock", 0), ("processor", 1)):
            print(
                f"  {kind:12}{1e3 * here[k]:9.3f} ms in this process{1e3 * one[k]:9.3f} ms in one"
                f" worker{1e3 * (one[k] - here[k]):9.3f} ms overhead"
            )
    (single, _), (double, _) = compare(problem, chosen.simulations, chosen.rounds, (1, 2))
    print(
        f"two workers are {single / double:.2f} times as fast as one, on {processors()} processors"
    )
    if processors() >= 2:
        good &= single / double >= SPEED_UP
    print(f"required: overhead below {1e3 * OVERHEAD:g} ms, speed-up at least {SPEED_UP:g}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
