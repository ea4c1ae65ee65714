"""Run a function in a child process, in which an FMU may do what it likes.

Request and answers are pickled in files, an error as itself. What the child, and the FMU in it,
print is in a third. All are in a scratch folder.

Scratch folders do not pile up when processes are killed: each is locked by the process that made
it, and the next process removes what nobody holds.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import stat
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident._child import command
from fmident.context_managers import Closes
from fmident.errors import FmidentError
from fmident.files import make_locked, remove_if_left, remove_locked
from fmident.operating_system import (
    ChildProcess,
    adopt_orphans,
    belongs_to_user,
    end_child,
    end_family,
    hide_core_files,
    passed_on,
    start_child,
    start_copy,
    tie_to_parent,
    unlock,
)

if TYPE_CHECKING:
    from fmident.fmu.model_description.description import InterfaceChoice


OUTPUT = "output.txt"
"""File with all that the child, and the FMU in it, print."""

REQUEST, ANSWERS = "request.pickle", "answers.pickle"
"""Files with the request to the child, and with its answers."""

MOST_OUTPUT = 16_000_000
"""Bytes of output from which on it is thrown away: an FMU that prints for ever must not fill the
disk."""

_LOOK = 0.1
"""Seconds after which the output of a child that runs is looked at."""

START_LIMIT = 60.0
"""Wall-clock seconds that the child may take at least to load Python and the FMU."""


PREFIX = "fmident-scratch-"

_YOUNG = 60.0
"""Seconds for which an unlocked folder is left alone: it may be about to be locked."""

_KEPT = ".kept"
"""A file in a folder that is never swept."""

_swept: set[str] = set()

Answer = Callable[[object], None]
Task = Callable[..., None]
"""A function of a module that a child runs, see :class:`Child`."""


class Child(Closes):
    """A function that runs in a separate process; to be closed.

    It is called with `folder`, a function that sends an answer, and the `request`, which is
    pickled. `copied` permits a copy of this process, which need not load Python and packages;
    the attribute says whether it is one.
    """

    def __init__(
        self, task: Task, folder: Path, request: tuple[object, ...], *, copied: bool = False
    ) -> None:
        self._folder = folder
        (folder / ANSWERS).write_bytes(b"")
        (folder / REQUEST).write_bytes(pickle.dumps((task, request)))
        life, self._life = os.pipe()
        self.copied = copied
        try:
            self._process = self._started(life)
        except BaseException:
            os.close(self._life)
            raise
        finally:
            os.close(life)

    def _started(self, life: int) -> ChildProcess:
        folder = str(self._folder)
        own = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)
        if self.copied:
            copy = start_copy(lambda: main(folder, str(life)), life, self._folder / OUTPUT, own)
            if copy is not None:
                return copy
            self.copied = False
        with (self._folder / OUTPUT).open("ab") as output:  # see _keep_short
            return start_child(
                command(__name__, folder),
                (life,),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **own},
            )

    @property
    def returncode(self) -> int:
        """Exit code, as in :mod:`subprocess`."""
        code = self._process.returncode
        assert code is not None, "the child has not ended"
        return code

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it has ended."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            try:
                self._process.wait(max(min(left, _LOOK), 0.0))
            except subprocess.TimeoutExpired:
                _keep_short(self._folder / OUTPUT)
                if left <= _LOOK:
                    return False
            else:
                return True

    def answers(self) -> list[Any]:
        """Return its answers so far; raise the error with which its task ended."""
        answers: list[Any] = []
        cut_off = contextlib.suppress(EOFError, pickle.UnpicklingError)
        with (self._folder / ANSWERS).open("rb") as file, cut_off:
            while True:
                answers.append(pickle.load(file))
        if answers and isinstance(answers[-1], FmidentError):
            raise answers[-1]
        return answers

    def kill(self) -> None:
        """Kill it if it is alive, and all processes that it started."""
        end_child(self._process)
        end_family(self._process, self._folder, alive=True)

    def close(self) -> None:
        """Kill it and all processes that it started, and release its resources."""
        end_child(self._process)
        self._process.wait()
        end_family(self._process, self._folder)
        if self._life >= 0:
            os.close(self._life)
            self._life = -1


def _keep_short(output: Path) -> None:
    """Truncate the file `output`, if it has become too long, during use by a process."""
    with contextlib.suppress(OSError):
        if output.stat().st_size > MOST_OUTPUT:
            os.truncate(output, 0)


def main(folder: str, life: str) -> None:
    """Run a task in this process, which ends with its parent and leaves no core file.

    `life` is the argument for the end of a pipe whose other end the parent holds.
    """
    tie_to_parent(passed_on(life))
    adopt_orphans()
    hide_core_files()
    place = Path(folder)

    def answer(content: object) -> None:
        with (place / ANSWERS).open("ab") as answers:
            answers.write(pickle.dumps(content))

    task, request = pickle.loads((place / REQUEST).read_bytes())
    try:
        task(place, answer, *request)
    except FmidentError as error:
        answer(error)
    os._exit(0)


@dataclass(frozen=True)
class EngineSettings:
    """How an FMU is opened and simulated in a child process; sent pickled.

    `time_limit` is the wall-clock time of a simulation, s, and `memory_limit` the maximum
    address space, bytes; ``None`` for no limit.
    """

    fmu: str
    interface: InterfaceChoice = "auto"
    folder: str | None = None
    time_limit: float | None = None
    memory_limit: int | None = None


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
