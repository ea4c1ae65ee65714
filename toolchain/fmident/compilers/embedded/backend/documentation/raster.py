"""Pictures as PNG: shapes with smooth edges over a transparent background.

Edges are smooth because each pixel counts how much of it a shape covers: exactly along x, at
:data:`ROWS` heights along y. Nothing here depends on the machine; matplotlib, which could draw
this, too, takes longer to import than the rest of a build.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import cycle, pairwise

import numpy as np

from fmident.arrays import F64
from fmident.compilers.embedded.backend.documentation.svg import HATCHES
from fmident.compilers.embedded.backend.documentation.truetype import find_font
from fmident.compilers.embedded.presentation import (
    Bitmap,
    Box,
    Gradient,
    Hatching,
    Label,
    Outline,
    Oval,
    Paint,
    Picture,
    Shape,
    Stroke,
)

ROWS = 5
"""Heights inside a pixel at which it is looked at."""

MOST_LETTERS = 1000
"""Letters of a line of text; the others are left out."""

_UNREADABLE = (OSError, EOFError, LookupError, SyntaxError, ValueError, struct.error, zlib.error)
"""What Pillow raises of damaged pictures."""

MOST_DASHES = 2000
"""Dashes of one line; one with more is drawn solid."""

_CURVE = np.linspace(0.0, 1.0, 9)[1:]


def png(picture: Picture, side: int) -> bytes:
    """Return a picture as the content of a file.

    Parameters
    ----------
    picture
        The picture.
    side
        Pixels of its longer side.
    """
    return encode(draw(picture, side))


def draw(picture: Picture, side: int) -> F64:
    """Return red, green, blue and opacity of all pixels, from 0 to 1: (height, width, 4)."""
    longer = max(picture.width, picture.height, 1e-9)
    zoom = side / longer
    shape = (max(1, round(picture.height * zoom)), max(1, round(picture.width * zoom)))
    sheet = _Sheet(shape, zoom, (picture.left, picture.top))
    for one in picture.shapes:
        sheet.add(one)
    return sheet.pixels()


def encode(pixels: F64) -> bytes:
    """Return pixels as a PNG file of 8 bits (W3C Portable Network Graphics, second edition)."""
    height, width, _ = pixels.shape
    values = np.rint(np.clip(pixels, 0.0, 1.0) * 255).astype(np.uint8)
    lines = np.zeros((height, 1 + 4 * width), np.uint8)  # each begins with filter 0
    lines[:, 1:] = values.reshape(height, 4 * width)

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 6)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


def coverage(rings: Sequence[F64], shape: tuple[int, int]) -> F64:
    """Return how much of each pixel is inside closed rings, from 0 to 1.

    Inside is what the rings go round at least once (nonzero winding number).

    Parameters
    ----------
    rings
        Points ``(n, 2)`` of each, x to the right and y downwards; the last one leads to the first.
    shape
        Height and width.
    """
    height, width = shape
    begins = np.concatenate([np.asarray(ring, float) for ring in rings])
    ends = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    x0, y0 = begins[:, 0], begins[:, 1] * ROWS
    x1, y1 = ends[:, 0], ends[:, 1] * ROWS
    first = np.clip(np.ceil(np.minimum(y0, y1) - 0.5), 0, height * ROWS).astype(int)
    last = np.clip(np.ceil(np.maximum(y0, y1) - 0.5), 0, height * ROWS).astype(int)
    counts = last - first
    edge = np.repeat(np.arange(len(counts)), counts)
    if not edge.size:
        return np.zeros(shape)
    before = np.cumsum(counts) - counts
    row = first[edge] + np.arange(edge.size) - before[edge]
    slope = (x1 - x0)[edge] / (y1 - y0)[edge]
    x = np.clip(x0[edge] + (row + 0.5 - y0[edge]) * slope, 0.0, width)
    order = np.lexsort((x, row))
    winding = np.cumsum(np.where(y1 > y0, 1, -1)[edge][order])
    inside = np.flatnonzero(winding[:-1])  # the next crossing is in the same row
    row, x = row[order] // ROWS, x[order]
    change = np.zeros(height * (width + 2))
    for at, sign in ((inside, 1.0), (inside + 1, -1.0)):
        pixel = np.floor(x[at]).astype(int)
        part = x[at] - pixel
        place = row[at] * (width + 2) + pixel
        change += np.bincount(place, sign * (1.0 - part), change.size)
        change += np.bincount(place + 1, sign * part, change.size)
    return np.cumsum(change.reshape(height, width + 2), axis=1)[:, :width] / ROWS


class _Sheet:
    """Pixels, premultiplied by their opacity."""

    def __init__(self, shape: tuple[int, int], zoom: float, origin: tuple[float, float]) -> None:
        self._shape = shape
        self._zoom = zoom
        self._origin = np.array(origin)
        self._over = np.zeros((*shape, 4))

    def pixels(self) -> F64:
        """Return red, green, blue and opacity."""
        opacity = self._over[:, :, 3:]
        colors = np.divide(
            self._over[:, :, :3], opacity, out=np.ones((*self._shape, 3)), where=opacity > 0
        )
        return np.asarray(np.dstack([colors, opacity]))

    def add(self, shape: Shape) -> None:
        """Draw a shape over what is there."""
        if isinstance(shape, Label):
            self._label(shape)
        elif isinstance(shape, Bitmap):
            self._bitmap(shape)
        else:
            points = self._pixel(_points(shape))
            closed = not isinstance(shape, Outline) or shape.closed
            if shape.paint is not None:
                self._fill([points], shape.paint)
            if shape.stroke is not None:
                self._fill(list(self._lines(points, closed, shape.stroke)), shape.stroke.color)

    def _pixel(self, points: F64) -> F64:
        return np.asarray(np.round((points - self._origin) * self._zoom, 3), float)

    def _fill(self, rings: list[F64], paint: Paint) -> None:
        """Fill rings; only the pixels around them are touched."""
        if not rings:
            return
        every = np.concatenate(rings)
        low = np.maximum(np.floor(every.min(axis=0)).astype(int), 0)
        high = np.minimum(np.ceil(every.max(axis=0)).astype(int) + 1, self._shape[::-1])
        width, height = high - low
        if width <= 0 or height <= 0:
            return
        covered = coverage([ring - low for ring in rings], (int(height), int(width)))
        box = (every.min(axis=0), every.max(axis=0))
        part = self._over[low[1] : high[1], low[0] : high[0]]
        colors = self._colors(paint, part.shape[:2], low, box)
        part *= 1.0 - covered[:, :, None]
        part += covered[:, :, None] * colors

    def _colors(
        self,
        paint: Paint,
        shape: tuple[int, ...],
        low: F64,
        box: tuple[F64, F64],
    ) -> F64:
        """Return colour and opacity 1 of the pixels of an area."""
        if not isinstance(paint, Gradient | Hatching):
            return np.array([*_rgb(paint or "#000"), 1.0])
        line, fill = np.array([*_rgb(paint.line), 1.0]), np.array([*_rgb(paint.fill), 1.0])
        y, x = np.indices(shape)
        x, y = x + low[0] + 0.5, y + low[1] + 0.5
        if isinstance(paint, Hatching):
            ink = self._hatching(paint, x, y)
        else:
            size = np.maximum(box[1] - box[0], 1e-9)
            u, v = (x - box[0][0]) / size[0], (y - box[0][1]) / size[1]
            if paint.kind == "sphere":
                ink = np.clip(2.0 * np.hypot(u - 0.5, v - 0.5), 0.0, 1.0)
            else:
                ink = np.clip(np.abs(2.0 * (v if paint.kind == "down" else u) - 1.0), 0.0, 1.0)
        return np.asarray(ink[:, :, None] * line + (1.0 - ink[:, :, None]) * fill)

    def _hatching(self, paint: Hatching, x: F64, y: F64) -> F64:
        """Return how much of each pixel is on a line of the pattern."""
        u = (x / self._zoom + self._origin[0]) % 8.0
        v = (y / self._zoom + self._origin[1]) % 8.0
        ink = np.zeros_like(u)
        for x0, y0, x1, y1 in HATCHES.get(paint.pattern, ()):
            length = math.hypot(x1 - x0, y1 - y0)
            across = ((u - x0) * (y1 - y0) - (v - y0) * (x1 - x0)) / length
            period = 8.0 * (abs(y1 - y0) + abs(x1 - x0)) / length
            away = np.abs((across + period / 2) % period - period / 2)
            if x0 != x1 and y0 != y1:
                period = 8.0 / math.sqrt(2.0)
                away = np.abs((across + period / 2) % period - period / 2)
            ink = np.maximum(ink, np.clip((0.5 - away) * self._zoom + 0.5, 0.0, 1.0))
        return np.asarray(ink)

    def _lines(self, points: F64, closed: bool, stroke: Stroke) -> Iterator[F64]:
        """Yield the area of a line: each of its pieces, and its corners."""
        half = max((stroke.width or 1.0) * self._zoom, 0.7) / 2
        path = np.concatenate([points, points[:1]]) if closed else points
        paths = _dashed(path, [length * self._zoom for length in stroke.dash])
        for piece in paths:
            for begin, end in pairwise(piece):
                along = end - begin
                length = math.hypot(*along)
                if length > 0:
                    side = np.array([along[1], -along[0]]) * (half / length)
                    yield np.array([begin + side, begin - side, end - side, end + side])
            if half > 0.6:
                corners = piece if closed and len(paths) == 1 else piece[1:-1]
                yield from (_circle(corner, half) for corner in corners)

    def _label(self, label: Label) -> None:
        font = find_font(label.is_bold, label.is_italic)
        if font is None:
            return
        try:
            rings, width = font.line(label.text[:MOST_LETTERS])
        except (struct.error, LookupError):  # a font that is not as it should be
            return
        if not rings:
            return
        narrow = min(1.0, label.width / (width * label.size)) if width and label.width else 1.0
        size = np.array([label.size * narrow, -label.size])
        shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor] * width
        placed = [(ring - (shift, 0.0)) * size + label.place for ring in rings]
        if label.pivot is not None:  # a quarter turn to the left
            x, y = label.pivot
            placed = [np.column_stack([r[:, 1] - y + x, x - r[:, 0] + y]) for r in placed]
        self._fill([self._pixel(ring) for ring in placed], label.color)

    def _bitmap(self, bitmap: Bitmap) -> None:
        """Draw a bitmap, which few icons have; what Pillow cannot read is left out."""
        try:
            from PIL import Image
        except ImportError:  # it comes with matplotlib
            return
        corner = self._pixel(np.array([bitmap.corner]))[0]
        size = (round(bitmap.width * self._zoom), round(bitmap.height * self._zoom))
        if min(size) < 1:
            return
        try:
            with Image.open(io.BytesIO(bitmap.content)) as image:
                read = image.convert("RGBA").resize(size, Image.Resampling.BOX)
        except (*_UNREADABLE, Image.DecompressionBombError):
            return
        pixels = np.asarray(read, float) / 255.0
        x, y = (max(0, round(v)) for v in corner)
        part = self._over[y : y + size[1], x : x + size[0]]
        pixels = pixels[: part.shape[0], : part.shape[1]]
        part *= 1.0 - pixels[:, :, 3:]
        part[:, :, :3] += pixels[:, :, :3] * pixels[:, :, 3:]
        part[:, :, 3] += pixels[:, :, 3]


def _points(shape: Outline | Box | Oval) -> F64:
    """Return an outline as points that lines join."""
    if isinstance(shape, Outline):
        points = [np.array(shape.start)]
        for step in shape.steps:
            end = np.array(step[-1])
            if len(step) == 1:
                points.append(end)
            else:
                first, control = points[-1], np.array(step[0])
                points += [
                    (1 - t) ** 2 * first + 2 * t * (1 - t) * control + t * t * end for t in _CURVE
                ]
        return np.array(points)
    if isinstance(shape, Oval):
        (a, b), turn = shape.half_axes, math.radians(shape.turn)
        angles = np.linspace(0.0, 2 * math.pi, 65)[:-1]
        x, y = a * np.cos(angles), b * np.sin(angles)
        turned = np.column_stack(
            [x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)]
        )
        return np.asarray(turned + shape.centre)
    left, top = shape.corner
    r = min(shape.radius, shape.width / 2, shape.height / 2)
    right, bottom = left + shape.width - r, top + shape.height - r
    centres = ((right, bottom), (left + r, bottom), (left + r, top + r), (right, top + r))
    quarter = np.linspace(0.0, math.pi / 2, 9)
    return np.concatenate(
        [
            np.column_stack([np.cos(quarter + k * math.pi / 2), np.sin(quarter + k * math.pi / 2)])
            * r
            + centre
            for k, centre in enumerate(centres)
        ]
    )


def _dashed(path: F64, dash: Sequence[float]) -> list[F64]:
    """Return the dashes of a line; the line itself where it is solid."""
    lengths = np.hypot(*np.diff(path, axis=0).T)
    total, period = float(lengths.sum()), sum(dash)
    if period <= 0 or total > MOST_DASHES * period:
        return [path]
    reached = np.concatenate([[0.0], np.cumsum(lengths)])
    pieces = []
    at = 0.0
    for k, length in enumerate(cycle(dash)):
        if at >= total:
            break
        if k % 2 == 0:
            end = min(at + length, total)
            inner = path[(reached > at) & (reached < end)]
            ends = [[np.interp(s, reached, path[:, i]) for i in (0, 1)] for s in (at, end)]
            pieces.append(np.concatenate([ends[:1], inner, ends[1:]]))
        at += length
    return pieces


def _circle(centre: F64, radius: float) -> F64:
    angles = np.linspace(0.0, -2 * math.pi, 17)[:-1]
    return np.asarray(centre + radius * np.column_stack([np.cos(angles), np.sin(angles)]))


def _rgb(color: str) -> tuple[float, float, float]:
    digits = color[1:]
    if len(digits) == 3:
        digits = "".join(2 * d for d in digits)
    red, green, blue = (int(digits[i : i + 2], 16) / 255.0 for i in (0, 2, 4))
    return red, green, blue
