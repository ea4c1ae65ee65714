"""Texts and levels of asserts."""

from __future__ import annotations

from . import syntax as sx
from . import values as v
from .printing import expression_text
from .refusal import Refusal
from .values import Value


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
