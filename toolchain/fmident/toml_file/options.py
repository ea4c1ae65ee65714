"""Describe types of options, and options, in words."""

from __future__ import annotations

import dataclasses
import datetime
import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmident.errors import shown
from fmident.options import (
    Range,
    Requires,
    Short,
    annotations_of,
    item_ranges,
    marked,
    types_of,
)

_NOUNS = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a text",
    Path: "a path",
}
_PLURALS = {int: "integers", float: "numbers", str: "texts"}

_PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")
_ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:[ \t]+[^\n]*\n|\n)+)", re.MULTILINE)

_DATES = (datetime.datetime, datetime.date, datetime.time)


def is_readable(hint: Any) -> bool:
    """Return whether a TOML value can have a type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or origin is typing.Literal or hint is type(None):
        return True
    if origin is typing.Annotated:
        return is_readable(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return any(is_readable(a) for a in arguments if a is not type(None))
    if origin in (tuple, list, dict, Mapping):
        return all(is_readable(a) for a in arguments if a is not Ellipsis)
    return hint in (bool, int, float, str, list, tuple, dict, *_DATES)


def written(value: Any) -> str:
    """Return a value as written in the file."""
    if isinstance(value, bool):
        return ("false", "true")[value]
    return shown(repr(value) if isinstance(value, str) else value)


def noun(hint: Any) -> str:
    """Return a noun for values of a type."""
    if short := marked(hint, Short):
        kind: Any = next(filter(dataclasses.is_dataclass, members(hint)))
        return f"{noun(types_of(kind)[short[0].key])} or a table"
    hint = _bare(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        texts = [repr(a) for a in arguments]
        return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " or " + texts[-1]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(noun(a) for a in arguments if a is not type(None))
    if origin in (tuple, list):
        alike = origin is list or arguments[-1] is Ellipsis
        items = dict.fromkeys(_bare(a) for a in arguments if a is not Ellipsis)
        if len(items) == 1:
            count = "" if alike else f"{len(arguments)} "
            (item,) = items
            if item in _PLURALS:
                return f"a list of {count}{_PLURALS[item]}"
            if dataclasses.is_dataclass(item):
                return f"a list of {count}tables"
            return f"a list{f' of {count}'.rstrip() if count else ''}, each item {noun(item)}"
        return "a list of " + " and ".join(map(noun, arguments))
    if origin in (dict, Mapping):
        return "a table" + ("" if arguments[1] is Any else f", each value {noun(arguments[1])}")
    if hint in _NOUNS:
        return _NOUNS[hint]
    if dataclasses.is_dataclass(hint):
        return "a table"
    return f"a value of type {getattr(hint, '__name__', hint)}"


def members(hint: Any) -> Iterator[Any]:
    """Yield the members of a union but ``None``, or the type itself, without annotations."""
    hint = _bare(hint)
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        yield hint
        return
    for part in typing.get_args(hint):
        if part is not type(None):
            yield from members(part)


def _bare(hint: Any) -> Any:
    return typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint


@dataclass(frozen=True)
class OptionRow:
    """Description of one option.

    `default` is as written in the file, empty if the option is required or absent by
    default; `values` describes the permissible ones, and `meaning` is from the docstring.
    """

    name: str
    default: str
    values: str
    meaning: str


def option_rows(kind: type[Any]) -> tuple[OptionRow, ...]:
    """Return the options of a dataclass in the order of its fields.

    NumPy-style docstrings of the class and its base classes describe the fields.
    """
    declared: Any = kind
    hints, types = annotations_of(declared), types_of(declared)
    meanings = _meanings(kind)
    return tuple(
        OptionRow(
            field.name,
            _default(field),
            _values(types[field.name], hints[field.name]),
            meanings.get(field.name, ""),
        )
        for field in dataclasses.fields(kind)
        if field.init
    )


def _default(field: dataclasses.Field[Any]) -> str:
    value = field.default
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    if value is None or value is dataclasses.MISSING or value in ((), {}, []):
        return ""
    return written(list(value) if isinstance(value, tuple) else value)


def _values(plain: Any, annotated: Any) -> str:
    words = [noun(plain)]
    words += [str(limits) for limits in marked(annotated, Range)]
    words += [f"each {limits}" for limits in dict.fromkeys(item_ranges(annotated))]
    words += [f"requires {required}" for required in marked(annotated, Requires)]
    return ", ".join(words)


def _plain(text: str) -> str:
    return " ".join(_ROLE.sub(r"`\1`", text).replace("``", "`").split())


def _meanings(kind: type[Any]) -> dict[str, str]:
    """Return the descriptions of the fields, those of the class before its bases'."""
    meanings: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        text = _PARAMETERS.search(inspect.cleandoc(one.__doc__ or "") + "\n")
        for names, meaning in _ENTRY.findall(text.group(1)) if text else ():
            for name in names.split(","):
                meanings[name.strip()] = _plain(meaning)
    return meanings
