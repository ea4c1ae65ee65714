"""How omc is asked: expressions in, values and messages out."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # has no types of its own

from fmident._closing import Closes
from fmident.compilers.openmodelica.sessions.messages import Message, OmcValue
from fmident.errors import CompilationError


@dataclass(frozen=True)
class Reply:
    """What came back for one expression.

    Parameters
    ----------
    expression
        What was asked.
    value
        The answer; ``None`` when there was none.
    messages
        What OpenModelica said meanwhile, oldest first.
    """

    expression: str
    value: OmcValue
    messages: tuple[Message, ...] = ()

    @property
    def errors(self) -> tuple[Message, ...]:
        """The errors among the messages; that omc cannot download its package index is not one."""
        return tuple(m for m in self.messages if m.level == "error" and not m.about_index)

    @property
    def succeeded(self) -> bool:
        """Whether the answer is neither ``false`` nor empty, and there is no error."""
        return self.value not in (None, False, "") and not self.errors


class OmcStoppedError(CompilationError):
    """omc was stopped, or ended by itself: there is no answer."""


class Deadline:
    """The end of the time that a build may take.

    Parameters
    ----------
    seconds
        From now on.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._begin = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the begin."""
        return time.monotonic() - self._begin

    @property
    def remaining(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self.seconds - self.elapsed)

    def exceeded(self, what: str, since: float) -> OmcStoppedError:
        """Return the error that says what took too long.

        Parameters
        ----------
        what
            The expression or script that ran.
        since
            :attr:`elapsed` when it began.
        """
        ran = self.elapsed - since
        return OmcStoppedError(
            f"OpenModelica was stopped: the build took longer than {self.seconds:g} s;"
            f" '{what}' had been running for {ran:.1f} s",
            hint="large multibody models need a minute or more: raise the option 'timeout'",
        )


class Session(Closes, ABC):
    """A conversation with omc; classes that are loaded stay loaded. A context manager."""

    @abstractmethod
    def run(self, *expressions: str) -> tuple[Reply, ...]:
        """Evaluate expressions in order and return one reply for each.

        Raises
        ------
        OmcStoppedError
            omc does not answer in time or at all. What omc says of the expressions is
            in the replies.
        """

    @abstractmethod
    def close(self) -> None:
        """End omc and everything it started."""

    def send(self, expression: str) -> Reply:
        """Evaluate one expression."""
        return self.run(expression)[0]


def end_process(pid: int, patience: float = 3.0) -> None:
    """End a process that we started, and its children (make, the C compiler).

    Parameters
    ----------
    pid
        The process.
    patience
        Seconds between asking and killing.
    """
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
