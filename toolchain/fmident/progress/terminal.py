"""A block of lines at the end of a terminal, replaced in place with Rich.

Rich is imported with this module, only when there is something to show.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from fmident.progress.block import PLAIN, Letters
from fmident.progress.stream import is_terminal, takes, write


class _Console(Console):
    """Console that does not hide the cursor, nor end the process on a broken pipe."""

    def show_cursor(self, show: bool = True) -> bool:
        return False

    def on_broken_pipe(self) -> None:
        raise


class Terminal:
    """The block, and the output written above it meanwhile."""

    pause = 0.1
    """It is redrawn at most this often, s."""

    def __init__(self, stream: TextIO) -> None:
        self._console = _Console(file=stream, force_terminal=True, highlight=False, markup=False)
        self.letters = Letters() if takes(stream, Letters().all) else PLAIN
        self._live = Live(
            console=self._console,
            auto_refresh=False,  # no thread: whoever forks has none to fear
            transient=True,
            redirect_stdout=is_terminal(sys.stdout),
            redirect_stderr=True,
            vertical_overflow="crop",
        )

    def show(self, draw: Callable[[int, int, Letters], list[str]]) -> None:
        """Replace the block by what `draw` returns for a width and a height."""
        if not self._live.is_started:
            self._live.start()
        width, height = self._console.size
        # A full last column would let some terminals begin a new line.
        lines = draw(max(width - 1, 1), max(height - 2, 1), self.letters)
        text = Text("\n".join(lines), no_wrap=True, overflow="crop", end="")
        self._live.update(text, refresh=True)

    def close(self, text: str = "") -> None:
        """Remove the block and leave a line instead."""
        if self._live.is_started:
            self._live.stop()
        if text:
            write(self._console.file, text + "\n", flush=True)
