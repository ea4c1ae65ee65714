"""Outcomes of a batch that somebody hears of one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fmident.evaluation import Executor, Simulated, SimulationTask


def run_heard(
    executor: Executor, tasks: Sequence[SimulationTask], hear: Callable[[int, Simulated], object]
) -> list[Simulated]:
    """Run tasks, call `hear` with each outcome as soon as it is known, return them in order."""
    outcomes = {}
    for index, outcome in executor.run(tasks):
        hear(index, outcome)
        outcomes[index] = outcome
    return [outcomes[index] for index in range(len(tasks))]
