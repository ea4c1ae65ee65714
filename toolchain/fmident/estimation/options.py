"""From the ``[estimator]`` table to an estimator's options."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from fmident.errors import Location, PluginError, ProblemError, did_you_mean
from fmident.estimation.contract import Estimator

_NOUNS = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}


def build_options(
    estimator: type[Estimator[Any]] | Estimator[Any],
    raw: Mapping[str, Any],
    location: Location | None = None,
) -> Any:
    """Return an instance of the estimator's ``options_type`` from a table as written.

    Fields may be ``bool``, ``int``, ``float``, ``str``, ``Literal``, ``tuple[X, ...]``,
    ``list[X]``, ``dict[str, Any]`` and unions of these with ``None``. An integer is accepted
    where a number is asked for. A ``ValueError`` of ``__post_init__`` becomes the message.

    Parameters
    ----------
    estimator
        Class or instance.
    raw
        Key to value.
    location
        Of the table, for messages.

    Raises
    ------
    fmident.errors.ProblemError
        Unknown key, wrong type, value that is not allowed, missing key.
    fmident.errors.PluginError
        `options_type` is not a dataclass.
    """
    kind = estimator.options_type
    name = estimator.name
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise PluginError(
            f"options_type of the estimator '{name}' is {kind!r}",
            hint="make it a frozen dataclass",
        )
    hints = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}
    for key in raw:
        if key not in fields:
            raise ProblemError(
                f"[estimator]: '{name}' has no option '{key}'",
                location=location,
                hint=did_you_mean(key, fields, kind="option"),
            )
    required = [
        f.name
        for f in fields.values()
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    for key in required:
        if key not in raw:
            raise ProblemError(
                f"[estimator]: '{name}' needs the option '{key}'",
                location=location,
                hint=f"add {key} = ... ({_noun(hints[key])})",
            )
    values = {}
    for key, value in raw.items():
        accepted, converted = _convert(value, hints[key])
        if not accepted:
            raise ProblemError(
                f"[estimator]: option '{key}' of '{name}' must be {_noun(hints[key])}, "
                f"not {value!r}",
                location=location,
                hint=_value_hint(value, hints[key]),
            )
        values[key] = converted
    try:
        return kind(**values)
    except ValueError as error:
        raise ProblemError(
            f"[estimator]: options of '{name}': {error}", location=location
        ) from error


def _convert(value: Any, hint: Any) -> tuple[bool, Any]:
    """Return whether `value` fits `hint`, and the value in that type."""
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
        return isinstance(value, Mapping), value
    if hint is float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number, float(value) if is_number else value
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    if isinstance(hint, type):
        return isinstance(value, hint), value
    return True, value


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


def _noun(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        shown = [repr(a) for a in arguments]
        return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " or " + shown[-1]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_noun(a) for a in arguments if a is not type(None))
    if origin in (tuple, list):
        return f"a list, each item {_noun(arguments[0])}"
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
