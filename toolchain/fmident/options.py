"""Options declared as annotated fields: their ranges, and what else they require.

A frozen dataclass derived from :class:`Options` annotates its fields::

    @dataclass(frozen=True)
    class MyOptions(Options):
        generations: Annotated[int, Range(least=1)] = 100
        radius: Annotated[float | None, POSITIVE, Requires("shape", "round")] = None

Values out of range are refused wherever the options come from: a table of the problem file, whose
line is then reported, or Python. Documentation is generated from the same annotations.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
import types
import typing
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from fmident.errors import Code

T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """Numbers that an option may be; ``None`` always is.

    Parameters
    ----------
    least, most
        Ends that belong to the range.
    above, below
        Ends that do not.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None

    def __contains__(self, value: Any) -> bool:
        """Return whether a number is in the range; NaN is not."""
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        """Return the range in words, to follow "must be"."""
        ends = (self.least, self.above, self.most, self.below)
        if ends == (None, 0.0, None, None):
            return "positive"
        if ends == (0.0, None, None, None):
            return "zero or positive"
        if (self.above, self.below) == (-math.inf, math.inf):
            return "finite"
        if self.below == math.inf:
            return f"{Range(self.least, self.above)} and finite"
        if (self.above, self.below) == (0.0, 1.0):
            return "between 0 and 1"
        if self.least is not None and self.most is not None:
            return f"from {self.least:g} to {self.most:g}"
        words = (
            ("at least", self.least),
            ("above", self.above),
            ("at most", self.most),
            ("below", self.below),
        )
        return " and ".join(f"{word} {end:g}" for word, end in words if end is not None)


POSITIVE = Range(above=0.0)
NOT_NEGATIVE = Range(least=0.0)
FRACTION = Range(least=0.0, most=1.0)
"""Range from 0 to 1."""
FINITE = Range(least=0.0, below=math.inf)
"""Zero or positive, and finite."""
INSIDE_UNIT = Range(above=0.0, below=1.0)
"""Between 0 and 1."""


@dataclass(frozen=True)
class Requires:
    """An option that may only be given where another one has a certain value.

    Parameters
    ----------
    option
        The other one.
    value
        That it must have.
    """

    option: str
    value: object

    def __str__(self) -> str:
        return f"{self.option} = {self.value!r}"


@dataclass(frozen=True)
class InFile:
    """Representation of a field in a file, if it differs from that of the field.

    `key` is ``None`` for a field that is not a key itself. The field is `factor` times the
    number in the file, rounded down, or the same if ``None``.
    """

    key: str | None
    factor: int | None = None


@dataclass(frozen=True)
class Short:
    """Marks a table that may be written as the value of one of its keys alone."""

    key: str


class Advice(NamedTuple):
    """What to do when a value has another type."""

    text: str


class OptionError(ValueError):
    """A value that an option may not have.

    Parameters
    ----------
    message
        What is wrong.
    option
        Which one.
    code
        Of the error that it becomes.
    """

    def __init__(self, message: str, option: str, code: Code = Code.OUT_OF_RANGE) -> None:
        self.option = option
        self.code = code
        super().__init__(message)

    def __reduce__(self) -> tuple[type[OptionError], tuple[str, str, Code]]:
        """Return what pickle makes it of again: its arguments are more than the message."""
        return type(self), (str(self), self.option, self.code)


@dataclass(frozen=True)
class Options:
    """Base of options whose annotations are checked.

    Class attributes
    ----------------
    instead
        Options of earlier versions, and what to do instead: the hint where one is given.

    Raises
    ------
    OptionError
        A value that is out of its range, or requires another option.
    """

    instead: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        """Check the annotations; a derived class that adds to this calls it first."""
        check_options(self)


def check_options(options: Any) -> None:
    """Check a dataclass against the annotations of its fields.

    Raises
    ------
    OptionError
        A value that is out of its range, or requires another option.
    """
    kind: Any = type(options)
    hints = annotations_of(kind)
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        for name, number, limits, whole in _numbers(field.name, value, hints[field.name]):
            wanted = numbers.Integral if whole else numbers.Real
            if isinstance(number, bool | np.bool_) or not isinstance(number, wanted):
                noun = "a whole number" if whole else "a number"
                message = f"{name} must be {noun}, not {number!r}"
                raise OptionError(message, field.name, Code.WRONG_TYPE)
            if number not in limits:
                raise OptionError(f"{name} must be {limits}, not {number}", field.name)
        if value == field.default:
            continue
        for required in marked(hints[field.name], Requires):
            if getattr(options, required.option) != required.value:
                message = f"{field.name} requires {required}"
                raise OptionError(message, field.name, Code.REQUIRES_OPTION)


@functools.cache
def annotations_of(kind: Hashable) -> Mapping[str, Any]:
    """Return the types of the fields of a dataclass, with what is annotated to them."""
    return typing.get_type_hints(kind, include_extras=True)


@functools.cache
def types_of(kind: Hashable) -> Mapping[str, Any]:
    """Return the types of the fields of a dataclass alone."""
    return typing.get_type_hints(kind)


def item_ranges(hint: Any) -> tuple[Range, ...]:
    """Return the ranges that are annotated to the items of a list or table."""
    bare = _bare(hint)
    parts = typing.get_args(bare) if _is_union(bare) else (bare,)
    items = (item for part in map(_bare, parts) for item in typing.get_args(part))
    return tuple(limits for item in items for limits in marked(item, Range))


def marked(hint: Any, kind: type[T]) -> tuple[T, ...]:
    """Return what of a kind is annotated to a type, or to a part of a union."""
    own = tuple(m for m in getattr(hint, "__metadata__", ()) if isinstance(m, kind))
    parts = typing.get_args(_bare(hint)) if _is_union(_bare(hint)) else ()
    return own + tuple(m for part in parts for m in marked(part, kind))


def _bare(hint: Any) -> Any:
    return hint.__origin__ if hasattr(hint, "__metadata__") else hint


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _numbers(name: str, value: Any, hint: Any) -> Iterator[tuple[str, Any, Range, bool]]:
    """Return what in a value has to be a number in a range: its name, and whether it is whole."""
    if value is None:
        return
    bare = _bare(hint)
    parts = typing.get_args(bare) if _is_union(bare) else (bare,)
    if isinstance(value, str) and any(
        p is str or (typing.get_origin(p) is typing.Literal and value in typing.get_args(p))
        for p in parts
    ):
        return  # a word in place of a number
    whole = any(_bare(p) is int for p in parts) and not any(_bare(p) is float for p in parts)
    for limits in marked(hint, Range):
        yield name, value, limits, whole
    for part in map(_bare, parts):
        origin, arguments = typing.get_origin(part), typing.get_args(part)
        if isinstance(value, Mapping) and origin in (dict, Mapping) and len(arguments) == 2:
            for key, item in value.items():
                yield from _numbers(f"{name}.{key}", item, arguments[1])
        elif isinstance(value, (tuple, list)) and origin in (tuple, list) and arguments:
            alike = origin is list or arguments[-1] is Ellipsis
            for k, item in enumerate(value):
                yield from _numbers(name, item, arguments[0 if alike else k])
