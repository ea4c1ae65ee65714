"""Which parameter to fix first where the data determine a product alone: verdict and page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import Parameter
from fmident.report.estimate import ESTIMATE
from fmident.report.result_json import FILE_NAME, as_json, read_result
from fmident.report.verdict import verdict

from .conftest import section

TIMES = np.linspace(0.0, 1.0, 50)


def model(times: np.ndarray, inputs: object, a: float, b: float, c: float) -> dict:
    return {"y": a * b * np.exp(-c * times)}


@pytest.fixture(scope="module")
def result() -> EstimationResult:
    measured = 6.0 * np.exp(-1.5 * TIMES)
    measured += 0.01 * np.random.default_rng(3).standard_normal(TIMES.size)
    parameters = [Parameter(n, v, variable=n) for n, v in zip("abc", (1.0, 4.0, 1.0), strict=True)]
    problem = python_problem({"y": measured}, TIMES, parameters, sigma=0.01)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, estimator)


def test_the_report_ranks_parameters_for_fixing(result: EstimationResult) -> None:
    assert result.identifiability is not None
    (step,) = result.identifiability.fixing
    page = section(result, "Identifiability")
    assert "Which to fix first" in page
    assert f"<td>{step.name}</td>" in page
    other = "a" if step.name == "b" else "b"
    assert f"{other} -10 %" in page
    assert "fix-first" in {f.code for f in verdict(result).findings}


def test_the_folder_keeps_it(result: EstimationResult, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(json.dumps(as_json(result, "1")))
    again = read_result(tmp_path).result
    assert again.identifiability is not None
    assert result.identifiability is not None
    assert again.identifiability.fixing == result.identifiability.fixing
    assert ESTIMATE.text(again) == ESTIMATE.text(result)


def test_c_alone_has_a_covariance(result: EstimationResult) -> None:
    known = np.isfinite(np.diag(result.covariance))
    np.testing.assert_array_equal(known, [False, False, True])
