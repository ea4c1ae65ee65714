"""Reader of expressions in rumoca's flat model; see ``flat_reader``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.syntax import Span

Node: TypeAlias = Mapping[str, Any]

BINARY_OPERATORS: Mapping[str, str] = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "Exp": "^",
    "AddElem": ".+",
    "SubElem": ".-",
    "MulElem": ".*",
    "DivElem": "./",
    "ExpElem": ".^",
    "Eq": "==",
    "Neq": "<>",
    "Lt": "<",
    "Le": "<=",
    "Gt": ">",
    "Ge": ">=",
    "And": "and",
    "Or": "or",
}
UNARY_OPERATORS: Mapping[str, str] = {
    "Minus": "-",
    "DotMinus": "-",
    "Plus": "+",
    "DotPlus": "+",
    "Not": "not",
}


ARRAY_LAYOUTS: Mapping[str, Literal["array", "horizontal", "vertical"]] = {
    "Array": "array",
    "Horizontal": "horizontal",
    "Vertical": "vertical",
}


class UnknownNodeError(Exception):
    """The flat model contains a node unknown to this reader."""

    def __init__(self, what: str, span: Span) -> None:
        super().__init__(what)
        self.what = what
        self.span = span


def span_in(node: Any) -> Span:
    """Return `node` as a span, or ``NOWHERE`` if it is none."""
    if isinstance(node, Mapping) and {"source", "start", "end"} <= set(node):
        return Span(int(node["source"]), int(node["start"]), int(node["end"]))
    return sx.NOWHERE


def span_of(node: Any) -> Span:
    """Return the span of `node`, or the first one found inside it."""
    if isinstance(node, Mapping):
        for key in ("span", "source_span"):
            if key in node:
                return span_in(node[key])
        values: Sequence[Any] = list(node.values())
    elif isinstance(node, list):
        values = node
    else:
        return sx.NOWHERE
    for value in values:
        span = span_of(value)
        if span != sx.NOWHERE:
            return span
    return sx.NOWHERE


def single(node: Node) -> tuple[str, Any]:
    """Return the only key of a node, and its value."""
    if len(node) != 1:
        raise UnknownNodeError(f"a node with the keys {sorted(node)}", span_of(node))
    return next(iter(node.items()))


def expression(node: Node) -> sx.Expression:
    """Read one expression."""
    kind, body = single(node)
    span = span_in(body.get("span")) if isinstance(body, Mapping) else sx.NOWHERE
    reader = _READERS.get(kind)
    if reader is None:
        raise UnknownNodeError(f"an expression of the form {kind}", span_of(node))
    return reader(body, span)


def _expressions(nodes: Iterable[Node]) -> tuple[sx.Expression, ...]:
    return tuple(expression(n) for n in nodes)


def _operator(body: Any, known: Mapping[str, str], span: Span) -> str:
    operator = body["op"]
    if operator not in known:
        raise UnknownNodeError(f"the operator {operator}", span)
    return known[operator]


def _binary(body: Any, span: Span) -> sx.Expression:
    operator = _operator(body, BINARY_OPERATORS, span)
    return sx.Binary(operator, expression(body["lhs"]), expression(body["rhs"]), span)


def _unary(body: Any, span: Span) -> sx.Expression:
    return sx.Unary(_operator(body, UNARY_OPERATORS, span), expression(body["rhs"]), span)


def _builtin_call(body: Any, span: Span) -> sx.Expression:
    name = str(body["function"])
    return sx.Call(name[0].lower() + name[1:], _expressions(body["args"]), True, span)


def _function_call(body: Any, span: Span) -> sx.Expression:
    name, arguments = body["name"]["name"], _expressions(body["args"])
    return sx.Call(name, arguments, False, span, constructor=bool(body.get("is_constructor")))


def _if(body: Any, span: Span) -> sx.Expression:
    branches = tuple((expression(c), expression(v)) for c, v in body["branches"])
    return sx.If(branches, expression(body["else_branch"]), span)


def _array(body: Any, span: Span) -> sx.Expression:
    if body["kind"] not in ARRAY_LAYOUTS:
        raise UnknownNodeError(f"an array of the kind {body['kind']}", span)
    return sx.Array(_expressions(body["elements"]), span, ARRAY_LAYOUTS[body["kind"]])


def _tuple(body: Any, span: Span) -> sx.Expression:
    return sx.Tuple(tuple(None if is_empty(e) else expression(e) for e in body["elements"]), span)


def _range(body: Any, span: Span) -> sx.Expression:
    step = None if body["step"] is None else expression(body["step"])
    return sx.Range(expression(body["start"]), step, expression(body["end"]), span)


def _comprehension(body: Any, span: Span) -> sx.Expression:
    if body.get("filter") is not None:
        raise UnknownNodeError("an array comprehension with a filter", span)
    return sx.Comprehension(expression(body["expr"]), indices(body["indices"]), span)


_READERS: Mapping[str, Callable[[Any, Span], sx.Expression]] = {
    "Literal": lambda body, span: _literal(body["value"], span),
    "VarRef": lambda body, span: sx.Reference(
        body["name"]["name"], subscripts(body["subscripts"]), span
    ),
    "Binary": _binary,
    "Unary": _unary,
    "BuiltinCall": _builtin_call,
    "FunctionCall": _function_call,
    "StringConversion": lambda body, span: sx.Call(
        "String", (expression(body["value"]),), True, span
    ),
    "If": _if,
    "Array": _array,
    "Tuple": _tuple,
    "Range": _range,
    "ArrayComprehension": _comprehension,
    "Index": lambda body, span: sx.Index(
        expression(body["base"]), subscripts(body["subscripts"]), span
    ),
    "FieldAccess": lambda body, span: sx.Field(expression(body["base"]), body["field"], span),
}
"""By rumoca's name of the form of an expression."""


def is_empty(node: Any) -> bool:
    """Return whether a node is absent."""
    return node is None or node == "Empty" or (isinstance(node, Mapping) and "Empty" in node)


def _literal(value: Any, span: Span) -> sx.Expression:
    kind, content = single(value)
    match kind:
        case "Real":
            return sx.Number(float(content), span)
        case "Integer":
            return sx.Number(int(content), span)
        case "Boolean":
            return sx.Boolean(bool(content), span)
        case "String":
            return sx.Text(str(content), span)
        case _:
            raise UnknownNodeError(f"a literal of the type {kind}", span)


def subscripts(nodes: Sequence[Any]) -> tuple[sx.Expression | None, ...]:
    """Read subscripts; ``None`` is a colon."""
    result: list[sx.Expression | None] = []
    for node in nodes:
        kind, body = single(node)
        match kind:
            case "Index":
                result.append(sx.Number(int(body["value"]), span_of(body)))
            case "Expr":
                result.append(expression(body["expr"]))
            case "Colon":
                result.append(None)
            case _:
                raise UnknownNodeError(f"a subscript of the form {kind}", span_of(node))
    return tuple(result)


def indices(nodes: Sequence[Node]) -> tuple[tuple[str, sx.Expression], ...]:
    """Read loop indices and their ranges."""
    return tuple((name_of(n.get("ident", n.get("name"))), expression(n["range"])) for n in nodes)


def name_of(node: Any) -> str:
    """Return the text of an identifier."""
    return str(node["text"]) if isinstance(node, Mapping) else str(node)
