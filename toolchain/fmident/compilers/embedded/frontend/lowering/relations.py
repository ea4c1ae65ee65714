"""Relations between scalars, known or symbolic."""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Mapping

from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.refusal import Refusal

_RELATIONS: Mapping[str, Callable[[Scalar, Scalar], Scalar]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
    "==": operators.eq,
    "<>": operators.ne,
}


def symbolic_relation(operator: str, left: Scalar, right: Scalar) -> Scalar:
    """Return a relation of which at least one side may be an expression."""
    if operator not in _RELATIONS:
        raise Refusal("unsupported-operator", f"the operator '{operator}'")
    return _RELATIONS[operator](left, right)


def compare(operator: str, left: Scalar, right: Scalar) -> bool:
    """Return a relation between known values."""
    if isinstance(left, bool | str) != isinstance(right, bool | str):
        raise Refusal("type-error", f"'{operator}' of values of different types", hint="")
    return bool(symbolic_relation(operator, left, right))
