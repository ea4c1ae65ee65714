"""The tripod study: its motion, and the hand-over to least squares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fmident

CLASS = "Mechanisms.FMUs.Tripod"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def generate(load_script: Callable[[Path], ModuleType]) -> ModuleType:
    return load_script(EXAMPLES / "tripod" / "generate.py")


def test_speeds_and_accelerations_are_derivatives_of_the_heights(generate: ModuleType) -> None:
    fine = np.arange(0.05, 0.8, 1e-5)
    rails = generate.rails(fine)
    s, v, a = rails[:, :3], rails[:, 3:6], rails[:, 6:]
    centre = slice(2, -2)
    assert np.max(np.abs(np.gradient(s, fine, axis=0) - v)[centre]) < 1e-6 * np.ptp(v)
    # The quintics' third derivative jumps where one move ends and the next begins.
    assert np.max(np.abs(np.gradient(v, fine, axis=0) - a)[centre]) < 2e-3 * np.ptp(a)


def test_rods_keep_their_length(generate: ModuleType) -> None:
    times = np.linspace(0.0, generate.DURATION, 500)
    tool = generate.tool_path(times)[0]
    for i, angle in enumerate(np.arange(3) * 2 * np.pi / 3):
        foot = generate.RAIL_RADIUS * np.array([np.cos(angle), np.sin(angle)])
        heights = generate.rails(times)[:, i]
        rod = np.column_stack([tool[:, :2] - foot, tool[:, 2] - heights])
        np.testing.assert_allclose(np.linalg.norm(rod, axis=1), generate.ROD_LENGTH, rtol=1e-12)


@pytest.mark.nightly
@pytest.mark.slow
def test_least_squares_finishes_what_the_genetic_search_began(
    generate: ModuleType,
    study_folder: Callable[[str], Path],
    build_fmu: Callable[[str], Path],
) -> None:
    """From parameters as wrong as a smoothed search leaves them, below 0.1 %."""
    folder = study_folder("tripod")
    (folder / "data").mkdir()
    generate.cycle(build_fmu(CLASS)).to_csv(
        folder / "data" / "cycle.csv", index=False, float_format="%.17g"
    )
    wrong = {"toolMass": 1.02, "gearStiffness": 0.97, "gearDampingRatio": 1.3}
    wrong |= {"coulombTorque": 0.8, "viscousFriction": 1.3, "transferTime": 0.9}
    start = {f"parameters.{p}.initial": generate.TRUTH[p] * f for p, f in wrong.items()}
    problem = fmident.load_problem(folder / "problem.toml", overrides=start)
    local = problem.stages[-1].problem
    result = fmident.estimate(local)
    assert result.status == "converged"
    for name, value in generate.TRUTH.items():
        assert result.parameters.loc[name, "value"] == pytest.approx(value, rel=1e-3)


@pytest.mark.slow
def test_a_trace_of_the_drives_needs_no_controller(
    generate: ModuleType,
    study_folder: Callable[[str], Path],
    build_fmu: Callable[[str], Path],
) -> None:
    folder = study_folder("tripod")
    (folder / "data").mkdir()
    file = folder / "data" / "drives.csv"
    generate.trace(build_fmu(CLASS)).to_csv(file, index=False, float_format="%.17g")
    result = fmident.estimate(fmident.load_problem(folder / "inverse.toml"))
    assert result.status == "converged"
    for name, value in generate.TRUTH.items():
        row = result.parameters.loc[name]
        assert row["value"] == pytest.approx(value, rel=3e-3)
        half = 0.5 * (row["interval_95_high"] - row["interval_95_low"])
        assert abs(row["value"] - value) < 2.0 * half
