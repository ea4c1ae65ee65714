"""Texts and levels of asserts."""

from __future__ import annotations

from collections.abc import Callable

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.printing import expression_text
from fmident.compilers.embedded.frontend.refusal import Refusal


def is_warning(level: sx.Expression | None) -> bool:
    """Return whether an assert's level is ``AssertionLevel.warning`` (the first literal)."""
    match level:
        case None | sx.Number(value=2) | sx.Reference(name="AssertionLevel.error"):
            return False
        case sx.Number(value=1) | sx.Reference(name="AssertionLevel.warning"):
            return True
        case _:
            raise Refusal("type-error", "the level of an assert is not constant", level.span)


def text_of(value: Value, node: sx.Expression) -> str:
    """Return a known value as text, anything else as the expression in angle brackets."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if v.is_number(value):
        return str(value) if isinstance(value, int) else f"{value:.6g}"
    return f"<{expression_text(node)}>"


def message_text(node: sx.Expression, evaluate: Callable[[sx.Expression], Value]) -> str:
    """Return the text of a message; parts that vary with time are named, not valued."""
    match node:
        case sx.Text(value=value):
            return value
        case sx.Binary(operator="+", left=left, right=right):
            return message_text(left, evaluate) + message_text(right, evaluate)
        case sx.Call(name="string" | "String", arguments=(argument, *_)):
            return text_of(v.plain(evaluate(argument)), argument)
        case _:
            return text_of(evaluate(node), node)
