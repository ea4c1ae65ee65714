"""Writing to the terminal: results to standard output, all else to standard error.

Nothing that is written here may end a run: a pipe whose reader has gone, a full disk and letters
that the terminal does not know cost the text, never the result. What was lost decides the exit
code only where standard output is the answer itself, see :func:`verdict`.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from fmident.errors import Diagnostic, lines_of
from fmident.progress.stream import is_terminal, write

_WITHOUT_TERMINAL = 92

_CLOSED, _UNWRITTEN = 141, 2


@dataclass
class _State:
    """What became of the output of one command.

    Parameters
    ----------
    answered
        Whether the answer itself was written to standard output.
    said
        Whether lines were that only accompany files.
    lost
        Why a stream took no more, by its number.
    """

    answered: bool = False
    said: bool = False
    lost: dict[int, OSError] = field(default_factory=dict)


_state = _State()


class OutputClosedError(Exception):
    """Nobody reads the output any longer, and the command does nothing but write it."""


def begin() -> None:
    """Forget what became of the output of an earlier command in this process."""
    global _state
    _state = _State()


def occupy_descriptors() -> None:
    """Open descriptors 0, 1 and 2 where they are closed, as after ``>&-``.

    The next file to be opened would take the number, and everything that native code prints would
    end in that file.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                opened = os.open(os.devnull, os.O_RDWR)
                if opened != number:
                    os.dup2(opened, number)
                    os.close(opened)
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def width() -> int:
    """Return the columns of the terminal, or a number that suits a file."""
    return shutil.get_terminal_size((_WITHOUT_TERMINAL, 24)).columns


def out(text: str = "", *, wrap: bool = False, now: bool = False) -> None:
    """Write a line of the answer.

    Parameters
    ----------
    text
        Of one line or more.
    wrap
        A terminal gets it broken between words.
    now
        It is one of an answer that comes bit by bit.

    Raises
    ------
    OutputClosedError
        With `now`: it cannot be written, so that there is no sense in going on.
    """
    _state.answered = True
    if wrap and is_terminal(sys.stdout):
        text = "\n".join(_broken(line) for line in text.split("\n"))
    put(sys.stdout, text + "\n")
    if now:
        flush()
        if 1 in _state.lost:
            raise OutputClosedError


def out_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table of texts; a terminal gets it as wide as itself, with cells of several lines."""
    from fmident.report.terminal import narrow_table, table

    if is_terminal(sys.stdout):
        out(narrow_table(header, rows, ["<"] * len(header), width() - 1))
    else:
        out(table(header, rows))


def say(text: str = "") -> None:
    """Write a line that sums up what is in files: if it is lost, nothing is."""
    _state.said = True
    put(sys.stdout, text + "\n")


def tell(news: str | Iterable[Diagnostic], *, whole: bool = False) -> None:
    """Write what is going on to standard error; a terminal gets it broken between words.

    Parameters
    ----------
    news
        A text, or diagnostics of one or two lines each.
    whole
        Leave it as it is, for a command that is to be copied.
    """
    for text in [news] if isinstance(news, str) else lines_of(news):
        if not whole and is_terminal(sys.stderr):
            text = "\n".join(_broken(line) for line in text.split("\n"))
        put(sys.stderr, text + "\n", flush=True)


def _broken(line: str) -> str:
    """Return a line as lines that fit the terminal, with the indent of the first."""
    if len(line) < width():
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line.strip(),
        max(width() - 1, 1),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def put(stream: TextIO | None, text: str, *, flush: bool = False) -> None:
    """Write text that may be lost.

    Parameters
    ----------
    stream
        ``None`` takes nothing.
    text
        What the stream cannot encode is written as its number.
    flush
        Have it appear at once.
    """
    try:
        write(stream, text, flush=flush)
    except (OSError, ValueError) as error:  # ValueError: it is closed
        assert stream is not None
        _lose(stream, error)


def flush() -> None:
    """Have everything appear that was written."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError) as error:
                _lose(stream, error)


def verdict(code: int) -> int:
    """Return the exit code of a command that ended with `code`, all being written now.

    A lost summary changes nothing; a lost answer is 141 when its reader has gone, else 2.
    """
    flush()
    lost = _state.lost.get(1)
    if lost is None:
        return code
    only_summary = _state.said and not _state.answered
    closed = isinstance(lost, BrokenPipeError)
    if not closed:
        what = "the summary is lost, the files are written" if only_summary else "it is incomplete"
        severity = "warning" if only_summary else "error"
        tell(f"{severity}: standard output cannot be written ({lost.strerror or lost}): {what}")
    if only_summary:
        return code
    return _CLOSED if closed else code or _UNWRITTEN


def _lose(stream: TextIO, error: OSError | ValueError) -> None:
    """Note that a stream takes no more, and let the rest go nowhere.

    What is still in its buffer would be tried again with every flush, the last time when Python
    ends.
    """
    number = 1 if stream is sys.stdout else 2
    known = error if isinstance(error, OSError) else OSError(errno.EBADF, str(error))
    _state.lost.setdefault(number, known)
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
        stream.flush()
