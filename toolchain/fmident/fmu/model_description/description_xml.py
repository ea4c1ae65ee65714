"""Read ``modelDescription.xml``: FMI 2.0 here, FMI 3.0 in :mod:`fmident.fmu.fmi3`.

The parser refuses document type definitions before anything is expanded, so a small
hostile file cannot grow in memory or read other files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn, cast
from xml.etree import ElementTree
from xml.parsers import expat

from fmident.errors import FmuError, Location
from fmident.fmu.model_description.description import (
    Capabilities,
    InterfaceKind,
    ModelDescription,
    choose_interface,
    sees_events_late,
)
from fmident.fmu.model_description.variables import Variable, VariableType
from fmident.fmu.model_description.xml_reader import (
    SUPPORTED,
    Reader,
    flag,
    identifier,
    only_once,
)
from fmident.fmu.setup import InputRamps

TYPES: tuple[VariableType, ...] = ("Real", "Integer", "Boolean", "String", "Enumeration")


_MOST_INDICATORS = 10_000_000
"""Each takes memory before the first step."""


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


def _at(elements: Sequence[ElementTree.Element], index: str | None) -> ElementTree.Element:
    """Return the element at an index that counts from 1."""
    place = int(index or "0") - 1
    if place < 0:
        raise IndexError
    return elements[place]


class _Reader(Reader):
    """Reads FMI 2.0."""

    def read(self, platforms: Sequence[str]) -> ModelDescription:
        root = self.root
        version = root.get("fmiVersion", "")
        if not version.startswith("2."):
            self.fail(
                f"the FMU is of FMI version '{version}'; {SUPPORTED}",
                "export the FMU again as FMI 2.0 or 3.0",
            )
        interfaces = tuple(self._interface(element, kind) for element, kind in self.found())
        if not interfaces:
            self.fail(
                f"the FMU is neither for Co-Simulation nor for Model Exchange; {SUPPORTED}",
                "export the FMU again, with Co-Simulation",
            )
        indicators = self._count(root.get("numberOfEventIndicators", "0"))
        late = sees_events_late(root.get("generationTool", ""), indicators)
        chosen = choose_interface(
            root.get("modelName", ""), interfaces, "auto", exchange_first=late
        )
        variables = self._read_variables()
        states, derivatives = self._read_states()
        return ModelDescription(
            name=root.get("modelName", chosen.model_identifier),
            guid=root.get("guid", ""),
            variables=variables,
            platforms=tuple(platforms),
            output_dependencies=self._read_dependencies(variables),
            input_ramps=self._read_ramps(variables),
            frozen=self.frozen(root.iterfind("VendorAnnotations/Tool[@name='fmident']//Frozen")),
            capabilities=chosen,
            interfaces=interfaces,
            state_count=len(root.findall("ModelStructure/Derivatives/Unknown")),
            indicator_count=indicators,
            state_references=states,
            derivative_references=derivatives,
            derivative_dependencies=self._read_derivative_dependencies(states),
            **self.common(),
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

    def _read_derivative_dependencies(
        self, states: Sequence[int]
    ) -> tuple[tuple[int, ...] | None, ...]:
        """Return for each derivative the places of the states that it depends on."""
        elements = self.root.findall("ModelVariables/ScalarVariable")
        places = {reference: k for k, reference in enumerate(states)}
        others = ("input", "parameter", "independent")
        found: list[tuple[int, ...] | None] = []
        for unknown in self.root.iterfind("ModelStructure/Derivatives/Unknown"):
            text = unknown.get("dependencies")
            try:
                named = [_at(elements, k) for k in (text or "").split()]
                references = [
                    int(v.get("valueReference", ""))
                    for v in named
                    if v.get("causality") not in others
                ]
            except (ValueError, IndexError):
                text, references = None, []
            if text is None or not places.keys() >= set(references):
                found.append(None)  # it depends on something that is neither state nor input
            else:
                found.append(tuple(sorted({places[r] for r in references})))
        return tuple(found) if places and any(f is not None for f in found) else ()

    def _count(self, text: str) -> int:
        return self.whole(text, "numberOfEventIndicators", _MOST_INDICATORS)

    def _interface(self, element: ElementTree.Element, kind: InterfaceKind) -> Capabilities:
        return Capabilities(
            kind=kind,
            model_identifier=identifier(element, self.file),
            can_interpolate_inputs=kind == "model-exchange"
            or flag(element, "canInterpolateInputs"),
            can_get_and_set_state=flag(element, "canGetAndSetFMUstate"),
            can_handle_variable_step=flag(element, "canHandleVariableCommunicationStepSize"),
            only_once_per_process=only_once(self.root, element),
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
                " which is not an input of the FMU",
                "the FMU was changed after fmident built it: build it again",
            )
        return ramps

    def _read_simple_types(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for simple in self.root.iterfind("TypeDefinitions/SimpleType"):
            for child in simple:
                found[simple.get("name", "")] = dict(child.attrib)
        return found

    def _read_variables(self) -> tuple[Variable, ...]:
        types = self._read_simple_types()
        elements = self.root.iterfind("ModelVariables/ScalarVariable")
        variables = tuple(self._read_variable(element, types) for element in elements)
        self.distinct(variables)
        return variables

    def _read_variable(
        self, element: ElementTree.Element, types: Mapping[str, Mapping[str, str]]
    ) -> Variable:
        name = element.get("name")
        if name is None:
            self.fail("a ScalarVariable has no name")
        typed = next((child for child in element if child.tag in TYPES), None)
        if typed is None:
            self.fail(f"variable '{name}' has no type (one of {', '.join(TYPES)})")
        kind = cast(VariableType, typed.tag)
        attributes = {**types.get(typed.get("declaredType", ""), {}), **typed.attrib}
        start = typed.get("start")
        return Variable(
            type=kind,
            start=None if start is None else self.start(name, kind, start),
            **self.fields(
                name, element, attributes, "continuous" if kind == "Real" else "discrete"
            ),
        )

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
