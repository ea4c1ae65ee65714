"""The positioning axis study on the measured data, where these are at hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fmident

ROOT = Path(__file__).parents[2]
DATA = Path(
    os.environ.get(
        "FMIDENT_EMPS_DATA", ROOT.parent / "shared" / "data" / "emps" / "identification.csv"
    )
)

pytestmark = pytest.mark.skipif(
    not DATA.exists(),
    reason="the measured data (EMPS) are not here: they have no licence to be part of the project;"
    " FMIDENT_EMPS_DATA=path/to/identification.csv names them",
)

PUBLISHED = {
    "m": (95.1089, 0.1085),
    "viscousFriction": (203.5034, 1.1460),
    "coulombForce": (20.3935, 0.1012),
    "offset": (-3.1648, 0.0444),
}


@pytest.fixture
def folder(study_folder: Callable[[str], Path], load_script: Callable[[Path], ModuleType]) -> Path:
    folder = study_folder("positioning-axis")
    prepare = load_script(ROOT / "examples" / "positioning-axis" / "prepare.py")
    measured = prepare.read_measured(DATA)
    (folder / "data").mkdir()
    prepare.inverse_rows(measured).to_csv(folder / "data" / "inverse.csv", index=False)
    prepare.closed_loop_rows(measured).to_csv(folder / "data" / "closed-loop.csv", index=False)
    return folder


def test_inverse_model_gives_the_published_values(folder: Path) -> None:
    problem = fmident.load_problem(folder / "inverse.toml")
    assert problem.experiments[0].times.size == 24792
    result = fmident.estimate(problem)
    assert result.status == "converged"
    assert result.noise is not None
    for name, (value, deviation) in PUBLISHED.items():
        row = result.parameters.loc[name]
        assert row["value"] == pytest.approx(value, rel=1e-5), name
        # The residuals are correlated: the figures published are those for white noise.
        assert result.noise.white_errors[name] == pytest.approx(deviation, rel=2e-3), name
        assert row["standard_error"] > 1.5 * deviation, name
    (fit,) = result.fits
    assert fit.times.size == 2480
    assert fit.relative_error == pytest.approx(0.040834, abs=1e-6)


@pytest.mark.each_time("closed-loop-continuous.toml")
@pytest.mark.slow
@pytest.mark.parametrize("file", ["closed-loop.toml", "closed-loop-continuous.toml"])
def test_closed_loop_is_fitted_by_simulation_from_far_away(folder: Path, file: str) -> None:
    problem = fmident.load_problem(folder / file)
    assert problem.parameters[0].initial < 0.5 * PUBLISHED["m"][0]
    result = fmident.estimate(problem)
    assert result.status == "converged"
    found = result.values
    delayed = "driveDelay" in found
    assert found["m"] == pytest.approx(PUBLISHED["m"][0], rel=0.005 if delayed else 0.02)
    assert found["viscousFriction"] == pytest.approx(PUBLISHED["viscousFriction"][0], rel=0.02)
    assert found["coulombForce"] == pytest.approx(PUBLISHED["coulombForce"][0], rel=0.02)
    assert found["offset"] == pytest.approx(PUBLISHED["offset"][0], rel=0.02)
    assert result.fits[0].relative_error < (0.0535 if delayed else 0.0635)
    if delayed:
        # The controller runs at 1 kHz: the computed force is held, half a period in the mean,
        # and the speed is a difference, late by between half a period and a whole one.
        assert found["driveDelay"] == pytest.approx(0.5e-3, rel=0.05)
        assert 0.5e-3 < found["speedDelay"] < 1.0e-3


@pytest.mark.nightly
@pytest.mark.slow
def test_the_sampled_controller_leaves_less_than_two_delays(folder: Path) -> None:
    problem = fmident.load_problem(folder / "closed-loop-sampled.toml")
    assert problem.parameters[0].initial < 0.5 * PUBLISHED["m"][0]
    result = fmident.estimate(problem)
    assert result.status == "converged"
    assert result.derivatives_by == "exact sensitivities of the FMU"
    for name, (value, _) in PUBLISHED.items():
        assert result.values[name] == pytest.approx(value, rel=0.012), name
    assert result.values["m"] == pytest.approx(PUBLISHED["m"][0], rel=0.001)
    assert result.fits[0].relative_error == pytest.approx(0.0426, abs=1e-4)

    # Two parameters more, the delays, and the same start: not better.
    start = {f"model.start_values.{n}": v for n, v in problem.start_values.items()}
    assert set(start) == {"model.start_values.q_start", "model.start_values.qd_start"}
    delayed = fmident.estimate(fmident.load_problem(folder / "closed-loop.toml", overrides=start))
    assert delayed.status == "converged"
    assert delayed.fits[0].relative_error > result.fits[0].relative_error


@pytest.mark.slow
def test_with_the_sign_of_the_published_fit_its_values_are_found(folder: Path) -> None:
    """Of the fit by simulation with a sampled controller, whose force error is 4.53 %."""
    problem = fmident.load_problem(
        folder / "closed-loop-sampled.toml", overrides={"model.start_values.speedWidth": 1e-5}
    )
    result = fmident.estimate(problem)
    published = {
        "m": 95.288,
        "viscousFriction": 210.02,
        "coulombForce": 19.869,
        "offset": -3.171,
    }
    for name, value in published.items():
        assert result.values[name] == pytest.approx(value, rel=0.0015), name
    assert result.fits[0].relative_error == pytest.approx(0.0453, abs=2e-4)


def test_recorded_voltages_are_those_of_the_sampled_controller(
    load_script: Callable[[Path], ModuleType],
) -> None:
    """From the recorded positions, without a model of the axis; a step of the sensor is 6 mV."""
    prepare = load_script(ROOT / "examples" / "positioning-axis" / "prepare.py")
    record = prepare.read_measured(DATA)
    q, wanted, volts = (record[name].to_numpy() for name in ("qm", "qg", "vir"))
    filtered = (q[1:] + q[:-1]) / 2
    speed = np.diff(filtered) / prepare.PERIOD
    law = 243.45 * (160.18 * (wanted[2:] - q[2:]) - speed)
    assert np.std(law - volts[2:]) < 4e-3
    # Over one sample, or a sample late, it does not fit.
    short = 243.45 * (160.18 * (wanted[2:] - q[2:]) - np.diff(q)[1:] / prepare.PERIOD)
    assert np.std(short - volts[2:]) > 4e-2
    assert np.std(law[:-1] - volts[3:]) > 4e-2
