"""Modelica text around the class to be exported.

Two wrappers, both found by trying with OpenModelica 1.26.9:

- An FMU's tolerance is the one of the ``experiment`` annotation of the class that is
  exported; ``setupExperiment`` does not change it. ``extends`` with another annotation
  gives another tolerance and leaves names and parameters as they are.
- Inputs are held over a communication step, whatever ``canInterpolateInputs`` says.
  Around the class as a component, ``m.u = u0 + du*(time - t0)`` follows a straight line.
  A component without modifier keeps its parameters settable, as ``m.J``; bound by
  ``extends C(u = ...)``, u would stay an input.

The model description of a wrapped class, written as if there were no wrapper.

Only names and texts change; value references, which the binary knows, stay. What feeds
the ramps is recorded for the engine in the description's vendor annotation::

    <VendorAnnotations>
      <Tool name="fmident">
        <InputRamps version="1" referenceTime="fmident.referenceTime">
          <Ramp input="u" slope="fmident.slope.u"/>
        </InputRamps>
      </Tool>
    </VendorAnnotations>

An input then follows ``u + slope*(time - referenceTime)``. The engine reads this
(:mod:`fmident.fmu.setup`) and feeds slopes and time at each communication point.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from fmident.compilers.openmodelica.messages import quoted
from fmident.errors import CompilationError
from fmident.fmu.model_description.variables import structured_name

EXPORT = "fmident_export"
RAMP = "fmident_ramp"
COMPONENT = "fmident_component"
VALUE, SLOPE, TIME = "fmident_value", "fmident_slope", "fmident_time"
SignalType = Literal["Real", "Integer", "Boolean"]
SIGNAL_TYPES: tuple[SignalType, ...] = ("Real", "Integer", "Boolean")


TOOL = "fmident"
PREFIX = "fmident."
"""Names of variables that belong to fmident, not to the user's class."""

_INSIDE = re.compile(rf"\b{COMPONENT}\.")
_DERIVATIVE = re.compile(r"der\((.*)\)")
_BEHIND_ANNOTATIONS = ("ModelVariables",)


@dataclass(frozen=True)
class Experiment:
    """Values of the ``experiment`` annotation; times in s."""

    start: float = 0.0
    stop: float = 1.0
    tolerance: float = 1e-6
    interval: float = 0.002

    @property
    def annotation(self) -> str:
        """Annotation as Modelica text."""
        return (
            f"annotation(experiment(StartTime={self.start!r}, StopTime={self.stop!r},"
            f" Tolerance={self.tolerance!r}, Interval={self.interval!r}));"
        )


@dataclass(frozen=True)
class Signal:
    """A scalar input or output of the class."""

    name: str
    type: SignalType
    start: str | None = None


@dataclass(frozen=True)
class RampPlan:
    """Signals of a wrapper: Real inputs become `ramps`, others are `held`."""

    ramps: tuple[Signal, ...]
    held: tuple[Signal, ...]
    outputs: tuple[Signal, ...]


def plan_ramps(description: Element) -> RampPlan | str:
    """Return the plan of the ramps, or the reason why they are useless or impossible."""
    if not has_states(description):
        return "there are no states, so nothing happens between communication points"
    groups: dict[str, list[Signal]] = {"ramps": [], "held": [], "outputs": []}
    for variable in description.iter("ScalarVariable"):
        kind = variable[0].tag
        causality = variable.get("causality", "local")
        if causality not in ("input", "output"):
            continue
        name = variable.get("name", "")
        signal_type = next((t for t in SIGNAL_TYPES if t == kind), None)
        if signal_type is None:
            return f"{causality} '{name}' is of type {kind}"
        group = "outputs" if causality == "output" else "ramps" if kind == "Real" else "held"
        groups[group].append(Signal(name, signal_type, variable[0].get("start")))
    if not groups["ramps"]:
        return "there is no Real input"
    return RampPlan(**{group: tuple(signals) for group, signals in groups.items()})


def has_states(description: Element) -> bool:
    """Return whether a model description, given by its root, has continuous states."""
    return any("derivative" in v[0].attrib for v in description.iter("ScalarVariable"))


def default_experiment(description: Element) -> Experiment:
    """Return the default experiment of a model description, given by its root."""
    element = description.find("DefaultExperiment")
    attributes = element.attrib if element is not None else {}
    usual = Experiment()
    return Experiment(
        float(attributes.get("startTime", usual.start)),
        float(attributes.get("stopTime", usual.stop)),
        float(attributes.get("tolerance", usual.tolerance)),
        float(attributes.get("stepSize", usual.interval)),
    )


def export_text(class_name: str, modification: str, experiment: Experiment, comment: str) -> str:
    """Return a wrapper that changes only experiment and modifiers."""
    modified = f"({modification})" if modification.strip() else ""
    return (
        f"model {EXPORT} {quoted(comment)}\n"
        f"  extends {class_name}{modified};\n"
        f"  {experiment.annotation}\n"
        f"end {EXPORT};\n"
    )


def ramp_text(base: str, plan: RampPlan, experiment: Experiment, comment: str) -> str:
    """Return the wrapper that turns the Real inputs of the class `base` into ramps."""
    count = len(plan.ramps)
    starts = ", ".join(signal.start or "0.0" for signal in plan.ramps)
    declarations = [
        f"{base} {COMPONENT};",
        f"input Real {VALUE}[{count}](start={{{starts}}});",
        f"input Real {SLOPE}[{count}](each start=0.0);",
        f"input Real {TIME}(start={experiment.start!r});",
    ]
    equations = [
        f"{COMPONENT}.{signal.name} = {VALUE}[{k}] + {SLOPE}[{k}]*(time - {TIME});"
        for k, signal in enumerate(plan.ramps, start=1)
    ]
    for array, causality, signals in _passed_on(plan):
        kind, starts = signals[0].type, ""
        if causality == "input":
            none = {"Integer": "0", "Boolean": "false"}.get(kind, "0.0")
            starts = f"(start={{{', '.join(s.start or none for s in signals)}}})"
        declarations.append(f"{causality} {kind} {array}[{len(signals)}]{starts};")
        for k, signal in enumerate(signals, start=1):
            sides = [f"{COMPONENT}.{signal.name}", f"{array}[{k}]"]
            left, right = sides if causality == "input" else reversed(sides)
            equations.append(f"{left} = {right};")
    lines = [f"model {RAMP} {quoted(comment)}"]
    lines += [f"  {line}" for line in declarations]
    lines += ["equation"]
    lines += [f"  {line}" for line in equations]
    lines += [f"  {experiment.annotation}", f"end {RAMP};", ""]
    return "\n".join(lines)


def fixed_names(plan: RampPlan) -> dict[str, str]:
    """Return the user-visible names of the wrapper's own inputs and outputs.

    The value of a ramp has the input's name, so that a master unaware of ramps sets only
    this and holds the input.
    """
    names = {TIME: "fmident.referenceTime"}
    for k, signal in enumerate(plan.ramps, start=1):
        names[f"{VALUE}[{k}]"] = signal.name
        names[f"{SLOPE}[{k}]"] = slope_name(signal.name)
    for array, _, signals in _passed_on(plan):
        names |= {f"{array}[{k}]": signal.name for k, signal in enumerate(signals, start=1)}
    return names


def slope_name(name: str) -> str:
    """Return the name of the slope of an input."""
    return f"fmident.slope.{name}"


def _passed_on(plan: RampPlan) -> Iterator[tuple[str, str, list[Signal]]]:
    """Yield the wrapper's arrays of inputs and outputs that are passed through, by type."""
    for kind in SIGNAL_TYPES:
        for word, causality, signals in (
            ("held", "input", plan.held),
            ("output", "output", plan.outputs),
        ):
            if own := [s for s in signals if s.type == kind]:
                yield f"fmident_{word}{kind}", causality, own


def without_false_claims(description: Element) -> Element:
    """Return a copy of an OpenModelica FMU's description without false claims.

    Its Co-Simulation accepts input derivatives but integrates with held inputs: relying on
    ``canInterpolateInputs`` causes errors of up to a tenth of a signal's range. Its
    instances share one memory pool, which ``fmi2FreeInstance`` of any of them frees, so a
    process can have only one. ``der(der(x))`` is not a valid name in FMI.
    """
    root = copy.deepcopy(description)
    for part in root.iter("CoSimulation"):
        if "canInterpolateInputs" in part.attrib:  # FMI 3.0 has no such attribute
            part.set("canInterpolateInputs", "false")
    for kind in ("CoSimulation", "ModelExchange"):
        for part in root.iter(kind):
            part.set("canBeInstantiatedOnlyOncePerProcess", "true")
    _write_derivatives(root)
    return root


def _write_derivatives(root: Element) -> None:
    """Rename higher-order derivatives as FMI requires."""
    variables = [v for v in root.iterfind("ModelVariables/*") if "name" in v.attrib]
    names = {v.get("name", "") for v in variables}
    for variable in variables:
        new = structured_name(variable.get("name", ""))
        if new not in names:
            variable.set("name", new)
            names.add(new)


def hide_wrapper(wrapped: Element, plain: Element, plan: RampPlan) -> Element:
    """Return the wrapped class's description with the names of the plain class."""
    root = copy.deepcopy(wrapped)
    root.set("modelName", plain.get("modelName", ""))
    variables = list(root.iter("ScalarVariable"))
    originals = {v.get("name", ""): v for v in plain.iter("ScalarVariable")}
    renamed = _new_names([v.get("name", "") for v in variables], plan, originals)
    fixed = fixed_names(plan)
    for variable in variables:
        old = variable.get("name", "")
        variable.set("name", renamed[old])
        if old in fixed:
            original = originals.get(renamed[old])
            if original is not None:
                _take_texts(variable, original)
            else:
                variable.set("description", _purpose(old, renamed[old]))
    _merge_definitions(root, plain, "UnitDefinitions")
    _merge_definitions(root, plain, "TypeDefinitions")
    _annotate(root, plan)
    lost = lost_interface(root, plain)
    if lost:
        raise CompilationError(
            "with inputs as ramps the FMU would not offer the same as without: " + "; ".join(lost),
            hint="build with ramp_inputs = false",
        )
    return root


def lost_interface(root: Element, plain: Element) -> list[str]:
    """Return descriptions of what `plain` offers and `root` does not."""
    lost = []
    causalities = {
        v.get("name", ""): v.get("causality", "local") for v in root.iter("ScalarVariable")
    }
    for variable in plain.iter("ScalarVariable"):
        name, causality = variable.get("name", ""), variable.get("causality", "local")
        if causality not in ("input", "output", "parameter"):
            continue
        if name not in causalities:
            lost.append(f"{causality} '{name}' is missing")
        elif causalities[name] != causality:
            lost.append(f"{causality} '{name}' has become {causalities[name]}")
    return lost


def _new_names(
    old_names: list[str], plan: RampPlan, originals: Mapping[str, Element]
) -> dict[str, str]:
    fixed = fixed_names(plan)
    renamed = {old: fixed[old] for old in old_names if old in fixed}
    used = set(renamed.values())
    # Derivatives last: they are called after their states.
    for old in sorted(old_names, key=lambda name: _DERIVATIVE.fullmatch(name) is not None):
        if old in renamed:
            continue
        derivative = _DERIVATIVE.fullmatch(old)
        if derivative and derivative[1] in renamed:
            new = f"der({renamed[derivative[1]]})"
        else:
            new = _INSIDE.sub("", old)
        if new in used:
            # Top level and component have a variable of this name. OpenModelica itself
            # gives an output that is a state such a second name.
            alias = f"_D_outputAlias_{new}"
            new = alias if alias in originals else f"{PREFIX}component.{new}"
        if new in used:
            raise CompilationError(
                f"two variables of the wrapped class would be called '{new}'",
                hint="build with ramp_inputs = false",
            )
        renamed[old] = new
        used.add(new)
    return renamed


def _take_texts(variable: Element, original: Element) -> None:
    """Copy description, unit, start, bounds and nominal of the original variable."""
    if "description" in original.attrib:
        variable.set("description", original.attrib["description"])
    mine, other = variable[0], original[0]
    may_start = variable.get("causality") == "input" or "start" in mine.attrib
    for attribute, value in other.attrib.items():
        if attribute == "derivative" or (attribute == "start" and not may_start):
            continue
        mine.set(attribute, value)


def _purpose(old: str, new: str) -> str:
    if old == TIME:
        return "Time at which the values of the inputs hold, s"
    return f"Slope of input {new.removeprefix(slope_name(''))}, per second"


def _merge_definitions(root: Element, plain: Element, tag: str) -> None:
    source, target = plain.find(tag), root.find(tag)
    if source is None:
        return
    if target is None:
        before = ("UnitDefinitions", "TypeDefinitions", "ModelExchange", "CoSimulation")
        place = 1 + max(i for i, child in enumerate(root) if child.tag in before)
        if tag == "UnitDefinitions":
            types = root.find("TypeDefinitions")
            place = list(root).index(types) if types is not None else place
        root.insert(place, copy.deepcopy(source))
        return
    names = {child.get("name") for child in target}
    target.extend(copy.deepcopy(child) for child in source if child.get("name") not in names)


def _annotate(root: Element, plan: RampPlan) -> None:
    annotations = root.find("VendorAnnotations")
    if annotations is None:
        annotations = Element("VendorAnnotations")
        place = next(i for i, c in enumerate(root) if c.tag in _BEHIND_ANNOTATIONS)
        root.insert(place, annotations)
    tool = ElementTree.SubElement(annotations, "Tool", {"name": TOOL})
    ramps = ElementTree.SubElement(
        tool, "InputRamps", {"version": "1", "referenceTime": fixed_names(plan)[TIME]}
    )
    for signal in plan.ramps:
        ElementTree.SubElement(
            ramps, "Ramp", {"input": signal.name, "slope": slope_name(signal.name)}
        )
