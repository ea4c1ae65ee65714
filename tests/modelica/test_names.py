"""One name for one thing in the library, and how old names lead to the new ones."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from conversion import read_rules
from drawing.tree import Call, Class, Component
from libraries import libraries, own_classes
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


def parameters(it: Class) -> dict[str, Component]:
    """Public parameters of a class and of its bases."""
    found = [placed.component for placed in libraries().components(it)]
    return {c.name: c for c in found if "parameter" in c.prefixes and c.public}


@dataclass(frozen=True)
class Renamed:
    """One statement of a conversion script, for one class."""

    owner: str
    old: str
    new: str


SCRIPTS = LIBRARY / "Resources" / "Scripts"


def renamed() -> list[Renamed]:
    """Statements of the script for 0.2.0, with the names that their classes have today."""
    rules = read_rules(SCRIPTS / "ConvertFromMechanisms_0.4.0.mos")
    found = []
    for (owner, old), new in read_rules(
        SCRIPTS / "ConvertFromMechanisms_0.2.0.mos"
    ).elements.items():
        if owner not in rules.messages:  # those are left to the user
            found.append(Renamed(rules.classes.new_name(owner) or owner, old, new))
    return found


RENAMED = renamed()


def test_a_parameter_is_called_as_everywhere(subtests: pytest.Subtests) -> None:
    for it in [c for c in own_classes() if c.kind in ("model", "block")]:
        with subtests.test(it.full_name):
            for name, component in parameters(it).items():
                for beginning, ending in NAMES.items():
                    if re.match(beginning, component.description):
                        assert re.fullmatch(rf"(\w+?)?{ending}", name, re.IGNORECASE), (
                            component.description
                        )


def test_modifiers_name_what_is_there() -> None:
    """Also in classes that the embedded compiler has not built."""
    for it in own_classes():
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
    known = {placed.component.name for placed in libraries().components(kind)}
    assert set(given.named) - {"annotation"} <= known, kind.full_name


def test_conversions_name_classes_and_parameters() -> None:
    assert len(RENAMED) > 80
    for one in RENAMED:
        it = libraries().find(one.owner, None)
        assert it is not None, one
        known = {placed.component.name for placed in libraries().components(it)}
        assert one.new in known, one
        assert one.old not in known, one


MACHINES = sorted({one.owner for one in RENAMED if one.owner.startswith("Mechanisms.FMUs.")})


@pytest.mark.each_time("PositioningAxisDelayedLoop", "DeltaInverse")
@pytest.mark.parametrize("name", [name.rpartition(".")[2] for name in MACHINES])
def test_an_old_name_is_answered_with_the_new_one(workshop: Workshop, name: str) -> None:
    description = workshop.machine(f"FMUs.{name}").fmu.description
    for one in RENAMED:
        if one.owner != f"Mechanisms.FMUs.{name}":
            continue
        with pytest.raises(FmuError) as refused:
            description.variable(one.old)
        assert refused.value.hint is not None
        assert re.search(rf"'{one.new}(\[1\])?'", refused.value.hint), refused.value.hint
