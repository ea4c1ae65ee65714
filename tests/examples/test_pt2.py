"""The PT2 study: its data, its cost maps, and what smoothing does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

CLASS = "Mechanisms.Oscillators.MassSpringDamper"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def generate(load_script: Callable[[Path], ModuleType]) -> ModuleType:
    return load_script(EXAMPLES / "pt2" / "generate.py")


def test_the_step_response_is_the_closed_form(
    generate: ModuleType, build_fmu: Callable[[str], Path]
) -> None:
    for nominal in generate.NOMINAL.values():
        table = generate.step_response(nominal, build_fmu(CLASS))
        t = table["time [s]"].to_numpy()
        omega, decay = np.sqrt(nominal.k / nominal.m), nominal.d / (2 * nominal.m)
        damped = np.sqrt(omega**2 - decay**2)
        wave = np.cos(damped * t) + decay / damped * np.sin(damped * t)
        exact = generate.DEFLECTION * (1 - np.exp(-decay * t) * wave)
        assert np.max(np.abs(table["position [m]"] - exact)) < 1e-6 * generate.DEFLECTION


def test_minima_of_a_map_are_counted(load_script: Callable[[Path], ModuleType]) -> None:
    study = load_script(EXAMPLES / "pt2" / "study.py")
    x = np.linspace(-1.0, 1.0, 41)
    one = x[:, None] ** 2 + (x[None, :] - 0.2) ** 2
    four = np.cos(2 * np.pi * x)[:, None] + np.cos(2 * np.pi * x)[None, :]
    assert study.count_minima(one) == 1
    assert study.count_minima(four) == 4
    assert study.count_minima(np.zeros((5, 5))) == 0
