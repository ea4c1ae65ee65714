"""The format of the journal: records one after the other, each with its own checksums.

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

import json
import mmap
import os
import struct
import zlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import xxhash

from fmident._json import JsonTable, loads_json
from fmident.arrays import F64
from fmident.errors import Code
from fmident.evaluation.journal.keys import KEY_BYTES
from fmident.evaluation.tasks import Simulated, SimulationFailure
from fmident.operating_system import read_at

MAGIC = b"fmident journal\x03"
_MARKER = b"\xf5Re3"
"""Of this version of the format, as the last byte of :data:`MAGIC` is."""

_HEAD = struct.Struct(f"<4sB3xQ{KEY_BYTES}sI")
_CHECK = struct.Struct("<I")
_SHAPE = struct.Struct("<II")
HEADER_BYTES = _HEAD.size + _CHECK.size
_FIRST_BYTES = 8
_BLOCK_BYTES = 1 << 20


class Kind(IntEnum):
    """What a record holds."""

    OUTPUTS = 1
    FAILURE = 2
    COSTS = 3


@dataclass(frozen=True)
class Record:
    """A record before it is written.

    Parameters
    ----------
    kind, key
        What it is.
    parts
        The payload, in two pieces that need not be copied together; the first has 8 bytes.
    """

    kind: Kind
    key: bytes
    parts: tuple[bytes, bytes | memoryview]

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return HEADER_BYTES + _FIRST_BYTES + len(self.parts[1])

    def pieces(self) -> tuple[bytes, bytes | memoryview]:
        """Return what is to be written: the header with the first bytes, and the rest."""
        first, rest = self.parts
        length = _FIRST_BYTES + len(rest)
        head = _HEAD.pack(_MARKER, self.kind, length, self.key, _checksum(first, rest))
        return head + _CHECK.pack(zlib.crc32(head)) + first, rest


@dataclass(frozen=True)
class Place:
    """Where a record is in a file: the offset of its header, and its payload's length."""

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
    """Costs that were computed as one batch.

    Parameters
    ----------
    costs
        Shape (k,); infinite where a simulation failed.
    failures
        Simulations that failed.
    last_failure
        The last of them.
    """

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
    """Return whether the payload of a record is what was written."""
    return _checksum(payload[:_FIRST_BYTES], payload[_FIRST_BYTES:]) == place.check


def outcome_of(kind: Kind, payload: memoryview, shapes: Container[tuple[int, int]]) -> Simulated:
    """Return the outcome that a payload holds; it shares the memory.

    Raises
    ------
    ValueError
        It is none, or its outputs have none of the shapes that are asked for.
    """
    if kind is Kind.FAILURE:
        return _failure(_table(payload))
    shape = _SHAPE.unpack_from(payload)
    if shape not in shapes:
        raise ValueError(f"outputs of shape {shape}")
    return np.frombuffer(payload, dtype="<f8", offset=_SHAPE.size).reshape(shape)


def population_of(payload: memoryview, count: int) -> Population:
    """Return the costs of so many points that a payload holds.

    Raises
    ------
    ValueError
        It does not hold them.
    """
    (length,) = _CHECK.unpack_from(payload)
    begin = _CHECK.size
    kept = _table(payload[begin : begin + length])
    costs = np.frombuffer(bytes(payload[begin + length :]), dtype="<f8").copy()
    if costs.shape != (count,):
        raise ValueError(f"{costs.size} costs")
    last = kept.maybe_table("last")
    return Population(costs, kept.count("failures"), None if last is None else _failure(last))


def place_at(header: bytes | bytearray, offset: int) -> Place | None:
    """Return what a header says that was read at `offset`; ``None`` if it is not sound."""
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
    """Yield all sound and complete records of a file; payloads are not looked at.

    What lies between them is damaged: the next record begins where the next sound header is.
    """
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
    """Return how far a file goes on from an offset before nothing but zeros follow."""
    found = 0
    for begin in range(offset, os.fstat(descriptor).st_size, _BLOCK_BYTES):
        held = len(read_at(descriptor, _BLOCK_BYTES, begin).rstrip(b"\0"))
        found = begin + held - offset if held else found
    return found


def _record(kind: Kind, key: bytes, payload: bytes) -> Record:
    return Record(kind, key, (payload[:_FIRST_BYTES], payload[_FIRST_BYTES:]))


def _checksum(first: bytes | memoryview, rest: bytes | memoryview) -> int:
    """Return 32 bits of the hash XXH3 of a payload, which takes microseconds for a simulation."""
    return xxhash.xxh3_64_intdigest(rest, seed=zlib.crc32(first)) & 0xFFFFFFFF


def _text(content: dict[str, Any], before: int = 0) -> bytes:
    """Return JSON, filled up so that what follows it begins at a multiple of 8 bytes."""
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
