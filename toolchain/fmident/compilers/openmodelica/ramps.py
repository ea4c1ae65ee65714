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

An input then follows ``u + slope*(time - referenceTime)``.
"""

from __future__ import annotations

import copy
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from fmident.compilers.openmodelica.wrapper import (
    COMPONENT,
    TIME,
    RampPlan,
    fixed_names,
    slope_name,
)
from fmident.errors import CompilationError
from fmident.fmu import SimulationSetup

TOOL = "fmident"
PREFIX = "fmident."
"""Names of variables that belong to fmident, not to the user's class."""

_INSIDE = re.compile(rf"\b{COMPONENT}\.")
_DERIVATIVE = re.compile(r"der\((.*)\)")
_BEHIND_ANNOTATIONS = ("ModelVariables",)


@dataclass(frozen=True)
class RampInputs:
    """How inputs of an FMU follow straight lines.

    Parameters
    ----------
    reference_time
        Input that takes the time at which the values hold, s.
    slopes
        Input -> the input that takes its slope, in the input's unit per second.
    """

    reference_time: str
    slopes: Mapping[str, str]


def ramp_inputs(path: Path) -> RampInputs | None:
    """Read from an FMU which of its inputs are ramps.

    Parameters
    ----------
    path
        The FMU, or its unpacked ``modelDescription.xml``.

    Returns
    -------
    RampInputs or None
        ``None`` for FMUs that were built without ramps.

    Raises
    ------
    CompilationError
        The file cannot be read, or its annotation names variables that are not there.
    """
    root = _read_root(path)
    found = root.find(f"VendorAnnotations/Tool[@name='{TOOL}']/InputRamps")
    if found is None:
        return None
    ramps = RampInputs(
        found.get("referenceTime", ""),
        {r.get("input", ""): r.get("slope", "") for r in found.iter("Ramp")},
    )
    names = {v.get("name") for v in root.iter("ScalarVariable")}
    missing = {ramps.reference_time, *ramps.slopes, *ramps.slopes.values()} - names
    if missing:
        raise CompilationError(
            f"{path}: the annotation on input ramps names"
            f" {', '.join(sorted(map(repr, missing)))}, which the FMU does not have",
            hint="the FMU was changed after fmident built it: build it again",
        )
    return ramps


def ramp_setup(setup: SimulationSetup, ramps: RampInputs) -> SimulationSetup:
    """Return a setup that makes inputs follow straight lines.

    Parameters
    ----------
    setup
        What to simulate.
    ramps
        As :func:`ramp_inputs` reads them.

    Returns
    -------
    SimulationSetup
        With columns for slopes and reference time. It must run with a simulator of
        ``input_update="before_step"``: row i + 1 is set before the step from t_i to
        t_(i+1), and gives the line through both points,
        ``u_(i+1) + (u_(i+1) - u_i)/(t_(i+1) - t_i)*(t - t_(i+1))``. So outputs at
        t_(i+1) belong to u_(i+1), whether or not the FMU computes them anew when
        inputs are set.
    """
    assert setup.inputs is not None  # set by SimulationSetup itself
    driven = [n for n in setup.input_names if n in ramps.slopes]
    if not driven or setup.times.size < 2:
        return replace(setup, interpolation="hold")
    places = [setup.input_names.index(n) for n in driven]
    slopes = np.zeros((setup.times.size, len(driven)))
    slopes[1:] = np.diff(setup.inputs[:, places], axis=0) / np.diff(setup.times)[:, np.newaxis]
    return replace(
        setup,
        input_names=(
            *setup.input_names,
            *(ramps.slopes[n] for n in driven),
            ramps.reference_time,
        ),
        inputs=np.column_stack([setup.inputs, slopes, setup.times]),
        interpolation="hold",
    )


def _read_root(path: Path) -> Element:
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return ElementTree.fromstring(archive.read("modelDescription.xml"))
        return ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, KeyError, OSError) as error:
        raise CompilationError(f"{path}: not a model description: {error}") from error


def without_false_claims(description: Element) -> Element:
    """Return a copy of an OpenModelica FMU's description that claims no more than is true.

    Its Co-Simulation accepts input derivatives and integrates with held inputs all the
    same: a master that believes ``canInterpolateInputs`` is off by up to a tenth of a
    signal's range.
    """
    root = copy.deepcopy(description)
    for part in root.iter("CoSimulation"):
        if "canInterpolateInputs" in part.attrib:  # FMI 3.0 has no such attribute
            part.set("canInterpolateInputs", "false")
    return root


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
