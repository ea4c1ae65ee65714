"""Reads when-equations of rumoca's flat model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.flat_expressions import (
    Node,
    UnknownNodeError,
    expression,
    single,
    span_of,
)


def when_equation(chain: Node) -> tuple[sx.WhenBranch, ...]:
    """Read a when-equation with its ``elsewhen``."""
    return tuple(_branch(node) for node in (chain["first"], *chain["else_when"]))


def _branch(node: Node) -> sx.WhenBranch:
    condition = node["condition"]
    return sx.WhenBranch(expression(condition), _items(node["equations"]), span_of(condition))


def _items(nodes: Sequence[Node]) -> tuple[sx.WhenItem, ...]:
    return tuple(_item(node) for node in nodes)


def _item(node: Node) -> sx.WhenItem:
    kind, body = single(node)
    span = span_of(body)
    match kind:
        case "Assign":
            return _assignment(body, body["target"], span)
        case "Reinit":
            return _assignment(body, body["state"], span, reinit=True)
        case "Conditional":
            branches = tuple((expression(c), _items(items)) for c, items in body["branches"])
            return sx.WhenConditional(branches, _items(body["else_branch"] or ()), span)
        case "Assert":
            level, condition = body.get("level"), expression(body["condition"])
            return sx.AssertStatement(
                condition,
                expression(body["message"]),
                None if level is None else expression(level),
                condition.span,
            )
        case _:
            raise UnknownNodeError(f"'{kind.lower()}' in a when-equation", span)


def _assignment(
    body: Any, variable: Any, span: sx.Span, *, reinit: bool = False
) -> sx.WhenAssignment:
    if not isinstance(variable, str):
        raise UnknownNodeError("a target of another form in a when-equation", span)
    return sx.WhenAssignment(variable, expression(body["value"]), reinit, span)
