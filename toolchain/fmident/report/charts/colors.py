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
