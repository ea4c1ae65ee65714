"""Executor that serves known simulations and stores new ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fmident.evaluation.executors.base import DelegatingExecutor, Executor, ExecutorReport
from fmident.evaluation.executors.registry import make_executor
from fmident.evaluation.journal.keys import SimulationKeys, file_digest
from fmident.evaluation.memory import Recent
from fmident.evaluation.tasks import Outcomes, Simulated, SimulationFailure, SimulationTask

if TYPE_CHECKING:
    from fmident.errors import Diagnostic
    from fmident.evaluation.executors.registry import ExecutorKind
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


class RecordedExecutor(DelegatingExecutor):
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

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Serve known simulations and run each other one once, storing it when it is done.

        The outputs are read-only, since they may be served again.
        """
        keys = self._keys.of(tasks)
        places: dict[bytes, list[int]] = {}
        for index, key in enumerate(keys):
            places.setdefault(key, []).append(index)
        new: list[bytes] = []
        for key, indices in places.items():
            outcome = self._find(key, self._keys.shapes(tasks[indices[0]]))
            if outcome is None:
                new.append(key)
            else:
                yield from ((index, outcome) for index in indices)
        if new:
            asked = [tasks[places[key][0]] for key in new]
            for number, outcome in self.whole.run(asked):
                self._take(new[number], outcome)
                yield from ((index, outcome) for index in places[new[number]])
        self.served.cached += len(tasks) - len(places)

    def report(self) -> ExecutorReport:
        """Return the executor's report, with the state of the journal."""
        report = self.whole.report()
        notes = report.notes if self._journal is None else (*report.notes, *self._journal.notes)
        served = dataclasses.replace(self.served)
        inner = {f.name: getattr(report, f.name) for f in dataclasses.fields(ExecutorReport)}
        return RecordedReport(**{**inner, "notes": notes}, served=served)

    def close(self) -> None:
        """Close the inner executor."""
        self.whole.close()

    # ------------------------------------------------------------- populations

    @property
    def thrifty_journal(self) -> Journal | None:
        """The journal, if it stores only the costs of populations now, not their outputs."""
        return self._journal if self._journal is not None and self._journal.thrifty else None

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
