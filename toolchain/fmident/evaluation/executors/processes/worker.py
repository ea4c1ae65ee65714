"""The executor's handle on one worker process."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fmident.evaluation.executors.processes.server import serve
from fmident.evaluation.tasks import SimulationFailure
from fmident.fmu.failure import output_records, own_words
from fmident.fmu.model_description.description import InterfaceChoice
from fmident.fmu.processes.child import Child
from fmident.operating_system import PrivateMemory

EXIT_TIMEOUT = 2.0
"""Seconds that a worker has to free its FMU and go, before it is killed."""

Command = Literal["open", "learn", "run", "try_reset"]
"""What is answered, see :class:`fmident.evaluation.executors.processes.server.Server`."""


@dataclass
class Sent:
    """A command without reply so far, with the task's index.

    `setup` is the number of a setup that is sent, `run` that of the worker's run, counted
    from 1. `begun` is the earliest time of its start: ``time.monotonic()``.
    """

    command: Command
    index: int | None = None
    setup: int = -1
    run: int = 0
    begun: float = 0.0


class Worker(Child):
    """One process with one instance of the FMU.

    `outstanding` are commands without reply, oldest first, and `known` the numbers of its
    setups. A `retiring` worker gets no more work. `resident` is its private memory at the last
    reply, and `grown` the growth by simulations, bytes; `printed` is the FMU's output since
    then. `folder` is removed with the worker.
    """

    def __init__(
        self, folder: Path, fmu: str, interface: InterfaceChoice, time_limit: float
    ) -> None:
        self.ready = self.retiring = self.tried = False
        self.known: set[int] = set()
        self.runs = self.resident = self.grown = 0
        self._before = 0
        self._warm = False
        self.outstanding = deque([Sent("open", begun=time.monotonic())])
        super().__init__(serve, folder, fmu, interface, time_limit)
        self.memory = PrivateMemory(self.pid)

    def send(self, sent: Sent, *arguments: object) -> None:
        """Send a command that will be answered."""
        if not self.outstanding:
            sent.begun = time.monotonic()
        # Noted first: a worker that an interrupt leaves with half a command counts as busy.
        self.outstanding.append(sent)
        self.tell((sent.command, *arguments))

    def run(self, index: int, setup: int, values: Mapping[str, float]) -> None:
        """Send a task."""
        self.runs += 1
        self.send(Sent("run", index, run=self.runs), setup, dict(values))

    def answered(self) -> Iterator[tuple[Sent, Any]]:
        """Yield answered commands, each with its reply."""
        for message in self.messages():
            if isinstance(message, Exception):
                raise message
            self._before, (self.resident, reply) = self.resident, message
            sent = self.outstanding.popleft()
            if self.outstanding:
                self.outstanding[0].begun = time.monotonic()
            yield sent, reply
            self.printed.clear()

    def weigh(self, sent: Sent) -> None:
        """Add the memory growth of a run, except for setups and the first run."""
        if sent.command == "run":
            if self._warm:
                self.grown = max(self.grown + self.resident - self._before, 0)
            self._warm = True

    def begun(self) -> int:
        """Return the number of runs that the worker has started."""
        return int(self.trace.marks["runs"])

    def trial(self) -> float:
        """Return when the present run of the reset test started; 0 if there is none."""
        return float(self.trace.marks["trial"])

    def dismiss(self) -> None:
        """Ask the worker to free its FMU and exit."""
        super().dismiss()
        self.outstanding.clear()
        self._leaves = time.monotonic() + EXIT_TIMEOUT

    def gone(self) -> bool:
        """Return whether a dismissed worker has ended; kill it if it takes too long."""
        # Somebody has to read what it prints, or it could wait for that forever.
        self.listen()
        if not self.ended and time.monotonic() < self._leaves:
            return False
        self.close()
        return True

    def close(self, patience: float = 0.0) -> None:
        """End the worker and free everything; repeatable."""
        super().close(patience)
        self.memory.close()

    def _release(self) -> None:
        super()._release()
        shutil.rmtree(self.folder, ignore_errors=True)


def with_words(failure: SimulationFailure, printed: str) -> SimulationFailure:
    """Return a failure that the FMU engine reports, with what the FMU has printed."""
    records = output_records(printed)
    if not records:
        return failure
    message = failure.message
    if not failure.log:
        message += f"; the FMU says: {own_words(records)}"
    return replace(failure, message=message, log=(*failure.log, *map(str, records)))
