"""The executor's handle on one worker process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fmident._child import command
from fmident.arrays import F64
from fmident.errors import Code, SimulationError
from fmident.evaluation.executors.processes.protocol import (
    PRINTED,
    SLOTS,
    STATE_AT,
    TRACE_BYTES,
    TRIAL_AT,
    Command,
    Frames,
    Slots,
    frame,
)
from fmident.evaluation.setups import Prepared
from fmident.evaluation.tasks import SimulationFailure
from fmident.fmu.failure import output_records, own_words
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.native_code.log import BUFFER_BYTES, decode
from fmident.fmu.native_code.program import FAILED_STEP
from fmident.fmu.processes.guard import end_of_process
from fmident.operating_system import (
    PrivateMemory,
    end_child,
    end_family,
    memory_file,
    read_at,
    read_available,
    start_child,
    was_killed,
    without_waiting,
)

_MODULE = "fmident.evaluation.executors.processes.child"
_EXIT_TIMEOUT = 2.0
"""Seconds that a worker has to free its FMU and go, before it is killed."""


_CRASH_HINT = (
    "this is an error in the FMU: try other parameter values, narrower bounds, or export it"
    " again with another tool or version"
)


_CODES = {
    "crash": Code.PROCESS_CRASHED,
    "killed": Code.PROCESS_KILLED,
    "timeout": Code.TIMED_OUT,
    "memory": Code.OUT_OF_MEMORY,
}

_HINTS = {
    "timeout": "allow more time with [evaluation] timeout, or narrow the bounds",
    "memory": "raise [evaluation] memory_limit_mb, or look for what makes the FMU grow",
}


@dataclass
class Sent:
    """A command without reply so far, with the task's index, slot and number of values.

    `setup` is the number of a setup that is sent, `run` that of the worker's run, counted
    from 1. `begun` is the earliest time of its start: ``time.monotonic()``.
    """

    command: Command
    index: int | None = None
    slot: int = 0
    count: int = 0
    setup: int = -1
    run: int = 0
    begun: float = 0.0


class Worker:
    """One process with one instance of the FMU.

    `outstanding` are commands without reply, oldest first, and `known` the numbers of its
    setups. A `retiring` worker gets no more work; `killed` is why the executor killed it,
    if so. `resident` is its private memory at the last reply, and `grown` the growth by
    simulations, bytes; `printed` is the FMU's output since then. `folder` is removed with
    the worker, and `request` is the body of :attr:`Command.OPEN`.
    """

    def __init__(self, folder: Path, request: bytes) -> None:
        self.folder = folder
        self.ready = self.retiring = self.tried = False
        self.outstanding: deque[Sent] = deque()
        self.known: set[int] = set()
        self.runs = self.resident = self.grown = 0
        self._before = 0
        self._warm = False
        self.killed: End | None = None
        self.printed = bytearray()
        self.slots: Slots | None = None
        self._names: dict[tuple[str, ...], int] = {}
        self._frames = Frames()
        self._ends: list[int] = []
        try:
            self._start(folder)
            self.memory = PrivateMemory(self._process.pid)
            self.send(Sent(Command.OPEN), body=request)
        except BaseException:
            # Closing the pipes ends a process that may have started all the same.
            self._release()
            raise

    def _start(self, folder: Path) -> None:
        commands, self._commands = self._pipe()
        self.replies, replies = self._pipe()
        life, _ = self._pipe()
        self.output, output = self._pipe()
        self._slots_file = memory_file("fmident-slots")
        self._log_file = memory_file("fmident-log", TRACE_BYTES)
        self._ends += [self._slots_file, self._log_file]
        theirs = (commands, replies, life, self._slots_file, self._log_file)
        self._process = start_child(
            command(_MODULE),
            theirs,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)},
        )
        for descriptor in (commands, replies, life, output):
            self._ends.remove(descriptor)
            os.close(descriptor)
        without_waiting(self.replies)
        without_waiting(self.output)

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._ends += ends
        return ends

    @property
    def pid(self) -> int:
        """Process identifier."""
        return self._process.pid

    @property
    def dead(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    # ------------------------------------------------------------------ sending

    def send(self, sent: Sent, number: int = 0, body: bytes = b"") -> None:
        """Send a command that will be answered."""
        if not self.outstanding:
            sent.begun = time.monotonic()
        # Noted first: a worker that an interrupt leaves with half a command counts as busy.
        self.outstanding.append(sent)
        self.tell(sent.command, sent.slot, number, body)

    def tell(self, command: Command, slot: int = 0, number: int = 0, body: bytes = b"") -> None:
        """Send a command; do nothing if the worker is gone, which its pipe will show soon."""
        data = memoryview(frame(command, slot, number, body))
        with contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._commands, data) :]

    def make_room(self, slot_bytes: int) -> None:
        """Enlarge the slots to this size; only while nothing is outstanding."""
        if self.slots is None or self.slots.slot_bytes < slot_bytes:
            os.ftruncate(self._slots_file, SLOTS * slot_bytes)
            self.slots = Slots(self._slots_file, slot_bytes)
            self.tell(Command.MAP, 0, slot_bytes)

    def run(
        self, index: int, setup: int, names: tuple[str, ...], values: list[float], more: bytes
    ) -> None:
        """Send a task."""
        assert self.slots is not None
        number = self._names.get(names)
        if number is None:
            number = self._names[names] = len(self._names)
            self.tell(Command.NAMES, 0, number, json.dumps(names).encode())
        used = {sent.slot for sent in self.outstanding if sent.command is Command.RUN}
        slot = next(s for s in range(SLOTS) if s not in used)
        self.slots.values(slot, len(values))[:] = values
        self.runs += 1
        sent = Sent(Command.RUN, index, slot, len(values), run=self.runs)
        self.send(sent, setup << 32 | number, more)

    def outputs(self, sent: Sent, shape: tuple[int, int]) -> F64:
        """Return a copy of the outputs of a completed task."""
        assert self.slots is not None
        return self.slots.outputs(sent.slot, shape, sent.count).copy()

    # ---------------------------------------------------------------- receiving

    def answers(self) -> Iterator[tuple[Sent, int, bytes]]:
        """Yield answered commands, each with the kind of the reply and its payload."""
        while True:
            data = read_available(self.replies, 65536)
            if data is None:
                return
            if not data:
                raise EOFError
            for kind, _, resident, body in self._frames.feed(data):
                self._before, self.resident = self.resident, resident
                self.listen()
                sent = self.outstanding.popleft()
                if self.outstanding:
                    self.outstanding[0].begun = time.monotonic()
                yield sent, kind, body
                self.printed.clear()

    def weigh(self, sent: Sent) -> None:
        """Add the memory growth of a run, except for setups and the first run."""
        if sent.command is Command.RUN:
            if self._warm:
                self.grown = max(self.grown + self.resident - self._before, 0)
            self._warm = True

    def listen(self) -> None:
        """Read the FMU's printed output; only the end is kept."""
        for _ in range(16 if self.output in self._ends else 0):
            data = read_available(self.output, PRINTED)
            if not data:
                return
            self.printed += data
            del self.printed[:-PRINTED]

    def log(self) -> bytes:
        """Return the ring of log messages, also after a crash."""
        return read_at(self._log_file, BUFFER_BYTES, 0)

    def begun(self) -> int:
        """Return the number of runs that the worker has started."""
        return int.from_bytes(read_at(self._log_file, 8, BUFFER_BYTES), "little")

    def trial(self) -> float:
        """Return when the present run of the reset test started; 0 if there is none."""
        began: float
        (began,) = struct.unpack("<d", read_at(self._log_file, 8, TRIAL_AT))
        return began

    def step(self) -> int:
        """Return the communication step of the last run, -1 before the first."""
        place = STATE_AT + 8 * FAILED_STEP
        return int.from_bytes(read_at(self._log_file, 8, place), "little", signed=True)

    # -------------------------------------------------------------------- ending

    def dismiss(self) -> None:
        """Ask the worker to free its FMU and exit."""
        with contextlib.suppress(OSError, ValueError):
            self._ends.remove(self._commands)
            os.close(self._commands)
        self.outstanding.clear()
        self._leaves = time.monotonic() + _EXIT_TIMEOUT

    def gone(self) -> bool:
        """Return whether a dismissed worker has ended; kill it if it takes too long."""
        # Somebody has to read what it prints, or it could wait for that forever.
        self.listen()
        if self._process.poll() is None:
            if time.monotonic() < self._leaves:
                return False
            self.kill()
        self.finish()
        return True

    def kill(self, end: End | None = None) -> None:
        """Kill the process."""
        self.killed = self.killed or end
        end_child(self._process)

    def finish(self) -> End:
        """Wait for the end of the process, free everything, and return how it ended; repeatable."""
        try:
            self._process.wait(_EXIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        end_family(self._process, self.folder)
        self.listen()
        self._release()
        self.memory.close()
        return self.killed or End.of(self._process.returncode)

    def __del__(self) -> None:
        # Ctrl-C can strike between the start of a worker and its being known to anybody, or
        # before there is anything to release.
        if hasattr(self, "_ends"):
            self._release()

    def _release(self) -> None:
        while self._ends:
            with contextlib.suppress(OSError):
                os.close(self._ends.pop())
        shutil.rmtree(self.folder, ignore_errors=True)


def split_values(values: Mapping[str, Any]) -> tuple[tuple[str, ...], list[float], dict[str, Any]]:
    """Split values into names and numbers of floats, and the others."""
    numbers = {name: value for name, value in values.items() if isinstance(value, float)}
    others = (
        {}
        if len(numbers) == len(values)
        else {name: value for name, value in values.items() if name not in numbers}
    )
    return tuple(numbers), list(numbers.values()), others


@dataclass(frozen=True)
class End:
    """How a worker ended: ``"killed"`` from outside, ``"timeout"`` or ``"memory"`` by limits."""

    text: str
    cause: Literal["crash", "killed", "timeout", "memory"] = "crash"

    @classmethod
    def of(cls, code: int) -> End:
        """Return the end of a process with an exit code, negative for a signal."""
        return cls(end_of_process(code), "killed" if was_killed(code) else "crash")


def crash(end: End, log: bytes, printed: bytes, description: ModelDescription) -> SimulationFailure:
    """Return the failure of the simulation in which a worker ended, from the trace that it left.

    It is final if the simulation would probably crash again; values and experiment are to be added.
    """
    records = decode(log, description.by_reference)
    records += output_records(printed.decode("utf-8", "replace"))
    message = own_words(records)
    return SimulationFailure(
        f"the native code of the FMU '{description.name}' {end.text}"
        + (f"; its last words: {message}" if message else ""),
        log=tuple(str(record) for record in records),
        hint=_HINTS.get(end.cause, _CRASH_HINT),
        final=end.cause == "crash",
        timed_out=end.cause == "timeout",
        code=_CODES[end.cause],
    )


def failure_of(
    error: SimulationError, printed: bytes, values: Mapping[str, float], prepared: Prepared
) -> SimulationFailure:
    """Return a failure reported by the FMU engine, with the FMU's printed output."""
    records = output_records(printed.decode("utf-8", "replace"))
    message = error.message
    if records and not error.log:
        message += f"; the FMU says: {own_words(records)}"
    return SimulationFailure(
        message,
        error.time,
        dict(values),
        (*error.log, *(str(record) for record in records)),
        prepared.experiment,
        error.hint,
        final=not error.timed_out,
        timed_out=error.timed_out,
        says_time=error.says_time,
        code=error.code,
    )
