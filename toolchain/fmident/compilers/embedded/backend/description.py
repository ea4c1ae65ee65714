"""``modelDescription.xml`` of FMI 2.0 and 3.0, for Co-Simulation and Model Exchange.

Sources: FMI specification 2.0.4, sections 2.2, 3.3.1 and 4.3.1, and 3.0.2, sections 2.4, 3.3 and
4.3 (schema and attributes). Section 2.2.2 of the former: ``base = factor*value + offset``, and
``display = factor*value + offset``. Section 2.4.7 of the latter: attributes belong to an array
as a whole, except start values; elements are in row-major order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import cast
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import casadi as ca

from fmident.compilers.embedded.backend.layout import (
    TIME,
    Declaration,
    FmuLayout,
    FmuVariable,
    declarations,
)
from fmident.compilers.embedded.model import OdeModel, Version
from fmident.errors import CompilationError, UnitError
from fmident.fmu.model_description.description import FrozenParameter
from fmident.units import BASE_SYMBOLS, Unit, compatible, parse_unit

GUID_PLACEHOLDER = "{guid-of-the-content-comes-here}"
"""Placeholder of the GUID, which is a hash of the content, until all content is collected."""

INDICATORS = "eventIndicators"

_TYPES = {"Real": "Float64", "Integer": "Int32", "Boolean": "Boolean"}
"""Names of the types in FMI 3.0."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_description(
    model: OdeModel,
    layout: FmuLayout,
    version: Version,
    *,
    guid: str,
    generation_tool: str,
    tolerance: float,
    source_files: Sequence[str] = (),
    generated: str | None = None,
) -> str:
    """Return the text of ``modelDescription.xml``.

    `generation_tool` is name and version of this compiler; `generated` is date and time,
    ``None`` to omit them. `source_files` are those in the FMU's folder ``sources`` to
    compile, for FMI 2.0. Raises `CompilationError` for a variable with the name of the
    independent variable of FMI 3.0.
    """
    of_version: dict[str, str | None] = {"instantiationToken": guid}
    if version == "2.0":
        of_version = {"guid": guid, "numberOfEventIndicators": str(indicator_count(model))}
    attributes = {
        "fmiVersion": version,
        "modelName": model.name,
        **of_version,
        "description": model.description or None,
        "version": model.library_version or None,
        "generationTool": generation_tool,
        "generationDateAndTime": generated,
        "variableNamingConvention": "structured",
    }
    experiment = {
        "startTime": number(model.experiment.start_time),
        "stopTime": number(model.experiment.stop_time),
        "tolerance": number(tolerance),
        "stepSize": number(model.experiment.interval),
    }
    categories = [
        element("Category", {"name": name}) for name in ("logStatusWarning", "logStatusError")
    ]
    content = (_contents_2 if version == "2.0" else _contents_3)(model, layout)
    annotations = _annotations(model.frozen, version)
    return xml_text(
        element(
            "fmiModelDescription",
            attributes,
            *_interfaces(model, version, source_files),
            *unit_definitions((v.variable.unit, v.variable.display_unit) for v in layout.variables),
            element("LogCategories", {}, *categories),
            element("DefaultExperiment", experiment),
            *([*annotations, *content] if version == "2.0" else [*content, *annotations]),
        )
    )


def element(name: str, attributes: Mapping[str, str | None], *content: Element) -> Element:
    """Return an element of XML; ``None`` attributes and what XML cannot represent are omitted."""
    given = {key: _printable(value) for key, value in attributes.items() if value is not None}
    result = Element(name, given)
    result.extend(content)
    return result


def xml_text(root: Element) -> str:
    """Return a document as text, indented."""
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _printable(text: str) -> str:
    return _NOT_XML.sub("", text)


def content(text: str) -> str:
    """Return text escaped as element content; characters XML cannot represent are dropped."""
    return escape(_printable(text), quote=False)


def number(value: float | None) -> str | None:
    """Return a number as text that reads back to the same bits."""
    return None if value is None else repr(float(value))


def model_identifier(class_name: str) -> str:
    """Return a C identifier for a Modelica class: the name of the binary.

    >>> model_identifier("Mechanisms.FMUs.DeltaInverse")
    'Mechanisms_FMUs_DeltaInverse'
    """
    identifier = re.sub(r"[^A-Za-z0-9_]", "_", class_name)
    return identifier if identifier[:1].isalpha() else f"m_{identifier}"


def _interfaces(model: OdeModel, version: Version, source_files: Sequence[str]) -> list[Element]:
    needed = needs_completed_steps(model)
    both = {"modelIdentifier": model_identifier(model.name)}
    exchange: dict[str, str | None] = {"needsCompletedIntegratorStep": "true" if needed else None}
    steps = {"canHandleVariableCommunicationStepSize": "true"}
    if version == "2.0":
        both |= {
            "canNotUseMemoryManagementFunctions": "true",
            "canGetAndSetFMUstate": "true",
            "canSerializeFMUstate": "true",
            "providesDirectionalDerivative": "true",
        }
        exchange = {"completedIntegratorStepNotNeeded": "false" if needed else "true"}
        steps |= {"canInterpolateInputs": "true", "maxOutputDerivativeOrder": "0"}
    else:
        both |= {
            "canGetAndSetFMUState": "true",
            "canSerializeFMUState": "true",
            "providesDirectionalDerivatives": "true",
            "providesAdjointDerivatives": "true",
        }
        steps |= {"providesIntermediateUpdate": "true"} if model.inputs else {}
    kinds: dict[str, Mapping[str, str | None]] = {"ModelExchange": exchange, "CoSimulation": steps}
    if not offers_model_exchange(model):
        del kinds["ModelExchange"]
    return [
        element(
            kind,
            {**both, **own},
            *([_source_files(source_files)] if source_files and version == "2.0" else []),
        )
        for kind, own in kinds.items()
    ]


def _source_files(names: Sequence[str]) -> Element:
    return element("SourceFiles", {}, *(element("File", {"name": name}) for name in names))


def _annotations(frozen: Mapping[str, FrozenParameter], version: Version) -> list[Element]:
    if not frozen:
        return []
    reasons = (
        element("Frozen", {"name": name, "reason": one.reason, "advice": one.advice})
        for name, one in frozen.items()
    )
    parameters = element("FrozenParameters", {}, *reasons)  # the schema wants one element
    if version == "2.0":
        tool = element("Tool", {"name": "fmident"}, parameters)
        return [element("VendorAnnotations", {}, tool)]
    return [element("Annotations", {}, element("Annotation", {"type": "fmident"}, parameters))]


def _common(name: str, reference: int, v: FmuVariable) -> dict[str, str | None]:
    return {
        "name": name,
        "valueReference": str(reference),
        "description": v.variable.description or None,
        "causality": v.causality,
        "variability": v.variability,
        "initial": v.initial,
    }


def _of_type(
    v: FmuVariable, start: str | None, derivative: str | None, moved: bool
) -> dict[str, str | None]:
    m = v.variable
    match m.type_name:
        case "Boolean":
            return {}
        case "Integer":
            return {
                "quantity": m.quantity or None,
                "min": None if m.minimum is None else str(round(m.minimum)),
                "max": None if m.maximum is None else str(round(m.maximum)),
            }
        case "Real":
            display = m.display_unit if m.unit and _shows(m.unit, m.display_unit) else None
            return {
                "quantity": m.quantity or None,
                "unit": m.unit or None,
                "displayUnit": display,
                "min": number(m.minimum),
                "max": number(m.maximum),
                "nominal": number(m.nominal),
                "start": start,
                "derivative": derivative,
                "reinit": "true" if moved else None,
            }


def _contents_2(model: OdeModel, layout: FmuLayout) -> list[Element]:
    """Return ``ModelVariables`` and ``ModelStructure`` of FMI 2.0."""
    index = {v.name: i for i, v in enumerate(layout.variables, start=1)}
    moved = states_moved_at_events(model)
    variables: list[Element] = []
    for v in layout.variables:
        derivative = str(index[v.derivative_of]) if v.derivative_of else None
        of_type = _of_type(v, number(v.start), derivative, v.name in moved)
        attributes = _common(v.name, v.value_reference, v)
        kind = element(v.variable.type_name, of_type)
        variables.append(cast(Element, ElementTree.Comment(f" {index[v.name]} ")))
        variables.append(element("ScalarVariable", attributes, kind))

    def section(
        name: str, rows: Mapping[str, Collection[str]], known: Collection[str]
    ) -> list[Element]:
        unknowns = [
            element("Unknown", {"index": str(index[unknown]), "dependencies": _joined(used)})
            for unknown in sorted(rows, key=index.__getitem__)
            for used in [{index[d] for d in rows[unknown] if d in known}]
        ]
        return [element(name, {}, *unknowns)] if unknowns else []

    varying = {v.name for v in (*model.states, *model.inputs)}
    structure = [
        *section("Outputs", layout.structure.outputs, varying),
        *section("Derivatives", layout.structure.derivatives, varying),
        *section("InitialUnknowns", layout.structure.initial, index),
    ]
    return [element("ModelVariables", {}, *variables), element("ModelStructure", {}, *structure)]


def _joined(numbers: Iterable[int]) -> str:
    return " ".join(str(k) for k in sorted(numbers))


def _contents_3(model: OdeModel, layout: FmuLayout) -> list[Element]:
    """Return ``ModelVariables`` and ``ModelStructure`` of FMI 3.0."""
    if TIME in layout.references:
        raise CompilationError(
            f"a variable of '{model.name}' is called '{TIME}', as the independent variable of FMI"
            " 3.0 is",
            hint="give it another name, or build for FMI 2.0",
        )
    declared = declarations(layout.variables)
    reference = {v.name: one.value_reference for one in declared for v in one.elements}
    reference[TIME] = len(layout.names)
    moved = states_moved_at_events(model)
    variables = [_variable_3(one, reference, moved) for one in declared]
    time = {
        "name": TIME,
        "valueReference": str(reference[TIME]),
        "causality": "independent",
        "variability": "continuous",
        "unit": "s" if any(v.variable.unit == "s" for v in layout.variables) else None,
    }
    variables.append(element("Float64", time))

    def unknowns(name: str, rows: Mapping[str, Collection[str]]) -> Iterable[Element]:
        """Yield the elements of one kind, with one joint list of dependencies for each array."""
        joint: dict[int, set[int]] = {}
        for unknown, used in rows.items():
            joint.setdefault(reference[unknown], set()).update(reference[d] for d in used)
        for key in sorted(joint):
            given = {"valueReference": str(key), "dependencies": _joined(joint[key])}
            yield element(name, given)

    structure = [
        *unknowns("Output", layout.structure.outputs),
        *unknowns("ContinuousStateDerivative", layout.structure.derivatives),
        *unknowns("InitialUnknown", layout.structure.initial),
    ]
    if count := indicator_count(model):  # declared as one array
        name = INDICATORS
        while name in layout.references:
            name += "_"
        indicators = {
            "name": name,
            "valueReference": str(reference[TIME] + 1),
            "description": "Each changes its sign where a relation does",
            "causality": "local",
            "variability": "continuous",
        }
        variables.append(element("Float64", indicators, _dimension(count)))
        given = {"valueReference": indicators["valueReference"]}
        structure.append(element("EventIndicator", given))
    return [element("ModelVariables", {}, *variables), element("ModelStructure", {}, *structure)]


def _variable_3(one: Declaration, reference: Mapping[str, int], moved: frozenset[str]) -> Element:
    v = one.first
    starts = [number(e.start) for e in one.elements]
    attributes = _common(one.name, one.value_reference, v) | _of_type(
        v,
        None if None in starts else " ".join(map(str, starts)),
        str(reference[v.derivative_of]) if v.derivative_of else None,
        any(e.name in moved for e in one.elements),
    )
    if v.causality == "input" and v.variable.type_name == "Real":
        attributes["intermediateUpdate"] = "true"
    return element(_TYPES[v.variable.type_name], attributes, *map(_dimension, one.shape))


def _dimension(size: int) -> Element:
    return element("Dimension", {"start": str(size)})


def unit_definitions(units: Iterable[tuple[str, str]]) -> list[Element]:
    """Return the element, if any, from the unit and display unit of each variable.

    For a unit that cannot be parsed, only the name is written.
    """
    displays: dict[str, set[str]] = {}
    for unit, display in units:
        if unit:
            names = displays.setdefault(unit, set())
            if _shows(unit, display):
                names.add(display)
    definitions = [_definition(name, sorted(displays[name])) for name in sorted(displays)]
    return [element("UnitDefinitions", {}, *definitions)] if definitions else []


def _shows(unit: str, display: str) -> bool:
    read, other = _read(unit), _read(display) if display else None
    return read is not None and other is not None and compatible(read, other)


def _read(text: str) -> Unit | None:
    try:
        return parse_unit(text)
    except UnitError:
        return None


def _definition(name: str, displays: list[str]) -> Element:
    result = element("Unit", {"name": name})
    unit = _read(name)
    if unit is None or any(e.denominator != 1 for e in unit.exponents):
        return result
    exponents = zip(BASE_SYMBOLS, unit.exponents, strict=True)
    attributes = {symbol: str(int(exponent)) for symbol, exponent in exponents if exponent}
    if unit.factor != 1.0:
        attributes["factor"] = repr(float(unit.factor))
    if unit.offset != 0.0:
        attributes["offset"] = repr(float(unit.offset))
    result.append(element("BaseUnit", attributes))
    for display in displays:
        other = parse_unit(display)
        scaling = {
            "name": display,
            "factor": number(unit.factor / other.factor),
            "offset": number((unit.offset - other.offset) / other.factor),
        }
        result.append(element("DisplayUnit", scaling))
    return result


def offers_model_exchange(model: OdeModel) -> bool:
    """Return whether the FMU of a model offers Model Exchange besides Co-Simulation.

    An integrator outside the FMU does not project constrained states back after each step.
    """
    return not model.constraints.equations


def indicator_count(model: OdeModel) -> int:
    """Return the number of event indicators: one for each relation."""
    return len(model.events.relations) if offers_model_exchange(model) else 0


def needs_completed_steps(model: OdeModel) -> bool:
    """Return whether loops or assertions need a call after each completed step."""
    return bool(model.loops.all or model.asserts)


def states_moved_at_events(model: OdeModel) -> frozenset[str]:
    """Return the names of states that an event may change."""
    if not model.events.any:
        return frozenset()
    arguments = model.events.update.sx_in()
    after = ca.vec(model.events.update.call(arguments)[1])
    states = zip(model.states, range(after.numel()), strict=True)
    return frozenset(v.name for v, i in states if not ca.is_equal(after[i], arguments[1][i]))
