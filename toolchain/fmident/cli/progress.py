"""The progress of a run on standard error."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, TextIO

from fmident.report.numbers import duration

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration

_HEADER = "iteration          cost   simulations       time"
_SHORTEST_PAUSE = 0.1
"""A terminal line is rewritten at most this often, s: writing must not slow the run."""


class Progress:
    """Writes a line per iteration; on a terminal always the same line.

    Parameters
    ----------
    stream
        Standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._rewrites = self._stream.isatty()
        self._last = -math.inf
        self._pending: Iteration | None = None
        self._unfinished = False

    def start(self) -> None:
        """Show the header: the first iteration may take a while."""
        self._stream.write(_HEADER + "\n")
        self._stream.flush()

    def iteration(self, state: Iteration) -> None:
        """Show an iteration."""
        now = time.monotonic()
        if self._rewrites and now - self._last < _SHORTEST_PAUSE:
            self._pending = state
            return
        self._last = now
        self._show(state)

    def finish(self) -> None:
        """Show the last iteration and end the line."""
        if self._pending is not None:
            self._show(self._pending)
        if self._unfinished:
            self._stream.write("\n")
            self._stream.flush()
            self._unfinished = False

    def _show(self, state: Iteration) -> None:
        self._pending = None
        line = (
            f"{state.number:9d}  {state.cost:12.6g}  {state.simulations:12d}  "
            f"{duration(state.seconds):>9}"
        )
        if self._rewrites:
            # \x1b[K clears what a longer line before left behind.
            self._stream.write(f"\r{line}\x1b[K")
            self._unfinished = True
        else:
            self._stream.write(line + "\n")
        self._stream.flush()
