"""Conditions on measured signals, such as ``"abs(v) < 0.01 and time > 2"``.

They compare expressions of :mod:`~fmident.problem.relations.reader` and join what is compared with
``and``, ``or`` and ``not``. Nothing is evaluated by Python.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Code, UnitError, did_you_mean, shown
from fmident.problem.relations.expression import known_name, unit_or_none
from fmident.problem.relations.reader import ExpressionError, Token, TreeReader, tokens
from fmident.problem.relations.tree import (
    CONSTANTS,
    FUNCTIONS,
    Binary,
    Call,
    Name,
    Negative,
    Node,
    Number,
    nodes,
)
from fmident.units import compatible, convert, parse_unit

Bools: TypeAlias = npt.NDArray[np.bool_]

_WORDS = ("and", "or", "not")
_SYMBOLS = {"&": "and", "|": "or", "!": "not", "~": "not"}
_MAY_HOLD = (
    "a condition holds names of signals, numbers, + - * / ^ ( ), comparisons such as '<', 'and',"
    f" 'or', 'not', and {', '.join(FUNCTIONS)}"
)
_COMPARE: dict[str, Callable[[F64, F64], Bools]] = {
    "<": operator.lt,
    "<=": operator.le,
    "≤": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "≥": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
}
_ARITHMETIC: dict[str, Callable[[F64, F64], F64]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}
_RENAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}


@dataclass(frozen=True)
class Comparison:
    """Expressions and what stands between them: ``low < x <= high`` has three."""

    sides: tuple[Node, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Joined:
    """Conditions joined by ``and`` or ``or``."""

    word: str
    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Negated:
    """The opposite of a condition."""

    inner: Tree


Tree: TypeAlias = Comparison | Joined | Negated


@dataclass(frozen=True)
class Signals:
    """What a condition may be about.

    Parameters
    ----------
    names
        Of all signals.
    values
        Name to samples, shape (n,), NaN where one is missing, and their unit.
    size
        Number of samples.
    """

    names: Sequence[str]
    values: Callable[[str], tuple[F64, str | None]]
    size: int


def where_true(text: str, signals: Signals) -> Bools:
    """Return the samples at which a condition is true, shape (n,).

    Where a signal is missing that decides, it is not known whether the condition is true; it is
    taken for false.

    Parameters
    ----------
    text
        The condition.
    signals
        That it may name.

    Raises
    ------
    fmident.problem.relations.reader.ExpressionError
        It cannot be read, names what does not exist, or has a unit that fits nothing; with the
        position.
    """
    return judged(text, signals)[0]


def judged(text: str, signals: Signals) -> tuple[Bools, Bools]:
    """Return the samples at which a condition is known to be true, and those where false.

    Parameters and errors are those of :func:`where_true`.
    """
    return _Evaluation(text, signals).of(read_condition(text))


def read_condition(text: str) -> Tree:
    """Return the tree of a condition.

    Raises
    ------
    fmident.problem.relations.reader.ExpressionError
        It cannot be read; with the position.
    """
    try:
        found = tokens(text, _WORDS)
    except ExpressionError as error:
        word = _SYMBOLS.get(text[error.position : error.position + 1])
        error.hint = _MAY_HOLD if word is None else f"write '{word}'"
        raise
    reader = _ConditionReader(text, found)
    tree = reader.either(0)
    reader.finished()
    return tree


class _ConditionReader(TreeReader):
    """Recursive descent over the tokens of one condition."""

    def either(self, depth: int) -> Tree:
        return self._joined("or", self._both, depth)

    def _both(self, depth: int) -> Tree:
        return self._joined("and", self._negated, depth)

    def _joined(self, word: str, part: Callable[[int], Tree], depth: int) -> Tree:
        parts = [part(depth)]
        while self.take(word, kind="name"):
            parts.append(part(depth))
        return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _negated(self, depth: int) -> Tree:
        self.refuse_depth(depth)
        if self.take("not", kind="name"):
            return Negated(self._negated(depth + 1))
        if _is_condition(self.rest):
            self.take("(")
            inner = self.either(depth + 1)
            self.closed()
            return inner
        return self._comparison(depth)

    def _comparison(self, depth: int) -> Tree:
        sides, operators = [self.sum(depth)], []
        while (here := self.here) is not None and here.text in _COMPARE:
            self.take(here.text)
            operators.append(here.text)
            sides.append(self.sum(depth))
        if not operators:
            here = self.here
            if here is not None and here.text not in (*_WORDS, ")"):
                self.end()
            raise self.error(
                "this is a value, which is neither true nor false",
                hint="compare it, as in 'abs(v) < 0.01'",
            )
        if len(operators) > 1 and not _runs_one_way(operators):
            raise self.error(
                "its comparisons do not run one way",
                hint="join two comparisons with 'and', or write 'low < expression < high'",
            )
        return Comparison(tuple(sides), tuple(operators))

    def atom(self, depth: int) -> Node:
        here = self.here
        if here is not None and here.kind == "name" and here.text in _WORDS:
            raise self.error(f"unexpected '{here.text}'", hint="a comparison is missing there")
        return super().atom(depth)

    def finished(self) -> None:
        """Refuse what is left over."""
        here = self.here
        if here is not None and here.text in (*_COMPARE, *_ARITHMETIC):
            raise self.error(
                f"unexpected '{here.text}'",
                hint="what is compared is true or false: join it with 'and' or 'or'",
            )
        self.end()


def _is_condition(rest: Sequence[Token]) -> bool:
    """Return whether what is left begins with a condition in parentheses, not with a value."""
    depth = 0
    for position, token in enumerate(rest):
        if token.text == "(" and token.kind == "operator":
            depth += 1
        elif token.text == ")" and token.kind == "operator":
            depth -= 1
        elif token.text in _COMPARE or (token.kind == "name" and token.text in _WORDS):
            return depth > 0
        if not depth:
            return False
        if position and depth < 0:
            return False
    return False


def _runs_one_way(operators: Sequence[str]) -> bool:
    ways = {"<": "up", "<=": "up", "≤": "up", ">": "down", ">=": "down", "≥": "down"}
    return (
        len(operators) == 2
        and len({ways.get(o, o) for o in operators}) == 1
        and (operators[0] in ways)
    )


class _Evaluation:
    """Evaluates one condition; each part is known to be true, known to be false, or neither."""

    def __init__(self, text: str, signals: Signals) -> None:
        self._text, self._signals = text, signals

    def of(self, tree: Tree) -> tuple[Bools, Bools]:
        match tree:
            case Negated(inner):
                true, false = self.of(inner)
                return false, true
            case Joined(word, parts):
                found = [self.of(part) for part in parts]
                every, some = (0, 1) if word == "and" else (1, 0)
                sides = (
                    np.logical_and.reduce([f[every] for f in found]),
                    np.logical_or.reduce([f[some] for f in found]),
                )
                return sides if word == "and" else (sides[1], sides[0])
            case Comparison(sides, operators):
                return self._compared(sides, operators)

    def _compared(self, sides: Sequence[Node], operators: Sequence[str]) -> tuple[Bools, Bools]:
        if not any(isinstance(n, Name) and self._known(n) for s in sides for n in nodes(s)):
            raise self._error(
                "this compares nothing but numbers",
                sides[0],
                hint="compare a signal: "
                + ", ".join(f"'{n}'" for n in list(self._signals.names)[:12]),
            )
        unit = self._shared_unit(sides)
        with np.errstate(all="ignore"):
            values = [self._value(side, unit) for side in sides]
        true, false = np.ones(self._signals.size, np.bool_), np.zeros(self._signals.size, np.bool_)
        for left, right, sign in zip(values[:-1], values[1:], operators, strict=True):
            known = ~(np.isnan(left) | np.isnan(right))
            holds = _COMPARE[sign](left, right)
            true &= known & holds
            false |= known & ~holds
        return true, false

    def _shared_unit(self, sides: Sequence[Node]) -> str | None:
        """Return the unit of what is compared; ``None`` where it is not known.

        Raises
        ------
        ExpressionError
            Signals in different units are compared, or added.
        """
        found: dict[str | None, Name] = {}
        for name in (n for side in sides for n in _terms(side)):
            signal = self._known(name) if isinstance(name, Name) else None
            if signal is not None and isinstance(name, Name):
                found.setdefault(self._signals.values(signal)[1], name)
            elif not isinstance(name, Number | Name):
                return None  # a product, or the like
        known = [(unit, name) for unit, name in found.items() if unit is not None]
        for unit, name in known[1:]:
            first, other = known[0]
            if not _same(first, unit):
                raise ExpressionError(
                    f"'{shown(self._text)}': '{other.name}' is in '{first}', and '{name.name}' in"
                    f" '{unit}'",
                    self._text,
                    name.position,
                    hint="multiply one of them by a factor that makes both comparable",
                    code=Code.UNITS_DIFFER,
                )
        return known[0][0] if known and None not in found else None

    def _known(self, node: Name) -> str | None:
        """Return the signal of a name; ``None`` for a constant."""
        name = known_name(node.name, self._signals.names)
        if name is None and node.name not in CONSTANTS:
            raise ExpressionError(
                f"'{shown(self._text)}': there is no signal '{node.name}'",
                self._text,
                node.position,
                hint=did_you_mean(node.name, self._signals.names, kind="signal"),
                code=Code.UNKNOWN_NAME,
            )
        return name

    def _value(self, node: Node, unit: str | None) -> F64:
        """Return the values of an expression; numbers with units in that of what is compared."""
        match node:
            case Number():
                return np.array(node.value if node.unit is None else self._converted(node, unit))
            case Name():
                name = self._known(node)
                if name is None:
                    return np.array(CONSTANTS[node.name])
                return self._signals.values(name)[0]
            case Negative(inner):
                return -self._value(inner, unit)
            case Call(function, inner):
                assert function in FUNCTIONS
                apply = getattr(np, _RENAMED.get(function, function))
                found: F64 = apply(self._value(inner, unit if function == "abs" else None))
                return found
            case Binary(sign, left, right):
                inside = unit if sign in "+-" else None
                return _ARITHMETIC[sign](self._value(left, inside), self._value(right, inside))

    def _converted(self, number: Number, unit: str | None) -> float:
        """Return a number in the unit of what it is compared with, or added to."""
        assert number.unit is not None
        try:
            own = parse_unit(number.unit)
        except UnitError as error:
            raise ExpressionError(
                f"'{shown(self._text)}': {error.message}",
                self._text,
                number.position,
                hint=error.hint,
                code=error.code,
            ) from error
        if unit == number.unit:
            return number.value
        target = unit_or_none(unit)
        if target is None:
            raise self._error(
                f"the unit of what '{number.value:g} {number.unit}' is compared with is not known",
                number,
                hint="leave out the unit, and write the number in the units of the signals",
            )
        if not compatible(own, target) or own.offset or target.offset:
            raise ExpressionError(
                f"'{shown(self._text)}': '{number.value:g} {number.unit}' is compared with a signal"
                f" in '{unit}'",
                self._text,
                number.position,
                hint=f"write the number in '{unit}'",
                code=Code.UNITS_DIFFER,
            )
        return float(convert(np.array(number.value), own, target))

    def _error(self, what: str, node: Node, hint: str | None = None) -> ExpressionError:
        return ExpressionError(f"'{shown(self._text)}': {what}", self._text, node.position, hint)


def _terms(node: Node) -> Iterator[Node]:
    """Yield what is added in an expression, and so must have one unit."""
    match node:
        case Negative(inner) | Call("abs", inner):
            yield from _terms(inner)
        case Binary("+" | "-", left, right):
            yield from _terms(left)
            yield from _terms(right)
        case _:
            yield node


def _same(a: str, b: str) -> bool:
    """Return whether two texts are one unit."""
    one, other = unit_or_none(a), unit_or_none(b)
    if one is None or other is None:
        return a == b
    return compatible(one, other) and (one.factor, one.offset) == (other.factor, other.offset)
