"""Reader of rumoca's flat model (``Model.to_dict(stage="flat")``) into the syntax tree.

The flat dictionary is read rather than the printed flat Modelica, because the text
lacks ``noEvent``, ``smooth``, function bodies and source positions. Its format is that
of one minor version of rumoca, so the reader is strict: an unknown node raises
:class:`Refusal`.

A family of for-equations with ``interiors_materialized = false`` has placeholders from
the third point on. Its template is instantiated for every point instead.
"""

from __future__ import annotations

import itertools
import math
import operator as operators
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypeVar

from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.syntax import Span
from fmident.compilers.embedded.frontend.refusal import Refusal, check_size

Node: TypeAlias = Mapping[str, Any]

_BINARY_OPERATORS: Mapping[str, str] = {
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
_UNARY_OPERATORS: Mapping[str, str] = {
    "Minus": "-",
    "DotMinus": "-",
    "Plus": "+",
    "DotPlus": "+",
    "Not": "not",
}
_LAYOUTS: Mapping[str, Literal["array", "horizontal", "vertical"]] = {
    "Array": "array",
    "Horizontal": "horizontal",
    "Vertical": "vertical",
}
_VARIABILITIES: Mapping[str, sx.Variability] = {
    "Parameter": "parameter",
    "Constant": "constant",
    "Discrete": "discrete",
    "Continuous": "continuous",
    "Empty": "continuous",
}
_CAUSALITIES: Mapping[str, sx.Causality] = {"Input": "input", "Output": "output", "Empty": "none"}
_LITERALS: Mapping[str, tuple[type[sx.Number | sx.Boolean | sx.Text], type]] = {
    "Real": (sx.Number, float),
    "Integer": (sx.Number, int),
    "Boolean": (sx.Boolean, bool),
    "String": (sx.Text, str),
}
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
}

_Known = TypeVar("_Known")


def read_checked(flat: Node, name: str, *, ignore: str = "") -> sx.FlatModel:
    """Read the flat dictionary like :func:`read_flat`; refuse an unknown format."""
    try:
        return read_flat(flat, name, ignore=ignore)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unknown(
            f"a flat model of another form ({type(error).__name__}: {error})", sx.NOWHERE
        ) from error


def read_flat(flat: Node, name: str, *, ignore: str = "") -> sx.FlatModel:
    """Read the flat dictionary of the class `name`, without the variable `ignore`."""
    final = flat.get("variable_final_flags", {})
    structural = {
        ".".join(str(part) for part in path)
        for selection in flat.get("parameter_branch_selections", ())
        for path in selection["references"]
    }
    types = flat["variable_type_names"]
    variables = {
        key: _variable(node, types.get(key, ""), bool(final.get(key, False)), key in structural)
        for key, node in flat["variables"].items()
        if key != ignore
    }
    for variable in variables.values():
        check_size(variable.shape, f"'{variable.name}'", variable.span)
    check_size([sum(math.prod(x.shape) for x in variables.values())], "the model with its arrays")
    check_size([len(flat["equations"])], "the list of equations")
    equations = _equations(flat["equations"], flat["structured_equations"])
    initial = _equations(flat["initial_equations"], flat["initial_structured_equations"])
    assertions = [_assertion(node) for node in flat["assert_equations"]]
    algorithms: list[tuple[sx.Statement, ...]] = []
    for statements in (_statements(section["statements"]) for section in flat["algorithms"]):
        checks = [s for s in statements if isinstance(s, sx.AssertStatement)]
        if len(checks) == len(statements):
            assertions += checks  # the order does not matter, they act as equations do
        else:
            algorithms.append(statements)
    refusals = [
        Refusal("unsupported-initial-assert", "an initial assert", span_of(node))
        for node in flat["initial_assert_equations"]
    ]
    if flat.get("definite_roots") or flat.get("branches") or flat.get("potential_roots"):
        what = "an overconstrained connection"
        refusals.append(Refusal("unsupported-overconstrained", what))
    if refusals:
        raise ExceptionGroup("refused", refusals)
    enumerations = set(flat["enumeration_types"])
    return sx.FlatModel(
        name=name,
        description=flat.get("model_description") or "",
        variables=variables,
        equations=tuple(e for e in equations if ignore not in _references(e.left)),
        initial_equations=tuple(initial),
        assertions=tuple(assertions),
        functions={key: _function(node) for key, node in flat["functions"].items()},
        records={
            node["name"]: tuple(f["name"] for f in node["fields"])
            for node in flat["record_types"].values()
        },
        record_instances={key: node["type_name"] for key, node in flat["record_instances"].items()},
        whens=tuple(map(_when, flat["when_chains"])),
        algorithms=tuple(algorithms),
        initial_algorithms=tuple(_statements(s["statements"]) for s in flat["initial_algorithms"]),
        enumerations=frozenset(
            types.get(key, "")
            for key, node in flat["variables"].items()
            if node["type_id"] in enumerations
        ),
        connectors=frozenset(flat.get("top_level_connectors", ())),
        # rumoca gives short names of literals, too: a variable of such a name comes first.
        enumerators={
            str(k): int(n) for k, n in flat["enum_literal_ordinals"].items() if k not in variables
        },
    )


def _equations(nodes: Sequence[Node], families: Sequence[Node]) -> list[sx.Equation]:
    """Read equations; those of for-equations that are placeholders come from the templates."""
    result = []
    for node in nodes:
        is_difference = _keyword(node["origin"]) != "FlowSum"
        residual, span = expression(node["residual"]), span_in(node["span"])
        result.append(_equation(residual, span, is_difference))
    for node in families:
        if not node["interiors_materialized"]:
            first = int(node["first_equation_index"])
            for position, equation in enumerate(_expanded(node), start=first):
                result[position] = equation
    return result


def _equation(residual: sx.Expression, span: Span, is_difference: bool = True) -> sx.Equation:
    if is_difference and isinstance(residual, sx.Binary) and residual.operator == "-":
        return sx.Equation(residual.left, residual.right, span)
    return sx.Equation(residual, None, span)


def _expanded(node: Node) -> Iterator[sx.Equation]:
    """Yield the equations of all points of one for-equation, the outermost index first."""
    body = tuple(expression(e) for e in node["template"]["body"])
    span = span_of(node)
    if len(body) != node["equations_per_point"]:
        raise _unknown("a for-equation without its body", span)
    ranges = {}
    for binder in node["domain"]["binders"]:
        low, high, step = (int(binder[key]) for key in ("lower", "upper", "step"))
        ranges[str(binder["display_name"])] = range(low, high + (1 if step > 0 else -1), step)
    check_size([*map(len, ranges.values()), len(body)], "a for-equation", span)
    for point in itertools.product(*ranges.values()):
        values = dict(zip(ranges, point, strict=True))
        for residual in body:
            yield _equation(instantiate(residual, values), span)


def _assertion(node: Node) -> sx.AssertStatement:
    return sx.AssertStatement(
        expression(node["condition"]),
        expression(node["message"]),
        _optional(node.get("level")),
        span_in(node.get("span")),
    )


def _target(node: Any) -> sx.Target:
    parts = tuple((name_of(p["ident"]), subscripts(p["subs"])) for p in node["parts"])
    return sx.Target(parts, span_in(node.get("span")))


def _statement(node: Any) -> sx.Statement:
    if isinstance(node, str):
        return sx.OtherStatement(node.lower(), sx.NOWHERE)
    kind, body = single(node)
    span = span_of(body)
    match kind:
        case "Assignment":
            return sx.Assignment(_target(body["comp"]), expression(body["value"]), span)
        case "FunctionCall":
            call = sx.Call(body["comp"]["name"], _expressions(body["args"]), False, span)
            targets = tuple(None if is_empty(t) else _target(t) for t in body["outputs"])
            return sx.CallStatement(call, targets, span)
        case "If":
            branches = tuple(_guarded(block) for block in body["cond_blocks"])
            return sx.IfStatement(branches, _statements(body["else_block"] or ()), span)
        case "For":
            return sx.ForStatement(indices(body["indices"]), _statements(body["equations"]), span)
        case "While":
            return sx.WhileStatement(*_guarded(body["block"]), span)
        case "When":
            return sx.WhenStatement(tuple(map(_guarded, body["blocks"])), span)
        case "Assert":
            return _assertion(body)
        case _:
            return sx.OtherStatement(kind.lower(), span)


def _guarded(block: Node) -> tuple[sx.Expression, tuple[sx.Statement, ...]]:
    return expression(block["cond"]), _statements(block["stmts"])


def _statements(nodes: Sequence[Any]) -> tuple[sx.Statement, ...]:
    return tuple(_statement(n) for n in nodes if n != "Empty")


def _function(node: Node) -> sx.Function:
    external, span = node.get("external"), span_in(node.get("span"))
    body = _statements(node["body"])
    name = str(external["function_name"] or "") if external else ""
    arguments = _expressions(external["args"]) if external else ()
    if external is not None and external["language"] == "builtin" and external["output_name"]:
        # external "builtin" y = sin(u) is the statement y := sin(u)
        target = sx.Target(((str(external["output_name"]), ()),), span)
        body = (sx.Assignment(target, sx.Call(name, arguments, True, span), span),)
        external, name, arguments = None, "", ()
    return sx.Function(
        name=node["name"],
        inputs=tuple(map(_function_variable, node["inputs"])),
        outputs=tuple(map(_function_variable, node["outputs"])),
        locals=tuple(map(_function_variable, node["locals"])),
        body=body,
        external=external is not None,
        pure=bool(node.get("pure", True)),
        constructor=bool(node.get("is_constructor")),
        span=span,
        external_name=name,
        external_arguments=arguments,
        derivative=next(map(_function_derivative, node["derivatives"]), None),
    )


def _function_derivative(node: Node) -> sx.FunctionDerivative:
    return sx.FunctionDerivative(
        name=node["derivative_function"]["name"],
        order=int(node["order"]),
        differentiated=tuple(one == "Differentiate" for one in node["inputs"]),
    )


def _function_variable(node: Node) -> sx.FunctionVariable:
    sizes = subscripts(node["shape_expr"])
    if not sizes:
        # A type such as Position3 = Real[3] brings its sizes with it.
        sizes = tuple(sx.Number(int(n)) for n in node["effective_type"]["dimensions"])
    default, span = _optional(node.get("default")), span_in(node.get("span"))
    return sx.FunctionVariable(node["name"], node["type_name"], sizes, default, span)


def _variable(node: Node, type_name: str, final: bool, structural: bool) -> sx.Variable:
    span = span_in(node["source_span"])
    start = _optional(node["start"])
    if start is not None and start.span == span:
        start = None  # rumoca's own default, not an attribute of the user
    variability = _known(_VARIABILITIES, _keyword(node["variability"]), "the variability", span)
    if node.get("is_discrete_type") and variability == "continuous":
        variability = "discrete"
    attributes = ("binding", "fixed", "min", "max", "nominal")
    binding, fixed, minimum, maximum, nominal = (
        _attribute(node.get(key), span) for key in attributes
    )
    known = binding is not None or not isinstance(fixed, sx.Boolean) or fixed.value
    free = variability == "parameter" and not known
    if free:
        variability = "discrete"  # it changes at the start only
    return sx.Variable(
        name=node["name"],
        type_name=type_name,
        shape=tuple(int(n) for n in node["dims"]),
        variability=variability,
        causality=_known(_CAUSALITIES, _keyword(node["causality"]), "the causality", span),
        span=span,
        binding=binding,
        start=start,
        fixed=fixed,
        minimum=minimum,
        maximum=maximum,
        nominal=nominal,
        unit=node.get("unit") or "",
        display_unit=node.get("display_unit") or "",
        quantity=node.get("quantity") or "",
        description=node.get("description") or "",
        final=final,
        protected=bool(node.get("is_protected")),
        evaluate=bool(node.get("evaluate")) and not final,
        structural=structural,
        stream=bool(node.get("stream")),
        free=free,
        state_select=_keyword(node.get("state_select", "Default")).lower(),
    )


def _attribute(value: Any, span: Span) -> sx.Expression | None:
    """Read an attribute: an expression, a plain value, or a list of one or more of these."""
    match value:
        case None:
            return None
        case bool():
            return sx.Boolean(value, span)
        case int() | float():
            return sx.Number(value, span)
        case [single]:
            return _attribute(single, span)
        case [*several]:
            elements = tuple(e for v in several if (e := _attribute(v, span)) is not None)
            if len(elements) != len(several):
                raise _unknown("an attribute of some elements of an array only", span)
            return sx.Array(elements, span)
        case _:
            return expression(value)


def _keyword(node: Any) -> str:
    return str(next(iter(node))) if isinstance(node, Mapping) else str(node)


def _references(expression: sx.Expression) -> set[str]:
    return {n.name for n in sx.walk(expression) if isinstance(n, sx.Reference)}


def _when(chain: Node) -> sx.WhenStatement:
    nodes = (chain["first"], *chain["else_when"])
    branches = tuple((expression(n["condition"]), _items(n["equations"])) for n in nodes)
    return sx.WhenStatement(branches, span_of(chain["first"]["condition"]))


def _items(nodes: Sequence[Node]) -> tuple[sx.Statement, ...]:
    return tuple(map(_item, nodes))


def _item(node: Node) -> sx.Statement:
    """Read an equation in a when-equation."""
    kind, body = single(node)
    span = span_of(body)
    match kind:
        case "Assign" | "Reinit":
            variable = body["target" if kind == "Assign" else "state"]
            if not isinstance(variable, str):
                raise _unknown("a target of another form in a when-equation", span)
            target = sx.Target(((variable, ()),), span)
            return sx.Assignment(target, expression(body["value"]), span, kind == "Reinit")
        case "Conditional":
            branches = tuple((expression(c), _items(items)) for c, items in body["branches"])
            return sx.IfStatement(branches, _items(body["else_branch"] or ()), span)
        case "Assert":
            check = _assertion(body)
            return replace(check, span=check.condition.span)
        case _:
            raise _unknown(f"'{kind.lower()}' in a when-equation", span)


def instantiate(node: sx.Expression, values: Mapping[str, int]) -> sx.Expression:
    """Return `node` with index variables replaced by numbers and components by flat names."""

    def again(child: sx.Expression) -> sx.Expression:
        return instantiate(child, values)

    match node:
        case sx.Reference(name=name, subscripts=()) if name in values:
            return sx.Number(values[name], node.span)
        case sx.Reference():
            return replace(node, subscripts=_subscripts(node, values))
        case sx.Comprehension(body=body, indices=indices):
            own = {name for name, _ in indices}  # they hide others of the same name
            outer = {name: k for name, k in values.items() if name not in own}
            domains = tuple((name, again(domain)) for name, domain in indices)
            return replace(node, body=instantiate(body, outer), indices=domains)
        case sx.Index():
            base, keys = again(node.base), _subscripts(node, values)
            if isinstance(base, sx.Reference) and not base.subscripts:
                return sx.Reference(base.name, keys, node.span)
            return replace(node, base=base, subscripts=keys)
        case sx.Field():
            return _component(sx.rebuilt(node, again))
        case _:
            return sx.rebuilt(node, again)


def _subscripts(
    node: sx.Reference | sx.Index, values: Mapping[str, int]
) -> tuple[sx.Expression | None, ...]:
    return tuple(None if s is None else _folded(instantiate(s, values)) for s in node.subscripts)


def _component(node: sx.Field) -> sx.Expression:
    """Return ``fr[2].v`` as the flat variable of that name."""
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
        case sx.Binary(operator=operator, left=left, right=right) if operator in _ARITHMETIC:
            match _folded(left), _folded(right):
                case sx.Number(value=int(a)), sx.Number(value=int(b)):
                    return sx.Number(_ARITHMETIC[operator](a, b), node.span)
        case sx.Unary(operator="-", operand=operand):
            inner = _folded(operand)
            return sx.Number(-inner.value, node.span) if isinstance(inner, sx.Number) else node
    return node


def _unknown(what: str, span: Span) -> Refusal:
    return Refusal("unsupported", what, span)


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
        raise _unknown(f"a node with the keys {sorted(node)}", span_of(node))
    return next(iter(node.items()))


def _known(table: Mapping[str, _Known], key: str, what: str, span: Span) -> _Known:
    if key not in table:
        raise _unknown(f"{what} {key}", span)
    return table[key]


def _expressions(nodes: Iterable[Node]) -> tuple[sx.Expression, ...]:
    return tuple(map(expression, nodes))


def _optional(node: Node | None) -> sx.Expression | None:
    return None if node is None else expression(node)


def expression(node: Node) -> sx.Expression:  # noqa: C901 - a case for each form
    """Read one expression."""
    kind, body = single(node)
    span = span_in(body.get("span")) if isinstance(body, Mapping) else sx.NOWHERE
    match kind:
        case "Literal":
            of_type, content = single(body["value"])
            literal, convert = _known(_LITERALS, of_type, "a literal of the type", span)
            return literal(convert(content), span)
        case "VarRef":
            return sx.Reference(body["name"]["name"], subscripts(body["subscripts"]), span)
        case "Binary":
            operator = _known(_BINARY_OPERATORS, body["op"], "the operator", span)
            return sx.Binary(operator, expression(body["lhs"]), expression(body["rhs"]), span)
        case "Unary":
            operator = _known(_UNARY_OPERATORS, body["op"], "the operator", span)
            return sx.Unary(operator, expression(body["rhs"]), span)
        case "BuiltinCall":
            name = str(body["function"])
            return sx.Call(name[0].lower() + name[1:], _expressions(body["args"]), True, span)
        case "FunctionCall":
            name, constructor = body["name"]["name"], bool(body.get("is_constructor"))
            return sx.Call(name, _expressions(body["args"]), False, span, constructor)
        case "StringConversion":
            return sx.Call("String", (expression(body["value"]),), True, span)
        case "If":
            branches = tuple((expression(c), expression(v)) for c, v in body["branches"])
            return sx.If(branches, expression(body["else_branch"]), span)
        case "Array":
            layout = _known(_LAYOUTS, body["kind"], "an array of the kind", span)
            return sx.Array(_expressions(body["elements"]), span, layout)
        case "Tuple":
            elements = (None if is_empty(e) else expression(e) for e in body["elements"])
            return sx.Tuple(tuple(elements), span)
        case "Range":
            start, end = expression(body["start"]), expression(body["end"])
            return sx.Range(start, _optional(body["step"]), end, span)
        case "ArrayComprehension":
            if body.get("filter") is not None:
                raise _unknown("an array comprehension with a filter", span)
            return sx.Comprehension(expression(body["expr"]), indices(body["indices"]), span)
        case "Index":
            return sx.Index(expression(body["base"]), subscripts(body["subscripts"]), span)
        case "FieldAccess":
            return sx.Field(expression(body["base"]), body["field"], span)
        case _:
            raise _unknown(f"an expression of the form {kind}", span_of(node))


def is_empty(node: Any) -> bool:
    """Return whether a node is absent."""
    return node is None or node == "Empty" or (isinstance(node, Mapping) and "Empty" in node)


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
                raise _unknown(f"a subscript of the form {kind}", span_of(node))
    return tuple(result)


def indices(nodes: Sequence[Node]) -> tuple[tuple[str, sx.Expression], ...]:
    """Read loop indices and their ranges."""
    return tuple((name_of(n.get("ident", n.get("name"))), expression(n["range"])) for n in nodes)


def name_of(node: Any) -> str:
    """Return the text of an identifier."""
    return str(node["text"]) if isinstance(node, Mapping) else str(node)
