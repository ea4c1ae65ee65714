"""Results as text for a terminal: paragraphs and tables of at most its width."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from typing import Literal, TypeVar

from fmident.report.sections import Block, Section, Summary, Table, Text
from fmident.words import wrap

Alignment = Literal["<", ">"]

WIDTH = 92
"""Columns of a text whose terminal is not known."""

_NARROWEST, _WIDEST = 60, 120
_LEAST_WRAPPED = 9


def result_text(summary: Summary, sections: Sequence[Section], width: int = WIDTH) -> str:
    """Return verdict, tables and notes for a terminal of `width` columns; no trailing newline.

    Tables that are wider are wrapped, or lose columns that can be spared.
    """
    width = min(max(width, _NARROWEST), _WIDEST)
    blocks = [
        "\n".join([wrap(summary.headline, width), *_bullets(summary.reasons, width)]),
        sections_text(sections, width),
        "\n".join(_bullets(summary.more, width)),
        "\n".join(wrap(f"note: {note}", width) for note in summary.notes),
        wrap(summary.effort, width),
    ]
    return "\n\n".join(block for block in blocks if block)


def _bullets(texts: Sequence[str], width: int) -> list[str]:
    return [wrap(text, width, "  - ") for text in texts]


def sections_text(sections: Sequence[Section], width: int) -> str:
    """Return tables and texts that are not in small print, without the titles of sections."""
    text = ""
    for section in sections:
        for number, block in enumerate(section.blocks):
            if shown := _block_text(block, width):
                apart = isinstance(block, Table) or not number
                text += ("\n\n" if apart else "\n") + shown
    return text.strip("\n")


def _block_text(block: Block, width: int) -> str:
    if isinstance(block, Text):
        return "" if block.about else wrap(block.text, width)
    if not isinstance(block, Table):
        return ""
    shown = [k for k, title in enumerate(block.header) if title not in block.page_only]
    if not (shown and block.rows):
        return ""
    header, *rows = ([str(row[k]) for k in shown] for row in (block.header, *block.rows))
    align = ["<>"[block.right[k]] for k in shown]
    return narrow_table(header, rows, align, width, [t for t in block.spare if t in header])


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], align: Sequence[str] | None = None
) -> str:
    """Return a text table with a rule below the header.

    `align` has ``"<"`` or ``">"`` per column; all are left-aligned by default.
    """
    align = align or ["<"] * len(header)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (f"{c:{a}{w}}" for c, a, w in zip(cells, align, widths, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), line(["-" * w for w in widths]), *map(line, rows)])


def narrow_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: Sequence[str],
    width: int,
    spare: Sequence[str] = (),
) -> str:
    """Return a text table that fits a width as far as possible.

    Columns with titles in `spare` are dropped one by one if wrapping the cells of the last
    column is not enough. If there are none, the cells of all left-aligned columns are
    wrapped.
    """
    excess = max(map(len, table(header, rows, align).splitlines())) - width
    cells = [row[-1] for row in [header, *rows]]
    room = max(map(len, cells)) - excess
    least = max((len(word) for cell in cells for word in cell.split()), default=0)
    if excess > 0 and room < max(least, _LEAST_WRAPPED) and spare:
        k = list(header).index(spare[0])
        shorter = [_without(row, k) for row in rows]
        return narrow_table(_without(header, k), shorter, _without(align, k), width, spare[1:])
    if excess > 0:
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        if room >= max(least, _LEAST_WRAPPED):
            widths[-1] = room
        else:
            _shrink(widths, [header, *rows], align, excess)
        rows = [line for row in rows for line in _wrapped(row, widths)]
    return table(header, rows, align)


def _shrink(
    widths: list[int], rows: Sequence[Sequence[str]], align: Sequence[str], excess: int
) -> None:
    """Narrow the widest text columns as far as their words allow."""
    words = ([cell.split() or [""] for cell in column] for column in zip(*rows, strict=True))
    longest = [max(len(word) for cell in column for word in cell) for column in words]
    least = [
        max(word, _LEAST_WRAPPED) if side == "<" else width
        for word, side, width in zip(longest, align, widths, strict=True)
    ]
    for _ in range(excess):
        column = max(range(len(widths)), key=lambda i: widths[i] if widths[i] > least[i] else 0)
        if widths[column] <= least[column]:
            return
        widths[column] -= 1


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    cells = [
        textwrap.wrap(cell, width, break_on_hyphens=False) or [""] if len(cell) > width else [cell]
        for cell, width in zip(row, widths, strict=True)
    ]
    return [list(line) for line in itertools.zip_longest(*cells, fillvalue="")]


_Item = TypeVar("_Item")


def _without(items: Sequence[_Item], k: int) -> list[_Item]:
    return [*items[:k], *items[k + 1 :]]
