"""What is said beside a value."""

from __future__ import annotations

import math

from fmident.report.export.tree import Leaf
from fmident.report.export.values import ExportedValue, Exports
from fmident.report.numbers import plain


def header(exports: Exports) -> list[str]:
    """Return how the values came about, what could not be exported, and the base parameters."""
    from fmident._version import __version__

    lines = [f"Identified with fmident {__version__} ({exports.source})"]
    lines += [f"Left out: '{name}' {reason}" for name, reason in exports.left_out.items()]
    return lines + [f"Base parameter {text}" for text in base_lines(exports)]


def base_lines(exports: Exports) -> list[str]:
    """Return the base parameters with formula, value and interval, in one line each."""
    found = []
    for e in exports.base:
        low, high = e.interval_95
        said = f"{e.name} = {e.expression} = {plain(e.value, 8)} {e.unit or ''}".rstrip()
        if math.isfinite(low) and math.isfinite(high):
            said += f", standard error {plain(e.standard_error, 3)}"
            said += f", 95 % interval {plain(low, 6)} to {plain(high, 6)}"
        found.append(said)
    return found


def remark(leaf: Leaf) -> str:
    """Return unit, standard error and interval of a leaf, in one line."""
    if not leaf.shape:
        return of_value(leaf.elements[0])
    units = sorted({e.unit for e in leaf.elements if e.unit})
    parts = [
        f"[{','.join(map(str, index))}] {of_value(element, unit=False)}"
        for index, element in zip(indices(leaf), leaf.elements, strict=True)
        if element.origin != "default"
    ]
    return "; ".join([*units, *parts])


def of_value(value: ExportedValue, *, unit: bool = True) -> str:
    """Return unit, standard error and interval of one value."""
    parts = [value.unit] if unit and value.unit and value.unit != "1" else []
    if value.origin == "fixed":
        parts.append("fixed, not identified")
    if value.origin == "silent":
        parts.append("no influence on the outputs")
    if value.expression:
        parts.append(value.expression)
    if math.isfinite(value.standard_error):
        parts.append(f"standard error {plain(value.standard_error, 3)}")
    low, high = value.interval_95
    if math.isfinite(low) and math.isfinite(high):
        parts.append(f"95 % interval {plain(low, 6)} to {plain(high, 6)}")
    elif value.base:
        parts.append(f"in {', '.join(value.base)}")
    elif value.origin in ("identified", "dependent"):
        parts.append("without an interval")
    return ", ".join(parts)


def indices(leaf: Leaf) -> list[tuple[int, ...]]:
    """Return the indices of a leaf's elements, in their order."""
    found: list[tuple[int, ...]] = [()]
    for size in leaf.shape:
        found = [(*index, k) for index in found for k in range(1, size + 1)]
    return found
