"""Interface to omc: expressions in, values and messages out."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # has no types of its own

from fmident.compilers.openmodelica.sessions.messages import Message, OmcValue
from fmident.context_managers import Closes
from fmident.errors import CompilationError


@dataclass(frozen=True)
class Reply:
    """Reply to one expression, with a value if any and the messages, oldest first."""

    expression: str
    value: OmcValue
    messages: tuple[Message, ...] = ()

    @property
    def errors(self) -> tuple[Message, ...]:
        """Error messages, except for a failed download of the package index."""
        return tuple(m for m in self.messages if m.level == "error" and not m.about_index)

    @property
    def succeeded(self) -> bool:
        """Whether the answer is neither ``false`` nor empty, and there is no error."""
        return self.value not in (None, False, "") and not self.errors


class OmcStoppedError(CompilationError):
    """omc was stopped or ended by itself, so that there is no answer."""


class Deadline:
    """Deadline of a build, in seconds from now on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._begin = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._begin

    @property
    def remaining(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self.seconds - self.elapsed)

    def exceeded(self, what: str, since: float) -> OmcStoppedError:
        """Return the error that names what took too long, started at `since` of :attr:`elapsed`."""
        ran = self.elapsed - since
        return OmcStoppedError(
            f"OpenModelica was stopped: the build took longer than {self.seconds:g} s;"
            f" '{what}' had been running for {ran:.1f} s",
            hint="large multibody models need a minute or more: raise the option 'timeout'",
        )


class Session(Closes, ABC):
    """A session with omc, which keeps classes loaded; a context manager."""

    @abstractmethod
    def run(self, *expressions: str) -> tuple[Reply, ...]:
        """Evaluate expressions in order; return one reply for each, errors included."""

    @abstractmethod
    def close(self) -> None:
        """End omc and all its child processes."""

    def send(self, expression: str) -> Reply:
        """Evaluate one expression."""
        return self.run(expression)[0]


def end_process(pid: int, patience: float = 3.0) -> None:
    """End a process and its children (make, the C compiler); kill it after `patience` s."""
    try:
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    alive = family
    for signal in ("terminate", "kill"):
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended by itself
                getattr(process, signal)()
        _, alive = psutil.wait_procs(alive, timeout=patience)
