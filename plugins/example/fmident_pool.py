"""Simulates in a pool of processes of Python's standard library: the smallest executor."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import cpu_count, get_context
from typing import Any, Literal

from fmident.evaluation import (
    Executor,
    ExecutorKind,
    InProcessExecutor,
    Outcomes,
    Simulated,
    SimulationFailure,
    SimulationTask,
)
from fmident.options import Options
from fmident.plugins import Registry, hookimpl
from fmident.problem import Problem

_own: dict[str, Any] = {}
"""The problem of each process of the pool, and its executor once it is needed."""


@dataclass(frozen=True)
class PoolOptions(Options):
    """Keys of the ``[evaluation]`` table that only this executor takes."""

    start: Literal["spawn", "forkserver"] = "spawn"


class PoolExecutor(Executor):
    """Hands each simulation to the next free process, which has an instance of the FMU."""

    isolated = other_experiments = True

    def __init__(self, problem: Problem, options: PoolOptions) -> None:
        self.simultaneous = problem.evaluation.workers or cpu_count()
        self._make = self.simultaneous, get_context(options.start), _begin, (problem,)
        self._pool = ProcessPoolExecutor(*self._make)

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run all tasks, and yield each outcome as soon as it is known."""
        waiting = set(range(len(tasks)))

        def attempt(chosen: Sequence[int]) -> Outcomes:
            """Yield the outcomes of some tasks up to a crash, which loses the others."""
            futures: dict[Any, int] = {}
            try:
                futures.update((self._pool.submit(_simulate, tasks[k]), k) for k in chosen)
                for future in as_completed(futures):
                    outcome = future.result()
                    waiting.remove(futures[future])
                    yield futures[future], outcome
            except BrokenExecutor:
                self.close()
                self._pool = ProcessPoolExecutor(*self._make)
            finally:  # after Ctrl-C nobody waits for the rest
                for future in futures:
                    future.cancel()

        yield from attempt(range(len(tasks)))
        for k in sorted(waiting):  # a crash loses them all: whose was it?
            yield from attempt([k])
            if k in waiting:
                yield k, SimulationFailure("its process died", None, dict(tasks[k].values))

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(cancel_futures=True)


def _begin(problem: Problem) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent alone
    _own["problem"] = problem


def _simulate(task: SimulationTask) -> Simulated:
    if "executor" not in _own:
        _own["executor"] = InProcessExecutor(_own["problem"])
    outcomes: list[Simulated] = _own["executor"].run_all([task])
    return outcomes[0]


@hookimpl
def fmident_register_executors(registry: Registry[ExecutorKind]) -> None:
    """Make the executor known, and what it can do."""
    kind = ExecutorKind(
        lambda problem, options, _warn: PoolExecutor(problem, options),
        "a pool of processes of Python's standard library",
        isolated=True,
        options_type=PoolOptions,
    )
    registry.add("pool", kind)
