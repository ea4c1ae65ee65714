"""The dimension of an expression, from the dimensions of its variables.

A variable without a unit fits everything. A literal such as 2, 0.5 or 1.25 is a pure number
in a product and fits everything in a sum or on one side of an equation; so does what is made
of literals and dimensionless values only (``10*sin(x)`` can be a force). Any other literal,
such as 9.81 or 0.001, may stand for a quantity, and what it multiplies fits everything. The
size of units counts as well, mm against m or deg against rad, except where a literal is a
factor, which may convert them. The radian counts as dimensionless.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.printing import expression_text
from fmident.compilers.embedded.frontend.refusal import Refusal
from fmident.units import DIMENSIONLESS, Unit, compatible, parse_unit

SECOND = parse_unit("s")

DIMENSIONLESS_FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log10"}
)
SAME_UNIT_FUNCTIONS = frozenset(
    {
        "abs",
        "noEvent",
        "sum",
        "transpose",
        "skew",
        "diagonal",
        "symmetric",
        "scalar",
        "vector",
        "matrix",
        "fill",
    }
)


@dataclass(frozen=True)
class Dimension:
    """What is known of the unit of an expression.

    Parameters
    ----------
    unit
        ``None`` when nothing is known: fits everything.
    pure
        Made of literals and dimensionless values with a literal among them: fits everything
        in a sum.
    scaled
        A literal is a factor in it, which may stand for a quantity.
    declared
        A variable with a declared unit other than 1 is part of it; otherwise the unit comes from
        ``time``, literals and plain numbers.
    """

    unit: Unit | None = None
    pure: bool = False
    scaled: bool = False
    declared: bool = False

    @property
    def open(self) -> bool:
        """Whether it fits everything."""
        return self.unit is None or self.pure


def dimension_of(unit: Unit) -> Dimension:
    """Return the dimension of a variable that is declared in a unit."""
    return Dimension(unit, declared=unit.text != DIMENSIONLESS.text)


UNKNOWN = Dimension()
LITERAL = Dimension(DIMENSIONLESS, pure=True, scaled=True)
NUMBER = Dimension(DIMENSIONLESS)


CallDimension = Callable[[sx.Call, "list[Dimension]", str], Dimension]


class DimensionalAnalysis:
    """Derives dimensions in one scope.

    Parameters
    ----------
    units
        Dimensions of the variables, by name; others are unknown.
    call
        Dimension of a call of a function of the user.
    text
        The equation or statement, for messages.
    remarks
        Receives findings that do not come from declared units: one side holds nothing but
        ``time``, literals and plain numbers, as in ``x = sin(time)``.
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
        """Return the common dimension of two expressions that must have one."""
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
            self._found(
                both,
                f"units do not match in '{self.text}': '{expression_text(left)}' is in "
                f"{_shown(a.unit)} and '{expression_text(right)}' in {_shown(b.unit)}",
                "correct the equation or the declared units; a variable without a unit fits "
                "everything",
            )
            return b if b.declared else a if a.declared else UNKNOWN
        scaled = a.scaled or b.scaled
        if not scaled and not _same_size(a.unit, b.unit):
            self._found(
                both,
                f"units differ in size in '{self.text}': '{expression_text(left)}' is in "
                f"{_shown(a.unit)} and '{expression_text(right)}' in {_shown(b.unit)}; Modelica "
                "does not convert",
                "declare both in the same unit, or write the factor into the equation",
            )
        return Dimension(a.unit, scaled=scaled, declared=a.declared or b.declared)

    def _found(self, declared: bool, message: str, hint: str) -> None:
        """Refuse a contradiction of declared units; note any other one."""
        finding = Refusal("unit-mismatch", message, hint=hint)
        if declared:
            raise finding
        self.remarks.append(finding)

    def dimension(self, node: sx.Expression) -> Dimension:
        """Return the dimension of an expression.

        Raises
        ------
        Refusal
            When units contradict each other inside it.
        """
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
                result, shown = self.dimension(otherwise), otherwise
                for condition, branch in branches:
                    self.dimension(condition)
                    result = self.common(branch, self.dimension(branch), shown, result)
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
            self._found(
                argument.declared,
                f"units do not match in '{self.text}': the argument of '{node.name}', "
                f"'{expression_text(node.arguments[0])}', is in {_shown(argument.unit)}; it must "
                "be in rad or a plain number",
                "write the factor into the equation, such as pi/180",
            )
        if not argument.unit.dimensionless:
            self._found(
                argument.declared,
                f"units do not match in '{self.text}': the argument of '{node.name}', "
                f"'{expression_text(node.arguments[0])}', is in {_shown(argument.unit)} instead of "
                "being dimensionless",
                "divide it by a quantity of the same unit",
            )

    def _array(self, elements: Iterable[sx.Expression]) -> Dimension:
        """Return the common dimension; different ones are allowed in an array."""
        found = [self.dimension(e) for e in elements]
        known = [d for d in found if not d.open]
        if not known:
            return LITERAL if found and all(d.pure for d in found) else UNKNOWN
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
    """Return whether the number 1 means the same in two units of one dimension."""
    return math.isclose(a.factor, b.factor, rel_tol=1e-9) and a.offset == b.offset


def _is_coefficient(value: float) -> bool:
    """Return whether a literal is a factor of a formula, such as 2, 0.5 or 1.25."""
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
    """Return a unit as it is written, and what it is in base units."""
    size = "" if math.isclose(unit.factor, 1.0, rel_tol=1e-9) else f"{unit.factor:.6g} "
    if unit.text == unit.si:  # of an expression, whose unit is written nowhere
        return f"'{size}{unit.si}'"
    return f"'{unit.text}' ({size}{unit.si})"
