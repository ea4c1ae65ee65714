"""A program in omc's place, and builds with it."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fmident.compilers.base import BuildRequest, BuildResult
from fmident.compilers.openmodelica.compiler import OpenModelicaCompiler

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import om_recordings  # noqa: E402  # beside this file

Build = Callable[..., BuildResult]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if shutil.which("omc"):
        return
    skip = pytest.mark.skip(reason="needs OpenModelica: there is no 'omc' on the path")
    for item in items:
        if item.get_closest_marker("omc"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def recorded():
    return om_recordings


@pytest.fixture
def omc_log(tmp_path: Path) -> Path:
    return tmp_path / "asked.txt"


@pytest.fixture
def fake_omc(tmp_path: Path, omc_log: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the program in omc's place on the path, with its own temporary folder."""
    folder = tmp_path / "openmodelica" / "bin"
    folder.mkdir(parents=True)
    omc = folder / "omc"
    omc.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "fake_omc.py"}" "$@"\n')
    omc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("OPENMODELICAHOME", raising=False)
    monkeypatch.delenv("FMIDENT_OPENMODELICA_SESSION", raising=False)
    monkeypatch.setenv("FAKE_OMC_LOG", str(omc_log))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return omc


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def build(fake_omc: Path, tmp_path: Path) -> Build:
    """Build a recorded class (or a source of one's own) with the program in omc's place."""

    def run(
        name: str, source: Path | None = None, tolerance: float | None = None, **options: object
    ) -> BuildResult:
        file = source if source is not None else om_recordings.MODELS / f"{name}.mo"
        request = BuildRequest(
            name, (file,), tmp_path / "out" / f"{name}.fmu", tolerance, dict(options)
        )
        return OpenModelicaCompiler().build(request)

    return run


@pytest.fixture(autouse=True)
def logger_untouched():
    logger = logging.getLogger("OMPython")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    assert (list(logger.handlers), logger.level, logger.propagate) == before
