"""Checks the units of a flat model: equations, bindings, start values, asserts, functions.

Functions such as a friction law serve force over velocity and torque over angular velocity, so
their variables carry no unit: the body is analysed for the arguments of each call.

The dimension of an expression, from the dimensions of its variables.

A variable without a unit fits everything. A literal such as 2, 0.5 or 1.25 is a pure number
in a product and fits everything in a sum or on one side of an equation; so does what is made
of literals and dimensionless values only (``10*sin(x)`` can be a force). Any other literal,
such as 9.81 or 0.001, may stand for a quantity, and what it multiplies fits everything. The
size of units counts as well, mm against m or deg against rad, except where a literal is a
factor, which may convert them. The radian counts as dimensionless.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.names import MOST_ALIASES, Names
from fmident.compilers.embedded.frontend.reading.syntax import equation_text, expression_text
from fmident.compilers.embedded.frontend.refusal import Refusal
from fmident.compilers.scanner import ClassText, Element, text_of
from fmident.errors import UnitError
from fmident.units import DIMENSIONLESS, Unit, compatible, parse_unit

MAXIMUM_DEPTH = 10


SECOND = parse_unit("s")

DIMENSIONLESS_FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log10"}
)
SAME_UNIT_FUNCTIONS = frozenset(
    {"abs", "noEvent", "sum", "transpose", "skew", "diagonal", "symmetric"}
    | {"scalar", "vector", "matrix", "fill"}
)


class UnitChecker:
    """Checks the equations of one flat model.

    `mismatches` are contradictions of declared units, one per equation. `remarks` are
    findings in libraries, or with only literals or ``time`` on one side: rule, text, place.
    `unreadable` are variables whose unit cannot be parsed, with the reason.
    """

    def __init__(self, flat: sx.FlatModel) -> None:
        self._flat = flat
        self._units: dict[str, Dimension] = {sx.TIME: Dimension(SECOND)}
        self._remarks_on_equation: list[Refusal] = []
        self._functions = FunctionUnits(flat.functions, self._remarks_on_equation)
        self.remarks: list[tuple[str, str, sx.Span]] = []
        self.mismatches: list[Refusal] = []
        self.unreadable: list[tuple[str, str, sx.Span]] = []
        for variable in flat.variables.values():
            self._units[variable.name] = self._declared(variable)

    def _declared(self, variable: sx.Variable) -> Dimension:
        if not variable.unit:
            return UNKNOWN
        try:
            return dimension_of(parse_unit(variable.unit))
        except UnitError as error:
            self.unreadable.append(
                (
                    "unknown-unit",
                    f"the unit of '{variable.name}' is not checked: {error.message}",
                    variable.span,
                )
            )
            return UNKNOWN

    def check(self) -> None:
        """Check all equations, bindings, start values and asserts."""
        for variable in self._flat.variables.values():
            reference = sx.Reference(variable.name, (), variable.span)
            for what, expression in (("", variable.binding), ("start of ", variable.start)):
                if expression is not None:
                    text = f"{what}{variable.name} = {expression_text(expression)}"
                    span = variable.span if expression.span == sx.NOWHERE else expression.span
                    with self._analysis(text, span) as analysis:
                        analysis.same(reference, expression)
        for equation in (*self._flat.equations, *self._flat.initial_equations):
            with self._analysis(equation_text(equation), equation.span) as analysis:
                if equation.right is None:
                    analysis.dimension(equation.left)
                elif isinstance(equation.left, sx.Tuple):
                    analysis.dimension(equation.right)
                else:
                    analysis.same(equation.left, equation.right)
        for assertion in self._flat.assertions:
            self._assertion(assertion)
        for when in self._flat.whens:
            for condition, body in when.branches:
                self._condition("when {}", condition, when.span)
                self._statements(body)
        for statements in self._flat.initial_algorithms:
            self._statements(statements)

    def _assertion(self, assertion: sx.AssertStatement) -> None:
        self._condition("assert({}, ...)", assertion.condition, assertion.span)

    def _condition(self, text: str, condition: sx.Expression, span: sx.Span) -> None:
        with self._analysis(text.format(expression_text(condition)), span) as analysis:
            analysis.dimension(condition)

    def _statements(self, statements: Sequence[sx.Statement]) -> None:
        for statement in statements:
            match statement:
                case sx.AssertStatement():
                    self._assertion(statement)
                case sx.IfStatement(branches=branches, otherwise=otherwise, span=span):
                    for condition, body in branches:
                        self._condition("if {}", condition, span)
                        self._statements(body)
                    self._statements(otherwise)
                case sx.Assignment(target=target, value=value, span=span, reinit=reinit):
                    form = "reinit({}, {})" if reinit else "{} = {}"
                    with self._analysis(form.format(target, expression_text(value)), span) as one:
                        one.same(sx.Reference(str(target), (), span), value)

    @contextmanager
    def _analysis(self, text: str, span: sx.Span) -> Iterator[DimensionalAnalysis]:
        """Yield the analysis of an equation; record its contradictions and remarks."""
        try:
            yield DimensionalAnalysis(self._units, self._functions, text, self._remarks_on_equation)
        except Refusal as refusal:
            place = refusal.span if span == sx.NOWHERE else span
            finding = Refusal(refusal.rule, refusal.message, place, refusal.hint)
            (
                self._remarks_on_equation
                if place.source in self._flat.libraries
                else self.mismatches
            ).append(finding)
        self.remarks.extend((r.rule, r.message, span) for r in self._remarks_on_equation)
        self._remarks_on_equation.clear()


class FunctionUnits:
    """Returns the dimension of the first output of a call.

    A declared unit takes precedence over the body, for conversions such as ``to_degC``.
    """

    def __init__(self, functions: Mapping[str, sx.Function], remarks: list[Refusal]) -> None:
        self._functions = functions
        self.remarks = remarks
        self._depth = 0

    def __call__(self, call: sx.Call, arguments: list[Dimension], text: str) -> Dimension:
        """Analyse the body of the called function."""
        outputs = self.outputs(call, arguments, text)
        return outputs[0] if outputs else UNKNOWN

    def outputs(self, call: sx.Call, arguments: list[Dimension], text: str) -> list[Dimension]:
        """Return the dimensions of all outputs."""
        function = self._functions.get(call.name)
        if function is None:
            return []
        declared = {v.name: d for v in function.outputs if (d := declared_dimension(v.unit)).unit}
        if function.external or self._depth >= MAXIMUM_DEPTH:
            return [declared.get(v.name, UNKNOWN) for v in function.outputs]
        units = {v.name: UNKNOWN for v in (*function.inputs, *function.outputs, *function.locals)}
        for variable, dimension in zip(function.inputs, arguments, strict=False):
            # A literal argument may stand for any quantity.
            units[variable.name] = UNKNOWN if dimension.open else dimension
        self._depth += 1
        try:
            _Body(self, units, function.name, text).run(function.body)
        finally:
            self._depth -= 1
        return [declared.get(v.name, units[v.name]) for v in function.outputs]


def declared_dimension(unit: str) -> Dimension:
    """Return the dimension of a declared unit; unknown if absent or unreadable."""
    try:
        parsed = parse_unit(unit) if unit else None
    except UnitError:
        return UNKNOWN
    return UNKNOWN if parsed is None else dimension_of(parsed)


class _Body:
    def __init__(
        self, functions: FunctionUnits, units: dict[str, Dimension], name: str, text: str
    ) -> None:
        self._units = units
        self._functions = functions
        self._name = name
        self._text = text
        self._analysis = DimensionalAnalysis(units, functions, remarks=functions.remarks)

    def run(self, statements: Sequence[sx.Statement]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: sx.Statement) -> None:
        match statement:
            case sx.Assignment(target=target, value=value):
                self._describe(f"{target} := {expression_text(value)}")
                self._assign(target, self._analysis.dimension(value))
            case sx.CallStatement(call=call, targets=targets):
                self._describe(expression_text(call))
                arguments = [self._analysis.dimension(a) for a in call.arguments]
                results = self._functions.outputs(call, arguments, self._analysis.text)
                results += [UNKNOWN] * (len(targets) - len(results))
                for receiver, dimension in zip(targets, results, strict=False):
                    if receiver is not None:
                        self._assign(receiver, dimension)
            case sx.IfStatement(branches=branches, otherwise=otherwise):
                self._if(branches, otherwise)
            case sx.ForStatement(indices=indices, body=body):
                hidden = {name: self._units.get(name) for name, _ in indices}
                self._units.update({name: LITERAL for name, _ in indices})
                self.run(body)
                for name, outer in hidden.items():
                    self._units[name] = UNKNOWN if outer is None else outer
            case sx.WhileStatement(condition=condition, body=body):
                self._describe(f"while {expression_text(condition)}")
                self._analysis.dimension(condition)
                self.run(body)
            case sx.AssertStatement(condition=condition):
                self._describe(f"assert({expression_text(condition)}, ...)")
                self._analysis.dimension(condition)
            case sx.WhenStatement() | sx.OtherStatement():
                return

    def _describe(self, text: str) -> None:
        self._analysis.text = f"{text}' of the function '{self._name}', called in '{self._text}"

    def _assign(self, target: sx.Target, dimension: Dimension) -> None:
        if len(target.parts) > 1:
            return  # fields of records are not followed
        (name, subscripts), *_ = target.parts
        before = self._units.get(name, UNKNOWN)
        if not subscripts or before.open:
            self._units[name] = dimension
        elif not dimension.open and not _equal(before, dimension):
            self._units[name] = UNKNOWN  # elements may differ

    def _if(
        self,
        branches: Sequence[tuple[sx.Expression, tuple[sx.Statement, ...]]],
        otherwise: Sequence[sx.Statement],
    ) -> None:
        before = dict(self._units)
        ends: list[dict[str, Dimension]] = []
        for condition, body in branches:
            self._describe(f"if {expression_text(condition)}")
            self._analysis.dimension(condition)
            self.run(body)
            ends.append(dict(self._units))
            self._units.update(before)
        self.run(otherwise)
        ends.append(dict(self._units))
        for name in self._units:
            self._units[name] = _joined([end.get(name, UNKNOWN) for end in ends])


def _equal(a: Dimension, b: Dimension) -> bool:
    return a.unit is not None and b.unit is not None and compatible(a.unit, b.unit)


def _joined(dimensions: Sequence[Dimension]) -> Dimension:
    """Return the common dimension after branches; unknown if they differ."""
    known = [d for d in dimensions if not d.open]
    if not known or not all(_equal(known[0], d) for d in known):
        return UNKNOWN
    return known[0]


class DeclaredUnits:
    """Reads units of function variables from the source."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def output(self, function: str, variable: str) -> str:
        """Return the declared unit of a function's output; empty if it declares none."""
        return self._in_class(self._names.find(function), variable, MOST_ALIASES)

    def _in_class(self, item: ClassText | None, variable: str, depth: int) -> str:
        if item is None or depth == 0:
            return ""
        for element in item.elements:
            if "output" in element.prefixes and element.token.text == variable:
                types = self._names.definitions(element.type_name, item)
                own = (c.elements[0] for c in types if c.keyword == "type" and c.elements)
                return next((unit for e in (element, *own) if (unit := _unit(e))), "")
        inherited = (self._in_class(b, variable, depth - 1) for b in self._names.bases(item))
        return next((unit for unit in inherited if unit), "")


def _unit(element: Element) -> str:
    modifier = element.own.get("unit")
    return text_of(element.item.tokens, modifier).strip('"') if modifier else ""


@dataclass(frozen=True)
class Dimension:
    """Unit of an expression, as far as it is known; a `unit` of ``None`` fits everything.

    `pure` is made of literals and dimensionless values, and fits everything in a sum;
    `scaled` has a literal factor that may stand for a quantity. `declared` contains a
    variable with a declared unit other than 1, rather than ``time``, literals and plain
    numbers only.
    """

    unit: Unit | None = None
    pure: bool = False
    scaled: bool = False
    declared: bool = False

    @property
    def open(self) -> bool:
        """Whether it is compatible with everything."""
        return self.unit is None or self.pure


def dimension_of(unit: Unit) -> Dimension:
    """Return the dimension of a variable with a declared unit."""
    return Dimension(unit, declared=unit.text != DIMENSIONLESS.text)


UNKNOWN = Dimension()
LITERAL = Dimension(DIMENSIONLESS, pure=True, scaled=True)
NUMBER = Dimension(DIMENSIONLESS)


CallDimension = Callable[[sx.Call, "list[Dimension]", str], Dimension]


class DimensionalAnalysis:
    """Derives dimensions in one scope; variables not in `units` are unknown.

    `remarks` receives findings with only ``time``, literals and plain numbers on one side,
    as in ``x = sin(time)``.
    """

    def __init__(
        self,
        units: Mapping[str, Dimension],
        call: CallDimension,
        text: str = "",
        remarks: list[Refusal] | None = None,
    ) -> None:
        self.units = units
        self.call = call
        self.text = text
        self.remarks = [] if remarks is None else remarks
        self.indices: list[str] = []

    def same(self, left: sx.Expression, right: sx.Expression) -> Dimension:
        """Return the common dimension of two expressions that must agree."""
        a, b = self.dimension(left), self.dimension(right)
        return self.common(left, a, right, b)

    def common(
        self, left: sx.Expression, a: Dimension, right: sx.Expression, b: Dimension
    ) -> Dimension:
        """Return the common dimension of two expressions with the dimensions `a` and `b`."""
        if a.open:
            return a if b.unit is None else b
        if b.open:
            return a
        assert a.unit is not None
        assert b.unit is not None
        both = a.declared and b.declared
        if not compatible(a.unit, b.unit):
            self._report(
                both,
                f"units do not match in '{self.text}': '{expression_text(left)}' is in "
                f"{_shown(a.unit)} and '{expression_text(right)}' in {_shown(b.unit)}",
                "correct the equation or the declared units; a variable without a unit fits "
                "everything",
            )
            return b if b.declared else a if a.declared else UNKNOWN
        scaled = a.scaled or b.scaled
        if not scaled and not _same_size(a.unit, b.unit):
            self._report(
                both,
                f"units differ in size in '{self.text}': '{expression_text(left)}' is in "
                f"{_shown(a.unit)} and '{expression_text(right)}' in {_shown(b.unit)}; Modelica "
                "does not convert",
                "declare both in the same unit, or write the factor into the equation",
            )
        return Dimension(a.unit, scaled=scaled, declared=a.declared or b.declared)

    def _report(self, declared: bool, message: str, hint: str) -> None:
        """Refuse a contradiction of declared units; record any other one as a remark."""
        finding = Refusal("unit-mismatch", message, hint=hint)
        if declared:
            raise finding
        self.remarks.append(finding)

    def dimension(self, node: sx.Expression) -> Dimension:
        """Return the dimension of an expression; raise `Refusal` for contradictory units."""
        match node:
            case sx.Number(value=value):
                return LITERAL if _is_coefficient(value) else UNKNOWN
            case sx.Boolean() | sx.Text():
                return UNKNOWN
            case sx.Reference(name=name):
                if name in self.indices:
                    return LITERAL
                return self.units.get(name, UNKNOWN)
            case sx.Binary():
                return self._binary(node)
            case sx.Unary(operand=operand):
                return self.dimension(operand)
            case sx.Call():
                return self._call(node)
            case sx.If(branches=branches, otherwise=otherwise):
                result, reference = self.dimension(otherwise), otherwise
                for condition, branch in branches:
                    self.dimension(condition)
                    result = self.common(branch, self.dimension(branch), reference, result)
                return result
            case sx.Array(elements=elements):
                return self._array(elements)
            case sx.Comprehension(body=body, indices=indices):
                names = [name for name, _ in indices]
                self.indices.extend(names)
                try:
                    return self.dimension(body)
                finally:
                    del self.indices[len(self.indices) - len(names) :]
            case sx.Index(base=base):
                return self.dimension(base)
            case sx.Tuple() | sx.Range() | sx.Field():
                return UNKNOWN
            case _:
                assert_never(node)

    def _binary(self, node: sx.Binary) -> Dimension:
        match node.operator:
            case "*" | ".*":
                return _product(self.dimension(node.left), self.dimension(node.right), 1)
            case "/" | "./":
                return _product(self.dimension(node.left), self.dimension(node.right), -1)
            case "^" | ".^":
                return self._power(node)
            case "and" | "or":
                self.dimension(node.left)
                self.dimension(node.right)
                return UNKNOWN
            case "+" | "-" | ".+" | ".-":
                return self.same(node.left, node.right)
            case _:
                self.same(node.left, node.right)
                return UNKNOWN

    def _power(self, node: sx.Binary) -> Dimension:
        base = self.dimension(node.left)
        exponent = _literal(node.right)
        if base.unit is None:
            return UNKNOWN
        if exponent is not None:
            return replace(base, unit=base.unit**exponent)
        return base if base.unit.dimensionless else UNKNOWN

    def _call(self, node: sx.Call) -> Dimension:
        arguments = [self.dimension(a) for a in node.arguments]
        if not node.builtin:
            return UNKNOWN if node.constructor else self.call(node, arguments, self.text)
        if not arguments:
            return UNKNOWN
        name, first = node.name, arguments[0]
        if name in SAME_UNIT_FUNCTIONS:
            return first
        if name in DIMENSIONLESS_FUNCTIONS:
            self._expect_pure(node, first)
            return NUMBER
        match name:
            case "der":
                return _product(first, Dimension(SECOND), -1)
            case "sqrt":
                if first.unit is None:
                    return UNKNOWN
                return replace(first, unit=first.unit ** Fraction(1, 2))
            case "smooth":
                return arguments[1]
            case "cross" | "outerProduct":
                return _product(first, arguments[1], 1)
            case "min" | "max" | "atan2" if len(arguments) == 2:
                common = self.common(node.arguments[0], first, node.arguments[1], arguments[1])
                return NUMBER if name == "atan2" else common
            case "min" | "max":
                return first
            case "sign":
                return NUMBER
            case "identity" | "ones" | "size" | "ndims":
                return LITERAL
            case _:
                return UNKNOWN

    def _expect_pure(self, node: sx.Call, argument: Dimension) -> None:
        if argument.open or argument.scaled or argument.unit is None:
            return
        if argument.unit.dimensionless and not _same_size(argument.unit, DIMENSIONLESS):
            self._report(
                argument.declared,
                f"units do not match in '{self.text}': the argument of '{node.name}', "
                f"'{expression_text(node.arguments[0])}', is in {_shown(argument.unit)}; it must "
                "be in rad or a plain number",
                "write the factor into the equation, such as pi/180",
            )
        if not argument.unit.dimensionless:
            self._report(
                argument.declared,
                f"units do not match in '{self.text}': the argument of '{node.name}', "
                f"'{expression_text(node.arguments[0])}', is in {_shown(argument.unit)} instead of "
                "being dimensionless",
                "divide it by a quantity of the same unit",
            )

    def _array(self, elements: Iterable[sx.Expression]) -> Dimension:
        """Return the common dimension; elements of an array may differ."""
        dimensions = [self.dimension(e) for e in elements]
        known = [d for d in dimensions if not d.open]
        if not known:
            return LITERAL if dimensions and all(d.pure for d in dimensions) else UNKNOWN
        first = known[0]
        assert first.unit is not None
        same = all(d.unit is not None and compatible(first.unit, d.unit) for d in known)
        return first if same else UNKNOWN


def _product(a: Dimension, b: Dimension, sign: int) -> Dimension:
    if a.unit is None or b.unit is None:
        return UNKNOWN
    unit = a.unit * b.unit if sign > 0 else a.unit / b.unit
    scaled = a.scaled or b.scaled
    pure = (a.pure or b.pure) and a.unit.dimensionless and b.unit.dimensionless
    return Dimension(unit, pure, scaled, a.declared or b.declared)


def _same_size(a: Unit, b: Unit) -> bool:
    return math.isclose(a.factor, b.factor, rel_tol=1e-9) and a.offset == b.offset


def _is_coefficient(value: float) -> bool:
    """Return whether a literal is a formula coefficient, such as 2, 0.5 or 1.25."""
    return 0 < abs(value) <= 100 and float(value * 8).is_integer()


def _literal(node: sx.Expression) -> Fraction | None:
    match node:
        case sx.Number(value=value):
            return Fraction(value).limit_denominator(1000)
        case sx.Unary(operator="-", operand=operand):
            inner = _literal(operand)
            return None if inner is None else -inner
        case sx.Binary(operator="/", left=left, right=right):
            above, below = _literal(left), _literal(right)
            return None if above is None or not below else above / below
        case _:
            return None


def _shown(unit: Unit) -> str:
    size = "" if math.isclose(unit.factor, 1.0, rel_tol=1e-9) else f"{unit.factor:.6g} "
    if unit.text == unit.si:  # of an expression, whose unit is written nowhere
        return f"'{size}{unit.si}'"
    return f"'{unit.text}' ({size}{unit.si})"
