"""Icon and diagram annotations as SVG (Modelica Language Specification 3.4, section 18.6)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import pairwise
from xml.sax.saxutils import escape

from pictures.classes import (
    Libraries,
    Numbers,
    Values,
    evaluate,
    extent,
    graphics,
    is_shown,
    numbers,
    part,
)
from pictures.tree import Call, Class, Component, Expression, Items, Ref

MARGIN = 6.0
THICKNESS = 4.0  # pixels of a picture for a thickness of one, a line of which has 0.25
HATCHES = {
    "Horizontal": ((0, 4, 8, 4),),
    "Vertical": ((4, 0, 4, 8),),
    "Forward": ((0, 8, 8, 0),),
    "Backward": ((0, 0, 8, 8),),
    "Cross": ((0, 4, 8, 4), (4, 0, 4, 8)),
    "CrossDiag": ((0, 8, 8, 0), (0, 0, 8, 8)),
}
WIDTHS = {
    **dict.fromkeys("MWmw@%", 0.95),
    **dict.fromkeys("ABCDEGHKNOQRUVXYZ=+<>", 0.75),
    **dict.fromkeys("il.,:;'|!IjJ", 0.33),
    **dict.fromkeys("ftr()[]{} -/*", 0.42),
}
"""Of letters, over the size of the font; others have 0.62."""
DASHES = {"Dash": "6 3", "Dot": "1.5 2.5", "DashDot": "6 3 1.5 3", "DashDotDot": "6 3 1.5 3 1.5 3"}


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
    """Elements of an SVG picture and the box around them."""

    elements: list[str] = field(default_factory=list)
    definitions: dict[str, str] = field(default_factory=dict)
    xs: list[float] = field(default_factory=list)
    ys: list[float] = field(default_factory=list)

    def mark(self, *points: tuple[float, float]) -> None:
        """Let points lie inside the picture."""
        self.xs += [p[0] for p in points]
        self.ys += [p[1] for p in points]

    def svg(self, title: str) -> str:
        """Return the picture as text."""
        left, top = min(self.xs) - MARGIN, min(self.ys) - MARGIN
        width, height = max(self.xs) + MARGIN - left, max(self.ys) + MARGIN - top
        box = " ".join(number(v) for v in (left, top, width, height))
        defs = "".join(self.definitions[k] for k in sorted(self.definitions))
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" '
            f'width="{number(width)}" height="{number(height)}" '
            'font-family="Arial, Helvetica, sans-serif">',
            f"<title>{escape(title)}</title>",
            *([f"<defs>{defs}</defs>"] if defs else []),
            f'<rect x="{number(left)}" y="{number(top)}" width="{number(width)}" '
            f'height="{number(height)}" fill="#fff"/>',
            *self.elements,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Write a coordinate."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def color(value: Expression | None, default: str) -> str:
    """Write a colour, or the default."""
    found = numbers(value) if value is not None else ()
    return "#" + "".join(f"{round(v):02x}" for v in found) if len(found) == 3 else default


def short(value: Expression | None) -> str:
    """``Solid`` of ``FillPattern.Solid``."""
    return value.name.rpartition(".")[2] if isinstance(value, Ref) else ""


class Painter:
    """Draws classes of some libraries."""

    def __init__(self, libraries: Libraries) -> None:
        self.libraries = libraries

    def icon(self, it: Class, scale: float = 1.0) -> str | None:
        """Picture of the icon with its connectors; None where there is none."""
        canvas = Canvas()
        values = self.libraries.values(it)
        self._icon(canvas, it, Matrix(scale, 0, 0, -scale), it.name, values)
        if not canvas.elements:
            return None
        x1, y1, x2, y2 = extent(self.libraries, it, "Icon")
        canvas.mark((scale * x1, -scale * y1), (scale * x2, -scale * y2))
        return canvas.svg(f"Icon of {it.full_name}")

    def diagram(self, it: Class, scale: float = 2.5) -> str | None:
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
        return canvas.svg(f"Diagram of {it.full_name}") if canvas.elements else None

    def _icon(
        self, canvas: Canvas, it: Class, matrix: Matrix, name: str, values: Values, depth: int = 0
    ) -> None:
        for owner in self.libraries.lineage(it):
            for item in graphics(owner, "Icon"):
                self._item(canvas, item, matrix, name, values)
        if not self.libraries.is_connector(it) and depth < 2:
            self._components(canvas, it, matrix, "Icon", values, depth)

    def _components(
        self, canvas: Canvas, it: Class, view: Matrix, layer: str, values: Values, depth: int = 0
    ) -> None:
        for placed in self.libraries.components(it):
            component, kind = placed.component, placed.kind
            is_connector = self.libraries.is_connector(kind)
            if layer == "Icon" and not (is_connector and component.public):
                continue
            if not is_shown(component, values):
                continue
            box = extent(self.libraries, kind, "Icon") if kind else (-100.0, -100.0, 100.0, 100.0)
            inner = placement(component, layer, box, values)
            if inner is None:
                continue
            matrix = view.after(inner)
            if kind is None:
                self._box(canvas, matrix, component)
                continue
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

    def _path(self, canvas: Canvas, item: Call, matrix: Matrix, values: Values) -> None:
        flat = numbers(part(item, "points"), values)
        points = [matrix.point(*p) for p in zip(flat[::2], flat[1::2], strict=True)]
        if len(points) < 2:
            return
        closed = item.name == "Polygon"
        canvas.mark(*points)
        if short(part(item, "smooth")) == "Bezier" and len(points) > 2:
            path = bezier(points, closed)
        else:
            path = "M" + " L".join(f"{number(x)} {number(y)}" for x, y in points)
        if closed:
            style = self._style(canvas, item, points)
            canvas.elements.append(f'<path d="{path} Z" {style}/>')
            return
        stroke = color(part(item, "color"), "#000")
        canvas.elements.append(f'<path d="{path}" fill="none" {self._stroke(item, stroke)}/>')
        arrows = part(item, "arrow")
        if isinstance(arrows, Items):
            for kind, tip, tail in (
                (short(arrows.items[0]), points[0], points[1]),
                (short(arrows.items[1]), points[-1], points[-2]),
            ):
                if kind not in ("", "None"):
                    head = arrow(item, tip, tail, stroke, kind, min(1.0, matrix.scale))
                    canvas.elements.append(head)

    def _rectangle(self, canvas: Canvas, item: Call, matrix: Matrix, values: Values) -> None:
        x1, y1, x2, y2 = numbers(part(item, "extent"), values)
        points = [matrix.point(x, y) for x, y in ((x1, y1), (x2, y1), (x2, y2), (x1, y2))]
        canvas.mark(*points)
        style = self._style(canvas, item, points)
        (radius,) = numbers(part(item, "radius") or 0.0)
        if radius:
            xs, ys = [p[0] for p in points], [p[1] for p in points]
            r = radius * math.hypot(matrix.a, matrix.b)
            canvas.elements.append(
                f'<rect x="{number(min(xs))}" y="{number(min(ys))}" rx="{number(r)}" '
                f'width="{number(max(xs) - min(xs))}" '
                f'height="{number(max(ys) - min(ys))}" {style}/>'
            )
            return
        path = "M" + " L".join(f"{number(x)} {number(y)}" for x, y in points) + " Z"
        canvas.elements.append(f'<path d="{path}" {style}/>')

    def _ellipse(self, canvas: Canvas, item: Call, matrix: Matrix, values: Values) -> None:
        x1, y1, x2, y2 = numbers(part(item, "extent"), values)
        begin = numbers(part(item, "startAngle") or 0.0, values)[0]
        end = numbers(part(item, "endAngle") or 360.0, values)[0]
        cx, cy, rx, ry = (x1 + x2) / 2, (y1 + y2) / 2, abs(x2 - x1) / 2, abs(y2 - y1) / 2
        corners = [matrix.point(x, y) for x, y in ((x1, y1), (x2, y1), (x2, y2), (x1, y2))]
        canvas.mark(*corners)
        style = self._style(canvas, item, corners)
        if abs(end - begin) >= 360:
            mx, my = matrix.point(cx, cy)
            a, b = rx * math.hypot(matrix.a, matrix.b), ry * math.hypot(matrix.c, matrix.d)
            turn = math.degrees(math.atan2(matrix.b, matrix.a))
            spin = f' transform="rotate({number(turn)} {number(mx)} {number(my)})"' if turn else ""
            canvas.elements.append(
                f'<ellipse cx="{number(mx)}" cy="{number(my)}" rx="{number(a)}" '
                f'ry="{number(b)}"{spin if abs(a - b) > 0.01 else ""} {style}/>'
            )
            return
        steps = max(8, int(abs(end - begin) / 5))
        angles = [math.radians(begin + (end - begin) * k / steps) for k in range(steps + 1)]
        points = [matrix.point(cx + rx * math.cos(a), cy + ry * math.sin(a)) for a in angles]
        filled = short(part(item, "fillPattern")) not in ("", "None")
        closure = short(part(item, "closure")) or ("Radial" if filled else "None")
        if closure == "Radial":
            points.append(matrix.point(cx, cy))
        path = "M" + " L".join(f"{number(x)} {number(y)}" for x, y in points)
        canvas.elements.append(f'<path d="{path}{"" if closure == "None" else " Z"}" {style}/>')

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
        anchor = {"Left": "start", "Right": "end"}.get(align, "middle")
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
        spin = f' transform="rotate(-90 {number(cx)} {number(cy)})"' if upright else ""
        ink = part(item, "textColor")
        fill = color(ink if ink is not None else part(item, "lineColor"), "#000")
        styles = part(item, "textStyle")
        names = [short(s) for s in styles.items] if isinstance(styles, Items) else []
        weight = ' font-weight="bold"' if "Bold" in names else ""
        weight += ' font-style="italic"' if "Italic" in names else ""
        for k, line in enumerate(lines):
            y = cy + size * (0.35 + 1.15 * (k - (len(lines) - 1) / 2))
            canvas.elements.append(
                f'<text x="{number(cx)}" y="{number(y)}" font-size="{number(size)}" '
                f'text-anchor="{anchor}" fill="{fill}"{weight}{spin}>{escape(line)}</text>'
            )

    # ----------------------------------------------------------------- styles
    def _stroke(self, item: Call, stroke: str) -> str:
        (thickness,) = numbers(part(item, "thickness") or part(item, "lineThickness") or 0.25)
        pattern = short(part(item, "pattern"))
        if pattern == "None":
            return 'stroke="none"'
        dash = f' stroke-dasharray="{DASHES[pattern]}"' if pattern in DASHES else ""
        width = number(max(0.6, thickness * THICKNESS))
        return f'stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round"{dash}'

    def _style(self, canvas: Canvas, item: Call, points: list[tuple[float, float]]) -> str:
        line = color(part(item, "lineColor"), "#000")
        fill = color(part(item, "fillColor"), "#000")
        pattern = short(part(item, "fillPattern"))
        if pattern in ("", "None"):
            paint = "none"
        elif pattern == "Solid":
            paint = fill
        else:
            paint = f"url(#{self._pattern(canvas, pattern, line, fill, points)})"
        return f'fill="{paint}" {self._stroke(item, line)}'

    def _pattern(
        self,
        canvas: Canvas,
        pattern: str,
        line: str,
        fill: str,
        points: list[tuple[float, float]],
    ) -> str:
        name = f"{pattern}-{line[1:]}-{fill[1:]}"
        stops = (
            f'<stop offset="0" stop-color="{line}"/><stop offset="0.5" stop-color="{fill}"/>'
            f'<stop offset="1" stop-color="{line}"/>'
        )
        upright = abs(points[1][0] - points[0][0]) < abs(points[1][1] - points[0][1])
        if pattern in ("HorizontalCylinder", "VerticalCylinder"):
            down = (pattern == "HorizontalCylinder") != upright
            name += "-down" if down else "-across"
            ends = 'x2="0" y2="1"' if down else 'x2="1" y2="0"'
            made = f'<linearGradient id="{name}" x1="0" y1="0" {ends}>{stops}</linearGradient>'
        elif pattern == "Sphere":
            inner = f'<stop offset="0" stop-color="{fill}"/><stop offset="1" stop-color="{line}"/>'
            made = f'<radialGradient id="{name}">{inner}</radialGradient>'
        else:
            lines = "".join(
                f'<line x1="{a}" y1="{b}" x2="{c}" y2="{d}" stroke="{line}"/>'
                for a, b, c, d in HATCHES.get(pattern, ())
            )
            made = (
                f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
                f'<rect width="8" height="8" fill="{fill}"/>{lines}</pattern>'
            )
        canvas.definitions[name] = made
        return name


def width_of(text: str) -> float:
    """Width of a line over the size of the font, for the wide ones of the sans-serif fonts."""
    return sum(WIDTHS.get(letter, 0.62) for letter in text)


def bezier(points: list[tuple[float, float]], closed: bool) -> str:
    """Quadratic curves through the middles between the points."""
    chain = [*points, points[1]] if closed and points[0] == points[-1] else points
    middles = [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in pairwise(chain)]
    path = f"M{number(points[0][0])} {number(points[0][1])}"
    path += f" L{number(middles[0][0])} {number(middles[0][1])}"
    for corner, middle in zip(chain[1:], middles[1:], strict=False):
        path += " Q" + " ".join(number(v) for v in (*corner, *middle))
    if not closed:
        path += f" L{number(points[-1][0])} {number(points[-1][1])}"
    return path


def arrow(
    item: Call,
    tip: tuple[float, float],
    tail: tuple[float, float],
    stroke: str,
    kind: str,
    scale: float,
) -> str:
    """Head of an arrow; its size is ``arrowSize``, by default 3, less in small icons."""
    (size,) = numbers(part(item, "arrowSize") or 3.0)
    length = 2.5 * size * scale
    norm = math.dist(tip, tail) or 1.0
    ux, uy = (tip[0] - tail[0]) / norm, (tip[1] - tail[1]) / norm
    left = (tip[0] - length * ux - 0.4 * length * uy, tip[1] - length * uy + 0.4 * length * ux)
    right = (tip[0] - length * ux + 0.4 * length * uy, tip[1] - length * uy - 0.4 * length * ux)
    path = "M" + " L".join(f"{number(x)} {number(y)}" for x, y in (left, tip, right))
    filled = kind == "Filled"
    fill = stroke if filled else "none"
    return f'<path d="{path}{" Z" if filled else ""}" fill="{fill}" stroke="{stroke}"/>'


def substitute(text: str, name: str, values: Values) -> str:
    """``%name`` and ``%parameter`` replaced by what they mean."""

    def meaning(match: re.Match[str]) -> str:
        key = match[1] or match[2]
        if key in ("name", "class"):
            return name
        return values.shown.get(key, key)

    return re.sub(r"%(?:\{(\w+)\}|(\w+))", meaning, text).replace("%%", "%")
