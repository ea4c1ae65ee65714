"""Override keys in the text of a problem file, so that the stored text is what was run.

Elements of an array of tables are counted from 0: ``experiments.0.window``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from fmident.errors import Diagnostic, FmidentError, Location, ProblemError
from fmident.toml_file import NotTomlError, loads
from fmident.toml_file.text import KeyPath, encoded, entries, lines_of, quoted

DottedKey = tuple[str, ...]


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

    A key is dotted: ``{"evaluation.tolerance": 1e-8}``. A name with dots or brackets is
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
        content = loads(text)
        _refuse_unknown_parent(content, path, key, file)
        keys = _counted(content, path)
        if _is_choice(path):
            before = str(_chosen(_table(content, path[:-1]), path))
            if before != value:
                common = shared(before, str(value)) if path[-2] == "estimator" else ()
                text = _without_options(text, keys[:-1], {"name", *common})
        changed = with_value(text, keys, value)
        if changed is None:
            raise ProblemError(
                f"cannot override '{key}' in the way the file is written",
                location=_option(key),
                hint="change the value in the file",
            )
        text = changed
    return text


def with_value(text: str, keys: KeyPath, value: object) -> str | None:
    """Return a TOML text with a key changed or added; ``None`` if it is written in another way.

    An assignment that holds the key is written anew; comments elsewhere stay.
    """
    content = copy.deepcopy(loads(text))
    put(content, keys, value)
    # The text is edited line by line; parsing it shows whether that was right.
    ways = _edited(text, keys, value, content)
    return next((way for way in ways if _alike(_parsed(way), content)), None)


def _edited(text: str, keys: KeyPath, value: object, content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ways to write a key into a text that has the `content` afterwards."""
    lines = lines_of(text) if text else []
    headers: dict[KeyPath, int] = {(): 0}
    for entry in entries(text):
        if entry.key is None:
            headers |= dict.fromkeys(entry.paths, entry.first)
        elif keys[: len(entry.path)] == entry.path:
            assigned = f"{entry.key} = {encoded(_at(content, entry.path))}"
            written = "\n".join(lines[entry.first - 1 : entry.last])
            lines[entry.first - 1 : entry.last] = [assigned + _comment_after(written)]
            yield "\n".join(lines) + "\n"
            return
    around = next(keys[:n] for n in range(len(keys) - 1, -1, -1) if keys[:n] in headers)
    names = [quoted(str(k)) for k in keys]
    if around != keys[:-1] and not any(isinstance(k, int) for k in around):
        table = ["", f"[{'.'.join(names[:-1])}]", f"{names[-1]} = {encoded(value)}"]
        yield "\n".join([*lines, *table]) + "\n"
    lines.insert(headers[around], f"{'.'.join(names[len(around) :])} = {encoded(value)}")
    yield "\n".join(lines) + "\n"


def _comment_after(assignment: str) -> str:
    """Return the comment at the end of an assignment of a table or list; empty if none."""
    parsed = _parsed(assignment)
    ends = (k + 1 for k, c in enumerate(assignment) if c in "]}")
    return next((assignment[k:] for k in ends if _parsed(assignment[:k]) == parsed), "")


def left_out(original: str, changed: str, overrides: Mapping[str, object]) -> list[Diagnostic]:
    """Return a note for each replaced estimator or cost whose options were dropped.

    `original` and `changed` are the texts before and after :func:`apply_overrides`.
    """
    notes = []
    for key in overrides:
        path = _key_path(key)
        if _is_choice(path):
            before, after = (_table(loads(t), path[:-1]) for t in (original, changed))
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
    content, before = loads(changed), {e.path: e.first for e in entries(original)}
    entry = next((e for e in entries(changed) if e.first <= place.line <= e.last), None)
    if entry is None:
        return
    for key in overrides:
        keys = _counted(content, _key_path(key))
        if entry.path == keys or (
            entry.path not in before and keys[: len(entry.path)] == entry.path
        ):
            error.location = _option(key)
            return
    if entry.path in before:
        line = before[entry.path] + place.line - entry.first
        error.location = Location(file, line, place.column)


def _option(key: str) -> Location:
    return Location(f"--set {key}")


def _key_path(key: str) -> DottedKey:
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


def _is_choice(path: DottedKey) -> bool:
    return path[-2:] in _DEFAULTS


def _chosen(table: Mapping[str, Any], path: DottedKey) -> object:
    return table.get("name", _DEFAULTS[path[-2], path[-1]])


def _table(document: dict[str, Any], path: DottedKey) -> dict[str, Any]:
    """Return a table; empty if there is none."""
    content = _at(document, _counted(document, path))
    return content if isinstance(content, dict) else {}


def _refuse_unknown_parent(document: dict[str, Any], path: DottedKey, key: str, file: str) -> None:
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


def _counted(content: Any, path: DottedKey) -> KeyPath:
    """Return the path in which the elements of arrays are numbers."""
    keys: list[str | int] = []
    for name in path:
        counted = isinstance(content, list) and name.isdecimal()
        keys.append(int(name) if counted else name)
        content = _inside(content, keys[-1])
    return tuple(keys)


def _inside(content: Any, key: str | int) -> Any:
    if isinstance(content, dict):
        return content.get(key)
    inside = isinstance(content, list) and isinstance(key, int) and key < len(content)
    return content[key] if inside else None


def _at(content: Any, keys: KeyPath) -> Any:
    for key in keys:
        content = _inside(content, key)
    return content


def put(content: Any, keys: KeyPath, value: object) -> None:
    """Set a key of nested tables, which are made where there are none."""
    for key in keys[:-1]:
        if isinstance(content, dict):
            content.setdefault(key, {})
        content = content[key]
    content[keys[-1]] = value


def _without_options(text: str, table: KeyPath, kept: Collection[str]) -> str:
    lines: list[str | None] = [*lines_of(text)]
    for entry in entries(text):
        if entry.path[: len(table)] != table or (entry.path == table and entry.key is None):
            continue
        rest: list[str] = []
        if entry.path == table:
            inside = {k: v for k, v in _at(loads(text), table).items() if k in kept}
            rest = [f"{entry.key} = {encoded(inside)}"]
        elif entry.path[len(table)] in kept:
            continue
        count = entry.last - entry.first + 1
        lines[entry.first - 1 : entry.last] = [*rest, *[None] * (count - len(rest))]
    return "\n".join(line for line in lines if line is not None) + "\n"


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
