"""Flat equations as scalar residuals of CasADi symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import Events, LoweringState, Scope
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value, is_affine
from fmident.compilers.embedded.frontend.parameters import scalar_names, shaped
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.syntax import equation_text
from fmident.compilers.embedded.frontend.refusal import Collector, Refusal, unknown_name


@dataclass(frozen=True)
class ScalarEquation:
    """``left = right`` of scalars, with text and source span for messages."""

    left: Scalar
    right: Scalar
    text: str
    span: sx.Span

    @cached_property
    def residual(self) -> Scalar:
        """``left - right``."""
        return v.plain(_number(self.left) - _number(self.right))

    @cached_property
    def symbols(self) -> frozenset[int]:
        """Hashes of the symbols in the residual."""
        return frozenset(v.symbols(self.residual))


def _number(scalar: Scalar) -> Scalar:
    return int(scalar) if isinstance(scalar, bool) else scalar


@dataclass
class Unknowns:
    """Symbols of everything that varies with time.

    Derivatives have the name of the differentiated variable. `declared` maps each scalar
    name to its flat variable and the position in it.
    """

    time: v.SX
    inputs: dict[str, v.SX] = field(default_factory=dict)
    variables: dict[str, v.SX] = field(default_factory=dict)
    derivatives: dict[str, v.SX] = field(default_factory=dict)
    derivative_spans: dict[str, sx.Span] = field(default_factory=dict)
    prescribed: list[v.Prescribed] = field(default_factory=list)
    declared: dict[str, tuple[sx.Variable, int]] = field(default_factory=dict)

    def symbol(self, name: str) -> v.SX:
        """Return the symbol of an input, a variable or, by ``der(name)``, a derivative."""
        if name.startswith("der("):
            return self.derivatives[name[4:-1]]
        return self.inputs[name] if name in self.inputs else self.variables[name]


class Substitution:
    """Replaces solved symbols in expressions; keeps common subexpressions shared."""

    def __init__(self) -> None:
        self._solved: dict[int, tuple[v.SX, Scalar]] = {}

    def define(self, symbol: v.SX, value: Scalar) -> None:
        """Define `value` as the replacement of `symbol`."""
        if not v.is_same(value, symbol):
            self._solved[symbol.element_hash()] = (symbol, value)

    def __call__(self, expressions: Sequence[Scalar]) -> list[Scalar]:
        """Return the expressions with all defined symbols replaced."""
        stacked = ca.SX(ca.vertcat(ca.SX(0, 1), *expressions))
        pairs = [self._solved[key] for key in v.symbols(stacked) if key in self._solved]
        if not pairs:
            return list(expressions)
        symbols = ca.vertcat(*(s for s, _ in pairs))
        values = ca.SX(ca.vertcat(*(value for _, value in pairs)))
        replaced = ca.substitute(stacked, symbols, values)
        return [v.plain(replaced[i]) for i in range(len(expressions))]

    def in_equations(self, equations: Sequence[ScalarEquation]) -> list[ScalarEquation]:
        """Return the equations with all defined symbols replaced."""
        sides = self([side for q in equations for side in (q.left, q.right)])
        pairs = zip(equations, sides[::2], sides[1::2], strict=True)
        return [replace(q, left=left, right=right) for q, left, right in pairs]


class ModelScope(Scope):
    """Scope of the model: parameters, constants, time, variables, derivatives, records."""

    def __init__(
        self,
        flat: sx.FlatModel,
        parameters: Mapping[str, Value],
        events: Events,
        assigned: frozenset[str] = frozenset(),
    ) -> None:
        self._flat = flat
        self._events = events
        self._assigned = assigned
        self._values: dict[str, Value] = dict(parameters)
        self.unknowns = Unknowns(ca.SX.sym(sx.TIME))
        self._values[sx.TIME] = self.unknowns.time
        refused = Collector()
        for variable in flat.variables.values():
            if variable.variability not in ("parameter", "constant"):
                with refused.at(variable.span):
                    self._declare(variable)
        refused.check()

    def _declare(self, variable: sx.Variable) -> None:
        if variable.stream:
            raise Refusal("unsupported-stream", f"the stream variable '{variable.name}'")
        is_input = self._flat.is_interface(variable.name) and variable.causality == "input"
        is_discrete = (
            variable.variability == "discrete"
            or variable.type_name != "Real"
            or variable.name in self._assigned
        )
        if is_discrete and (is_input or variable.type_name == "String"):
            raise Refusal(
                "unsupported-discrete",
                f"the {variable.type_name} {'input' if is_input else 'variable'} "
                f"'{variable.name}' varies with time",
                hint="make it a Real input and compare it with 0.5" if is_input else "",
            )
        if is_input and variable.binding is not None:
            # An input with a binding equation is a default; the equation would fix the input.
            raise Refusal(
                "unsupported-input-binding",
                f"the top-level input '{variable.name}' has a binding",
                hint="remove the binding, or make it a parameter",
            )
        symbols = [
            self._events.declare(name, variable, position)
            if is_discrete
            else self._declare_unknown(name, variable, position, is_input)
            for position, name in enumerate(scalar_names(variable.name, variable.shape))
        ]
        self._values[variable.name] = shaped(symbols, variable.shape)

    def _declare_unknown(
        self, name: str, variable: sx.Variable, position: int, is_input: bool
    ) -> v.SX:
        symbol = ca.SX.sym(name)
        (self.unknowns.inputs if is_input else self.unknowns.variables)[name] = symbol
        self.unknowns.declared[name] = (variable, position)
        return symbol

    def value(self, name: str, span: sx.Span) -> Value:
        """Return a variable, parameter or record by its flat name."""
        if name in self._values:
            return self._values[name]
        type_name = self._flat.record_instances.get(name)
        if type_name is not None and type_name in self._flat.records:
            fields = self._flat.records[type_name]
            return v.RecordValue(type_name, {f: self.value(f"{name}.{f}", span) for f in fields})
        raise unknown_name(name, span, list(self._values))

    def derivative(self, reference: sx.Reference) -> Value:
        """Return the derivative symbols of the variables that `reference` names."""
        value = self.value(reference.name, reference.span)
        if reference.subscripts:
            value = Lowering(self, _no_calls, LoweringState()).evaluate(reference)
        return v.elementwise(lambda s: self._derivative(s, reference), value)

    def _derivative(self, scalar: Scalar, reference: sx.Reference) -> Scalar:
        if not v.is_symbolic(scalar):
            return 0
        name = scalar.name()
        if name in self.unknowns.inputs:
            raise Refusal(
                "unsupported-der-input",
                f"'der' of the input '{name}'",
                reference.span,
                "make the derivative an input of its own",
            )
        if name == sx.TIME:
            return 1
        if name in self._events.discretes:
            raise Refusal(
                "discrete-variable",
                f"'der' of '{name}', which changes at events only",
                reference.span,
                "remove it from the when-equation, or use 'reinit'",
            )
        if name not in self.unknowns.variables:
            return 0
        if name not in self.unknowns.derivatives:
            self.unknowns.derivatives[name] = ca.SX.sym(f"der({name})")
            self.unknowns.derivative_spans[name] = reference.span
        return self.unknowns.derivatives[name]


def _no_calls(call: sx.Call, arguments: list[Value], caller: Lowering) -> list[Value]:
    raise Refusal("unsupported-subscript", "a function call in a subscript", call.span)


def lower_equations(flat: sx.FlatModel, lowering: Lowering) -> list[ScalarEquation]:
    """Return all equations of the model, declaration equations included, as scalars."""
    refused = Collector()
    bindings = (
        sx.Equation(sx.Reference(x.name, (), x.span), x.binding, x.span)
        for x in flat.variables.values()
        if x.binding is not None and x.variability not in ("parameter", "constant")
    )
    result = _lowered((*bindings, *flat.equations), lowering, refused)
    for assertion in flat.assertions:
        with refused.at(assertion.span):
            lowering.assertion(assertion)
    refused.check()
    return result


def lower_initial_equations(flat: sx.FlatModel, lowering: Lowering) -> list[ScalarEquation]:
    """Return the initial equations as scalars."""
    refused = Collector()
    with lowering.without_events():
        result = _lowered(flat.initial_equations, lowering, refused)
    refused.check()
    return result


def _lowered(
    equations: Iterable[sx.Equation], lowering: Lowering, refused: Collector
) -> list[ScalarEquation]:
    result: list[ScalarEquation] = []
    for equation in equations:
        with refused.at(equation.span):
            result.extend(_scalars(equation, lowering))
    return result


def _scalars(equation: sx.Equation, lowering: Lowering) -> list[ScalarEquation]:
    text = equation_text(equation)
    pairs: list[tuple[Value, Value]] = []
    if isinstance(equation.left, sx.Tuple) and equation.right is not None:
        results = lowering.outputs(equation.right)
        targets = equation.left.elements
        if len(targets) > len(results):
            raise Refusal(
                "argument-count",
                f"{len(targets)} receivers for {len(results)} outputs",
                equation.span,
                "correct the left side",
            )
        for target, value in zip(targets, results, strict=False):
            if target is not None:
                pairs.append((lowering.evaluate(target), value))
    elif equation.right is None:
        value = lowering.evaluate(equation.left)
        pairs.append((value, v.elementwise(lambda _: 0, value)))
    else:
        pairs.append((lowering.evaluate(equation.left), lowering.evaluate(equation.right)))
    return [q for left, right in pairs for q in _paired(left, right, text, equation.span)]


def _paired(left: Value, right: Value, text: str, span: sx.Span) -> list[ScalarEquation]:
    if isinstance(left, v.RecordValue) != isinstance(right, v.RecordValue):
        raise Refusal("type-error", f"a record equals something else in: {text}", span, "")
    if v.shape(left) != v.shape(right):
        raise Refusal(
            "shape-mismatch",
            f"the two sides have the sizes {list(v.shape(left))} and {list(v.shape(right))} "
            f"in: {text}",
            span,
            "make both sides the same size",
        )
    if isinstance(left, v.RecordValue) and isinstance(right, v.RecordValue):
        if left.fields.keys() != right.fields.keys():
            raise Refusal("type-error", f"two different records in: {text}", span, "")
        fields = ((value, right.fields[name]) for name, value in left.fields.items())
        return [q for a, b in fields for q in _paired(a, b, text, span)]
    scalars = list(zip(v.flat(left), v.flat(right), strict=True))
    for pair in scalars:
        if any(isinstance(s, str) for s in pair):
            raise Refusal("type-error", f"a String equation: {text}", span, "")
        if all(isinstance(s, bool) for s in pair):
            raise Refusal("type-error", f"a Boolean equation of constants: {text}", span, "")
    return [ScalarEquation(a, b, text, span) for a, b in scalars]


@dataclass(frozen=True)
class Alias:
    """``variable = sign * representative``."""

    representative: str
    sign: int


def eliminate_aliases(
    equations: Sequence[ScalarEquation], unknowns: Unknowns
) -> tuple[dict[str, Alias], list[ScalarEquation]]:
    """Find equations ``a = b`` and ``a = -b`` of variables; return aliases and the rest."""
    names = {s.element_hash(): n for n, s in (unknowns.variables | unknowns.inputs).items()}
    parent: dict[str, tuple[str, int]] = {}

    def root(name: str) -> tuple[str, int]:
        sign = 1
        while name in parent:
            name, factor = parent[name]
            sign *= factor
        return name, sign

    remaining: list[ScalarEquation] = []
    for equation in equations:
        pair = _alias_pair(equation, names)
        if pair is None:
            remaining.append(equation)
            continue
        first, second, sign = pair
        (a, sign_a), (b, sign_b) = root(first), root(second)
        if a == b or (a in unknowns.inputs and b in unknowns.inputs):
            # Says something about the variable itself, or fixes an input: let matching judge.
            remaining.append(equation)
            continue
        if _rank(a, unknowns) > _rank(b, unknowns):
            a, b = b, a
        parent[b] = (a, sign * sign_a * sign_b)
    aliases = {}
    for name in unknowns.variables:
        representative, sign = root(name)
        if representative != name:
            aliases[name] = Alias(representative, sign)
    return aliases, remaining


def _rank(name: str, unknowns: Unknowns) -> tuple[int, int]:
    """Return the sort key of a representative: inputs first, then variables with a start."""
    if name in unknowns.inputs:
        return (0, 0)
    variable, _ = unknowns.declared[name]
    fixed = isinstance(variable.fixed, sx.Boolean) and variable.fixed.value
    is_state = name in unknowns.derivatives
    preference = 0 if fixed else 1 if variable.start is not None and is_state else 2
    return (1, preference if is_state or fixed else 3)


def _alias_pair(equation: ScalarEquation, names: Mapping[int, str]) -> tuple[str, str, int] | None:
    residual = equation.residual
    if not v.is_symbolic(residual) or ca.n_nodes(residual) > 6:
        return None
    symbols = ca.symvar(residual)
    if len(symbols) != 2 or any(s.element_hash() not in names for s in symbols):
        return None
    gradient = ca.jacobian(residual, ca.vertcat(*symbols))
    if not gradient.is_constant() or not is_affine([residual], symbols):
        return None
    first, second = float(gradient[0]), float(gradient[1])
    offset = ca.substitute(residual, ca.vertcat(*symbols), ca.DM.zeros(2))
    if abs(first) != 1 or abs(second) != 1 or not offset.is_zero():
        return None
    a, b = (names[s.element_hash()] for s in symbols)
    return a, b, -1 if first == second else 1
