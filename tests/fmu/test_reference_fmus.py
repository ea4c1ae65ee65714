"""The Reference FMUs of the Modelica Association, where somebody has built them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .reference_fmus import check_fmu, find_fmus

VARIABLE = "FMIDENT_REFERENCE_FMUS"
FOLDER = os.environ.get(VARIABLE)
FMUS = find_fmus(Path(FOLDER)) if FOLDER else []


@pytest.mark.slow
@pytest.mark.skipif(
    FOLDER is None,
    reason=f"{VARIABLE} names no folder of built Reference FMUs (docs/reference/fmi.md)",
)
def test_there_are_some() -> None:
    assert FMUS, f"no Reference FMU under '{FOLDER}', which {VARIABLE} names"


@pytest.mark.slow
@pytest.mark.parametrize("path", FMUS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_reference_fmu(path: Path) -> None:
    rows = list(check_fmu(path))
    assert rows
    assert [row for row in rows if row.passed is False] == []
