"""Conditions on measured signals, such as ``"abs(v) < 0.01 and time > 2"``.

They compare expressions of :mod:`~fmident.problem.relations.reader` and join what is compared with
``and``, ``or`` and ``not``. Nothing is evaluated by Python.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
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
    true, _ = _Evaluation(text, signals).of(read_condition(text))
    return true


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
        units = [self._unit(side) for side in sides]
        with np.errstate(all="ignore"):
            values = [
                self._limit(side, set(units[:k] + units[k + 1 :])) for k, side in enumerate(sides)
            ]
        true, false = np.ones(self._signals.size, np.bool_), np.zeros(self._signals.size, np.bool_)
        for left, right, sign in zip(values[:-1], values[1:], operators, strict=True):
            known = ~(np.isnan(left) | np.isnan(right))
            holds = _COMPARE[sign](left, right)
            true &= known & holds
            false |= known & ~holds
        return true, false

    def _unit(self, node: Node) -> str | None:
        """Return the unit of an expression where it is plainly that of its signals."""
        match node:
            case Name():
                name = self._known(node)
                return None if name is None else self._signals.values(name)[1]
            case Negative(inner) | Call("abs", inner):
                return self._unit(inner)
            case Binary("+" | "-", left, right):
                first, second = self._unit(left), self._unit(right)
                return first if first == second else None
        return None

    def _limit(self, node: Node, units: set[str | None]) -> F64:
        """Return the values of one side; a number with a unit in that of the other sides."""
        if isinstance(node, Negative) and isinstance(node.inner, Number):
            return -self._limit(node.inner, units)
        if not isinstance(node, Number) or node.unit is None:
            return self._value(node)
        try:
            unit = parse_unit(node.unit)
        except UnitError as error:
            raise ExpressionError(
                f"'{shown(self._text)}': {error.message}",
                self._text,
                node.position,
                hint=error.hint,
                code=error.code,
            ) from error
        known = [u for u in units if u is not None]
        if known == [node.unit]:
            return np.array(node.value)
        target = None if len(known) != 1 else unit_or_none(known[0])
        if target is None:
            raise self._error(
                f"'{node.value:g} {node.unit}' is compared with an expression whose unit is not"
                " known",
                node,
                hint="leave out the unit, and write the number in the units of the signals",
            )
        if not compatible(unit, target) or unit.offset or target.offset:
            raise ExpressionError(
                f"'{shown(self._text)}': '{node.value:g} {node.unit}' is compared with a signal in"
                f" '{known[0]}'",
                self._text,
                node.position,
                hint=f"write the number in '{known[0]}'",
                code=Code.UNITS_DIFFER,
            )
        return convert(np.array(node.value), unit, target)

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

    def _value(self, node: Node) -> F64:
        match node:
            case Number():
                if node.unit is not None:
                    raise self._error(
                        f"'{node.value:g} {node.unit}' is part of an expression",
                        node,
                        hint="leave out the unit, and write the number in the units of the signals",
                    )
                return np.array(node.value)
            case Name():
                name = self._known(node)
                if name is None:
                    return np.array(CONSTANTS[node.name])
                return self._signals.values(name)[0]
            case Negative(inner):
                return -self._value(inner)
            case Call(function, inner):
                assert function in FUNCTIONS
                found: F64 = getattr(np, _RENAMED.get(function, function))(self._value(inner))
                return found
            case Binary(sign, left, right):
                return _ARITHMETIC[sign](self._value(left), self._value(right))

    def _error(self, what: str, node: Node, hint: str | None = None) -> ExpressionError:
        return ExpressionError(f"'{shown(self._text)}': {what}", self._text, node.position, hint)
