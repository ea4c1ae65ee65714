"""Benchmark: searches side by side against one after the other, with two workers.

``least-squares`` starts from several points of a slide with LuGre friction (a stiff FMU, 325
samples, some 20 ms per simulation) with one and with two free parameters. A single search keeps
two workers busy for the columns of its Jacobian only, and one of them idle at every other
simulation; side by side, the searches simulate in joint batches. Both ways end in the same
results to the last bit, which is checked. They take turns, and the quickest round of each counts.
In this process, where nothing can be gained, the ratio shows what the turns of the searches cost,
in time of the processor, which a busy machine does not falsify.
What counting says, without clocks, is printed as well: simulations that two workers would have to
wait for one after the other.

    python benchmarks/multi_start.py [--starts N] [--rounds N]

Prints times and ratios. Ends with 1 when results differ, when two workers on two processors gain
less than a factor of 1.3 side by side with one parameter (with two, a Jacobian alone keeps both
busy), or when the searches in this process lose more than 5 %.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

import fmident
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import (
    Evaluator,
    Executor,
    InProcessExecutor,
    JacobianError,
    Outcomes,
    ProcessExecutor,
    SimulationTask,
)
from fmident.evaluation.journal import RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.operating_system import processors
from fmident.problem.model import Problem
from fmident_estimators.least_squares.estimator import LeastSquares

ROOT = Path(__file__).resolve().parents[1]
GAIN = 1.3
LOSS = 1.05
TRUE = {
    "sigma0": 1e5,
    "sigma1": 316.0,
    "viscousFriction": 0.4,
    "coulombForce": 1.0,
    "staticForce": 1.5,
    "stribeckSpeed": 1e-3,
}
FREE = ("coulombForce", "viscousFriction")

T = TypeVar("T")


class OneAfterTheOther(Evaluator):
    """Runs each search to its end before the next begins."""

    def side_by_side(
        self, searches: Sequence[Callable[[Evaluator], T]], *, most: int | None = None
    ) -> list[T | JacobianError]:
        """Run the searches."""
        return super().side_by_side(searches, most=1)


class Counting(InProcessExecutor):
    """Counts how often two workers would have to simulate at the same time."""

    rounds = 0

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run all tasks."""
        self.rounds += (len(tasks) + 1) // 2
        return super().run(tasks)


def counted(kind: type[Evaluator], problem: Problem, starts: int) -> int:
    """Return the simulations of an estimation that no two workers could run at the same time."""
    with Counting(problem) as executor:
        estimate(kind, problem, executor, starts)
        return executor.rounds


def with_free(problem: Problem, names: Sequence[str]) -> Problem:
    """Return the problem with all other parameters held at what the data were made with."""
    parameters = tuple(
        q if q.name in names else dataclasses.replace(q, initial=TRUE[q.name], fixed=True)
        for q in problem.parameters
    )
    return dataclasses.replace(problem, parameters=parameters)


def estimate(
    kind: type[Evaluator], problem: Problem, executor: Executor, starts: int
) -> tuple[float, EstimationResult]:
    """Return the time of an estimation without intervals, and its result.

    In this process it is time of the processor, else it is wall-clock time.
    """
    clock = time.process_time if isinstance(executor, InProcessExecutor) else time.perf_counter
    # What several searches ask for is simulated once either way, as in an estimation.
    evaluator = kind(problem, RecordedExecutor(executor, SimulationKeys(problem, b"")))
    began = clock()
    options = {"starts": starts, "max_iterations": 6}
    result = run_estimation(problem, evaluator, LeastSquares(), options, intervals=False)
    return clock() - began, result


def compare(
    problem: Problem, executor: Executor, starts: int, rounds: int
) -> tuple[list[float], EstimationResult, bool]:
    """Return the least times, one after the other first, a result, and whether all agree."""
    kinds = (OneAfterTheOther, Evaluator)
    best = np.full(2, np.inf)
    same = True
    results: list[EstimationResult] = []
    for turn in range(rounds + 1):
        for k, kind in enumerate(kinds):
            took, result = estimate(kind, problem, executor, starts)
            results.append(result)
            same &= compared(result) == compared(results[0])
            if turn:  # the first one warms up
                best[k] = min(best[k], took)
    return best.tolist(), results[0], same


def compared(result: EstimationResult) -> object:
    """Return what must agree to the last bit."""
    return result.values, result.settings["local_results"], result.simulations


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    whole = fmident.load_problem(ROOT / "examples" / "lugre" / "break-away-global.toml")
    settings = dataclasses.replace(whole.evaluation, workers=2)
    whole = dataclasses.replace(whole, evaluation=settings)
    good = True
    for count in (1, 2):
        problem = with_free(whole, FREE[:count])
        waits = [counted(k, problem, chosen.starts) for k in (OneAfterTheOther, Evaluator)]
        print(
            f"{count} free parameter{'s' if count > 1 else ''}, {chosen.starts} starts: two workers"
            f" wait {waits[0]} times one after the other, {waits[1]} times side by side, ratio "
            f"{waits[0] / waits[1]:.2f}"
        )
        for name, kind in (("two workers", ProcessExecutor), ("this process", InProcessExecutor)):
            made: Executor = kind(problem)
            with made as executor:
                (serial, joint), result, same = compare(
                    problem, executor, chosen.starts, chosen.rounds
                )
            print(
                f"  {name:12}: {1e3 * serial:7.0f} ms one after the other, "
                f"{1e3 * joint:7.0f} ms side by side, ratio {serial / joint:.2f}, "
                f"{result.simulations} simulations, "
                + ("same results" if same else "DIFFERENT RESULTS")
            )
            good &= same
            if kind is InProcessExecutor:
                good &= joint / serial <= LOSS
            elif processors() >= 2 and count == 1:
                good &= serial / joint >= GAIN
    print(f"required: ratio at least {GAIN:g} with two workers, {1 / LOSS:.2f} in this process")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
