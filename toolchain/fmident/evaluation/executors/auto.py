"""Executor that chooses between this process and worker processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmident.evaluation.executors.base import DelegatingExecutor, ExecutorReport
from fmident.evaluation.executors.inline import InProcessExecutor
from fmident.evaluation.executors.processes.executor import ProcessExecutor
from fmident.evaluation.tasks import OtherExperiment, Outcomes, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.problem.model import Problem

PATIENCE = 3.0
"""Seconds of computing in this process before workers are worth their start-up."""

WORTH = 0.02
"""Seconds that a batch must take in this process to be worth handing out."""


class AutoExecutor(DelegatingExecutor):
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
        super().__init__(self._inline)

    def report(self) -> ExecutorReport:
        """Return the report of both this process and workers."""
        now = self.whole.report()
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

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run tasks here or in worker processes."""
        other = tasks[0].other if tasks else None
        if self._inline is not None:
            self._choose(self._inline, len(tasks), other)
        if self._inline is not None and other is not None:
            expected = len(tasks) * self._guess(self._inline, other.experiment)
            if expected <= WORTH:
                return self._inline.run(tasks)
        return self.whole.run(tasks)

    def _guess(self, inline: InProcessExecutor, experiment: Experiment) -> float:
        """Return the expected duration of a simulation in this process, s."""
        spent = inline.spent[experiment.times.size]
        if spent.simulations:
            return spent.mean
        instants = max(sum(e.times.size for e in self._problem.experiments), 1)
        share = len(self._problem.experiments) * experiment.times.size / instants
        return inline.spent[0].mean * share

    def _choose(self, inline: InProcessExecutor, count: int, other: OtherExperiment | None) -> None:
        """Start processes if they pay, and leave this process if it suffers."""
        mean = inline.spent[0 if other is None else other.experiment.times.size].mean
        total = sum(spent.seconds for spent in inline.spent.values())
        pays = count >= 2 and total >= PATIENCE and count * mean > WORTH
        if self._processes is None and (inline.needs_processes or pays):
            processes = ProcessExecutor(self._problem, verdict=inline.reset_verdict)
            if processes.simultaneous == 1 and not inline.needs_processes:
                processes.close()
                return
            self._processes = self.whole = processes
        if inline.needs_processes:
            self._before, self._inline = inline.report(), None
            inline.close()
