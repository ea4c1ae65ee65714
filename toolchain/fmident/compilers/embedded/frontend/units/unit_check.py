"""Checks the units of a flat model: equations, bindings, start values, asserts, functions.

Functions such as a friction law serve force over velocity and torque over angular velocity, so
their variables carry no unit: the body is analysed for the arguments of each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fmident.compilers.embedded.frontend.equations.system import TIME
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.printing import equation_text, expression_text
from fmident.compilers.embedded.frontend.refusal import Refusal
from fmident.compilers.embedded.frontend.units.dimensions import (
    LITERAL,
    SECOND,
    UNKNOWN,
    Dimension,
    DimensionalAnalysis,
    dimension_of,
)
from fmident.errors import UnitError
from fmident.units import compatible, parse_unit

MAXIMUM_DEPTH = 10


class UnitChecker:
    """Checks the equations of one flat model.

    Attributes
    ----------
    mismatches
        Contradictions of declared units, one per equation.
    remarks
        Findings in which one side is only ``time``, literals and plain numbers, and those in
        libraries: rule, text, place.
    unreadable
        Variables whose unit cannot be read, with the reason.
    """

    def __init__(self, flat: sx.FlatModel) -> None:
        self._flat = flat
        self._units: dict[str, Dimension] = {TIME: Dimension(SECOND)}
        self._found: list[Refusal] = []
        self._functions = FunctionUnits(flat.functions, self._found)
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
                    self._guarded(text, span, partial(_same, reference, expression))
        for equation in (*self._flat.equations, *self._flat.initial_equations):
            self._guarded(equation_text(equation), equation.span, partial(_equation, equation))
        for assertion in self._flat.assertions:
            self._assertion(assertion)
        for branch in (b for branches in self._flat.whens for b in branches):
            text = f"when {expression_text(branch.condition)}"
            self._guarded(text, branch.span, partial(_condition, branch.condition))
            self._when(branch.body)

    def _assertion(self, assertion: sx.AssertStatement) -> None:
        text = f"assert({expression_text(assertion.condition)}, ...)"
        self._guarded(text, assertion.span, partial(_condition, assertion.condition))

    def _when(self, items: Sequence[sx.WhenItem]) -> None:
        for item in items:
            if isinstance(item, sx.AssertStatement):
                self._assertion(item)
                continue
            if isinstance(item, sx.WhenConditional):
                for condition, body in item.branches:
                    text = f"if {expression_text(condition)}"
                    self._guarded(text, item.span, partial(_condition, condition))
                    self._when(body)
                self._when(item.otherwise)
                continue
            value = expression_text(item.value)
            text = f"{item.variable} = {value}"
            if item.reinit:
                text = f"reinit({item.variable}, {value})"
            reference = sx.Reference(item.variable, (), item.span)
            self._guarded(text, item.span, partial(_same, reference, item.value))

    def _guarded(
        self, text: str, span: sx.Span, action: Callable[[DimensionalAnalysis], object]
    ) -> None:
        try:
            action(DimensionalAnalysis(self._units, self._functions, text, self._found))
        except Refusal as refusal:
            place = refusal.span if span == sx.NOWHERE else span
            found = Refusal(refusal.rule, refusal.message, place, refusal.hint)
            (self._found if place.source in self._flat.libraries else self.mismatches).append(found)
        self.remarks.extend((r.rule, r.message, span) for r in self._found)
        self._found.clear()


def _same(left: sx.Expression, right: sx.Expression, analysis: DimensionalAnalysis) -> None:
    analysis.same(left, right)


def _condition(condition: sx.Expression, analysis: DimensionalAnalysis) -> None:
    analysis.dimension(condition)


def _equation(equation: sx.Equation, analysis: DimensionalAnalysis) -> None:
    match equation:
        case sx.Equation(left=left, right=None):
            analysis.dimension(left)
        case sx.Equation(left=sx.Tuple(), right=right) if right is not None:
            analysis.dimension(right)
        case sx.Equation(left=left, right=right) if right is not None:
            analysis.same(left, right)


class FunctionUnits:
    """Returns the dimension of the first output of a call.

    Parameters
    ----------
    functions
        All functions of the model, by name.
    remarks
        As of :class:`DimensionalAnalysis`.

    Notes
    -----
    The declared unit of an output holds, whatever the body computes: only the author of a
    conversion such as ``to_degC`` knows what its numbers mean.
    """

    def __init__(self, functions: Mapping[str, sx.Function], remarks: list[Refusal]) -> None:
        self._functions = functions
        self.remarks = remarks
        self._depth = 0

    def __call__(self, call: sx.Call, arguments: list[Dimension], text: str) -> Dimension:
        """Analyse the body of the function called.

        Raises
        ------
        Refusal
            When the dimensions of the arguments contradict each other in the body.
        """
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
    """Return the dimension of a declared unit; unknown when there is none that can be read."""
    try:
        parsed = parse_unit(unit) if unit else None
    except UnitError:
        return UNKNOWN
    return UNKNOWN if parsed is None else dimension_of(parsed)


class _Body:
    """Follows the statements of one function."""

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
    """Return what holds after branches: the common dimension, unknown when they differ."""
    known = [d for d in dimensions if not d.open]
    if not known or not all(_equal(known[0], d) for d in known):
        return UNKNOWN
    return known[0]
