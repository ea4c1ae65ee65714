"""Expressions as Modelica text, for messages."""

from __future__ import annotations

from typing import assert_never

from fmident.compilers.embedded.frontend.reading import syntax as sx

LONGEST = 120
"""Longest text of an equation in a message."""

_PRECEDENCE = {
    "or": 1,
    "and": 2,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "==": 4,
    "<>": 4,
    "+": 5,
    "-": 5,
    ".+": 5,
    ".-": 5,
    "*": 6,
    "/": 6,
    ".*": 6,
    "./": 6,
    "^": 7,
    ".^": 7,
}
_ATOM = 9


def equation_text(equation: sx.Equation) -> str:
    """Return an equation as Modelica text, shortened in the middle if it is long."""
    right = "0" if equation.right is None else expression_text(equation.right)
    text = f"{expression_text(equation.left)} = {right}"
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 35]} ... {text[-30:]}"


def expression_text(node: sx.Expression | None) -> str:
    """Return an expression as Modelica text."""
    return _written(node)[0]


def _written(node: sx.Expression | None) -> tuple[str, int]:
    """Return text and precedence."""
    match node:
        case sx.Binary(operator=operator, left=left, right=right):
            level = _PRECEDENCE.get(operator, 0)
            joint = operator if level >= 6 else f" {operator} "
            # Powers do not associate; everything else associates to the left.
            first = _inside(left, level + (level == 7))
            return f"{first}{joint}{_inside(right, level + 1)}", level
        case sx.Unary(operator=operator, operand=operand):
            if operator == "not":
                return f"not {_inside(operand, 4)}", 3
            return f"{operator}{_inside(operand, 6)}", 5
        case sx.If(branches=branches, otherwise=otherwise):
            parts = [f"if {expression_text(c)} then {expression_text(b)}" for c, b in branches]
            return " else".join(parts) + f" else {expression_text(otherwise)}", 0
        case _:
            return _atom(node), _ATOM


def _inside(node: sx.Expression, level: int) -> str:
    text, own = _written(node)
    return f"({text})" if own < level else text


def _atom(node: sx.Expression | None) -> str:  # noqa: C901 - a case for each node
    match node:
        case None:
            return ":"
        case sx.Number(value=value):
            return f"{value:.15g}" if isinstance(value, float) else str(value)
        case sx.Boolean(value=value):
            return "true" if value else "false"
        case sx.Text(value=value):
            return f'"{value}"'
        case sx.Reference(name=name, subscripts=subs):
            return name + (f"[{_listed(subs)}]" if subs else "")
        case sx.Call(name=name, arguments=arguments):
            return f"{name}({_listed(arguments)})"
        case sx.Array(elements=elements, layout="array"):
            return f"{{{_listed(elements)}}}"
        case sx.Array(elements=elements, layout=layout):
            joint = ", " if layout == "horizontal" else "; "
            parts = [expression_text(e) for e in elements]
            return "[" + joint.join(p.strip("[]") for p in parts) + "]"
        case sx.Tuple(elements=items):
            return "(" + ", ".join("" if p is None else expression_text(p) for p in items) + ")"
        case sx.Range(start=start, step=step, end=end):
            middle = [] if step is None else [step]
            return ":".join(_inside(part, 6) for part in [start, *middle, end])
        case sx.Comprehension(body=body, indices=indices):
            loops = ", ".join(f"{n} in {expression_text(d)}" for n, d in indices)
            return f"{{{expression_text(body)} for {loops}}}"
        case sx.Index(base=base, subscripts=subs):
            return f"{_inside(base, _ATOM)}[{_listed(subs)}]"
        case sx.Field(base=base, name=name):
            return f"{_inside(base, _ATOM)}.{name}"
        case sx.Binary() | sx.Unary() | sx.If():
            return f"({_written(node)[0]})"
        case _:
            assert_never(node)


def _listed(nodes: tuple[sx.Expression | None, ...] | tuple[sx.Expression, ...]) -> str:
    return ", ".join(expression_text(n) for n in nodes)
