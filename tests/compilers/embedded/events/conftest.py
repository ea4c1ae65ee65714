"""Models with events, each compiled once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fmident.compilers.base import Compiler

from ....kept import library_fmu

SOURCE = Path(__file__).with_name("Events.mo")
Compiled = Callable[[str], Path]


@pytest.fixture(scope="session")
def compiled(embedded_compiler: Compiler) -> Compiled:
    """Return the FMU of a class of ``Events.mo``."""
    return lambda name: library_fmu(embedded_compiler, f"Events.{name}", (SOURCE,))
