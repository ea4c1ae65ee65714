"""The LuGre study: what each input identifies, and how far both ways of the paper come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.fmu import SimulationSetup

FOLDER = Path(__file__).parents[2] / "examples" / "lugre"
SLIDE = "Mechanisms.DriveTrains.SlideWithLuGreFriction"
ELEMENT = "Mechanisms.Friction.TranslationalLuGre"
ONE_TENTH_OF_A_PERCENT = 1e-3


@pytest.fixture
def generate(load_script: Callable[[Path], ModuleType]) -> ModuleType:
    return load_script(FOLDER / "generate.py")


@pytest.fixture
def folder(
    generate: ModuleType,
    study_folder: Callable[[str], Path],
    build_fmu: Callable[[str], Path],
) -> Path:
    """Return a copy of the study with data from FMUs built for the tests."""
    found = study_folder("lugre")
    (found / "data").mkdir()
    for name in generate.RUNS:
        table = generate.run(name, build_fmu(SLIDE))
        table.to_csv(found / "data" / f"{name}.csv", index=False, float_format="%.17g")
    generate.stribeck().to_csv(found / "data" / "stribeck.csv", index=False, float_format="%.17g")
    return found


def errors(generate: ModuleType, parameters: pd.DataFrame) -> pd.Series:
    """Return the relative errors of the estimates."""
    truth = pd.Series(generate.TRUTH)
    return (parameters.loc[truth.index, "value"] / truth - 1.0).abs()


def test_steady_sliding_follows_the_stribeck_curve(
    generate: ModuleType, build_fmu: Callable[[str], Path]
) -> None:
    """The LuGre element at constant speed ends on the curve of eq. 14, speed by speed."""
    points = generate.stribeck()
    speeds = points["speed [m/s]"].to_numpy()[::8]
    forces = points["friction [N]"].to_numpy()[::8]
    with fmident.open_fmu(build_fmu(ELEMENT)) as fmu, fmu.simulator() as simulator:
        for speed, force in zip(speeds, forces, strict=True):
            # The deflection settles with the rate sigma0 |v| / level: 40 time constants.
            times = np.linspace(0.0, 40 * 1.5 / (1e5 * abs(speed)), 11)
            inputs = np.full((times.size, 1), speed)
            setup = SimulationSetup(times, ("v",), inputs, ("f",), tolerance=1e-10)
            last = float(simulator.simulate(setup, generate.TRUTH)[-1, 0])
            assert last == pytest.approx(force, rel=1e-7)


def test_two_steps_find_all_parameters(generate: ModuleType, folder: Path) -> None:
    result = fmident.estimate(fmident.load_problem(folder / "two-step.toml"))
    assert errors(generate, result.parameters).max() < ONE_TENTH_OF_A_PERCENT
    assert result.simulations < 500
