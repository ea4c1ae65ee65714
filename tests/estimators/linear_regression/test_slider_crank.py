"""The slider-crank study: base parameters of a closed-loop mechanism from its FMU."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.compilers.base import Compiler
from fmident.fmu import SimulationSetup
from fmident.problem.model import EstimatorSettings
from fmident.report.verdict import verdict

from ...kept import library_fmu

pytestmark = pytest.mark.slow  # many builds or whole runs

EXAMPLE = Path(__file__).parents[3] / "examples" / "slider-crank"
CLASS = "Mechanisms.FMUs.SliderCrankInverse"

PAPER = {
    "inertia1_base": "inertia1 + 0.0064*mass2 + 0.0064*mass3",
    "momentX1_base": "momentX1 + 0.08*mass2 + 0.08*mass3",
    "inertia2_base": "inertia2 + 0.0625*mass3",
    "momentX2_base": "momentX2 + 0.25*mass3",
}
"""Equation 9 of the paper for cranks of 0.08 m and rods of 0.25 m."""

ACCURATE = [3.388e-3, 4.48e-2, 2.0225e-2, 9.05e-2]
"""Equation 9 with the values of Table 1."""

ERRORS = [0.31, 1.11, 1.82, 1.24]
"""Table 2, %."""


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("slider_crank", EXAMPLE / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def study(
    tmp_path: Path, generate: ModuleType, build_fmu: Callable[[str], Path]
) -> Callable[..., fmident.Problem]:
    """Return a function that loads a problem file of the study with fresh noise."""
    fmu = build_fmu(CLASS)

    def load(file: str, seed: int, noise: float = 1.0) -> fmident.Problem:
        friction = generate.WITH_FRICTION if "friction" in file else generate.FRICTION
        suffix = "-friction" if "friction" in file else ""
        generator = np.random.default_rng(seed)
        (tmp_path / "data").mkdir(exist_ok=True)
        for name, motion in (("training", generate.TRAINING), ("validation", generate.VALIDATION)):
            torque = generate.true_torque(motion, friction, fmu)
            rows: pd.DataFrame = generate.measured(motion, torque, generator)
            if noise == 0.0:
                rows["angle [rad]"] = motion(generate.times_of(motion))
                rows["torque [N.m]"] = torque
            rows.to_csv(tmp_path / "data" / f"{name}{suffix}.csv", index=False)
        text = (EXAMPLE / file).read_text(encoding="utf-8")
        path = tmp_path / file
        path.write_text(text.replace(f'class = "{CLASS}"', f'fmu = "{fmu}"'), encoding="utf-8")
        return fmident.load_problem(path)

    return load


CUT = EXAMPLE / "CutJoint.mo"
SIGNALS = (
    "tau", "sliderPosition", "sliderSpeed", "kineticEnergy", "potentialEnergy", "inputPower",
    "dissipatedPower",
)  # fmt: skip
VALUES = {"momentY1": 1e-3, "momentY2": -2e-3, "coulombForce": 2.0, "viscousFriction": 1.0}


@pytest.fixture(scope="module")
def cut_joint(embedded_compiler: Compiler) -> Path:
    """Return the slider-crank in joint coordinates with multipliers."""
    return library_fmu(embedded_compiler, "CutJoint.SliderCrankInverse", (CUT,))


def simulated(
    fmu: Path, generate: ModuleType, times: np.ndarray, outputs: Sequence[str]
) -> dict[str, np.ndarray]:
    inputs = np.column_stack([generate.TRAINING(times, k) for k in range(3)])
    setup = SimulationSetup(times, ("q", "qd", "qdd"), inputs, tuple(outputs))
    with fmident.open_fmu(fmu) as opened, opened.simulator() as simulator:
        found = simulator.simulate(setup, {**generate.TRUTH, **VALUES})
    return dict(zip(outputs, found.T, strict=True))


def test_the_cut_joint_has_the_torque_of_minimal_coordinates(
    cut_joint: Path, generate: ModuleType, build_fmu: Callable[[str], Path]
) -> None:
    times = np.linspace(0.0, 5.0, 1001)
    found = simulated(cut_joint, generate, times, SIGNALS)
    expected = simulated(build_fmu(CLASS), generate, times, SIGNALS)
    for name in SIGNALS:
        size = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12 * size)


def test_power_and_pin_force_of_the_cut_joint(cut_joint: Path, generate: ModuleType) -> None:
    """The power balance, and Newton's law for the slider: its multiplier is the pin force."""
    step = 1e-5
    times = np.linspace(0.0, 5.0, 201)[1:, np.newaxis] + step * np.arange(-1, 2)
    found = simulated(cut_joint, generate, times.ravel(), [*SIGNALS, "pinForce[1]"])
    signals = {name: values.reshape(-1, 3) for name, values in found.items()}
    energy = signals["kineticEnergy"] + signals["potentialEnergy"]
    rate = (energy[:, 2] - energy[:, 0]) / (2.0 * step)
    power = signals["inputPower"][:, 1]
    left = power - signals["dissipatedPower"][:, 1] - rate
    assert np.abs(left).max() < 1e-6 * np.abs(power).max()
    speed = signals["sliderSpeed"]
    acceleration = (speed[:, 2] - speed[:, 0]) / (2.0 * step)
    friction = 2.0 * np.tanh(speed[:, 1] / 0.01) + speed[:, 1]
    pin = signals["pinForce[1]"][:, 1]
    expected = -generate.TRUTH["mass3"] * acceleration - friction
    np.testing.assert_allclose(pin, expected, atol=1e-6 * np.abs(pin).max())


def test_the_cut_joint_has_the_same_base_parameters(study, cut_joint: Path) -> None:
    problem = study("problem.toml", 0)
    result = fmident.estimate(problem)
    path = problem.source.with_name("cut-joint.toml")
    text = (EXAMPLE / "cut-joint.toml").read_text(encoding="utf-8")
    model = 'class = "CutJoint.SliderCrankInverse"\nsources = ["CutJoint.mo"]'
    assert model in text
    path.write_text(text.replace(model, f'fmu = "{cut_joint}"'), encoding="utf-8")
    found = fmident.estimate(fmident.load_problem(path))
    assert {e.name: e.expression for e in found.base_parameters} == PAPER
    for one, other in zip(found.base_parameters, result.base_parameters, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-6)


def values_of(result: fmident.EstimationResult) -> list[float]:
    return [e.value for e in result.base_parameters]


def test_the_base_parameters_are_those_of_the_paper(study) -> None:
    result = fmident.estimate(study("problem.toml", 0))
    assert {e.name: e.expression for e in result.base_parameters} == PAPER
    assert [e.unit for e in result.base_parameters] == ["kg.m2", "kg.m", "kg.m2", "kg.m"]
    assert result.identifiability is not None
    assert result.identifiability.silent == ("inertia3", "momentX3", "momentY3", "mass1")
    assert result.identifiability.rank == 6
    assert verdict(result).grade == "good"
    for name in ("momentY1", "momentY2"):
        low, high = result.parameters.loc[name, ["interval_95_low", "interval_95_high"]]
        assert low < 0.0 < high


def test_without_noise_only_the_filter_is_left(study) -> None:
    result = fmident.estimate(study("problem.toml", 0, noise=0.0))
    np.testing.assert_allclose(values_of(result), ACCURATE, rtol=2e-3)
    for name in ("momentY1", "momentY2"):
        assert abs(result.values[name]) < 1e-5


@pytest.mark.nightly
@pytest.mark.slow
def test_errors_are_below_those_of_the_paper(study) -> None:
    errors = []
    for seed in range(8):
        found = values_of(fmident.estimate(study("problem.toml", seed)))
        errors.append(100.0 * np.abs(np.array(found) / ACCURATE - 1.0))
    assert np.all(np.mean(errors, axis=0) < ERRORS)


def test_friction_and_prior_knowledge(study) -> None:
    result = fmident.estimate(study("friction.toml", 3))
    assert {e.name: e.expression for e in result.base_parameters} == PAPER
    assert result.values["coulombForce"] == pytest.approx(2.0, rel=5e-3)
    assert result.settings["validation_relative_error"]["validation"]["tau"] < 0.07


def test_other_estimators_use_the_data_step_too(study) -> None:
    """Least squares refuses what has no influence; with the masses known it finds the same."""
    problem = study("friction.toml", 3)
    linear = fmident.estimate(problem)
    known = fmident.load_problem(
        problem.source,
        overrides={
            "parameters.mass2.fixed": True,
            "parameters.mass3.fixed": True,
        },
    )
    known = dataclasses.replace(known, estimator=EstimatorSettings("least-squares"))
    nonlinear = fmident.estimate(known)
    training = linear.fits[0].rms
    assert nonlinear.fits[0].rms == pytest.approx(training, rel=1e-2)
    # Both experiments count there.
    assert nonlinear.values["coulombForce"] == pytest.approx(
        linear.values["coulombForce"], rel=5e-3
    )
