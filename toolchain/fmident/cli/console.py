"""Terminal output: results to standard output, everything else to standard error.

Output failures never end a run: a closed pipe, a full disk or unsupported characters
lose the text, but not the result. Lost output affects the exit code only if standard
output is the answer itself, see :func:`verdict`.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from fmident.errors import Diagnostic, lines_of
from fmident.progress.stream import is_terminal, write
from fmident.words import wrap as wrapped

_WITHOUT_TERMINAL = 92

_CLOSED, _UNWRITTEN = 141, 2


@dataclass
class _State:
    """Output state of a command.

    `answered` and `said` tell whether the answer itself, and lines accompanying files, were
    written to standard output; `lost` has the failures of streams by descriptor.
    """

    answered: bool = False
    said: bool = False
    lost: dict[int, OSError] = field(default_factory=dict)


_state = _State()


class OutputClosedError(Exception):
    """The output pipe is closed, and the command only produces output."""


def begin() -> None:
    """Reset the output state of an earlier command in this process."""
    global _state
    _state = _State()


def occupy_descriptors() -> None:
    """Open descriptors 0, 1 and 2 if they are closed, as after ``>&-``.

    Otherwise the next opened file would get the number, and all output of native code would
    go into it.
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
    """Return the number of columns of the terminal, or a default for a file."""
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
    """Write a table of strings; for a terminal it is fitted to its width."""
    from fmident.report.terminal import narrow_table, table

    if is_terminal(sys.stdout):
        out(narrow_table(header, rows, ["<"] * len(header), width() - 1))
    else:
        out(table(header, rows))


def say(text: str = "") -> None:
    """Write a summary line about files; its loss does not matter."""
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
    if len(line) < width():
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return wrapped(line.strip(), max(width() - 1, 1), indent)


def put(stream: TextIO | None, text: str, *, flush: bool = False) -> None:
    """Write text, ignoring failures.

    Nothing is written to ``None``; characters that the stream cannot encode are escaped.
    """
    try:
        write(stream, text, flush=flush)
    except (OSError, ValueError) as error:  # ValueError: it is closed
        assert stream is not None
        _lose(stream, error)


def flush() -> None:
    """Flush all output."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError) as error:
                _lose(stream, error)


def verdict(code: int) -> int:
    """Return the final exit code of a command that ended with `code`, after flushing.

    A lost summary has no effect; a lost answer gives 141 if the reader has gone, else 2.
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
    """Record that a stream has failed, and redirect it to nowhere.

    Otherwise its buffer would be written again on every flush, the last time at exit.
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
