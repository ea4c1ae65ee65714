"""Icons: each primitive of Modelica as SVG and as pixels, measured by areas and colours."""

from __future__ import annotations

import io
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from fmident.arrays import F64
from fmident.compilers.embedded.backend.documentation.raster import coverage, draw, png
from fmident.compilers.embedded.backend.documentation.svg import svg
from fmident.compilers.embedded.backend.documentation.truetype import find_font
from fmident.compilers.embedded.presentation import Bitmap, Picture

from .conftest import Read

NAMESPACE = "{http://www.w3.org/2000/svg}"
SIDE = 212
"""Pixels of a side of an icon of 200 units and two margins: one for a unit."""


def icon(read: Read, items: str, *, declared: str = "") -> Picture:
    text = f"annotation(Icon(graphics={{{items}}}));"
    shown, remarks = read(
        f"package T model M {declared} Real x; equation x = 1; {text} end M; end T;"
    )
    assert [r.message for r in remarks] == []
    assert shown.icon is not None
    return shown.icon


def pixels(read: Read, items: str, *, declared: str = "") -> F64:
    """Return the pixels of an icon; those at row 106 and column 106 are at its origin."""
    frame = "Rectangle(extent={{-100,-100},{100,100}}, pattern=LinePattern.None)"
    found = draw(icon(read, f"{frame}, {items}", declared=declared), SIDE)
    assert found.shape == (SIDE, SIDE, 4)
    return found


def area(found: F64) -> float:
    return float(found[:, :, 3].sum())


def at(found: F64, x: float, y: float) -> list[int]:
    """Return red, green, blue and opacity at a point of the icon, 0 to 255."""
    return [round(v * 255) for v in found[int(106 - y), int(106 + x)]]


SOLID = "pattern=LinePattern.None, fillPattern=FillPattern.Solid, fillColor={10,200,30}"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (f"Rectangle(extent={{{{-60,-20}},{{40,30}}}}, {SOLID})", 5000.0),
        (f"Rectangle(extent={{{{40,30}},{{-60,-20}}}}, {SOLID})", 5000.0),  # any two corners
        (
            f"Rectangle(extent={{{{-60,-20}},{{40,30}}}}, radius=10, {SOLID})",
            5000.0 - (4 - math.pi) * 100,
        ),
        (f"Ellipse(extent={{{{-60,-20}},{{40,30}}}}, {SOLID})", math.pi * 50 * 25),
        (
            f"Ellipse(extent={{{{-50,-50}},{{50,50}}}}, startAngle=0, endAngle=90, {SOLID})",
            math.pi * 2500 / 4,
        ),
        (
            f"Ellipse(extent={{{{-50,-50}},{{50,50}}}}, startAngle=0, endAngle=180, "
            f"closure=EllipseClosure.Chord, {SOLID})",
            math.pi * 2500 / 2,
        ),
        (f"Polygon(points={{{{0,0}},{{80,0}},{{0,60}}}}, {SOLID})", 2400.0),
        (
            f"Polygon(points={{{{0,0}},{{80,0}},{{0,60}}}}, rotation=30, origin={{-9,5}}, {SOLID})",
            2400.0,
        ),
        ("Line(points={{-50,0},{50,0}}, thickness=1)", 400.0),
        ("Line(points={{-50,-50},{50,50}}, thickness=1)", 400.0 * math.sqrt(2.0)),
        ("Line(points={{-50,0},{0,0},{0,50}}, thickness=1)", 400.0 + math.pi - 4),
        ("Line(points={{-90,0},{90,0}}, thickness=1, pattern=LinePattern.Dash)", 480.0),
        (
            "Rectangle(extent={{-60,-20},{40,30}}, lineThickness=0.5)",
            2 * 300.0 - (4 - math.pi),
        ),
    ],
)
def test_a_shape_covers_its_area(read: Read, item: str, expected: float) -> None:
    assert area(pixels(read, item)) == pytest.approx(expected, rel=0.01)


def test_a_shape_is_where_it_should_be_and_has_its_colour(read: Read) -> None:
    found = pixels(read, f"Rectangle(extent={{{{20,40}},{{60,80}}}}, {SOLID})")
    assert at(found, 40, 60) == [10, 200, 30, 255]
    assert [at(found, x, y)[3] for x, y in ((-40, 60), (40, -60), (10, 60), (40, 90))] == [0] * 4


def test_a_bezier_stays_inside_its_corners_and_touches_its_middles(read: Read) -> None:
    points = "points={{-80,0},{0,80},{80,0}}"
    straight = pixels(read, f"Polygon({points}, {SOLID})")
    smooth = pixels(read, f"Polygon({points}, smooth=Smooth.Bezier, {SOLID})")
    assert area(smooth) < 0.9 * area(straight)
    line = pixels(read, f"Line({points}, smooth=Smooth.Bezier, thickness=1)")
    assert at(line, -40, 40)[3] == 255  # in the middle between two points
    assert at(line, 0, 75)[3] == 0  # it does not reach the corner


def test_later_shapes_are_over_earlier_ones(read: Read) -> None:
    first = f"Rectangle(extent={{{{-50,-50}},{{50,50}}}}, {SOLID})"
    second = first.replace("{10,200,30}", "{255,0,0}").replace("50", "20")
    found = pixels(read, f"{first}, {second}")
    assert at(found, 0, 0) == [255, 0, 0, 255]
    assert at(found, 40, 0) == [10, 200, 30, 255]


@pytest.mark.parametrize(
    ("pattern", "ink", "paper"),
    [
        ("HorizontalCylinder", [(-30, 38), (30, -38)], [(-30, 0), (30, 0)]),
        ("VerticalCylinder", [(-38, 30), (38, -30)], [(0, 30), (0, -30)]),
        ("Sphere", [(38, 0), (0, -38)], [(0, 0), (2, 2)]),
    ],
)
def test_gradients_go_from_the_line_to_the_filling(
    read: Read, pattern: str, ink: list[tuple[int, int]], paper: list[tuple[int, int]]
) -> None:
    found = pixels(
        read,
        "Rectangle(extent={{-40,-40},{40,40}}, lineColor={0,0,0}, fillColor={255,255,255}, "
        f"fillPattern=FillPattern.{pattern})",
    )
    assert all(at(found, *place)[0] < 40 for place in ink)
    assert all(at(found, *place)[0] > 215 for place in paper)


@pytest.mark.parametrize(
    "pattern", ["Horizontal", "Vertical", "Forward", "Backward", "Cross", "CrossDiag"]
)
def test_hatchings_are_lines_on_the_filling(read: Read, pattern: str) -> None:
    found = pixels(
        read,
        "Rectangle(extent={{-60,-60},{60,60}}, lineColor={0,0,0}, fillColor={255,255,255}, "
        f"pattern=LinePattern.None, fillPattern=FillPattern.{pattern})",
    )
    inside = found[60:140, 60:140]  # a multiple of 8 pixels
    assert inside[:, :, 3].min() == 1.0
    share = 1.0 - inside[:, :, 0].mean()
    one = math.sqrt(2.0) / 8.0 if pattern in ("Forward", "Backward", "CrossDiag") else 1 / 8
    expected = 1 - (1 - one) ** 2 if pattern.startswith("Cross") else one
    assert share == pytest.approx(expected, rel=0.15)
    across, down = np.ptp(inside[:, :, 0].mean(axis=0)), np.ptp(inside[:, :, 0].mean(axis=1))
    if pattern in ("Horizontal", "Vertical"):
        assert (across < 0.01) == (pattern == "Horizontal")
        assert (down < 0.01) == (pattern == "Vertical")


def test_arrows_are_at_the_ends_they_are_given_for(read: Read) -> None:
    line = "Line(points={{-50,0},{50,0}}, arrow={Arrow.None,Arrow.Filled}, arrowSize=10)"
    found = pixels(read, line)
    right, left = found[:, 106:, 3].sum(), found[:, :106, 3].sum()
    assert right - left == pytest.approx(0.4 * 25.0**2, rel=0.15)  # a triangle of this area


def test_texts_show_names_and_values(read: Read) -> None:
    text = 'Text(extent={{-100,-20},{100,20}}, textString="%name k=%k %%", textColor={0,0,255})'
    picture = icon(read, text, declared="parameter Real k = 3;")
    root = ElementTree.fromstring(svg(picture))
    assert [t.text for t in root.iter(f"{NAMESPACE}text")] == ["M k=3 %"]
    found = pixels(read, text, declared="parameter Real k = 3;")
    rows, columns = np.nonzero(found[:, :, 3] > 0.5)
    assert columns.min() == pytest.approx(212 - columns.max(), abs=4)  # in the middle
    assert columns.max() - columns.min() <= 200
    assert 80 < rows.min() < rows.max() < 130
    assert found[rows, columns][:, :3].mean(axis=0) == pytest.approx([0, 0, 1])


def test_letters_have_the_form_of_the_font() -> None:
    font = find_font(False, False)
    assert font is not None
    rings, width = font.line("o")
    assert len(rings) == 2  # outside and inside
    inked = coverage([ring * (100, -100) + (10, 90) for ring in rings], (100, 100))
    outer, inner = (r[:, 0].max() - r[:, 0].min() for r in sorted(rings, key=len, reverse=True))
    assert 0.4 < width < 0.8
    assert inner < outer or outer < inner
    assert inked[60, 35] == 0.0  # nothing inside
    assert inked.max() == 1.0
    assert font.line("oo")[1] == pytest.approx(2 * width)
    assert len(font.line("ä")[0]) > len(font.line("a")[0])  # made of others
    assert font.line("\U0010ffff")[0]  # the box of what it does not have


def test_rings_inside_rings_count_by_their_winding() -> None:
    outer = np.array([[1.0, 1.0], [9.0, 1.0], [9.0, 9.0], [1.0, 9.0]])
    inner = np.array([[3.0, 3.0], [7.0, 3.0], [7.0, 7.0], [3.0, 7.0]])
    assert coverage([outer, inner], (10, 10)).sum() == pytest.approx(64.0)
    assert coverage([outer, inner[::-1]], (10, 10)).sum() == pytest.approx(48.0)
    assert coverage([np.add(outer, [0.25, 0.0])], (10, 10))[5, 1] == pytest.approx(0.75)
    assert coverage([outer - 100.0], (10, 10)).sum() == 0.0
    assert coverage([outer * 100.0 - 500.0], (10, 10)).sum() == pytest.approx(100.0)


def test_a_bitmap_is_shown_where_it_is(read: Read) -> None:
    stream = io.BytesIO()
    Image.new("RGB", (4, 4), (200, 100, 50)).save(stream, "PNG")
    frame = icon(read, "Rectangle(extent={{-100,-100},{100,100}})")
    bitmap = Bitmap((-50.0, -20.0), 100.0, 40.0, "image/png", stream.getvalue())
    picture = Picture("", (*frame.shapes, bitmap), -106, -106, 212, 212)
    found = draw(picture, SIDE)
    assert at(found, 0, 0) == [200, 100, 50, 255]
    assert at(found, 0, 30)[3] == 0
    (image,) = ElementTree.fromstring(svg(picture)).iter(f"{NAMESPACE}image")
    assert image.get("href", "").startswith("data:image/png;base64,iVBOR")


def test_a_bitmap_that_nobody_can_read_is_left_out(read: Read) -> None:
    broken = "iVBORw0KGgoAAAAA"
    found = pixels(read, f'Bitmap(extent={{{{-50,-20}},{{50,20}}}}, imageSource="{broken}")')
    assert area(found) == 0.0
    missing = 'Bitmap(extent={{-50,-20},{50,20}}, fileName="modelica://T/Resources/gone.png")'
    assert area(pixels(read, missing)) == 0.0


def test_a_png_is_what_was_drawn(read: Read) -> None:
    picture = icon(read, f"Ellipse(extent={{{{-90,-60}},{{90,60}}}}, {SOLID})")
    drawn = draw(picture, 128)
    content = png(picture, 128)
    with Image.open(io.BytesIO(content)) as image:
        assert image.mode == "RGBA"
        decoded = np.asarray(image, float) / 255.0
    assert np.abs(decoded - drawn).max() <= 0.5 / 255 + 1e-12
    assert content == png(picture, 128)


def test_an_svg_is_well_formed_whatever_is_in_it(read: Read) -> None:
    hard = 'Text(extent={{-90,0},{90,20}}, textString="a < b & \\"c\\" ]]>")'
    root = ElementTree.fromstring(svg(icon(read, hard), None))
    assert [t.text for t in root.iter(f"{NAMESPACE}text")] == ['a < b & "c" ]]>']
    assert root.find(f"{NAMESPACE}rect") is None  # no background
