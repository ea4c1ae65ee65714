"""Checks the units of a flat model: equations, bindings, start values, asserts, functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from fmident.compilers.embedded.frontend.equations.system import TIME
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.printing import equation_text, expression_text
from fmident.compilers.embedded.frontend.refusal import Refusal
from fmident.compilers.embedded.frontend.units.dimensions import (
    SECOND,
    UNKNOWN,
    Dimension,
    DimensionalAnalysis,
    dimension_of,
)
from fmident.compilers.embedded.frontend.units.function_units import FunctionUnits
from fmident.errors import UnitError
from fmident.units import parse_unit


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
