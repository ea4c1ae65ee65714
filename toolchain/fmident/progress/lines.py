"""Progress as one line per change, where the output cannot be replaced."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from fmident.evaluation.activity import WITHIN_ITERATIONS
from fmident.progress.block import details_of, profile_text
from fmident.progress.stream import write
from fmident.words import duration

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.progress.state import RunState

_HEADER = "iteration          cost   simulations       time"

_PAUSE = 5.0
"""A line that says nothing new is written this often, s."""

_PATIENCE = 1.0
"""What comes between iterations is shown only when it takes longer, s."""


class Lines:
    """Writes a line per iteration with a new cost, and for long work in between.

    A `stream` of ``None`` discards them; `clock` returns seconds from any origin.
    """

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._last = -math.inf
        self._pending = ""
        self._begun = False
        self._shown: float | None = None
        self._stage = ""
        self._doing = ""
        self._doing_since = -math.inf

    def iteration(self, state: Iteration) -> None:
        """Write an iteration, or hold it back until something changes."""
        self._begin()
        if state.stage != self._stage:
            self._begin_stage(state.stage)
        line = (
            f"{state.number:9d}  {state.cost:12.6g}  {state.simulations:12d}  "
            f"{duration(state.seconds):>9}{details_of(state)}"
        )
        # Searches side by side report in turns, so their numbers are not new.
        self._say(line, new=state.cost != self._shown)
        self._shown = state.cost

    def activity(self, text: str, done: int, expected: int) -> None:
        """Write the progress of a long series of simulations that is not an iteration."""
        if text in WITHIN_ITERATIONS:
            return
        now = self._clock()
        if text != self._doing or done == 0:
            self._doing, self._doing_since = text, now
            return
        if now - self._doing_since < _PATIENCE or now - self._last < _PAUSE:
            return
        self._flush()
        self._put(f"{text}: {done}{f' of {expected}' if done <= expected else ''} simulations")

    def profiles(self, state: RunState) -> None:
        """Write the progress of profiles."""
        self._say(", ".join(profile_text(state)), new=False)

    def finish(self) -> None:
        """Write what was held back."""
        self._flush()

    def _say(self, line: str, *, new: bool) -> None:
        if not new and self._clock() - self._last < _PAUSE:
            self._pending = line
            return
        self._pending = ""
        self._put(line)

    def _flush(self) -> None:
        if self._pending:
            line, self._pending = self._pending, ""
            self._put(line)

    def _begin(self) -> None:
        """Write the header before the first line, after any output from before the run."""
        if not self._begun:
            self._begun = True
            write(self._stream, _HEADER + "\n")

    def _begin_stage(self, name: str) -> None:
        """End the display of the previous stage, and write the name of the new one."""
        self._flush()
        self._stage, self._shown = name, None
        write(self._stream, f"stage '{name}'\n", flush=True)

    def _put(self, line: str) -> None:
        self._last = self._clock()
        write(self._stream, line + "\n", flush=True)
