"""The check of the problem file: ``fmident check`` in a process of its own, after each change."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from nicegui import Event, background_tasks


class Check:
    """The last check of a problem file, and the one that runs.

    Parameters
    ----------
    problem
        The file.

    Attributes
    ----------
    changed
        Emitted when a check has begun or ended.
    report
        What the last one wrote, as ``fmident check --json``; ``None`` if it failed.
    error
        Why it failed.
    """

    def __init__(self, problem: Path) -> None:
        self._problem = problem
        self.changed: Event[[]] = Event()
        self.report: dict[str, Any] | None = None
        self.error = ""
        self._version = 0
        self._checked_version = self._running_version = -1
        self._process: asyncio.subprocess.Process | None = None

    def outdate(self) -> None:
        """Note that the file has changed: the last check is of an older one."""
        self._version += 1

    @property
    def is_current(self) -> bool:
        """Whether the last check is of the file as it is."""
        return self._checked_version == self._version

    @property
    def runs(self) -> bool:
        """Whether a check of the file as it is runs."""
        return self._running_version == self._version and not self.is_current

    @property
    def passed(self) -> bool:
        """Whether the last check was of this file, and allows an estimation."""
        return self.is_current and bool((self.report or {}).get("can_be_estimated"))

    def request(self, pause: float = 0.0) -> None:
        """Check the file after a pause, unless it has changed again by then."""
        background_tasks.create(self._run(self._version, pause))

    async def _run(self, version: int, pause: float) -> None:
        await asyncio.sleep(pause)
        if version != self._version or self.is_current or self.runs:
            return
        self.stop()
        self._running_version = version
        target = self._problem.parent / ".fmident-app" / f"check-{version}.json"
        target.parent.mkdir(exist_ok=True)
        target.unlink(missing_ok=True)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fmident", "check", self._problem.name),
            *("--json", str(target)),
            cwd=self._problem.parent,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        if self._running_version != version:  # a newer one has begun meanwhile
            process.kill()
            return
        self._process = process
        self.changed.emit()
        _, printed = await process.communicate()
        if self._process is not process:
            return
        self._process, self._checked_version = None, version
        self.report = json.loads(target.read_text(encoding="utf-8")) if target.exists() else None
        self.error = "" if self.report else printed.decode(errors="replace").strip()
        target.unlink(missing_ok=True)
        self.changed.emit()

    def stop(self) -> None:
        """End the one that runs."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process = None
