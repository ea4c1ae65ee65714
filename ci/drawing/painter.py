"""Icon and diagram annotations as pictures (Modelica Language Specification 3.4, section 18.6)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

from drawing.classes import (
    Libraries,
    Numbers,
    Placed,
    Values,
    evaluate,
    extent,
    graphics,
    is_shown,
    numbers,
    part,
)
from drawing.shapes import (
    Bitmap,
    Box,
    Gradient,
    Hatching,
    Label,
    Outline,
    Oval,
    Paint,
    Picture,
    Point,
    Shape,
    Stroke,
)
from drawing.tree import (
    Call,
    Class,
    Component,
    Expression,
    Items,
    Ref,
)

Steps: TypeAlias = tuple[tuple[Point, ...], ...]
Anchor: TypeAlias = Literal["start", "middle", "end"]
Images: TypeAlias = Callable[[str], tuple[str, bytes] | None]
"""Type and content of the picture at an address."""

MARGIN = 6.0
MOST_NESTED = 2
"""Icons that are drawn inside each other."""
THICKNESS = 4.0  # pixels of a picture for a thickness of one, a line of which has 0.25
WIDTHS = {
    **dict.fromkeys("MWmw@%", 0.95),
    **dict.fromkeys("ABCDEGHKNOQRUVXYZ=+<>", 0.75),
    **dict.fromkeys("il.,:;'|!IjJ", 0.33),
    **dict.fromkeys("ftr()[]{} -/*", 0.42),
}
"""Of letters, over the size of the font; others have 0.62."""
DASHES: Mapping[str, tuple[float, ...]] = {
    "Dash": (6, 3),
    "Dot": (1.5, 2.5),
    "DashDot": (6, 3, 1.5, 3),
    "DashDotDot": (6, 3, 1.5, 3, 1.5, 3),
}
ANCHORS: Mapping[str, Anchor] = {"Left": "start", "Right": "end"}
GRADIENTS = ("HorizontalCylinder", "VerticalCylinder", "Sphere")


@dataclass(frozen=True)
class Matrix:
    """``x' = a*x + c*y + e``, ``y' = b*x + d*y + f``."""

    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    d: float = 1.0
    e: float = 0.0
    f: float = 0.0

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Map a point."""
        return self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f

    @property
    def scale(self) -> float:
        """Length of a picture over that in the coordinates of the source, in the mean."""
        return math.sqrt(abs(self.a * self.d - self.b * self.c))

    def after(self, first: Matrix) -> Matrix:
        """Return this matrix applied to what `first` gives."""
        e, f = self.point(first.e, first.f)
        return Matrix(
            self.a * first.a + self.c * first.b,
            self.b * first.a + self.d * first.b,
            self.a * first.c + self.c * first.d,
            self.b * first.c + self.d * first.d,
            e,
            f,
        )


def turned(degrees: float, origin: Numbers) -> Matrix:
    """Rotation about zero, then a shift to `origin`."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return Matrix(c, s, -s, c, origin[0], origin[1])


def placement(component: Component, layer: str, box: Numbers, values: Values) -> Matrix | None:
    """Matrix from the icon of a component to the layer it is in; None without a Placement."""
    placed = part(component.annotation, "Placement")
    shape = part(placed, "transformation")
    if layer == "Icon" and part(placed, "iconTransformation") is not None:
        shape = part(placed, "iconTransformation")
    visible = part(placed, "iconVisible" if layer == "Icon" else "visible")
    if shape is None or (visible is not None and evaluate(visible, values) is False):
        return None
    x1, y1, x2, y2 = numbers(part(shape, "extent") or Items((-10.0, -10.0, 10.0, 10.0)), values)
    kx, ky = (x2 - x1) / (box[2] - box[0]), (y2 - y1) / (box[3] - box[1])
    inner = Matrix(kx, 0, 0, ky, x1 - kx * box[0], y1 - ky * box[1])
    origin = part(shape, "origin")
    (angle,) = numbers(part(shape, "rotation") or 0.0, values)
    return turned(angle, numbers(origin, values) if origin else (0.0, 0.0)).after(inner)


@dataclass
class Canvas:
    """Shapes of a picture and the box around them."""

    shapes: list[Shape] = field(default_factory=list)
    xs: list[float] = field(default_factory=list)
    ys: list[float] = field(default_factory=list)

    def mark(self, *points: Point) -> None:
        """Let points lie inside the picture."""
        self.xs += [p[0] for p in points]
        self.ys += [p[1] for p in points]

    def picture(self, title: str, scale: float, margin: float = MARGIN) -> Picture:
        """Return the picture."""
        left, top = min(self.xs) - margin, min(self.ys) - margin
        width, height = max(self.xs) + margin - left, max(self.ys) + margin - top
        return Picture(title, tuple(self.shapes), left, top, width, height, scale)


def color(value: Expression | None, default: str) -> str:
    """Write a colour, or the default."""
    found = numbers(value) if value is not None else ()
    if len(found) != 3:
        return default
    return "#" + "".join(f"{min(max(round(v), 0), 255):02x}" for v in found)


def short(value: Expression | None) -> str:
    """``Solid`` of ``FillPattern.Solid``."""
    return value.name.rpartition(".")[2] if isinstance(value, Ref) else ""


class Painter:
    """Draws classes of some libraries.

    Parameters
    ----------
    libraries
        Where classes are looked for.
    images
        Gives the files of bitmaps; without it they are left out.
    """

    def __init__(self, libraries: Libraries, images: Images = lambda _: None) -> None:
        self.libraries = libraries
        self.images = images

    def icon(self, it: Class, scale: float = 1.0, *, connectors: bool = True) -> Picture | None:
        """Picture of the icon, with its connectors or without; None where there is none."""
        canvas = Canvas()
        values = self.libraries.values(it)
        depth = 0 if connectors else MOST_NESTED
        self._icon(canvas, it, Matrix(scale, 0, 0, -scale), it.name, values, depth)
        if not canvas.shapes:
            return None
        x1, y1, x2, y2 = extent(self.libraries, it, "Icon")
        canvas.mark((scale * x1, -scale * y1), (scale * x2, -scale * y2))
        return canvas.picture(f"Icon of {it.full_name}", scale)

    def connector(self, it: Class, placed: Placed, scale: float = 1.0) -> Picture | None:
        """Picture of a connector in the icon of a class; None where it is not shown."""
        canvas = Canvas()
        view = Matrix(scale, 0, 0, -scale)
        self._component(canvas, placed, view, "Icon", self.libraries.values(it), 0)
        name = f"{it.full_name}.{placed.component.name}"
        return canvas.picture(f"Icon of {name}", scale, 1.0) if canvas.shapes else None

    def diagram(self, it: Class, scale: float = 2.5) -> Picture | None:
        """Picture of the diagram; None where it is blank."""
        canvas = Canvas()
        view = Matrix(scale, 0, 0, -scale)
        values = self.libraries.values(it)
        for owner in self.libraries.lineage(it):
            for item in graphics(owner, "Diagram"):
                self._item(canvas, item, view, it.name, values)
        for connection in self.libraries.connections(it):
            line = part(connection.annotation, "Line")
            if isinstance(line, Call):
                self._item(canvas, line, view, "", values)
        self._components(canvas, it, view, "Diagram", values)
        return canvas.picture(f"Diagram of {it.full_name}", scale) if canvas.shapes else None

    def _icon(
        self, canvas: Canvas, it: Class, matrix: Matrix, name: str, values: Values, depth: int = 0
    ) -> None:
        for owner in self.libraries.lineage(it):
            for item in graphics(owner, "Icon"):
                self._item(canvas, item, matrix, name, values)
        if not self.libraries.is_connector(it) and depth < MOST_NESTED:
            self._components(canvas, it, matrix, "Icon", values, depth)

    def _components(
        self, canvas: Canvas, it: Class, view: Matrix, layer: str, values: Values, depth: int = 0
    ) -> None:
        for placed in self.libraries.components(it):
            self._component(canvas, placed, view, layer, values, depth)

    def _component(
        self,
        canvas: Canvas,
        placed: Placed,
        view: Matrix,
        layer: str,
        values: Values,
        depth: int,
    ) -> None:
        component, kind = placed.component, placed.kind
        is_connector = self.libraries.is_connector(kind)
        if layer == "Icon" and not (is_connector and component.public):
            return
        if not is_shown(component, values):
            return
        box = extent(self.libraries, kind, "Icon") if kind else (-100.0, -100.0, 100.0, 100.0)
        inner = placement(component, layer, box, values)
        if inner is None:
            return
        matrix = view.after(inner)
        if kind is None:
            self._box(canvas, matrix, component)
            return
        own = self.libraries.values(kind, component.modification)
        if is_connector and layer == "Diagram":
            self._connector(canvas, kind, matrix, component.name, own)
        else:
            self._icon(canvas, kind, matrix, component.name, own, depth + 1)

    def _connector(
        self, canvas: Canvas, kind: Class, matrix: Matrix, name: str, values: Values
    ) -> None:
        """Draw a connector of the class itself: its diagram layer, which shows the name."""
        found = [i for owner in self.libraries.lineage(kind) for i in graphics(owner, "Diagram")]
        for item in found or [i for o in self.libraries.lineage(kind) for i in graphics(o, "Icon")]:
            self._item(canvas, item, matrix, name, values)

    def _box(self, canvas: Canvas, matrix: Matrix, component: Component) -> None:
        """Draw a frame in place of a component whose library is not at hand."""
        frame = Items((Items((-100.0, -100.0)), Items((100.0, 100.0))))
        grey = Items((160.0, 160.0, 160.0))
        rectangle = Call("Rectangle", (), {"extent": frame, "lineColor": grey})
        label = Call("Text", (), {"extent": frame, "textString": component.name})
        for item in (rectangle, label):
            self._item(canvas, item, matrix, component.name, Values())

    # ------------------------------------------------------------------ items
    def _item(self, canvas: Canvas, item: Call, view: Matrix, name: str, values: Values) -> None:
        visible = part(item, "visible")
        if visible is not None and evaluate(visible, values) is not True:
            return
        origin = part(item, "origin")
        (angle,) = numbers(part(item, "rotation") or 0.0, values)
        matrix = view.after(turned(angle, numbers(origin, values) if origin else (0.0, 0.0)))
        if item.name in ("Line", "Polygon"):
            self._path(canvas, item, matrix, values)
        elif item.name == "Rectangle":
            self._rectangle(canvas, item, matrix, values)
        elif item.name == "Ellipse":
            self._ellipse(canvas, item, matrix, values)
        elif item.name == "Text":
            self._text(canvas, item, matrix, name, values)
        elif item.name == "Bitmap":
            self._bitmap(canvas, item, matrix, values)

    def _path(self, canvas: Canvas, item: Call, matrix: Matrix, values: Values) -> None:
        flat = numbers(part(item, "points"), values)
        points = [matrix.point(*p) for p in zip(flat[::2], flat[1::2], strict=True)]
        if len(points) < 2:
            return
        closed = item.name == "Polygon"
        canvas.mark(*points)
        steps: Steps = tuple((p,) for p in points[1:])
        if short(part(item, "smooth")) == "Bezier" and len(points) > 2:
            steps = bezier(points, closed)
        if closed:
            paint, outline = self._style(item, points)
            canvas.shapes.append(Outline(points[0], steps, True, paint, outline))
            return
        ink = color(part(item, "color"), "#000")
        canvas.shapes.append(Outline(points[0], steps, False, None, self._stroke(item, ink)))
        arrows = part(item, "arrow")
        if isinstance(arrows, Items):
            for kind, tip, tail in (
                (short(arrows.items[0]), points[0], points[1]),
                (short(arrows.items[1]), points[-1], points[-2]),
            ):
                if kind not in ("", "None"):
                    head = arrow(item, tip, tail, ink, kind, min(1.0, matrix.scale))
                    canvas.shapes.append(head)

    def _rectangle(self, canvas: Canvas, item: Call, matrix: Matrix, values: Values) -> None:
        x1, y1, x2, y2 = numbers(part(item, "extent"), values)
        points = [matrix.point(x, y) for x, y in ((x1, y1), (x2, y1), (x2, y2), (x1, y2))]
        canvas.mark(*points)
        paint, stroke = self._style(item, points)
        (radius,) = numbers(part(item, "radius") or 0.0)
        if radius:
            xs, ys = [p[0] for p in points], [p[1] for p in points]
            r = radius * math.hypot(matrix.a, matrix.b)
            size = (max(xs) - min(xs), max(ys) - min(ys))
            canvas.shapes.append(Box((min(xs), min(ys)), *size, r, paint, stroke))
            return
        steps = tuple((p,) for p in points[1:])
        canvas.shapes.append(Outline(points[0], steps, True, paint, stroke))

    def _ellipse(self, canvas: Canvas, item: Call, matrix: Matrix, values: Values) -> None:
        x1, y1, x2, y2 = numbers(part(item, "extent"), values)
        begin = numbers(part(item, "startAngle") or 0.0, values)[0]
        end = numbers(part(item, "endAngle") or 360.0, values)[0]
        cx, cy, rx, ry = (x1 + x2) / 2, (y1 + y2) / 2, abs(x2 - x1) / 2, abs(y2 - y1) / 2
        corners = [matrix.point(x, y) for x, y in ((x1, y1), (x2, y1), (x2, y2), (x1, y2))]
        canvas.mark(*corners)
        paint, stroke = self._style(item, corners)
        if abs(end - begin) >= 360:
            a, b = rx * math.hypot(matrix.a, matrix.b), ry * math.hypot(matrix.c, matrix.d)
            turn = math.degrees(math.atan2(matrix.b, matrix.a))
            canvas.shapes.append(Oval(matrix.point(cx, cy), (a, b), turn, paint, stroke))
            return
        steps = max(8, int(abs(end - begin) / 5))
        angles = [math.radians(begin + (end - begin) * k / steps) for k in range(steps + 1)]
        points = [matrix.point(cx + rx * math.cos(a), cy + ry * math.sin(a)) for a in angles]
        filled = short(part(item, "fillPattern")) not in ("", "None")
        closure = short(part(item, "closure")) or ("Radial" if filled else "None")
        if closure == "Radial":
            points.append(matrix.point(cx, cy))
        lines = tuple((p,) for p in points[1:])
        canvas.shapes.append(Outline(points[0], lines, closure != "None", paint, stroke))

    def _text(self, canvas: Canvas, item: Call, matrix: Matrix, name: str, values: Values) -> None:
        shown = part(item, "textString")
        shown = part(item, "string") if shown is None else evaluate(shown, values)
        if not isinstance(shown, str):
            return
        text = substitute(shown, name, values)
        if not text.strip():
            return
        x1, y1, x2, y2 = numbers(part(item, "extent"), values)
        flat = [matrix.point(x, y) for x, y in ((x1, y1), (x2, y1), (x2, y2), (x1, y2))]
        width, height = math.dist(flat[0], flat[1]), math.dist(flat[1], flat[2])
        lines = text.split("\n")
        size = numbers(part(item, "fontSize") or 0.0, values)[0] * 1.25
        if not size:
            widest = max(map(width_of, lines))
            size = min(height / (1.15 * len(lines)), width / widest if width else height)
        if size < 0.5:
            return
        cx, cy = sum(p[0] for p in flat) / 4, sum(p[1] for p in flat) / 4
        align = short(part(item, "horizontalAlignment"))
        anchor: Anchor = ANCHORS.get(align, "middle")
        if align in ("Left", "Right"):
            xs = [p[0] for p in flat]
            cx = min(xs) if align == "Left" else max(xs)
        widest_line = max(map(width_of, lines)) * size
        shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * widest_line
        upright = abs(matrix.a) < 1e-6 < abs(matrix.b)
        if upright:
            canvas.mark(
                (cx - size / 2, cy - widest_line / 2), (cx + size / 2, cy + widest_line / 2)
            )
        else:
            canvas.mark((cx - shift, cy - size / 2), (cx - shift + widest_line, cy + size / 2))
        ink = part(item, "textColor")
        fill = color(ink if ink is not None else part(item, "lineColor"), "#000")
        styles = part(item, "textStyle")
        names = [short(s) for s in styles.items] if isinstance(styles, Items) else []
        for k, line in enumerate(lines):
            y = cy + size * (0.35 + 1.15 * (k - (len(lines) - 1) / 2))
            canvas.shapes.append(
                Label(
                    line,
                    (cx, y),
                    size,
                    anchor,
                    fill,
                    "Bold" in names,
                    "Italic" in names,
                    width_of(line) * size,
                    (cx, cy) if upright else None,
                )
            )

    def _bitmap(self, canvas: Canvas, item: Call, matrix: Matrix, values: Values) -> None:
        source, file = part(item, "imageSource"), part(item, "fileName")
        address = f"base64:{source}" if isinstance(source, str) and source else file
        found = self.images(address) if isinstance(address, str) else None
        if found is None:
            return
        x1, y1, x2, y2 = numbers(part(item, "extent"), values)
        corners = [matrix.point(x1, y1), matrix.point(x2, y2)]
        canvas.mark(*corners)
        (ax, ay), (bx, by) = corners
        corner = (min(ax, bx), min(ay, by))
        canvas.shapes.append(Bitmap(corner, abs(bx - ax), abs(by - ay), *found))

    # ----------------------------------------------------------------- styles
    def _stroke(self, item: Call, ink: str) -> Stroke | None:
        (thickness,) = numbers(part(item, "thickness") or part(item, "lineThickness") or 0.25)
        pattern = short(part(item, "pattern"))
        if pattern == "None":
            return None
        return Stroke(ink, max(0.6, thickness * THICKNESS), DASHES.get(pattern, ()))

    def _style(self, item: Call, points: Sequence[Point]) -> tuple[Paint, Stroke | None]:
        line = color(part(item, "lineColor"), "#000")
        fill = color(part(item, "fillColor"), "#000")
        return filling(short(part(item, "fillPattern")), line, fill, points), self._stroke(
            item, line
        )


def filling(pattern: str, line: str, fill: str, points: Sequence[Point]) -> Paint:
    """Return what a ``FillPattern`` means in an area whose first two corners are given."""
    if pattern in ("", "None"):
        return None
    if pattern == "Solid":
        return fill
    if pattern == "Sphere":
        return Gradient("sphere", pattern, line, fill)
    if pattern in GRADIENTS:
        upright = abs(points[1][0] - points[0][0]) < abs(points[1][1] - points[0][1])
        down = (pattern == "HorizontalCylinder") != upright
        return Gradient("down" if down else "across", pattern, line, fill)
    return Hatching(pattern, line, fill)


def width_of(text: str) -> float:
    """Width of a line over the size of the font, for the wide ones of the sans-serif fonts."""
    return sum(WIDTHS.get(letter, 0.62) for letter in text)


def bezier(points: Sequence[Point], closed: bool) -> Steps:
    """Quadratic curves through the middles between the points."""
    chain = [*points, points[1]] if closed and points[0] == points[-1] else points
    middles = [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in pairwise(chain)]
    curves = zip(chain[1:], middles[1:], strict=False)
    return ((middles[0],), *curves, *(() if closed else ((points[-1],),)))


def arrow(
    item: Call,
    tip: Point,
    tail: Point,
    ink: str,
    kind: str,
    scale: float,
) -> Outline:
    """Head of an arrow; its size is ``arrowSize``, by default 3, less in small icons."""
    (size,) = numbers(part(item, "arrowSize") or 3.0)
    length = 2.5 * size * scale
    norm = math.dist(tip, tail) or 1.0
    ux, uy = (tip[0] - tail[0]) / norm, (tip[1] - tail[1]) / norm
    left = (tip[0] - length * ux - 0.4 * length * uy, tip[1] - length * uy + 0.4 * length * ux)
    right = (tip[0] - length * ux + 0.4 * length * uy, tip[1] - length * uy - 0.4 * length * ux)
    is_filled = kind == "Filled"
    paint = ink if is_filled else None
    return Outline(left, ((tip,), (right,)), is_filled, paint, Stroke(ink, None))


def substitute(text: str, name: str, values: Values) -> str:
    """``%name`` and ``%parameter`` replaced by what they mean."""

    def meaning(match: re.Match[str]) -> str:
        key = match[1] or match[2]
        if key in ("name", "class"):
            return name
        return values.shown.get(key, key)

    return re.sub(r"%(?:\{(\w+)\}|(\w+))", meaning, text).replace("%%", "%")
