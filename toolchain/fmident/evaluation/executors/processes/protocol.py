"""Communication between the executor and a worker process.

Short frames go through two pipes, numbers through memory that both map as an anonymous
file, of which nothing remains.
"""

from __future__ import annotations

import enum
import mmap
import struct
from collections.abc import Iterator

import numpy as np

from fmident.arrays import F64
from fmident.fmu.native_code.log import BUFFER_BYTES
from fmident.fmu.native_code.program import STATE_SIZE

HEADER = struct.Struct("<iiqq")
"""Kind, slot, a number, the length of the payload."""

SLOTS = 2
"""Tasks that a worker may hold: one that runs, one that waits."""

STATE_AT = BUFFER_BYTES + 8
TRIAL_AT = STATE_AT + 8 * STATE_SIZE
TRACE_BYTES = TRIAL_AT + 8
"""What outlives a worker: the ring of log messages, how many runs it has begun (i64), the
state of the simulation's loop, which has the step, and when the present run of the trial has
begun (f64, ``time.monotonic()``; 0 between runs)."""

PRINTED = 64 * 1024
"""About this many bytes of what the FMU prints last are kept, per simulation."""


class Command(enum.IntEnum):
    """Commands from the executor to the worker."""

    OPEN = 1
    """Payload: pickled :class:`~fmident.fmu.processes.child.EngineSettings`.

    Answer: READY, or REFUSED.
    """
    SETUP = 2
    """Number; payload: pickled setup, values, whether the trial has found that a reset does for it.
    Answer: DONE, or REFUSED."""
    FORGET = 3
    """Number of a setup. No answer."""
    NAMES = 4
    """Number; payload: names as JSON. No answer."""
    MAP = 5
    """Number: bytes per slot. No answer."""
    RUN = 6
    """Slot, setup << 32 | names; payload: pickled values that are not floats. Answer: OUTCOME."""
    TRY_RESET = 7
    """Payload: numbers of setups as JSON. Answer: DONE with the verdict as JSON."""
    NEVER_RESET = 8
    """No answer."""


class Reply(enum.IntEnum):
    """Replies of the worker; the first number is the worker's memory in bytes."""

    READY = 1
    DONE = 2
    OUTCOME = 3
    """Slot; payload: the pickled failure, or empty."""
    REFUSED = 4
    """Payload: a pickled FmuError."""


def frame(kind: int, slot: int = 0, number: int = 0, body: bytes = b"") -> bytes:
    """Return one message as bytes."""
    return HEADER.pack(kind, slot, number, len(body)) + body


class Frames:
    """Parser of messages in a byte stream."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
        """Append bytes; yield kind, slot, number and payload of each complete message."""
        self._pending += data
        while len(self._pending) >= HEADER.size:
            kind, slot, number, length = HEADER.unpack_from(self._pending)
            end = HEADER.size + length
            if len(self._pending) < end:
                return
            body = bytes(self._pending[HEADER.size : end])
            del self._pending[:end]
            yield kind, slot, number, body


class Slots:
    """Shared memory of one worker: per slot the values of a task, then its outputs."""

    def __init__(self, descriptor: int, slot_bytes: int) -> None:
        self.slot_bytes = slot_bytes
        self._map = mmap.mmap(descriptor, SLOTS * slot_bytes)

    def values(self, slot: int, count: int) -> F64:
        """Return a view of the values of a task, shape (count,)."""
        return np.frombuffer(self._map, np.float64, count, slot * self.slot_bytes)

    def outputs(self, slot: int, shape: tuple[int, int], values: int) -> F64:
        """Return a view of the outputs of a task with the given number of values."""
        start = slot * self.slot_bytes + 8 * values
        flat = np.frombuffer(self._map, np.float64, shape[0] * shape[1], start)
        return flat.reshape(shape)
