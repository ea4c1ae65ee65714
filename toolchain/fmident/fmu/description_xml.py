"""Read ``modelDescription.xml``: FMI 2.0 here, FMI 3.0 in :mod:`fmident.fmu.fmi3`.

The parser refuses document type definitions before anything is expanded, so a small
hostile file cannot grow in memory or read other files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NoReturn, cast
from xml.etree import ElementTree
from xml.parsers import expat

from fmident.errors import FmuError, Location
from fmident.fmu.description import ModelDescription, Value, Variable, VariableType
from fmident.fmu.interfaces import Capabilities, InterfaceKind
from fmident.fmu.ramps import InputRamps

TYPES: tuple[VariableType, ...] = ("Real", "Integer", "Boolean", "String", "Enumeration")
SUPPORTED = "fmident runs FMUs of FMI 2.0 and 3.0 for Co-Simulation or Model Exchange"

INTERFACE_TAGS: tuple[tuple[str, InterfaceKind], ...] = (
    ("CoSimulation", "co-simulation"),
    ("ModelExchange", "model-exchange"),
)

# FMI 2.0.4, section 2.2.7: default of `initial` by (variability, causality).
DEFAULT_INITIAL = {
    ("constant", "output"): "exact",
    ("constant", "local"): "exact",
    ("fixed", "parameter"): "exact",
    ("tunable", "parameter"): "exact",
    ("fixed", "calculatedParameter"): "calculated",
    ("tunable", "calculatedParameter"): "calculated",
    ("fixed", "local"): "calculated",
    ("tunable", "local"): "calculated",
    ("discrete", "output"): "calculated",
    ("discrete", "local"): "calculated",
    ("continuous", "output"): "calculated",
    ("continuous", "local"): "calculated",
}


def parse_description(xml: bytes, *, file: str, platforms: Sequence[str] = ()) -> ModelDescription:
    """Turn the bytes of a model description into data.

    Parameters
    ----------
    xml
        Content of ``modelDescription.xml``.
    file
        Path for messages.
    platforms
        Folders of the archive that hold binaries.

    Raises
    ------
    FmuError
        Entities or a DTD, broken XML, wrong FMI version, no interface that can be
        simulated, or values that cannot be read.
    """
    root = _parse_tree(xml, file)
    if root.get("fmiVersion", "").startswith("3."):
        from fmident.fmu.fmi3.description_xml import read_description

        return read_description(root, file, platforms)
    return _Reader(root, file).read(platforms)


def _parse_tree(xml: bytes, file: str) -> ElementTree.Element:
    """Parse with expat; refuse a DTD at its first token."""
    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refuse(*_: object) -> NoReturn:
        raise FmuError(
            "the model description contains a document type definition (DTD) or entities,"
            " which FMI does not use and which can be made to exhaust memory",
            location=Location(file, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1),
            hint="get the FMU from its source again; a valid model description has no DTD",
        )

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(xml, True)
    except expat.ExpatError as error:
        raise FmuError(
            f"the model description is not well-formed XML: {expat.ErrorString(error.code)}",
            location=Location(file, error.lineno, error.offset + 1),
            hint="export the FMU again, or get it from its source again",
        ) from error
    except (LookupError, ValueError) as error:  # encodings that expat does not know
        raise FmuError(
            f"the model description cannot be decoded: {error}", location=Location(file)
        ) from error
    return builder.close()


def flag(element: ElementTree.Element, key: str) -> bool:
    """Return a Boolean attribute, false when it is missing."""
    return element.get(key, "false").strip() in ("true", "1")


def identifier(element: ElementTree.Element, file: str) -> str:
    """Return an interface's modelIdentifier, which becomes a file name."""
    found = element.get("modelIdentifier", "")
    if not re.fullmatch(r"[A-Za-z_]\w*", found, re.ASCII):
        raise FmuError(f"modelIdentifier '{found}' is not a C identifier", location=Location(file))
    return found


def _at(elements: Sequence[ElementTree.Element], index: str | None) -> ElementTree.Element:
    """Return the element at an index that counts from 1."""
    place = int(index or "0") - 1
    if place < 0:
        raise IndexError
    return elements[place]


class _Reader:
    """Reads one element tree; keeps what every message needs."""

    def __init__(self, root: ElementTree.Element, file: str) -> None:
        self.root = root
        self.file = file
        self.simple_types: dict[str, dict[str, str]] = {}

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        raise FmuError(message, location=Location(self.file), hint=hint)

    def read(self, platforms: Sequence[str]) -> ModelDescription:
        root = self.root
        if root.tag != "fmiModelDescription":
            self.fail(f"the root element is <{root.tag}>, not <fmiModelDescription>")
        version = root.get("fmiVersion", "")
        if not version.startswith("2."):
            self.fail(
                f"the FMU is of FMI version '{version}'; {SUPPORTED}",
                "export the FMU again as FMI 2.0 or 3.0",
            )
        interfaces = tuple(
            self._interface(root.find(tag), kind)
            for tag, kind in INTERFACE_TAGS
            if root.find(tag) is not None
        )
        if not interfaces:
            self.fail(
                f"the FMU is neither for Co-Simulation nor for Model Exchange; {SUPPORTED}",
                "export the FMU again, with Co-Simulation",
            )
        chosen = interfaces[0]
        self.simple_types = self._read_simple_types()
        variables = self._read_variables()
        states, derivatives = self._read_states()
        experiment = root.find("DefaultExperiment")

        def default(key: str) -> float | None:
            text = None if experiment is None else experiment.get(key)
            return None if text is None else self._number(text, f"DefaultExperiment.{key}")

        return ModelDescription(
            name=root.get("modelName", chosen.model_identifier),
            guid=root.get("guid", ""),
            fmi_version=version,
            variables=variables,
            generation_tool=root.get("generationTool", ""),
            description=root.get("description", ""),
            platforms=tuple(platforms),
            default_start=default("startTime"),
            default_stop=default("stopTime"),
            default_tolerance=default("tolerance"),
            default_step=default("stepSize"),
            log_categories=tuple(
                c.get("name", "") for c in root.iterfind("LogCategories/Category")
            ),
            output_dependencies=self._read_dependencies(variables),
            input_ramps=self._read_ramps(variables),
            frozen={
                f.get("name", ""): f.get("reason", "")
                for f in root.iterfind("VendorAnnotations/Tool[@name='fmident']/Frozen")
            },
            capabilities=chosen,
            interfaces=interfaces,
            state_count=len(root.findall("ModelStructure/Derivatives/Unknown")),
            indicator_count=self._count(root.get("numberOfEventIndicators", "0")),
            state_references=states,
            derivative_references=derivatives,
            **chosen.flags(),
        )

    def _read_states(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return value references of states and derivatives, if they can all be found."""
        elements = self.root.findall("ModelVariables/ScalarVariable")
        states: list[int] = []
        derivatives: list[int] = []
        try:
            for unknown in self.root.iterfind("ModelStructure/Derivatives/Unknown"):
                derivative = _at(elements, unknown.get("index"))
                typed = derivative.find("Real")
                state = _at(elements, None if typed is None else typed.get("derivative"))
                states.append(int(state.get("valueReference", "")))
                derivatives.append(int(derivative.get("valueReference", "")))
        except (ValueError, IndexError):
            return (), ()
        return tuple(states), tuple(derivatives)

    def _count(self, text: str) -> int:
        if not text.strip().isdecimal():
            self.fail(f"numberOfEventIndicators is '{text}', which is not a number")
        return int(text)

    def _interface(self, element: ElementTree.Element | None, kind: InterfaceKind) -> Capabilities:
        assert element is not None
        return Capabilities(
            kind=kind,
            model_identifier=identifier(element, self.file),
            can_interpolate_inputs=kind == "model-exchange"
            or flag(element, "canInterpolateInputs"),
            can_get_and_set_state=flag(element, "canGetAndSetFMUstate"),
            can_handle_variable_step=flag(element, "canHandleVariableCommunicationStepSize"),
            only_once_per_process=flag(element, "canBeInstantiatedOnlyOncePerProcess"),
            needs_execution_tool=flag(element, "needsExecutionTool"),
            provides_directional_derivative=flag(element, "providesDirectionalDerivative"),
            needs_completed_step=not flag(element, "completedIntegratorStepNotNeeded"),
        )

    def _read_ramps(self, variables: Sequence[Variable]) -> InputRamps | None:
        found = self.root.find("VendorAnnotations/Tool[@name='fmident']/InputRamps")
        if found is None:
            return None
        slopes = {r.get("input", ""): r.get("slope", "") for r in found.iterfind("Ramp")}
        ramps = InputRamps(found.get("referenceTime", ""), slopes)
        known = {v.name for v in variables if v.causality == "input"}
        missing = sorted((ramps.names | slopes.keys()) - known)
        if missing:
            self.fail(
                f"the annotation on input ramps names {', '.join(map(repr, missing))},"
                " which is no input of the FMU",
                "the FMU was changed after fmident built it: build it again",
            )
        return ramps

    def _number(self, text: str, what: str) -> float:
        try:
            return float(text)
        except ValueError:
            self.fail(f"{what} is '{text}', which is not a number")

    def _read_simple_types(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for simple in self.root.iterfind("TypeDefinitions/SimpleType"):
            for child in simple:
                found[simple.get("name", "")] = dict(child.attrib)
        return found

    def _read_variables(self) -> tuple[Variable, ...]:
        variables: list[Variable] = []
        names: set[str] = set()
        for element in self.root.iterfind("ModelVariables/ScalarVariable"):
            variable = self._read_variable(element)
            if variable.name in names:
                self.fail(f"two variables are called '{variable.name}'")
            names.add(variable.name)
            variables.append(variable)
        return tuple(variables)

    def _read_variable(self, element: ElementTree.Element) -> Variable:
        name = element.get("name")
        if name is None:
            self.fail("a ScalarVariable has no name")
        reference = element.get("valueReference", "")
        if not reference.strip().isdecimal() or int(reference) >= 2**32:
            self.fail(f"variable '{name}': valueReference '{reference}' is not a number")
        typed = next((child for child in element if child.tag in TYPES), None)
        if typed is None:
            self.fail(f"variable '{name}' has no type (one of {', '.join(TYPES)})")
        kind = cast(VariableType, typed.tag)
        declared = typed.get("declaredType")
        attributes = {**self.simple_types.get(declared or "", {}), **typed.attrib}
        causality = element.get("causality", "local")
        variability = element.get("variability", "continuous" if kind == "Real" else "discrete")

        def number(key: Literal["min", "max", "nominal"]) -> float | None:
            text = attributes.get(key)
            return None if text is None else self._number(text, f"variable '{name}': {key}")

        return Variable(
            name=name,
            value_reference=int(reference),
            type=kind,
            causality=causality,
            variability=variability,
            initial=element.get("initial", DEFAULT_INITIAL.get((variability, causality), "")),
            start=self._start(name, kind, typed.get("start")),
            unit=attributes.get("unit"),
            minimum=number("min"),
            maximum=number("max"),
            nominal=number("nominal"),
            description=element.get("description", ""),
            declared_type=declared,
        )

    def _start(self, name: str, kind: VariableType, text: str | None) -> Value | None:
        if text is None or kind == "String":
            return text
        if kind == "Boolean":
            if text.strip() not in ("true", "false", "1", "0"):
                self.fail(f"variable '{name}': start '{text}' is neither true nor false")
            return text.strip() in ("true", "1")
        if kind == "Real":
            return self._number(text, f"variable '{name}': start")
        try:
            return int(text)
        except ValueError:
            self.fail(f"variable '{name}': start '{text}' is not an integer")

    def _read_dependencies(self, variables: tuple[Variable, ...]) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for unknown in self.root.iterfind("ModelStructure/Outputs/Unknown"):
            text = unknown.get("dependencies")
            if text is None:
                continue
            try:
                of = variables[int(unknown.get("index", "")) - 1].name
                found[of] = frozenset(variables[int(i) - 1].name for i in text.split())
            except (ValueError, IndexError):
                continue  # a wrong index: then nothing is known of this output
        return found
