"""Commands that the page runs, each in a process that outlives the page and the server.

A job has a folder with what it is (``job.json``), what it printed and how far it is. A server that
starts again finds the jobs there: those that still run, and those that were interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psutil  # type: ignore[import-untyped]
from nicegui import Event

from fmident_app.events import VARIABLE

State = Literal["queued", "running", "paused", "done", "interrupted", "failed"]

# 1: it ran, and the answer is negative, such as no convergence within a limit
_ENDED: dict[int, State] = {0: "done", 1: "done", 130: "interrupted", -signal.SIGINT: "interrupted"}

_WAITED_FOR = ("queued", "running", "paused")


@dataclass
class Job:
    """A command of fmident.

    Parameters
    ----------
    folder
        Of its files.
    words
        The command as a user would type it, without ``fmident``.
    title
        For the page.
    result
        What it writes: a result folder or a file, relative to the folder of the problem.
    resumable
        Whether it goes on with ``--resume`` after it was interrupted.
    resumed
        Whether it is started with ``--resume``.
    forecast
        The effort of it that the check expected, as in its report.
    """

    folder: Path
    words: tuple[str, ...]
    title: str
    result: str = ""
    resumable: bool = False
    resumed: bool = False
    pid: int | None = None
    started: float = 0.0
    code: int | None = None
    forecast: dict[str, Any] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _reading: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _read: int = field(default=0, repr=False)
    _events: list[dict[str, Any]] = field(default_factory=list, repr=False)

    @property
    def number(self) -> int:
        """Number of the job, counted from 1."""
        return int(self.folder.name)

    @property
    def command(self) -> str:
        """The command for a terminal."""
        return shlex.join(("fmident", *self.words))

    @property
    def state(self) -> State:
        """How far it is."""
        if self._process is not None and self.code is None:
            self.code = self._process.poll()
            if self.code is not None:
                self._save()
        if self.code is not None:
            return _ENDED.get(self.code, "failed")
        if self.pid is None:
            return "queued"
        process = self._tree_root()
        if process is None and self._process is not None:
            return "running"  # it ends just now: the next look has its exit code
        if process is None:  # ended while no server watched it
            status = next((e["status"] for e in self.events if e["event"] == "end"), "interrupted")
            if not self.resumable and (self.folder.parents[1] / self.result).is_file():
                return "done"
            return "interrupted" if status == "interrupted" else "done"
        with contextlib.suppress(psutil.NoSuchProcess):
            return "paused" if process.status() == psutil.STATUS_STOPPED else "running"
        return "running"

    @property
    def events(self) -> list[dict[str, Any]]:
        """What the plugin of :mod:`fmident_app.events` has written so far; any thread may ask."""
        file = self.folder / "events.jsonl"
        with self._reading:
            if file.exists():
                with file.open("rb") as stream:
                    stream.seek(self._read)
                    for line in stream:
                        if not line.endswith(b"\n"):
                            break
                        self._read += len(line)
                        self._events.append(json.loads(line))
            return list(self._events)

    def output(self, size: int = 20_000) -> str:
        """Return the last `size` bytes of what the command has printed."""
        file = self.folder / "output.txt"
        if not file.exists():
            return ""
        with file.open("rb") as stream:
            stream.seek(max(file.stat().st_size - size, 0))
            return stream.read().decode(errors="replace")

    def start(self, directory: Path) -> None:
        """Start the process in a directory, to go on where it was interrupted."""
        words = [*self.words, *(["--resume"] if self.resumed else [])]
        with self._reading:
            (self.folder / "events.jsonl").unlink(missing_ok=True)
            self._read, self._events, self.code = 0, [], None
        environment = {
            **os.environ,
            VARIABLE: str(self.folder / "events.jsonl"),
            "COLUMNS": "100",
            "PYTHONUNBUFFERED": "1",
        }
        with (self.folder / "output.txt").open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fmident", *words],
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self.started = psutil.Process(self.pid).create_time()
        self._save()

    def renew(self) -> None:
        """Wait in the queue again, to be resumed."""
        self.resumed, self.pid, self.code, self._process = True, None, None, None
        self._save()

    def stop(self) -> None:
        """Interrupt it as Ctrl-C does: it writes what it has."""
        self.go_on()
        if process := self._tree_root():
            process.send_signal(signal.SIGINT)

    def pause(self) -> None:
        """Let it and its workers wait."""
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()

    def go_on(self) -> None:
        """End the pause."""
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    def _tree_root(self) -> psutil.Process | None:
        """Return the running process, if it is still the one that was started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < 1.0
            if same and process.status() != psutil.STATUS_ZOMBIE:
                return process
        return None

    def _tree(self) -> Iterator[psutil.Process]:
        if root := self._tree_root():
            yield from (root, *root.children(recursive=True))

    def _save(self) -> None:
        fields = {k: v for k, v in vars(self).items() if not k.startswith("_") and k != "folder"}
        (self.folder / "job.json").write_text(json.dumps(fields), encoding="utf-8")


class Jobs:
    """The jobs of a folder; one runs at a time, the others wait in their order.

    Parameters
    ----------
    directory
        Of the problem: the commands run in it.

    Attributes
    ----------
    changed
        Emitted when jobs have come, gone or changed their state, with those that have ended since.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._folder = directory / ".fmident-app"
        self.changed: Event[[list[Job]]] = Event()
        self.jobs: list[Job] = []
        for file in sorted(self._folder.glob("*/job.json")):
            with contextlib.suppress(ValueError, TypeError):
                fields = json.loads(file.read_text(encoding="utf-8"))
                fields["words"] = tuple(fields["words"])
                self.jobs.append(Job(folder=file.parent, **fields))
        self._states: dict[int, State] = {job.number: job.state for job in self.jobs}

    def add(
        self,
        words: Sequence[str],
        title: str,
        *,
        result: str = "",
        resumable: bool = False,
        at_once: bool = False,
        forecast: Mapping[str, Any] | None = None,
    ) -> Job:
        """Add a command to the queue, or start it `at_once`."""
        taken = [int(f.name) for f in self._folder.glob("[0-9]*") if f.name.isdecimal()]
        folder = self._folder / f"{max(taken, default=0) + 1:04d}"
        folder.mkdir(parents=True)
        (self._folder / ".gitignore").write_text("*\n", encoding="utf-8")
        job = Job(folder, tuple(words), title, result, resumable, forecast=dict(forecast or {}))
        job._save()
        self.jobs.append(job)
        if at_once:
            job.start(self.directory)
        self.advance()
        return job

    def resume(self, job: Job) -> None:
        """Add a job that was interrupted or has failed to the queue again, to go on."""
        if job.state in ("interrupted", "failed"):
            job.renew()
            self.advance()

    def remove(self, job: Job) -> None:
        """Remove a job that still waits in the queue."""
        if job.state == "queued" and job in self.jobs:
            self.jobs.remove(job)
            shutil.rmtree(job.folder)
            self.advance()

    def advance(self) -> None:
        """Start the next of the queue, unless an analysis runs or is paused; tell what changed."""
        states = [job.state for job in self.jobs if job.resumable]
        if "running" not in states and "paused" not in states:
            waiting = next((job for job in self.jobs if job.state == "queued"), None)
            if waiting is not None:
                waiting.start(self.directory)
        now = {job.number: job.state for job in self.jobs}
        if now != self._states:
            before, self._states = self._states, now
            ended = [
                job
                for job in self.jobs
                if now[job.number] not in _WAITED_FOR
                and before.get(job.number, "queued") in _WAITED_FOR
            ]
            self.changed.emit(ended)
