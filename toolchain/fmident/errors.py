"""Errors and diagnostics.

Every error that a user can cause is an :class:`FmidentError`. Its text says what is
wrong, where (file, line, column or key), and what to do next. The command line prints
it without a traceback and ends with :attr:`FmidentError.exit_code`.
"""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from fmident.arrays import F64

Severity = Literal["error", "warning", "note"]

MOST_SHOWN = 200
"""Characters of a value that a message shows at most."""

_QUOTED = re.compile(rf"(?<!\w)'[^'\n]{{{MOST_SHOWN + 1},}}'(?!\w)")
_UNBROKEN = re.compile(rf"[^\s']{{{MOST_SHOWN + 101},}}")


def shown(value: object) -> str:
    """Return a value as messages show it: on one line, and not too much of it.

    Parameters
    ----------
    value
        A text is shown as it is, but for characters that cannot be printed; anything else as
        Python writes it.
    """
    try:
        text = value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # ValueError: an integer of thousands of digits
        return f"a value of type {type(value).__name__} that is too long to be shown"
    return _printable(_cut(text))


def _cut(text: str) -> str:
    """Return begin and end of a text that is too long."""
    if len(text) <= MOST_SHOWN:
        return text
    count = f"...({len(text)} characters)..."
    end = MOST_SHOWN // 4
    return f"{text[: MOST_SHOWN - end - len(count)]}{count}{text[-end:]}"


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _safe(text: str) -> str:
    """Return a message in which no value is too long, and which no terminal takes for commands.

    Messages quote values; most are short, and those that may be long are cut where they are
    quoted (:func:`shown`). This is for the others: names in files, paths, words of a command line.
    """
    if len(text) > MOST_SHOWN:
        text = _QUOTED.sub(lambda found: f"'{_cut(found[0][1:-1])}'", text)
        text = _UNBROKEN.sub(lambda found: _cut(found[0]), text)
    lines = text.split("\n")
    return "\n".join(line if line.isprintable() else _printable_line(line) for line in lines)


def _printable_line(line: str) -> str:
    return "\t".join(map(_printable, line.split("\t")))


@dataclass(frozen=True)
class Location:
    """A place in a text file.

    Parameters
    ----------
    file
        Path as the user would type it.
    line, column
        Counted from 1; ``None`` when unknown.
    """

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file]
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return _safe(":".join(parts))


@dataclass(frozen=True)
class Diagnostic:
    """One finding of a compiler or a checker.

    Parameters
    ----------
    severity
        ``"error"``, ``"warning"`` or ``"note"``.
    message
        What is wrong, in one or two sentences.
    location
        Where, if it is known.
    hint
        What to do next, if there is something to say.
    rule
        A short identifier of the kind of finding, such as ``"unsupported-when"``.
    """

    severity: Severity
    message: str
    location: Location | None = None
    hint: str | None = None
    rule: str | None = None

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        rule = f" [{self.rule}]" if self.rule else ""
        text = f"{place}{self.severity}: {_safe(self.message)}{rule}"
        return f"{text}\n  hint: {_safe(self.hint)}" if self.hint else text


class FmidentError(Exception):
    """Root of all errors that fmident raises on purpose.

    Parameters
    ----------
    message
        What is wrong.
    location
        Where, if the error stems from a text file.
    hint
        What to do next.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self, message: str, *, location: Location | None = None, hint: str | None = None
    ) -> None:
        self.message = message
        self.location = location
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        text = f"{place}{_safe(self.message)}"
        return f"{text}\n  hint: {_safe(self.hint)}" if self.hint else text


class UnitError(FmidentError):
    """A unit that cannot be read, or two units that do not fit."""


class FmuError(FmidentError):
    """An FMU cannot be used: not a zip, broken description, no binary, refused call."""


class SimulationError(FmidentError):
    """One simulation failed.

    Parameters
    ----------
    message
        What happened; contains the FMU's own message where it gave one.
    time
        Simulation time at which it happened, s.
    log
        The FMU's log messages of this run, oldest first.
    ended
        Time at which the FMU itself asked for the end of the simulation, s, if it did.
    outputs
        What was computed before, ndarray of shape (k, outputs), where that is known.
    timed_out
        Whether it was ended for the time that it took: with more time it may succeed.
    says_time
        Whether the message says `time` already.
    """

    def __init__(
        self,
        message: str,
        *,
        time: float | None = None,
        log: Sequence[str] = (),
        hint: str | None = None,
        ended: float | None = None,
        outputs: F64 | None = None,
        timed_out: bool = False,
        says_time: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.time = time
        self.log = tuple(log)
        self.ended = ended
        self.outputs = outputs
        self.timed_out = timed_out
        self.says_time = says_time


class CompilationError(FmidentError):
    """A Modelica class could not be compiled.

    Parameters
    ----------
    message
        Summary.
    diagnostics
        Findings with their locations, errors first.
    """

    def __init__(
        self, message: str, *, diagnostics: Sequence[Diagnostic] = (), hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        lines = [str(d) for d in self.diagnostics]
        lines.append(super().__str__())
        return "\n".join(lines)


class DataError(FmidentError):
    """Measured data that cannot be read or used."""


class ProblemError(FmidentError):
    """A problem description that is wrong or contradicts the FMU or the data.

    Parameters
    ----------
    message, location, hint
        As for every :class:`FmidentError`.
    key
        Key of the problem file that it is about, where the place is not known yet.
    """

    def __init__(
        self,
        message: str,
        *,
        location: Location | None = None,
        hint: str | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(message, location=location, hint=hint)
        self.key = key


class EstimationError(FmidentError):
    """An estimation that cannot start or cannot go on."""


class PluginError(FmidentError):
    """A plugin that cannot be found, loaded or registered."""


def raised_in(error: BaseException, module: str) -> Location:
    """Return where in a module an exception came up, or what it called there.

    Parameters
    ----------
    error
        That was caught.
    module
        Name of the module, such as a plugin's. Where the exception did not pass through it,
        the place is that of the exception itself.
    """
    steps = list(traceback.walk_tb(error.__traceback__))
    own = [step for step in steps if step[0].f_globals.get("__name__") == module]
    frame, line = (own or steps)[-1]
    return Location(frame.f_code.co_filename, line)


def nearest(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Return the candidates most similar to `name`, best first.

    Parameters
    ----------
    name
        What the user wrote.
    candidates
        Valid names.
    count
        At most this many.

    Returns
    -------
    list of str
        Empty when nothing is similar.
    """
    if len(name) > MOST_SHOWN:
        return []  # nobody meant a name of that length, and comparing takes its square
    pool = sorted(set(candidates))
    folded: dict[str, str] = {}
    for candidate in pool:
        folded.setdefault(candidate.casefold(), candidate)
    close = difflib.get_close_matches(name.casefold(), list(folded), n=count, cutoff=0.5)
    found = [folded[c] for c in close]
    if len(found) < count:
        key = name.casefold()
        for candidate in pool:
            low = candidate.casefold()
            if candidate not in found and len(key) >= 3 and (key in low or low in key):
                found.append(candidate)
            if len(found) >= count:
                break
    return found


def did_you_mean(name: str, candidates: Iterable[str], *, kind: str = "name") -> str:
    """Return a hint that names the nearest valid names, or lists them when none is near.

    Parameters
    ----------
    name
        What the user wrote.
    candidates
        Valid names.
    kind
        The noun for them, such as ``"parameter"``.
    """
    pool = sorted(set(candidates))
    close = nearest(name, pool)
    if close:
        return f"nearest {kind}: " + ", ".join(f"'{c}'" for c in close)
    if not pool:
        return f"there is no {kind} to choose from"
    shown = ", ".join(f"'{c}'" for c in pool[:12])
    more = f", ... ({len(pool)} in all)" if len(pool) > 12 else ""
    return f"known: {shown}{more}"
