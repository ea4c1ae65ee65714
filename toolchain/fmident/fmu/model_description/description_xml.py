"""Read ``modelDescription.xml`` of FMI 2.0 and 3.0.

FMPy's ``read_model_description`` (0.3.32) does not serve here:

- of FMI 3.0 it ignores ``providesDirectionalDerivatives``, ``intermediateUpdate``, the bounds of
  unsigned integers, and all start values of a text array but the first;
- it fails where a list of dependencies has two blanks between its words, a type is not defined,
  causality and variability do not fit, or the version is "2.0.1"; FMUs with these simulate well;
- a variable without a type gets that of the one before, and index 0 is the last variable;
- it expands entities, does not read annotations, and its errors name neither file nor variable.

The parser here refuses document type definitions before anything is expanded, so a small
hostile file cannot grow in memory or read other files.

Sources: FMI specification 2.0.4, section 2.2; FMI specification 3.0.1, section 2.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, cast
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from fmident.errors import FmuError, Location
from fmident.fmu.model_description.description import (
    Capabilities,
    FrozenParameter,
    InterfaceKind,
    ModelDescription,
    choose_interface,
    sees_events_late,
    take_apart,
)
from fmident.fmu.model_description.variables import Declaration, Value, Variable, VariableType
from fmident.fmu.setup import InputRamps

SUPPORTED = "fmident runs FMUs of FMI 2.0 and 3.0 for Co-Simulation or Model Exchange"

INTERFACES: Mapping[str, InterfaceKind] = {
    "CoSimulation": "co-simulation",
    "ModelExchange": "model-exchange",
}

# Default of `initial` by (variability, causality): FMI 2.0.4, section 2.2.7; FMI 3.0.1, 2.4.7.5.
DEFAULT_INITIAL = {
    **dict.fromkeys([("constant", "output"), ("constant", "local")], "exact"),
    **{
        (variability, causality): initial
        for variability in ("fixed", "tunable")
        for causality, initial in (
            ("parameter", "exact"),
            ("structuralParameter", "exact"),
            ("calculatedParameter", "calculated"),
            ("local", "calculated"),
        )
    },
    **{
        (variability, causality): "calculated"
        for variability in ("discrete", "continuous")
        for causality in ("output", "local")
    },
}

TYPES_2: tuple[VariableType, ...] = ("Real", "Integer", "Boolean", "String", "Enumeration")
_INTEGERS = ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64")
TYPES_3: Mapping[str, VariableType] = {
    "Float64": "Real",
    "Float32": "Real",
    **dict.fromkeys(_INTEGERS, "Integer"),
    "Boolean": "Boolean",
    "String": "String",
    "Enumeration": "Enumeration",
}
"""FMI 3.0's types, and the nearest of FMI 2.0's."""

_LARGEST_REFERENCE = 2**32 - 1
_LONGEST_WHOLE = 100
_MOST_INDICATORS = 10_000_000
"""Each takes memory before the first step."""


def parse_description(xml: bytes, *, file: str, platforms: Sequence[str] = ()) -> ModelDescription:
    """Parse the bytes of a model description; `platforms` are its folders with binaries."""
    root = _parse_tree(xml, file)
    reader = Reader3 if root.get("fmiVersion", "").startswith("3.") else Reader2
    return reader(root, file).read(platforms)


def _parse_tree(xml: bytes, file: str) -> Element:
    """Parse with expat; refuse a DTD at its first token."""
    builder = TreeBuilder()
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


def flag(element: Element, key: str) -> bool:
    """Return a Boolean attribute, false if it is missing."""
    return element.get(key, "false").strip() in ("true", "1")


class Reader:
    """Reads one element tree; what FMI 2.0 and 3.0 have in common.

    An unknown of the model structure names variables by a key, which :attr:`elements` resolves:
    their places in FMI 2.0, their value references in FMI 3.0.

    Parameters
    ----------
    root
        The element ``fmiModelDescription``.
    file
        Path for messages.

    Raises
    ------
    FmuError
        The element is another one.
    """

    key: str
    """Attribute of an unknown that says which variable it is."""
    outputs: str
    derivatives: str
    """Where the unknowns are."""

    def __init__(self, root: Element, file: str) -> None:
        self.root = root
        self.file = file
        self.elements: Mapping[int, Element] = {}
        if root.tag != "fmiModelDescription":
            self.fail(f"the root element is <{root.tag}>, not <fmiModelDescription>")

    def read(self, platforms: Sequence[str]) -> ModelDescription:
        """Return the content."""
        raise NotImplementedError

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise an FmuError on this file."""
        raise FmuError(message, location=Location(self.file), hint=hint)

    def capabilities(self, element: Element, kind: InterfaceKind) -> dict[str, Any]:
        """Return the capabilities that differ from version to version."""
        raise NotImplementedError

    def interfaces(self) -> tuple[Capabilities, ...]:
        """Return the interfaces that can be simulated, Co-Simulation first."""
        return tuple(
            Capabilities(
                kind=kind,
                model_identifier=self.identifier(element),
                can_handle_variable_step=flag(element, "canHandleVariableCommunicationStepSize"),
                only_once_per_process=self.only_once(element),
                needs_execution_tool=flag(element, "needsExecutionTool"),
                **self.capabilities(element, kind),
            )
            for tag, kind in INTERFACES.items()
            if (element := self.root.find(tag)) is not None
        )

    def only_once(self, element: Element) -> bool:
        """Return whether a process may have only one instance of an interface.

        OpenModelica's FMUs claim to allow several, but freeing one frees the memory of all
        (version 1.26.9, ``fmi2FreeInstance``).
        """
        said = flag(element, "canBeInstantiatedOnlyOncePerProcess")
        return said or self.root.get("generationTool", "").strip().startswith("OpenModelica")

    def identifier(self, element: Element) -> str:
        """Return an interface's modelIdentifier, which becomes a file name."""
        name = element.get("modelIdentifier", "")
        # FMI wants a C identifier, for the names of functions in source code. Binaries export them
        # without it, and exporters take what names the file: only other names are refused.
        if not name.strip(". ") or re.search(r"[/\\:\0-\x1f]", name) or len(name.encode()) > 240:
            self.fail(
                f"modelIdentifier '{name[:200]}' is not the name of a file",
                "it must name the library in the folder 'binaries'; export the FMU again",
            )
        return name

    def describe(
        self, interfaces: tuple[Capabilities, ...], variables: Sequence[Variable], **own: Any
    ) -> ModelDescription:
        """Return the description.

        Parameters
        ----------
        interfaces
            At least one.
        variables
            All scalar variables.
        own
            Fields that differ from version to version.
        """
        root, experiment = self.root, self.root.find("DefaultExperiment")

        def default(key: str) -> float | None:
            text = None if experiment is None else experiment.get(key)
            return None if text is None else self.number(text, f"DefaultExperiment.{key}")

        tool = root.get("generationTool", "")
        late = sees_events_late(tool, own["indicator_count"])
        name = root.get("modelName", "")
        chosen = choose_interface(name, interfaces, "auto", exchange_first=late)
        names: set[str] = set()
        for variable in variables:
            if variable.name in names:
                self.fail(f"two variables are called '{variable.name}'")
            names.add(variable.name)
        states, derivatives = self.states()
        return ModelDescription(
            name=root.get("modelName", chosen.model_identifier),
            fmi_version=root.get("fmiVersion", ""),
            generation_tool=tool,
            description=root.get("description", ""),
            variables=tuple(variables),
            default_start=default("startTime"),
            default_stop=default("stopTime"),
            default_tolerance=default("tolerance"),
            default_step=default("stepSize"),
            log_categories=tuple(
                c.get("name", "") for c in root.iterfind("LogCategories/Category")
            ),
            capabilities=chosen,
            interfaces=interfaces,
            state_count=len(root.findall(self.derivatives)),
            state_references=states,
            derivative_references=derivatives,
            derivative_dependencies=self.derivative_dependencies(states),
            **chosen.flags(),
            **own,
        )

    @staticmethod
    def frozen(elements: Iterable[Element]) -> dict[str, FrozenParameter]:
        """Return the parameters recorded by our compiler; before version 0.1 without advice."""
        given = ((e.get("name", ""), e.get("reason", ""), e.get("advice")) for e in elements)
        return {
            name: FrozenParameter(reason) if advice is None else FrozenParameter(reason, advice)
            for name, reason, advice in given
        }

    # ------------------------------------------------------------ the model structure

    def known(self, text: str | None) -> int | None:
        """Return the key of a variable that is there, else ``None``."""
        digits = (text or "").strip()
        whole = digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST_WHOLE
        return int(digits) if whole and int(digits) in self.elements else None

    def unknowns(self, path: str) -> Iterator[tuple[int | None, list[int | None] | None]]:
        """Yield the keys of unknowns and of what they depend on; ``None`` where it is not said."""
        for unknown in self.root.iterfind(path):
            text = unknown.get("dependencies")
            others = None if text is None else [self.known(word) for word in text.split()]
            yield self.known(unknown.get(self.key)), others

    def state_of(self, derivative: Element) -> str | None:
        """Return the key of the variable that another is the derivative of."""
        return derivative.get("derivative")

    def states(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return value references of states and derivatives, if all of them exist."""
        derivatives = [key for key, _ in self.unknowns(self.derivatives)]
        states = [
            None if key is None else self.known(self.state_of(self.elements[key]))
            for key in derivatives
        ]
        if None in states:
            return (), ()
        return self.references(states), self.references(derivatives)

    def references(self, keys: Iterable[int | None]) -> tuple[int, ...]:
        """Return value references of variables that are there."""
        return tuple(int(self.elements[k].get("valueReference", "")) for k in keys if k is not None)

    def derivative_dependencies(self, states: Sequence[int]) -> tuple[tuple[int, ...] | None, ...]:
        """Return for each derivative the places of the states that it depends on directly."""
        places = {reference: k for k, reference in enumerate(states)}
        dependencies: list[tuple[int, ...] | None] = []
        for _, others in self.unknowns(self.derivatives):
            relevant = [
                key
                for key in others or ()
                if key is None
                or self.elements[key].get("causality") not in ("input", "parameter", "independent")
            ]
            references = set(self.references(relevant))
            # Where it depends on what is neither state nor input, nothing is known.
            known = others is not None and None not in relevant and references <= places.keys()
            dependencies.append(tuple(sorted(places[r] for r in references)) if known else None)
        return tuple(dependencies) if places and any(d is not None for d in dependencies) else ()

    def output_dependencies(self, names: Mapping[int, Sequence[str]]) -> dict[str, frozenset[str]]:
        """Return what outputs depend on directly; `names` are those of variables by their keys."""
        dependencies: dict[str, frozenset[str]] = {}
        for output, others in self.unknowns(self.outputs):
            if output is None or others is None or None in others:
                continue
            of = frozenset(name for key in others if key is not None for name in names[key])
            dependencies.update(dict.fromkeys(names[output], of))
        return dependencies

    # ------------------------------------------------------------------------- values

    def number(self, text: str, what: str) -> float:
        """Return a number of the file; `what` describes it in messages."""
        try:
            return float(text)
        except ValueError:
            self.fail(f"{what} is '{text}', which is not a number")

    def whole(self, text: str, what: str, most: int) -> int:
        """Return a whole number from 0 to `most`; `what` describes it in messages."""
        digits = text.strip()
        # Python reads digits of any script, and refuses thousands of them.
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > _LONGEST_WHOLE:
            self.fail(f"{what} is '{text}', which is not a whole number")
        if int(digits) > most:
            self.fail(f"{what} is {digits}, which is more than {most}")
        return int(digits)

    def fields(
        self, name: str, element: Element, typed: Mapping[str, str], default: str
    ) -> dict[str, Any]:
        """Return the fields of a Variable that all versions declare in the same way.

        `typed` are attributes of its type, overridden by those of the variable; `default` is
        the variability of variables other than parameters.
        """

        def number(key: str) -> float | None:
            text = typed.get(key)
            return None if text is None else self.number(text, f"variable '{name}': {key}")

        causality = element.get("causality", "local")
        variability = element.get("variability", default)
        what = f"variable '{name}': valueReference"
        return {
            "name": name,
            "value_reference": self.whole(
                element.get("valueReference", ""), what, _LARGEST_REFERENCE
            ),
            "causality": causality,
            "variability": variability,
            "initial": element.get("initial", DEFAULT_INITIAL.get((variability, causality), "")),
            "description": element.get("description", ""),
            "declared_type": typed.get("declaredType"),
            "unit": typed.get("unit"),
            "minimum": number("min"),
            "maximum": number("max"),
            "nominal": number("nominal"),
        }

    def start(self, name: str, kind: VariableType, text: str) -> Value:
        """Return a start value as a Python type."""
        if kind == "String":
            return text
        if kind == "Real":
            return self.number(text, f"variable '{name}': start")
        if kind == "Boolean":
            if text.strip() not in ("true", "false", "1", "0"):
                self.fail(f"variable '{name}': start '{text}' is neither true nor false")
            return text.strip() in ("true", "1")
        try:
            return int(text)
        except ValueError:
            self.fail(f"variable '{name}': start '{text}' is not an integer")


class Reader2(Reader):
    """Reads FMI 2.0."""

    key = "index"
    outputs = "ModelStructure/Outputs/Unknown"
    derivatives = "ModelStructure/Derivatives/Unknown"

    def read(self, platforms: Sequence[str]) -> ModelDescription:
        """Return the content."""
        root = self.root
        version = root.get("fmiVersion", "")
        if not version.startswith("2."):
            self.fail(
                f"the FMU is of FMI version '{version}'; {SUPPORTED}",
                "export the FMU again as FMI 2.0 or 3.0",
            )
        interfaces = self.interfaces()
        if not interfaces:
            self.fail(
                f"the FMU is neither for Co-Simulation nor for Model Exchange; {SUPPORTED}",
                "export the FMU again, with Co-Simulation",
            )
        count = root.get("numberOfEventIndicators", "0")
        self.elements = dict(enumerate(root.iterfind("ModelVariables/ScalarVariable"), 1))
        types = {
            simple.get("name", ""): child.attrib
            for simple in root.iterfind("TypeDefinitions/SimpleType")
            for child in simple
        }
        variables = [self.variable(element, types) for element in self.elements.values()]
        return self.describe(
            interfaces,
            variables,
            guid=root.get("guid", ""),
            platforms=tuple(platforms),
            indicator_count=self.whole(count, "numberOfEventIndicators", _MOST_INDICATORS),
            output_dependencies=self.output_dependencies(
                {place: (variable.name,) for place, variable in enumerate(variables, 1)}
            ),
            input_ramps=self.ramps(variables),
            frozen=self.frozen(root.iterfind("VendorAnnotations/Tool[@name='fmident']//Frozen")),
        )

    def state_of(self, derivative: Element) -> str | None:
        """Return the place of the variable that another is the derivative of."""
        typed = derivative.find("Real")
        return None if typed is None else typed.get("derivative")

    def capabilities(self, element: Element, kind: InterfaceKind) -> dict[str, Any]:
        """Return the capabilities that differ from version to version."""
        return {
            "can_interpolate_inputs": kind == "model-exchange"
            or flag(element, "canInterpolateInputs"),
            "can_get_and_set_state": flag(element, "canGetAndSetFMUstate"),
            "provides_directional_derivative": flag(element, "providesDirectionalDerivative"),
            "needs_completed_step": not flag(element, "completedIntegratorStepNotNeeded"),
        }

    def ramps(self, variables: Sequence[Variable]) -> InputRamps | None:
        """Return the inputs by which fmident's compiler lets others follow straight lines."""
        annotation = self.root.find("VendorAnnotations/Tool[@name='fmident']/InputRamps")
        if annotation is None:
            return None
        slopes = {r.get("input", ""): r.get("slope", "") for r in annotation.iterfind("Ramp")}
        ramps = InputRamps(annotation.get("referenceTime", ""), slopes)
        known = {v.name for v in variables if v.causality == "input"}
        missing = sorted((ramps.names | slopes.keys()) - known)
        if missing:
            self.fail(
                f"the annotation on input ramps names {', '.join(map(repr, missing))},"
                " which is not an input of the FMU",
                "the FMU was changed after fmident built it: build it again",
            )
        return ramps

    def variable(self, element: Element, types: Mapping[str, Mapping[str, str]]) -> Variable:
        """Return a variable; `types` are the attributes of the simple types by name."""
        name = element.get("name")
        if name is None:
            self.fail("a ScalarVariable has no name")
        typed = next((child for child in element if child.tag in TYPES_2), None)
        if typed is None:
            self.fail(f"variable '{name}' has no type (one of {', '.join(TYPES_2)})")
        kind = cast(VariableType, typed.tag)
        attributes = {**types.get(typed.get("declaredType", ""), {}), **typed.attrib}
        start = typed.get("start")
        default = "continuous" if kind == "Real" else "discrete"
        return Variable(
            type=kind,
            start=None if start is None else self.start(name, kind, start),
            **self.fields(name, element, attributes, default),
        )


class Reader3(Reader):
    """Reads FMI 3.0."""

    key = "valueReference"
    outputs = "ModelStructure/Output"
    derivatives = "ModelStructure/ContinuousStateDerivative"

    def read(self, platforms: Sequence[str]) -> ModelDescription:
        """Return the content."""
        root = self.root
        interfaces = self.interfaces()
        if not interfaces:
            self.fail(
                "the FMU is for Scheduled Execution only"
                if root.find("ScheduledExecution") is not None
                else "the FMU is neither for Co-Simulation nor for Model Exchange",
                f"{SUPPORTED}: export the FMU again, with Co-Simulation",
            )
        declarations = self.declarations()
        variables, shapes = take_apart(declarations, {})
        names: dict[int, list[str]] = {key: [] for key in self.elements}
        for variable in variables:
            names[variable.value_reference].append(variable.name)
        indicators = root.findall("ModelStructure/EventIndicator")
        return self.describe(
            interfaces,
            variables,
            guid=root.get("instantiationToken", ""),
            platforms=tuple(platforms),
            output_dependencies=self.output_dependencies(names),
            shapes=shapes,
            frozen=self.frozen(root.iterfind("Annotations/Annotation[@type='fmident']//Frozen")),
            declarations=declarations,
            indicator_count=len(indicators),
            indicator_references=tuple(
                self.whole(i.get("valueReference", ""), "an event indicator", _LARGEST_REFERENCE)
                for i in indicators
            ),
        )

    def capabilities(self, element: Element, kind: InterfaceKind) -> dict[str, Any]:
        """Return the capabilities that differ from version to version."""
        intermediate = flag(element, "providesIntermediateUpdate")
        fixed = element.get("fixedInternalStepSize")
        return {
            "can_interpolate_inputs": kind == "model-exchange" or intermediate,
            "can_get_and_set_state": flag(element, "canGetAndSetFMUState"),
            "provides_directional_derivative": flag(element, "providesDirectionalDerivatives"),
            "has_event_mode": flag(element, "hasEventMode"),
            "provides_intermediate_update": intermediate,
            "fixed_step": None if fixed is None else self.number(fixed, "fixedInternalStepSize"),
            "needs_completed_step": flag(element, "needsCompletedIntegratorStep"),
        }

    def declarations(self) -> tuple[Declaration, ...]:
        """Return the variables, arrays in one piece; binary ones are left out."""
        types = {
            child.get("name", ""): child.attrib for child in self.root.iterfind("TypeDefinitions/*")
        }
        declarations: list[Declaration] = []
        clocks: list[str] = []
        elements: dict[int, Element] = {}
        for element in self.root.iterfind("ModelVariables/*"):
            name = element.get("name")
            if name is None:
                self.fail(f"a variable of type {element.tag} has no name")
            if element.tag == "Clock":
                clocks.append(name)
            elif element.tag in TYPES_3:
                declarations.append(self.declaration(name, element, types))
                elements[declarations[-1].variable.value_reference] = element
            elif element.tag != "Binary":  # nothing can be done with these here
                self.fail(f"variable '{name}' is of the unknown type '{element.tag}'")
        if clocks:
            names = ", ".join(f"'{c}'" for c in clocks[:6]) + (", ..." if len(clocks) > 6 else "")
            self.fail(
                f"the FMU has clocks ({names}), which fmident does not tick",
                "export the model without synchronous clocks; periodic sampling in when-clauses"
                " becomes time events, which are simulated",
            )
        self.elements = elements
        return tuple(declarations)

    def declaration(
        self, name: str, element: Element, types: Mapping[str, Mapping[str, str]]
    ) -> Declaration:
        """Return a variable; `types` are the attributes of the defined types by name."""
        native = element.tag
        attributes = {**types.get(element.get("declaredType", ""), {}), **element.attrib}
        default = "continuous" if native.startswith("Float") else "discrete"
        if element.get("causality", "").lower().endswith("parameter"):
            default = "fixed"
        dimensions = tuple(self.dimension(name, d) for d in element.iterfind("Dimension"))
        starts = self.starts(name, element)
        if len(starts) > 1 and not dimensions:
            self.fail(f"variable '{name}' is a scalar, but has {len(starts)} start values")

        variable = Variable(
            type=TYPES_3[native],
            start=starts[0] if starts and not dimensions else None,
            display_unit=attributes.get("displayUnit"),
            native_type="Int64" if native == "Enumeration" else native,
            intermediate=flag(element, "intermediateUpdate"),
            **self.fields(name, element, attributes, default),
        )
        aliases = tuple(
            (a.get("name", ""), a.get("description", variable.description),
             a.get("displayUnit", variable.display_unit))
            for a in element.iterfind("Alias")
        )  # fmt: skip
        return Declaration(variable, dimensions, starts, aliases)

    def dimension(self, name: str, element: Element) -> int | str:
        """Return the size, or the value reference of what says it as a text."""
        start, reference = element.get("start"), element.get("valueReference")
        text = start if start is not None else reference
        if text is None:
            self.fail(f"variable '{name}': a dimension has neither start nor valueReference")
        size = self.whole(text, f"variable '{name}': a dimension", 2**63 - 1)
        return size if start is not None else str(size)

    def starts(self, name: str, element: Element) -> tuple[Value, ...]:
        """Return the start values, in row-major order."""
        if element.tag == "String":
            return tuple(s.get("value", "") for s in element.iterfind("Start"))
        words = element.get("start", "").split()
        return tuple(self.start(name, TYPES_3[element.tag], word) for word in words)
