"""Variables as declared in the model description.

Sources: FMI specification 2.0.4, section 2.2.7; FMI specification 3.0.1, section 2.4.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

VariableType = Literal["Real", "Integer", "Boolean", "String", "Enumeration"]
Value = float | int | bool | str


_BEGIN, _END = "der(", ")"


@dataclass(frozen=True)
class Variable:
    """One scalar variable of an FMU, or one element of an array.

    Parameters
    ----------
    name
        As in the Modelica class, such as ``"axis.mass"`` or ``"tau[1]"``.
    value_reference
        Handle of the variable in FMI functions.
    type
        ``"Real"``, ``"Integer"``, ``"Boolean"``, ``"String"`` or ``"Enumeration"``.
    causality, variability, initial
        As FMI defines them, with defaults; `initial` is ``""`` where FMI has none.
    start
        Start value as a Python type, ``None`` if the description gives none.
    unit, minimum, maximum, nominal
        For a Real, from the variable or its declared type; ``None`` if absent. Integers can
        have `minimum` and `maximum`.
    description
        Text of the modeller, may be empty.
    declared_type
        Name of the declared simple type, or ``None``.
    display_unit
        Unit for display, FMI 3.0 only, or ``None``.
    native_type
        FMI 3.0's name of the type, such as ``"Float32"`` or ``"UInt64"``; `type` then is
        the closest one of FMI 2.0. Empty for FMI 2.0.
    element, elements
        Position of an array's element in row-major order, and their number; 0 and 1 for a
        scalar.
    intermediate
        Whether an input can be set within a step, FMI 3.0 Co-Simulation only.
    """

    name: str
    value_reference: int
    type: VariableType = "Real"
    causality: str = "local"
    variability: str = "continuous"
    initial: str = ""
    start: Value | None = None
    unit: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    nominal: float | None = None
    description: str = ""
    declared_type: str | None = None
    display_unit: str | None = None
    native_type: str = ""
    element: int = 0
    elements: int = 1
    intermediate: bool = False

    @property
    def element_reference(self) -> int:
        """Reference in the extension for sensitivities, which numbers array elements separately."""
        return self.value_reference + self.element

    @property
    def is_continuous(self) -> bool:
        """Whether an input can be interpolated: a 64-bit number that may change at any time."""
        return native_type(self) in ("Real", "Float64") and self.variability == "continuous"

    @property
    def settable(self) -> bool:
        """Whether FMI permits setting the value before initialisation."""
        return self.why_not_settable is None

    @property
    def is_constant(self) -> bool:
        """Whether its value was fixed when the FMU was built."""
        if self.settable or self.variability == "constant":
            return not self.settable
        calculated = self.causality in ("calculatedParameter", "input", "independent")
        return self.variability in ("fixed", "tunable") and not calculated

    @property
    def why_not_settable(self) -> str | None:
        """The reason why the variable cannot be set, or ``None``.

        Whether the FMU uses the value is another question: see :func:`fmident.fmu.influence`.
        """
        if self.causality in ("parameter", "structuralParameter"):
            return None
        if self.causality == "calculatedParameter":
            return "calculated from other parameters"
        if self.variability == "constant":
            return "constant"
        if self.causality == "input":
            return "an input"
        if self.causality == "independent":
            return "the independent variable (time)"
        if self.initial in ("exact", "approx"):
            return None
        if self.variability in ("fixed", "tunable"):
            return "frozen when the FMU was built"
        return "calculated by the model"


@dataclass(frozen=True)
class Declaration:
    """One variable as declared in the XML.

    Each of `dimensions` is a number, or the value reference of a structural parameter as
    text. `starts` are in row-major order; one for all elements, or none. `aliases` have
    description and display unit.
    """

    variable: Variable
    dimensions: tuple[int | str, ...] = ()
    starts: tuple[Value, ...] = ()
    aliases: tuple[tuple[str, str, str | None], ...] = ()


def native_type(variable: Variable) -> str:
    """Return the type whose functions set a variable: ``"Real"``, ``"Float64"``, ..."""
    if variable.native_type:
        return variable.native_type
    return "Integer" if variable.type == "Enumeration" else variable.type


def structured_name(name: str) -> str:
    """Return a name with structured derivatives: ``"der(x,2)"`` for ``"der(der(x))"``."""
    inside, order = name, 0
    while inside.startswith(_BEGIN) and inside.endswith(_END):
        inside = inside[len(_BEGIN) : -len(_END)]
        order += 1
    return f"{_BEGIN}{inside},{order}{_END}" if order > 1 else name


def element_name(array: str, index: Sequence[int]) -> str:
    """Return the name of an array's element as Modelica writes it.

    >>> element_name("a[2].x", [1, 3])
    'a[2].x[1,3]'
    >>> element_name("der(x)", [1])
    'der(x[1])'
    """
    inside, tail = _inside(array)
    subscripts = ",".join(map(str, index))
    return f"{array.removesuffix(tail)}[{subscripts}]{tail}" if inside else f"{array}[{subscripts}]"


def array_name(element: str) -> str:
    """Return the name of the array that an element belongs to; any other name is unchanged.

    >>> array_name("a[2].x[1,3]")
    'a[2].x'
    >>> array_name("der(x[1])")
    'der(x)'
    """
    inside, tail = _inside(element)
    if not (inside or element).endswith("]"):
        return element
    return element[: element.rindex("[")] + tail


def _inside(name: str) -> tuple[str, str]:
    """Split the name of a derivative into its argument and its end; empty if it is none."""
    if name.startswith(_BEGIN) and name.endswith(_END):
        return name[len(_BEGIN) : -len(_END)], _END
    return "", ""
