"""Streams that may be anything: closed, a file, a terminal that knows few letters."""

from __future__ import annotations

from typing import IO, TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether somebody looks at it as it is written."""
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError):
        return False


def write(stream: IO[str] | None, text: str, *, flush: bool = False) -> None:
    """Write text; what the stream cannot encode is written as its number.

    Parameters
    ----------
    stream
        ``None`` takes nothing.
    text
        As a whole.
    flush
        Have it appear at once.

    Raises
    ------
    OSError, ValueError
        The stream takes no more; it is closed.
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
    """Return whether a stream can encode these letters."""
    try:
        letters.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
