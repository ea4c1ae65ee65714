"""Pictures as SVG."""

from __future__ import annotations

import base64

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
from fmident.compilers.embedded.backend.description import content

HATCHES = {
    "Horizontal": ((0, 4, 8, 4),),
    "Vertical": ((4, 0, 4, 8),),
    "Forward": ((0, 8, 8, 0),),
    "Backward": ((0, 0, 8, 8),),
    "Cross": ((0, 4, 8, 4), (4, 0, 4, 8)),
    "CrossDiag": ((0, 8, 8, 0), (0, 0, 8, 8)),
}
"""Lines ``x1, y1, x2, y2`` of a square of 8 pixels that is repeated, by ``FillPattern``."""


def svg(picture: Picture, background: str | None = "#fff") -> str:
    """Return a picture as text.

    Parameters
    ----------
    picture
        The picture.
    background
        Colour behind it; ``None`` for a transparent one.
    """
    corner = f'x="{number(picture.left)}" y="{number(picture.top)}"'
    size = f'width="{number(picture.width)}" height="{number(picture.height)}"'
    box = (picture.left, picture.top, picture.width, picture.height)
    paints = {_name(p): p for p in map(_paint_of, picture.shapes) if p and not isinstance(p, str)}
    defs = "".join(_definition(name, paints[name]) for name in sorted(paints))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{" ".join(number(v) for v in box)}" '
        f'{size} font-family="Arial, Helvetica, sans-serif">',
        f"<title>{content(picture.title)}</title>",
        *([f"<defs>{defs}</defs>"] if defs else []),
        *([f'<rect {corner} {size} fill="{background}"/>'] if background else []),
        *(_element(shape) for shape in picture.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Write a coordinate."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _paint_of(shape: Shape) -> Paint:
    return None if isinstance(shape, Label | Bitmap) else shape.paint


def _element(shape: Shape) -> str:
    if isinstance(shape, Outline):
        path = f"M{_point(shape.start)}" + "".join(
            f" {'L' if len(step) == 1 else 'Q'}{' '.join(map(_point, step))}"
            for step in shape.steps
        )
        return f'<path d="{path}{" Z" if shape.closed else ""}" {_style(shape)}/>'
    if isinstance(shape, Box):
        x, y = shape.corner
        return (
            f'<rect x="{number(x)}" y="{number(y)}" rx="{number(shape.radius)}" '
            f'width="{number(shape.width)}" height="{number(shape.height)}" {_style(shape)}/>'
        )
    if isinstance(shape, Oval):
        (x, y), (a, b) = shape.centre, shape.half_axes
        turn = f' transform="rotate({number(shape.turn)} {number(x)} {number(y)})"'
        return (
            f'<ellipse cx="{number(x)}" cy="{number(y)}" rx="{number(a)}" ry="{number(b)}"'
            f"{turn if shape.turn and abs(a - b) > 0.01 else ''} {_style(shape)}/>"
        )
    if isinstance(shape, Bitmap):
        x, y = shape.corner
        data = f"data:{shape.kind};base64,{base64.b64encode(shape.content).decode()}"
        return (
            f'<image x="{number(x)}" y="{number(y)}" width="{number(shape.width)}" '
            f'height="{number(shape.height)}" href="{data}"/>'
        )
    return _text(shape)


def _text(label: Label) -> str:
    style = ' font-weight="bold"' if label.is_bold else ""
    style += ' font-style="italic"' if label.is_italic else ""
    if label.pivot is not None:
        x, y = label.pivot
        style += f' transform="rotate(-90 {number(x)} {number(y)})"'
    x, y = label.place
    return (
        f'<text x="{number(x)}" y="{number(y)}" font-size="{number(label.size)}" '
        f'text-anchor="{label.anchor}" fill="{label.color}"{style}>{content(label.text)}</text>'
    )


def _point(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"


def _style(shape: Outline | Box | Oval) -> str:
    paint = shape.paint
    fill = paint if isinstance(paint, str) else f"url(#{_name(paint)})" if paint else "none"
    return f'fill="{fill}" {_stroke(shape.stroke)}'


def _stroke(stroke: Stroke | None) -> str:
    if stroke is None:
        return 'stroke="none"'
    if stroke.width is None:
        return f'stroke="{stroke.color}"'
    dashes = " ".join(f"{length:g}" for length in stroke.dash)
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    width = number(stroke.width)
    return f'stroke="{stroke.color}" stroke-width="{width}" stroke-linejoin="round"{dash}'


def _name(paint: Gradient | Hatching) -> str:
    name = f"{paint.pattern}-{paint.line[1:]}-{paint.fill[1:]}"
    down = isinstance(paint, Gradient) and paint.kind != "sphere"
    return f"{name}-{paint.kind}" if isinstance(paint, Gradient) and down else name


def _definition(name: str, paint: Gradient | Hatching) -> str:
    line, fill = paint.line, paint.fill
    if isinstance(paint, Hatching):
        lines = "".join(
            f'<line x1="{a}" y1="{b}" x2="{c}" y2="{d}" stroke="{line}"/>'
            for a, b, c, d in HATCHES.get(paint.pattern, ())
        )
        return (
            f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<rect width="8" height="8" fill="{fill}"/>{lines}</pattern>'
        )
    if paint.kind == "sphere":
        inner = f'<stop offset="0" stop-color="{fill}"/><stop offset="1" stop-color="{line}"/>'
        return f'<radialGradient id="{name}">{inner}</radialGradient>'
    stops = (
        f'<stop offset="0" stop-color="{line}"/><stop offset="0.5" stop-color="{fill}"/>'
        f'<stop offset="1" stop-color="{line}"/>'
    )
    ends = 'x2="0" y2="1"' if paint.kind == "down" else 'x2="1" y2="0"'
    return f'<linearGradient id="{name}" x1="0" y1="0" {ends}>{stops}</linearGradient>'
