"""The progress of profiles on standard error."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, TextIO

from fmident.cli.console import is_terminal, put
from fmident.report.numbers import duration

if TYPE_CHECKING:
    from fmident.profiles import ProfileProgress

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
"""A terminal line is rewritten at most this often, s; where lines stay, one is written so often."""


class ProfileLine:
    """Writes how far the profiles are; on a terminal always the same line.

    Parameters
    ----------
    stream
        Standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._rewrites = is_terminal(self._stream)
        self._last = -math.inf
        self._pending: ProfileProgress | None = None
        self._unfinished = False

    def show(self, state: ProfileProgress) -> None:
        """Show a state, unless the last one was just now."""
        now = time.monotonic()
        self._pending = state
        if now - self._last >= (_SHORTEST_PAUSE if self._rewrites else _LONGEST_PAUSE):
            self._last = now
            self._write(state)

    def finish(self) -> None:
        """Show the last state and end the line."""
        if self._pending is not None:
            self._write(self._pending)
        if self._unfinished:
            put(self._stream, "\n", flush=True)
            self._unfinished = False

    def _write(self, state: ProfileProgress) -> None:
        self._pending = None
        line = (
            f"profiles: {state.ended} of {state.walks} ends found, {state.points} points, "
            f"{state.simulations} simulations, {duration(state.seconds)}"
        )
        if self._rewrites:
            put(self._stream, f"\r{line}\x1b[K")
            self._unfinished = True
        else:
            put(self._stream, line + "\n", flush=True)
