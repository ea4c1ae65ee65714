"""Delays that the data have and the problem does not, seen after the fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy import signal

from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter
from fmident.report.estimate import ESTIMATE, JsonReporter
from fmident.report.result_json import read_result
from fmident.report.verdict import verdict

STEP = 0.02
TIMES = np.arange(0.0, 8.0, STEP)
FORCE = np.where(np.sin(1.7 * TIMES) + np.sin(4.1 * TIMES) > 0.0, 1.0, -1.0)
TRUE = {"a": 2.0, "tau": 0.3}


def lag(
    times: np.ndarray, inputs: Mapping[str, np.ndarray], a: float, tau: float, **_: float
) -> dict[str, np.ndarray]:
    """Return a lag of first order and its integral."""
    decay = np.exp(-STEP / tau)
    y = signal.lfilter([0.0, a * (1.0 - decay)], [1.0, -decay], inputs["u"])
    return {"y": y, "z": np.cumsum(y) * STEP}


def noise(size: float = 5e-3, seed: int = 0) -> np.ndarray:
    return size * np.random.default_rng(seed).normal(size=TIMES.size)


def late(values: np.ndarray, samples: float) -> np.ndarray:
    return np.interp(TIMES - samples * STEP, TIMES, values)


def estimated(measured: dict[str, np.ndarray], sigma: float | None = 5e-3) -> EstimationResult:
    chosen = [Parameter(n, 1.3 * x, 0.1 * x, 10.0 * x, variable=n) for n, x in TRUE.items()]
    problem = python_problem(measured, TIMES, chosen, inputs={"u": FORCE}, sigma=sigma)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, lag)) as evaluator:
        return run_estimation(problem, evaluator, estimator)


@pytest.mark.each_time("0.005-3.0", "None--3.0", "None-0.4")
@pytest.mark.parametrize("samples", [3.0, -3.0, 0.4])
@pytest.mark.parametrize("sigma", [5e-3, None])
def test_a_delay_is_named_with_its_uncertainty(samples: float, sigma: float | None) -> None:
    result = estimated({"y": late(lag(TIMES, {"u": FORCE}, **TRUE)["y"], samples) + noise()}, sigma)
    assert result.residuals is not None
    (found,) = result.residuals.delays
    assert found.output == "y"
    assert found.delay == pytest.approx(samples * STEP, abs=4.0 * found.error + 0.1 * STEP)
    assert 0.0 < found.error < 0.1 * STEP
    (finding,) = (f for f in result.findings if f.code == "output-delayed")
    assert ("later" if samples > 0.0 else "earlier") in finding.text
    assert f"[parameters.shift] with initial = {found.delay:.3g}" in finding.hint
    assert "estimate its delay" in str(verdict(result).findings)
    assert "delay that the problem does not have" in " ".join(ESTIMATE.text(result).split())


def test_only_the_output_that_is_delayed_is_named() -> None:
    clean = lag(TIMES, {"u": FORCE}, **TRUE)
    measured = {"y": late(clean["y"], 3.0) + noise(), "z": clean["z"] + noise(seed=1)}
    result = estimated(measured)
    assert result.residuals is not None
    assert [d.output for d in result.residuals.delays] == ["y"]


def test_white_residuals_name_no_delay() -> None:
    result = estimated({"y": lag(TIMES, {"u": FORCE}, **TRUE)["y"] + noise()})
    assert result.residuals is not None
    assert result.residuals.delays == ()
    assert "output-delayed" not in {f.code for f in result.findings}


@pytest.mark.parametrize("miss", ["saturation", "drift", "coloured", "friction"])
def test_what_else_a_model_lacks_is_no_delay(miss: str) -> None:
    y = lag(TIMES, {"u": FORCE}, **TRUE)["y"]
    if miss == "saturation":
        y = np.clip(y, -1.2, 1.2)
    elif miss == "drift":
        y = y + 0.1 * TIMES
    elif miss == "friction":
        y = y - 0.3 * np.sign(y)
    else:
        y = y + signal.lfilter([1.0], [1.0, -0.95], noise(0.01, seed=3))
    result = estimated({"y": y + noise()})
    assert result.residuals is not None
    assert result.residuals.autocorrelation > 0.0
    assert result.residuals.delays == ()


def test_data_without_noise_and_without_delay_name_none() -> None:
    result = estimated({"y": lag(TIMES, {"u": FORCE}, **TRUE)["y"]}, None)
    assert result.residuals is not None
    assert result.residuals.delays == ()


def test_a_delay_survives_the_result_file(tmp_path: Path) -> None:
    result = estimated({"y": late(lag(TIMES, {"u": FORCE}, **TRUE)["y"], 3.0) + noise()})
    problem = python_problem({"y": FORCE}, TIMES, [Parameter("a", 1.0, variable="a")])
    JsonReporter().write(dataclasses.replace(result, fits=()), problem, tmp_path)
    read = read_result(tmp_path).result
    assert read.residuals is not None
    assert result.residuals is not None
    assert read.residuals.delays == result.residuals.delays
