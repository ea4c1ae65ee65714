"""Read ``modelDescription.xml`` of FMI 3.0 (specification 3.0.1, section 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from fmident.fmu.fmi3.instance import take_apart
from fmident.fmu.model_description.description import (
    Capabilities,
    InterfaceKind,
    ModelDescription,
    choose_interface,
    sees_events_late,
)
from fmident.fmu.model_description.variables import Declaration, Value, Variable, VariableType
from fmident.fmu.model_description.xml_reader import (
    SUPPORTED,
    Reader,
    flag,
    identifier,
    only_once,
)

_INTEGERS = ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64")
TYPES: dict[str, VariableType] = {
    "Float64": "Real",
    "Float32": "Real",
    **dict.fromkeys(_INTEGERS, "Integer"),
    "Boolean": "Boolean",
    "String": "String",
    "Enumeration": "Enumeration",
}
"""FMI 3.0's types, and the nearest of FMI 2.0's."""


def read_description(
    root: ElementTree.Element, file: str, platforms: Sequence[str]
) -> ModelDescription:
    """Turn the tree of a model description into data.

    Arguments and errors are those of
    :func:`fmident.fmu.model_description.description_xml.parse_description`.
    """
    return _Reader(root, file).read(platforms)


class _Reader(Reader):
    """Reads FMI 3.0."""

    def __init__(self, root: ElementTree.Element, file: str) -> None:
        super().__init__(root, file)
        self.types = {
            child.get("name", ""): dict(child.attrib)
            for child in root.iterfind("TypeDefinitions/*")
        }

    def read(self, platforms: Sequence[str]) -> ModelDescription:
        root = self.root
        interfaces = tuple(self.interface(element, kind) for element, kind in self.found())
        if not interfaces:
            self.fail(
                "the FMU is for Scheduled Execution only"
                if root.find("ScheduledExecution") is not None
                else "the FMU is neither for Co-Simulation nor for Model Exchange",
                f"{SUPPORTED}: export the FMU again, with Co-Simulation",
            )
        declarations = self.declarations()
        indicators = root.findall("ModelStructure/EventIndicator")
        late = sees_events_late(root.get("generationTool", ""), len(indicators))
        chosen = choose_interface(
            root.get("modelName", ""), interfaces, "auto", exchange_first=late
        )
        variables, shapes = take_apart(declarations, {})
        self.distinct(variables)
        states, derivatives = self.states()
        return ModelDescription(
            name=root.get("modelName", chosen.model_identifier),
            guid=root.get("instantiationToken", ""),
            variables=variables,
            platforms=tuple(platforms),
            output_dependencies=self.dependencies(variables),
            capabilities=chosen,
            interfaces=interfaces,
            shapes=shapes,
            frozen=self.frozen(root.iterfind("Annotations/Annotation[@type='fmident']//Frozen")),
            declarations=declarations,
            state_count=len(root.findall("ModelStructure/ContinuousStateDerivative")),
            indicator_count=len(indicators),
            indicator_references=tuple(
                self.whole(i.get("valueReference", ""), "an event indicator", 2**32 - 1)
                for i in indicators
            ),
            state_references=states,
            derivative_dependencies=self.derivative_dependencies(states),
            derivative_references=derivatives,
            **self.common(),
            **chosen.flags(),
        )

    def states(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return value references of states and derivatives, if they can all be found."""
        state_of = {
            v.get("valueReference"): v.get("derivative")
            for v in self.root.iterfind("ModelVariables/*")
        }
        references = [
            d.get("valueReference", "")
            for d in self.root.iterfind("ModelStructure/ContinuousStateDerivative")
        ]
        states = [state_of.get(r) or "" for r in references]
        if not all(text.strip().isdecimal() for text in (*references, *states)):
            return (), ()
        return tuple(int(s) for s in states), tuple(int(r) for r in references)

    def derivative_dependencies(self, states: Sequence[int]) -> tuple[tuple[int, ...] | None, ...]:
        """Return for each derivative the places of the states that it depends on."""
        places = {str(reference): k for k, reference in enumerate(states)}
        variables = self.root.findall("ModelVariables/*")
        others = {
            v.get("valueReference", "")
            for v in variables
            if v.get("causality") in ("input", "parameter", "independent")
        } - places.keys()
        found: list[tuple[int, ...] | None] = []
        for unknown in self.root.iterfind("ModelStructure/ContinuousStateDerivative"):
            text = unknown.get("dependencies")
            named = set((text or "").split()) - others
            known = text is not None and places.keys() >= named
            found.append(tuple(sorted(places[r] for r in named)) if known else None)
        return tuple(found) if any(f is not None for f in found) else ()

    def interface(self, element: ElementTree.Element, kind: InterfaceKind) -> Capabilities:
        exchange = kind == "model-exchange"
        intermediate = flag(element, "providesIntermediateUpdate")
        fixed = element.get("fixedInternalStepSize")
        return Capabilities(
            kind=kind,
            model_identifier=identifier(element, self.file),
            can_interpolate_inputs=exchange or intermediate,
            can_get_and_set_state=flag(element, "canGetAndSetFMUState"),
            can_handle_variable_step=flag(element, "canHandleVariableCommunicationStepSize"),
            only_once_per_process=only_once(self.root, element),
            needs_execution_tool=flag(element, "needsExecutionTool"),
            provides_directional_derivative=flag(element, "providesDirectionalDerivatives"),
            has_event_mode=flag(element, "hasEventMode"),
            can_return_early=flag(element, "canReturnEarlyAfterIntermediateUpdate"),
            provides_intermediate_update=intermediate,
            fixed_step=None if fixed is None else self.number(fixed, "fixedInternalStepSize"),
            needs_completed_step=flag(element, "needsCompletedIntegratorStep"),
        )

    def declarations(self) -> tuple[Declaration, ...]:
        found: list[Declaration] = []
        clocks: list[str] = []
        for element in self.root.iterfind("ModelVariables/*"):
            name = element.get("name")
            if name is None:
                self.fail(f"a variable of type {element.tag} has no name")
            if element.tag == "Clock":
                clocks.append(name)
            elif element.tag == "Binary":
                continue  # neither a number nor a text: nothing can be done with it here
            elif element.tag in TYPES:
                found.append(self.declaration(name, element))
            else:
                self.fail(f"variable '{name}' is of the unknown type '{element.tag}'")
        if clocks:
            names = ", ".join(f"'{c}'" for c in clocks[:6]) + (", ..." if len(clocks) > 6 else "")
            self.fail(
                f"the FMU has clocks ({names}), which fmident does not tick",
                "export the model without synchronous clocks; periodic sampling in when-clauses"
                " becomes time events, which are simulated",
            )
        return tuple(found)

    def declaration(self, name: str, element: ElementTree.Element) -> Declaration:
        native = element.tag
        attributes = {**self.types.get(element.get("declaredType", ""), {}), **element.attrib}
        default = "continuous" if native.startswith("Float") else "discrete"
        if element.get("causality", "").lower().endswith("parameter"):
            default = "fixed"
        dimensions = tuple(self.dimension(name, d) for d in element.iterfind("Dimension"))
        starts = self.starts(name, element)
        if len(starts) > 1 and not dimensions:
            self.fail(f"variable '{name}' is a scalar, but has {len(starts)} start values")

        variable = Variable(
            type=TYPES[native],
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

    def dimension(self, name: str, element: ElementTree.Element) -> int | str:
        start, reference = element.get("start"), element.get("valueReference")
        text = start if start is not None else reference
        if text is None:
            self.fail(f"variable '{name}': a dimension has neither start nor valueReference")
        size = self.whole(text, f"variable '{name}': a dimension", 2**63 - 1)
        return size if start is not None else str(size)

    def starts(self, name: str, element: ElementTree.Element) -> tuple[Value, ...]:
        if element.tag == "String":
            return tuple(s.get("value", "") for s in element.iterfind("Start"))
        words = element.get("start", "").split()
        return tuple(self.start(name, TYPES[element.tag], word) for word in words)

    def dependencies(self, variables: Sequence[Variable]) -> dict[str, frozenset[str]]:
        names: dict[str, list[str]] = {}
        for variable in variables:
            names.setdefault(str(variable.value_reference), []).append(variable.name)
        found: dict[str, frozenset[str]] = {}
        for unknown in self.root.iterfind("ModelStructure/Output"):
            text = unknown.get("dependencies")
            if text is None:
                continue
            of = frozenset(n for reference in text.split() for n in names.get(reference, ()))
            for name in names.get(unknown.get("valueReference", ""), ()):
                found[name] = of
        return found
