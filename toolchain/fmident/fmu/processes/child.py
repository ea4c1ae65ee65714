"""Run a function in a child process, in which an FMU may do what it likes.

There is one protocol for all that runs an FMU in another process. Both sides send pickled
messages through pipes. What the child and the FMU in it print goes through a third pipe, of
which the end is kept. What a crash must not take along is in memory that both sides map.

Scratch folders do not pile up when processes are killed: each is locked by the process that made
it, and the next process removes what nobody holds.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import pickle
import stat
import struct
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fmident._child import command
from fmident.context_managers import Closes
from fmident.errors import FmidentError
from fmident.files import make_locked, remove_if_left, remove_locked
from fmident.fmu.native_code.log import BUFFER_BYTES
from fmident.fmu.native_code.program import FAILED_STEP, STATE_SIZE
from fmident.operating_system import (
    CRASHES,
    ChildProcess,
    adopt_orphans,
    belongs_to_user,
    end_child,
    end_family,
    flush_c_streams,
    hide_core_files,
    kind_of_crash,
    memory_file,
    offer_to_be_ended_first,
    passed_on,
    read_available,
    readable,
    start_child,
    start_copy,
    tie_to_parent,
    unlock,
    was_killed,
    without_waiting,
)

START_LIMIT = 60.0
"""Wall-clock seconds that the child may take at least to load Python and the FMU."""

DAMAGED = "damaged"
"""The stage of a child whose FMU has closed the pipes to its parent."""

PRINTED = 64 * 1024
"""About this many bytes of what a child prints last are kept."""

PREFIX = "fmident-scratch-"

_LOOK, _CLOSED = 0.05, 0.005
"""Seconds between two looks whether a child lives, and when its pipes are closed."""

_LENGTH = struct.Struct("<q")
_MOST_AT_ONCE = 1 << 18

_PIPE = 4096
"""Bytes that any pipe holds."""

_YOUNG = 60.0
"""Seconds for which an unlocked folder is left alone: it may be about to be locked."""

_KEPT = ".kept"
"""A file in a folder that is never swept."""

_swept: set[str] = set()

Task = Callable[..., None]
"""A function of a module that a child runs, see :class:`Child`."""


@dataclass(frozen=True)
class End:
    """How a child ended: ``"killed"`` from outside, ``"timeout"`` or ``"memory"`` by limits."""

    text: str
    cause: Literal["crash", "killed", "timeout", "memory"] = "crash"

    @classmethod
    def of(cls, code: int) -> End:
        """Return the end of a process with an exit code, negative for a signal."""
        name = kind_of_crash(code)
        if name is None:
            return cls(f"ended the whole process with exit code {code}")
        meaning = f" ({CRASHES[name]})" if name in CRASHES else ""
        return cls(f"crashed with {name}{meaning}", "killed" if was_killed(code) else "crash")


_TIMES = [("reached", "f8"), ("trial", "f8")]
_MARKS = np.dtype([("stage", "S48"), *_TIMES, ("runs", "i8"), ("loop", "i8", STATE_SIZE)])


class Trace:
    """Memory that outlives a child: the ring of the FMU's messages, and how far a run is.

    `marks` has one element. What each field means is up to the task, but for ``loop``: the state
    of the simulation's loop.
    """

    def __init__(self, descriptor: int) -> None:
        self.memory = mmap.mmap(descriptor, TRACE_BYTES)
        self.marks = np.frombuffer(self.memory, _MARKS, 1, BUFFER_BYTES)[0]

    @property
    def stage(self) -> str:
        """The stage reported last."""
        return str(self.marks["stage"].decode())

    @property
    def step(self) -> int:
        """The communication step of the last run, -1 before the first."""
        return int(self.marks["loop"][FAILED_STEP])

    def report(self, stage: str, reached: float) -> None:
        """Record what is about to happen."""
        self.marks["reached"] = reached
        self.marks["stage"] = stage.encode()


TRACE_BYTES = BUFFER_BYTES + _MARKS.itemsize


def _frame(message: object) -> bytes:
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


class Child(Closes):
    """A function that runs in a separate process; to be closed.

    It is called with a :class:`Parent` and the `request`. `copied` permits a copy of this
    process, which need not load Python and packages; the attribute says whether it is one.
    `answers` are the messages that :meth:`wait` has taken, and `printed` is the end of what the
    child has printed.
    """

    def __init__(self, task: Task, folder: Path, *request: object, copied: bool = False) -> None:
        self.folder = folder
        self.copied = copied
        self.printed = bytearray()
        self.answers: list[Any] = []
        self._pending = bytearray()
        self._killed: End | None = None
        self._descriptors: list[int] = []
        try:
            self._process = self._started()
            self.tell((task, request))
        except BaseException:
            # Closing the pipes ends a process that may have started all the same.
            self._release()
            raise

    def _started(self) -> ChildProcess:
        commands, self._commands = self._pipe()
        self.replies, replies = self._pipe()
        life, _ = self._pipe()
        self.output, output = self._pipe()
        trace = memory_file("fmident-trace", TRACE_BYTES)
        theirs = [commands, replies, life, trace, output]
        self._descriptors.append(trace)
        self.trace = Trace(trace)
        folder = str(self.folder)
        own = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)
        try:
            if self.copied:
                numbers = [str(number) for number in theirs[:-1]]
                copy = start_copy(lambda: main(folder, *numbers), theirs, own)
                if copy is not None:
                    return copy
                self.copied = False
            return start_child(
                command(__name__, folder),
                theirs[:-1],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **own},
            )
        finally:
            for descriptor in theirs:
                self._close(descriptor)
            without_waiting(self.replies)
            without_waiting(self.output)

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._descriptors += ends
        return ends

    def _close(self, descriptor: int) -> None:
        if descriptor in self._descriptors:
            self._descriptors.remove(descriptor)
            os.close(descriptor)

    @property
    def pid(self) -> int:
        """Process identifier."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def tell(self, message: object) -> None:
        """Send a message; do nothing if the child is gone, which its pipe will show soon.

        Who writes more than a pipe holds waits for the child, which is killed if it does not read
        within :data:`START_LIMIT`.
        """
        data = _frame(message)
        late = End(f"did not read within {START_LIMIT:g} s what it was sent", "timeout")
        limit = threading.Timer(START_LIMIT, self.kill, [late])
        if len(data) > _PIPE:
            limit.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                _write(self._commands, data)
        finally:
            limit.cancel()
            if limit.ident is not None:
                limit.join()

    def messages(self) -> Iterator[Any]:
        """Yield the messages that have arrived; raise `EOFError` after the last.

        A child in which native code has written to the pipe is killed: nothing after that can be
        read.
        """
        while (data := read_available(self.replies, _MOST_AT_ONCE)) is not None:
            if not data:
                raise EOFError
            self._pending += data
            while len(self._pending) >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(self._pending)
                end = _LENGTH.size + length
                if len(self._pending) < end:
                    break
                try:
                    with memoryview(self._pending) as pending:
                        message = pickle.loads(pending[_LENGTH.size : end])
                except Exception as error:  # pickle raises nearly any for bytes of others
                    self.kill(End("wrote to a pipe that it had not opened"))
                    raise EOFError from error
                del self._pending[:end]
                self.listen()
                yield message

    def listen(self) -> None:
        """Take what the child has printed."""
        for _ in range(16 if self.output in self._descriptors else 0):
            data = read_available(self.output, PRINTED)
            if not data:
                return
            self.printed += data
            del self.printed[:-PRINTED]

    @property
    def said(self) -> str:
        """The end of what it has printed, as text."""
        return self.printed.decode("utf-8", "replace")

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it has ended.

        Raises the `FmidentError` that it answers with.
        """
        deadline = time.monotonic() + seconds
        while True:
            ended = self.ended
            self.listen()
            with contextlib.suppress(EOFError):
                for message in self.messages():
                    if isinstance(message, FmidentError):
                        raise message
                    self.answers.append(message)
            left = deadline - time.monotonic()
            if ended or left <= 0.0:
                return ended
            ends = readable([self.replies, self.output], min(left, _LOOK))
            if not any(filled for _, filled in ends):
                time.sleep(min(left, _CLOSED))

    def dismiss(self) -> None:
        """Let it know that no further message will come."""
        self._close(self._commands)

    def kill(self, end: End | None = None) -> None:
        """Kill it, if it is alive; `end` says why."""
        self._killed = self._killed or end
        end_child(self._process)

    @property
    def killed(self) -> bool:
        """Whether it was killed for a reason."""
        return self._killed is not None

    @property
    def code(self) -> int:
        """Exit code, as in :mod:`subprocess`, once it is closed."""
        code = self._process.returncode
        assert code is not None, "the child has not ended"
        return code

    @property
    def end(self) -> End:
        """How it ended, once it is closed."""
        return self._killed or End.of(self.code)

    def close(self, patience: float = 0.0) -> None:
        """End it, at once or after some seconds, and all that it started; repeatable."""
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        end_family(self._process, self.folder)
        self.listen()
        self._release()

    def __del__(self) -> None:
        # Ctrl-C can strike between the start of a child and its being known to anybody, or
        # before there is anything to release.
        if hasattr(self, "_descriptors"):
            self._release()

    def _release(self) -> None:
        while self._descriptors:
            with contextlib.suppress(OSError):
                os.close(self._descriptors.pop())


class Parent:
    """The parent process, as a task in the child sees it."""

    def __init__(self, folder: Path, commands: int, replies: int, trace: int) -> None:
        self.folder = folder
        self.trace = Trace(trace)
        self._commands = os.fdopen(commands, "rb")
        self._replies = replies

    def answer(self, message: object) -> None:
        """Send a message, after all that the FMU has printed."""
        flush_c_streams()
        _write(self._replies, _frame(message))

    def messages(self) -> Iterator[Any]:
        """Yield messages until no further one will come."""
        while len(head := self._commands.read(_LENGTH.size)) == _LENGTH.size:
            yield pickle.loads(self._commands.read(*_LENGTH.unpack(head)))


def main(folder: str, *descriptors: str) -> None:
    """Run a task in this process, which ends with its parent and leaves no core file."""
    commands, replies, life, trace = map(passed_on, descriptors)
    tie_to_parent(life)
    adopt_orphans()
    hide_core_files()
    offer_to_be_ended_first()
    parent = Parent(Path(folder), commands, replies, trace)
    task, request = next(parent.messages())
    try:
        try:
            task(parent, *request)
        except FmidentError as error:
            parent.answer(error)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        parent.trace.report(DAMAGED, float(parent.trace.marks["reached"]))
        os._exit(1)
    os._exit(0)


class ScratchFolder(Closes):
    """A private folder of this process, removed with it; a context manager."""

    def __init__(self, purpose: str = "") -> None:
        _sweep(tempfile.gettempdir())
        self.path, lock = make_locked(f"{PREFIX}{purpose}-" if purpose else PREFIX)
        self._lock = lock
        try:
            self._finalizer = weakref.finalize(self, remove_locked, self.path, lock)
        except BaseException:  # Ctrl-C
            remove_locked(self.path, lock)
            raise

    def close(self) -> None:
        """Remove the folder and its content."""
        self._finalizer()

    def keep(self) -> None:
        """Keep the folder permanently, for inspection."""
        if self._finalizer.detach() is not None:
            with contextlib.suppress(OSError):
                (self.path / _KEPT).touch()
            unlock(self._lock)


def _sweep(parent: str) -> None:
    """Remove the folders of killed processes, once per process."""
    if parent in _swept:
        return
    _swept.add(parent)
    late = time.time() - _YOUNG
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_ours(entry, late):
                remove_if_left(Path(entry.path))


def _is_ours(entry: os.DirEntry[str], late: float) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    if not (belongs_to_user(status) and stat.S_ISDIR(status.st_mode) and status.st_mtime < late):
        return False
    return not Path(entry.path, _KEPT).exists()
