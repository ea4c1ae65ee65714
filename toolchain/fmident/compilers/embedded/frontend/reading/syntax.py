"""Syntax tree of a flat Modelica model; every node has its :class:`Span` in the source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, assert_never, cast
from typing import Literal as OneOf

LONGEST = 120
"""Longest text of an equation in a message."""

_PRECEDENCE = {
    operator: level
    for level, operators in (
        (1, ("or",)),
        (2, ("and",)),
        (4, ("<", "<=", ">", ">=", "==", "<>")),
        (5, ("+", "-", ".+", ".-")),
        (6, ("*", "/", ".*", "./")),
        (7, ("^", ".^")),
    )
    for operator in operators
}
_ATOM = 9

TIME = "time"
"""Name of the built-in variable."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a source file: file identifier and byte offsets."""

    source: int
    start: int
    end: int


NOWHERE = Span(0, 0, 0)


class Node:
    """An expression, a statement or a statement's target; its parts are among its fields."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Number(Node):
    """Real or Integer literal; the Python type says which."""

    value: float | int
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    """``true`` or ``false``."""

    value: bool
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Text(Node):
    """String literal."""

    value: str
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Reference(Node):
    """A variable with subscripts; a subscript ``None`` is a colon."""

    name: str
    subscripts: tuple[Expression | None, ...] = ()
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``left op right``; element-wise operators start with a dot."""

    operator: str
    left: Expression
    right: Expression
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-x``, ``+x`` or ``not x``."""

    operator: str
    operand: Expression
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a built-in (`builtin`) or user-defined function."""

    name: str
    arguments: tuple[Expression, ...]
    builtin: bool
    span: Span = NOWHERE
    constructor: bool = False


@dataclass(frozen=True, slots=True)
class If(Node):
    """``if c1 then a1 elseif c2 then a2 else b``."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Array(Node):
    """``{a, b}``, or a part of ``[a, b; c, d]``: horizontal or vertical concatenation."""

    elements: tuple[Expression, ...]
    span: Span = NOWHERE
    layout: OneOf["array", "horizontal", "vertical"] = "array"


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """``(a, b)``, the targets of a function with several outputs; ``None`` skips one."""

    elements: tuple[Expression | None, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Range(Node):
    """``start:step:end``."""

    start: Expression
    step: Expression | None
    end: Expression
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """``{body for i in range}``."""

    body: Expression
    indices: tuple[tuple[str, Expression], ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``base[subscripts]`` of an expression that is not a plain variable."""

    base: Expression
    subscripts: tuple[Expression | None, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Field(Node):
    """``base.name`` of a record."""

    base: Expression
    name: str
    span: Span = NOWHERE


Expression: TypeAlias = (
    Number
    | Boolean
    | Text
    | Reference
    | Binary
    | Unary
    | Call
    | If
    | Array
    | Tuple
    | Range
    | Comprehension
    | Index
    | Field
)


@dataclass(frozen=True, slots=True)
class Target(Node):
    """Left side of an assignment: ``name.field[subscripts]``, part by part."""

    parts: tuple[tuple[str, tuple[Expression | None, ...]], ...]
    span: Span = NOWHERE

    def __str__(self) -> str:
        return ".".join(name for name, _ in self.parts)


@dataclass(frozen=True, slots=True)
class Assignment(Node):
    """``target := value``, or ``reinit(target, value)``."""

    target: Target
    value: Expression
    span: Span = NOWHERE
    reinit: bool = False


@dataclass(frozen=True, slots=True)
class CallStatement(Node):
    """``(a, b) := f(x)`` or a bare call."""

    call: Call
    targets: tuple[Target | None, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class IfStatement(Node):
    """``if ... then ... elseif ... else ... end if``."""

    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class ForStatement(Node):
    """``for i in range loop ... end for``."""

    indices: tuple[tuple[str, Expression], ...]
    body: tuple[Statement, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class WhileStatement(Node):
    """``while condition loop ... end while``."""

    condition: Expression
    body: tuple[Statement, ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class WhenStatement(Node):
    """``when ... then ... elsewhen ... end when``, as a statement or an equation."""

    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class AssertStatement(Node):
    """``assert(condition, message, level)``."""

    condition: Expression
    message: Expression
    level: Expression | None
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class OtherStatement(Node):
    """An unsupported statement; `construct` is its Modelica name."""

    construct: str
    span: Span = NOWHERE


Statement: TypeAlias = (
    Assignment
    | CallStatement
    | IfStatement
    | ForStatement
    | WhileStatement
    | WhenStatement
    | AssertStatement
    | OtherStatement
)


@dataclass(frozen=True)
class FunctionVariable:
    """Input, output or protected variable of a function; `shape` has ``None`` for ``:``."""

    name: str
    type_name: str
    shape: tuple[Expression | None, ...]
    default: Expression | None
    span: Span
    unit: str = ""


@dataclass(frozen=True)
class FunctionDerivative:
    """The annotation ``derivative(order=..., noDerivative=...) = name`` of a function.

    `differentiated` says of each input of the annotated function whether its derivative is an
    argument of the function `name`.
    """

    name: str
    order: int
    differentiated: tuple[bool, ...]


@dataclass(frozen=True)
class Function:
    """A user-defined function with its algorithm."""

    name: str
    inputs: tuple[FunctionVariable, ...]
    outputs: tuple[FunctionVariable, ...]
    locals: tuple[FunctionVariable, ...]
    body: tuple[Statement, ...]
    external: bool
    pure: bool
    constructor: bool
    span: Span
    external_name: str = ""
    """Name in C of an external function."""
    external_arguments: tuple[Expression, ...] = ()
    derivative: FunctionDerivative | None = None


Variability = OneOf["constant", "parameter", "discrete", "continuous"]
Causality = OneOf["input", "output", "none"]


@dataclass(frozen=True)
class Variable:
    """A variable of the flat model, scalar or array."""

    name: str
    type_name: str
    shape: tuple[int, ...]
    variability: Variability
    causality: Causality
    span: Span
    binding: Expression | None = None
    start: Expression | None = None
    fixed: Expression | None = None
    minimum: Expression | None = None
    maximum: Expression | None = None
    nominal: Expression | None = None
    unit: str = ""
    display_unit: str = ""
    quantity: str = ""
    description: str = ""
    final: bool = False
    protected: bool = False
    evaluate: bool = False
    structural: bool = False
    """Which equations or components there are depends on its value."""
    stream: bool = False
    free: bool = False
    """A parameter with ``fixed = false``: initial equations give it its value."""
    state_select: str = "default"


@dataclass(frozen=True)
class Equation:
    """``left = right``; `right` is ``None`` where the flat form gives a residual only."""

    left: Expression
    right: Expression | None
    span: Span


@dataclass(frozen=True)
class FlatModel:
    """A flat model as produced by the Modelica front end."""

    name: str
    description: str
    variables: dict[str, Variable]
    equations: tuple[Equation, ...]
    initial_equations: tuple[Equation, ...]
    assertions: tuple[AssertStatement, ...]
    functions: dict[str, Function]
    records: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Field names of each record type."""
    record_instances: dict[str, str] = field(default_factory=dict)
    """Type name of each record variable."""
    whens: tuple[WhenStatement, ...] = ()
    """When-equations, in whose branches an assignment stands for an equation."""
    algorithms: tuple[tuple[Statement, ...], ...] = ()
    """Algorithm sections."""
    initial_algorithms: tuple[tuple[Statement, ...], ...] = ()
    """Initial algorithm sections."""
    enumerations: frozenset[str] = frozenset()
    """Type names of variables whose types are enumerations, as their declarations write them."""
    enumerators: dict[str, int] = field(default_factory=dict)
    """Full names of the literals of enumerations, with their places from 1 on."""

    libraries: frozenset[int] = frozenset()
    """Source files of libraries, which the user cannot be asked to change."""
    connectors: frozenset[str] = frozenset()
    """Names of the class's own public connectors, without subscripts."""

    def is_interface(self, name: str) -> bool:
        """Return whether a variable belongs to the exported class or to its public connectors."""
        root, dot, _ = name.partition(".")
        return not dot or root.partition("[")[0] in self.connectors

    @cached_property
    def _enumerations(self) -> frozenset[str]:
        return self.enumerations | {name.rsplit(".", 1)[0] for name in self.enumerators}

    def is_enumeration(self, type_name: str) -> bool:
        """Return whether a type is an enumeration."""
        return type_name in self._enumerations

    def with_output_units(self, unit: Callable[[str, str], str]) -> FlatModel:
        """Return the model with units of function outputs, by function and output."""
        functions = {
            key: replace(
                function,
                outputs=tuple(replace(o, unit=unit(key, o.name)) for o in function.outputs),
            )
            for key, function in self.functions.items()
        }
        return replace(self, functions=functions)

    def with_structural(self, names: Collection[str]) -> FlatModel:
        """Return the model with structural parameters: those whose last name part is in `names`."""
        variables = {
            key: replace(variable, structural=True)
            if variable.name.rsplit(".", 1)[-1] in names
            else variable
            for key, variable in self.variables.items()
        }
        return replace(self, variables=variables)

    def with_final(self, modified: Callable[[Variable], bool]) -> FlatModel:
        """Return the model where variables whose modifier is ``final`` are it, too."""
        variables = {
            key: replace(variable, final=True, evaluate=False) if modified(variable) else variable
            for key, variable in self.variables.items()
        }
        return replace(self, variables=variables)


def children(node: Node) -> Iterator[Node]:
    """Yield the direct parts of `node`."""
    for part in fields(cast(Any, node)):
        yield from _parts(getattr(node, part.name))


def _parts(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _parts(item)


_Some = TypeVar("_Some", bound=Node)


def rebuilt(node: _Some, change: Callable[[Any], Node]) -> _Some:
    """Return `node` with `change` applied to each direct part."""

    def changed(value: object) -> object:
        if isinstance(value, Node):
            return change(value)
        return tuple(map(changed, value)) if isinstance(value, tuple) else value

    return type(node)(*(changed(getattr(node, part.name)) for part in fields(cast(Any, node))))


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and all its descendants."""
    yield node
    for child in children(node):
        yield from walk(child)


def equation_text(equation: Equation) -> str:
    """Return an equation as Modelica text, shortened in the middle if it is long."""
    right = "0" if equation.right is None else expression_text(equation.right)
    text = f"{expression_text(equation.left)} = {right}"
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 35]} ... {text[-30:]}"


def expression_text(node: Expression | None) -> str:
    """Return an expression as Modelica text."""
    return _written(node)[0]


def _written(node: Expression | None) -> tuple[str, int]:
    """Return text and precedence."""
    match node:
        case Binary(operator=operator, left=left, right=right):
            level = _PRECEDENCE.get(operator, 0)
            joint = operator if level >= 6 else f" {operator} "
            # Powers do not associate; everything else associates to the left.
            first = _inside(left, level + (level == 7))
            return f"{first}{joint}{_inside(right, level + 1)}", level
        case Unary(operator=operator, operand=operand):
            if operator == "not":
                return f"not {_inside(operand, 4)}", 3
            return f"{operator}{_inside(operand, 6)}", 5
        case If(branches=branches, otherwise=otherwise):
            parts = [f"if {expression_text(c)} then {expression_text(b)}" for c, b in branches]
            return " else".join(parts) + f" else {expression_text(otherwise)}", 0
        case _:
            return _atom(node), _ATOM


def _inside(node: Expression, level: int) -> str:
    text, own = _written(node)
    return f"({text})" if own < level else text


def _atom(node: Expression | None) -> str:  # noqa: C901 - a case for each node
    match node:
        case None:
            return ":"
        case Number(value=value):
            return f"{value:.15g}" if isinstance(value, float) else str(value)
        case Boolean(value=value):
            return "true" if value else "false"
        case Text(value=value):
            return f'"{value}"'
        case Reference(name=name, subscripts=subs):
            return name + (f"[{_listed(subs)}]" if subs else "")
        case Call(name=name, arguments=arguments):
            return f"{name}({_listed(arguments)})"
        case Array(elements=elements, layout="array"):
            return f"{{{_listed(elements)}}}"
        case Array(elements=elements, layout=layout):
            joint = ", " if layout == "horizontal" else "; "
            parts = [expression_text(e) for e in elements]
            return "[" + joint.join(p.strip("[]") for p in parts) + "]"
        case Tuple(elements=items):
            return "(" + ", ".join("" if p is None else expression_text(p) for p in items) + ")"
        case Range(start=start, step=step, end=end):
            middle = [] if step is None else [step]
            return ":".join(_inside(part, 6) for part in [start, *middle, end])
        case Comprehension(body=body, indices=indices):
            loops = ", ".join(f"{n} in {expression_text(d)}" for n, d in indices)
            return f"{{{expression_text(body)} for {loops}}}"
        case Index(base=base, subscripts=subs):
            return f"{_inside(base, _ATOM)}[{_listed(subs)}]"
        case Field(base=base, name=name):
            return f"{_inside(base, _ATOM)}.{name}"
        case Binary() | Unary() | If():
            return f"({_written(node)[0]})"
        case _:
            assert_never(node)


def _listed(nodes: tuple[Expression | None, ...] | tuple[Expression, ...]) -> str:
    return ", ".join(expression_text(n) for n in nodes)
