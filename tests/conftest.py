"""Fixtures that several test packages need."""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fmident.api.builds import find_library
from fmident.compilers.base import Compiler
from fmident.fmu.native_code.loops import loops
from fmident.fmu.processes import guard

from .kept import VARIABLE, library_fmu
from .study import NOISE, OSCILLATOR, PROBLEM, TRUE, Study

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "modelica"

BuildFmu = Callable[[str], Path]

_BEFORE = pytest.StashKey[set[str]]()
_LEFT = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Choose what processes of a test run inherit: where FMUs are kept, whether bytecode is."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell has started this run in the background; tests of Ctrl-C would wait forever.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Many tests start Python: it would compile all modules of fmident each time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    cache = getattr(config, "cache", None)
    if cache is not None:
        os.environ[VARIABLE] = str(cache.mkdir("fmident-fmus"))
        os.environ["FMIDENT_CACHE"] = str(cache.mkdir("fmident-kept"))
    elif not hasattr(config, "workerinput"):
        own = tempfile.TemporaryDirectory(prefix="fmident-test-fmus-")
        os.environ[VARIABLE] = os.environ["FMIDENT_CACHE"] = own.name
        config.add_cleanup(own.cleanup)


_COMPILING = ("compilers", "cli", "dask", "examples", "fmu", "modelica", "testing", "validation")
"""Folders whose tests compile models, run FMUs or start processes: not in the quick subset."""
_COMPILING_FOLDERS = {Path(__file__).parent / name for name in _COMPILING}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave these folders out of the quick subset: to import their tests takes half its start."""
    if "not slow" not in config.getoption("markexpr").split(" and "):
        return None
    return True if collection_path in _COMPILING_FOLDERS else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what is slow, and what is for the night: cases that `each_time` does not name."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    if folder in _COMPILING or "embedded_compiler" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.slow)
    chosen = item.get_closest_marker("each_time")
    if chosen is not None and item.callspec.id not in chosen.args:  # type: ignore[attr-defined]
        item.add_marker(pytest.mark.nightly)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse an `each_time` that names a case that there is not."""
    if any("::" in argument for argument in config.args):
        return  # only some cases are collected
    absent: dict[str, set[str]] = {}
    for item in items:
        chosen = item.get_closest_marker("each_time")
        if chosen is not None:
            names = absent.setdefault(item.nodeid.partition("[")[0], set(chosen.args))
            names.discard(item.callspec.id)  # type: ignore[attr-defined]
    for test, names in absent.items():
        if names:
            raise pytest.UsageError(f"{test}: each_time names no case {sorted(names)}")


def in_root() -> set[str]:
    """Return the names in the repository's root, but for the caches of the tools."""
    return {p.name for p in ROOT.iterdir() if not p.name.endswith("_cache")}


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember what is there; one process of a distributed run does for all."""
    if not hasattr(session.config, "workerinput"):
        session.config.stash[_BEFORE] = in_root()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail when tests leave something in the repository's root."""
    if _BEFORE not in session.config.stash:
        return
    left = sorted(in_root() - session.config.stash[_BEFORE])
    session.config.stash[_LEFT] = left
    if left and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name what is left."""
    if left := config.stash.get(_LEFT, []):
        terminalreporter.section("left in the repository's root", red=True)
        terminalreporter.line(f"{', '.join(left)}: tests write to tmp_path only", red=True)


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
def build_fmu(embedded_compiler: Compiler) -> BuildFmu:
    """Return a function from a class of this repository's library to its FMU.

    It looks through the whole library, which takes half a second: once for each class.
    """

    @functools.cache
    def build(class_name: str) -> Path:
        return library_fmu(
            embedded_compiler, class_name, find_library(class_name, [LIBRARY.parent]).sources
        )

    return build


@pytest.fixture(scope="session")
def measure(build_fmu: BuildFmu) -> Callable[[int], pd.DataFrame]:
    """Return a function to data of so many samples: the true oscillator under a chirp, with noise.

    A simulation takes as long as there are samples.
    """
    from fmident.fmu import SimulationSetup, open_fmu

    @functools.cache
    def make(samples: int) -> pd.DataFrame:
        times = np.linspace(0.0, 2.0, samples)
        force = np.sin(2.0 * np.pi * (0.5 + 1.5 * times) * times)
        setup = SimulationSetup(
            times, ("F",), force[:, np.newaxis], ("x",), start_values=TRUE, tolerance=1e-9
        )
        with open_fmu(build_fmu(OSCILLATOR)) as fmu, fmu.simulator() as simulator:
            position = simulator.simulate(setup)[:, 0]
        position = position + NOISE * np.random.default_rng(1).standard_normal(times.size)
        return pd.DataFrame({"time": times, "force": force, "position": position})

    return make


@pytest.fixture(autouse=True)
def standard_floating_point() -> None:
    """Begin each test with the standard state: a library with -ffast-math changes it for good."""
    loops().restore_floating_point()


@pytest.fixture
def empty_plots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have an empty picture stand for each plot of a report, but in tests that are marked `draws`.

    Drawing takes three quarters of the time of a small estimation.
    """
    if request.node.get_closest_marker("draws") is None:
        empty = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
        monkeypatch.setattr("fmident.report.figures.drawing.file_of", lambda *_: empty)


_SURVIVED: dict[bytes, Any] = {}


@pytest.fixture
def tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a simulation that a child process has survived count as tried, in this test run.

    Each estimation tries its FMU in a child before, which takes half of the time of a small one.
    """
    real = guard.check_survives

    def check_survives(
        path: Path, setup: Any, values: Mapping[str, Any] | None = None, **settings: Any
    ) -> guard.Survival:
        request = (Path(path).read_bytes(), setup, dict(values or {}), settings)
        key = hashlib.sha256(pickle.dumps(request)).digest()
        if key not in _SURVIVED:
            _SURVIVED[key] = real(path, setup, values, **settings)
        survived: guard.Survival = _SURVIVED[key]
        return survived

    monkeypatch.setattr("fmident.fmu.processes.guard.check_survives", check_survives)


@pytest.fixture
def study(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    build_fmu: Callable[[str], Path],
    measure: Callable[[int], pd.DataFrame],
    empty_plots: None,
    tried_once: None,
) -> Study:
    """Return a study that works; it is the working directory."""
    found = Study(tmp_path)
    shutil.copy(build_fmu(OSCILLATOR), found.fmu)
    found.problem.write_text(PROBLEM)
    measure(101).to_csv(found.data, index=False)
    monkeypatch.chdir(tmp_path)
    return found
