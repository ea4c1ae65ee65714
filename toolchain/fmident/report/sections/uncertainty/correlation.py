"""Correlation of the estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.sections.html import fragment
from fmident.report.verdict import STRONG_CORRELATION, correlated_pairs

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult


@dataclass(frozen=True)
class _Cell:
    text: str
    color: str
    strong: bool


def correlation_section(result: EstimationResult) -> str:
    """Return the lower triangle of the correlation matrix; empty when there is nothing in it."""
    names = [e.name for e in result.estimates if e.searched]
    matrix = np.asarray(result.correlation, dtype=np.float64)
    if len(names) < 2 or matrix.shape != (len(names), len(names)):
        return ""
    if not np.any(np.isfinite(matrix)):
        return ""
    rows: list[tuple[str, list[_Cell | None]]] = []
    for i, name in enumerate(names):
        cells: list[_Cell | None] = [
            _cell(float(matrix[i, j]), i == j) if j <= i else None for j in range(len(names))
        ]
        rows.append((name, cells))
    strong = f"{STRONG_CORRELATION:.2f}" if correlated_pairs(result) else ""
    return fragment("correlation", matrix=rows, strong=strong)


def _cell(value: float, diagonal: bool) -> _Cell:
    if not np.isfinite(value):
        return _Cell("n/a", "var(--faint)", False)
    if diagonal:
        return _Cell("1", "var(--faint)", False)
    depth = 0.55 * min(abs(value), 1.0) ** 1.5
    red, green, blue = (11, 92, 173) if value > 0 else (200, 80, 30)
    color = f"rgba({red},{green},{blue},{depth:.2f})"
    return _Cell(f"{value:+.2f}", color, abs(value) >= STRONG_CORRELATION)
