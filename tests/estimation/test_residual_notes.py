"""What the notes say about the size and the colour of the residuals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import TimeDomain
from fmident.problem.model import Parameter
from fmident.report.verdict import verdict
from fmident_estimators.least_squares.estimator import LeastSquares

TIMES = np.linspace(0.0, 3.0, 301)


def line(times: np.ndarray, inputs: object, a: float, b: float) -> dict[str, np.ndarray]:
    return {"y": a + b * times}


@pytest.fixture
def codes_of() -> Callable[..., set[str]]:
    """Return the codes of what is said of a fit of a line to a signal."""

    def fit(measured: np.ndarray, sigma: float | None) -> set[str]:
        parameters = [Parameter("a", 0.5, variable="a"), Parameter("b", 0.5, variable="b")]
        problem = python_problem({"y": measured}, TIMES, parameters, sigma=sigma)
        estimator = load_plugins().estimators.get("least-squares")()
        with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
            return {f.code for f in run_estimation(problem, evaluator, estimator).findings}

    return fit


def noise(size: float) -> np.ndarray:
    return 1.0 + 2.0 * TIMES + size * np.random.default_rng(0).normal(size=TIMES.size)


def test_data_without_noise_miss_nothing(codes_of: Callable[..., set[str]]) -> None:
    assert "residuals-coloured" not in codes_of(noise(0.0), None)
    assert "residuals-coloured" in codes_of(noise(0.0) + 0.1 * np.sin(TIMES), None)


def test_sigma_that_is_far_off_is_told(codes_of: Callable[..., set[str]]) -> None:
    assert "sigma-too-large" in codes_of(noise(0.01), 0.03)
    assert not {"sigma-too-large", "sigma-too-small"} & codes_of(noise(0.01), 0.01)
    assert "sigma-too-small" in codes_of(noise(0.01), 0.003)


@pytest.mark.parametrize(("size", "expected"), [(0.01, 1.0), (0.5, 50.0)])
def test_another_cost_is_judged_in_the_time_domain(size: float, expected: float) -> None:
    measured = noise(0.01) + (size if size > 0.01 else 0.0) * np.sqrt(2.0) * np.sin(40.0 * TIMES)
    parameters = [Parameter("a", 0.5, variable="a"), Parameter("b", 0.5, variable="b")]
    problem = dataclasses.replace(
        python_problem({"y": measured}, TIMES, parameters, sigma=0.01),
        cost=TimeDomain(normalisation="mean-square"),
    )
    assert not problem.cost.gives_intervals
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        result = run_estimation(problem, evaluator, estimator)
    assert result.identifiability is None
    assert result.residuals is not None
    assert result.residuals.noise_ratio == pytest.approx(expected, rel=0.05)
    assert (verdict(result).of("model-misfit") is not None) == (size > 0.01)


@pytest.mark.parametrize(("ratio", "told"), [(1.0, False), (8.0, True)])
def test_noise_of_different_size_in_outputs_without_sigma_is_told(ratio: float, told: bool) -> None:
    def two(times: np.ndarray, inputs: object, a: float, b: float) -> dict[str, np.ndarray]:
        return {"y": a + 0.0 * times, "z": b * times}

    rng = np.random.default_rng(4)
    clean = two(TIMES, {}, 1.0, 2.0)
    measured = {
        name: clean[name] + size * rng.normal(size=TIMES.size)
        for name, size in (("y", 0.1 * ratio), ("z", 0.1))
    }
    parameters = [Parameter("a", 0.5, variable="a"), Parameter("b", 0.5, variable="b")]
    problem = python_problem(measured, TIMES, parameters)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, two)) as evaluator:
        result = run_estimation(problem, evaluator, estimator)
    assert ("noise-unequal" in {f.code for f in result.findings}) == told
    if told:
        # Each output tells one parameter, and its own residuals the noise.
        assert result.noise is not None
        assert result.noise.unequal
        assert not result.noise.coloured
        each = zip(result.estimates, "yz", (np.ones(TIMES.size), TIMES), strict=True)
        for estimate, name, column in each:
            left = measured[name] - estimate.value * column
            own = np.sqrt(left @ left / (TIMES.size - 1) / (column @ column))
            assert estimate.standard_error == pytest.approx(own, rel=1e-5)
            freedom = result.noise.degrees_of_freedom[estimate.name]
            assert freedom == pytest.approx(TIMES.size - 1, rel=1e-3)


@pytest.mark.parametrize("sigma", [None, 0.01])
def test_an_output_without_a_finite_sample(sigma: float | None) -> None:
    """A Python problem may hold one; it has no residuals and no range."""
    times = np.linspace(0.0, 4.0, 41)

    def model(times, inputs, a, k):
        y = a * np.exp(-k * times)
        return {"y": y, "empty": 2.0 * y}

    measured = model(times, {}, 1.0, 0.5)["y"] + 0.01 * np.sin(37.0 * times)
    given = {} if sigma is None else {"sigma": sigma}
    problem = python_problem(
        {"y": measured, "empty": np.full(41, np.nan)},
        times,
        [Parameter("a", 1.2, variable="a"), Parameter("k", 0.4, variable="k")],
        **given,
    )
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        found = run_estimation(problem, evaluator, LeastSquares())
    assert found.status == "converged"
    assert found.estimates[0].value == pytest.approx(1.0, abs=0.01)
    assert [np.isfinite(f.rms) for f in found.fits] == [True, False]
