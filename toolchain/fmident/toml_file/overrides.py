"""Override keys in the text of a problem file, so that the stored text is what was run.

Elements of an array of tables are counted from 0: ``experiments.0.window``.
"""

from __future__ import annotations

import copy
import difflib
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from fmident.errors import Diagnostic, FmidentError, Location, ProblemError
from fmident.toml_file import NotTomlError, loads
from fmident.toml_file.text import encoded, lines_of, quoted, statements

KeyPath = tuple[str, ...]


def read_value(text: str) -> object:
    """Return a value parsed as TOML, or the text itself if it is not TOML."""
    try:
        return loads(f"value = {text}")["value"]
    except NotTomlError:
        return text


def _nothing(before: str, after: str) -> Collection[str]:
    return ()


def apply_overrides(
    text: str,
    overrides: Mapping[str, object],
    file: str,
    shared: Callable[[str, str], Collection[str]] = _nothing,
) -> str:
    """Return the text of a problem file with some keys changed.

    A key is dotted: ``{"estimator.solver": "scipy"}``. A name with dots or brackets is
    quoted: ``parameters."arm[1].m".initial``. A new estimator or cost drops the options of
    the one in the file, see :func:`left_out`, except those common to two estimators, which
    `shared` returns. Raises `ProblemError` for an invalid key, or one that cannot be set in
    this text.
    """
    if _parsed(text) is None:
        return text  # whoever reads it next explains what is wrong
    for key, value in sorted(
        overrides.items(), key=lambda item: not _is_choice(_key_path(item[0]))
    ):
        path = _key_path(key)
        if _is_choice(path):
            before = str(_chosen(_looked_up(loads(text), path[:-1]), path))
            if before != value:
                common = shared(before, str(value)) if path[-2] == "estimator" else ()
                text = _without_options(text, path[:-1], {"name", *common})
        expected = copy.deepcopy(loads(text))
        _refuse_unknown_parent(expected, path, key, file)
        _put(expected, path, value)
        text = _replaced(text, path, value)
        # The text was edited line by line; parsing it shows whether that was right.
        if not _alike(_parsed(text), expected):
            raise ProblemError(
                f"cannot override '{key}' in the way the file is written",
                location=_option(key),
                hint="change the value in the file",
            )
    return text


def left_out(original: str, changed: str, overrides: Mapping[str, object]) -> list[Diagnostic]:
    """Return a note for each replaced estimator or cost whose options were dropped.

    `original` and `changed` are the texts before and after :func:`apply_overrides`.
    """
    notes = []
    for key in overrides:
        path = _key_path(key)
        if _is_choice(path):
            before, after = (_looked_up(loads(t), path[:-1]) for t in (original, changed))
            if dropped := ", ".join(sorted(before.keys() - after.keys())):
                text = f"options of '{_chosen(before, path)}' in the file do not count: {dropped}"
                notes.append(Diagnostic("note", text, location=_option(key)))
    return notes


def relocate(
    error: FmidentError, original: str, changed: str, overrides: Mapping[str, object], file: str
) -> None:
    """Make an error point to the user's own file, or to the wrong override.

    The error, whose location counts lines of `changed`, is corrected in place. `original`
    and `changed` are the texts before and after :func:`apply_overrides`.
    """
    place = error.location
    if not overrides or place is None or place.file != file or place.line is None:
        return
    after = lines_of(changed)
    matcher = difflib.SequenceMatcher(None, lines_of(original), after, autojunk=False)
    for block in matcher.get_matching_blocks():
        row = place.line - 1 - block.b
        if 0 <= row < block.size:
            error.location = Location(file, block.a + row + 1, place.column)
            return
    line = after[place.line - 1] if place.line <= len(after) else ""
    for key in overrides:
        path = _key_path(key)
        names = (*(path[-n:] for n in range(1, len(path) + 1)),)
        written = [".".join(map(quoted, name)) + " =" for name in names]
        if any(line.startswith(w) for w in written) or line == f"[{'.'.join(path[:-1])}]":
            error.location = _option(key)
            return


def _option(key: str) -> Location:
    return Location(f"--set {key}")


def _key_path(key: str) -> KeyPath:
    try:
        nested: Any = loads(f"{key} = 0")
    except NotTomlError:
        raise ProblemError(
            f"'{key}' is not a key of a problem file",
            hint='write table.key; quote a name with dots or brackets: parameters."a[1]".initial',
        ) from None
    path: list[str] = []
    while isinstance(nested, dict):
        ((name, nested),) = nested.items()
        path.append(name)
    return tuple(path)


_DEFAULTS = {("estimator", "name"): "least-squares", ("cost", "name"): "time-domain"}


def _is_choice(path: KeyPath) -> bool:
    """Return whether a key selects an estimator or a cost, with its options beside it."""
    return path[-2:] in _DEFAULTS


def _chosen(table: Mapping[str, Any], path: KeyPath) -> object:
    return table.get("name", _DEFAULTS[path[-2], path[-1]])


def _looked_up(document: Any, path: KeyPath) -> dict[str, Any]:
    """Return a table; empty if there is none."""
    for name in path:
        inside = isinstance(document, list) and name.isdecimal() and int(name) < len(document)
        document = document[int(name)] if inside else document
        if not inside:
            document = document.get(name, {}) if isinstance(document, dict) else {}
    return document if isinstance(document, dict) else {}


def _refuse_unknown_parent(document: dict[str, Any], path: KeyPath, key: str, file: str) -> None:
    place: Any = document
    for depth, name in enumerate(path[:-1]):
        if isinstance(place, list):
            place = place[int(name)]
            continue
        place = place.get(name, {})
        if isinstance(place, list) and place and all(isinstance(e, dict) for e in place):
            element = path[depth + 1]
            if element.isdecimal() and int(element) < len(place) and depth + 2 < len(path):
                continue
            raise ProblemError(
                f"cannot override '{key}': '{name}' is not a single table",
                location=_option(key),
                hint=f"there are {len(place)} of them; count from 0: {name}.0.KEY"
                if len(place) > 1
                else f"say which, counted from 0: {name}.0.KEY",
            )
        if not isinstance(place, dict):
            raise ProblemError(
                f"cannot override '{key}': '{name}' is not a single table",
                location=_option(key),
                hint=f"change the value in '{file}'",
            )


def _put(document: Any, path: KeyPath, value: object) -> None:
    for name in path[:-1]:
        if isinstance(document, list):
            document = document[int(name)]
        else:
            document = document.setdefault(name, {})
    document[path[-1]] = value


def _replaced(text: str, path: KeyPath, value: object) -> str:
    """Return the text with the line of the key replaced or added."""
    assignment = f"{quoted(path[-1])} = {encoded(value)}"
    lines = lines_of(text) if text else []
    table: KeyPath = ()
    headers: dict[KeyPath, int] = {(): -1}
    counts: dict[KeyPath, int] = {}
    for statement in statements(text):
        number, line = statement.first, statement.text
        parsed = _parsed(line)
        if parsed is None or not parsed:
            continue
        if line.lstrip().startswith("["):
            table = _counted(_only_path(parsed), counts, line.lstrip().startswith("[["))
            headers[table] = number
        elif (*table, *_key_path(written := _written_key(line))) == path:
            lines[number : statement.last + 1] = [f"{written} = {encoded(value)}"]
            return "\n".join(lines) + "\n"
        elif (inside := _inside(line, parsed, (table, written), path, value)) is not None:
            lines[number : statement.last + 1] = [inside]
            return "\n".join(lines) + "\n"
    if path[:-1] in headers:
        lines.insert(headers[path[:-1]] + 1, assignment)
        return "\n".join(lines) + "\n"
    element = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in headers), ())
    if element and element[:-1] in counts:  # a table of one element of an array
        rest = ".".join(map(quoted, path[len(element) :]))
        lines.insert(headers[element] + 1, f"{rest} = {encoded(value)}")
    else:
        lines += ["", f"[{'.'.join(map(quoted, path[:-1]))}]", assignment]
    return "\n".join(lines) + "\n"


def _without_options(text: str, table: KeyPath, kept: Collection[str]) -> str:
    """Return the text without the content of a table and its subtables, except some keys."""
    lines: list[str | None] = [*lines_of(text)]
    here: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for statement in statements(text):
        parsed, line = _parsed(statement.text), statement.text.lstrip()
        if not parsed:
            continue
        own: KeyPath = ()
        if line.startswith("["):
            here = _counted(_only_path(parsed), counts, line.startswith("[["))
        else:
            own = _key_path(_written_key(line))
        place = (*here, *own)
        if place == table and own:
            inside = {k: v for k, v in _looked_up(parsed, own).items() if k in kept}
            lines[statement.first : statement.last + 1] = [
                f"{_written_key(line)} = {encoded(inside)}"
            ] + [None] * (statement.last - statement.first)
        elif place[: len(table)] == table and place[len(table) : len(table) + 1] not in (
            (),
            *((key,) for key in kept),
        ):
            for number in range(statement.first, statement.last + 1):
                lines[number] = None
    return "\n".join(line for line in lines if line is not None) + "\n"


def _written_key(line: str) -> str:
    """Return the part of an assignment before the equals sign."""
    ends = (k for k, c in enumerate(line) if c == "=")
    return next(line[:k] for k in ends if _parsed(f"{line[:k]} = 0") is not None).strip()


def _inside(
    line: str, parsed: Mapping[str, Any], place: tuple[KeyPath, str], path: KeyPath, value: object
) -> str | None:
    """Return a line with a key of its inline table changed; ``None`` if it is not in there.

    `line` is the assignment, `parsed` its parsed form, and `place` its table and its key as
    written; `path` and `value` are the change.
    """
    table, written = place
    own = _key_path(written)
    whole = (*table, *own)
    if path[: len(whole)] != whole or len(path) == len(whole):
        return None
    content: Any = copy.deepcopy(parsed)
    for name in own:
        content = content[name]
    if not isinstance(content, (dict, list)):
        return None
    _put(content, path[len(whole) :], value)
    ends = (k + 1 for k, c in enumerate(line) if c in "]}")
    comment = next((line[k:] for k in ends if _parsed(line[:k]) == parsed), "")
    return f"{written} = {encoded(content)}{comment}"


def _counted(header: KeyPath, counts: dict[KeyPath, int], new: bool) -> KeyPath:
    """Return the table of a header, with the index after the name of an array of tables."""
    table: KeyPath = ()
    for depth, name in enumerate(header, 1):
        table = (*table, name)
        if new and depth == len(header):
            counts[table] = counts.get(table, -1) + 1
        if table in counts:
            table = (*table, str(counts[table]))
    return table


def _only_path(parsed: Mapping[str, Any]) -> KeyPath:
    """Return the names down to the first value or empty table."""
    path: list[str] = []
    place: Any = parsed
    while isinstance(place, dict) and len(place) == 1:
        ((name, place),) = place.items()
        path.append(name)
        if isinstance(place, list) and place and isinstance(place[0], dict):
            break
    return tuple(path)


def _alike(a: Any, b: Any) -> bool:
    """Return whether two TOML contents are equal; NaN equals NaN."""
    if isinstance(a, dict) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return loads(text)
    except NotTomlError:
        return None
