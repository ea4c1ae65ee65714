"""What an expression between parameters consists of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Number:
    """A number, with its unit if it has one.

    Parameters
    ----------
    value
        In its unit.
    unit
        Text of the unit; ``None`` without one.
    bare
        Whether the unit was written without brackets.
    position
        In the text, counted from 0.
    """

    value: float
    unit: str | None = None
    bare: bool = False
    position: int = 0


@dataclass(frozen=True)
class Name:
    """The name of a parameter."""

    name: str
    position: int = 0


@dataclass(frozen=True)
class Negative:
    """The negative of a node."""

    inner: Node
    position: int = 0


@dataclass(frozen=True)
class Binary:
    """Two nodes joined by ``+``, ``-``, ``*``, ``/`` or ``^``."""

    operator: str
    left: Node
    right: Node
    position: int = 0


@dataclass(frozen=True)
class Call:
    """A function of `FUNCTIONS` of one node."""

    function: str
    inner: Node
    position: int = 0


Node: TypeAlias = Number | Name | Negative | Binary | Call


@dataclass(frozen=True)
class Function:
    """A function of one number with its first two derivatives.

    Parameters
    ----------
    value, first, second
        Of the argument. They may raise ``ValueError`` or ``ZeroDivisionError`` where they are not
        defined.
    """

    value: Callable[[float], float]
    first: Callable[[float], float]
    second: Callable[[float], float]


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x else 0.0


FUNCTIONS: dict[str, Function] = {
    "sqrt": Function(math.sqrt, lambda x: 0.5 / math.sqrt(x), lambda x: -0.25 / (x * math.sqrt(x))),
    "exp": Function(math.exp, math.exp, math.exp),
    "log": Function(math.log, lambda x: 1.0 / x, lambda x: -1.0 / x**2),
    "log10": Function(
        math.log10, lambda x: 1.0 / (x * math.log(10.0)), lambda x: -1.0 / (x**2 * math.log(10.0))
    ),
    "abs": Function(abs, _sign, lambda _: 0.0),
    "sin": Function(math.sin, math.cos, lambda x: -math.sin(x)),
    "cos": Function(math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x)),
    "tan": Function(
        math.tan,
        lambda x: 1.0 / math.cos(x) ** 2,
        lambda x: 2.0 * math.tan(x) / math.cos(x) ** 2,
    ),
    "asin": Function(
        math.asin,
        lambda x: 1.0 / math.sqrt(1.0 - x**2),
        lambda x: x / (1.0 - x**2) ** 1.5,
    ),
    "acos": Function(
        math.acos,
        lambda x: -1.0 / math.sqrt(1.0 - x**2),
        lambda x: -x / (1.0 - x**2) ** 1.5,
    ),
    "atan": Function(
        math.atan, lambda x: 1.0 / (1.0 + x**2), lambda x: -2.0 * x / (1.0 + x**2) ** 2
    ),
    "sinh": Function(math.sinh, math.cosh, math.sinh),
    "cosh": Function(math.cosh, math.sinh, math.cosh),
    "tanh": Function(
        math.tanh,
        lambda x: 1.0 - math.tanh(x) ** 2,
        lambda x: -2.0 * math.tanh(x) * (1.0 - math.tanh(x) ** 2),
    ),
}
"""By name; ``log`` is the natural logarithm, as in Modelica."""

CONSTANTS = {"pi": math.pi}


def nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes in it, from left to right."""
    yield node
    if isinstance(node, Binary):
        yield from nodes(node.left)
        yield from nodes(node.right)
    elif isinstance(node, Negative | Call):
        yield from nodes(node.inner)


def degree(node: Node, degrees: dict[str, float]) -> float:
    """Return the degree of a polynomial in the searched parameters.

    Parameters
    ----------
    node
        Of the expression.
    degrees
        Of each name: 0 where it is held, 1 where it is searched.

    Returns
    -------
    float
        0 for a constant, 1 for an affine function; infinite where it is not a polynomial.
    """
    match node:
        case Number():
            return 0.0
        case Name(name):
            return degrees.get(name, 0.0)
        case Negative(inner):
            return degree(inner, degrees)
        case Call(_, inner):
            return math.inf if degree(inner, degrees) else 0.0
        case Binary(operator, left, right):
            first, second = degree(left, degrees), degree(right, degrees)
            if operator in "+-":
                return max(first, second)
            if operator == "*":
                return first + second
            if not second and operator == "/":
                return first
            if not second and isinstance(right, Number) and right.value in (1.0, 2.0, 3.0):
                return first * right.value
            return math.inf if first or second else 0.0
