"""Convert a table to a dataclass of options, whose fields define the permissible content."""

from __future__ import annotations

import dataclasses
import datetime
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fmident.errors import Code, Location, ProblemError, did_you_mean, shown
from fmident.options import (
    OptionError,
    annotations_of,
    check_options,
    item_ranges,
    ranges,
    requirements,
    types_of,
)

T = TypeVar("T")

Where = Callable[[str | None], Location | None]
"""Key of the table, or ``None`` for the table itself, to its place."""

_NOUNS = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}


_PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")
_ENTRY = re.compile(r"^(\w[\w, ]*)\n((?:[ \t]+[^\n]*\n|\n)+)", re.MULTILINE)


def _nowhere(_key: str | None) -> Location | None:
    return None


def build_dataclass(
    kind: type[T], raw: Mapping[str, Any], *, table: str, name: str, where: Where = _nowhere
) -> T:
    """Return an instance of a dataclass from a table.

    Fields may be ``bool``, ``int``, ``float``, ``str``, ``Literal``, ``tuple[X, ...]``,
    ``list[X]``, ``dict[str, X]`` and unions of these with ``None``. An integer is accepted
    as a number. A ``ValueError`` of ``__post_init__`` becomes the message. `table` is its
    notation, such as ``[estimator]``, `name` the owner of the options, and `where` returns
    the location of a key. Raises `ProblemError` for an unknown key, a wrong type, an
    invalid value or a missing key.
    """
    declared: Any = kind
    hints = types_of(declared)
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}  # type: ignore[arg-type]
    for key in raw:
        if key not in fields:
            raise ProblemError(
                f"{table}: '{name}' has no option '{key}'",
                location=where(key),
                hint=did_you_mean(key, fields, kind="option") if fields else "it has none",
                code=Code.UNKNOWN_KEY,
            )
    required = [
        f.name
        for f in fields.values()
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    for key in required:
        if key not in raw:
            raise ProblemError(
                f"{table}: '{name}' needs the option '{key}'",
                location=where(None),
                hint=f"add {key} = ... ({noun(hints[key])})",
                code=Code.MISSING_KEY,
            )
    values = {}
    for key, value in raw.items():
        accepted, converted = _convert(value, hints[key])
        if not accepted:
            raise ProblemError(
                f"{table}: option '{key}' of '{name}' must be {noun(hints[key])}, not "
                f"{written(value)}",
                location=where(key),
                hint=_value_hint(value, hints[key]),
                code=Code.WRONG_TYPE,
            )
        values[key] = converted
    try:
        instance = kind(**values)
        check_options(instance)  # also of a class that is not derived from Options
    except ValueError as error:
        message = f"{table}: options of '{name}': {error}"
        if isinstance(error, OptionError):
            raise ProblemError(message, location=where(error.option), code=error.code) from error
        raise ProblemError(message, location=where(_blamed(kind, values))) from error
    return instance


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


def _convert(value: Any, hint: Any) -> tuple[bool, Any]:
    """Return whether `value` matches `hint`, and the value in that type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True, value
    if origin is typing.Literal:
        fits = any(value == a and type(value) is type(a) for a in arguments)
        return fits, value
    if origin in (typing.Union, types.UnionType):
        for argument in arguments:
            accepted, converted = _convert(value, argument)
            if accepted:
                return True, converted
        return False, value
    if origin in (tuple, list):
        return _convert_sequence(value, origin, arguments)
    if origin is dict or origin is Mapping or hint is dict:
        return _convert_mapping(value, arguments)
    if hint is float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number, float(value) if is_number else value
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    if isinstance(hint, type):
        return isinstance(value, hint), value
    return True, value


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


def _convert_sequence(value: Any, kind: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    if not isinstance(value, (list, tuple)):
        return False, value
    if kind is list or (len(arguments) == 2 and arguments[1] is Ellipsis):
        hints = [arguments[0]] * len(value)
    else:
        hints = list(arguments)
    if len(hints) != len(value):
        return False, value
    pairs = [_convert(v, h) for v, h in zip(value, hints, strict=True)]
    return all(ok for ok, _ in pairs), kind(v for _, v in pairs)


def _convert_mapping(value: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    if not isinstance(value, Mapping) or len(arguments) != 2:
        return isinstance(value, Mapping), value
    pairs = {key: _convert(item, arguments[1]) for key, item in value.items()}
    return all(ok for ok, _ in pairs.values()), {key: item for key, (_, item) in pairs.items()}


def written(value: Any) -> str:
    """Return a value as written in the file."""
    if isinstance(value, bool):
        return ("false", "true")[value]
    return shown(repr(value) if isinstance(value, str) else value)


def noun(hint: Any) -> str:
    """Return a noun for values of a type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        texts = [repr(a) for a in arguments]
        return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " or " + texts[-1]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(noun(a) for a in arguments if a is not type(None))
    if origin in (tuple, list):
        listed = f"a list, each item {noun(arguments[0])}"
        if origin is list or arguments[-1] is Ellipsis:
            return listed
        nouns = list(dict.fromkeys(map(noun, arguments)))
        if len(nouns) == 1:
            return f"a list of {len(arguments)}, each item {nouns[0]}"
        return "a list of " + " and ".join(map(noun, arguments))
    if origin is dict:
        return "a table" + ("" if arguments[1] is Any else f", each value {noun(arguments[1])}")
    if hint in _NOUNS:
        return _NOUNS[hint]
    return f"a value of type {getattr(hint, '__name__', hint)}"


def _value_hint(value: Any, hint: Any) -> str | None:
    choices: list[str] = []
    for part in (hint, *typing.get_args(hint)):
        if typing.get_origin(part) is typing.Literal:
            choices += [a for a in typing.get_args(part) if isinstance(a, str)]
    if choices and isinstance(value, str):
        return did_you_mean(value, choices, kind="choice")
    return None


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
    words += [str(limits) for limits in ranges(annotated)]
    words += [f"each {limits}" for limits in dict.fromkeys(item_ranges(annotated))]
    words += [f"requires {required}" for required in requirements(annotated)]
    return ", ".join(words)


def _plain(text: str) -> str:
    """Return a text without Sphinx roles."""
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
