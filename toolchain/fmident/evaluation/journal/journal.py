"""Storage of simulations and population costs in an SQLite database, with limits."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import sqlite3
import time
import zlib
from collections import deque
from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.tasks import Simulated, SimulationFailure

_Content = TypeVar("_Content")

LIMIT_BYTES = 2_000_000_000
"""Outputs that a journal holds at most."""

THRIFTY_BYTES = 256_000_000
"""Size from which on only the costs of populations are kept."""

FREE_BYTES = 200_000_000
"""Room on the disk that a journal leaves to others."""

_LOOK_BYTES = 20_000_000
"""Bytes written between two checks of the room that is left."""

_PENDING_BYTES = 32_000_000
"""Memory for records that wait for the disk; then the run waits, too."""

SIMULATIONS = "simulations.sqlite"

_TABLE = """
CREATE TABLE IF NOT EXISTS records (
    key BLOB PRIMARY KEY,    -- of the simulation, or of the points of a batch
    about TEXT NOT NULL,     -- JSON: shape of the outputs, a failure, or failures of a batch
    numbers BLOB NOT NULL,   -- float64, little-endian: outputs or costs
    check_sum INTEGER NOT NULL,
    passing INTEGER NOT NULL -- 1: deleted when the costs of its batch are stored
)
"""
_COLUMNS = "INTO records VALUES (?, ?, ?, ?, ?)"
_COUNT_BATCHES = """SELECT count(*) FROM records WHERE about LIKE '{"failures"%'"""
_ROW_NUMBERS = (
    "SELECT rowid FROM records",  # from the index of the keys
    "SELECT rowid FROM records NOT INDEXED ORDER BY rowid",
    "SELECT rowid FROM records NOT INDEXED ORDER BY rowid DESC",
)
"""Ways to the rows of a damaged table, each as far as it leads."""

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
"""Errors in the content of a file, not in the access to it."""


@dataclass(frozen=True)
class Population:
    """Costs that were computed as one batch, shape (k,); infinite where a simulation failed."""

    costs: F64
    failures: int = 0
    last_failure: SimulationFailure | None = None


@dataclass(frozen=True)
class Record:
    """A row of the database."""

    key: bytes
    about: str
    numbers: bytes | memoryview = b""
    passing: bool = False

    @property
    def size(self) -> int:
        """Bytes on disk, about."""
        return len(self.key) + len(self.about) + len(self.numbers) + 16

    @property
    def check_sum(self) -> int:
        """CRC-32 of the content."""
        return zlib.crc32(self.numbers, zlib.crc32(self.key + self.about.encode()))


class Journal:
    """Simulations of one problem on disk.

    Those of a population method, which needs only costs of tens of thousands of points, are
    kept while the journal is smaller than :data:`THRIFTY_BYTES`. Afterwards those of one batch
    are kept until its costs are known, and then these instead, 8 bytes per point.

    A failure that is not final (see :class:`SimulationFailure`) is not stored but simulated
    again on resume. `limit`, `thrifty` and `free` are in bytes, see :data:`LIMIT_BYTES`,
    :data:`THRIFTY_BYTES` and :data:`FREE_BYTES`. `simulations` is how many there were when it
    was opened; `damage` describes a damaged file, which is begun anew. Raises `OSError` if there
    can be no journal in the folder.
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
        self.path = folder / SIMULATIONS
        self._limit, self._thrifty, self._free = limit, thrifty, free
        self._connection, self.damage = _opened(self.path)
        (mode,) = self._connection.execute("PRAGMA journal_mode").fetchone()
        keys = self._connection.execute("SELECT key FROM records")
        self._earlier = frozenset(key for (key,) in keys)
        (batches,) = self._connection.execute(_COUNT_BATCHES).fetchone()
        self.simulations = len(self._earlier) - batches
        self._keys = set(self._earlier)
        self._notes: list[str] = [] if mode == "wal" else [_without_wal(self.path)]
        self._given = self.path.stat().st_size if self._earlier else 0
        self._batch = 0
        self._full = self._is_damaged = False
        self._in_population = self.closed = False
        self._writer = Writer(self._connection, self._keys, self._failed)
        self._look()

    @property
    def notes(self) -> tuple[str, ...]:
        """Problems since it was opened, in sentences."""
        return tuple(self._notes)

    @property
    def holds_records(self) -> bool:
        """Whether there is anything in it, as far as it is written."""
        self.flush()
        return bool(self._keys)

    @property
    def thrifty(self) -> bool:
        """Whether only the costs of populations are stored now."""
        return self._given > self._thrifty

    def find(self, key: bytes, shapes: Container[tuple[int, int]]) -> tuple[Simulated, bool] | None:
        """Return a valid outcome, and whether an earlier process stored it; ``None`` if unknown."""

        def outcome(about: dict[str, Any], numbers: F64) -> Simulated:
            if "failure" in about:
                return _failure(about["failure"])
            if tuple(about["shape"]) not in shapes:
                raise ValueError(f"outputs of shape {about['shape']}")
            return numbers.reshape(about["shape"])

        stored = self._read(key, outcome)
        return None if stored is None else (stored, key in self._earlier)

    def find_population(self, key: bytes, count: int) -> Population | None:
        """Return the costs of a batch of `count` points, if stored."""

        def population(about: dict[str, Any], numbers: F64) -> Population:
            if numbers.shape != (count,):
                raise ValueError(f"{numbers.size} costs")
            last = about["last"]
            return Population(
                numbers.copy(), about["failures"], None if last is None else _failure(last)
            )

        return self._read(key, population)

    def _read(
        self, key: bytes, content: Callable[[dict[str, Any], F64], _Content]
    ) -> _Content | None:
        """Return the content of a record; a damaged one is dropped, with a note."""
        if key not in self._keys:
            return None
        with contextlib.suppress(sqlite3.Error, ValueError, KeyError, TypeError):
            row = self._connection.execute(
                "SELECT about, numbers, check_sum FROM records WHERE key = ?", (key,)
            ).fetchone()
            if row is not None and Record(key, row[0], row[1]).check_sum == row[2]:
                return content(json.loads(row[0]), np.frombuffer(row[1], dtype="<f8"))
        self._keys.discard(key)
        if not self._is_damaged:
            self._is_damaged = True
            self._notes.append(
                f"a record of '{self.path}' is damaged; such simulations are run again"
            )
        return None

    def keep(self, key: bytes, outcome: Simulated) -> None:
        """Queue an outcome for writing."""
        if isinstance(outcome, SimulationFailure):
            if not outcome.final:
                return
            record = Record(key, json.dumps({"failure": dataclasses.asdict(outcome)}))
        else:
            numbers = np.ascontiguousarray(outcome, dtype="<f8")
            record = Record(key, json.dumps({"shape": outcome.shape}), numbers.data.cast("B"))
        if self._in_population and self.thrifty:
            if self._batch + record.size <= self._limit:
                self._batch += record.size
                self._writer.put(dataclasses.replace(record, passing=True))
        elif self._has_room(record):
            self._put(record)

    def keep_population(self, key: bytes, population: Population) -> None:
        """Queue the costs of a batch for writing, and drop its outputs."""
        last = population.last_failure
        about = {
            "failures": population.failures,
            "last": None if last is None else dataclasses.asdict(last),
        }
        costs = np.ascontiguousarray(population.costs, dtype="<f8")
        self._put(Record(key, json.dumps(about), costs.data.cast("B")))
        self._writer.drop_passing()
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
        """Wait until everything is in the file (but not necessarily on disk)."""
        self._writer.flush()

    def close(self) -> None:
        """Write what is left, and close the file."""
        if self.closed:
            return
        self.closed = True
        self._writer.close()
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _put(self, record: Record) -> None:
        self._given += record.size
        self._writer.put(record)

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
        with contextlib.suppress(OSError):
            left = shutil.disk_usage(self.path.parent).free
            if left < self._free:
                self._stop(f"is not continued since the disk has only {left / 1e6:.0f} MB left")

    def _stop(self, why: str) -> None:
        self._full = True
        self._notes.append(
            f"the journal {why}: the outputs of later simulations are not kept, and a resumed run "
            "simulates them again"
        )

    def _failed(self, error: sqlite3.Error) -> None:
        self._full = True
        self._notes.append(
            f"the journal cannot be written ({error}); the run goes on without it, and "
            "what is simulated from now on is lost if it is killed"
        )


def holds_records(folder: Path) -> bool:
    """Return whether the closed journal of a folder holds anything, possibly damaged."""
    if not (folder / SIMULATIONS).exists():
        return has_other_format(folder)
    try:
        with _connection(folder / SIMULATIONS) as connection:
            table = "SELECT 1 FROM sqlite_master WHERE name = 'records'"
            if connection.execute(table).fetchone() is None:  # killed before there was one
                return False
            return connection.execute("SELECT 1 FROM records LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return True


def has_other_format(folder: Path) -> bool:
    """Return whether a folder has the journal of an earlier version, which was not a database.

    A change of the table is a change of :data:`SIMULATIONS`, too.
    """
    return not (folder / SIMULATIONS).exists() and any(folder.glob("*.journal"))


def remove_records(folder: Path) -> None:
    """Delete the closed journal of a folder."""
    for ending in ("", "-wal", "-journal"):
        with contextlib.suppress(OSError):
            (folder / f"{SIMULATIONS}{ending}").unlink()


def _opened(path: Path) -> tuple[sqlite3.Connection, tuple[str, ...]]:
    """Return a sound database, and a note if it was damaged."""
    try:
        return _connected(path), ()
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF not in _DAMAGE:
            raise OSError(str(error)) from error
        damage = error
    try:
        count = _restore(path)
        note = f"'{path}' is damaged ({damage}): {count} records are sound, others are run again"
        return _connected(path), (note,)
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    # The write-ahead log then needs no shared memory, which network file systems do not have.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection


def _connection(path: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(_connect(path))


def _connected(path: Path) -> sqlite3.Connection:
    connection = _connect(path)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A failure of the machine costs the last records only.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_TABLE)
        (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if state != "ok":
            damage = sqlite3.DatabaseError(str(state))
            damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damage
    except BaseException:
        connection.close()
        raise
    return connection


def _restore(path: Path) -> int:
    """Replace a damaged database by one with its sound records; return how many."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    with _connection(part) as connection:
        connection.execute(_TABLE)
        connection.execute("BEGIN")
        count = 0
        for row in _sound_rows(path):
            count += connection.execute(f"INSERT OR IGNORE {_COLUMNS}", row).rowcount
        connection.execute("COMMIT")
    remove_records(path.parent)
    part.replace(path)
    return count


def _sound_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    numbers: set[int] = set()
    with contextlib.suppress(sqlite3.Error), _connection(path) as connection:
        # With this setting SQLite opens a file that was cut, too.
        connection.execute("PRAGMA writable_schema = ON")
        for query in _ROW_NUMBERS:
            with contextlib.suppress(sqlite3.Error):
                numbers.update(number for (number,) in connection.execute(query))
        for number in sorted(numbers):
            with contextlib.suppress(sqlite3.Error, TypeError, AttributeError):
                query = "SELECT * FROM records WHERE rowid = ?"
                row = connection.execute(query, (number,)).fetchone()
                if row is not None and Record(*row[:3]).check_sum == row[3]:
                    yield row


def _without_wal(path: Path) -> str:
    return (
        f"the file system of '{path}' allows no write-ahead log: each batch of records waits for "
        "the disk"
    )


def _failure(fields: dict[str, Any]) -> SimulationFailure:
    return SimulationFailure(**{**fields, "log": tuple(fields["log"])})


class Writer:
    """Inserts records in a thread of its own, all that wait in one transaction.

    Keys are added to `keys` when they are committed. The first error ends all writing and calls
    `failed` in that thread. It starts with the first record: until then the process can be copied,
    see :func:`fmident.operating_system.start_copy`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        keys: set[bytes],
        failed: Callable[[sqlite3.Error], None],
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._failed = failed
        self._thread = ThreadPoolExecutor(1, "journal")
        self._waiting: deque[Record | None] = deque()
        # Each is written by one thread only, so that the run never waits for a lock.
        self._given = self._written = 0
        self._broken = False

    @property
    def pending(self) -> int:
        """Bytes that are not written yet."""
        return self._given - self._written

    def put(self, record: Record) -> None:
        """Queue a record for writing."""
        while self.pending > _PENDING_BYTES and not self._broken:
            time.sleep(0.001)
        self._given += record.size
        self._queue(record)

    def drop_passing(self) -> None:
        """Queue the deletion of passing records, after everything queued before is written."""
        self._queue(None)

    def flush(self) -> None:
        """Wait until everything queued is written, or writing has failed."""
        if self._given and not self._broken:
            self._thread.submit(self._write).result()

    def close(self) -> None:
        """Write what is left, and end the thread; what comes later is not written."""
        self._thread.shutdown()
        self._broken = True

    def _queue(self, item: Record | None) -> None:
        if not self._broken:
            self._waiting.append(item)
            self._thread.submit(self._write)

    def _write(self) -> None:
        """Write everything that waits, unless writing has failed."""
        items = [self._waiting.popleft() for _ in range(len(self._waiting))]
        records = [item for item in items if item is not None]
        if items and not self._broken:
            try:
                self._connection.execute("BEGIN")
                for item in items:
                    self._execute(item)
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                self._broken = True
                self._failed(error)
            else:
                self._keys.update(record.key for record in records)
        self._written += sum(record.size for record in records)

    def _execute(self, item: Record | None) -> None:
        if item is None:
            self._connection.execute("DELETE FROM records WHERE passing")
            return
        row = (item.key, item.about, item.numbers, item.check_sum, item.passing)
        self._connection.execute(f"INSERT OR REPLACE {_COLUMNS}", row)
