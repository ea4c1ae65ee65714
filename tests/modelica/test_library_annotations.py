"""What a Modelica tool shows of the library: icons, diagrams, dialogs, documentation."""

from __future__ import annotations

import re

import pytest
from drawing.classes import (
    extent,
    graphics,
    numbers,
    part,
)
from drawing.painter import placement
from drawing.tree import Call, Class, Component
from libraries import libraries, own_classes
from machines import LIBRARY

GREY = (128.0, 128.0, 128.0)
"""Of the names of signals in icons."""
SHOWN = ("model", "block", "function", "package", "class", "connector")


def classes(*kinds: str) -> list[Class]:
    return [c for c in own_classes() if c.kind in kinds]


def inherits_from_standard_library(it: Class) -> bool:
    """Whether a base is of the Modelica Standard Library, whose stand-in has no pictures."""
    return any(
        base.type_name.startswith("Modelica.")
        for owner in libraries().lineage(it)
        for base in owner.bases
    )


def is_placeable(it: Class, component: Component) -> bool:
    kind = libraries().find(component.type_name, it)
    if kind is not None:
        return kind.kind in ("model", "block") or libraries().is_connector(kind)
    name = component.type_name
    first = name.partition(".")[0]
    name = it.imports.get(first, first) + name[len(first) :]
    return name.startswith(("Modelica.Mechanics.", "Modelica.Blocks.", "Modelica.Thermal."))


def parameters(it: Class) -> list[Component]:
    return [
        c
        for c in it.components
        if "parameter" in c.prefixes and "final" not in c.prefixes and c.public
    ]


SHOWN_CLASSES = classes(*SHOWN)
MODELS = classes("model", "block")


def test_every_class_has_an_icon_a_description_and_documentation(subtests: pytest.Subtests) -> None:
    for it in SHOWN_CLASSES:
        with subtests.test(it.full_name):
            own = any(graphics(owner, "Icon") for owner in libraries().lineage(it))
            assert own or inherits_from_standard_library(it)
            assert it.description
            info = part(it.annotation, "Documentation", "info")
            assert isinstance(info, str)
            assert info.startswith("<html>")
            assert info.endswith("</html>")


def test_every_component_has_a_place_and_every_connection_a_line(subtests: pytest.Subtests) -> None:
    for it in MODELS:
        with subtests.test(it.full_name):
            unplaced = [
                c.name
                for c in it.components
                if is_placeable(it, c) and part(c.annotation, "Placement", "transformation") is None
            ]
            redeclared = {n for base in it.bases for n in base.modification.named}
            assert not set(unplaced) - redeclared
            assert [
                c.ends for c in it.connections if part(c.annotation, "Line", "points") is None
            ] == []


def test_lines_end_at_their_connectors(subtests: pytest.Subtests) -> None:
    """Every end whose connector is of these libraries lies inside the connector's icon."""
    for it in MODELS:
        with subtests.test(it.full_name):
            for connection in it.connections:
                points = numbers(part(connection.annotation, "Line", "points"))
                for name, end in zip(connection.ends, (points[:2], points[-2:]), strict=True):
                    box = connector_box(it, re.sub(r"\[.*?\]", "", name))
                    if box is not None:
                        x1, y1, x2, y2 = box
                        assert x1 - 0.1 <= end[0] <= x2 + 0.1, (connection.ends, end)
                        assert y1 - 0.1 <= end[1] <= y2 + 0.1, (connection.ends, end)


def connector_box(it: Class, name: str) -> tuple[float, float, float, float] | None:
    """Box of a connector in the diagram of `it`; None where it is not known."""
    first, _, rest = name.partition(".")
    known = {p.component.name: p for p in libraries().components(it)}
    values = libraries().values(it)
    placed = known.get(first)
    if placed is None or placed.kind is None or placed.owner.full_name.startswith("Modelica."):
        return None  # not known; the stand-in has no pictures
    matrix = placement(
        placed.component, "Diagram", extent(libraries(), placed.kind, "Icon"), values
    )
    assert matrix is not None, name
    if rest:
        inner = {p.component.name: p for p in libraries().components(placed.kind)}.get(rest)
        if inner is None or inner.kind is None:
            return None
        box = extent(libraries(), inner.kind, "Icon")
        shape = placement(inner.component, "Icon", box, libraries().values(placed.kind))
        if shape is None and inner.owner.full_name.startswith("Modelica."):
            return None  # the stand-in has no pictures
        assert shape is not None, name
        matrix = matrix.after(shape)
    corners = [matrix.point(x, y) for x in (-100, 100) for y in (-100, 100)]
    xs, ys = [c[0] for c in corners], [c[1] for c in corners]
    return min(xs), min(ys), max(xs), max(ys)


def test_diagrams_consist_of_components_and_connections() -> None:
    """A drawing beside them would have to follow every change."""
    drawn = [it.full_name for it in MODELS if graphics(it, "Diagram")]
    assert drawn == []


def test_names_of_signals_do_not_overlap_the_picture_of_an_icon(subtests: pytest.Subtests) -> None:
    for it in MODELS:
        with subtests.test(it.full_name):
            names, shapes = [], []
            for owner in libraries().lineage(it):
                for item in graphics(owner, "Icon"):
                    points = part(item, "points")
                    flat = numbers(points if points is not None else part(item, "extent"))
                    box = (min(flat[::2]), min(flat[1::2]), max(flat[::2]), max(flat[1::2]))
                    text = part(item, "textString")
                    if text == "%name" or box == (-100.0, -100.0, 100.0, 100.0):
                        continue
                    if numbers(part(item, "textColor")) == GREY:
                        names.append((text, box))
                    else:
                        shapes.append(box)
            overlapped = {
                text
                for text, (x1, y1, x2, y2) in names
                if any(x1 < c and a < x2 and y1 < d and b < y2 for a, b, c, d in shapes)
            }
            assert overlapped == set()


def test_every_parameter_has_a_group_in_the_dialog(subtests: pytest.Subtests) -> None:
    for it in MODELS:
        with subtests.test(it.full_name):
            missing = [
                p.name
                for p in parameters(it)
                if not isinstance(part(p.annotation, "Dialog", "group"), str)
            ]
            assert missing == []
            widths = [p for p in parameters(it) if re.search(r"(^w|W)idth$", p.name)]
            assert all(part(p.annotation, "Dialog", "tab") == "Advanced" for p in widths)


def test_only_examples_have_the_icon_of_an_example(subtests: pytest.Subtests) -> None:
    for it in MODELS:
        with subtests.test(it.full_name):
            bases = {c.full_name for c in libraries().lineage(it)}
            bases |= {b.type_name for c in libraries().lineage(it) for b in c.bases}
            shows_example = any(b.endswith("Icons.Example") for b in bases)
            assert shows_example == (
                ".Examples." in it.full_name or it.full_name.endswith(".Icons.Example")
            )


def test_inputs_and_outputs_of_machines_are_connectors(subtests: pytest.Subtests) -> None:
    for it in MODELS:
        with subtests.test(it.full_name):
            if ".Examples." in it.full_name:
                continue  # an example reports differences
            plain = [c.name for c in it.components if c.public and c.prefixes & {"input", "output"}]
            assert plain == []


def test_library_says_its_version_and_has_a_guide() -> None:
    root = libraries().roots[LIBRARY.name]
    for key in ("version", "versionDate", "dateModified", "preferredView"):
        assert isinstance(part(root.annotation, key), str), key
    assert isinstance(part(root.annotation, "conversion"), Call)
    guide = root.classes["UsersGuide"].classes
    assert {"Contact", "License", "ReleaseNotes", "Literature"} <= set(guide)


def test_lines_are_within_120_columns() -> None:
    long = {
        f"{file.relative_to(LIBRARY)}:{n}"
        for file in LIBRARY.rglob("*.mo")
        for n, line in enumerate(file.read_text().splitlines(), 1)
        if len(line) > 120
    }
    assert long == set()


def test_links_and_figures_of_the_documentation_exist() -> None:
    for file in LIBRARY.rglob("*.mo"):
        for target in re.findall(r"modelica://(Mechanisms[\w./]*)", file.read_text()):
            if "/" in target:
                assert (LIBRARY.parent / target).exists(), (file.name, target)
            else:
                assert libraries().find(target, None) is not None, (file.name, target)
