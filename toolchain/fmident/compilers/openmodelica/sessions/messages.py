"""Parsers of OpenModelica's messages, which come in three forms.

- OMPython raises: ``NN: [kind:level:id] [file:readonly:line:col:line:col] text``.
- OMPython logs: ``[OMC log for '...']: [kind:level:id] text``, without a place.
- ``omc`` returns records (``getMessagesStringInternal()``), and prints in scripts
  ``[file:line:col-line:col:writable] Error: text``.

A text may continue over several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fmident.errors import Location

Level = Literal["error", "warning", "notification", "internal"]

_RAISED = re.compile(
    r"^\d{2,}: \[(?P<kind>\w+):(?P<level>\w+):(?P<id>\d+)\] "
    r"\[(?P<file>.*?):(?:true|false):(?P<line>\d+):(?P<column>\d+):\d+:\d+\] ?",
    re.MULTILINE,
)
_LOGGED = re.compile(
    r"^\[OMC log for '.*?'\]: \[(?P<kind>\w+):(?P<level>\w+):(?P<id>\d+)\] (?P<text>.*)",
    re.DOTALL,
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
    messages = tuple(
        Message(
            _level(match["level"]),
            repair(body),
            _location(match["file"], match["line"], match["column"]),
            match["kind"],
            int(match["id"]),
        )
        for match, body in _pieces(_RAISED, text)
    )
    return messages or parse_printed(text) or (Message("error", text.strip()),)


def parse_logged(text: str) -> Message | None:
    """Read one line of OMPython's log; ``None`` if it is not a message of OpenModelica."""
    match = _LOGGED.match(text)
    if match is None:
        return None
    body = repair(match["text"].strip())
    return Message(_level(match["level"]), body, None, match["kind"], int(match["id"]))


def parse_records(text: str) -> tuple[Message, ...]:
    """Read the answer to ``getMessagesStringInternal()``, oldest message first."""
    messages = [
        Message(
            _level(match["level"]),
            _unescape(match["text"]).strip(),
            _location(_unescape(match["file"]), match["line"], match["column"]),
            match["kind"],
            int(match["id"]),
        )
        for match in _RECORD.finditer(text)
    ]
    messages.reverse()  # omc answers with the newest first
    return tuple(messages)


def parse_printed(text: str) -> tuple[Message, ...]:
    """Read the result of ``getErrorString()``."""
    return tuple(
        Message(
            _level(match["level"].lower()),
            body,
            _location(match["file"] or "", match["line"] or "0", match["column"] or "0"),
        )
        for match, body in _pieces(_PRINTED, text)
    )


def _pieces(begin: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match with the text between it and the next one."""
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


def _location(file: str, line: str, column: str) -> Location | None:
    if not file or file.startswith("<"):
        return None
    if int(line) == 0:
        return Location(shown_path(file))
    return Location(shown_path(file), int(line), int(column) or None)


def _level(word: str) -> Level:
    known: dict[str, Level] = {
        "error": "error",
        "warning": "warning",
        "notification": "notification",
    }
    return known.get(word, "internal")


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
