"""Subscripts of arrays."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import ArrayValue, Scalar, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

Key: TypeAlias = tuple[int | list[int], ...]
"""Zero-based positions per dimension: a number, or a list for a slice."""


def positions(value: Value, size: int, what: str, span: sx.Span) -> int | list[int]:
    """Return the zero-based positions that a subscript selects.

    Raises
    ------
    Refusal
        When it is not constant, no integer, or outside ``1`` to `size`.
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return [_position(item, size, what, span) for item in value]
    return _position(value, size, what, span)


def _position(value: Value, size: int, what: str, span: sx.Span) -> int:
    if v.is_symbolic(value):
        raise Refusal("unsupported-subscript", f"a subscript of '{what}' is not constant", span)
    if not v.is_number(value) or value != int(value):
        raise Refusal("type-error", f"a subscript of '{what}' is not an integer", span, "")
    if not 1 <= value <= size:
        raise Refusal(
            "subscript-range", f"subscript {value} of '{what}' is outside 1 to {size}", span, ""
        )
    return int(value) - 1


def region(key: Key) -> tuple[tuple[int, ...], tuple[npt.NDArray[np.intp], ...]]:
    """Return the sizes of the selection, and NumPy's index arrays for it."""
    sizes = tuple(len(k) for k in key if isinstance(k, list))
    return sizes, np.ix_(*[k if isinstance(k, list) else [k] for k in key])


def select(value: ArrayValue, key: Key) -> Value:
    """Return the selected part of an array; a scalar when nothing is a slice."""
    sizes, selector = region(key)
    block = value[selector]
    return block.reshape(sizes) if sizes else block.ravel()[0]


def replaced(value: ArrayValue, key: Key, part: Value) -> ArrayValue:
    """Return a copy of `value` with the selected part replaced; sizes must fit."""
    _, selector = region(key)
    block = np.empty(tuple(len(k) if isinstance(k, list) else 1 for k in key), dtype=object)
    for index, scalar in zip(np.ndindex(*block.shape), v.flat(part), strict=True):
        block[index] = scalar
    result = value.copy()
    result[selector] = block
    return result


def element_at(value: ArrayValue, place: Scalar) -> tuple[Value, Scalar]:
    """Return the element of a vector at a place that is not known, and whether there is one."""
    element: Value = value[0]
    inside: Scalar = place == 1
    for i in range(1, len(value)):
        here = place == i + 1
        element = v.choose_value(here, value[i], element)
        inside = v.logical_or(inside, here)
    return element, inside
