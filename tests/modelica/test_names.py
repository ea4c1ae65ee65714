"""One name for one thing in both libraries, and how old names lead to the new ones."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from drawing.tree import Call, Class, Component
from libraries import libraries
from machines import LIBRARY, Workshop

from fmident.errors import FmuError

NAMES = {
    r"Coulomb friction force": r"coulombForce",
    r"Coulomb friction torque": r"coulombTorque",
    r"Static friction force": r"staticForce",
    r"Static friction torque": r"staticTorque",
    r"Stribeck speed": r"stribeckSpeed",
    r"Viscous friction": r"viscousFriction",
    r"Bristle stiffness": r"sigma0",
    r"Bristle damping": r"sigma1",
    r"Width of the smooth sign": r"speedWidth",
    r"Width of the smooth direction of power": r"powerWidth",
    r"Width of the smooth magnitude": r"reversalWidth",
    r"Gravity": r"gravity",
    r"Gear ratio": r"ratio",
    r"Gear efficiency": r"efficiency",
    r"(Position gain|Gain of the position)": r"positionGain",
    r"(Speed gain|Gain of the speed)": r"speedGain",
    r".* at the start": r"\w+_start",
    r"Moved mass|Sliding mass": r"m",
}
"""How a description begins, and how the name ends: it has a prefix where there are several."""

ONE_LIBRARY_ONLY = {
    "barDistance": "without influence where bars are one rod",
    "voltageWidth": "corners of a limit are rounded in Mechanisms only",
    "torqueWidth": "corners of a limit are rounded in Mechanisms only",
    "q_start": "in MechanismsMSL the axis starts at rest at 0",
    "qd_start": "in MechanismsMSL the axis starts at rest at 0",
    "loadSpeedWidth": "inherited, without influence",
}


def classes() -> list[Class]:
    return [c for root in libraries().roots.values() for c in root.walk()]


def parameters(it: Class) -> dict[str, Component]:
    """Public parameters of a class and of its bases that are in these libraries."""
    found = [placed.component for placed in libraries().components(it)]
    return {c.name: c for c in found if "parameter" in c.prefixes and c.public}


@dataclass(frozen=True)
class Renamed:
    """One statement of a conversion script, for one class."""

    owner: str
    old: str
    new: str


def renamed() -> list[Renamed]:
    found = []
    for script in sorted(LIBRARY.parent.glob("*/Resources/Scripts/*_0.2.0.mos")):
        text = script.read_text()
        statements = re.findall(
            r'convertElement\(\{([^}]*)\},\s*"(\w+)",\s*"(\w+)"\);\n', text, re.DOTALL
        )
        assert len(statements) == text.count(";")
        for owners, old, new in statements:
            found += [Renamed(owner, old, new) for owner in re.findall(r'"([\w.]+)"', owners)]
    return found


RENAMED = renamed()


def test_a_parameter_is_called_as_everywhere(subtests: pytest.Subtests) -> None:
    for it in [c for c in classes() if c.kind in ("model", "block")]:
        with subtests.test(it.full_name):
            for name, component in parameters(it).items():
                for beginning, ending in NAMES.items():
                    if re.match(beginning, component.description):
                        assert re.fullmatch(rf"(\w+?)?{ending}", name, re.IGNORECASE), (
                            component.description
                        )


def test_machines_of_both_libraries_have_the_same_parameters() -> None:
    mechanisms, standard = libraries().roots["Mechanisms"], libraries().roots["MechanismsMSL"]
    twins = {c.full_name.partition(".")[2]: c for c in standard.walk() if c.kind == "model"}
    compared = 0
    for it in mechanisms.walk():
        twin = twins.get(it.full_name.partition(".")[2])
        if it.kind != "model" or twin is None or ".Interfaces." in it.full_name:
            continue
        differing = set(parameters(it)) ^ set(parameters(twin))
        assert differing <= set(ONE_LIBRARY_ONLY), it.full_name
        compared += 1
    assert compared == 15


def test_modifiers_name_what_is_there() -> None:
    """Also in classes that no compiler here can build, for lack of the standard library."""
    for it in classes():
        for component in it.components:
            kind = libraries().find(component.type_name, it)
            if kind is not None and kind.kind in ("model", "block"):
                check_modifiers(component.modification, kind)
        for base in it.bases:
            kind = libraries().find_base(base.type_name, it)
            if kind is not None and kind.kind in ("model", "block"):
                check_modifiers(base.modification, kind)


def check_modifiers(given: Call | None, kind: Class) -> None:
    if given is None:
        return
    owners = {owner.full_name for owner in libraries().lineage(kind)}
    assert not set(given.named) & {one.old for one in RENAMED if one.owner in owners}
    if any(
        base.type_name.startswith("Modelica.")
        for owner in libraries().lineage(kind)
        for base in owner.bases
    ):
        return  # it has more than is known here
    known = {placed.component.name for placed in libraries().components(kind)}
    assert set(given.named) - {"annotation"} <= known, kind.full_name


def test_conversions_name_classes_and_parameters() -> None:
    assert len(RENAMED) > 90
    for one in RENAMED:
        it = libraries().find(one.owner, None)
        assert it is not None, one
        known = {placed.component.name for placed in libraries().components(it)}
        assert one.new in known, one
        assert one.old not in known, one


MACHINES = sorted(
    {
        one.owner.partition(".")[2]
        for one in RENAMED
        if one.owner.startswith(("Mechanisms.DriveTrains.", "Mechanisms.Robots."))
    }
)


@pytest.mark.each_time("DriveTrains.PositioningAxisDelayedLoop", "Robots.DeltaInverse")
@pytest.mark.parametrize("name", MACHINES)
def test_an_old_name_is_answered_with_the_new_one(workshop: Workshop, name: str) -> None:
    description = workshop.machine(name).fmu.description
    for one in RENAMED:
        if one.owner != f"Mechanisms.{name}":
            continue
        with pytest.raises(FmuError) as refused:
            description.variable(one.old)
        assert refused.value.hint is not None
        assert re.search(rf"'{one.new}(\[1\])?'", refused.value.hint), refused.value.hint
