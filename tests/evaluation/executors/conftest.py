"""The FMU with faults, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...fmu.build import compiler
from .faults import BuildFaults, build_faults


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> BuildFaults:
    """Return a function from the source's definitions to the FMU."""
    if compiler() is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("faults")
    return lambda *defines: build_faults(folder, *defines)


@pytest.fixture(scope="session")
def fmu(faulty: BuildFaults) -> Path:
    """Return the FMU that misbehaves only on request."""
    return faulty()
