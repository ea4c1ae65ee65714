"""A small estimation problem on an FMU of the library."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

OSCILLATOR = "Mechanisms.Oscillators.MassSpringDamper"

TRUE = {"m": 3.0, "d": 4.0, "k": 400.0}
NOISE = 2e-5

PROBLEM = """\
[model]
fmu = "oscillator.fmu"

[parameters.m]
initial = 2.5
bounds = [0.5, 10.0]

[parameters.d]
initial = 2.0
bounds = [0.0, 50.0]

[parameters.k]
initial = 300.0
bounds = [50.0, 1000.0]

[[experiments]]
name = "push"
data = "data.csv"
time = "time"

[experiments.inputs]
F = "force"

[experiments.outputs]
x = { column = "position", sigma = 2e-5 }

[estimator]
name = "least-squares"
"""


@dataclass(frozen=True)
class Study:
    """A folder with ``problem.toml``, ``data.csv`` and ``oscillator.fmu``."""

    folder: Path

    @property
    def problem(self) -> Path:
        return self.folder / "problem.toml"

    @property
    def data(self) -> Path:
        return self.folder / "data.csv"

    @property
    def fmu(self) -> Path:
        return self.folder / "oscillator.fmu"

    def change(self, old: str, new: str) -> None:
        """Replace text in the problem file; it must be there exactly once."""
        text = self.problem.read_text()
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        self.problem.write_text(text.replace(old, new))


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
