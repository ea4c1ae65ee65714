"""Parse TOML, reporting errors with line and column."""

from __future__ import annotations

import datetime
import functools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmident.errors import Code, FmidentError, Location, ProblemError, nearest_file

_PLACE = re.compile(r"\s*\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)")
_INLINE_TWICE = re.compile(r"Duplicate inline table key '(?P<key>.*)'")
_DIGITS = re.compile(r"[0-9A-Fa-f_]{1000,}")
_INTEGERS = range(-(2**63), 2**63)
_DEEPEST = 50
_MOST_BITS = 10_000

_BARE = re.compile(r"[A-Za-z0-9_-]+")

KeyPath = tuple[str | int, ...]
"""KeyPath from the root; a number counts the elements of an array of tables from 0."""

_HEADER = re.compile(r"^\s*(?P<open>\[\[?)(?P<keys>.+?)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*(?P<keys>(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_.\- ])+?)\s*=""")


_PART = re.compile(
    r"""(?P<long>\"{3}|'{3})        # the begin of a text of several lines
    | "(?:[^"\\\n]|\\.)*" | '[^'\n]*' | \#[^\n]*
    | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<end>\n)""",
    re.VERBOSE,
)
_LONG_END = {
    '"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL),
    "'''": re.compile(r"(?:[^']|'(?!''))*'{3,5}", re.DOTALL),
}


class NotTomlError(ValueError):
    """The text is not TOML, or exceeds reasonable limits.

    `line` and `column` are counted from 1, if known.
    """

    def __init__(
        self,
        message: str,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


def loads(text: str) -> dict[str, Any]:
    """Return the content of a TOML text.

    Raises `NotTomlError` if it is not TOML, an integer exceeds 64 bits, or the nesting is
    too deep.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        place = _PLACE.search(str(failure))
        raise NotTomlError(
            _PLACE.sub("", str(failure)),
            int(place["line"]) if place and place["line"] else None,
            int(place["column"]) if place and place["column"] else None,
        ) from failure
    except RecursionError:
        raise _too_deep() from None
    except ValueError as failure:  # Python reads no integer of thousands of digits, nor year 0
        match = _DIGITS.search(text)
        line = text.count("\n", 0, match.start()) + 1 if match else None
        message = "a number has too many digits" if match else str(failure)
        raise NotTomlError(message, line, hint=_POWER if match else None) from None
    for key, value, depth in _values(content):
        if depth > _DEEPEST:
            raise _too_deep()
        if isinstance(value, int) and value not in _INTEGERS:
            # One in hexadecimal digits is not found, and Python writes none of thousands.
            at = text.find(str(value)) if value.bit_length() < _MOST_BITS else -1
            line = text.count("\n", 0, at) + 1 if at >= 0 else None
            raise NotTomlError(f"the integer of '{key}' is beyond 64 bits", line, hint=_POWER)
    return content


_POWER = "write large numbers with an exponent, such as 1e30"


def _too_deep() -> NotTomlError:
    return NotTomlError(f"lists or tables are nested more than {_DEEPEST} deep")


def _values(content: dict[str, Any]) -> Iterator[tuple[str, Any, int]]:
    """Yield all values with their nearest key and depth, without recursion."""
    waiting: list[tuple[str, Any, int]] = [("", content, 0)]
    while waiting:
        key, value, depth = waiting.pop()
        yield key, value, depth
        if depth > _DEEPEST:
            continue
        if isinstance(value, dict):
            waiting += [(str(k), v, depth + 1) for k, v in value.items()]
        elif isinstance(value, list):
            waiting += [(key, v, depth + 1) for v in value]


def read_text(path: Path, kind: str, example: str, error: type[FmidentError]) -> str:
    """Return the text of a file; raise `error` if it is missing, a folder or no text.

    `kind` is what the file is, and `example` the name of such a file.
    """
    if path.is_dir():
        raise error(
            f"'{path}' is a folder",
            hint=f"name the file, such as {path / example}",
            code=Code.UNUSABLE_FILE,
        )
    if not path.exists():
        raise error(
            f"there is no {kind} '{path}'",
            hint=nearest_file(path, "*.toml"),
            code=Code.UNKNOWN_NAME,
        )
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as failure:
        raise error(
            f"the file is not text in UTF-8 (byte {failure.start})",
            location=Location(str(path)),
            code=Code.UNUSABLE_FILE,
        ) from failure


def parse_toml(
    text: str,
    path: Path,
    *,
    error: type[FmidentError] = ProblemError,
    example: str = '"q[1]" = "column"',
) -> dict[str, Any]:
    """Return the content of a TOML file; raise `error` if the text is not TOML.

    `path` is the file name for messages, and `example` a key with brackets as written in
    such a file, for the hint.
    """
    try:
        return loads(text)
    except NotTomlError as failure:
        _refuse_twice(text, path, failure, error)
        raise error(
            f"this is not TOML: {failure.message}",
            location=Location(str(path), failure.line, failure.column),
            code=Code.NOT_TOML,
            hint=failure.hint or _hint(text, failure.line, example),
        ) from failure


def _refuse_twice(text: str, path: Path, failure: NotTomlError, error: type[FmidentError]) -> None:
    inline = _INLINE_TWICE.search(failure.message)
    if inline is not None:
        raise error(
            f"'{inline['key']}' is written twice in an inline table",
            location=Location(str(path), failure.line, failure.column),
            code=Code.NOT_TOML,
            hint="leave out one of them",
        ) from failure
    duplicate = twice(text, failure.line)
    if duplicate is None:
        return
    keys, first, second = duplicate
    names = [str(key) for key in keys if not isinstance(key, int)]
    lines = text.split("\n")
    header = lines[second - 1].lstrip().startswith("[")
    several = lines[first - 1].lstrip().startswith("[[")
    where = f" of [{'.'.join(names[:-1])}]" if len(names) > 1 and not header else ""
    what = f"the table [{'.'.join(names)}]" if header else f"'{names[-1]}'{where}"
    raise error(
        f"{what} is written twice, in lines {first} and {second}",
        location=Location(str(path), second),
        code=Code.NOT_TOML,
        hint=f'two columns for one variable: "{names[-1]} again" = {{ variable = "{names[-1]}",'
        ' column = "..." }'
        if names[-2:-1] == ["outputs"]
        else f"double brackets, [[{'.'.join(names)}]], begin another one"
        if several
        else "write what belongs to it in one place"
        if header
        else "leave out one of them",
    ) from failure


def _hint(text: str, line: int | None, example: str) -> str | None:
    """Return what is probably wrong in a line that is not TOML."""
    lines = text.split("\n")
    content = lines[line - 1] if line is not None and line <= len(lines) else ""
    first = next((t for t in lines if t.strip() and not t.lstrip().startswith("#")), "")
    if "=" not in first and not first.lstrip().startswith("["):
        return "this looks like data; a file in TOML is expected"
    if re.match(r"\s*[\w.]*\w\[[^=]*=", content):
        return f"names with brackets need quotes: {example}"
    if re.search(r"=\s*[-+]?\d+,\d", content):
        return "numbers have a decimal point: 0.005, not 0,005"
    if re.search(r"=\s*[-+]?\.\d", content):
        return "numbers begin with a digit: 0.3, not .3"
    if re.search(r"=\s*[A-Za-z_./~]", content):
        return 'texts need quotes: data = "measured.csv"'
    if "\\" in content and '"' in content:
        return "a backslash in double quotes must be doubled; single quotes take it as it is"
    return None


def quoted(key: str) -> str:
    """Return a key as written in TOML, quoted if necessary."""
    return key if _BARE.fullmatch(key) else _string(key)


def encoded(value: object) -> str:
    """Return a value as TOML on one line; other types as their text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(encoded, value)) + "]"
    if isinstance(value, Mapping):
        items = [f"{quoted(str(key))} = {encoded(item)}" for key, item in value.items()]
        return "{ " + ", ".join(items) + " }" if items else "{}"
    return _string(str(value))


def document(content: Mapping[str, object]) -> str:
    """Return a document of tables, each below its header.

    Tables deeper than ``[table.table]`` are written on one line.
    """
    lines: list[str] = []
    _write_table(content, (), lines)
    return "\n".join(lines).strip("\n") + "\n"


_DEEPEST_HEADER = 2


def _write_table(table: Mapping[str, object], keys: tuple[str, ...], lines: list[str]) -> None:
    inner: list[tuple[tuple[str, ...], object]] = []
    for key, value in table.items():
        if len(keys) < _DEEPEST_HEADER and (isinstance(value, Mapping) or _tables(value)):
            inner.append(((*keys, key), value))
        else:
            lines.append(f"{quoted(key)} = {encoded(value)}")
    for path, value in inner:
        name = ".".join(map(quoted, path))
        for one in _tables(value):
            lines += ["", f"[[{name}]]"]
            _write_table(one, path, lines)
        if isinstance(value, Mapping):
            if keys or not value or not all(isinstance(v, Mapping) for v in value.values()):
                lines += ["", f"[{name}]"]
            _write_table(value, path, lines)


def _tables(value: object) -> list[Mapping[str, object]]:
    """Return the tables of a value written as an array of tables; empty otherwise."""
    items = value if isinstance(value, list) else []
    return items if all(isinstance(item, Mapping) for item in items) else []


def _string(text: str) -> str:
    # JSON's escapes are TOML's, but for the delete character and for pairs of surrogates.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def line_of(text: str, path: KeyPath) -> int | None:
    """Return the line of a key, counted from 1, or of the nearest table around it.

    `path` is, for example, ``("experiments", 0, "inputs", "q[1]")``, in a valid TOML text.
    """
    places = _places(text)
    while path:
        if path in places:
            return places[path]
        inside = [line for place, line in places.items() if place[: len(path)] == path]
        if inside:  # a table without a line of its own, such as 'a' of [a.b]
            return min(inside)
        path = path[:-1]
    return None


@functools.lru_cache(maxsize=8)
def _places(text: str) -> dict[KeyPath, int]:
    """Return the lines of all keys, cached since many are needed; do not modify."""
    places: dict[KeyPath, int] = {}
    for entry in entries(text):
        for path in entry.paths:
            places.setdefault(path, entry.first)
    return places


def twice(text: str, line: int | None) -> tuple[KeyPath, int, int] | None:
    """Return path and two lines of the duplicate key or table that makes a text invalid.

    `line` is that of the error; ``None`` at the end of the text. For other errors it is
    ``None``.
    """
    seen: dict[KeyPath, int] = {}
    for entry in entries(text):
        if line is not None and entry.first > line:
            break
        if entry.path in seen and (line is None or line <= entry.last):
            return entry.path, seen[entry.path], entry.first
        seen |= {path: entry.first for path in entry.paths if path not in seen}
    return None


@dataclass(frozen=True)
class Entry:
    """A header or an assignment: paths created, its own last, and its lines, counted from 1.

    `key` is that of an assignment as written; ``None`` for a header.
    """

    paths: tuple[KeyPath, ...]
    first: int
    last: int
    key: str | None = None

    @property
    def path(self) -> KeyPath:
        """Its own path."""
        return self.paths[-1]


def entries(text: str) -> Iterator[Entry]:
    """Yield the headers and assignments of a TOML text in order."""
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for statement in statements(text):
        first, last = statement.first + 1, statement.last + 1
        header = _HEADER.match(statement.text)
        keys = _keys(header["keys"]) if header else None
        if header is not None and keys is not None:
            if header["open"] == "[[":
                array = (*_within(keys[:-1], counts), keys[-1])
                fresh = array not in counts
                counts[array] = counts.get(array, -1) + 1
                table = (*array, counts[array])
                yield Entry((table, array) if fresh else (array, table), first, last)
            else:
                table = _within(keys, counts)
                yield Entry((table,), first, last)
            continue
        key = _KEY.match(statement.text)
        keys = _keys(key["keys"]) if key else None
        if key is not None and keys is not None:
            paths = tuple((*table, *keys[:depth]) for depth in range(1, len(keys) + 1))
            yield Entry(paths, first, last, key["keys"].strip())


def _within(keys: list[str], counts: dict[KeyPath, int]) -> KeyPath:
    """Return the path of nested keys; an array of tables refers to its last element so far."""
    path: KeyPath = ()
    for key in keys:
        path = (*path, key)
        if path in counts:
            path = (*path, counts[path])
    return path


def _keys(text: str) -> list[str] | None:
    """Return the parts of a dotted key without quotes."""
    try:
        value: Any = tomllib.loads(f"{text} = 0")
    except (ValueError, RecursionError):
        return None
    keys = []
    while isinstance(value, dict):
        key, value = next(iter(value.items()))
        keys.append(key)
    return keys


@dataclass(frozen=True)
class Statement:
    """A header, an assignment, a comment or an empty line.

    Its lines are counted from 0; lists, inline tables and strings may span several. `text`
    lacks the end of the last line.
    """

    first: int
    last: int
    text: str


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a valid TOML text in order; each line belongs to one of them."""
    begin = position = depth = line = 0
    while position < len(text):
        match = _PART.search(text, position)
        if match is None:
            break
        position = match.end()
        if match["long"]:
            end = _LONG_END[match["long"]].match(text, position)
            position = len(text) if end is None else end.end()
        elif match["end"]:
            if depth == 0:
                yield _statement(text, begin, match.start(), line)
                line += text.count("\n", begin, position)
                begin = position
        else:
            depth += bool(match["open"]) - bool(match["close"])
    if begin < len(text):
        yield _statement(text, begin, len(text), line)


def _statement(text: str, begin: int, end: int, line: int) -> Statement:
    own = text[begin:end]
    return Statement(line, line + own.count("\n"), own.removesuffix("\r"))


def lines_of(text: str) -> list[str]:
    """Return the lines of a TOML text, split at line feeds only, unlike ``str.splitlines``."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
