"""Storage of simulations and population costs, with limits."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from fmident.evaluation.journal.file import (
    Kind,
    Population,
    Record,
    RecordFile,
    Writer,
    outcome_of,
    outcome_record,
    population_of,
    population_record,
    reason,
)
from fmident.evaluation.tasks import Simulated, SimulationFailure

_Held = TypeVar("_Held")

LIMIT_BYTES = 2_000_000_000
"""Outputs that a journal holds at most."""

THRIFTY_BYTES = 256_000_000
"""Size from which on only the costs of populations are kept."""

FREE_BYTES = 200_000_000
"""Room on the disk that a journal leaves to others."""

_LOOK_BYTES = 20_000_000
"""How much is written between two looks at the room that is left."""

SIMULATIONS = "simulations.journal"
POPULATION = "population.journal"


class Journal:
    """Simulations of one problem on disk.

    Outputs go to ``simulations.journal``. Those of a population method, which needs only
    costs of tens of thousands of points, do so while it is smaller than
    :data:`THRIFTY_BYTES`. Afterwards they go to ``population.journal``, which holds one
    batch: as soon as its costs are known, these are stored instead, 8 bytes per point.

    A failure that is not final (see :class:`SimulationFailure`) is not stored but simulated
    again on resume. `limit`, `thrifty` and `free` are in bytes, see :data:`LIMIT_BYTES`,
    :data:`THRIFTY_BYTES` and :data:`FREE_BYTES`; `found` describes damaged files.
    """

    def __init__(
        self,
        folder: Path,
        *,
        limit: int = LIMIT_BYTES,
        thrifty: int = THRIFTY_BYTES,
        free: int = FREE_BYTES,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._limit, self._thrifty, self._free = limit, thrifty, free
        self._main = RecordFile(folder / SIMULATIONS)
        try:
            self._passing = RecordFile(folder / POPULATION)
        except BaseException:
            self._main.close()
            raise
        self.found = (*self._main.notes, *self._passing.notes)
        self._notes: list[str] = []
        self._damaged: set[Path] = set()
        self._given = self._main.size
        self._batch = self._passing.size
        self._full = False
        self._in_population = self._closed = False
        self._writer = Writer((self._main, self._passing), self._failed)
        self._look()

    @property
    def notes(self) -> tuple[str, ...]:
        """Problems since it was opened, in sentences."""
        return tuple(self._notes)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._main.size + self._passing.size

    @property
    def simulations(self) -> int:
        """Number of simulations present when the journal was opened."""
        return len(self._main.earlier | self._passing.earlier)

    @property
    def thrifty(self) -> bool:
        """Whether only the costs of populations are stored now."""
        return self._given > self._thrifty

    def find(self, key: bytes, shapes: Container[tuple[int, int]]) -> tuple[Simulated, bool] | None:
        """Return a valid outcome, and whether an earlier process stored it; ``None`` if unknown."""
        for file in (self._main, self._passing):
            for kind in (Kind.OUTPUTS, Kind.FAILURE):
                outcome = self._read(file, kind, key, lambda k, p: outcome_of(k, p, shapes))
                if outcome is not None:
                    return outcome, key in file.earlier
        return None

    def _read(
        self, file: RecordFile, kind: Kind, key: bytes, content: Callable[[Kind, memoryview], _Held]
    ) -> _Held | None:
        """Return the content of a record; a damaged one is dropped, with a note."""
        place = file.places.get((kind, key))
        if place is None:
            return None
        payload = file.read(place)
        try:
            if payload is not None:
                return content(kind, payload)
        except (ValueError, struct.error):
            pass
        file.places.pop((kind, key), None)
        if file.path not in self._damaged:
            self._damaged.add(file.path)
            self._notes.append(
                f"a record of '{file.path}' is damaged; such simulations are run again"
            )
        return None

    def keep(self, key: bytes, outcome: Simulated) -> None:
        """Queue an outcome for writing."""
        if isinstance(outcome, SimulationFailure) and not outcome.final:
            return
        record = outcome_record(key, outcome)
        if self._in_population and self.thrifty:
            if self._batch + record.size <= self._limit:
                self._batch += record.size
                self._writer.put(self._passing, record)
        elif self._has_room(record):
            self._put(record)

    def find_population(self, key: bytes, count: int) -> Population | None:
        """Return the costs of a batch of `count` points, if stored."""
        return self._read(self._main, Kind.COSTS, key, lambda _, p: population_of(p, count))

    def keep_population(self, key: bytes, population: Population) -> None:
        """Queue the costs of a batch for writing, and drop its outputs."""
        self._put(population_record(key, population))
        self._writer.empty(self._passing)
        self._batch = 0

    @contextmanager
    def population(self) -> Iterator[None]:
        """Keep the outcomes until the costs computed from them are known."""
        self._in_population = True
        try:
            yield
        finally:
            self._in_population = False

    def flush(self) -> None:
        """Wait until everything is in the files (but not necessarily on disk)."""
        self._writer.flush()

    def close(self, *, synchronise: bool = True) -> None:
        """Write what is left, if `synchronise` to disk, and close the files."""
        if self._closed:
            return
        self._closed = True
        self._writer.close(synchronise=synchronise)
        self._main.close()
        self._passing.close()

    def _put(self, record: Record) -> None:
        self._given += record.size
        self._writer.put(self._main, record)

    def _has_room(self, record: Record) -> bool:
        if self._full:
            return False
        if self._given + record.size > self._limit:
            self._stop(f"has reached its limit of {self._limit / 1e9:.3g} GB")
        elif self._given - self._looked > _LOOK_BYTES:
            self._look()
        return not self._full

    def _look(self) -> None:
        self._looked = self._given
        left = _free_bytes(self._folder)
        if left < self._free:
            self._stop(f"is not continued since the disk has only {left / 1e6:.0f} MB left")

    def _stop(self, why: str) -> None:
        self._full = True
        self._notes.append(
            f"the journal {why}: the outputs of later simulations are not kept, and a resumed run "
            "simulates them again"
        )

    def _failed(self, error: OSError) -> None:
        self._full = True
        self._notes.append(
            f"the journal cannot be written ({reason(error)}); the run goes on without it, and "
            "what is simulated from now on is lost if it is killed"
        )


def _free_bytes(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 1 << 62
