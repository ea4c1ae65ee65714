"""An XML file of an FMU as a tree that knows its lines, and the variables in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from xml.parsers import expat

from fmident.fmu.model_description.xml_reader import DEFAULT_INITIAL

FLOATS = frozenset({"Real", "Float32", "Float64"})
WHOLE = {
    "Integer": (-(2**31), 2**31 - 1),
    "Enumeration": (-(2**63), 2**63 - 1),
    **{f"Int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
TYPES_2 = frozenset({"Real", "Integer", "Boolean", "String", "Enumeration"})
TYPES_3 = frozenset(
    {"Float32", "Float64", *(t for t in WHOLE if t != "Integer"), "Boolean", "String", "Binary"}
    | {"Clock"}
)
PARAMETERS = frozenset({"parameter", "structuralParameter", "calculatedParameter"})

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_DEEPEST = 200
"""Elements in elements; descriptions of FMI have seven."""


class NotReadableError(Exception):
    """A file is not XML that FMI could mean."""


@dataclass(eq=False)
class Element:
    """One element.

    Parameters
    ----------
    tag
        Its name, as written.
    attributes
        Name to value.
    line
        Of its beginning, counted from 1.
    """

    tag: str
    attributes: Mapping[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def get(self, name: str) -> str | None:
        """Return an attribute, ``None`` if it is missing."""
        return self.attributes.get(name)

    def flag(self, name: str) -> bool:
        """Return a Boolean attribute, false if it is missing."""
        return self.attributes.get(name, "").strip() in ("true", "1")

    def whole(self, name: str) -> int | None:
        """Return an attribute as a whole number, ``None`` if it is not one."""
        return whole(self.attributes.get(name))

    def all(self, *tags: str) -> list[Element]:
        """Return the children of these names."""
        return [c for c in self.children if c.tag in tags]

    def first(self, tag: str) -> Element | None:
        """Return the first child of a name."""
        return next((c for c in self.children if c.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """Yield this element and all below it."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


def whole(text: str | None) -> int | None:
    """Return a whole number, ``None`` if a text is not one."""
    stripped = (text or "").strip()
    return int(stripped) if _WHOLE.fullmatch(stripped) else None


def parse(xml: bytes) -> Element:
    """Return the root of an XML file.

    Raises
    ------
    NotReadableError
        It is not well-formed, has a document type definition, or nests absurdly.
    """
    parser = expat.ParserCreate()
    opened: list[Element] = []
    root: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        if len(opened) > _DEEPEST:
            raise NotReadableError("its elements are nested too deeply")
        (opened[-1].children if opened else root).append(element)
        opened.append(element)

    def end(_: str) -> None:
        opened.pop()

    def refuse(*_: object) -> None:
        raise NotReadableError("it has a document type definition")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(xml, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise NotReadableError(f"line {error.lineno}: {reason}") from error
    except (LookupError, ValueError) as error:
        raise NotReadableError(str(error)) from error
    return root[0]


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable with the defaults of the standard filled in.

    Parameters
    ----------
    element
        Where it stands; its line is that of messages.
    own
        The element with the attributes of its type: in FMI 3.0 the same.
    kind
        Name of its type, such as ``"Real"``; empty if it has none.
    index
        Place in the list, from 1.
    declared
        Its type definition's attributes.
    """

    element: Element
    own: Element
    kind: str
    index: int
    major: int
    declared: Mapping[str, str]

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.element.line

    @cached_property
    def name(self) -> str:
        """Its name; empty if it has none."""
        return self.element.get("name") or ""

    @cached_property
    def reference(self) -> int | None:
        """Its value reference."""
        return self.element.whole("valueReference")

    @cached_property
    def causality(self) -> str:
        """As said, else ``local``."""
        return self.element.get("causality") or "local"

    @cached_property
    def variability(self) -> str:
        """As said, else the default."""
        said = self.element.get("variability")
        if said is not None:
            return said
        if self.major == 2:
            return "continuous"
        if self.causality in PARAMETERS:
            return "fixed"
        return "continuous" if self.kind in FLOATS else "discrete"

    @cached_property
    def initial(self) -> str | None:
        """As said, else the default; ``None`` where there is none."""
        said = self.element.get("initial")
        if said is not None:
            return said
        if self.kind == "Clock":
            return None
        if self.major == 3 and self.causality == "input":
            return "exact"
        return DEFAULT_INITIAL.get((self.variability, self.causality))

    def get(self, name: str) -> str | None:
        """Return an attribute of the type, from the type definition where it is not given."""
        own = self.own.get(name)
        return self.declared.get(name) if own is None else own

    @cached_property
    def start(self) -> tuple[str, ...] | None:
        """Start values as texts; ``None`` without any."""
        if self.major == 3 and self.kind in ("String", "Binary"):
            values = tuple(e.get("value") or "" for e in self.own.all("Start"))
            return values or None
        said = self.own.get("start")
        if said is None:
            return None
        return tuple(said.split()) if self.major == 3 else (said,)

    @property
    def clocked(self) -> bool:
        """Whether it belongs to clocks."""
        return self.element.get("clocks") is not None


class Document:
    """A model description.

    Parameters
    ----------
    root
        Of its XML.
    """

    def __init__(self, root: Element) -> None:
        self.root = root
        self.version = (root.get("fmiVersion") or "").strip()
        self.major = 3 if self.version.startswith("3.") else 2

    def section(self, tag: str) -> Element | None:
        """Return a part of the description, ``None`` if it is missing."""
        return self.root.first(tag)

    def entries(self, section: str, *tags: str) -> list[Element]:
        """Return the elements of a part; all if no names are given."""
        found = self.root.first(section)
        if found is None:
            return []
        return found.all(*tags) if tags else found.children

    @cached_property
    def interfaces(self) -> list[Element]:
        """What describes Model Exchange, Co-Simulation and Scheduled Execution."""
        return self.root.all("ModelExchange", "CoSimulation", "ScheduledExecution")

    def has(self, interface: str) -> bool:
        """Whether the FMU has an interface."""
        return self.root.first(interface) is not None

    @cached_property
    def types(self) -> dict[str, tuple[Element, Element, str]]:
        """Type definitions by name: element, element with the attributes, kind."""
        found: dict[str, tuple[Element, Element, str]] = {}
        for element in self.entries("TypeDefinitions"):
            name = element.get("name")
            own = element
            if self.major == 2:
                own = next((c for c in element.children if c.tag in TYPES_2), element)
            if name is not None:
                found.setdefault(name, (element, own, own.tag.removesuffix("Type")))
        return found

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All variables, in the order of the file."""
        listed = self.entries("ModelVariables")
        if self.major == 2:
            listed = [e for e in listed if e.tag == "ScalarVariable"]
        else:
            listed = [e for e in listed if e.tag in TYPES_3]
        return tuple(self._variable(e, i) for i, e in enumerate(listed, 1))

    def _variable(self, element: Element, index: int) -> Variable:
        own, kind = element, element.tag
        if self.major == 2:
            found = next((c for c in element.children if c.tag in TYPES_2), None)
            own, kind = (element, "") if found is None else (found, found.tag)
        declared = self.types.get(own.get("declaredType") or "")
        defaults = {} if declared is None else declared[1].attributes
        left_out = {k: v for k, v in defaults.items() if k not in ("name", "description")}
        return Variable(element, own, kind, index, self.major, left_out)

    @cached_property
    def by_reference(self) -> dict[int, Variable]:
        """The first variable of each value reference."""
        found: dict[int, Variable] = {}
        for variable in self.variables:
            if variable.reference is not None:
                found.setdefault(variable.reference, variable)
        return found

    def target(self, number: int | None) -> Variable | None:
        """Return what a number stands for: an index in FMI 2.0, a value reference in 3.0."""
        if number is None:
            return None
        if self.major == 3:
            return self.by_reference.get(number)
        return self.variables[number - 1] if 0 < number <= len(self.variables) else None

    @cached_property
    def derivatives(self) -> list[Element]:
        """Entries of the model structure for derivatives of states."""
        structure = self.section("ModelStructure")
        if structure is None:
            return []
        if self.major == 3:
            return structure.all("ContinuousStateDerivative")
        listed = structure.first("Derivatives")
        return [] if listed is None else listed.all("Unknown")

    def entry_target(self, entry: Element) -> Variable | None:
        """Return the variable that an entry of the model structure names."""
        return self.target(entry.whole("index" if self.major == 2 else "valueReference"))

    @cached_property
    def states(self) -> dict[int, Variable]:
        """Continuous-time states by index."""
        found: dict[int, Variable] = {}
        for entry in self.derivatives:
            derivative = self.entry_target(entry)
            state = None if derivative is None else self.target(derivative.own.whole("derivative"))
            if state is not None:
                found[state.index] = state
        return found
