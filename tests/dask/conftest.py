"""FMUs with faults, as for the executors of this machine."""

from pathlib import Path

import pytest

from ..evaluation.executors.conftest import faulty, fmu
from ..fmu.build import Fixture, build, compiler
from ..fmu.conftest import CATEGORIES, TROUBLE

__all__ = ["faulty", "fmu"]


@pytest.fixture(scope="session")
def trouble(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the FMU that fails as its parameter says."""
    if compiler() is None:
        pytest.skip("no C compiler")
    return build(
        Fixture("trouble.c", TROUBLE, categories=CATEGORIES), tmp_path_factory.mktemp("fmus")
    )
