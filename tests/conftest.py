"""Fixtures that several test packages need."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmident.builds import find_library
from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.staleness import make_record

from .study import NOISE, OSCILLATOR, PROBLEM, TRUE, Study

LIBRARY = Path(__file__).parents[1] / "modelica"

BuildFmu = Callable[[str], Path]


@pytest.fixture(scope="session")
def embedded_compiler() -> Compiler:
    """Return the embedded compiler; skip where it cannot run."""
    from fmident.compilers.embedded import EmbeddedCompiler

    compiler = EmbeddedCompiler()
    reason = compiler.unavailable()
    if reason is not None:
        pytest.skip(f"the embedded compiler cannot run: {reason}")
    return compiler


@pytest.fixture(scope="session")
def build_fmu(embedded_compiler: Compiler, request: pytest.FixtureRequest) -> BuildFmu:
    """Return a function from a class of this repository's library to its FMU.

    An FMU is built once and kept under a name made from everything it is built from, so
    that worker processes and later sessions share it.
    """

    cache = request.config.cache
    assert cache is not None
    folder = cache.mkdir("fmident-fmus")

    def build(class_name: str) -> Path:
        sources = find_library(class_name, [LIBRARY.parent]).sources
        record = repr(
            sorted(
                make_record(BuildRequest(class_name, sources, Path()), embedded_compiler).items()
            )
        )
        key = hashlib.sha256(record.encode()).hexdigest()[:16]
        fmu = folder / f"{class_name}-{key}.fmu"
        if not fmu.exists():
            # The compiler moves the finished file into place, so two processes may race.
            embedded_compiler.build(BuildRequest(class_name, sources, fmu))
        return fmu

    return build


@pytest.fixture(scope="session")
def measured(build_fmu: Callable[[str], Path]) -> pd.DataFrame:
    """Return the data: the true oscillator under a chirp, with noise."""
    from fmident.fmu import SimulationSetup, open_fmu

    times = np.linspace(0.0, 2.0, 401)
    force = np.sin(2.0 * np.pi * (0.5 + 1.5 * times) * times)
    setup = SimulationSetup(
        times, ("F",), force[:, np.newaxis], ("x",), start_values=TRUE, tolerance=1e-9
    )
    with open_fmu(build_fmu(OSCILLATOR)) as fmu, fmu.simulator() as simulator:
        position = simulator.simulate(setup)[:, 0]
    position = position + NOISE * np.random.default_rng(1).standard_normal(times.size)
    return pd.DataFrame({"time": times, "force": force, "position": position})


@pytest.fixture
def study(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    build_fmu: Callable[[str], Path],
    measured: pd.DataFrame,
) -> Study:
    """Return a study that works; it is the working directory."""
    found = Study(tmp_path)
    shutil.copy(build_fmu(OSCILLATOR), found.fmu)
    found.problem.write_text(PROBLEM)
    measured.to_csv(found.data, index=False)
    monkeypatch.chdir(tmp_path)
    return found
