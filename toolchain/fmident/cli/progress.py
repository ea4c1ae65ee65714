"""The progress of a run on standard error."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TextIO, TypeVar

from fmident.cli.console import is_terminal, put
from fmident.report.numbers import duration

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration

_HEADER = "iteration          cost   simulations       time"
_SHORTEST_PAUSE = 0.1
"""A terminal line is rewritten at most this often, s: writing must not slow the run."""

_LONGEST_PAUSE = 5.0
"""Where lines stay, one that says nothing new is written this often, s."""

_PATIENCE = 1.0
"""What comes between iterations is shown only when it takes longer, s."""


State = TypeVar("State")


class StatusLine:
    """A line of progress; on a terminal it is always the same line.

    Parameters
    ----------
    stream
        Standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream: TextIO | None = sys.stderr if stream is None else stream
        self.rewrites = is_terminal(self.stream)
        self._unfinished = False

    @property
    def pause(self) -> float:
        """Shortest time between two lines, s."""
        return _SHORTEST_PAUSE if self.rewrites else _LONGEST_PAUSE

    def write(self, line: str) -> None:
        """Write the line, in place of the last one on a terminal."""
        if self.rewrites:
            # \x1b[K clears what a longer line before left behind.
            put(self.stream, f"\r{line}\x1b[K", flush=True)
            self._unfinished = True
        else:
            put(self.stream, line + "\n", flush=True)

    def finish(self) -> None:
        """End the line."""
        if self._unfinished:
            put(self.stream, "\n", flush=True)
            self._unfinished = False


class StateLine(Generic[State]):
    """Shows how far a run is, not more often than is of use.

    Parameters
    ----------
    describe
        The text of a state.
    stream
        Standard error by default.
    """

    def __init__(self, describe: Callable[[State], str], stream: TextIO | None = None) -> None:
        self._describe = describe
        self._line = StatusLine(stream)
        self._last = -math.inf
        self._pending: State | None = None

    def show(self, state: State) -> None:
        """Show a state, unless the last one was just now."""
        now = time.monotonic()
        self._pending = state
        if now - self._last >= self._line.pause:
            self._last = now
            self._write(state)

    def finish(self) -> None:
        """Show the last state and end the line."""
        if self._pending is not None:
            self._write(self._pending)
        self._line.finish()

    def _write(self, state: State) -> None:
        self._pending = None
        self._line.write(self._describe(state))


class Progress:
    """Writes a line per iteration; on a terminal always the same line.

    Parameters
    ----------
    stream
        Standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._line = StatusLine(stream)
        self._last = -math.inf
        self._pending: Iteration | None = None
        self._begun = False
        self._shown: tuple[float, ...] = ()
        self._stage = ""
        self._doing = ""
        self._doing_since = -math.inf

    def iteration(self, state: Iteration) -> None:
        """Show an iteration."""
        now = time.monotonic()
        self._begin()
        if state.stage != self._stage:
            self._begin_stage(state.stage)
        new = (state.cost,)  # searches side by side report in turns, so their numbers are not new
        if (self._line.rewrites or new == self._shown) and now - self._last < self._line.pause:
            self._pending = state
            return
        self._last = now
        self._shown = new
        self._show(state)

    def activity(self, text: str, done: int, expected: int) -> None:
        """Show how far a series of simulations is that is not an iteration, if it takes long."""
        now = time.monotonic()
        if text != self._doing or done == 0:
            self._doing, self._doing_since = text, now
            return
        if now - self._doing_since < _PATIENCE or now - self._last < self._line.pause:
            return
        self._last = now
        self._begin()
        if self._pending is not None:
            self._show(self._pending)
        self._line.write(
            f"{text}: {done}{f' of {expected}' if done <= expected else ''} simulations"
        )

    def finish(self) -> None:
        """Show the last iteration and end the line."""
        if self._pending is not None:
            self._show(self._pending)
        self._line.finish()

    def _begin(self) -> None:
        """Write the header before the first line, behind what was written before the run."""
        if not self._begun:
            self._begun = True
            put(self._line.stream, _HEADER + "\n")

    def _begin_stage(self, name: str) -> None:
        """End what the stage before has shown, and name the new one."""
        self.finish()
        self._pending, self._stage = None, name
        put(self._line.stream, f"stage '{name}'\n", flush=True)
        self._last = -math.inf

    def _show(self, state: Iteration) -> None:
        self._pending = None
        line = (
            f"{state.number:9d}  {state.cost:12.6g}  {state.simulations:12d}  "
            f"{duration(state.seconds):>9}"
        )
        if "starts" in state.details:
            line += (
                f"   start {state.details['start']:.0f} of {state.details['starts']:.0f}, "
                f"its cost {state.details['local_cost']:.6g}"
            )
        if restored := state.details.get("restored"):
            line += f"   {restored:.0f} simulation{'' if restored == 1 else 's'} restored"
        self._line.write(line)
