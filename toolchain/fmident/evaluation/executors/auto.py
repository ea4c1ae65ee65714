"""The executor that chooses for itself."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fmident.evaluation.executors.base import Done, Executor, ExecutorReport
from fmident.evaluation.executors.inline import InProcessExecutor
from fmident.evaluation.executors.processes.executor import ProcessExecutor
from fmident.evaluation.tasks import Simulated, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.problem.model import Problem

PATIENCE = 3.0
"""Seconds of computing in this process before workers are worth their start-up."""

WORTH = 0.02
"""Seconds that a batch must take in this process to be worth handing out."""


class AutoExecutor(Executor):
    """Begins in this process, and goes over to worker processes when that pays.

    It does so before a batch of two or more simulations that will take some time, after the
    simulations so far have taken :data:`PATIENCE` seconds, and when simulations leave memory
    behind. The outputs are the same to the last bit either way.

    Parameters
    ----------
    problem
        What to simulate, with an FMU that need not be isolated.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._inline: InProcessExecutor | None = InProcessExecutor(problem)
        self._processes: ProcessExecutor | None = None
        self._before: ExecutorReport | None = None
        self._seconds = 0.0
        self._simulations = 0

    @property
    def simultaneous(self) -> int:  # type: ignore[override]
        """How many simulations run at once now."""
        return self._present.simultaneous

    @property
    def isolated(self) -> bool:  # type: ignore[override]
        """Whether simulations run in worker processes by now."""
        return self._present.isolated

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks here, or in worker processes."""
        self._choose(len(tasks))
        return self._timed(len(tasks), lambda executor: executor.run(tasks, done))

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
    ) -> list[Simulated]:
        """Simulate an experiment that need not be one of the problem's."""
        self._choose(len(values))
        return self._timed(
            len(values), lambda executor: executor.run_other(experiment, variables, values)
        )

    def report(self) -> ExecutorReport:
        """Return what has been done so far, in this process and in workers."""
        now = self._present.report()
        if self._before is None:
            return dataclasses.replace(now, name="auto: inline")
        notes = dict.fromkeys((*self._before.notes, *now.notes))
        return dataclasses.replace(
            now,
            name="auto: inline, then processes",
            renewals=now.renewals + self._before.renewals,
            timeouts=now.timeouts + self._before.timeouts,
            notes=tuple(notes),
        )

    def close(self) -> None:
        """Free both."""
        try:
            if self._inline is not None:
                self._inline.close()
        finally:
            if self._processes is not None:
                self._processes.close()

    @property
    def _present(self) -> Executor:
        executor = self._processes or self._inline
        assert executor is not None
        return executor

    def _timed(self, count: int, work: Callable[[Executor], list[Simulated]]) -> list[Simulated]:
        # What other processes of a busy machine take is not a reason to start more of them.
        began = time.thread_time()
        found = work(self._present)
        self._seconds += time.thread_time() - began
        self._simulations += count
        return found

    def _choose(self, count: int) -> None:
        """Go over to processes if the time has come."""
        if self._inline is None or not self._pays(count):
            return
        inline = self._inline
        processes = ProcessExecutor(self._problem, verdict=inline.reset_verdict)
        if processes.simultaneous == 1 and not inline.needs_processes:
            processes.close()
            return
        self._processes, self._inline = processes, None
        self._before = inline.report()
        inline.close()

    def _pays(self, count: int) -> bool:
        if self._inline is not None and self._inline.needs_processes:
            return True
        if count < 2 or self._seconds < PATIENCE:
            return False
        return count * self._seconds / self._simulations > WORTH
