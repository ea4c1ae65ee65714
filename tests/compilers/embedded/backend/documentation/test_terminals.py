"""Terminals: which inputs and outputs belong to one connector, as FMI 3.0 writes it."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import pytest
from lxml import etree
from PIL import Image

from fmident.compilers.embedded.backend.documentation.terminals import terminals_and_icons
from fmident.compilers.embedded.presentation import (
    Connector,
    Outline,
    Picture,
    Presentation,
    Stroke,
)

XML = "terminalsAndIcons/terminalsAndIcons.xml"


def square(left: float, top: float, color: str = "#00007f") -> Picture:
    """Return a picture of 10 pixels at a place."""
    steps = (((left + 10, top),), ((left + 10, top + 10),), ((left, top + 10),))
    shape = Outline((left, top), steps, True, color, Stroke(color, 1.0))
    return Picture("", (shape,), left - 1, top - 1, 12, 12)


def document(members: dict[str, bytes]) -> ElementTree.Element:
    schema = Path(fmpy.__file__).parent / "schema" / "fmi3" / "fmi3TerminalsAndIcons.xsd"
    etree.XMLSchema(etree.parse(schema)).assertValid(etree.fromstring(members[XML]))
    return ElementTree.fromstring(members[XML])


def outline(terminal: ElementTree.Element) -> tuple[object, ...]:
    """Return name, rule, variables with the names of members, and inner terminals."""
    variables = [
        (v.get("variableName"), v.get("memberName"))
        for v in terminal.findall("TerminalMemberVariable")
    ]
    inner = [outline(t) for t in terminal.findall("Terminal")]
    return (terminal.get("name"), terminal.get("matchingRule"), variables, inner)


def test_a_connector_of_one_variable_is_connected_by_order() -> None:
    shown = Presentation(connectors=(Connector("u", "T.In", "a < b"),))
    root = document(terminals_and_icons(shown, ["u", "up", "v.u"]))
    (terminal,) = root.iter("Terminal")
    assert outline(terminal) == ("u", "sequence", [("u", None)], [])
    assert terminal.get("terminalKind") == "T.In"
    assert terminal.get("description") == "a < b"
    assert terminal.find("TerminalGraphicalRepresentation") is None


def test_members_of_a_connector_are_connected_by_name() -> None:
    shown = Presentation(connectors=(Connector("bus", "T.Bus", ""), Connector("pin", "T.Pin", "")))
    root = document(terminals_and_icons(shown, ["x", "bus.speed", "bus.axis.torque", "bus.a[1]"]))
    (terminal,) = root.iter("Terminal")  # none for the pin, which has no input and no output
    members = [("bus.speed", "speed"), ("bus.axis.torque", "axis.torque"), ("bus.a[1]", "a[1]")]
    assert outline(terminal) == ("bus", "plug", members, [])


def test_arrays_of_connectors() -> None:
    shown = Presentation(connectors=(Connector("u", "T.In", ""), Connector("b", "T.Bus", "")))
    names = ["u[1]", "u[2]", "b[1].x", "b[1].y", "b[2].x", "b[2].y"]
    root = document(terminals_and_icons(shown, names))
    u, b = root.findall("Terminals/Terminal")
    assert outline(u) == ("u", "sequence", [("u[1]", None), ("u[2]", None)], [])
    assert outline(b) == (
        "b",
        "bus",
        [],
        [
            ("[1]", "plug", [("b[1].x", "x"), ("b[1].y", "y")], []),
            ("[2]", "plug", [("b[2].x", "x"), ("b[2].y", "y")], []),
        ],
    )


def test_places_and_equal_icons() -> None:
    blue, red = (0, 0, 127), (255, 0, 0)
    shown = Presentation(
        icon=square(-5, -5),
        extent=(-50.0, -60.0, 70.0, 80.0),
        connectors=(
            Connector("u", "T.In", "", square(-110, -5), blue),
            Connector("v", "T.In", "", square(-110, 40), blue),
            Connector("w", "T.Other", "", square(100, 0, "#ff0000"), red),
        ),
    )
    members = terminals_and_icons(shown, ["u", "v", "w"])
    root = document(members)
    system = root.find("GraphicalRepresentation/CoordinateSystem")
    assert system is not None
    assert [float(system.get(k, "")) for k in ("x1", "y1", "x2", "y2")] == [-50, -60, 70, 80]
    icon = root.find("GraphicalRepresentation/Icon")
    assert icon is not None
    assert [float(icon.get(k, "")) for k in ("x1", "y1", "x2", "y2")] == [-6, -6, 6, 6]
    drawn = list(root.iter("TerminalGraphicalRepresentation"))
    assert [d.get("iconBaseName") for d in drawn] == ["connector1", "connector1", "connector2"]
    assert [d.get("defaultConnectionColor") for d in drawn] == ["0 0 127", "0 0 127", "255 0 0"]
    corners = [[float(d.get(k, "")) for k in ("x1", "y1", "x2", "y2")] for d in drawn]
    assert corners == [[-111, -6, -99, 6], [-111, -51, -99, -39], [99, -11, 111, 1]]
    files = {name.partition("/")[2] for name in members} - {XML.partition("/")[2]}
    bases = ("icon", "connector1", "connector2")
    assert files == {f"{base}.{kind}" for base in bases for kind in ("png", "svg")}
    for base in bases:
        with Image.open(io.BytesIO(members[f"terminalsAndIcons/{base}.png"])) as image:
            assert image.size == ((256, 256) if base == "icon" else (64, 64))
        ElementTree.fromstring(members[f"terminalsAndIcons/{base}.svg"])


@pytest.mark.parametrize("interface", [[], ["x", "y.z"]])
def test_nothing_to_show_gives_no_files(interface: list[str]) -> None:
    shown = Presentation(connectors=(Connector("u", "T.In", ""),))
    assert terminals_and_icons(shown, interface) == {}
