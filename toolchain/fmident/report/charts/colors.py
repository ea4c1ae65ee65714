"""Colours that all plots of a report share."""

from __future__ import annotations

MEASURED = "#a9b2bf"
INITIAL = "#d98a3d"
FITTED = "#0b5cad"
RESIDUAL = "#7d8b9c"
SPREAD = "#cfe0f2"
RESULT = "#d1242f"
THRESHOLD = "#b93434"
END = "#2b8a4b"
EXCLUDED = "#b4458f"

SERIES = (
    "#0b5cad", "#d98a3d", "#2b8a4b", "#b93434", "#7b5ea7", "#8c6d4f", "#c95fa0", "#4d8f9e",
)  # fmt: skip
"""Of lines that are none of these."""
