"""For-equations that rumoca keeps as a template and does not write out.

A family of equations with ``interiors_materialized = false`` has placeholders in the list of
equations from the third point on. Here the template is instantiated for every point instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fmident.compilers.embedded.frontend.limits import check_size
from fmident.compilers.embedded.frontend.reading import syntax as sx


@dataclass(frozen=True)
class Family:
    """Equations of one for-equation.

    Parameters
    ----------
    binders
        Name, first value, last value and step of each index, the outermost first.
    first
        Position of the first equation in the list of equations.
    body
        Residuals of one point.
    origin, span
        As of an equation.
    """

    binders: tuple[tuple[str, int, int, int], ...]
    first: int
    body: tuple[sx.Expression, ...]
    origin: str
    span: sx.Span


def expand(equations: Sequence[sx.Equation], families: Sequence[Family]) -> list[sx.Equation]:
    """Return the equations with those of the families written out."""
    result = list(equations)
    for family in families:
        ranges = [
            range(low, high + (1 if step > 0 else -1), step)
            for _, low, high, step in family.binders
        ]
        check_size([*map(len, ranges), len(family.body)], "a for-equation", family.span)
        position = family.first
        for point in itertools.product(*ranges):
            values = {b[0]: value for b, value in zip(family.binders, point, strict=True)}
            for residual in family.body:
                instance = instantiate(residual, values)
                left: sx.Expression = instance
                right: sx.Expression | None = None
                if isinstance(instance, sx.Binary) and instance.operator == "-":
                    left, right = instance.left, instance.right
                result[position] = sx.Equation(left, right, family.origin, family.span)
                position += 1
    return result


def instantiate(node: sx.Expression, values: Mapping[str, int]) -> sx.Expression:
    """Return `node` with index variables replaced by numbers, and flat names of components."""

    def again(child: sx.Expression) -> sx.Expression:
        return instantiate(child, values)

    match node:
        case sx.Reference(name=name, subscripts=()) if name in values:
            return sx.Number(values[name], node.span)
        case sx.Reference():
            return replace(node, subscripts=_subscripts(node, values))
        case sx.Comprehension():
            return _comprehension(node, values)
        case sx.Index():
            return _indexed(node, again(node.base), _subscripts(node, values))
        case sx.Field():
            return _component(sx.rebuilt(node, again))
        case _:
            return sx.rebuilt(node, again)


def _subscripts(
    node: sx.Reference | sx.Index, values: Mapping[str, int]
) -> tuple[sx.Expression | None, ...]:
    return tuple(None if s is None else _folded(instantiate(s, values)) for s in node.subscripts)


def _comprehension(node: sx.Comprehension, values: Mapping[str, int]) -> sx.Expression:
    """Return a comprehension, whose own indices hide others of the same name."""
    own = {name for name, _ in node.indices}
    inner = {name: k for name, k in values.items() if name not in own}
    indices = tuple((name, instantiate(domain, values)) for name, domain in node.indices)
    return replace(node, body=instantiate(node.body, inner), indices=indices)


def _indexed(
    node: sx.Index, base: sx.Expression, keys: tuple[sx.Expression | None, ...]
) -> sx.Expression:
    if isinstance(base, sx.Reference) and not base.subscripts:
        return sx.Reference(base.name, keys, node.span)
    return replace(node, base=base, subscripts=keys)


def _component(node: sx.Field) -> sx.Expression:
    """Return ``fr[2].v`` as the variable of that name."""
    base = node.base
    if not isinstance(base, sx.Reference):
        return node
    numbers = [s.value for s in base.subscripts if isinstance(s, sx.Number)]
    if len(numbers) != len(base.subscripts):
        return node
    index = "[" + ",".join(str(n) for n in numbers) + "]" if numbers else ""
    return sx.Reference(f"{base.name}{index}.{node.name}", (), node.span)


def _folded(node: sx.Expression) -> sx.Expression:
    """Return integer arithmetic in a subscript as one number."""
    match node:
        case sx.Binary(operator=operator, left=left, right=right):
            a, b = _folded(left), _folded(right)
            if not (isinstance(a, sx.Number) and isinstance(b, sx.Number)):
                return node
            if not (isinstance(a.value, int) and isinstance(b.value, int)):
                return node
            match operator:
                case "+":
                    return sx.Number(a.value + b.value, node.span)
                case "-":
                    return sx.Number(a.value - b.value, node.span)
                case "*":
                    return sx.Number(a.value * b.value, node.span)
            return node
        case sx.Unary(operator="-", operand=operand):
            inner = _folded(operand)
            return sx.Number(-inner.value, node.span) if isinstance(inner, sx.Number) else node
        case _:
            return node
