"""Values with first and second derivatives by forward-mode automatic differentiation.

Griewank and Walther, Evaluating Derivatives, chapters 3 and 10: exact up to rounding,
and cheap for expressions of a few operations.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, UnitError
from fmident.problem.expressions import (
    FUNCTIONS,
    Binary,
    Call,
    ExpressionError,
    Name,
    Negative,
    Node,
    Number,
    nodes,
)
from fmident.units import DIMENSIONLESS, Unit, compatible, in_si, parse_unit, si_symbols

_LIKE_ITS_ARGUMENT = {"abs"}


@dataclass(frozen=True, eq=False)
class Jet:
    """A value with its gradient, shape (n,), and Hessian, shape (n, n).

    The value is NaN where the expression is undefined.
    """

    value: float
    gradient: F64
    hessian: F64

    @classmethod
    def constant(cls, value: float, count: int) -> Jet:
        """Return a value that does not depend on any of `count` variables."""
        return cls(value, np.zeros(count), np.zeros((count, count)))

    @classmethod
    def variable(cls, value: float, index: int, count: int) -> Jet:
        """Return variable number `index`, counted from 0, of `count`."""
        gradient = np.zeros(count)
        gradient[index] = 1.0
        return cls(value, gradient, np.zeros((count, count)))

    def scaled(self, factor: float, offset: float = 0.0) -> Jet:
        """Return ``factor * self + offset``."""
        return Jet(self.value * factor + offset, self.gradient * factor, self.hessian * factor)

    def __add__(self, other: Jet) -> Jet:
        return Jet(
            self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian
        )

    def __sub__(self, other: Jet) -> Jet:
        return self + other.scaled(-1.0)

    def __mul__(self, other: Jet) -> Jet:
        cross = np.outer(self.gradient, other.gradient)
        return Jet(
            self.value * other.value,
            self.value * other.gradient + other.value * self.gradient,
            self.value * other.hessian + other.value * self.hessian + cross + cross.T,
        )

    def through(self, value: float, first: float, second: float) -> Jet:
        """Return the composition with a function, given its value and derivatives at this point."""
        outer = np.outer(self.gradient, self.gradient)
        return Jet(value, first * self.gradient, first * self.hessian + second * outer)


def number_in_si(number: Number) -> float:
    """Return a number in SI units."""
    if number.unit is None:
        return number.value
    return number.value * parse_unit(number.unit).factor


def value_of(node: Node, values: Mapping[str, float]) -> float:
    """Return the value of an expression in SI units; NaN where undefined.

    `values` has the parameters by name, in SI units.
    """
    match node:
        case Number():
            return number_in_si(node)
        case Name(name):
            return values[name]
        case Negative(inner):
            return -value_of(inner, values)
        case Call(function, inner):
            return _safe(FUNCTIONS[function].value, value_of(inner, values))
        case Binary(operator, left, right):
            a, b = value_of(left, values), value_of(right, values)
            if operator == "+":
                return a + b
            if operator == "-":
                return a - b
            if operator == "*":
                return a * b
            if operator == "/":
                return a / b if b else math.nan
            return _power(a, b)


def jet_of(node: Node, jets: Mapping[str, Jet], count: int) -> Jet:
    """Return the value of an expression in SI units with its derivatives.

    `jets` has the parameters by name, in SI units; `count` is the number of variables, n.
    """
    match node:
        case Number():
            return Jet.constant(number_in_si(node), count)
        case Name(name):
            return jets[name]
        case Negative(inner):
            return jet_of(inner, jets, count).scaled(-1.0)
        case Call(function, inner):
            known, x = FUNCTIONS[function], jet_of(inner, jets, count)
            return x.through(*(_safe(f, x.value) for f in (known.value, known.first, known.second)))
        case Binary(operator, left, right):
            a, b = jet_of(left, jets, count), jet_of(right, jets, count)
            if operator == "+":
                return a + b
            if operator == "-":
                return a - b
            if operator == "*":
                return a * b
            if operator == "/":
                return a * _reciprocal(b)
            return _jet_power(a, b)


def _safe(function: object, x: float) -> float:
    try:
        return float(function(x))  # type: ignore[operator]
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan


def _power(a: float, b: float) -> float:
    try:
        power = a**b
    except (ZeroDivisionError, OverflowError):
        return math.nan
    return math.nan if isinstance(power, complex) else float(power)


def _reciprocal(b: Jet) -> Jet:
    x = b.value
    return b.through(_safe(lambda v: 1.0 / v, x), *(_safe(f, x) for f in _RECIPROCAL))


_RECIPROCAL = (lambda v: -1.0 / v**2, lambda v: 2.0 / v**3)


def _jet_power(a: Jet, b: Jet) -> Jet:
    x, n = a.value, b.value
    if not b.gradient.any() and not b.hessian.any():
        first = n * _power(x, n - 1.0) if n else 0.0
        second = n * (n - 1.0) * _power(x, n - 2.0) if n * (n - 1.0) else 0.0
        return a.through(_power(x, n), first, second)
    # a^b = exp(b log a)
    logarithm = a.through(_safe(math.log, x), _safe(lambda v: 1.0 / v, x), _safe(_RECIPROCAL[0], x))
    exponent = b * logarithm
    value = _safe(math.exp, exponent.value)
    return exponent.through(value, value, value)


def unit_of(node: Node, units: Mapping[str, Unit | None], text: str) -> Unit | None:
    """Return the unit of an expression up to a factor; ``None`` if it is unknown.

    In `units`, ``None`` marks a parameter without a unit, which is compatible with
    everything. Raises `ExpressionError` if quantities of different dimensions are added, or
    if the argument of a function or an exponent has a dimension.
    """
    return _Units(units, text).of(node)


def check_sides(left: Node, right: Node, units: Mapping[str, Unit | None], text: str) -> None:
    """Raise `ExpressionError` if the two sides of a constraint have different dimensions."""
    reader = _Units(units, text)
    reader.same(left, right, getattr(right, "position", 0), "compared with")


def check_numbers(node: Node, units: Mapping[str, Unit | None], text: str) -> None:
    """Raise `ExpressionError` for units of numbers that cannot be parsed or are ambiguous.

    The unit of ``3 N/m`` extends to the blank, even if there is a parameter 'm': if that
    was meant, the dimensions do not match. If the parameter has no unit, nothing would
    reveal the mistake.
    """
    for number in nodes(node):
        if not isinstance(number, Number) or number.unit is None:
            continue
        try:
            unit = parse_unit(number.unit)
        except UnitError as error:
            raise ExpressionError(
                error.message, text, number.position, hint=error.hint, code=error.code
            ) from error
        if unit.offset:
            raise ExpressionError(
                f"'{number.value:g} {number.unit}' could be a temperature or a difference of two",
                text,
                number.position,
                hint=f"write it in K: {number.value * unit.factor + unit.offset:g} K for the"
                f" temperature, {number.value * unit.factor:g} K for the difference",
            )
        for part in doubtful_parts(number):
            if part in units and units[part] is None:
                raise ExpressionError(
                    f"it is not clear whether '{part}' in '{number.value:g} {number.unit}' is a"
                    " unit or the parameter of that name",
                    text,
                    number.position,
                    hint=f"write '{number.value:g} [{number.unit}]' for the unit, or blanks around"
                    " '/' for the parameter",
                )


def doubtful_parts(number: Number) -> tuple[str, ...]:
    """Return the parts of a number's unit after a '/', which may be meant as parameters."""
    if not number.bare or number.unit is None:
        return ()
    return tuple(part.strip("()") for part in number.unit.split("/")[1:])


def advised(error: ExpressionError, trees: Iterable[Node], names: Container[str]) -> None:
    """Add to an error's hint which parameter names were read as units."""
    for number in (n for tree in trees for n in nodes(tree) if isinstance(n, Number)):
        for part in doubtful_parts(number):
            if part in names:
                error.hint = (
                    f"'{part}' in '{number.value:g} {number.unit}' is read as a unit: write blanks"
                    f" around '/' if the parameter is meant; else {error.hint}"
                )
                return


class _Units:
    """Bottom-up inference of units."""

    def __init__(self, units: Mapping[str, Unit | None], text: str) -> None:
        self._units, self._text = units, text

    def of(self, node: Node) -> Unit | None:
        match node:
            case Number():
                return DIMENSIONLESS if node.unit is None else parse_unit(node.unit)
            case Name(name):
                return self._units.get(name)
            case Negative(inner):
                return self.of(inner)
            case Call(function, inner, position):
                return self._call(function, inner, position)
            case Binary(operator, left, right, position):
                if operator in "+-":
                    return self.same(left, right, position, "added to")
                if operator == "^":
                    return self._power(left, right, position)
                first, second = self.of(left), self.of(right)
                if first is None or second is None:
                    return None
                return first * second if operator == "*" else first / second

    def same(self, left: Node, right: Node, position: int, how: str) -> Unit | None:
        """Return the unit of two nodes that must have the same dimension."""
        first, second = self.of(left), self.of(right)
        if first is None or second is None or compatible(first, second):
            return second if first is None else first
        for plain, other in ((left, second), (right, first)):
            if not _only_numbers(plain):
                continue
            if isinstance(plain, Number) and plain.value == 0.0 and plain.unit is None:
                return other
            if isinstance(plain, Number) and plain.unit is None:
                raise ExpressionError(
                    f"the number {plain.value:g} has no unit, but it is {how} a quantity in"
                    f" {_symbols(other)}",
                    self._text,
                    plain.position,
                    hint=f"write '{plain.value:g} {_symbols(other)}', or another unit that fits",
                    code=Code.UNITS_DIFFER,
                )
        raise ExpressionError(
            f"a quantity in {_symbols(second)} cannot be {how} one in {_symbols(first)}",
            self._text,
            position,
            hint="correct the expression, or the units of its parameters",
            code=Code.UNITS_DIFFER,
        )

    def _call(self, function: str, inner: Node, position: int) -> Unit | None:
        unit = self.of(inner)
        if unit is None:
            return None if function in ("sqrt", *_LIKE_ITS_ARGUMENT) else DIMENSIONLESS
        if function in _LIKE_ITS_ARGUMENT:
            return unit
        if function == "sqrt":
            return unit ** Fraction(1, 2)
        if not unit.dimensionless:
            raise ExpressionError(
                f"'{function}' needs a number or an angle, not a quantity in {_symbols(unit)}",
                self._text,
                position,
                hint="divide its argument by a quantity of the same kind",
                code=Code.UNITS_DIFFER,
            )
        return DIMENSIONLESS

    def _power(self, base: Node, exponent: Node, position: int) -> Unit | None:
        unit, power = self.of(base), self.of(exponent)
        if power is not None and not power.dimensionless:
            raise ExpressionError(
                f"an exponent cannot be a quantity in {_symbols(power)}",
                self._text,
                position,
                code=Code.UNITS_DIFFER,
            )
        if unit is None or unit.dimensionless:
            return unit
        value = constant_value(exponent)
        if value is None:
            raise ExpressionError(
                f"a quantity in {_symbols(unit)} needs a number for its exponent",
                self._text,
                position,
                hint="divide the base by a quantity of the same kind",
                code=Code.UNITS_DIFFER,
            )
        return unit ** Fraction(value).limit_denominator(12)


def constant_value(node: Node) -> float | None:
    """Return the value of an expression of plain numbers; ``None`` if it has names or units."""
    parts = list(nodes(node))
    if any(isinstance(n, Name) or (isinstance(n, Number) and n.unit) for n in parts):
        return None
    return value_of(node, {})


def _only_numbers(node: Node) -> bool:
    return not any(isinstance(n, Name) for n in nodes(node))


def _symbols(unit: Unit) -> str:
    """Return the unit as written if it is coherent with SI, else the SI unit."""
    if unit.dimensionless:
        return "1"
    return unit.text if in_si(unit) else si_symbols(unit)
