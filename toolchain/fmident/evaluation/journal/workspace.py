"""Hidden folder of a run that has not ended."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fmident._json import checked, read_object
from fmident.context_managers import RecoverableLock
from fmident.errors import Code, Diagnostic, EstimationError, FmidentError
from fmident.evaluation.journal.journal import (
    Journal,
    has_other_format,
    holds_records,
    remove_records,
)
from fmident.evaluation.journal.keys import differences, identity_of
from fmident.operating_system import (
    lock_record_file,
    open_record_file,
    remove_locked_file,
)

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_ABOUT = "run.json"
_PROBLEM = "problem.toml"
_ENDED = "ended"
_PLACED = "placed.json"

_NO_MISTAKE = (Code.EXECUTOR_LOST, Code.LACKS_RESOURCES)
"""Errors after which the same run can go on."""

_QUICK = 60.0
"""Seconds after which the simulations of a run that ends in an error are worth keeping."""


_OWN: dict[str, dict[str, Any]] = {}
"""Locks that this process holds, and what their files tell.

POSIX locks do not keep a process from its own files. Worse, they are gone as soon as it closes any
descriptor of such a file: so it must not even read one that it has locked.
"""

_CHANGING = RecoverableLock()

_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


class Workspace:
    """Files kept beside the result folder ``NAME`` by a run until it has ended.

    ``.NAME.run`` contains the journal, the problem as text and its identity; ``.NAME.lock``
    excludes a second run. The folder remains after a run that was interrupted, killed, or
    ended by a limit, and the next run may `resume` from it. Otherwise it is moved to
    ``.NAME.run.1``, ``.NAME.run.2``, ..., or deleted if `replace`. `beside` is the identity
    of the run in addition to the problem, as JSON types.

    Raises `EstimationError` if another run uses the result folder, the folder cannot be
    created, or there is nothing to resume, or only from another problem.
    """

    def __init__(
        self,
        result: Path,
        problem: Problem,
        *,
        resume: bool = False,
        replace: bool = False,
        report: Callable[[list[Diagnostic]], None] = lambda _: None,
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        # The last part of a path such as "." is not a name that another could be made from.
        result = result if result.name not in ("", "..") else result.resolve()
        self.result = result
        self.folder = unfinished_folder(result)
        self.journal: Journal | None = None
        self.resumed = resume
        self._worth_keeping = resume
        self._began = time.monotonic()
        self._report = report
        self._made = [p for p in result.parents if not p.exists()]
        try:
            result.parent.mkdir(parents=True, exist_ok=True)
            self._lock = RunLock(result.with_name(f".{result.name}.lock"), result)
        except OSError as error:
            raise EstimationError(
                f"'{result}' cannot be made: {reason(error)}",
                hint="give another folder with -o",
                code=Code.UNUSABLE_FILE,
            ) from error
        try:
            if self._lock.note:
                self._tell("warning", self._lock.note)
            self._open({**identity_of(problem), **(beside or {})}, problem, replace)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        quick = time.monotonic() - self._began < _QUICK
        mistake = isinstance(error, FmidentError) and error.code not in _NO_MISTAKE
        if mistake and quick and not self._worth_keeping:
            # It has to be corrected first: there is nothing to go on from.
            self.discard()
        self.close()

    @property
    def simulations(self) -> int:
        """Number of simulations available from the previous run."""
        return 0 if self.journal is None or not self.resumed else self.journal.simulations

    @property
    def resumable(self) -> bool:
        """Whether another run can resume from here."""
        return (self.folder / _ABOUT).exists() and self._holds_records()

    def keep(self) -> None:
        """Keep the journal even after an error, since the estimation itself has ended."""
        self._worth_keeping = True

    def placing(self, work: Path, status: str) -> None:
        """Record which folder becomes the result, immediately before it is moved into place.

        If a run is killed between the move and :meth:`finish`, the next run recognises its
        result by the folder's inode number, which a rename does not change.
        """
        with contextlib.suppress(OSError):  # a full disk: the mark is not worth an error
            about = {"status": status, "folder": _identity(work)}
            _write(self.folder / _PLACED, json.dumps(about))

    def finish(self, status: str) -> None:
        """Record that the run has ended and its result is written.

        The journal is deleted after the status ``"converged"``, and kept for a resume after
        ``"interrupted"``. After any other the next run may resume or delete it.
        """
        if status == "converged":
            self.discard()
            return
        self._close_journal()
        if status != "interrupted":
            self._end(status)

    def discard(self) -> None:
        """Delete the journal."""
        self._close_journal()
        self._remove()

    def close(self) -> None:
        """Release the lock; the remaining journal can be resumed unless it has no simulation."""
        self._close_journal()
        if self.folder.exists() and not self._holds_records():
            self._remove()
        self._lock.release()
        with contextlib.suppress(OSError):  # it is not empty, as a rule
            for folder in self._made:
                folder.rmdir()

    def _end(self, status: str) -> None:
        with contextlib.suppress(OSError):
            (self.folder / _ENDED).write_text(status + "\n", encoding="utf-8")

    def _has_ended(self) -> bool:
        """Return whether the run that left this folder ended by itself with a result."""
        if (self.folder / _ENDED).exists():
            return True
        try:
            mark = read_object(self.folder / _PLACED)
            folder, status = (checked(mark.get(key), str, key) for key in ("folder", "status"))
            return folder == _identity(self.result) and status != "interrupted"
        except (OSError, ValueError):
            return False

    def _remove(self) -> None:
        # Killed half-way, it must not look like an unfinished run: the simulations go first.
        remove_records(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _open(self, identity: dict[str, Any], problem: Problem, replace: bool) -> None:
        if self.resumed:
            self._check(identity)
        elif holds_records(self.folder) and not self._has_ended():
            self._move_aside(replace)
        else:
            self._remove()
        try:
            self.folder.mkdir(exist_ok=True)
            (self.folder / _ENDED).unlink(missing_ok=True)
            (self.folder / _PLACED).unlink(missing_ok=True)
            if not self.resumed:
                about = {"started": time.strftime("%Y-%m-%d %H:%M:%S"), "identity": identity}
                _write(self.folder / _PROBLEM, problem.file.text)
                # This one comes last: without it there is nothing to resume.
                _write(self.folder / _ABOUT, json.dumps(about, indent=1))
            self.journal = Journal(self.folder)
        except OSError as error:
            self._tell(
                "warning",
                f"no journal can be kept in '{self.folder}' ({reason(error)}): a run that is "
                "killed loses its simulations",
            )
        else:
            for note in self.journal.damage:
                self._tell("note", note)
            for note in self.journal.notes:
                self._tell("warning", note)

    def _check(self, identity: dict[str, Any]) -> None:
        """Raise `EstimationError` if there is no journal, or if it is of another problem."""
        try:
            about = read_object(self.folder / _ABOUT)
            before = checked(about.get("identity"), dict, "identity")
            started = checked(about.get("started"), str, "started")
        except FileNotFoundError:
            raise EstimationError(
                f"there is no unfinished run of '{self.result}' to resume",
                hint="leave --resume out; a run that has ended needs none",
                code=Code.NOTHING_TO_RESUME,
            ) from None
        except (OSError, ValueError) as error:
            raise EstimationError(
                f"the unfinished run in '{self.folder}' cannot be read: {error}",
                hint="leave --resume out: it is moved aside, and the run begins anew",
                code=Code.NOTHING_TO_RESUME,
            ) from error
        if has_other_format(self.folder):
            raise EstimationError(
                f"the journal in '{self.folder}' was written by another version of fmident",
                hint="go on with that version, or leave --resume out: the journal is moved aside, "
                "and the run begins anew",
                code=Code.NOTHING_TO_RESUME,
            )
        changed = differences(before, identity)
        if changed:
            raise EstimationError(
                f"the unfinished run of {started} in '{self.folder}' is of another problem: "
                f"{changed}",
                hint="undo the change (the problem as it was is in "
                f"'{self.folder / _PROBLEM}'), or leave --resume out to begin anew",
                code=Code.OTHER_PROBLEM,
            )

    def _move_aside(self, replace: bool) -> None:
        if replace:
            shutil.rmtree(self.folder)
            return
        number = 1
        while (target := self.folder.with_name(f"{self.folder.name}.{number}")).exists():
            number += 1
        try:
            self.folder.rename(target)
        except OSError as error:
            raise EstimationError(
                f"the unfinished run in '{self.folder}' cannot be moved aside: {reason(error)}",
                hint="give another folder with -o",
                code=Code.UNUSABLE_FILE,
            ) from error
        self._tell(
            "note",
            f"an earlier run of '{self.result}' was not finished; this one begins anew, and the "
            f"journal of the earlier one is kept as '{target}'",
            f"to go on from it: stop this run, move it back to '{self.folder}', use --resume",
        )

    def _close_journal(self) -> None:
        if self.journal is not None:
            self.journal.close()

    def _holds_records(self) -> bool:
        if self.journal is not None and not self.journal.closed:
            return self.journal.holds_records
        return holds_records(self.folder)

    def _tell(self, severity: Any, message: str, hint: str | None = None) -> None:
        self._report([Diagnostic(severity, message, hint=hint)])


def reason(error: OSError) -> str:
    """Return the system's description of an error."""
    return os.strerror(error.errno) if error.errno else str(error)


def unfinished_folder(result: Path) -> Path:
    """Return the journal folder of a run that writes `result`."""
    return result.with_name(f".{result.name}.run")


def _identity(folder: Path) -> str:
    """Return an identity of a folder that survives renaming."""
    status = folder.stat()
    return f"{status.st_dev}:{status.st_ino}"


def _write(path: Path, text: str) -> None:
    """Write a file atomically."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)


class RunLock:
    """A lock that the system releases when the process ends, however it ends.

    POSIX record locks are not inherited by child processes, so that workers that outlive a
    killed run do not hold its lock. The file says who holds the lock, and is removed on
    release. Raises `EstimationError` if another run holds it.
    """

    def __init__(self, path: Path, what: Path) -> None:
        self.path = path
        self._name = str(path.resolve())
        self.note = ""
        with _CHANGING:
            if self._name in _OWN:
                raise _refusal(what, _OWN[self._name])
            self._take(what)
            _OWN[self._name] = _self()
        with contextlib.suppress(OSError):  # a full disk; the lock itself needs no room
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, json.dumps(_OWN[self._name]).encode())

    def release(self) -> None:
        """Release the lock."""
        with _CHANGING:
            if _OWN.pop(self._name, None) is None:
                return
            remove_locked_file(self.path, self._descriptor)

    def _take(self, what: Path) -> None:
        path = self.path
        while True:
            self._descriptor = open_record_file(path)
            try:
                self._lock(what)
                if self._still_there():
                    break
            except BaseException:
                os.close(self._descriptor)
                raise
            os.close(self._descriptor)  # it was just released and removed: make a new one

    def _lock(self, what: Path) -> None:
        try:
            lock_record_file(self._descriptor)
        except OSError as error:
            if error.errno in _HELD:
                raise _refusal(what, _holder(self.path)) from None
            self.note = (
                f"this file system keeps no locks ({error.strerror}): see to it yourself that no "
                f"second run writes into '{what}'"
            )

    def _still_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except FileNotFoundError:
            return False


def _self() -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "started": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _holder(path: Path) -> dict[str, Any]:
    try:
        return read_object(path)
    except (OSError, ValueError):
        return {}


def _refusal(what: Path, holder: dict[str, Any]) -> EstimationError:
    who = ""
    if holder:
        pid, host, started = (holder.get(k) for k in ("pid", "host", "started"))
        who = f": process {pid} on {host}, since {started}"
    return EstimationError(
        f"another run is at work on the result folder '{what}'{who}",
        hint="wait for it, end it, or give another folder with -o",
        code=Code.FOLDER_IN_USE,
    )
