"""Simulates in a pool of processes of Python's standard library: the smallest executor."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import cpu_count, get_context
from typing import Any, Literal

from fmident.evaluation import (
    Done,
    Executor,
    ExecutorKind,
    InProcessExecutor,
    Simulated,
    SimulationFailure,
    SimulationTask,
)
from fmident.options import Options
from fmident.plugins import Registry, hookimpl
from fmident.problem import Problem

_own: dict[str, Any] = {}
"""Of each process of the pool: the problem, and the executor once it is needed."""


@dataclass(frozen=True)
class PoolOptions(Options):
    """Keys of the ``[evaluation]`` table that only this executor takes."""

    start: Literal["spawn", "forkserver"] = "spawn"


class PoolExecutor(Executor):
    """Hands each simulation to the next free process, which has an instance of the FMU."""

    isolated = True

    def __init__(self, problem: Problem, options: PoolOptions) -> None:
        self.simultaneous = problem.evaluation.workers or cpu_count()
        self._make = self.simultaneous, get_context(options.start), _begin, (problem,)
        self._pool = ProcessPoolExecutor(*self._make)

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks; `done` is called with each outcome as soon as it is known."""
        found: dict[int, Simulated] = {}

        def attempt(chosen: Sequence[int]) -> list[int]:
            """Return those that a crash has left without an outcome."""
            futures: dict[Any, int] = {}
            try:
                futures.update((self._pool.submit(_simulate, tasks[k]), k) for k in chosen)
                for future in as_completed(futures):
                    keep(futures[future], future.result())
            except BrokenExecutor:
                self.close()
                self._pool = ProcessPoolExecutor(*self._make)
            finally:  # after Ctrl-C nobody waits for the rest
                for future in futures:
                    future.cancel()
            return [k for k in chosen if k not in found]

        def keep(k: int, outcome: Simulated) -> None:
            found[k] = outcome
            if done is not None:
                done(k, outcome)

        for k in attempt(range(len(tasks))):  # a crash loses them all: whose was it?
            if attempt([k]):
                keep(k, SimulationFailure("its process died", None, dict(tasks[k].values)))
        return [found[k] for k in range(len(tasks))]

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(cancel_futures=True)


def _begin(problem: Problem) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent alone
    _own["problem"] = problem


def _simulate(task: SimulationTask) -> Simulated:
    if "executor" not in _own:
        _own["executor"] = InProcessExecutor(_own["problem"])
    outcomes: list[Simulated] = _own["executor"].run([task])
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
