"""What experiments that were not fitted say of an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from fmident.estimation.result import EstimationResult
from fmident.estimation.run import run_estimation
from fmident.estimation.validation import validated
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident.report.verdict import verdict
from fmident_estimators.least_squares.estimator import LeastSquares

SHORT, LONG = np.linspace(0.0, 1.0, 12), np.linspace(2.0, 4.0, 30)


def line(
    times: np.ndarray, inputs: Mapping[str, np.ndarray], a: float, b: float
) -> dict[str, np.ndarray]:
    return {"y": a + b * times}


def judged(
    seed: int, *, sigma: float | None = 0.1, noise: float = 0.1, bend: float = 0.0
) -> EstimationResult:
    """Fit the beginning of a line that bends after it, and validate with the rest."""
    random = np.random.default_rng(seed)

    def measured(times: np.ndarray) -> np.ndarray:
        clean = 1.0 + 2.0 * times + bend * np.maximum(times - 1.0, 0.0) ** 2
        return clean + noise * random.standard_normal(times.size)

    parameters = [Parameter(n, 1.0, variable=n) for n in ("a", "b")]
    problem = python_problem({"y": measured(SHORT)}, SHORT, parameters, sigma=sigma)
    later = python_problem({"y": measured(LONG)}, LONG, parameters, sigma=sigma).experiments[0]
    problem = replace(problem, validation=(replace(later, name="later"),))
    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        found = run_estimation(problem, evaluator, LeastSquares(), {})
    return validated(problem, found, lambda asked: PythonExecutor(asked, line))


@pytest.mark.parametrize("sigma", [0.1, None])
def test_errors_of_the_parameters_are_no_failure(sigma: float | None) -> None:
    """Two units behind twelve samples the line is known to four sigma."""
    for seed in range(6):
        result = judged(seed, sigma=sigma)
        assert result.validation is not None
        assert result.validation.failed == {}
        assert verdict(result).grade == "good"


@pytest.mark.parametrize("sigma", [0.1, None])
def test_a_model_that_fails_is_doubted(sigma: float | None) -> None:
    result = judged(0, sigma=sigma, bend=2.0)
    assert result.validation is not None
    assert result.validation.residuals is not None
    (fit,) = result.validation.fits
    expected = fit.rms / (0.1 if sigma else float(fit.sigma[0]))
    assert result.validation.failed == {"later": pytest.approx(expected)}
    assert result.validation.residuals.noise_ratio == pytest.approx(expected)
    assert verdict(result).grade == "doubtful"
    assert f"'later' are {expected:.3g} times the noise" in verdict(result).headline


def twice_measured(seed: int, bend: float) -> EstimationResult:
    """A line that a coarse and a fine instrument see, without sigma of either."""
    random = np.random.default_rng(seed)

    def both(
        times: np.ndarray, inputs: Mapping[str, np.ndarray], a: float, b: float
    ) -> dict[str, np.ndarray]:
        y = a + b * times
        return {"coarse": y, "fine": y}

    def measured(times: np.ndarray, bend: float) -> dict[str, np.ndarray]:
        clean = 1.0 + 2.0 * times + bend * np.maximum(times - 1.0, 0.0) ** 2
        noise = {"coarse": 0.2, "fine": 0.02}
        return {n: clean + s * random.standard_normal(times.size) for n, s in noise.items()}

    parameters = [Parameter(n, 1.0, variable=n) for n in ("a", "b")]
    times, later = np.linspace(0.0, 1.0, 100), np.linspace(1.0, 1.5, 60)
    problem = python_problem(measured(times, 0.0), times, parameters)
    (other,) = python_problem(measured(later, bend), later, parameters).experiments
    problem = replace(problem, validation=(replace(other, name="later"),))
    with Evaluator(problem, PythonExecutor(problem, both)) as evaluator:
        found = run_estimation(problem, evaluator, LeastSquares(), {})
    return validated(problem, found, lambda asked: PythonExecutor(asked, both))


def test_each_output_is_judged_by_its_own_fitted_residuals() -> None:
    """What the fine instrument sees is below the noise of the coarse one."""
    right = [twice_measured(seed, bend=0.0).validation for seed in range(6)]
    assert [v.failed for v in right if v is not None] == [{}] * 6
    result = twice_measured(0, bend=0.6)
    assert result.validation is not None
    sigma = {f.name: f.sigma[0] for f in result.validation.fits}
    assert sigma == {"coarse": pytest.approx(0.2, rel=0.2), "fine": pytest.approx(0.02, rel=0.4)}
    sizes = [f.rms / sigma[f.name] for f in result.validation.fits]
    expected = float(np.sqrt(np.mean(np.square(sizes))))
    assert result.validation.failed == {"later": pytest.approx(expected)}


def test_what_cannot_be_simulated_is_doubted() -> None:
    result = judged(0)
    assert result.validation is not None
    broken = replace(result.validation, failures={"other": "it ends"})
    judgement = verdict(replace(result, validation=broken))
    assert judgement.grade == "doubtful"
    assert "'other' for validation cannot be simulated" in judgement.headline
