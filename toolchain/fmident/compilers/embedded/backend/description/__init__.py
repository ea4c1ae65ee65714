"""``modelDescription.xml``: what all versions of FMI have in common, and a module for each.

Which variables of a model FMI 3.0 shows as arrays.

Source: FMI specification 3.0.2, section 2.4.7 (attributes belong to an array as a whole, except
start values; elements in row-major order).

``UnitDefinitions`` of the model description.

Source: FMI specification 2.0.4, section 2.2.2: ``base = factor*value + offset``, and
``display = factor*value + offset``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

import casadi as ca

from fmident.compilers.embedded.backend.derivatives import symbols
from fmident.compilers.embedded.backend.layout import FmuVariable
from fmident.compilers.embedded.model import ExperimentDefaults, OdeModel
from fmident.errors import UnitError
from fmident.fmu.model_description.description import FrozenParameter
from fmident.units import BASE_SYMBOLS, Unit, compatible, parse_unit

GUID_PLACEHOLDER = "{guid-of-the-content-comes-here}"
"""What stands for the GUID while the content that it is a hash of is collected."""


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_ELEMENT = re.compile(r"(?P<base>.*)\[(?P<index>[0-9]+(,[0-9]+)*)\]", re.DOTALL)
_DERIVATIVE = re.compile(r"der\((?P<state>.*)\)", re.DOTALL)


def model_identifier(class_name: str) -> str:
    """Return a C identifier for a Modelica class: the name of the binary.

    >>> model_identifier("Mechanisms.Robots.DeltaInverse")
    'Mechanisms_Robots_DeltaInverse'
    """
    identifier = re.sub(r"[^A-Za-z0-9_]", "_", class_name)
    return identifier if identifier[:1].isalpha() else f"m_{identifier}"


def log_categories() -> Iterable[str]:
    """Yield the lines of the element ``LogCategories``."""
    yield "  <LogCategories>"
    yield "    " + tag("Category", {"name": "logStatusWarning"})
    yield "    " + tag("Category", {"name": "logStatusError"})
    yield "  </LogCategories>"


def default_experiment(experiment: ExperimentDefaults, tolerance: float) -> str:
    """Return the line of the element ``DefaultExperiment``."""
    return "  " + tag(
        "DefaultExperiment",
        {
            "startTime": number(experiment.start_time),
            "stopTime": number(experiment.stop_time),
            "tolerance": number(tolerance),
            "stepSize": number(experiment.interval),
        },
    )


def frozen_parameters(frozen: Mapping[str, FrozenParameter]) -> Iterable[str]:
    """Yield the lines of a vendor annotation that says why parameters cannot be set."""
    yield "      <FrozenParameters>"  # the schema wants one element
    for name, one in frozen.items():
        given = {"name": name, "reason": one.reason, "advice": one.advice}
        yield "        " + tag("Frozen", given)
    yield "      </FrozenParameters>"


def whole(limit: float | None) -> str | None:
    """Return a limit of an Integer variable as text."""
    return None if limit is None else str(round(limit))


def tag(name: str, attributes: Mapping[str, str | None], *, close: bool = True) -> str:
    """Return an element without content, or its opening tag if `close` is false.

    ``None`` attributes and characters that XML cannot represent are omitted.
    """
    parts = [
        f" {key}={quoteattr(_NOT_XML.sub('', value))}"
        for key, value in attributes.items()
        if value is not None
    ]
    return f"<{name}{''.join(parts)}{'/>' if close else '>'}"


def number(value: float | None) -> str | None:
    """Return a number as text that reads back to the same bits."""
    return None if value is None else repr(float(value))


def content(text: str) -> str:
    """Return text escaped as element content; characters XML cannot represent are dropped."""
    return escape(_NOT_XML.sub("", text))


@dataclass(frozen=True)
class Declaration:
    """A scalar or array variable of FMI 3.0; `elements` are in row-major order."""

    name: str
    elements: tuple[FmuVariable, ...]
    shape: tuple[int, ...] = ()

    @property
    def first(self) -> FmuVariable:
        """The first element, or the scalar itself."""
        return self.elements[0]

    @property
    def value_reference(self) -> int:
        """Value reference of the variable."""
        return self.first.value_reference


def declarations(variables: Sequence[FmuVariable]) -> list[Declaration]:
    """Return the variables as FMI 3.0 declares them, ordered by value reference.

    Variables form an array if all elements are present, in order, with equal attributes;
    states only together with their derivatives.
    """
    groups: dict[str, list[tuple[FmuVariable, tuple[int, ...]]]] = {}
    for variable in variables:
        base, index = _split(variable.name)
        if index:
            groups.setdefault(base, []).append((variable, index))
    arrays = {
        array.name: array
        for array in (_array(base, members) for base, members in groups.items())
        if array is not None
    }
    _drop_halves(arrays, variables)
    inside = {v.name for array in arrays.values() for v in array.elements}
    scalars = (Declaration(v.name, (v,)) for v in variables if v.name not in inside)
    return sorted((*arrays.values(), *scalars), key=lambda d: d.value_reference)


def references(declared: Iterable[Declaration]) -> dict[str, int]:
    """Return the FMI 3.0 value reference of each scalar variable, by name."""
    return {v.name: one.value_reference for one in declared for v in one.elements}


def _split(name: str) -> tuple[str, tuple[int, ...]]:
    """Split the name of an array element into array and index; the index of a scalar is empty."""
    derivative = _DERIVATIVE.fullmatch(name)
    if derivative is not None:
        base, index = _split(derivative["state"])
        return f"der({base})", index
    element = _ELEMENT.fullmatch(name)
    if element is None:
        return name, ()
    return element["base"], tuple(int(k) for k in element["index"].split(","))


def _array(base: str, members: Sequence[tuple[FmuVariable, tuple[int, ...]]]) -> Declaration | None:
    """Return the array made of variables with their indices, or ``None`` if they are not one."""
    elements = tuple(variable for variable, _ in members)
    indices = [index for _, index in members]
    shape = indices[-1]
    complete = math.prod(shape) == len(indices) and indices == list(
        itertools.product(*(range(1, size + 1) for size in shape))
    )
    first = elements[0].value_reference
    row = [v.value_reference for v in elements] == list(range(first, first + len(elements)))
    alike = len({_of_the_whole(v) for v in elements}) == 1
    return Declaration(base, elements, shape) if complete and row and alike else None


def _of_the_whole(v: FmuVariable) -> tuple[object, ...]:
    """Return the attributes that all elements of an array share."""
    m = v.variable
    return (
        *(v.causality, v.variability, v.initial, v.start is None, v.derivative_of is None),
        *(m.type_name, m.unit, m.display_unit, m.quantity, m.description),
        *(m.minimum, m.maximum, m.nominal),
    )


def _drop_halves(arrays: dict[str, Declaration], variables: Sequence[FmuVariable]) -> None:
    """Remove arrays of states whose derivatives are not an array, and vice versa."""
    derivative_of: Mapping[str, str] = {
        v.derivative_of: v.name for v in variables if v.derivative_of is not None
    }
    for array in list(arrays.values()):
        states = [v.derivative_of or v.name for v in array.elements]
        slopes = [derivative_of.get(state) for state in states]
        if not any(slopes):
            continue
        wanted = {tuple(v.name for v in other.elements) for other in arrays.values()}
        if tuple(states) not in wanted or tuple(slopes) not in wanted:
            del arrays[array.name]


def unit_definitions(units: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lines of the element, from the unit and display unit of each variable.

    For a unit that cannot be parsed, only the name is written.
    """
    displays: dict[str, set[str]] = {}
    for unit, display in units:
        if unit:
            names = displays.setdefault(unit, set())
            if shows(unit, display):
                names.add(display)
    if not displays:
        return []
    lines = ["  <UnitDefinitions>"]
    for name in sorted(displays):
        lines += _definition(name, sorted(displays[name]))
    return [*lines, "  </UnitDefinitions>"]


def shows(unit: str, display: str) -> bool:
    """Return whether values in `unit` can be displayed in `display`."""
    read, other = _read(unit), _read(display) if display else None
    return read is not None and other is not None and compatible(read, other)


def _read(text: str) -> Unit | None:
    try:
        return parse_unit(text)
    except UnitError:
        return None


def _definition(name: str, displays: list[str]) -> list[str]:
    unit = _read(name)
    if unit is None or any(e.denominator != 1 for e in unit.exponents):
        return ["    " + tag("Unit", {"name": name})]
    attributes = {
        symbol: str(int(exponent))
        for symbol, exponent in zip(BASE_SYMBOLS, unit.exponents, strict=True)
        if exponent
    }
    if unit.factor != 1.0:
        attributes["factor"] = repr(float(unit.factor))
    if unit.offset != 0.0:
        attributes["offset"] = repr(float(unit.offset))
    lines = ["    " + tag("Unit", {"name": name}, close=False)]
    lines.append("      " + tag("BaseUnit", attributes))
    for display in displays:
        other = parse_unit(display)
        scaling = {
            "name": display,
            "factor": number(unit.factor / other.factor),
            "offset": number((unit.offset - other.offset) / other.factor),
        }
        lines.append("      " + tag("DisplayUnit", scaling))
    return [*lines, "    </Unit>"]


def offers_model_exchange(model: OdeModel) -> bool:
    """Return whether the FMU of a model offers Model Exchange besides Co-Simulation.

    An integrator outside the FMU does not project constrained states back after each step.
    """
    return model.constraints is None


def indicator_count(model: OdeModel) -> int:
    """Return the number of event indicators: one for each relation."""
    return len(model.events.relations) if model.events and offers_model_exchange(model) else 0


def needs_completed_steps(model: OdeModel) -> bool:
    """Return whether loops or assertions need a call after each completed step."""
    return bool(model.loops or model.asserts)


def states_moved_at_events(model: OdeModel) -> frozenset[str]:
    """Return the names of states that an event may change."""
    if model.events is None:
        return frozenset()
    arguments = symbols(model.events.update)
    after = ca.vec(model.events.update.call(arguments)[1])
    states = zip(model.states, range(after.numel()), strict=True)
    return frozenset(v.name for v, i in states if not ca.is_equal(after[i], arguments[1][i]))
