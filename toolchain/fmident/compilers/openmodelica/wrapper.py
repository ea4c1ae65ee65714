"""Modelica text around the class to be exported.

Two wrappers, both found by trying with OpenModelica 1.26.9:

- An FMU's tolerance is the one of the ``experiment`` annotation of the class that is
  exported; ``setupExperiment`` does not change it. ``extends`` with another annotation
  gives another tolerance and leaves names and parameters as they are.
- Inputs are held over a communication step, whatever ``canInterpolateInputs`` says.
  Around the class as a component, ``m.u = u0 + du*(time - t0)`` follows a straight line.
  A component without modifier keeps its parameters settable, as ``m.J``; bound by
  ``extends C(u = ...)``, u would stay an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree.ElementTree import Element

EXPORT = "fmident_export"
RAMP = "fmident_ramp"
COMPONENT = "fmident_component"
VALUE, SLOPE, TIME = "fmident_value", "fmident_slope", "fmident_time"
SignalType = Literal["Real", "Integer", "Boolean"]
SIGNAL_TYPES: tuple[SignalType, ...] = ("Real", "Integer", "Boolean")


@dataclass(frozen=True)
class Experiment:
    """What the ``experiment`` annotation says: times in s."""

    start: float = 0.0
    stop: float = 1.0
    tolerance: float = 1e-6
    interval: float = 0.002

    @property
    def annotation(self) -> str:
        """As Modelica."""
        return (
            f"annotation(experiment(StartTime={self.start!r}, StopTime={self.stop!r},"
            f" Tolerance={self.tolerance!r}, Interval={self.interval!r}));"
        )


@dataclass(frozen=True)
class Signal:
    """An input or output of the class, one scalar."""

    name: str
    type: SignalType
    start: str | None = None


@dataclass(frozen=True)
class RampPlan:
    """What a wrapper with ramps passes on.

    Parameters
    ----------
    ramps
        Real inputs, which become ramps.
    held
        Integer and Boolean inputs, which stay as they are.
    outputs
        All outputs.
    """

    ramps: tuple[Signal, ...]
    held: tuple[Signal, ...]
    outputs: tuple[Signal, ...]


def plan_ramps(description: Element) -> RampPlan | str:
    """Decide whether ramps make sense and can be made.

    Parameters
    ----------
    description
        Root of the model description of the class as it is.

    Returns
    -------
    RampPlan or str
        The reason in words where there will be no ramps.
    """
    if not has_states(description):
        return "there are no states, so nothing happens between communication points"
    ramps: list[Signal] = []
    held: list[Signal] = []
    outputs: list[Signal] = []
    for variable in description.iter("ScalarVariable"):
        kind = variable[0].tag
        causality = variable.get("causality", "local")
        if causality not in ("input", "output"):
            continue
        name = variable.get("name", "")
        signal_type = next((t for t in SIGNAL_TYPES if t == kind), None)
        if signal_type is None:
            return f"{causality} '{name}' is of type {kind}"
        signal = Signal(name, signal_type, variable[0].get("start"))
        if causality == "output":
            outputs.append(signal)
        elif signal_type == "Real":
            ramps.append(signal)
        else:
            held.append(signal)
    if not ramps:
        return "there is no Real input"
    return RampPlan(tuple(ramps), tuple(held), tuple(outputs))


def has_states(description: Element) -> bool:
    """Whether a model description (its root is given) has continuous states."""
    return any("derivative" in v[0].attrib for v in description.iter("ScalarVariable"))


def default_experiment(description: Element) -> Experiment:
    """Return the default experiment of a model description (its root is given)."""
    found = description.find("DefaultExperiment")
    attributes = found.attrib if found is not None else {}
    usual = Experiment()
    return Experiment(
        float(attributes.get("startTime", usual.start)),
        float(attributes.get("stopTime", usual.stop)),
        float(attributes.get("tolerance", usual.tolerance)),
        float(attributes.get("stepSize", usual.interval)),
    )


def export_text(class_name: str, modification: str, experiment: Experiment, comment: str) -> str:
    """Return the wrapper that changes experiment and modifiers only."""
    modified = f"({modification})" if modification.strip() else ""
    quoted = comment.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'model {EXPORT} "{quoted}"\n'
        f"  extends {class_name}{modified};\n"
        f"  {experiment.annotation}\n"
        f"end {EXPORT};\n"
    )


def ramp_text(base: str, plan: RampPlan, experiment: Experiment, comment: str) -> str:
    """Return the wrapper whose Real inputs are ramps.

    Parameters
    ----------
    base
        The class inside.
    plan
        Its inputs and outputs.
    experiment
        Annotation of the wrapper.
    comment
        Its description.
    """
    quoted = comment.replace("\\", "\\\\").replace('"', '\\"')
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
    for kind in SIGNAL_TYPES:
        held = _of(plan.held, kind)
        if held:
            none = {"Integer": "0", "Boolean": "false", "String": '""'}.get(kind, "0.0")
            given = ", ".join(s.start or none for s in held)
            declarations.append(f"input {kind} {held_name(kind)}[{len(held)}](start={{{given}}});")
            equations += [
                f"{COMPONENT}.{s.name} = {held_name(kind)}[{k}];"
                for k, s in enumerate(held, start=1)
            ]
        outputs = _of(plan.outputs, kind)
        if outputs:
            declarations.append(f"output {kind} {output_name(kind)}[{len(outputs)}];")
            equations += [
                f"{output_name(kind)}[{k}] = {COMPONENT}.{s.name};"
                for k, s in enumerate(outputs, start=1)
            ]
    lines = [f'model {RAMP} "{quoted}"']
    lines += [f"  {line}" for line in declarations]
    lines += ["equation"]
    lines += [f"  {line}" for line in equations]
    lines += [f"  {experiment.annotation}", f"end {RAMP};", ""]
    return "\n".join(lines)


def fixed_names(plan: RampPlan) -> dict[str, str]:
    """Return the names that a user sees for the wrapper's own inputs and outputs.

    Notes
    -----
    The value of a ramp takes the name of the input: a master that knows of no ramps sets
    it, the slope stays 0, and the input is held, as without the wrapper.
    """
    names = {TIME: "fmident.referenceTime"}
    for k, signal in enumerate(plan.ramps, start=1):
        names[f"{VALUE}[{k}]"] = signal.name
        names[f"{SLOPE}[{k}]"] = slope_name(signal.name)
    for kind in SIGNAL_TYPES:
        for k, signal in enumerate(_of(plan.held, kind), start=1):
            names[f"{held_name(kind)}[{k}]"] = signal.name
        for k, signal in enumerate(_of(plan.outputs, kind), start=1):
            names[f"{output_name(kind)}[{k}]"] = signal.name
    return names


def slope_name(name: str) -> str:
    """Return the name under which the slope of an input is set."""
    return f"fmident.slope.{name}"


def held_name(kind: SignalType) -> str:
    """Return the wrapper's array of inputs of a type that are passed on."""
    return f"fmident_held{kind}"


def output_name(kind: SignalType) -> str:
    """Return the wrapper's array of outputs of a type."""
    return f"fmident_output{kind}"


def _of(signals: Sequence[Signal], kind: SignalType) -> list[Signal]:
    return [s for s in signals if s.type == kind]
