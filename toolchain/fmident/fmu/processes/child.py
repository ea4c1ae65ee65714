"""Run a module of this package in a child process, in which an FMU may do what it likes.

What a process and the child in which an FMU runs send each other, as objects.

Both sides read the same fields: what one adds, the other has, or neither does.

Temporary folders that do not pile up when processes are killed.

Each folder is locked by the process that made it; the next process removes what nobody holds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import pickle
import stat
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident._child import command
from fmident.context_managers import Closes
from fmident.errors import FmidentError, FmuError, SimulationError
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
"""What the child, and the FMU in it, print."""

REQUEST, RESULT = "request.pickle", "result.json"
"""What the child is asked, and what it answers."""

MOST_OUTPUT = 16_000_000
"""Bytes of output from which on it is thrown away: an FMU that prints for ever must not fill the
disk."""

LOOK = 0.1
"""Seconds after which the output of a child that runs is looked at."""

START_LIMIT = 60.0
"""Wall-clock seconds that the child may take at least to load Python and the FMU."""


PREFIX = "fmident-scratch-"

_YOUNG = 60.0
"""Seconds for which an unlocked folder is left alone: it may be about to be locked."""

_KEPT = ".kept"
"""A file in a folder that is never swept."""

_swept: set[str] = set()


class Child(Closes):
    """A module that runs in a separate process; to be closed.

    Its ``main`` gets the name of `folder`, which is removed however it ends, and the number
    of a pipe's end, for :func:`prepare`. `request` is pickled. `copied` permits a copy of
    this process, which need not load Python and packages; the attribute says whether it is
    one.
    """

    def __init__(self, module: str, folder: Path, request: object, *, copied: bool = False) -> None:
        self._folder = folder
        (folder / REQUEST).write_bytes(pickle.dumps(request))
        life, self._life = os.pipe()
        self.copied = copied
        try:
            self._process = self._started(module, life)
        except BaseException:
            os.close(self._life)
            raise
        finally:
            os.close(life)

    def _started(self, module: str, life: int) -> ChildProcess:
        folder = str(self._folder)
        own = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)
        if self.copied:

            def work() -> None:
                importlib.import_module(module).main(folder, str(life))

            copy = start_copy(work, life, self._folder / OUTPUT, own)
            if copy is not None:
                return copy
            self.copied = False
        with (self._folder / OUTPUT).open("ab") as output:  # see keep_short
            return start_child(
                command(module, folder),
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
                self._process.wait(max(min(left, LOOK), 0.0))
            except subprocess.TimeoutExpired:
                keep_short(self._folder / OUTPUT)
                if left <= LOOK:
                    return False
            else:
                return True

    @property
    def result(self) -> Any:
        """Its answer, from JSON; ``None`` without one."""
        try:
            return json.loads((self._folder / RESULT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Kill it if it is alive, and all processes that it started."""
        end_child(self._process)
        self._process.wait()
        end_family(self._process, self._folder)
        if self._life >= 0:
            os.close(self._life)
            self._life = -1


def keep_short(output: Path) -> None:
    """Truncate the file `output`, if it has become too long, during use by a process."""
    with contextlib.suppress(OSError):
        if output.stat().st_size > MOST_OUTPUT:
            os.truncate(output, 0)


def prepare(life: str) -> None:
    """Prepare a child process: end with the parent, adopt orphans, write no core file.

    `life` is the argument for the end of a pipe whose other end the parent holds.
    """
    tie_to_parent(passed_on(life))
    adopt_orphans()
    hide_core_files()


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


@dataclass(frozen=True)
class ErrorFacts:
    """An error of the engine in a child process, as :class:`fmident.errors.SimulationError`."""

    kind: str
    message: str
    hint: str | None = None
    code: str | None = None
    time: float | None = None
    ended: float | None = None
    timed_out: bool = False
    says_time: bool = False
    log: tuple[str, ...] = ()

    @classmethod
    def of(cls, error: FmidentError) -> ErrorFacts:
        """Return the facts of an error."""
        place = "" if error.location is None else f"{error.location}: "
        facts = cls(type(error).__name__, place + error.message, error.hint, error.code)
        if not isinstance(error, SimulationError):
            return facts
        return dataclasses.replace(
            facts,
            time=error.time,
            ended=error.ended,
            timed_out=error.timed_out,
            says_time=error.says_time,
            log=error.log,
        )

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> ErrorFacts:
        """Return the facts from JSON."""
        return cls(**{**content, "log": tuple(content["log"])})

    def as_json(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        return dataclasses.asdict(self)

    def encoded(self) -> bytes:
        """Return the facts as JSON, with only the last messages of the log."""
        return json.dumps({**self.as_json(), "log": self.log[-100:]}).encode()

    def error(self) -> FmuError | SimulationError:
        """Return the original error."""
        if self.kind == FmuError.__name__:
            return FmuError(self.message, hint=self.hint, code=self.code)
        return SimulationError(
            self.message,
            time=self.time,
            log=self.log,
            hint=self.hint,
            ended=self.ended,
            timed_out=self.timed_out,
            says_time=self.says_time,
            code=self.code,
        )


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
