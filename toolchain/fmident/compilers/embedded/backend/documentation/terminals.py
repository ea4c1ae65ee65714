"""``terminalsAndIcons/``: how tools draw the FMU, and which variables belong to one connector.

Source: FMI specification 3.0.2, section 2.4.9; FMI 2.0.4 takes the folder over as it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from fmident.compilers.embedded.backend.description.xml_text import number, tag
from fmident.compilers.embedded.backend.documentation.raster import png
from fmident.compilers.embedded.backend.documentation.svg import svg
from fmident.compilers.embedded.presentation import Connector, Picture, Presentation

FOLDER = "terminalsAndIcons"
ICON_SIDE = 256
CONNECTOR_SIDE = 64
"""Pixels of the longer side of a PNG."""

_INDEX = re.compile(r"\[([^\]]*)\](?:\.(.+))?\Z")


def terminals_and_icons(shown: Presentation, interface: Sequence[str]) -> dict[str, bytes]:
    """Return the members of the archive, by name; none without icon and connectors.

    Parameters
    ----------
    shown
        What the class says of itself.
    interface
        Names of the inputs and outputs, as the model description has them.
    """
    members: dict[str, bytes] = {}
    terminals: list[str] = []
    for connector in shown.connectors:
        lines = list(_members(connector.name, connector, interface))
        if lines:
            terminals += _terminal(connector, lines, members)
    if not terminals and shown.icon is None:
        return {}
    if shown.icon is not None:
        members[f"{FOLDER}/icon.png"] = png(shown.icon, ICON_SIDE)
        members[f"{FOLDER}/icon.svg"] = svg(shown.icon, None).encode()
    text = "\n".join(_document(shown, terminals)) + "\n"
    return {f"{FOLDER}/terminalsAndIcons.xml": text.encode(), **dict(sorted(members.items()))}


def _document(shown: Presentation, terminals: Sequence[str]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield tag("fmiTerminalsAndIcons", {"fmiVersion": "3.0"}, close=False)
    yield "  <GraphicalRepresentation>"
    scaling = {"suggestedScalingFactorTo_mm": "0.1"}
    yield "    " + tag("CoordinateSystem", {**_corners(shown.extent), **scaling})
    if shown.icon is not None:
        yield "    " + tag("Icon", _corners(shown.icon.extent))
    yield "  </GraphicalRepresentation>"
    if terminals:
        yield "  <Terminals>"
        yield from (f"    {line}" for line in terminals)
        yield "  </Terminals>"
    yield "</fmiTerminalsAndIcons>"


def _corners(extent: tuple[float, float, float, float]) -> Mapping[str, str | None]:
    values = (number(round(v, 2)) for v in extent)
    return dict(zip(("x1", "y1", "x2", "y2"), values, strict=True))


def _terminal(
    connector: Connector, lines: Sequence[str], members: dict[str, bytes]
) -> Iterator[str]:
    yield from lines[:-1]
    if connector.picture is not None:
        color = " ".join(map(str, connector.color)) if connector.color else None
        base = {"iconBaseName": _icon(connector.picture, members)}
        place = _corners(connector.picture.extent)
        yield "  " + tag(
            "TerminalGraphicalRepresentation",
            {"defaultConnectionColor": color, **place, **base},
        )
    yield lines[-1]


def _icon(picture: Picture, members: dict[str, bytes]) -> str:
    """Add the icon of a connector unless an equal one is there; return its name."""
    content = png(picture, CONNECTOR_SIDE)
    count = 0
    for name, other in members.items():
        if name.endswith(".png"):
            count += 1
            if other == content:
                return name.removeprefix(f"{FOLDER}/").removesuffix(".png")
    base = f"connector{count + 1}"
    members[f"{FOLDER}/{base}.png"] = content
    members[f"{FOLDER}/{base}.svg"] = svg(picture, None).encode()
    return base


def _members(name: str, connector: Connector, interface: Sequence[str]) -> Iterator[str]:
    """Yield the element of a terminal; nothing where no input or output belongs to it."""
    groups: dict[str, list[tuple[str, str | None]]] = {}
    for variable in interface:
        if variable == name:
            groups.setdefault("", []).append((variable, None))
        elif variable.startswith(f"{name}."):
            groups.setdefault("", []).append((variable, variable[len(name) + 1 :]))
        elif variable.startswith(f"{name}[") and (found := _INDEX.match(variable[len(name) :])):
            index = f"[{found[1]}]" if found[2] else ""
            groups.setdefault(index, []).append((variable, found[2]))
    if list(groups) == [""]:
        yield from _element(name, connector, groups[""])
    elif groups:
        yield _begin(name, connector, "bus")
        for index, variables in groups.items():
            yield from (f"  {line}" for line in _element(index, connector, variables))
        yield "</Terminal>"


def _begin(name: str, connector: Connector, rule: str) -> str:
    given = {
        "name": name,
        "matchingRule": rule,
        "terminalKind": connector.class_name,
        "description": connector.description or None,
    }
    return tag("Terminal", given, close=False)


def _element(
    name: str, connector: Connector, variables: Sequence[tuple[str, str | None]]
) -> Iterator[str]:
    """Yield a terminal with its variables, which are connected by their names or their order."""
    yield _begin(name, connector, "plug" if variables[0][1] else "sequence")
    for variable, member in variables:
        given = {"variableName": variable, "memberName": member, "variableKind": "signal"}
        yield "  " + tag("TerminalMemberVariable", given)
    yield "</Terminal>"
