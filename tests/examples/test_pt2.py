"""The PT2 study: its data, its cost maps, and what smoothing does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

CLASS = "Mechanisms.FMUs.MassSpringDamper"
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


@pytest.fixture
def minima(
    load_script: Callable[[Path], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.syspath_prepend(EXAMPLES / "pt2")
    return load_script(EXAMPLES / "pt2" / "minima.py")


def test_the_share_of_the_lowest_minimum_is_its_basin(minima: ModuleType) -> None:
    x = np.linspace(-1.0, 1.0, 41)
    bowl = (x[:, None] - 0.3) ** 2 + x[None, :] ** 2
    assert minima.share_of_lowest(bowl) == 1.0
    # Two valleys with the ridge between them at x = 0.5; the left one is the lower.
    two = np.where(x < 0.5, np.abs(x + 0.2), 0.7 - 0.5 * (x - 0.5))
    found = minima.share_of_lowest(np.tile(two, (41, 1)) + 0.01 * x[:, None] ** 2)
    assert found == pytest.approx(np.mean(x < 0.5), abs=0.03)


def test_lines_of_equal_frequency_run_through_the_points_of_a_map(minima: ModuleType) -> None:
    k, m = minima.axes("ringing", 9)
    np.testing.assert_allclose((k / m), k[0] / m[0])
    assert k[4] / m[4] == pytest.approx(1600.0 / 0.75)
