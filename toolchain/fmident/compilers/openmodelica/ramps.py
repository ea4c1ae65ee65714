"""The model description of a wrapped class, written as if there were no wrapper.

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
(:mod:`fmident.fmu.ramps`) and feeds slopes and time at each communication point.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from fmident.compilers.openmodelica.wrapper import (
    COMPONENT,
    TIME,
    RampPlan,
    fixed_names,
    slope_name,
)
from fmident.errors import CompilationError
from fmident.fmu.model_description.names import structured_name

TOOL = "fmident"
PREFIX = "fmident."
"""Names of variables that belong to fmident, not to the user's class."""

_INSIDE = re.compile(rf"\b{COMPONENT}\.")
_DERIVATIVE = re.compile(r"der\((.*)\)")
_BEHIND_ANNOTATIONS = ("ModelVariables",)


def without_false_claims(description: Element) -> Element:
    """Return a copy of an OpenModelica FMU's description that claims no more than is true.

    Its Co-Simulation accepts input derivatives and integrates with held inputs all the
    same: a master that believes ``canInterpolateInputs`` is off by up to a tenth of a
    signal's range. Its instances share one pool of memory, which ``fmi2FreeInstance`` of any
    of them frees: there can be one only in a process. ``der(der(x))`` is not a name in FMI.
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
    """Give derivatives of higher order the names that FMI knows."""
    variables = [v for v in root.iterfind("ModelVariables/*") if "name" in v.attrib]
    taken = {v.get("name", "") for v in variables}
    for variable in variables:
        new = structured_name(variable.get("name", ""))
        if new not in taken:
            variable.set("name", new)
            taken.add(new)


def hide_wrapper(wrapped: Element, plain: Element, plan: RampPlan) -> Element:
    """Return the wrapped class's description under the plain class's names.

    Parameters
    ----------
    wrapped
        Root of the description of the FMU with ramps.
    plain
        Root of the description of the same class without.
    plan
        What the wrapper passes on.

    Raises
    ------
    CompilationError
        The two do not offer the same inputs, outputs and parameters.
    """
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
    """Return in words what `plain` offers and `root` does not."""
    lost = []
    found = {v.get("name", ""): v.get("causality", "local") for v in root.iter("ScalarVariable")}
    for variable in plain.iter("ScalarVariable"):
        name, causality = variable.get("name", ""), variable.get("causality", "local")
        if causality not in ("input", "output", "parameter"):
            continue
        if name not in found:
            lost.append(f"{causality} '{name}' is missing")
        elif found[name] != causality:
            lost.append(f"{causality} '{name}' has become {found[name]}")
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
    """Give a variable the description, unit, start, bounds and nominal of its original."""
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
