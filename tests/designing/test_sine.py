"""The sine for an oscillator, against the closed form of its variance (eq. 13)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import signal

from fmident.cli import main
from fmident.designing import SineDesign, SineSettings, design_sine
from fmident.errors import Code, EstimationError, ProblemError, SimulationError
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident_estimators.kalman_bucy.estimator import best_ratio, variance_factor

from ..edits import replace_once
from ..refused import refused
from .files import assert_refused, copied

pytestmark = pytest.mark.slow  # many builds or whole runs

CLASS = "Mechanisms.FMUs.MassSpringDamper"
OMEGA0 = float(np.sqrt(400.0 / 3.0))
WIDE = SineSettings("F", 1000.0, (1.0, 35.0), 5.0, 200.0)
SETTINGS = SineSettings("F", 1000.0, (8.0, 15.0), 5.0, 100.0)


def motion(times, force, k=400.0, d=0.05):
    """x and v from rest, exact for a force that is linear between samples."""
    system = ([[0.0, 1.0], [-k / 3.0, -d / 3.0]], [[0.0], [1.0 / 3.0]], np.eye(2), [[0.0], [0.0]])
    return signal.lsim(system, force, times)[1]


def oscillator(times, inputs, k=400.0, d=0.05):
    x, v = motion(times, inputs["F"], k, d).T
    return {"x": x, "v": v}


def equation(times, inputs, theta2):
    """The row of eq. 11: theta2 is the factor of the measured motion."""
    return {"rho": theta2 * motion(times, inputs["F"])[:, 0]}


def best(model, sigmas, settings=SETTINGS, **expected: float) -> SineDesign:
    times = np.linspace(0.0, 1.0, 5)
    parameters = [Parameter(n, v, variable=n, scale=v) for n, v in expected.items()]
    measured = dict.fromkeys(sigmas, 0.0 * times)
    problem = python_problem(measured, times, parameters, inputs={"F": 0.0 * times}, sigma=1.0)
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return design_sine(evaluator, sigmas, settings)


@pytest.mark.slow
def test_variance_of_equation_13() -> None:
    design = best(equation, {"rho": 0.1}, WIDE, theta2=OMEGA0**2)
    ratio = np.array([c.omega for c in design.candidates]) / OMEGA0
    factor = [variance_factor(z, OMEGA0, design.times) for z in ratio]
    predicted = np.sqrt(factor) * 0.1 / (1000.0 / 3.0)
    found = np.array([c.standard_errors[0] for c in design.candidates])
    np.testing.assert_allclose(found, predicted, rtol=0.05)  # it neglects the damping
    expected = best_ratio(OMEGA0, design.times, 1.0 / OMEGA0, 35.0 / OMEGA0, 4000)
    assert design.best.omega / OMEGA0 == pytest.approx(expected, abs=0.003)
    assert design.best.omega / OMEGA0 == pytest.approx(1.0, abs=0.006)


@pytest.mark.parametrize(
    ("criterion", "parameter"), [("determinant", None), ("variance", "k"), ("variance", "d")]
)
def test_position_alone_is_best_near_resonance_too(criterion, parameter) -> None:
    settings = SineSettings("F", 1e3, (8.0, 15.0), 5.0, 100.0, criterion, parameter)
    design = best(oscillator, {"x": 2e-3}, settings, k=400.0, d=0.05)
    assert design.best.omega / OMEGA0 == pytest.approx(1.0, abs=0.02)
    assert design.best.value == min(c.value for c in design.candidates)


def test_the_promise_is_kept() -> None:
    """The predicted errors are those of the analytic sensitivity ``dx/dk`` and ``dx/dd``."""
    design = best(oscillator, {"x": 2e-3}, k=400.0, d=0.05)
    x, v = motion(design.times, design.inputs["F"]).T
    columns = np.column_stack([motion(design.times, -part)[:, 0] for part in (x, v)])
    covariance = 4e-6 * np.linalg.inv(columns.T @ columns)
    assert design.best.standard_errors == pytest.approx(np.sqrt(np.diag(covariance)), rel=0.01)


@pytest.mark.slow
def test_limits_of_outputs_are_kept_and_touched() -> None:
    limits = {"x": 0.5, "v": 4.0}
    settings = SineSettings("F", 1e3, (8.0, 15.0), 5.0, 100.0, limits=limits)
    design = best(oscillator, {"x": 2e-3}, settings, k=400.0, d=0.05)
    assert design.best.amplitude < 1e3
    for c in design.candidates:
        found = oscillator(design.times, {"F": c.amplitude * np.sin(c.omega * design.times)})
        share = max(np.abs(found[name]).max() / limit for name, limit in limits.items())
        assert share <= 1.0
        assert c.amplitude == 1e3 or share > 0.995


def test_parameters_that_no_sine_tells_apart_are_named() -> None:
    def twins(times, inputs, k, more):
        return oscillator(times, inputs, k + more)

    with refused(Code.INVALID_PROBLEM, ProblemError, match=r"k \+ more"):
        best(twins, {"x": 2e-3}, k=200.0, more=200.0)


def test_a_model_that_fails_is_told() -> None:
    def broken(times, inputs, k):
        raise SimulationError("spring broke")

    with refused(Code.ESTIMATION_FAILED, EstimationError, match="spring broke"):
        best(broken, {"x": 2e-3}, k=400.0)


def test_limits_beyond_reach_are_told() -> None:
    def shifted(times, inputs, k):
        return {"x": oscillator(times, inputs, k)["x"] + 1.0}

    settings = SineSettings("F", 1e3, (8.0, 15.0), 5.0, 100.0, limits={"x": 0.5})
    with refused(Code.ESTIMATION_FAILED, EstimationError, match="even without input"):
        best(shifted, {"x": 2e-3}, settings, k=400.0)


@pytest.fixture
def file(tmp_path: Path, build_fmu: Callable[[str], Path]) -> Path:
    return copied("msd-online", tmp_path, (f'class = "{CLASS}"', f'fmu = "{build_fmu(CLASS)}"'))


@pytest.mark.slow
def test_the_example(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace_once(file, "[1.0, 35.0]", "[9.0, 14.0]")
    assert main(["design", str(file)]) == 0
    rows = pd.read_csv(file.with_name("excitation.csv"))
    assert list(rows.columns) == ["time [s]", "F [N]"]
    assert len(rows) == 1001
    said = capsys.readouterr().out
    assert "error of k" in said
    row = next(line for line in said.splitlines() if line.rstrip().endswith("best"))
    assert float(row.split()[1]) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('input = "F"', 'input = "x"', "not an input"),
        ("omega = [1.0, 35.0]", "omega = [35.0, 1.0]", "lowest"),
        ("omega = [1.0, 35.0]", "", "omega"),
        ("amplitude = 10.0", "amplitude = -1.0", "amplitude"),
        ("rate = 200.0", "rate = 20.0", "too fast"),
        ('criterion = "determinant"', 'criterion = "variance"', "parameter"),
        ("# [sine.limits]", "[sine.limits]\ny = 1.0", "y"),
    ],
)
def test_mistakes_name_their_line(file: Path, old: str, new: str, words: str) -> None:
    assert_refused(file, old, new, words)
