"""Values during lowering: numbers, CasADi scalars, arrays and records of these.

A scalar is a Python ``bool``, ``int``, ``float`` or ``str`` if it is known, otherwise a
1x1 ``casadi.SX``. An array is a NumPy object array of scalars. Thus constants are
folded automatically, and sizes and subscripts remain plain integers.

Derivatives do not show discontinuities of expressions: the derivative of ``y + sign(y)`` is 1,
like that of ``y``, but it is not linear.
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeGuard

import casadi as ca
import numpy as np
import numpy.typing as npt

from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal, check_size
from fmident.compilers.embedded.model import instructions

SX: TypeAlias = Any
"""A 1x1 ``casadi.SX`` (CasADi ships no types)."""
Scalar: TypeAlias = Any
"""``bool | int | float | str | SX``; CasADi's own types do not check."""
ArrayValue: TypeAlias = npt.NDArray[np.object_]


UNSUPPORTED_FUNCTIONS: Mapping[str, str] = {
    "reinit": "an event",
    "delay": "a delayed signal",
    "spatialDistribution": "a transport delay",
    "cardinality": "the number of connections",
    **dict.fromkeys(("inStream", "actualStream"), "a stream connector"),
    **dict.fromkeys(
        (
            *("clock", "previous", "hold", "interval", "firstTick", "noClock"),
            *("subSample", "superSample", "shiftSample", "backSample"),
        ),
        "clocked equations",
    ),
    **dict.fromkeys(
        ("transition", "initialState", "activeState", "ticksInState", "timeInState"),
        "a state machine",
    ),
}
"""Built-in operators that the subset does not contain, and what they stand for."""


Key: TypeAlias = tuple[int | list[int], ...]
"""Zero-based positions per dimension: a number, or a list for a slice."""


_JUMPING = frozenset(
    getattr(ca, f"OP_{name}")
    for name in (
        *("SIGN", "FLOOR", "CEIL", "FMOD", "REMAINDER", "COPYSIGN"),
        *("LT", "LE", "EQ", "NE", "NOT", "AND", "OR"),
    )
)
"""Operations of CasADi whose results jump."""


class Enumerator(int):
    """A literal of an enumeration: its ordinal, counted from 1, and its name."""

    name: str

    def __new__(cls, place: int, name: str) -> Self:
        """Return the literal named `name`."""
        result = super().__new__(cls, place)
        result.name = name
        return result

    def __str__(self) -> str:
        return self.name


class Unassigned:
    """A variable of a function before its first assignment."""

    def __repr__(self) -> str:
        return "unassigned"


UNASSIGNED = Unassigned()


@dataclass(frozen=True)
class RecordValue:
    """A record: field name to value, in the order of declaration."""

    type_name: str
    fields: dict[str, Value]


@dataclass(frozen=True, eq=False)
class TableValue:
    """A lookup table of the standard library, an external object.

    `cells` has the abscissae in the first column; `columns` are counted from 1. The output
    of a time table is 0 before `start`; `shift` is added to its abscissae.
    """

    kind: str
    cells: ArrayValue
    columns: tuple[int, ...]
    smoothness: int
    extrapolation: int
    start: Scalar
    shift: Scalar
    time_events: int


Value: TypeAlias = "Scalar | ArrayValue | RecordValue"


def is_symbolic(value: object) -> bool:
    """Return whether `value` is a CasADi expression."""
    return isinstance(value, ca.SX)


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether `value` is a known number (not a truth value)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Prescribed:
    """A symbol for the `value` of a function whose derivative, `rate`, is declared.

    Inputs that are each other's derivatives, such as position, speed and acceleration of a
    prescribed motion, can be differentiated in no other way (Modelica 3.6, section 12.7.1).
    """

    symbol: SX
    value: SX
    rate: Scalar


def symbols(*values: Scalar) -> dict[int, SX]:
    """Return the symbols in scalars or expressions, by hash."""
    return {s.element_hash(): s for one in values if is_symbolic(one) for s in ca.symvar(one)}


def is_same(value: Scalar, symbol: SX) -> bool:
    """Return whether a value is just a given symbol."""
    return is_symbolic(value) and bool(ca.is_equal(value, symbol))


def column(expressions: Iterable[Scalar]) -> SX:
    """Return scalars as one dense column."""
    return ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *expressions)))


def numbers(expressions: SX, point: Mapping[int, float]) -> npt.NDArray[np.float64]:
    """Return the value of a matrix; symbols have their values in `point`, by hash, or else 0."""
    inside = symbols(expressions)
    function = ca.Function("numbers", [column(inside.values())], [ca.densify(expressions)])
    return np.array(function(ca.DM([point.get(key, 0.0) for key in inside])), dtype=float)


def plain(value: SX) -> Scalar:
    """Return a constant CasADi expression as a number, anything else unchanged."""
    if isinstance(value, ca.SX) and value.is_constant():
        return float(value)
    return value


def array(elements: Iterable[Value], span_shape: tuple[int, ...] | None = None) -> ArrayValue:
    """Stack scalars, or arrays of equal shape, along a new first dimension."""
    items = list(elements)
    if not items:
        return np.empty(span_shape or (0,), dtype=object)
    shapes = {shape(item) for item in items}
    if len(shapes) > 1:
        raise Refusal(
            "shape-mismatch",
            f"the elements of an array have different sizes: {_shapes_text(shapes)}",
            hint="give all elements the same size",
        )
    inner = shapes.pop()
    result = np.empty((len(items), *inner), dtype=object)
    for i, item in enumerate(items):
        result[i] = item
    return result


def filled(value: Value, sizes: tuple[int, ...]) -> ArrayValue:
    """Return an array of the given sizes with `value` everywhere."""
    whole = (*sizes, *shape(value))
    check_size(whole, "an array")
    result = np.empty(whole, dtype=object)
    for index in np.ndindex(*sizes):
        result[index] = value
    return result


def shape(value: Value) -> tuple[int, ...]:
    """Return the sizes of `value`; ``()`` for a scalar."""
    return tuple(value.shape) if isinstance(value, np.ndarray) else ()


def flat(value: Value) -> list[Scalar]:
    """Return the scalars of `value`, row by row; fields of records in order."""
    if isinstance(value, RecordValue):
        return [scalar for item in value.fields.values() for scalar in flat(item)]
    if isinstance(value, np.ndarray):
        return list(value.ravel(order="C"))
    return [value]


def elementwise(function: Callable[[Scalar], Scalar], value: Value) -> Value:
    """Apply `function` to every scalar of `value`."""
    if isinstance(value, RecordValue):
        raise Refusal("unsupported-record", "arithmetic with a record")
    return (
        np.frompyfunc(function, 1, 1)(value) if isinstance(value, np.ndarray) else function(value)
    )


def pairwise(
    function: Callable[[Scalar, Scalar], Scalar], left: Value, right: Value, what: str
) -> Value:
    """Apply `function` to the pairs of two values of equal shape."""
    if shape(left) != shape(right):
        raise Refusal(
            "shape-mismatch",
            f"the two sides of {what} have the sizes {_sizes(left)} and {_sizes(right)}",
            hint="make both sides the same size",
        )
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.frompyfunc(function, 2, 1)(left, right)
    return function(left, right)


def _sizes(value: Value) -> str:
    if isinstance(value, RecordValue):
        return f"of the record {value.type_name}"
    return "[" + ", ".join(str(n) for n in shape(value)) + "]" if shape(value) else "of a scalar"


def _shapes_text(shapes: set[tuple[int, ...]]) -> str:
    return ", ".join(sorted("[" + ", ".join(map(str, s)) + "]" for s in shapes))


def _numeric(value: Scalar, what: str) -> Scalar:
    if isinstance(value, bool | str):
        kind = "a Boolean" if isinstance(value, bool) else "a String"
        raise Refusal("type-error", f"{kind} is used in {what}", hint="use a number here")
    return value


def _checked(value: Scalar, what: str) -> Scalar:
    """Return a value; refuse a constant expression that is not finite."""
    value = plain(value)
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise Refusal(
            "not-finite",
            f"{what} has no finite real value",
            hint="correct the constants in this expression",
        )
    return value


def add(a: Scalar, b: Scalar) -> Scalar:
    """Return ``a + b``."""
    return _checked(_numeric(a, "a sum") + _numeric(b, "a sum"), "a constant sum")


def subtract(a: Scalar, b: Scalar) -> Scalar:
    """Return ``a - b``."""
    return _checked(_numeric(a, "a sum") - _numeric(b, "a sum"), "a constant difference")


def multiply(a: Scalar, b: Scalar) -> Scalar:
    """Return ``a * b``."""
    return _checked(_numeric(a, "a product") * _numeric(b, "a product"), "a constant product")


def divide(a: Scalar, b: Scalar) -> Scalar:
    """Return ``a / b``; refuse a division by the constant zero."""
    if is_number(b) and b == 0:
        raise Refusal("division-by-zero", "a division by zero", hint="correct the divisor")
    return _checked(_numeric(a, "a quotient") / _numeric(b, "a quotient"), "a constant quotient")


def power(a: Scalar, b: Scalar) -> Scalar:
    """Return ``a ^ b``."""
    _numeric(a, "a power"), _numeric(b, "a power")
    try:
        return _checked(a**b if is_symbolic(b) or is_symbolic(a) else float(a) ** b, "a power")
    except (ZeroDivisionError, OverflowError):
        raise Refusal(
            "not-finite", "a power has no finite value", hint="correct the exponent"
        ) from None


def negate(a: Scalar) -> Scalar:
    """Return ``-a``."""
    return -_numeric(a, "a negation")


def matrix_product(left: Value, right: Value) -> Value:
    """Return the product of Modelica's ``*``: scalar, dot, matrix-vector or matrix-matrix."""
    if not isinstance(left, np.ndarray):
        return elementwise(lambda b: multiply(left, b), right)
    if not isinstance(right, np.ndarray):
        return elementwise(lambda a: multiply(a, right), left)
    if left.ndim > 2 or right.ndim > 2 or left.shape[-1] != right.shape[0]:
        raise Refusal(
            "shape-mismatch",
            f"a product of arrays of the sizes {_sizes(left)} and {_sizes(right)}",
            hint="the last size of the left factor must be the first size of the right one; "
            "'.*' multiplies element by element",
        )
    rows = left if left.ndim == 2 else left[np.newaxis, :]
    columns = right if right.ndim == 2 else right[:, np.newaxis]
    result = np.empty((rows.shape[0], columns.shape[1]), dtype=object)
    for i, j in np.ndindex(*result.shape):
        total: Scalar = 0
        for k in range(rows.shape[1]):
            total = add(total, multiply(rows[i, k], columns[k, j]))
        result[i, j] = total
    if left.ndim == 1:
        result = result[0]
        return result[0] if right.ndim == 1 else result
    return result[:, 0] if right.ndim == 1 else result


def choose(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """Return ``if condition then yes else no`` of scalars."""
    if isinstance(condition, bool):
        return yes if condition else no
    if isinstance(yes, str) or isinstance(no, str):
        raise Refusal("type-error", "a String that depends on a condition")
    if not is_symbolic(yes) and not is_symbolic(no) and yes == no and type(yes) is type(no):
        return yes
    return ca.if_else(condition, yes, no)


def choose_value(condition: Scalar, yes: Value, no: Value) -> Value:
    """Return ``if condition then yes else no``; both sides of equal shape."""
    if isinstance(condition, bool):
        return yes if condition else no
    if isinstance(yes, RecordValue) and isinstance(no, RecordValue):
        fields = {
            name: choose_value(condition, yes.fields[name], no.fields[name]) for name in yes.fields
        }
        return RecordValue(yes.type_name, fields)
    return pairwise(lambda a, b: choose(condition, a, b), yes, no, "an if-expression")


def logical_not(a: Scalar) -> Scalar:
    """Return ``not a``."""
    return (not a) if isinstance(a, bool) else ca.logic_not(_truth(a))


def logical_and(a: Scalar, b: Scalar) -> Scalar:
    """Return ``a and b``."""
    if isinstance(a, bool):
        return _truth(b) if a else False
    if isinstance(b, bool):
        return _truth(a) if b else False
    return ca.logic_and(_truth(a), _truth(b))


def logical_or(a: Scalar, b: Scalar) -> Scalar:
    """Return ``a or b``."""
    if isinstance(a, bool):
        return True if a else _truth(b)
    if isinstance(b, bool):
        return True if b else _truth(a)
    return ca.logic_or(_truth(a), _truth(b))


_RELATIONS: Mapping[str, Callable[[Scalar, Scalar], Scalar]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
    "==": operators.eq,
    "<>": operators.ne,
}


def compared(operator: str, left: Scalar, right: Scalar) -> Scalar:
    """Return a relation of scalars, known or symbolic."""
    if is_symbolic(left) or is_symbolic(right):
        return _RELATIONS[operator](left, right)
    if isinstance(left, bool | str) != isinstance(right, bool | str):
        raise Refusal("type-error", f"'{operator}' of values of different types", hint="")
    return bool(_RELATIONS[operator](left, right))


def absolute(value: Scalar) -> Scalar:
    """Return the absolute value."""
    return ca.fabs(value) if is_symbolic(value) else abs(value)


def _truth(a: Scalar) -> Scalar:
    if isinstance(a, bool) or is_symbolic(a):
        return a
    raise Refusal("type-error", "a number is used where a Boolean is needed", hint="compare it")


def positions(value: Value, size: int, what: str, span: sx.Span) -> int | list[int]:
    """Return the zero-based positions that a subscript selects."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return [_position(item, size, what, span) for item in value]
    return _position(value, size, what, span)


def _position(value: Value, size: int, what: str, span: sx.Span) -> int:
    if is_symbolic(value):
        raise Refusal("unsupported-subscript", f"a subscript of '{what}' is not constant", span)
    if not is_number(value) or value != int(value):
        raise Refusal("type-error", f"a subscript of '{what}' is not an integer", span, "")
    if not 1 <= value <= size:
        raise Refusal(
            "subscript-range", f"subscript {value} of '{what}' is outside 1 to {size}", span, ""
        )
    return int(value) - 1


def region(key: Key) -> tuple[tuple[int, ...], tuple[npt.NDArray[np.intp], ...]]:
    """Return the sizes of the selection and the NumPy index arrays for it."""
    sizes = tuple(len(k) for k in key if isinstance(k, list))
    return sizes, np.ix_(*[k if isinstance(k, list) else [k] for k in key])


def select(value: ArrayValue, key: Key) -> Value:
    """Return the selected part of an array; a scalar if there is no slice."""
    sizes, selector = region(key)
    block = value[selector]
    return block.reshape(sizes) if sizes else block.ravel()[0]


def replaced(value: ArrayValue, key: Key, part: Value) -> ArrayValue:
    """Return a copy of `value` with the selected part replaced; sizes must fit."""
    _, selector = region(key)
    block = np.empty(tuple(len(k) if isinstance(k, list) else 1 for k in key), dtype=object)
    for index, scalar in zip(np.ndindex(*block.shape), flat(part), strict=True):
        block[index] = scalar
    result = value.copy()
    result[selector] = block
    return result


def element_at(value: ArrayValue, place: Scalar) -> tuple[Value, Scalar]:
    """Return a vector element at a symbolic index, and whether the index is valid."""
    element: Value = value[0]
    inside: Scalar = place == 1
    for i in range(1, len(value)):
        here = place == i + 1
        element = choose_value(here, value[i], element)
        inside = logical_or(inside, here)
    return element, inside


def jumps_with(expressions: Sequence[Scalar], symbols: Sequence[SX]) -> list[frozenset[int]]:
    """Return for each expression the positions of the symbols in which it may jump."""
    stacked = ca.SX(ca.vertcat(*expressions))
    function = ca.Function(
        "jumps", [ca.SX(ca.vertcat(*symbols))], [ca.densify(stacked)], {"allow_free": True}
    )
    # Bits of the symbols on which a value depends, and of those with which it jumps.
    used: dict[int, tuple[int, int]] = {}
    results = [0] * len(expressions)
    for _, operation, inputs, outputs in instructions(function):
        if operation == ca.OP_INPUT:
            used[outputs[0]] = (1 << inputs[1], 0)
        elif operation == ca.OP_OUTPUT:
            results[outputs[1]] = used[inputs[0]][1]
        elif operation in (ca.OP_CONST, ca.OP_PARAMETER):
            used[outputs[0]] = (0, 0)
        else:
            depends = jumps = 0
            for i in inputs:
                depends |= used[i][0]
                jumps |= used[i][1]
            used[outputs[0]] = (depends, depends if operation in _JUMPING else jumps)
    positions = range(len(symbols))
    return [frozenset(j for j in positions if bits >> j & 1) for bits in results]


def is_affine(expressions: Sequence[Scalar], symbols: Sequence[SX]) -> bool:
    """Return whether expressions are affine in the given symbols."""
    stacked, unknown = ca.SX(ca.vertcat(*expressions)), ca.SX(ca.vertcat(*symbols))
    if ca.depends_on(ca.jacobian(stacked, unknown), unknown):
        return False
    return not any(jumps_with(expressions, symbols))
