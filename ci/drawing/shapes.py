"""Shapes of a picture, in pixels from the upper left to the lower right, as SVG has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Stroke:
    """A line.

    Parameters
    ----------
    color
        As ``#rrggbb`` or ``#rgb``.
    width
        In pixels; ``None`` for a pixel.
    dash
        Lengths of dashes and gaps in turns, in pixels; empty for a solid line.
    """

    color: str
    width: float | None
    dash: tuple[float, ...] = ()


@dataclass(frozen=True)
class Gradient:
    """A filling whose colour goes from `line` over `fill` to `line`; of a sphere from the centre.

    ``"down"`` changes from top to bottom, ``"across"`` from left to right.
    """

    kind: Literal["down", "across", "sphere"]
    pattern: str
    line: str
    fill: str


@dataclass(frozen=True)
class Hatching:
    """Lines on a colour; `pattern` is a ``FillPattern`` of Modelica such as ``Forward``."""

    pattern: str
    line: str
    fill: str


Paint: TypeAlias = str | Gradient | Hatching | None
"""What fills a shape: a colour, a pattern, or nothing."""


@dataclass(frozen=True)
class Outline:
    """Lines and quadratic curves.

    Parameters
    ----------
    start
        The first point.
    steps
        Where each leads to: one point for a line, the control point and the end for a curve.
    closed
        Whether a line leads back to `start`.
    paint, stroke
        ``None`` for nothing.
    """

    start: Point
    steps: tuple[tuple[Point, ...], ...]
    closed: bool
    paint: Paint
    stroke: Stroke | None


@dataclass(frozen=True)
class Box:
    """A rectangle with round corners."""

    corner: Point
    width: float
    height: float
    radius: float
    paint: Paint
    stroke: Stroke | None


@dataclass(frozen=True)
class Oval:
    """An ellipse with its half axes, turned by `turn` degrees."""

    centre: Point
    half_axes: Point
    turn: float
    paint: Paint
    stroke: Stroke | None


@dataclass(frozen=True)
class Label:
    """A line of text; `place` is on its base line, at its left, middle or right.

    Parameters
    ----------
    size
        Of the font, in pixels.
    width
        That the text is meant to have, in pixels.
    pivot
        Point about which it is turned upright (a quarter, to the left); ``None`` if it is level.
    """

    text: str
    place: Point
    size: float
    anchor: Literal["start", "middle", "end"]
    color: str
    is_bold: bool
    is_italic: bool
    width: float
    pivot: Point | None = None


@dataclass(frozen=True)
class Bitmap:
    """A picture of pixels in a rectangle; `kind` is its type such as ``image/png``."""

    corner: Point
    width: float
    height: float
    kind: str
    content: bytes


Shape: TypeAlias = Outline | Box | Oval | Label | Bitmap


@dataclass(frozen=True)
class Picture:
    """Shapes, each over those before it, in a box.

    Parameters
    ----------
    title
        For SVG.
    left, top, width, height
        The box in pixels.
    scale
        Pixels for a unit of the class's coordinate system, whose origin is that of the pixels.
    """

    title: str
    shapes: tuple[Shape, ...]
    left: float
    top: float
    width: float
    height: float
    scale: float = 1.0

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Lower left and upper right corner in the class's coordinates."""
        right, bottom = self.left + self.width, self.top + self.height
        s = self.scale
        return (self.left / s, -bottom / s, right / s, -self.top / s)
