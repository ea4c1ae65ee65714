"""Build each machine once with the embedded compiler and simulate it with the FMU engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))
sys.path.insert(0, str(Path(__file__).parents[2] / "ci"))

from machines import Workshop

from ..kept import library_fmu


@pytest.fixture(scope="session")
def workshop() -> Iterator[Workshop]:
    """Machines by class name, built on first use and closed at the end of the session."""
    made = Workshop(library_fmu)
    if made.unavailable is not None:
        pytest.skip(made.unavailable)
    yield made
    made.close()
