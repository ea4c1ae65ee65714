"""Executor that serves known simulations and stores new ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fmident.arrays import F64
from fmident.evaluation.executors.base import Done, Executor, ExecutorReport, HandingOn, run_other
from fmident.evaluation.executors.kind import make_executor
from fmident.evaluation.journal.file import Population
from fmident.evaluation.journal.keys import SimulationKeys, file_digest, population_key
from fmident.evaluation.memory import Batch, Recent
from fmident.evaluation.tasks import Simulated, SimulationFailure, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.errors import Diagnostic
    from fmident.evaluation.executors.kind import ExecutorKind
    from fmident.evaluation.journal.journal import Journal
    from fmident.problem.model import Problem

CACHE_BYTES = 64_000_000
"""Outputs that are remembered in memory where there is no journal."""

BUFFER_BYTES = 8_000_000
"""Those with a journal, which has all the others."""

_FAILURE_BYTES = 1000


@dataclass
class Served:
    """Number of outcomes by origin: simulated, restored from a journal, or cached."""

    simulated: int = 0
    restored: int = 0
    cached: int = 0


@dataclass(frozen=True)
class RecordedReport(ExecutorReport):
    """Report of an executor, with the origins of the outcomes."""

    served: Served = field(default_factory=Served)

    def settings(self) -> dict[str, object]:
        """Return the entries for the settings of a result."""
        return {**super().settings(), **dataclasses.asdict(self.served)}


class RecordedExecutor(HandingOn):
    """Runs unknown simulations with `inner`, which is closed with this executor.

    `journal` stores every outcome and stays open; without one, equal simulations are served
    from memory. `served` counts the origins, for all executors that share a journal.
    """

    def __init__(
        self,
        inner: Executor,
        keys: SimulationKeys,
        journal: Journal | None = None,
        served: Served | None = None,
    ) -> None:
        super().__init__(inner)
        self._keys = keys
        self._journal = journal
        limit = CACHE_BYTES if journal is None else BUFFER_BYTES
        self._recent: Recent[Simulated] = Recent(limit, _size)
        self._retaining = False
        self.served = served or Served()

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Serve known simulations and run each other one once, storing it when it is done.

        The outputs are read-only, since they may be served again.
        """
        keys = [self._keys.of(task) for task in tasks]
        shapes = {k: self._keys.shapes(task) for k, task in zip(keys, tasks, strict=True)}
        batch = Batch(keys, lambda key: self._find(key, shapes[key]), done)
        if batch.new:

            def finished(number: int, outcome: Simulated) -> None:
                index = batch.new[number]
                self._take(keys[index], outcome)
                batch.take(index, outcome)

            outcomes = self.whole.run([tasks[index] for index in batch.new], finished)
            for number, outcome in enumerate(outcomes):
                if batch.lacks(batch.new[number]):  # an executor that does not report each
                    finished(number, outcome)
        self.served.cached += batch.repeated
        return batch.outcomes()

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Simulate an experiment that need not belong to the problem."""
        keys = [self._keys.of_other(experiment, variables, v, sensitivities) for v in values]
        shapes = self._keys.shapes_of_other(experiment, variables, sensitivities)
        batch = Batch(keys, lambda key: self._find(key, shapes))
        # In small batches: this method returns outcomes only when all of them are there.
        share = 2 * max(self.simultaneous, 1)
        for begin in range(0, len(batch.new), share):
            part = batch.new[begin : begin + share]
            chosen = [values[k] for k in part]
            outcomes = run_other(self.whole, experiment, variables, chosen, sensitivities)
            for index, outcome in zip(part, outcomes, strict=True):
                self._take(keys[index], outcome)
                batch.take(index, outcome)
        self.served.cached += batch.repeated
        return batch.outcomes()

    def report(self) -> ExecutorReport:
        """Return the executor's report, with the state of the journal."""
        report = self.whole.report()
        notes = report.notes if self._journal is None else (*report.notes, *self._journal.notes)
        return RecordedReport(
            report.name,
            report.workers,
            report.renewals,
            report.crashes,
            report.timeouts,
            notes,
            report.doubts,
            dataclasses.replace(self.served),
        )

    def close(self) -> None:
        """Close the inner executor."""
        self.whole.close()

    # ------------------------------------------------------------- populations

    @property
    def thrifty(self) -> bool:
        """Whether only the costs of populations are stored, not the outputs."""
        return self._journal is not None and self._journal.thrifty

    def find_population(self, scope: bytes, points: F64) -> Population | None:
        """Return the costs at points, shape (k, n), if they are known as one batch.

        `scope` is a digest of everything else that the costs depend on.
        """
        if self._journal is None:
            return None
        return self._journal.find_population(population_key(scope, points), len(points))

    def keep_population(self, scope: bytes, points: F64, population: Population) -> None:
        """Store costs for :meth:`find_population` and drop the outputs of the batch."""
        if self._journal is not None:
            self._journal.keep_population(population_key(scope, points), population)

    def restored_population(self, simulations: int) -> None:
        """Count the simulations saved by known costs."""
        self.served.restored += simulations

    @contextmanager
    def population(self) -> Iterator[None]:
        """Keep the outcomes only until the costs of the batch are known."""
        if self._journal is None:
            yield
            return
        with self._journal.population():
            yield

    @contextmanager
    def retaining(self) -> Iterator[None]:
        """Keep outcomes permanently although they belong to a population."""
        counted = dataclasses.replace(self.served)
        self._retaining = True
        try:
            yield
        finally:
            self._retaining = False
            self.served.cached = counted.cached

    # ----------------------------------------------------------------- outcomes

    def _find(self, key: bytes, shapes: Container[tuple[int, int]]) -> Simulated | None:
        recent = self._recent.get(key)
        if recent is not None:
            self.served.cached += 1
            if self._retaining and self._journal is not None:
                self._journal.keep(key, recent)
            return recent
        stored = None if self._journal is None else self._journal.find(key, shapes)
        if stored is None:
            return None
        outcome, earlier = stored
        self.served.restored += earlier
        self.served.cached += not earlier
        self._remember(key, outcome)
        if self._retaining and self._journal is not None:
            self._journal.keep(key, outcome)
        return outcome

    def _take(self, key: bytes, outcome: Simulated) -> None:
        if not isinstance(outcome, SimulationFailure) or outcome.final:
            self._remember(key, outcome)
            if self._journal is not None:
                self._journal.keep(key, outcome)
        # Ctrl-C may come before: what is counted has been kept.
        self.served.simulated += 1

    def _remember(self, key: bytes, outcome: Simulated) -> None:
        if not isinstance(outcome, SimulationFailure):
            # Others hold the same array, and it may still have to be written.
            outcome.flags.writeable = False
        self._recent.put(key, outcome)


def _size(outcome: Simulated) -> int:
    return _FAILURE_BYTES if isinstance(outcome, SimulationFailure) else outcome.nbytes + 200


def recording(
    journal: Journal | None,
    kinds: Mapping[str, ExecutorKind] | None = None,
    *,
    warn: Callable[[Diagnostic], None] | None = None,
) -> Callable[[Problem], Executor]:
    """Return a function that makes the executor of a problem, all with the same journal.

    Without `journal`, equal simulations are served from memory. `kinds` and `warn` are as
    for :func:`make_executor`.
    """
    served = Served()

    def make(problem: Problem) -> Executor:
        content = b"" if journal is None else file_digest(problem.fmu)
        inner = make_executor(problem, kinds, warn=warn)
        return RecordedExecutor(inner, SimulationKeys(problem, content), journal, served)

    return make
