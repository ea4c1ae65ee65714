"""Executor that chooses between this process and worker processes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fmident.evaluation.executors.base import Done, Executor, ExecutorReport, run_other
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


@dataclasses.dataclass
class _Spent:
    """Time used by simulations of one kind in this process."""

    seconds: float = 0.0
    simulations: int = 0

    def add(self, seconds: float, simulations: int) -> None:
        self.seconds += seconds
        self.simulations += simulations

    @property
    def mean(self) -> float:
        """Seconds per simulation; 0 before the first."""
        return self.seconds / max(self.simulations, 1)


class AutoExecutor(Executor):
    """Starts in this process and changes to worker processes when that pays.

    It changes before a batch of two or more long simulations, after simulations of
    :data:`PATIENCE` seconds, and when memory leaks. Batches of other experiments that take
    less than :data:`WORTH` seconds remain in this process: a recursive estimator requests
    thousands of simulations of one sample. The outputs are identical to the last bit.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._inline: InProcessExecutor | None = InProcessExecutor(problem)
        self._processes: ProcessExecutor | None = None
        self._before: ExecutorReport | None = None
        self._own = _Spent()
        # By the number of instants. The problem's own experiments say nothing of these.
        self._other: dict[int, _Spent] = {}

    @property
    def simultaneous(self) -> int:  # type: ignore[override]
        """Present number of simultaneous simulations."""
        return self._present.simultaneous

    @property
    def isolated(self) -> bool:  # type: ignore[override]
        """Whether the problem's own experiments now run in worker processes."""
        return self._present.isolated

    @property
    def differentiable(self) -> frozenset[str]:  # type: ignore[override]
        """FMU variables for which tasks may request sensitivities."""
        return self._present.differentiable

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks here or in worker processes."""
        self._choose(len(tasks), self._own)
        executor = self._present
        return self._timed(executor, self._own, len(tasks), lambda: executor.run(tasks, done))

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Simulate an experiment that need not belong to the problem."""
        spent = self._other.setdefault(experiment.times.size, _Spent())
        self._choose(len(values), spent)
        small = len(values) * self._guess(experiment, spent) <= WORTH
        executor = self._inline if small and self._inline is not None else self._present
        return self._timed(
            executor,
            spent,
            len(values),
            lambda: run_other(executor, experiment, variables, values, sensitivities),
        )

    def report(self) -> ExecutorReport:
        """Return the report of both this process and workers."""
        now = self._present.report()
        if self._processes is None:
            return dataclasses.replace(now, name="auto: inline")
        before = self._before if self._inline is None else self._inline.report()
        assert before is not None
        notes = dict.fromkeys((*before.notes, *now.notes))
        doubts = dict.fromkeys((*before.doubts, *now.doubts))
        return dataclasses.replace(
            now,
            name="auto: inline, then processes",
            renewals=now.renewals + before.renewals,
            timeouts=now.timeouts + before.timeouts,
            notes=tuple(notes),
            doubts=tuple(doubts),
        )

    def close(self) -> None:
        """Close both."""
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

    def _guess(self, experiment: Experiment, spent: _Spent) -> float:
        """Return the expected duration of a simulation in this process, s."""
        if spent.simulations:
            return spent.mean
        instants = max(sum(e.times.size for e in self._problem.experiments), 1)
        share = len(self._problem.experiments) * experiment.times.size / instants
        return self._own.mean * share

    def _choose(self, count: int, spent: _Spent) -> None:
        """Start processes if they pay, and leave this process if it suffers."""
        inline = self._inline
        if inline is None:
            return
        if self._processes is None and (inline.needs_processes or self._pays(count, spent)):
            processes = ProcessExecutor(self._problem, verdict=inline.reset_verdict)
            if processes.simultaneous == 1 and not inline.needs_processes:
                processes.close()
                return
            self._processes = processes
        if inline.needs_processes:
            self._before, self._inline = inline.report(), None
            inline.close()

    def _pays(self, count: int, spent: _Spent) -> bool:
        total = self._own.seconds + sum(s.seconds for s in self._other.values())
        return count >= 2 and total >= PATIENCE and count * spent.mean > WORTH

    def _timed(
        self, executor: Executor, spent: _Spent, count: int, work: Callable[[], list[Simulated]]
    ) -> list[Simulated]:
        """Run a batch, and record its duration if it ran in this process."""
        # What other processes of a busy machine take is not a reason to start more of them.
        began = time.thread_time()
        outcomes = work()
        if executor is self._inline:
            spent.add(time.thread_time() - began, count)
        return outcomes
