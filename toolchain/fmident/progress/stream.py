"""Output streams, which may be closed, a file, or a terminal with few characters."""

from __future__ import annotations

from typing import IO, TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether the stream is an interactive terminal."""
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError):
        return False


def write(stream: IO[str] | None, text: str, *, flush: bool = False) -> None:
    """Write text; characters that the stream cannot encode are written as escapes.

    Nothing is written to ``None``. Raises `OSError` or `ValueError` if the stream is full
    or closed.
    """
    if stream is None:
        return
    try:
        stream.write(text)
    except UnicodeEncodeError:
        known = getattr(stream, "encoding", None) or "ascii"
        stream.write(text.encode(known, "backslashreplace").decode(known))
    if flush:
        stream.flush()


def takes(stream: TextIO | None, letters: str) -> bool:
    """Return whether a stream can encode these characters."""
    try:
        letters.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
