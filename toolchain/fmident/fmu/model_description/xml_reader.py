"""What the readers of model descriptions of FMI 2.0 and 3.0 have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn
from xml.etree import ElementTree

from fmident.errors import FmuError, Location
from fmident.fmu.model_description.description import FrozenParameter, InterfaceKind
from fmident.fmu.model_description.variables import Value, Variable, VariableType

SUPPORTED = "fmident runs FMUs of FMI 2.0 and 3.0 for Co-Simulation or Model Exchange"

INTERFACE_TAGS: tuple[tuple[str, InterfaceKind], ...] = (
    ("CoSimulation", "co-simulation"),
    ("ModelExchange", "model-exchange"),
)

# Default of `initial` by (variability, causality): FMI 2.0.4, section 2.2.7; FMI 3.0.1, 2.4.7.5.
DEFAULT_INITIAL = {
    ("constant", "output"): "exact",
    ("constant", "local"): "exact",
    ("fixed", "parameter"): "exact",
    ("tunable", "parameter"): "exact",
    ("fixed", "structuralParameter"): "exact",
    ("tunable", "structuralParameter"): "exact",
    ("fixed", "calculatedParameter"): "calculated",
    ("tunable", "calculatedParameter"): "calculated",
    ("fixed", "local"): "calculated",
    ("tunable", "local"): "calculated",
    ("discrete", "output"): "calculated",
    ("discrete", "local"): "calculated",
    ("continuous", "output"): "calculated",
    ("continuous", "local"): "calculated",
}


_LONGEST_WHOLE = 100


def flag(element: ElementTree.Element, key: str) -> bool:
    """Return a Boolean attribute, false when it is missing."""
    return element.get(key, "false").strip() in ("true", "1")


def only_once(root: ElementTree.Element, element: ElementTree.Element) -> bool:
    """Return whether a process may hold one instance only of an interface.

    OpenModelica's FMUs say that it may hold several, but when one is freed, so is the memory of
    all instances of that binary (version 1.26.9, ``fmi2FreeInstance``).
    """
    said = flag(element, "canBeInstantiatedOnlyOncePerProcess")
    return said or root.get("generationTool", "").strip().startswith("OpenModelica")


def identifier(element: ElementTree.Element, file: str) -> str:
    """Return an interface's modelIdentifier, which becomes a file name."""
    found = element.get("modelIdentifier", "")
    # FMI wants a C identifier, for the names of functions in source code. Binaries export them
    # without it, and exporters take what names the file: only what is not a plain name is refused.
    if not found.strip(". ") or re.search(r"[/\\:\0-\x1f]", found) or len(found.encode()) > 240:
        raise FmuError(
            f"modelIdentifier '{found[:200]}' is not the name of a file",
            location=Location(file),
            hint="it must name the library in the folder 'binaries'; export the FMU again",
        )
    return found


class Reader:
    """Reads one element tree; keeps what every message needs.

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

    def __init__(self, root: ElementTree.Element, file: str) -> None:
        self.root = root
        self.file = file
        if root.tag != "fmiModelDescription":
            self.fail(f"the root element is <{root.tag}>, not <fmiModelDescription>")

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise an FmuError on this file."""
        raise FmuError(message, location=Location(self.file), hint=hint)

    def found(self) -> list[tuple[ElementTree.Element, InterfaceKind]]:
        """Return the elements of the interfaces that can be simulated, Co-Simulation first."""
        return [
            (element, kind)
            for tag, kind in INTERFACE_TAGS
            if (element := self.root.find(tag)) is not None
        ]

    def common(self) -> dict[str, Any]:
        """Return the fields of a ModelDescription that have the same names in all versions."""
        root, experiment = self.root, self.root.find("DefaultExperiment")

        def default(key: str) -> float | None:
            text = None if experiment is None else experiment.get(key)
            return None if text is None else self.number(text, f"DefaultExperiment.{key}")

        return {
            "fmi_version": root.get("fmiVersion", ""),
            "generation_tool": root.get("generationTool", ""),
            "description": root.get("description", ""),
            "default_start": default("startTime"),
            "default_stop": default("stopTime"),
            "default_tolerance": default("tolerance"),
            "default_step": default("stepSize"),
            "log_categories": tuple(
                c.get("name", "") for c in root.iterfind("LogCategories/Category")
            ),
        }

    @staticmethod
    def frozen(elements: Iterable[ElementTree.Element]) -> dict[str, FrozenParameter]:
        """Return what fmident's compiler has noted; it gave no advice until version 0.1."""
        given = ((e.get("name", ""), e.get("reason", ""), e.get("advice")) for e in elements)
        return {
            name: FrozenParameter(reason) if advice is None else FrozenParameter(reason, advice)
            for name, reason, advice in given
        }

    def number(self, text: str, what: str) -> float:
        """Return a number of the file; `what` it is, for messages."""
        try:
            return float(text)
        except ValueError:
            self.fail(f"{what} is '{text}', which is not a number")

    def reference(self, name: str, element: ElementTree.Element) -> int:
        """Return the value reference of a variable."""
        text = element.get("valueReference", "")
        return self.whole(text, f"variable '{name}': valueReference", 2**32 - 1)

    def whole(self, text: str, what: str, most: int) -> int:
        """Return a whole number from 0 to `most`; `what` it is, for messages."""
        digits = text.strip()
        # Python reads digits of any script, and refuses thousands of them.
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > _LONGEST_WHOLE:
            self.fail(f"{what} is '{text}', which is not a whole number")
        if int(digits) > most:
            self.fail(f"{what} is {digits}, which is more than {most}")
        return int(digits)

    def fields(
        self, name: str, element: ElementTree.Element, typed: Mapping[str, str], default: str
    ) -> dict[str, Any]:
        """Return the fields of a Variable that all versions declare in the same way.

        Parameters
        ----------
        name
            Of the variable.
        element
            With its reference, causality and variability.
        typed
            Attributes of its type, those that the variable itself declares first.
        default
            Variability of what is not a parameter, where none is given.
        """

        def number(key: str) -> float | None:
            text = typed.get(key)
            return None if text is None else self.number(text, f"variable '{name}': {key}")

        causality = element.get("causality", "local")
        variability = element.get("variability", default)
        initial = DEFAULT_INITIAL.get((variability, causality), "")
        return {
            "name": name,
            "value_reference": self.reference(name, element),
            "causality": causality,
            "variability": variability,
            "initial": element.get("initial", initial),
            "description": element.get("description", ""),
            "declared_type": typed.get("declaredType"),
            "unit": typed.get("unit"),
            "minimum": number("min"),
            "maximum": number("max"),
            "nominal": number("nominal"),
        }

    def start(self, name: str, kind: VariableType, text: str) -> Value:
        """Return a start value in Python's type."""
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

    def distinct(self, variables: Sequence[Variable]) -> None:
        """Refuse two variables of the same name."""
        names: set[str] = set()
        for variable in variables:
            if variable.name in names:
                self.fail(f"two variables are called '{variable.name}'")
            names.add(variable.name)
