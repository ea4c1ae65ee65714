"""Report once that machine code is being compiled, before the seconds that it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TEXT = "compiling loops to machine code, once per installation: some seconds, up to half a minute"

_OWN = ("fmident.", "fmident_")

listener: Callable[[str], None] | None = None
"""Receives the message, unless ``None``; a command sets it."""

_watched = False


def watch_numba() -> None:
    """Have Numba tell :data:`listener` when it begins to compile what is not on disk."""
    global _watched
    if _watched:
        return
    _watched = True
    from numba.core import event

    class Begun(event.Listener):
        def on_start(self, event: Any) -> None:
            global listener
            function = getattr(event.data.get("dispatcher"), "py_func", None)
            callback, module = listener, getattr(function, "__module__", "")
            if callback is not None and module.startswith(_OWN):
                listener = None
                callback(TEXT)

        def on_end(self, event: Any) -> None:
            pass

    register: Any = event.register
    register("numba:compile", Begun())
