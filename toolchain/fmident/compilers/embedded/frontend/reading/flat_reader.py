"""Reader of rumoca's flat model (``Model.to_dict(stage="flat")``) into the syntax tree.

The flat dictionary is read rather than the printed flat Modelica, because the text
lacks ``noEvent``, ``smooth``, function bodies and source positions. Its format is that
of one minor version of rumoca, so the reader is strict: an unknown node raises
:class:`UnknownNodeError`.

A family of for-equations with ``interiors_materialized = false`` has placeholders from
the third point on. Its template is instantiated for every point instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.flat_expressions import (
    Node,
    UnknownNodeError,
    expression,
    indices,
    is_empty,
    name_of,
    single,
    span_in,
    span_of,
    subscripts,
)
from fmident.compilers.embedded.frontend.reading.syntax import Span
from fmident.compilers.embedded.frontend.refusal import check_size


def read_checked(flat: Node, name: str, *, ignore: str = "") -> sx.FlatModel:
    """Read the flat dictionary like :func:`read_flat`; refuse an unknown format."""
    try:
        return read_flat(flat, name, ignore=ignore)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnknownNodeError(
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
    sections = _Sections(flat, variables, assertions, initial)
    enumerations = set(flat["enumeration_types"])
    records = {
        node["name"]: tuple(f["name"] for f in node["fields"])
        for node in flat["record_types"].values()
    }
    return sx.FlatModel(
        name=name,
        description=flat.get("model_description") or "",
        variables=variables,
        equations=tuple(e for e in equations if not _mentions(e, ignore)),
        initial_equations=tuple(initial),
        assertions=tuple(assertions),
        functions={key: _function(node) for key, node in flat["functions"].items()},
        records=records,
        record_instances={key: node["type_name"] for key, node in flat["record_instances"].items()},
        whens=tuple(when_equation(node) for node in flat["when_chains"]),
        algorithms=tuple(sections.algorithms),
        initial_calls=tuple(sections.initial_calls),
        enumerations=frozenset(
            types.get(key, "")
            for key, node in flat["variables"].items()
            if node["type_id"] in enumerations
        ),
        unsupported=tuple(sections.unsupported),
        connectors=frozenset(flat.get("top_level_connectors", ())),
        # rumoca gives short names of literals, too: a variable of such a name comes first.
        enumerators={
            str(k): int(n) for k, n in flat["enum_literal_ordinals"].items() if k not in variables
        },
    )


def _equations(nodes: Sequence[Node], families: Sequence[Node]) -> list[sx.Equation]:
    templates = [_family(node) for node in families if not node["interiors_materialized"]]
    return expand([_equation(node) for node in nodes], templates)


def _family(node: Node) -> Family:
    binders = tuple(
        (str(b["display_name"]), int(b["lower"]), int(b["upper"]), int(b["step"]))
        for b in node["domain"]["binders"]
    )
    body = tuple(expression(e) for e in node["template"]["body"])
    span = span_of(node)
    if len(body) != node["equations_per_point"]:
        raise UnknownNodeError("a for-equation without its body", span)
    origin = node["origin"]
    kind = next(iter(origin)) if isinstance(origin, Mapping) else str(origin)
    return Family(binders, int(node["first_equation_index"]), body, kind, span)


def _mentions(equation: sx.Equation, name: str) -> bool:
    nodes = sx.walk(equation.left)
    return any(isinstance(node, sx.Reference) and node.name == name for node in nodes)


class _Sections:
    """Algorithm sections, and parts of the flat model that the subset does not use."""

    def __init__(
        self,
        flat: Node,
        variables: Mapping[str, sx.Variable],
        assertions: list[sx.AssertStatement],
        initial: list[sx.Equation],
    ) -> None:
        self.algorithms: list[tuple[sx.Statement, ...]] = []
        self.initial_calls: list[sx.CallStatement] = []
        self.unsupported: list[tuple[str, str, Span]] = []
        for section in flat["algorithms"]:
            statements = _statements(section["statements"])
            if all(isinstance(s, sx.AssertStatement) for s in statements):
                # Nothing but asserts: the order does not matter, they act as equations do.
                assertions.extend(s for s in statements if isinstance(s, sx.AssertStatement))
            else:
                self.algorithms.append(statements)
        for section in flat["initial_algorithms"]:
            statements = _statements(section["statements"])
            calls = [s for s in statements if isinstance(s, sx.CallStatement) and not s.targets]
            others = [s for s in statements if s not in calls]
            if initial_assignments(others, variables, initial, assertions):
                self.initial_calls.extend(calls)
                continue
            what = "an initial algorithm section"
            self.unsupported.append(("unsupported-algorithm", what, span_of(section)))
        for node in flat["initial_assert_equations"]:
            self.unsupported.append(
                ("unsupported-initial-assert", "an initial assert", span_of(node))
            )
        if flat.get("definite_roots") or flat.get("branches") or flat.get("potential_roots"):
            what = "an overconstrained connection"
            self.unsupported.append(("unsupported-overconstrained", what, sx.NOWHERE))


def _equation(node: Node) -> sx.Equation:
    residual = expression(node["residual"])
    origin = node["origin"]
    kind = next(iter(origin)) if isinstance(origin, Mapping) else str(origin)
    span = span_in(node["span"])
    left: sx.Expression = residual
    right: sx.Expression | None = None
    if kind != "FlowSum" and isinstance(residual, sx.Binary) and residual.operator == "-":
        left, right = residual.left, residual.right
    return sx.Equation(left, right, kind, span)


def _assertion(node: Node) -> sx.AssertStatement:
    level = node.get("level")
    return sx.AssertStatement(
        expression(node["condition"]),
        expression(node["message"]),
        None if level is None else expression(level),
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
            call = sx.Call(
                body["comp"]["name"], tuple(expression(a) for a in body["args"]), False, span
            )
            targets = tuple(None if is_empty(t) else _target(t) for t in body["outputs"])
            return sx.CallStatement(call, targets, span)
        case "If":
            branches = tuple(
                (expression(block["cond"]), _statements(block["stmts"]))
                for block in body["cond_blocks"]
            )
            return sx.IfStatement(branches, _statements(body["else_block"] or ()), span)
        case "For":
            return sx.ForStatement(indices(body["indices"]), _statements(body["equations"]), span)
        case "While":
            block = body["block"]
            condition = expression(block["cond"])
            return sx.WhileStatement(condition, _statements(block["stmts"]), span)
        case "When":
            chain = tuple((expression(b["cond"]), _statements(b["stmts"])) for b in body["blocks"])
            return sx.WhenStatement(chain, span)
        case "Assert":
            return _assertion(body)
        case _:
            return sx.OtherStatement(kind.lower(), span)


def _statements(nodes: Sequence[Any]) -> tuple[sx.Statement, ...]:
    return tuple(_statement(n) for n in nodes if n != "Empty")


def _function(node: Node) -> sx.Function:
    external = node.get("external")
    body = _statements(node["body"])
    if external is not None and external["language"] == "builtin" and external["output_name"]:
        body, external = (_intrinsic(external, span_in(node.get("span"))),), None
    return sx.Function(
        name=node["name"],
        inputs=tuple(_function_variable(v) for v in node["inputs"]),
        outputs=tuple(_function_variable(v) for v in node["outputs"]),
        locals=tuple(_function_variable(v) for v in node["locals"]),
        body=body,
        external=external is not None,
        pure=bool(node.get("pure", True)),
        constructor=bool(node.get("is_constructor")),
        span=span_in(node.get("span")),
        external_name=str(external["function_name"] or "") if external else "",
        external_arguments=tuple(expression(a) for a in external["args"]) if external else (),
    )


def _intrinsic(external: Node, span: Span) -> sx.Statement:
    """Return ``y := sin(u)`` for ``external "builtin" y = sin(u)``."""
    arguments = tuple(expression(a) for a in external["args"])
    call = sx.Call(str(external["function_name"]), arguments, True, span)
    return sx.Assignment(sx.Target(((str(external["output_name"]), ()),), span), call, span)


def _function_variable(node: Node) -> sx.FunctionVariable:
    sizes = subscripts(node["shape_expr"])
    if not sizes:
        # A type such as Position3 = Real[3] brings its sizes with it.
        sizes = tuple(sx.Number(int(n)) for n in node["effective_type"]["dimensions"])
    default = node.get("default")
    return sx.FunctionVariable(
        node["name"],
        node["type_name"],
        sizes,
        None if default is None else expression(default),
        span_in(node.get("span")),
    )


def _variable(node: Node, type_name: str, final: bool, structural: bool) -> sx.Variable:
    span = span_in(node["source_span"])
    start = None if node["start"] is None else expression(node["start"])
    if start is not None and start.span == span:
        start = None  # rumoca's own default, not an attribute of the user

    def optional(key: str) -> sx.Expression | None:
        return _attribute(node.get(key), span)

    variability: sx.Variability = "continuous"
    match _keyword(node["variability"]):
        case "Parameter":
            variability = "parameter"
        case "Constant":
            variability = "constant"
        case "Discrete":
            variability = "discrete"
        case "Empty" | "Continuous":
            pass
        case other:
            raise UnknownNodeError(f"the variability {other}", span)
    if node.get("is_discrete_type") and variability == "continuous":
        variability = "discrete"
    fixed, binding = optional("fixed"), optional("binding")
    known = binding is not None or not isinstance(fixed, sx.Boolean) or fixed.value
    free = variability == "parameter" and not known
    if free:
        variability = "discrete"  # it changes at the start only
    causality: sx.Causality = "none"
    match _keyword(node["causality"]):
        case "Input":
            causality = "input"
        case "Output":
            causality = "output"
        case "Empty":
            pass
        case other:
            raise UnknownNodeError(f"the causality {other}", span)
    return sx.Variable(
        name=node["name"],
        type_name=type_name,
        shape=tuple(int(n) for n in node["dims"]),
        variability=variability,
        causality=causality,
        span=span,
        binding=binding,
        start=start,
        fixed=fixed,
        minimum=optional("min"),
        maximum=optional("max"),
        nominal=optional("nominal"),
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
                raise UnknownNodeError("an attribute of some elements of an array only", span)
            return sx.Array(elements, span)
        case _:
            return expression(value)


def _keyword(node: Any) -> str:
    return str(next(iter(node))) if isinstance(node, Mapping) else str(node)


def initial_assignments(
    statements: Sequence[sx.Statement],
    variables: Mapping[str, sx.Variable],
    initial: list[sx.Equation],
    assertions: list[sx.AssertStatement],
) -> bool:
    """Convert an initial algorithm to initial equations and assertions, if possible.

    Each variable must be assigned once and before it is used; asserts must use parameters
    only.
    """
    equations: list[sx.Equation] = []
    checks: list[sx.AssertStatement] = []
    later = {n for s in statements if isinstance(s, sx.Assignment) and (n := _name(s.target))}
    for statement in statements:
        if isinstance(statement, sx.AssertStatement):
            names = _references(statement.condition)
            if not all(n in variables and _is_parameter(variables[n]) for n in names):
                return False
            checks.append(statement)
            continue
        name = _name(statement.target) if isinstance(statement, sx.Assignment) else None
        if name is None or not isinstance(statement, sx.Assignment) or name not in later:
            return False
        if later & _references(statement.value):
            return False
        later.discard(name)
        left = sx.Reference(name, (), statement.span)
        equations.append(sx.Equation(left, statement.value, "InitialAlgorithm", statement.span))
    initial.extend(equations)
    assertions.extend(checks)
    return True


def _name(target: sx.Target) -> str | None:
    if any(subscripts for _, subscripts in target.parts):
        return None
    return ".".join(name for name, _ in target.parts)


def _references(expression: sx.Expression) -> set[str]:
    return {n.name for n in sx.walk(expression) if isinstance(n, sx.Reference)}


def _is_parameter(variable: sx.Variable) -> bool:
    return variable.variability in ("parameter", "constant")


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


@dataclass(frozen=True)
class Family:
    """Equations of one for-equation.

    `binders` has name, first value, last value and step of each index, the outermost first;
    `body` has the residuals of one point.
    """

    binders: tuple[tuple[str, int, int, int], ...]
    first: int
    body: tuple[sx.Expression, ...]
    origin: str
    span: sx.Span


def expand(equations: Sequence[sx.Equation], families: Sequence[Family]) -> list[sx.Equation]:
    """Return the equations with the families expanded."""
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
    """Return `node` with index variables replaced by numbers and components by flat names."""

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
    """Return a comprehension; its own indices shadow others of the same name."""
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
