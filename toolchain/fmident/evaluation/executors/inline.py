"""Simulations in this process, without overhead and without protection."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmident.errors import SimulationError
from fmident.evaluation.executors.base import (
    GROWTH_LIMIT,
    ExecutorReport,
    FmuExecutor,
)
from fmident.evaluation.tasks import (
    Outcomes,
    Simulated,
    SimulationFailure,
    SimulationTask,
    refuse_not_finite,
)
from fmident.fmu.fmu import open_fmu
from fmident.fmu.life_cycle.probe import try_reset
from fmident.operating_system import PrivateMemory, come_back

if TYPE_CHECKING:
    from fmident.fmu import Fmu, Simulator
    from fmident.fmu.life_cycle.probe import ResetVerdict
    from fmident.problem.model import Problem

_ADVICE = (
    'with [evaluation] executor = "processes" each simulation has a process of its own, whose'
    " results depend on nothing before"
)


@dataclass
class Spent:
    """Processor time used by simulations of one kind."""

    seconds: float = 0.0
    simulations: int = 0

    @property
    def mean(self) -> float:
        """Seconds per simulation; 0 before the first."""
        return self.seconds / max(self.simulations, 1)


class InProcessExecutor(FmuExecutor):
    """Runs simulations on one instance of the FMU in this process; a given `fmu` stays open.

    `spent` is the time used so far, by the number of instants of experiments that are not the
    problem's, and 0 for those that are.
    """

    def __init__(self, problem: Problem, fmu: Fmu | None = None) -> None:
        super().__init__(problem)
        self.spent: defaultdict[int, Spent] = defaultdict(Spent)
        self._memory = PrivateMemory()
        self._grown = self._renewals = self._timeouts = 0
        self._since_renewal = 0
        self._verdict: ResetVerdict | None = None
        self._notes: list[str] = []
        self._prepared: set[int] = set()
        opened = open_fmu(problem.fmu) if fmu is None else fmu
        self._opened = opened if fmu is None else None
        try:
            with come_back():
                self._simulator: Simulator = opened.simulator(
                    interface=problem.evaluation.interface
                )
        except BaseException:
            if self._opened is not None:
                self._opened.close()
            raise

    @property
    def memory_grows(self) -> bool:
        """Whether memory continued to grow although the instance was replaced."""
        return bool(self._notes)

    @property
    def needs_processes(self) -> bool:
        """Whether results or memory suffer if simulations continue in this process."""
        unclean = self._verdict is not None and self._verdict.new_process
        return unclean or self.memory_grows

    @property
    def reset_verdict(self) -> ResetVerdict | None:
        """Result of the FMU's reset test; ``None`` before the first run."""
        return self._verdict

    def report(self) -> ExecutorReport:
        """Return a report of the executor's activity so far."""
        verdict = self._verdict
        advice = (_ADVICE,) if verdict is not None and verdict.new_process else ()
        doubt = (self._simulator.doubt,) if self._simulator.doubt else ()
        return ExecutorReport(
            "inline",
            1,
            renewals=self._renewals,
            timeouts=self._timeouts,
            notes=(*(verdict.notes if verdict else ()), *advice, *self._notes),
            doubts=tuple(dict.fromkeys((*(verdict.doubts if verdict else ()), *doubt))),
        )

    def close(self) -> None:
        """Free the FMU's instance."""
        with come_back():
            self._simulator.close()
            if self._opened is not None:
                self._opened.close()
        self._memory.close()

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run one task after the other."""
        return enumerate(map(self._run_one, tasks))

    def _run_one(self, task: SimulationTask) -> Simulated:
        spent = self.spent[0 if task.other is None else task.other.experiment.times.size]
        limit, values = self._settings.timeout, task.values
        # What other processes of a busy machine take is not a reason to start more of them.
        began = time.thread_time()
        with come_back():
            if self._verdict is None:
                trials = [(own.setup, own.values) for own in self._table.own]
                self._verdict = try_reset(self._simulator, trials, time_limit=limit)
            before = self._memory()
            prepared = self._table.of(task)
            if prepared.number not in self._prepared:
                self._simulator.prepare(prepared.setup, prepared.values)
                self._prepared.add(prepared.number)
            outcome: Simulated
            held = 0
            try:
                outputs = self._simulator.simulate(prepared.setup, values, time_limit=limit)
            except SimulationError as error:
                self._timeouts += error.timed_out
                outcome = SimulationFailure.of(error, values, prepared.experiment)
            else:
                count, held = len(prepared.setup.output_names), outputs.nbytes
                outcome = refuse_not_finite(outputs, values, prepared.experiment, count)
            self._watch(self._memory() - before - held)
        spent.seconds += time.thread_time() - began
        spent.simulations += 1
        return outcome

    def _watch(self, growth: int) -> None:
        """Replace the instance after a number of runs, or when memory has grown."""
        self._grown = max(self._grown + growth, 0)
        self._since_renewal += 1
        share = self._settings.renew_after
        grown = self._grown > GROWTH_LIMIT
        if not grown and (share is None or self._since_renewal < share):
            return
        before = self._memory()
        self._simulator.renew_instance()
        self._renewals += 1
        freed = before - self._memory()
        if grown and freed < self._grown // 2 and not self._notes:
            self._notes.append(
                f"simulations leak memory, {self._grown / 1e6:.0f} MB so far, that a new"
                ' instance does not free: use [evaluation] executor = "processes"'
            )
        self._grown = self._since_renewal = 0
