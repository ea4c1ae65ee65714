"""Values with their first two derivatives, by forward accumulation.

Griewank and Walther, Evaluating Derivatives, chapters 3 and 10: exact up to rounding, and cheap for
expressions of a few operations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.problem.relations.tree import FUNCTIONS, Binary, Call, Name, Negative, Node, Number
from fmident.units import parse_unit


@dataclass(frozen=True, eq=False)
class Jet:
    """A value with gradient and Hessian.

    Parameters
    ----------
    value
        Not a number where the expression is not defined.
    gradient
        Shape (n,).
    hessian
        Shape (n, n).
    """

    value: float
    gradient: F64
    hessian: F64

    @classmethod
    def constant(cls, value: float, count: int) -> Jet:
        """Return a value that depends on none of `count` variables."""
        return cls(value, np.zeros(count), np.zeros((count, count)))

    @classmethod
    def variable(cls, value: float, index: int, count: int) -> Jet:
        """Return the variable of an index, counted from 0, of `count`."""
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
        """Return a function of this one, given its value and derivatives there."""
        outer = np.outer(self.gradient, self.gradient)
        return Jet(value, first * self.gradient, first * self.hessian + second * outer)


def number_in_si(number: Number) -> float:
    """Return a number in SI units."""
    if number.unit is None:
        return number.value
    return number.value * parse_unit(number.unit).factor


def value_of(node: Node, values: Mapping[str, float]) -> float:
    """Return the value of an expression, in SI units; NaN where it is not defined.

    Parameters
    ----------
    node
        Its tree.
    values
        By name, in SI units.
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

    Parameters
    ----------
    node
        Its tree.
    jets
        By name, in SI units.
    count
        Number of variables, n.
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
        found = a**b
    except (ZeroDivisionError, OverflowError):
        return math.nan
    return math.nan if isinstance(found, complex) else float(found)


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
