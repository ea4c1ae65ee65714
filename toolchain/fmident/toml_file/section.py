"""Tables of a TOML file, read into dataclasses with locations in every message."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fmident.errors import Code, FmidentError, Location, ProblemError, did_you_mean
from fmident.options import (
    Advice,
    InFile,
    OptionError,
    Options,
    Short,
    annotations_of,
    check_options,
    marked,
)
from fmident.toml_file.options import members, noun, written
from fmident.toml_file.text import KeyPath, line_of, quoted

T = TypeVar("T")

Where = Callable[[str | None], Location | None]
"""Key of a table, or ``None`` for the table itself, to its place."""


@dataclass(frozen=True)
class Source:
    """A TOML file.

    `path` is as given by the user, `error` the exception type for errors in it, and `title`
    the name of the file as a whole in messages.
    """

    path: Path
    text: str
    error: type[FmidentError] = ProblemError
    title: str = "the problem file"

    def where(self, keys: KeyPath) -> Location:
        """Return the location of a key."""
        return Location(str(self.path), line_of(self.text, keys))

    def place(self, keys: KeyPath) -> Location | None:
        """Return the location of a key for a message."""
        return self.where(keys)


@dataclass(frozen=True)
class Arguments(Source):
    """Tables made in Python, whose locations are names of arguments instead of lines.

    `names` replaces leading keys of a location: ``{("experiments", 0, "inputs"):
    "inputs"}``.
    """

    names: Mapping[KeyPath, str] = field(default_factory=dict)

    def where(self, keys: KeyPath) -> Location:
        """Return the argument and the keys in it, such as ``parameters.m.bounds``."""
        begin = next((n for n in range(len(keys), 0, -1) if keys[:n] in self.names), 0)
        words = [self.names[keys[:begin]]] if begin else []
        words += [quoted(k) if isinstance(k, str) else str(k) for k in keys[begin:]]
        return Location(".".join(words) or self.title)


@dataclass(frozen=True)
class _Elsewhere(Source):
    """A table whose keys a function locates."""

    located: Where = field(kw_only=True)

    def place(self, keys: KeyPath) -> Location | None:
        return self.located(str(keys[0]) if keys else None)


def build_dataclass(
    kind: type[T], raw: Mapping[str, Any], *, table: str, name: str, where: Where = lambda _: None
) -> T:
    """Return the options of `name` from a table, as :meth:`Section.read` does.

    `table` is its notation, such as ``[estimator]``, and `where` returns the location of a key.
    """
    source = _Elsewhere(Path(), "", title=table, located=where)
    return Section(source, (), raw).read(kind, owner=name)


class Section:
    """One table: its keys from the root of `source`, and its `content`."""

    def __init__(self, source: Source, keys: KeyPath, content: Mapping[str, Any]) -> None:
        self.source, self.keys, self.content = source, keys, content
        if not isinstance(content, Mapping):
            raise source.error(
                f"{self.title}: this must be a table, not {written(content)}",
                location=source.where(keys),
                hint=f"write {self.title} on a line of its own, and its keys below",
                code=Code.WRONG_TYPE,
            )

    def read(self, kind: type[T], *, owner: str = "", besides: Collection[str] = ()) -> T:
        """Return the table as a dataclass whose fields are its keys.

        Fields may be ``bool``, ``int``, ``float``, ``str``, ``Literal``, ``tuple[X, ...]``,
        ``list[X]``, ``dict[str, X]``, a dataclass for a table inside, and unions of these with
        ``None``; a field of type ``Section`` is the table itself. An integer is accepted as a
        number. The annotations :class:`~fmident.options.InFile`, ``Short``, ``Advice`` and
        those of :class:`~fmident.options.Options` count. `owner` is what has the options, if
        they are options, and `besides` are further keys, which are read elsewhere.

        Raises the source's error type, with the location, for an unknown key, a wrong type, an
        invalid value or a missing key; a ``ValueError`` of ``__post_init__`` becomes the
        message.
        """
        declared: Any = kind
        hints = annotations_of(declared)
        fields = _keys_of(declared)
        word, of_owner = ("option", f" of '{owner}'") if owner else ("key", "")
        instead = declared.instead if issubclass(declared, Options) else {}
        for key in self.content:
            if key not in fields and key not in besides:
                known = [*fields, *besides]
                nearest = did_you_mean(key, known, kind=word) if known else "it has none"
                raise self.error(
                    f"{self.title}: '{owner}' has no option '{key}'"
                    if owner
                    else f"unknown key '{key}' in {self.title}",
                    key,
                    hint=instead.get(key, nearest),
                    code=Code.UNKNOWN_KEY,
                )
        for key, one in fields.items():
            if key not in self.content and _is_required(one):
                subject = f"{self.title}: '{owner}'" if owner else self.title
                raise self.error(
                    f"{subject} needs the {word} '{key}'",
                    hint=f"add {key} = ... ({noun(hints[one.name])})",
                    code=Code.MISSING_KEY,
                )
        values: dict[str, Any] = {name: self for name, hint in hints.items() if hint is Section}
        for key, value in self.content.items():
            if key in fields:
                name = fields[key].name
                accepted, values[name] = self._converted((key,), value, hints[name])
                if not accepted:
                    what = f"{'option ' if owner else ''}'{key}'{of_owner}"
                    raise self._wrong(key, what, value, hints[name])
        try:
            instance = kind(**values)
            check_options(instance)  # also of a class that is not derived from Options
        except ValueError as error:
            message = f"{self.title}: {f'options{of_owner}: ' if owner else ''}{error}"
            by_name = {one.name: key for key, one in fields.items()}
            blamed = error.option if isinstance(error, OptionError) else _blamed(kind, values)
            at = [by_name[blamed]] if blamed in by_name else []
            code = error.code if isinstance(error, OptionError) else None
            raise self.error(message, *at, code=code) from error
        except FmidentError as error:
            raise error if error.location is not None else self.at_key(error) from error
        return instance

    def inner(self, *keys: str | int) -> Section:
        """Return a table inside this one; empty if it is absent or no table."""
        content: Any = self.content
        for key in keys:
            inside = key in content if isinstance(content, Mapping) else isinstance(key, int)
            content = content[key] if inside else {}
        found = content if isinstance(content, Mapping) else {}
        return Section(self.source, (*self.keys, *keys), found)

    def _converted(self, keys: KeyPath, value: Any, hint: Any) -> tuple[bool, Any]:
        """Return whether the value of a key matches `hint`, and the value in that type."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            for scaled in marked(hint, InFile):
                if scaled.factor is not None:
                    return self._scaled(str(keys[-1]), value, scaled.factor)
            short = marked(hint, Short)
            if short and not isinstance(value, Mapping):
                value = {short[0].key: value}
            return self._converted(keys, value, arguments[0])
        if origin in (typing.Union, types.UnionType):
            parts = (self._converted(keys, value, argument) for argument in arguments)
            return next((part for part in parts if part[0]), (False, value))
        if origin in (tuple, list):
            return self._sequence(keys, value, origin, arguments)
        if origin in (dict, Mapping) or dataclasses.is_dataclass(hint):
            return self._table(keys, value, hint)
        return _plain_value(value, hint)

    def _table(self, keys: KeyPath, value: Any, hint: Any) -> tuple[bool, Any]:
        if not isinstance(value, Mapping):
            return False, value
        inner = Section(self.source, (*self.keys, *keys), value)
        if dataclasses.is_dataclass(hint):
            kind: Any = hint
            return True, inner.read(kind)
        items, of_items = {}, typing.get_args(hint)[1]
        for key, item in value.items():
            accepted, items[key] = inner._converted((key,), item, of_items)
            if not accepted:
                raise inner._wrong(key, f"'{key}'", item, of_items)
        return True, items

    def _sequence(
        self, keys: KeyPath, value: Any, kind: Any, arguments: tuple[Any, ...]
    ) -> tuple[bool, Any]:
        if not isinstance(value, (list, tuple)):
            return False, value
        alike = kind is list or arguments[-1] is Ellipsis
        hints = [arguments[0]] * len(value) if alike else list(arguments)
        if len(hints) != len(value):
            return False, value
        pairs = [
            self._converted((*keys, k), v, h)
            for k, (v, h) in enumerate(zip(value, hints, strict=True))
        ]
        return all(ok for ok, _ in pairs), kind(v for _, v in pairs)

    def _scaled(self, key: str, value: Any, factor: int) -> tuple[bool, Any]:
        """Return a number of the file in the smaller unit of the field."""
        accepted, number = _plain_value(value, float)
        if accepted and not (math.isfinite(number) and number * factor >= 1.0):
            message = f"{self.title}: {key} must be positive and finite, not {number:g}"
            raise self.error(message, key, code=Code.OUT_OF_RANGE)
        return accepted, int(number * factor) if accepted else value

    def _wrong(self, key: str, what: str, value: Any, hint: Any) -> FmidentError:
        parts = list(members(hint))
        choices = [c for p in parts for c in typing.get_args(p) if isinstance(c, str)
                   and typing.get_origin(p) is typing.Literal]  # fmt: skip
        advice = next((a.text for a in marked(hint, Advice)), None)
        code = Code.WRONG_TYPE
        if choices and isinstance(value, str):
            advice, code = did_you_mean(value, choices, kind="choice"), Code.NOT_A_CHOICE
        elif any(dataclasses.is_dataclass(p) or typing.get_origin(p) is dict for p in parts):
            title = Section(self.source, (*self.keys, key), {}).title
            advice = f"write {title} on a line of its own, and its keys below"
        elif isinstance(value, Mapping) and any(map(_holds_tables, parts)):
            advice = f"write [[{key}]] with double brackets"
        shown_value = "a table" if isinstance(value, Mapping) else written(value)
        message = f"{self.title}: {what} must be {noun(hint)}, not {shown_value}"
        return self.error(message, key, hint=advice, code=code)

    @property
    def title(self) -> str:
        """The table as written in the file, such as ``[parameters.m]``."""
        text = ".".join(quoted(k) for k in self.keys if isinstance(k, str))
        if self.keys and isinstance(self.keys[-1], int):
            return f"[[{text}]]"
        if text and self.source.title.startswith("["):
            text = f"{self.source.title[1:-1]}.{text}"
        return f"[{text}]" if text else self.source.title

    def error(
        self, message: str, *keys: str, hint: str | None = None, code: str | None = None
    ) -> FmidentError:
        """Return an error at a key of this table."""
        where = self.source.place((*self.keys, *keys))
        return self.source.error(message, location=where, hint=hint, code=code)

    def where(self, *keys: str | int) -> Location:
        """Return the location of this table, or of a key in it."""
        return self.source.where((*self.keys, *keys))

    def at_key(self, error: FmidentError, *keys: str) -> FmidentError:
        """Return an error from elsewhere, located at a key of this table."""
        return self.error(error.message, *keys, hint=error.hint, code=error.code)

    def has(self, key: str) -> bool:
        """Return whether the key exists."""
        return key in self.content


def _keys_of(kind: Any) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a dataclass that are keys, by key."""
    keys = {}
    hints = annotations_of(kind)
    for one in dataclasses.fields(kind):
        key = next(iter(marked(hints[one.name], InFile)), InFile(one.name)).key
        if one.init and key is not None and hints[one.name] is not Section:
            keys[key] = one
    return keys


def _is_required(one: dataclasses.Field[Any]) -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def _plain_value(value: Any, hint: Any) -> tuple[bool, Any]:
    """Return whether a value without tables matches `hint`, and the value in that type."""
    if hint is Any:
        return True, value
    if typing.get_origin(hint) is typing.Literal:
        return any(value == a and type(value) is type(a) for a in typing.get_args(hint)), value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is float:
        return is_number, float(value) if is_number else value
    if hint is Path:
        return isinstance(value, str), Path(value) if isinstance(value, str) else value
    if hint is int:
        whole = is_number and float(value).is_integer()
        return whole, int(value) if whole else value
    return not isinstance(hint, type) or isinstance(value, hint), value


def _holds_tables(hint: Any) -> bool:
    is_list = typing.get_origin(hint) in (tuple, list)
    return is_list and dataclasses.is_dataclass(next(members(typing.get_args(hint)[0])))


def _blamed(kind: type[Any], values: Mapping[str, Any]) -> str | None:
    """Return the only option without which the others are accepted, or ``None``."""
    culprits = []
    for key in values:
        try:
            kind(**{name: value for name, value in values.items() if name != key})
        except (ValueError, TypeError):
            continue
        culprits.append(key)
    return culprits[0] if len(culprits) == 1 else None
