"""JSON of dataclasses, and back: every result file is written and read with it.

JSON knows no NaN and no infinity; both are written as ``null``, which is read as NaN where the
layout of a class does not say what it stands for. Whatever is wrong with a file is an error that
names the file and the key.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from fmident._json import checked, loads_json, refuse
from fmident.errors import Code, EstimationError
from fmident.words import listed

_T = TypeVar("_T")

Json = dict[str, Any]

BROKEN = (ValueError, TypeError, KeyError, IndexError, OverflowError)
"""Exceptions of converting content that somebody has changed."""


@dataclass(frozen=True)
class Form:
    """How a field is written and read that has a form of its own.

    Parameters
    ----------
    dump
        Returns what :func:`dump` then writes.
    load
        Takes the value and its place, for messages.
    """

    dump: Callable[[Any], Any]
    load: Callable[[Any, str], Any]


@dataclass(frozen=True)
class Layout:
    """Where the JSON object of a class differs from the fields of the class.

    Parameters
    ----------
    keys
        Key by field. A dot leads into an object: ``cost.initial``; a number into a list:
        ``bounds.0``.
    omitted
        Fields that are not in the file, with the values that they are read with.
    unwritten
        Fields that are not in the file, but that `prepare` gives.
    by_name
        Fields that are objects with a key for each item: the item's field that has the key.
    missing
        Values of fields without a default whose key is not there, as in files of earlier versions.
    null
        What ``null`` stands for, by field; for a pair both values.
    computed
        Further keys, for programs that read the file.
    forms
        Fields with a form of their own.
    prepare
        Changes what was read before it is converted.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    omitted: Mapping[str, Any] = field(default_factory=dict)
    unwritten: tuple[str, ...] = ()
    by_name: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, Any] = field(default_factory=dict)
    null: Mapping[str, Any] = field(default_factory=dict)
    computed: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    forms: Mapping[str, Form] = field(default_factory=dict)
    prepare: Callable[[Json], Json] = dict


@dataclass(frozen=True)
class Codec:
    """Writes and reads one kind of file: layouts by class; another class goes field by field."""

    layouts: Mapping[type, Layout]

    def dump(self, value: Any) -> Any:
        """Return `value` made of JSON's own types, non-finite numbers as ``None``."""
        if type(value) in self.layouts or (
            dataclasses.is_dataclass(value) and not isinstance(value, type)
        ):
            return self._dump_fields(value)
        if isinstance(value, Mapping):
            return {str(key): self.dump(item) for key, item in value.items()}
        if isinstance(value, np.ndarray | np.generic):
            return self.dump(value.tolist())
        if isinstance(value, list | tuple):
            return [self.dump(item) for item in value]
        if isinstance(value, Enum):
            return self.dump(value.value)
        if isinstance(value, bool | str | int) or value is None:
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        return str(value)

    def _dump_fields(self, value: Any) -> Json:
        layout = self.layouts.get(type(value), Layout())
        content: Json = {}
        kind: Any = type(value)
        for name in _hints(kind):
            if name in layout.omitted or name in layout.unwritten:
                continue
            item = getattr(value, name)
            if name in layout.forms:
                item = self.dump(layout.forms[name].dump(item))
            elif name in layout.by_name:
                key = layout.by_name[name]
                named = {getattr(one, key): self.dump(one) for one in item}
                own = self.layouts.get(type(item[0]), Layout()).keys.get(key, key) if item else key
                item = {k: {n: v for n, v in one.items() if n != own} for k, one in named.items()}
            else:
                item = self.dump(item)
            _put(content, layout.keys.get(name, name).split("."), item)
        return content | {key: self.dump(make(value)) for key, make in layout.computed.items()}

    def load(self, kind: type[_T], value: Any, place: str = "", null: Any = math.nan) -> _T:
        """Return what :func:`dump` has written.

        Parameters
        ----------
        kind
            A dataclass with a layout or without, or a type made of numbers, texts, arrays, tuples,
            mappings and these.
        value
            Of JSON.
        place
            Keys from the root with dots between them, for messages.
        null
            What a number stands for that is ``None``.

        Raises
        ------
        ValueError
            The value is not one of that kind.
        """
        loaded: _T = self._load(kind, value, place, null)
        return loaded

    def _load(self, kind: Any, value: Any, place: str, null: Any) -> Any:
        origin = get_origin(kind)
        if origin in (Union, types.UnionType):
            kind = next(k for k in get_args(kind) if k is not type(None))
            return None if value is None else self._load(kind, value, place, null)
        if kind in self.layouts or dataclasses.is_dataclass(kind):
            return self._load_fields(kind, value, place)
        if origin is np.ndarray:
            return self._array(value, place, null, get_args(get_args(kind)[1])[0])
        if origin is tuple:
            return self._tuple(get_args(kind), value, place, null)
        if origin is not None and issubclass_of(origin, Mapping):
            item = get_args(kind)[1]
            pairs = checked(value, dict, place).items()
            return {key: self.load(item, v, f"{place}.{key}", null) for key, v in pairs}
        return self._scalar(kind, value, place, null)

    def _scalar(self, kind: Any, value: Any, place: str, null: Any) -> Any:
        if get_origin(kind) is Literal:
            known = get_args(kind)
            if value not in known or type(value) not in map(type, known):
                refuse(place, f"one of {', '.join(map(str, known))}, but {value!r}")
            return value
        if kind is float:
            if value is None:
                return null
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return float(value) if number else refuse(place, "a number")
        if kind is int:
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
            return value if whole else refuse(place, "a whole number")
        if kind in (str, bool):
            return checked(value, kind, place)
        if issubclass_of(kind, Enum):
            return kind(value)
        if kind in (Any, object):
            return value
        raise TypeError(f"no JSON is known of {kind}")

    def _tuple(self, kinds: tuple[Any, ...], value: Any, place: str, null: Any) -> tuple[Any, ...]:
        items = checked(value, list, place)
        if kinds[-1] is Ellipsis:
            return tuple(self.load(kinds[0], v, f"{place}[{k}]", null) for k, v in enumerate(items))
        if len(items) != len(kinds):
            refuse(place, f"a list of {len(kinds)}")
        nulls = null if isinstance(null, tuple) else [null] * len(kinds)
        each = enumerate(zip(kinds, items, nulls, strict=True))
        return tuple(self.load(kind, v, f"{place}[{k}]", n) for k, (kind, v, n) in each)

    def _array(self, value: Any, place: str, null: Any, kind: Any) -> Any:
        def numbers(item: Any) -> Any:
            is_list = isinstance(item, list)
            return list(map(numbers, item)) if is_list else self.load(float, item, place, null)

        return np.array(numbers(checked(value, list, place)), dtype=kind)

    def _load_fields(self, kind: Any, value: Any, place: str, **given: Any) -> Any:
        layout, hints = self.layouts.get(kind, Layout()), _hints(kind)
        content = checked(value, dict, place)
        try:
            content = layout.prepare(content)
        except (AttributeError, KeyError, IndexError, TypeError) as error:
            refuse(place, f"as fmident writes it: {type(error).__name__}: {error}")
        values = dict(layout.omitted) | given
        for name, hint in hints.items():
            if name in values:
                continue
            key = layout.keys.get(name, name)
            here = f"{place}.{key}".lstrip(".")
            try:
                item = _at(content, key.split("."))
            except (KeyError, IndexError, TypeError):
                if name in layout.missing:
                    values[name] = layout.missing[name]
                elif name not in _defaults(kind):
                    raise ValueError(f"'{here}' is missing") from None
                continue
            if name in layout.forms:
                values[name] = layout.forms[name].load(item, here)
            elif name in layout.by_name:
                of, own = get_args(hint)[0], layout.by_name[name]
                pairs = checked(item, dict, here).items()
                values[name] = tuple(
                    self._load_fields(of, v, f"{here}.{n}", **{own: n}) for n, v in pairs
                )
            else:
                values[name] = self.load(hint, item, here, layout.null.get(name, math.nan))
        return kind(**values)


def _put(content: Json, path: list[str], item: Any) -> None:
    """Put an item where its path leads; the numbers of a list must rise from 0."""
    *parents, last = path
    for parent in parents:
        content = content.setdefault(parent, [] if last.isdigit() else {})
    if isinstance(content, list):
        content.append(item)
    else:
        content[last] = item


def _at(content: Any, path: list[str]) -> Any:
    for part in path:
        content = content[int(part) if isinstance(content, list) else part]
    return content


def issubclass_of(kind: Any, parent: type) -> bool:
    """Return whether `kind` is a class, and one of `parent`."""
    return isinstance(kind, type) and issubclass(kind, parent)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    named = getattr(kind, "_fields", None)  # of a NamedTuple
    names = named if named is not None else [f.name for f in dataclasses.fields(kind) if f.init]
    return {name: hints[name] for name in names}


@functools.cache
def _defaults(kind: Any) -> frozenset[str]:
    if not dataclasses.is_dataclass(kind):
        return frozenset()
    none = dataclasses.MISSING
    each = dataclasses.fields(kind)
    return frozenset(f.name for f in each if (f.default, f.default_factory) != (none, none))


def written_by(*commands: str) -> str:
    """Return the hint that names the commands that write such a folder."""
    named = listed([f"'fmident {command}'" for command in commands], last="or")
    return f"give the folder that {named} wrote"


def read_file(file: Path, convert: Callable[[Json], _T], what: str, hint: str) -> _T:
    """Return what a JSON file holds.

    Parameters
    ----------
    file
        The file.
    convert
        Makes it of the content; whatever is wrong with that is one of `BROKEN`.
    what
        It is to be, such as ``"a file of profiles"``.
    hint
        What to do where it is not.

    Raises
    ------
    fmident.errors.EstimationError
        It is not there, cannot be read, or was not written by fmident.
    """

    def unusable(text: str) -> EstimationError:
        return EstimationError(f"'{file}' {text}", hint=hint, code=Code.UNUSABLE_FILE)

    try:
        content = loads_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EstimationError(f"there is no '{file}'", hint=hint, code=Code.UNKNOWN_NAME) from None
    except OSError as error:
        raise unusable(f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # also bytes that are not UTF-8
        raise unusable(f"is not JSON: {error}") from None
    try:
        return convert(checked(content, dict, ""))
    except BROKEN as error:
        raise unusable(f"is not {what}: {error}") from None
