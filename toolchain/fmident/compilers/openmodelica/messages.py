"""OpenModelica's messages, which come in two forms, and diagnostics with hints made of them.

- OMPython raises: ``NN: [kind:level:id] [file:readonly:line:col:line:col] text``.
- ``omc`` returns records (``getMessagesStringInternal()``), and prints in scripts
  ``[file:line:col-line:col:writable] Error: text``.

A text may continue over several lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from fmident.compilers.sources import plain_version
from fmident.errors import Diagnostic, Location, Severity, nearest

Level = Literal["error", "warning", "notification", "internal"]
LEVELS: tuple[Level, ...] = get_args(Level)

_RAISED = re.compile(
    r"^\d{2,}: \[(?P<kind>\w+):(?P<level>\w+):(?P<id>\d+)\] "
    r"\[(?P<file>.*?):(?:true|false):(?P<line>\d+):(?P<column>\d+):\d+:\d+\] ?",
    re.MULTILINE,
)
_PRINTED = re.compile(
    r"^(?:\[(?P<file>[^\n]*?):(?P<line>\d+):(?P<column>\d+)-\d+:\d+:\w+\] )?"
    r"(?P<level>Error|Warning|Notification): ",
    re.MULTILINE,
)
_RECORD = re.compile(
    r'filename = "(?P<file>.*?)",\n.*?lineStart = (?P<line>\d+),\s*columnStart = (?P<column>\d+),'
    r'.*?message = "(?P<text>.*?)",\n\s*kind = \S*?\.ErrorKind\.(?P<kind>\w+),'
    r"\s*level = \S*?\.ErrorLevel\.(?P<level>\w+),\s*id = (?P<id>\d+)",
    re.DOTALL,
)
_INDEX = re.compile(r"package index|Curl error for URL")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


OmcValue = bool | int | float | str | tuple["OmcValue", ...] | None
"""Names such as ``Modelica.Blocks`` come as text."""

_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_NAME = re.compile(r"(?:\.?(?:[A-Za-z_$]\w*|'[^'\n]*'))+")
_CLOSING = {"{": "}", "(": ")"}


ClassNames = Callable[[str], Sequence[str]]
"""Names of the classes inside a class, as far as OpenModelica has it loaded."""

_SEVERITY: dict[str, Severity] = {"error": "error", "warning": "warning"}
_COUNTS = re.compile(r"has (\d+) equation\(s\) and (\d+) variable\(s\)")
_MISSING_CLASS = re.compile(r"Class (\S+) not found in scope (\S+?)\.?$")
_MISSING_LIBRARY = re.compile(r"Failed to load package (\S+) \((.*?)\) using MODELICAPATH (.*)")
_LOADED = re.compile(r"Automatically loaded package (\S+) (\S+?)\.? due to usage")
_LIKE_LIBRARY = re.compile(r"^(?:Modelica|ModelicaServices|Complex)$")


@dataclass(frozen=True)
class Message:
    """One message of OpenModelica.

    `level` is ``"error"``, ``"warning"``, ``"notification"`` or ``"internal"``. `kind` and
    `id` are OpenModelica's classification (``"translation"``, 3); empty and 0 from scripts.
    """

    level: Level
    text: str
    location: Location | None = None
    kind: str = ""
    id: int = 0

    @property
    def about_index(self) -> bool:
        """Whether it is about omc's index of libraries, which it tries to download."""
        return _INDEX.search(self.text) is not None or (
            self.location is not None and Path(self.location.file).name == "index.json"
        )


def parse_raised(text: str) -> tuple[Message, ...]:
    """Read the numbered messages in an ``OMSessionException``, or else one error."""
    messages = tuple(_message(match, repair(body)) for match, body in _pieces(_RAISED, text))
    return messages or parse_printed(text) or (Message("error", text.strip()),)


def parse_records(text: str) -> tuple[Message, ...]:
    """Read the answer to ``getMessagesStringInternal()``, oldest message first."""
    # omc answers with the newest first.
    return tuple(
        _message(match, _unescape(match["text"]).strip(), _unescape)
        for match in reversed([*_RECORD.finditer(text)])
    )


def parse_printed(text: str) -> tuple[Message, ...]:
    """Read the result of ``getErrorString()``."""
    return tuple(_message(match, body) for match, body in _pieces(_PRINTED, text))


def _message(
    match: re.Match[str], text: str, read_name: Callable[[str], str] = lambda name: name
) -> Message:
    """Return the message of a text, with what its form tells besides."""
    groups = match.groupdict()
    level: Level = next((one for one in LEVELS if one == groups["level"].lower()), "internal")
    file, line = groups.get("file") or "", int(groups.get("line") or 0)
    location = None
    if file and not file.startswith("<"):
        place = (line, int(groups["column"]) or None) if line else ()
        location = Location(shown_path(read_name(file)), *place)
    return Message(level, text, location, groups.get("kind") or "", int(groups.get("id") or 0))


def _pieces(begin: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    matches = list(begin.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    for match, end in zip(matches, ends, strict=False):  # one end too many if none was found
        yield match, text[match.end() : end].strip()


def repair(text: str) -> str:
    """Repair UTF-8 text that OMPython decoded as Latin-1."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def shown_path(file: str) -> str:
    """Return `file` relative to the working directory if it is inside it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text, flags=re.DOTALL)


def scan_value(text: str, start: int = 0) -> tuple[OmcValue, int]:
    """Read one value, after white space, and return it with its end; ``None`` if none."""
    start = _skip(text, start)
    if start >= len(text):
        return None, start
    first = text[start]
    if first == '"':
        return _scan_string(text, start)
    if first in _CLOSING:
        return _scan_group(text, start)
    if number := _NUMBER.match(text, start):
        digits = number[0]
        value = float(digits) if re.search(r"[.eE]", digits) else int(digits)
        return value, number.end()
    if name := _NAME.match(text, start):
        words: dict[str, OmcValue] = {"true": True, "false": False}
        return words.get(name[0], name[0]), name.end()
    raise ValueError(f"no value of omc at {text[start : start + 40]!r}")


def quoted(text: str) -> str:
    """Return `text` as a Modelica string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _scan_string(text: str, start: int) -> tuple[str, int]:
    match = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL).match(text, start)
    if match is None:
        raise ValueError(f"a text of omc without its end at {text[start : start + 40]!r}")
    return re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL), match.end()


def _scan_group(text: str, start: int) -> tuple[tuple[OmcValue, ...], int]:
    closing = _CLOSING[text[start]]
    items: list[OmcValue] = []
    place = _skip(text, start + 1)
    while place < len(text) and text[place] != closing:
        item, place = scan_value(text, place)
        items.append(item)
        place = _skip(text, place)
        if text[place : place + 1] == ",":
            place += 1
        elif text[place : place + 1] != closing:
            break
        place = _skip(text, place)
    if text[place : place + 1] != closing:
        raise ValueError(f"a list of omc without its end at {text[start : start + 40]!r}")
    return tuple(items), place + 1


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


_KNOWN: Sequence[tuple[str, str, str]] = (
    (
        r"^Expected token of type|^Parser error|^No viable alternative|^Missing token",
        "syntax-error",
        "look at the place named and just before it: often a ';' or an 'end' is missing",
    ),
    (
        r"under-determined system|over-determined system|Too (?:few|many) equations",
        "unbalanced",
        "give every variable that is neither parameter nor input one equation, no more",
    ),
    (
        r"does not have any remaining equation to be solved in",
        "unbalanced",
        "this is the variable that has no equation",
    ),
    (
        r"^Variable \S+ not found in scope",
        "missing-variable",
        "declare it, or correct its name",
    ),
    (
        r"INCONSISTENT due to specified unit information|need to be equal",
        "unit-error",
        "correct the unit of one side, or the equation; the numbers are computed as they are",
    ),
    (
        r"requires derivatives of some inputs",
        "input-derivative",
        "nothing may differentiate an input: take position, speed and acceleration as three inputs",
    ),
    (
        r"post-optimization module inputDerivativesUsed",
        "input-derivative",
        "follows from the message before",
    ),
    (
        r"has neither value nor start value, and is fixed",
        "parameter-without-value",
        "give the parameter a literal default",
    ),
    (
        r"[Ss]ingular",
        "singular",
        "two equations say the same or contradict each other: look for a loop without a unique"
        " solution",
    ),
    (
        r"cmake|CMake",
        "cmake",
        'platforms "static" needs CMake and a C compiler; on Debian: apt-get install cmake gcc',
    ),
)
"""Pattern of a well-known message, a short name, and what to do."""


def to_diagnostic(message: Message, class_names: ClassNames | None = None) -> Diagnostic:
    """Convert a message to a diagnostic; `class_names` finds names similar to a missing one."""
    severity = _SEVERITY.get(message.level, "note")
    rule, hint = _rule_and_hint(message.text, class_names)
    if rule is None and message.kind:
        rule = f"omc-{message.kind}-{message.id}"
    return Diagnostic(severity, message.text, message.location, hint, rule)


def to_diagnostics(
    messages: Sequence[Message], class_names: ClassNames | None = None
) -> list[Diagnostic]:
    """Convert messages to diagnostics: errors first, without duplicates."""
    diagnostics: list[Diagnostic] = []
    for message in messages:
        if message.level == "internal" or message.about_index:
            continue
        diagnostic = to_diagnostic(message, class_names)
        if diagnostic not in diagnostics:
            diagnostics.append(diagnostic)
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(diagnostics, key=lambda d: order[d.severity])


def _rule_and_hint(text: str, class_names: ClassNames | None) -> tuple[str | None, str | None]:
    if match := _MISSING_CLASS.search(text):
        return "missing-class", _missing_class(match[1], match[2], class_names)
    if match := _MISSING_LIBRARY.search(text):
        return "missing-library", _missing_library(match[1], match[2], match[3])
    if match := _LOADED.search(text):
        name, version = match[1], plain_version(match[2])
        return "library-loaded", (
            "name the version in the top-level class:"
            f' annotation(uses({name}(version="{version}")))'
        )
    known = ((rule, hint) for pattern, rule, hint in _KNOWN if re.search(pattern, text))
    return next(known, (None, None))


def _missing_class(name: str, scope: str, class_names: ClassNames | None) -> str:
    path, _, last = name.rpartition(".")
    if class_names is not None:
        scopes = [path] if path else [scope] if scope.casefold() != "<top>" else []
        for candidate in (*scopes, ""):
            prefix = f"{candidate}." if candidate else ""
            close = nearest(last, class_names(candidate))
            if close:
                return "nearest class: " + ", ".join(f"'{prefix}{c}'" for c in close)
    return "correct the name, import it, or give the library that holds it as another source"


def _missing_library(name: str, version: str, path: str) -> str:
    places = path.rstrip(".") or "(empty)"
    exact = f', "{version}"' if version not in ("", "default") else ""
    if _LIKE_LIBRARY.match(name):
        exact = exact or ', "4.0.0"'
    return (
        f"looked in MODELICAPATH {places}; if '{name}' is a library, install it with"
        f" omc's package manager: installPackage({name}{exact}); or give its folder as another"
        " source, or set MODELICAPATH to the folder that holds it"
    )


def balance_diagnostic(class_name: str, answer: str) -> Diagnostic | None:
    """Return a diagnostic for unequal counts, on which ``checkModel``'s answer is silent."""
    counts = _COUNTS.search(answer)
    if counts is None:
        return None
    equations, variables = int(counts[1]), int(counts[2])
    gap = variables - equations
    if gap == 0:
        return None
    if gap > 0:
        what, hint = "few", f"{gap} variable(s) have no equation: add them, or make them inputs"
    else:
        what, hint = "many", f"take {-gap} equation(s) away, or declare what they determine"
    return Diagnostic(
        "error",
        f"too {what} equations: '{class_name}' has {equations} equation(s) and"
        f" {variables} variable(s)",
        None,
        hint,
        "unbalanced",
    )
