"""Commands that the page runs, each in a process that outlives the page and the server.

A job has a folder with what it is (``job.json``), what it printed and how far it is. A server that
starts again finds the jobs there: those that still run, and those that were interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psutil  # type: ignore[import-untyped]

from fmident_app.events import VARIABLE

State = Literal["queued", "running", "paused", "done", "interrupted", "failed"]

# 1: it ran, and the answer is negative, such as no convergence within a limit
_ENDED: dict[int, State] = {0: "done", 1: "done", 130: "interrupted", -signal.SIGINT: "interrupted"}


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
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
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
        """What the plugin of :mod:`fmident_app.events` has written so far."""
        file = self.folder / "events.jsonl"
        if file.exists():
            with file.open("rb") as stream:
                stream.seek(self._read)
                for line in stream:
                    if not line.endswith(b"\n"):
                        break
                    self._read += len(line)
                    self._events.append(json.loads(line))
        return self._events

    @property
    def output(self) -> str:
        """What the command has printed."""
        file = self.folder / "output.txt"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def start(self, directory: Path) -> None:
        """Start the process in a directory, to go on where it was interrupted."""
        words = [*self.words, *(["--resume"] if self.resumed else [])]
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
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._folder = directory / ".fmident-app"
        self.jobs: list[Job] = []
        for file in sorted(self._folder.glob("*/job.json")):
            with contextlib.suppress(ValueError, TypeError):
                fields = json.loads(file.read_text(encoding="utf-8"))
                fields["words"] = tuple(fields["words"])
                self.jobs.append(Job(folder=file.parent, **fields))

    def add(
        self,
        words: Sequence[str],
        title: str,
        *,
        result: str = "",
        resumable: bool = False,
        at_once: bool = False,
    ) -> Job:
        """Add a command to the queue, or start it `at_once`."""
        taken = [int(f.name) for f in self._folder.glob("[0-9]*") if f.name.isdecimal()]
        folder = self._folder / f"{max(taken, default=0) + 1:04d}"
        folder.mkdir(parents=True)
        (self._folder / ".gitignore").write_text("*\n", encoding="utf-8")
        job = Job(folder, tuple(words), title, result, resumable)
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

    def advance(self) -> None:
        """Start the next of the queue, unless an analysis runs or is paused."""
        states = [job.state for job in self.jobs if job.resumable]
        if "running" in states or "paused" in states:
            return
        waiting = next((job for job in self.jobs if job.state == "queued"), None)
        if waiting is not None:
            waiting.start(self.directory)
