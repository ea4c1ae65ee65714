"""One file of records: opened and repaired, appended to, read at random.

The format of the journal: records one after the other, each with its own checksums.

A file begins with :data:`MAGIC`. A record is a header of 40 bytes and a payload::

    marker 4 | kind 1 | 3 zeros | length of the payload 8 | key 16
    XXH3 of the payload 4 | CRC-32 of the 36 bytes before 4

All numbers are little-endian, and payloads are multiples of 8 bytes. The header has a checksum
of its own, so that a reader can trust the length and walk over a file without reading the
payloads; a damaged record is skipped by looking for the next marker whose header is sound. A
file that is being written ends in zeros, room that was set aside.
Payloads:

- outputs: rows and columns, 4 bytes each, then the float64 numbers in C order;
- failure: JSON;
- costs of a population: the length of a JSON text, 4 bytes, that text, then the float64 costs.
"""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import queue
import struct
import threading
import time
import zlib
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import xxhash

from fmident._json import JsonTable, loads_json
from fmident.arrays import F64
from fmident.context_managers import RecoverableLock
from fmident.errors import Code
from fmident.evaluation.journal.keys import KEY_BYTES
from fmident.evaluation.tasks import Simulated, SimulationFailure
from fmident.operating_system import (
    open_record_file,
    read_at,
    read_into,
    synchronise,
    write_at,
    write_room,
)

AHEAD_BYTES = 4_000_000
"""Room that a file has beyond its end while it is written; zeros that a killed run leaves."""


MAGIC = b"fmident journal\x03"
_MARKER = b"\xf5Re3"
"""Of this version of the format, as the last byte of :data:`MAGIC` is."""

_HEAD = struct.Struct(f"<4sB3xQ{KEY_BYTES}sI")
_CHECK = struct.Struct("<I")
_SHAPE = struct.Struct("<II")
HEADER_BYTES = _HEAD.size + _CHECK.size
_FIRST_BYTES = 8
_BLOCK_BYTES = 1 << 20


SYNC_SECONDS = 5.0
"""What a failure of the whole machine can cost; a killed process loses nothing by that."""

_PENDING_BYTES = 32_000_000
"""Memory for records that wait for the disk; then the run waits, too."""


class RecordFile:
    """A file of records.

    :meth:`append` and :meth:`empty` are for one thread, :meth:`read` for any. A missing
    file is created; an incomplete record at its end is cut off. `places` maps key and kind
    to their last record; `earlier` are the keys that existed when the file was opened.
    `size` is the number of valid bytes, and `notes` describe damage.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.places: dict[tuple[Kind, bytes], Place] = {}
        self.notes: list[str] = []
        self.dirty = False
        self._descriptor = open_record_file(path)
        try:
            self.size = self._set_aside = self._repair()
        except BaseException:
            os.close(self._descriptor)
            raise
        self.earlier = {key for kind, key in self.places if kind is not Kind.COSTS}

    def append(self, record: Record) -> None:
        """Append a record; after an `OSError`, nothing of it is left in the file."""
        head, rest = record.pieces()
        whole = len(head) + len(rest)
        place = place_at(head, self.size)
        assert place is not None
        if self.size + whole > self._set_aside:
            self._set_room_aside(self.size + whole)
        try:
            written = write_at(self._descriptor, (head, rest), self.size)
            if written < whole:
                left = (head + bytes(rest))[written:]
                written += write_at(self._descriptor, (left,), self.size + written)
            if written < whole:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        except OSError:
            with contextlib.suppress(OSError):
                self._cut()
            raise
        self.size += whole
        self.dirty = True
        self.places[place.kind, place.key] = place

    def empty(self) -> None:
        """Delete all records."""
        self.places.clear()
        self.size = len(MAGIC)
        self._cut()

    def read(self, place: Place) -> memoryview | None:
        """Return a copy of the payload of a record; ``None`` if it is damaged or gone."""
        # Not mapped: each map would hold a descriptor, of which there are often only 1024.
        content = np.empty(HEADER_BYTES + place.length, np.uint8).data
        try:
            count = read_into(self._descriptor, content, place.offset)
        except OSError:
            return None
        header, payload = bytes(content[:HEADER_BYTES]), content[HEADER_BYTES:]
        if count < len(content) or place_at(header, place.offset) != place:
            return None
        return payload if is_sound(payload, place) else None

    def _set_room_aside(self, needed: int) -> None:
        """Enlarge the file for many records at once, which nearly halves the writing time."""
        self._set_aside = needed + AHEAD_BYTES
        write_room(self._descriptor, self.size, self._set_aside - self.size)

    def _cut(self) -> None:
        """Cut off the unused space."""
        os.ftruncate(self._descriptor, self.size)
        self._set_aside = self.size

    def sync(self) -> None:
        """Wait until everything is on disk."""
        if self.dirty:
            self.dirty = False
            synchronise(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            self._cut()
        os.close(self._descriptor)

    def _repair(self) -> int:
        """Read all valid records, cut off an incomplete end, and return the remaining size."""
        size = os.fstat(self._descriptor).st_size
        if read_at(self._descriptor, len(MAGIC), 0) != MAGIC:
            if next(scan(self._descriptor), None) is not None:
                self.notes.append(
                    f"the first {len(MAGIC)} bytes of '{self.path}' were damaged; the simulations"
                    " in it are not"
                )
                write_at(self._descriptor, (MAGIC,), 0)
                return self._repair()
            if size > len(MAGIC):
                self.notes.append(
                    f"'{self.path}' is not a journal of this version: it is begun anew"
                )
            os.ftruncate(self._descriptor, 0)
            write_at(self._descriptor, (MAGIC,), 0)
            return len(MAGIC)
        end, damaged, last = len(MAGIC), 0, None
        for place in scan(self._descriptor):
            damaged += place.offset - end
            end, last = place.end, place
            self.places[place.kind, place.key] = place
        if last is not None and self.read(last) is None:
            # The length was written, but not all of the content: a power failure does that.
            del self.places[last.kind, last.key]
            end = last.offset
        if damaged:
            self.notes.append(
                f"{damaged} bytes in the middle of '{self.path}' are damaged; the simulations in "
                "there are run again"
            )
        if size > end:
            torn = written_bytes(self._descriptor, end)
            os.ftruncate(self._descriptor, end)
            if torn:
                self.notes.append(
                    f"the last {torn} bytes of '{self.path}' were not completely written and "
                    "are cut off"
                )
        return end


class Kind(IntEnum):
    """Content of a record."""

    OUTPUTS = 1
    FAILURE = 2
    COSTS = 3


@dataclass(frozen=True)
class Record:
    """A record before it is written; the payload has two parts, the first of 8 bytes."""

    kind: Kind
    key: bytes
    parts: tuple[bytes, bytes | memoryview]

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return HEADER_BYTES + _FIRST_BYTES + len(self.parts[1])

    def pieces(self) -> tuple[bytes, bytes | memoryview]:
        """Return what to write: the header with the first part, and the second part."""
        first, rest = self.parts
        length = _FIRST_BYTES + len(rest)
        head = _HEAD.pack(_MARKER, self.kind, length, self.key, _checksum(first, rest))
        return head + _CHECK.pack(zlib.crc32(head)) + first, rest


@dataclass(frozen=True)
class Place:
    """Place of a record in a file: offset of its header and length of its payload."""

    kind: Kind
    key: bytes
    offset: int
    length: int
    check: int

    @property
    def end(self) -> int:
        """Offset of the next record."""
        return self.offset + HEADER_BYTES + self.length


@dataclass(frozen=True)
class Population:
    """Costs that were computed as one batch, shape (k,); infinite where a simulation failed."""

    costs: F64
    failures: int = 0
    last_failure: SimulationFailure | None = None


def outcome_record(key: bytes, outcome: Simulated) -> Record:
    """Return the record of a simulation."""
    if isinstance(outcome, SimulationFailure):
        return _record(Kind.FAILURE, key, _text(_plain(outcome)))
    outputs = np.ascontiguousarray(outcome, dtype=np.float64)
    return Record(
        Kind.OUTPUTS, key, (_SHAPE.pack(*outputs.shape), outputs.reshape(-1).view(np.uint8).data)
    )


def population_record(key: bytes, population: Population) -> Record:
    """Return the record of a batch of costs."""
    last = population.last_failure
    text = _text(
        {"failures": population.failures, "last": None if last is None else _plain(last)}, 4
    )
    costs = np.ascontiguousarray(population.costs, dtype=np.float64)
    return _record(Kind.COSTS, key, _CHECK.pack(len(text)) + text + costs.tobytes())


def is_sound(payload: memoryview, place: Place) -> bool:
    """Return whether the payload of a record is as written."""
    return _checksum(payload[:_FIRST_BYTES], payload[_FIRST_BYTES:]) == place.check


def outcome_of(kind: Kind, payload: memoryview, shapes: Container[tuple[int, int]]) -> Simulated:
    """Return the outcome in a payload, as a view of it."""
    if kind is Kind.FAILURE:
        return _failure(_table(payload))
    shape = _SHAPE.unpack_from(payload)
    if shape not in shapes:
        raise ValueError(f"outputs of shape {shape}")
    return np.frombuffer(payload, dtype="<f8", offset=_SHAPE.size).reshape(shape)


def population_of(payload: memoryview, count: int) -> Population:
    """Return the costs of `count` points in a payload; raise `ValueError` if there are none."""
    (length,) = _CHECK.unpack_from(payload)
    begin = _CHECK.size
    table = _table(payload[begin : begin + length])
    costs = np.frombuffer(bytes(payload[begin + length :]), dtype="<f8").copy()
    if costs.shape != (count,):
        raise ValueError(f"{costs.size} costs")
    last = table.maybe_table("last")
    return Population(costs, table.count("failures"), None if last is None else _failure(last))


def place_at(header: bytes | bytearray, offset: int) -> Place | None:
    """Return the contents of a header read at `offset`; ``None`` if it is invalid."""
    if len(header) < HEADER_BYTES or header[:4] != _MARKER:
        return None
    if _CHECK.unpack_from(header, _HEAD.size)[0] != zlib.crc32(header[: _HEAD.size]):
        return None
    _, kind, length, key, check = _HEAD.unpack_from(header)
    try:
        return Place(Kind(kind), key, offset, length, check)
    except ValueError:  # a kind of some later version
        return None


def scan(descriptor: int) -> Iterator[Place]:
    """Yield all valid, complete records of a file, without payloads and damaged parts."""
    size = os.fstat(descriptor).st_size
    if size <= len(MAGIC):
        return
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) as content:
        offset = len(MAGIC)
        while offset + HEADER_BYTES <= size:
            place = place_at(content[offset : offset + HEADER_BYTES], offset)
            if place is not None and place.end <= size:
                yield place
                offset = place.end
                continue
            offset = content.find(_MARKER, offset + 1)
            if offset < 0:
                return


def written_bytes(descriptor: int, offset: int) -> int:
    """Return where the data in a file end, after `offset`, so that only zeros follow."""
    length = 0
    for begin in range(offset, os.fstat(descriptor).st_size, _BLOCK_BYTES):
        held = len(read_at(descriptor, _BLOCK_BYTES, begin).rstrip(b"\0"))
        length = begin + held - offset if held else length
    return length


def _record(kind: Kind, key: bytes, payload: bytes) -> Record:
    return Record(kind, key, (payload[:_FIRST_BYTES], payload[_FIRST_BYTES:]))


def _checksum(first: bytes | memoryview, rest: bytes | memoryview) -> int:
    """Return 32 bits of a payload's XXH3 hash, which takes microseconds for a simulation."""
    return xxhash.xxh3_64_intdigest(rest, seed=zlib.crc32(first)) & 0xFFFFFFFF


def _text(content: dict[str, Any], before: int = 0) -> bytes:
    """Return JSON, padded so that what follows begins at a multiple of 8 bytes."""
    text = json.dumps(content).encode()
    return text + b" " * (-(len(text) + before) % 8)


def _plain(failure: SimulationFailure) -> dict[str, Any]:
    return {
        "message": failure.message,
        "time": failure.time,
        "parameters": dict(failure.parameters),
        "log": list(failure.log),
        "experiment": failure.experiment,
        "hint": failure.hint,
        "says_time": failure.says_time,
        "code": failure.code,
    }


def _table(text: memoryview) -> JsonTable:
    return JsonTable(loads_json(str(text, "utf-8")))


def _failure(kept: JsonTable) -> SimulationFailure:
    return SimulationFailure(
        kept.text("message"),
        None if kept.raw("time") is None else kept.number("time"),
        kept.named_numbers("parameters"),
        kept.texts("log"),
        kept.text("experiment"),
        kept.maybe_text("hint"),
        says_time=kept.flag("says_time", False),
        code=kept.text("code", Code.SIMULATION_FAILED),
    )


_Job: TypeAlias = tuple[RecordFile, Record | None] | threading.Event | None


class Writer:
    """Appends records in a thread, while a second one synchronises the files periodically.

    The first error ends all writing and calls `failed` in the writing thread.
    """

    def __init__(self, files: tuple[RecordFile, ...], failed: Callable[[OSError], None]) -> None:
        self._files = files
        self._failed = failed
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        # Each is written by one thread only, so that the run never waits for a lock.
        self._given = self._written = 0
        self._ending = threading.Event()
        self._broken = False
        self._failing = RecoverableLock()
        self._starting = RecoverableLock()
        self._threads: tuple[threading.Thread, ...] = ()

    def put(self, file: RecordFile, record: Record) -> None:
        """Queue a record for writing."""
        while self._given - self._written > _PENDING_BYTES and not self._broken:
            time.sleep(0.001)
        self._given += record.size
        self._put((file, record))

    def empty(self, file: RecordFile) -> None:
        """Queue emptying of a file, after everything queued before is written."""
        self._put((file, None))

    def flush(self) -> None:
        """Wait until everything queued is written, or writing has failed."""
        reached = threading.Event()
        self._put(reached)
        reached.wait()

    def close(self, *, synchronise: bool = True) -> None:
        """Write what is left, synchronise, and end the threads."""
        if self._ending.is_set():
            return
        self._ending.set()
        self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        if synchronise:
            self._sync()

    def _put(self, job: _Job) -> None:
        """Queue a job; the first one starts the threads.

        Until then the process can be copied, see :func:`fmident.operating_system.start_copy`.
        """
        self._jobs.put(job)
        if self._threads:
            return
        with self._starting:
            if self._threads:
                return
            threads = (
                threading.Thread(target=self._write, name="journal", daemon=True),
                threading.Thread(target=self._synchronise, name="journal-sync", daemon=True),
            )
            for thread in threads:
                thread.start()
            self._threads = threads

    def _write(self) -> None:
        while (job := self._jobs.get()) is not None:
            if isinstance(job, threading.Event):
                job.set()
                continue
            file, record = job
            try:
                if self._broken:
                    pass
                elif record is None:
                    file.empty()
                else:
                    file.append(record)
            except OSError as error:
                self._give_up(error)
            finally:
                if record is not None:
                    self._written += record.size

    def _synchronise(self) -> None:
        while not self._ending.wait(SYNC_SECONDS):
            self._sync()

    def _sync(self) -> None:
        for file in self._files:
            try:
                file.sync()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        with self._failing:
            first, self._broken = not self._broken, True
        if first:
            self._failed(error)


def reason(error: OSError) -> str:
    """Return the system's description of an error."""
    return os.strerror(error.errno) if error.errno else str(error)
