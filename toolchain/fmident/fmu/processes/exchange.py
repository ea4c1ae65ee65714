"""What a process and the child in which an FMU runs send each other, as objects.

Both sides read the same fields: what one adds, the other has, or neither does.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fmident.errors import FmidentError, FmuError, SimulationError

if TYPE_CHECKING:
    from fmident.fmu.model_description.interfaces import InterfaceChoice


@dataclass(frozen=True)
class EngineSettings:
    """How an FMU is opened and simulated in a child process; travels pickled.

    Parameters
    ----------
    fmu
        Path of the ``.fmu`` file.
    interface
        As for :class:`fmident.fmu.Simulator`.
    folder
        Working directory of the child; ``None`` leaves it.
    time_limit
        Wall-clock seconds of one simulation; ``None``: none.
    memory_limit
        Greatest address space in bytes; ``None``: none.
    """

    fmu: str
    interface: InterfaceChoice = "auto"
    folder: str | None = None
    time_limit: float | None = None
    memory_limit: int | None = None


@dataclass(frozen=True)
class ErrorFacts:
    """An error of the engine in a child process; travels as JSON.

    Parameters
    ----------
    kind
        Name of the error's class.
    message
        With its place in a file, if it has one.
    hint, code, time, ended, timed_out, says_time, log
        As in :class:`fmident.errors.SimulationError`.
    """

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
        """Return the facts as JSON, with the last messages of the log only."""
        return json.dumps({**self.as_json(), "log": self.log[-100:]}).encode()

    def error(self) -> FmuError | SimulationError:
        """Return the error again."""
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
