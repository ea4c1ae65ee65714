"""Outlines of letters from a TrueType font, for text in pictures of pixels.

Source: OpenType specification 1.9, tables head, hhea, hmtx, cmap (formats 4 and 12), loca, glyf.
"""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from fmident.arrays import F64

_CURVE = (0.25, 0.5, 0.75, 1.0)
"""Where a curve is replaced by lines."""


class Font:
    """A font; lengths are in units of its size.

    Parameters
    ----------
    data
        Content of the file.

    Raises
    ------
    struct.error, KeyError, IndexError
        It is not a TrueType font.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        count = self._at(">H", 4)[0]
        tables = (12 + 16 * i for i in range(count))
        self._tables = {
            data[at : at + 4].decode("latin-1"): self._at(">I", at + 8)[0] for at in tables
        }
        head = self._tables["head"]
        self._unit = float(self._at(">H", head + 18)[0])
        self._is_long = self._at(">h", head + 50)[0] == 1
        self._advances = self._at(">H", self._tables["hhea"] + 34)[0]
        self._glyphs = self._characters()
        self._outlines: dict[int, list[F64]] = {}

    def _at(self, layout: str, offset: int) -> tuple[int, ...]:
        return struct.unpack_from(layout, self._data, offset)

    def _characters(self) -> dict[int, int]:
        """Return the number of the glyph of each character."""
        cmap = self._tables["cmap"]
        subtables = [
            cmap + self._at(">HHI", cmap + 4 + 8 * i)[2] for i in range(self._at(">H", cmap + 2)[0])
        ]
        formats = {self._at(">H", offset)[0]: offset for offset in subtables}
        if 12 in formats:
            at = formats[12]
            groups = (self._at(">III", at + 16 + 12 * i) for i in range(self._at(">I", at + 12)[0]))
            return {
                first + k: glyph + k
                for first, last, glyph in groups
                for k in range(last - first + 1)
            }
        return self._segments(formats[4])

    def _segments(self, at: int) -> dict[int, int]:
        count = self._at(">H", at + 6)[0] // 2
        ends = self._at(f">{count}H", at + 14)
        starts = self._at(f">{count}H", at + 16 + 2 * count)
        deltas = self._at(f">{count}H", at + 16 + 4 * count)
        ranges = at + 16 + 6 * count
        found: dict[int, int] = {}
        for i, (first, last, delta) in enumerate(zip(starts, ends, deltas, strict=True)):
            offset = self._at(">H", ranges + 2 * i)[0]
            for code in range(first, min(last, 0xFFFE) + 1):
                glyph = code
                if offset:
                    glyph = self._at(">H", ranges + 2 * i + offset + 2 * (code - first))[0]
                found[code] = (glyph + delta) & 0xFFFF
        return found

    def line(self, text: str) -> tuple[list[F64], float]:
        """Return the rings of a line of text, x to the right and y upwards, and its width.

        Characters that the font does not have are its box.
        """
        rings: list[F64] = []
        x = 0.0
        for letter in text:
            glyph = self._glyphs.get(ord(letter), 0)
            if glyph not in self._outlines:
                self._outlines[glyph] = [ring / self._unit for ring in self._outline(glyph)]
            rings += [ring + np.array([x, 0.0]) for ring in self._outlines[glyph]]
            number = min(glyph, self._advances - 1)
            x += self._at(">H", self._tables["hmtx"] + 4 * number)[0] / self._unit
        return rings, x

    def _outline(self, glyph: int, depth: int = 0) -> list[F64]:
        loca, glyf = self._tables["loca"], self._tables["glyf"]
        if self._is_long:
            begin, end = self._at(">II", loca + 4 * glyph)
        else:
            begin, end = (2 * n for n in self._at(">HH", loca + 2 * glyph))
        if begin == end or depth > 4:
            return []
        contours = self._at(">h", glyf + begin)[0]
        at = glyf + begin + 10
        return self._simple(at, contours) if contours >= 0 else self._composite(at, depth)

    def _composite(self, at: int, depth: int) -> list[F64]:
        rings: list[F64] = []
        more = True
        while more:
            flags, glyph = self._at(">HH", at)
            words, positions = bool(flags & 1), bool(flags & 2)
            dx, dy = self._at(">hh" if words else ">bb", at + 4)
            at += 8 if words else 6
            matrix = np.eye(2)
            if flags & 8:
                matrix *= self._at(">h", at)[0] / 16384.0
                at += 2
            elif flags & 0x40:
                matrix = np.diag(np.array(self._at(">hh", at)) / 16384.0)
                at += 4
            elif flags & 0x80:
                matrix = np.array(self._at(">hhhh", at)).reshape(2, 2) / 16384.0
                at += 8
            shift = (dx, dy) if positions else (0, 0)
            rings += [ring @ matrix + shift for ring in self._outline(glyph, depth + 1)]
            more = bool(flags & 0x20)
        return rings

    def _simple(self, at: int, contours: int) -> list[F64]:
        ends = self._at(f">{contours}H", at)
        at += 2 * contours
        at += 2 + self._at(">H", at)[0]
        count = ends[-1] + 1 if ends else 0
        flags: list[int] = []
        while len(flags) < count:
            flag = self._data[at]
            at += 1
            repeats = 1
            if flag & 8:
                repeats += self._data[at]
                at += 1
            flags += [flag] * repeats
        xs, at = self._coordinates(at, flags, 2, 16)
        ys, at = self._coordinates(at, flags, 4, 32)
        points = np.column_stack([xs, ys])
        on = [bool(flag & 1) for flag in flags]
        begins = (0, *(end + 1 for end in ends[:-1]))
        return [_ring(points[b : e + 1], on[b : e + 1]) for b, e in zip(begins, ends, strict=True)]

    def _coordinates(self, at: int, flags: list[int], short: int, same: int) -> tuple[F64, int]:
        values = []
        value = 0
        for flag in flags:
            if flag & short:
                value += self._data[at] if flag & same else -self._data[at]
                at += 1
            elif not flag & same:
                value += self._at(">h", at)[0]
                at += 2
            values.append(value)
        return np.array(values, dtype=float), at


def _ring(points: F64, on: Sequence[bool]) -> F64:
    """Return a contour as lines; between two points off the curve there is one on it."""
    given = [(float(x), float(y)) for x, y in points]
    full: list[tuple[tuple[float, float], bool]] = []
    for i, (x, y) in enumerate(given):
        if not on[i] and not on[i - 1]:
            full.append((((x + given[i - 1][0]) / 2, (y + given[i - 1][1]) / 2), True))
        full.append(((x, y), on[i]))
    begin = next((i for i, (_, is_on) in enumerate(full) if is_on), 0)
    full = [*full[begin:], *full[:begin], full[begin]]
    result = [full[0][0]]
    for (control, was_on), (end, is_on) in pairwise(full):
        if is_on and was_on:
            result.append(end)
        elif is_on:
            first = result[-1]
            for t in _CURVE:
                a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
                x = a * first[0] + b * control[0] + c * end[0]
                result.append((x, a * first[1] + b * control[1] + c * end[1]))
    return np.array(result)


@cache
def find_font(is_bold: bool, is_italic: bool) -> Font | None:
    """Return a font that matplotlib brings, or ``None`` where there is none."""
    spec = importlib.util.find_spec("matplotlib")
    style = f"{'Bold' if is_bold else ''}{'Oblique' if is_italic else ''}"
    name = f"DejaVuSans{'-' if style else ''}{style}.ttf"
    for location in (spec.submodule_search_locations or []) if spec else []:
        file = Path(location) / "mpl-data" / "fonts" / "ttf" / name
        try:
            return Font(file.read_bytes())
        except (OSError, struct.error, LookupError):
            continue
    return None
