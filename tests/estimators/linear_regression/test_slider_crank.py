"""The slider-crank study: base parameters of a closed-loop mechanism from its FMU."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.problem.model import EstimatorSettings
from fmident.report.verdict import verdict

pytestmark = pytest.mark.slow  # many builds or whole runs

EXAMPLE = Path(__file__).parents[3] / "examples" / "slider-crank"
CLASS = "Mechanisms.Linkages.SliderCrankInverse"

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
