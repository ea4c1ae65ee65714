"""What tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.cli import main

from ..study import Study
from .analyses import INLINE


@pytest.fixture
def estimated(study: Study) -> Path:
    """Return the folder of an estimate of the study."""
    folder = study.folder / "estimate"
    assert main(["estimate", str(study.problem), "-o", str(folder), "-q", *INLINE]) == 0
    return folder
