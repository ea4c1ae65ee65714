"""Progress block in a notebook, as one replaceable cell output."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable

from fmident.progress.block import Letters

_WIDTH, _HEIGHT = 90, 40


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get_shell is None else get_shell()
    return shell is not None and getattr(shell, "kernel", None) is not None


class Notebook:
    """The output of a cell."""

    pause = 0.5
    """It is replaced at most this often, s."""

    def __init__(self) -> None:
        self._handle: object = None

    def show(self, draw: Callable[[int, int, Letters], list[str]]) -> None:
        """Replace the output by what `draw` returns for a width and a height."""
        self._put("\n".join(draw(_WIDTH, _HEIGHT, Letters())))

    def close(self, text: str = "") -> None:
        """Replace the output by a text."""
        if self._handle is not None:
            self._put(text)

    def _put(self, text: str) -> None:
        from IPython.display import HTML, display

        page = HTML(f'<pre style="line-height: 1.2">{html.escape(text)}</pre>')
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)  # type: ignore[attr-defined]
