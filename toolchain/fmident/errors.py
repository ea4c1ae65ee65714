"""Errors and diagnostics.

Every error that a user can cause is an :class:`FmidentError`. Its text says what is
wrong, where (file, line, column or key), and what to do next. The command line prints
it without a traceback and ends with :attr:`FmidentError.exit_code`.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Literal, TypedDict

if TYPE_CHECKING:
    from pathlib import Path

    from fmident.arrays import F64

Severity = Literal["error", "warning", "note"]

MOST_SHOWN = 200
"""Characters of a value that a message shows at most."""

_QUOTED = re.compile(rf"(?<!\w)'[^'\n]{{{MOST_SHOWN + 1},}}'(?!\w)")
_UNBROKEN = re.compile(rf"[^\s']{{{MOST_SHOWN + 101},}}")


class Code(StrEnum):
    """What kind of error it is, for programs: messages may change, codes do not.

    Every error has the code of its class, unless what raises it says more. An error that stems
    from a finding of a check has the finding's rule as its code. Plugins may use texts of their
    own, in the same form.
    """

    meaning: str
    """In a sentence, for the documentation."""

    def __new__(cls, code: str, meaning: str) -> Code:
        """Return a member that is the text, and knows what it means."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    ERROR = "error", "Any error that has no other code."
    USAGE = "usage", "A command line that cannot be understood."

    NOT_TOML = "not-toml", "A file is not TOML."
    UNKNOWN_KEY = "unknown-key", "A table has an unknown key, or a plugin an unknown option."
    MISSING_KEY = "missing-key", "A table lacks a key."
    WRONG_TYPE = "wrong-type", "A value is of another type than its key or variable needs."
    NOT_A_CHOICE = "not-a-choice", "A word is not one of those that the key allows."
    OUT_OF_RANGE = "out-of-range", "An option is out of its range."
    REQUIRES_OPTION = "requires-option", "An option requires another one, or another value of it."
    UNUSABLE_FILE = "unusable-file", "A file or folder cannot be read, made or written."
    UNKNOWN_NAME = "unknown-name", "There is nothing of this name; the nearest names are listed."
    MISSING_BOUNDS = (
        "missing-bounds",
        "An estimator searches between bounds, and a parameter has none.",
    )
    NOT_SETTABLE = "not-settable", "A variable of the FMU cannot be set."
    NOT_AN_INPUT = "not-an-input", "Data are given for a variable of the FMU that is not an input."
    NOT_AN_OUTPUT = (
        "not-an-output",
        "A variable of the FMU cannot be recorded, or compared with data.",
    )
    INVALID_PROBLEM = "invalid-problem", "The problem contradicts itself, the FMU or the data."
    INVALID_CATALOG = "invalid-catalog", "An entry of a catalogue that cannot be used."
    UNREADABLE_UNIT = "unreadable-unit", "A unit cannot be read."
    UNITS_DIFFER = "units-differ", "Two units have different dimensions."
    INVALID_DATA = "invalid-data", "Measured data cannot be read or used."
    NOT_A_NUMBER = "not-a-number", "A cell of the data is not a number."

    COMPILATION_FAILED = "compilation-failed", "A Modelica class cannot be compiled."
    UNUSABLE_FMU = "unusable-fmu", "An FMU cannot be read, loaded or instantiated."
    SIMULATION_FAILED = "simulation-failed", "The FMU reported an error in a simulation."
    NOT_FINITE = "not-finite", "An output, or a parameter of a simulation, is not finite."
    NOT_DIFFERENTIABLE = (
        "not-differentiable",
        "An output has no derivative with respect to a parameter, though it can be simulated.",
    )
    ENDED_BY_FMU = "ended-by-fmu", "The FMU requested termination before the end."
    TIMED_OUT = "timed-out", "A simulation took longer than the time limit."
    PROCESS_CRASHED = "process-crashed", "Native code of the FMU ended its process."
    PROCESS_KILLED = "process-killed", "The process of a simulation was killed from outside."
    OUT_OF_MEMORY = "out-of-memory", "A simulation needed more than the memory limit."

    ESTIMATION_FAILED = "estimation-failed", "An estimation cannot start or cannot go on."
    NO_DERIVATIVE = "no-derivative", "Every simulation near a point fails: it has no Jacobian."
    EXECUTOR_LOST = "executor-lost", "The executor was lost, such as a cluster; resume the run."
    FOLDER_IN_USE = "folder-in-use", "Another run is at work on the result folder."
    NOTHING_TO_RESUME = "nothing-to-resume", "There is no unfinished run that can be resumed."
    OTHER_PROBLEM = "other-problem", "The unfinished run is of another problem."
    PLUGIN_FAILED = "plugin-failed", "A plugin cannot be loaded or registered, or is wrong."
    NOT_SUPPORTED = "not-supported", "An executor or an FMU does not offer what is asked of it."
    NOT_INSTALLED = "not-installed", "A program or package that is needed here is not installed."
    LACKS_RESOURCES = (
        "lacks-resources",
        "The machine has no memory, room, open files or threads left, or denies access.",
    )


def shown(value: object) -> str:
    """Return a value as messages show it: on one line, and not too much of it.

    A text is shown as it is, but for characters that cannot be printed; anything else as
    Python writes it.
    """
    try:
        text = value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # ValueError: an integer of thousands of digits
        return f"a value of type {type(value).__name__} that is too long to be shown"
    return _printable(_cut(text))


def _cut(text: str) -> str:
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
    code
        What kind of error it is, for programs; that of the class by default.
    """

    exit_code: ClassVar[int] = 2
    default_code: ClassVar[str] = Code.ERROR

    def __init__(
        self,
        message: str,
        *,
        location: Location | None = None,
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        self.message = message
        self.location = location
        self.hint = hint
        self.code: str = code or self.default_code
        super().__init__(message)

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        text = f"{place}{_safe(self.message)}"
        return f"{text}\n  hint: {_safe(self.hint)}" if self.hint else text


class UnitError(FmidentError):
    """A unit that cannot be read, or two units that do not fit."""

    default_code = Code.UNREADABLE_UNIT


class FmuError(FmidentError):
    """An FMU cannot be used: not a zip, broken description, no binary, refused call."""

    default_code = Code.UNUSABLE_FMU


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
    code
        By default it follows from `timed_out` and `ended`.
    """

    default_code = Code.SIMULATION_FAILED

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
        code: str | None = None,
    ) -> None:
        if code is None and (timed_out or ended is not None):
            code = Code.TIMED_OUT if timed_out else Code.ENDED_BY_FMU
        super().__init__(message, hint=hint, code=code)
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

    default_code = Code.COMPILATION_FAILED

    def __init__(
        self,
        message: str,
        *,
        diagnostics: Sequence[Diagnostic] = (),
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return "\n".join([*lines_of(self.diagnostics), super().__str__()])


def lines_of(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """Return diagnostics as text; a hint that several share stands once, behind the last."""
    listed = list(diagnostics)
    last = {d.hint: number for number, d in enumerate(listed)}
    return [
        str(d if last[d.hint] == number else replace(d, hint=None))
        for number, d in enumerate(listed)
    ]


class DataError(FmidentError):
    """Measured data that cannot be read or used."""

    default_code = Code.INVALID_DATA


class ProblemError(FmidentError):
    """A problem description that is wrong or contradicts the FMU or the data.

    Parameters
    ----------
    message, location, hint, code
        As for every :class:`FmidentError`.
    key
        Key of the problem file that it is about, where the place is not known yet.
    """

    default_code = Code.INVALID_PROBLEM

    def __init__(
        self,
        message: str,
        *,
        location: Location | None = None,
        hint: str | None = None,
        key: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, location=location, hint=hint, code=code)
        self.key = key


class EstimationError(FmidentError):
    """An estimation that cannot start or cannot go on."""

    default_code = Code.ESTIMATION_FAILED


class PluginError(FmidentError):
    """A plugin that cannot be found, loaded or registered."""

    default_code = Code.PLUGIN_FAILED


class ResourceError(FmidentError):
    """The machine lacks memory, room, open files or threads, or denies access."""

    default_code = Code.LACKS_RESOURCES


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Errors of the system that say that nothing more can be written to a place."""

_NO_MEMORY = "fewer samples, fewer workers, or a machine with more memory"
_NO_THREADS = "end other programs, use fewer workers, or raise the limit ('ulimit -u')"
_NO_FILES = "the process may open more files after 'ulimit -n 1024'"
_NO_RIGHT = "change the rights, or choose another place"

_ADVICE = {
    errno.ENOSPC: "make room on the disk; TMPDIR names another folder for temporary files",
    errno.EDQUOT: "your quota is used up: make room, or use another folder",
    errno.EFBIG: "raise the limit on the size of files ('ulimit -f'), or use another folder",
    errno.EMFILE: _NO_FILES,
    errno.ENFILE: "the machine has too many files open: end other programs",
    errno.ENOMEM: _NO_MEMORY,
    errno.EAGAIN: _NO_THREADS,
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
    errno.EROFS: _NO_RIGHT,
    errno.EIO: "check the disk, or use another folder",
}
"""Advice on errors of the system that are caused by the machine."""

_SAID_BY_OTHERS = {
    "can't start new thread": _NO_THREADS,
    "std::bad_alloc": _NO_MEMORY,
    "failed to map segment": _NO_MEMORY,
    "annot allocate memory": _NO_MEMORY,
    "memory exhausted": _NO_MEMORY,
    "out of memory": _NO_MEMORY,
    "Too many open files": _NO_FILES,
    "No space left on device": _ADVICE[errno.ENOSPC],
}
"""Words by which Python, its loader of native code and libraries say that a resource is used up."""


def advice_on(error: BaseException) -> str | None:
    """Return what helps where an error is the machine's, ``None`` where it is not.

    This is the place that decides whether the machine or some code is at fault. An error that was
    raised from one of the machine's is the machine's, too.
    """
    if isinstance(error, MemoryError):
        return _NO_MEMORY
    if isinstance(error, OSError) and error.errno in _ADVICE:
        return _ADVICE[error.errno]
    if not isinstance(error, FmidentError):
        for words, advice in _SAID_BY_OTHERS.items():
            if words in str(error):
                return advice
    return None if error.__cause__ is None else advice_on(error.__cause__)


def in_words(error: BaseException) -> str:
    """Return what an error of the system or of Python says, with the file if there is one."""
    if isinstance(error, MemoryError):
        return f"the memory is used up ({error})" if str(error) else "the memory is used up"
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"'{error.filename}': {reason}"


def nearest(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Return at most `count` candidates that are similar to `name`, best first."""
    if len(name) > MOST_SHOWN:
        return []  # nobody meant a name of that length, and comparing takes its square
    pool = sorted(set(candidates))
    folded: dict[str, str] = {}
    for candidate in pool:
        folded.setdefault(candidate.casefold(), candidate)
    close = difflib.get_close_matches(name.casefold(), list(folded), n=count, cutoff=0.5)
    matches = [folded[c] for c in close]
    if len(matches) < count:
        key = name.casefold()
        for candidate in pool:
            low = candidate.casefold()
            if candidate not in matches and len(key) >= 3 and (key in low or low in key):
                matches.append(candidate)
            if len(matches) >= count:
                break
    return matches


def nearest_file(path: Path, pattern: str) -> str:
    """Return a hint that names files beside one that does not exist."""
    near = [p.name for p in path.parent.glob(pattern)] if path.parent.is_dir() else []
    return did_you_mean(path.name, near, kind="file") if near else "check the path"


def did_you_mean(name: str, candidates: Iterable[str], *, kind: str = "name") -> str:
    """Return a hint that names the nearest valid names, or lists them when none is near.

    `name` is what the user wrote, and `kind` the noun for the candidates, such as ``"parameter"``.
    """
    pool = sorted(set(candidates))
    close = nearest(name, pool)
    if close:
        return f"nearest {kind}: " + ", ".join(f"'{c}'" for c in close)
    if not pool:
        return f"there is no {kind} to choose from"
    names = ", ".join(f"'{c}'" for c in pool[:12])
    more = f", ... ({len(pool)} in all)" if len(pool) > 12 else ""
    return f"known: {names}{more}"


class Advice(TypedDict):
    """Hint and code of an error."""

    hint: str
    code: str


def unknown_name(name: str, candidates: Iterable[str], kind: str = "name") -> Advice:
    """Return hint and code of an error about a name that does not exist.

    The arguments are those of :func:`did_you_mean`.
    """
    return {"hint": did_you_mean(name, candidates, kind=kind), "code": Code.UNKNOWN_NAME}
