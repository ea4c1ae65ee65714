"""Searches with priors where the data leave a narrow valley, or disagree with the priors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from fmident.estimation import Estimate, EstimationResult, Estimator, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.options import Options
from fmident.plugins import load_plugins
from fmident.problem import Parameter, Prior, Problem

ESTIMATORS = load_plugins().estimators
TIMES = np.linspace(0.0, 1.0, 25)
WHITE = np.random.default_rng(0).normal(size=TIMES.size)
PRIOR = Prior("normal", 2.0, 0.1)

SEARCHES = [
    ("least-squares", {}),
    ("scipy-minimize", {"method": "SLSQP"}),
    ("scipy-minimize", {"method": "trust-constr"}),
]


def product(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
    """Return what shows the product of its parameters and nothing else."""
    return {"y": a * b * (1.0 + times)}


def line(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
    return {"y": a + b * times}


def valley(noise: float, start: float, sigma: float | None) -> Problem:
    y = 3.0 * (1.0 + TIMES) + noise * WHITE
    parameters = [
        Parameter("a", start, 0.1, 9.0, variable="a", prior=PRIOR),
        Parameter("b", start, 0.1, 9.0, variable="b"),
    ]
    return python_problem({"y": y}, TIMES, parameters, sigma=sigma)


def estimate(
    problem: Problem, estimator: Estimator[Any], model: Any, **options: Any
) -> EstimationResult:
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, estimator, options)


def values(result: EstimationResult) -> np.ndarray:
    return np.array([e.value for e in result.estimates])


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("start", [1.0, 8.0])
@pytest.mark.parametrize("noise", [0.1, 1e-4, 1e-6])
@pytest.mark.parametrize(("name", "options"), SEARCHES)
def test_searches_follow_a_narrow_valley_to_the_prior(
    name: str, options: dict[str, Any], noise: float, start: float, known: bool
) -> None:
    """The data determine the product alone, so that the prior holds exactly."""
    problem = valley(noise, start, noise if known else None)
    result = estimate(problem, ESTIMATORS.get(name)(), product, **options)
    assert result.status == "converged", result.message
    a, b = values(result)
    x = 1.0 + TIMES
    expected = 3.0 + noise * float(x @ WHITE / (x @ x))
    assert a == pytest.approx(PRIOR.mean, abs=1e-5)
    assert a * b == pytest.approx(expected, rel=1e-6)
    assert result.estimates[0].standard_error == pytest.approx(PRIOR.sd, rel=2e-3)
    assert result.simulations < 100


@pytest.mark.each_time(
    "least-squares-options0-None-1e-08", "scipy-minimize-options1-1e-08-0.0",
    "scipy-minimize-options2-None-0.0",
)  # fmt: skip
@pytest.mark.parametrize("noise", [1e-8, 0.0])
@pytest.mark.parametrize("sigma", [1e-8, None])
@pytest.mark.parametrize(("name", "options"), SEARCHES)
def test_a_valley_of_rounding_leads_to_the_prior_or_is_no_convergence(
    name: str, options: dict[str, Any], sigma: float | None, noise: float
) -> None:
    for start in (1.0, 8.0):
        result = estimate(valley(noise, start, sigma), ESTIMATORS.get(name)(), product, **options)
        there = values(result)[0] == pytest.approx(PRIOR.mean, abs=1e-3)
        assert there or result.status == "limit", (values(result), result.message)


class Early(Estimator[Options]):
    """Ends in the valley and calls that converged, as a population may whose costs agree."""

    name: ClassVar[str] = "early"
    options_type: ClassVar[type[Options]] = Options
    end: ClassVar[tuple[float, float]] = (1.5, 2.0)

    def estimate(
        self, problem: Problem, evaluator: Any, options: Options, monitor: Any
    ) -> Estimate:
        return Estimate(np.array(self.end), "converged", "the costs came together")


@pytest.mark.parametrize("sigma", [1e-6, None])
@pytest.mark.parametrize("noise", [1e-6, 0.0])
def test_five_standard_errors_from_the_least_cost_is_no_convergence(
    noise: float, sigma: float | None
) -> None:
    """Also where nothing is left of the residuals: without noise, priors have their word."""
    result = estimate(valley(noise, 1.0, sigma), Early(), product)
    assert (result.status, result.ended_by) == ("limit", "stuck")
    assert "half a standard error" in result.message
    (note,) = (f.text for f in result.findings if f.code == "away-from-minimum")
    assert "'a' by 5" in note


# ------------------------------------------------------- priors and data that disagree


def disagreeing(slope: float, noise: float, start: float) -> tuple[Problem, np.ndarray]:
    y = 1.0 + slope * TIMES + noise * np.random.default_rng(3).normal(size=TIMES.size)
    parameters = [
        Parameter("a", 1.0, -9.0, 9.0, variable="a"),
        Parameter("b", start, -9.0, 9.0, variable="b", prior=PRIOR),
    ]
    return python_problem({"y": y}, TIMES, parameters), y


def minima(y: np.ndarray) -> list[tuple[float, float]]:
    """Return half the negative logarithm of the density and b of each minimum, the best first."""
    slopes = np.linspace(1.5, 4.5, 30001)
    left = y - y.mean() - slopes[:, np.newaxis] * (TIMES - TIMES.mean())
    squares = np.sum(left**2, axis=1)
    loss = 0.5 * (y.size - 2) * np.log(squares) + 0.5 * ((slopes - PRIOR.mean) / PRIOR.sd) ** 2
    inner = np.flatnonzero((loss[1:-1] < loss[:-2]) & (loss[1:-1] < loss[2:])) + 1
    return sorted((float(loss[k]), float(slopes[k])) for k in inner)


@pytest.mark.each_time(
    "least-squares-False-2.5", "least-squares-True-3.0", "least-squares-False-3.3",
    "scipy-minimize-True-2.9", "scipy-minimize-False-3.1", "scipy-minimize-True-3.5",
)  # fmt: skip
@pytest.mark.parametrize("slope", [2.5, 2.9, 3.0, 3.1, 3.3, 3.5])
@pytest.mark.parametrize("at_data", [False, True])
@pytest.mark.parametrize("name", ["least-squares", "scipy-minimize"])
def test_the_better_of_two_minima_is_returned_and_the_other_named(
    name: str, at_data: bool, slope: float
) -> None:
    """Little noise and a wrong prior, or a right prior and much noise: from either start."""
    problem, y = disagreeing(slope, 0.02, slope if at_data else PRIOR.mean)
    result = estimate(problem, ESTIMATORS.get(name)(), line)
    expected = minima(y)
    assert result.status == "converged", result.message
    assert values(result)[1] == pytest.approx(expected[0][1], abs=1e-3)
    two = [f for f in result.findings if f.code == "second-minimum"]
    assert len(two) == len(expected) - 1
    if two:
        (said,) = (f.text for f in result.findings if f.code == "search")
        likely = float(np.exp(expected[0][0] - expected[1][0]))
        assert float(said.split(" times as likely")[0].split()[-1]) == pytest.approx(likely, 0.05)
        other = float(said.split("b = ")[1])
        assert other == pytest.approx(expected[1][1], abs=1e-3)


def test_a_population_names_the_other_minimum() -> None:
    problem, y = disagreeing(3.0, 0.02, PRIOR.mean)
    estimator = ESTIMATORS.get("differential-evolution")()
    result = estimate(problem, estimator, line, seed=1)
    best, other = minima(y)
    assert values(result)[1] == pytest.approx(best[1], abs=1e-2)
    assert "second-minimum" in {f.code for f in result.findings}
    (note,) = (f.text for f in result.findings if "b = " in f.text)
    assert float(note.split("b = ")[1].split(",")[0]) == pytest.approx(other[1], abs=1e-3)
    assert "where the cost is not lower" in note


def decay(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
    return {"y": a * np.exp(-3.0 * b * times)}


@pytest.mark.each_time(
    "least-squares-1.0-2.3", "least-squares-3.0-2.8", "least-squares-1.0-3.3",
    "scipy-minimize-3.0-2.5", "scipy-minimize-1.0-2.8",
)  # fmt: skip
@pytest.mark.parametrize("rate", [2.3, 2.5, 2.8, 3.3])
@pytest.mark.parametrize("start", [1.0, 3.0])
@pytest.mark.parametrize("name", ["least-squares", "scipy-minimize"])
def test_the_better_minimum_is_found_where_the_linearised_model_knows_of_none(
    name: str, start: float, rate: float
) -> None:
    """A decay that is faster than a prior of its rate, by up to twenty standard deviations."""
    times = np.linspace(0.0, 1.0, 60)
    y = decay(times, {}, 2.0, rate)["y"] + 0.003 * np.random.default_rng(1).normal(size=60)
    prior = Prior("lognormal", 1.0, 0.06)
    parameters = [
        Parameter("a", 1.0, 0.01, 20.0, variable="a"),
        Parameter("b", start, 0.01, 20.0, variable="b", prior=prior),
    ]
    problem = python_problem({"y": y}, times, parameters)
    result = estimate(problem, ESTIMATORS.get(name)(), decay)
    rates = np.linspace(0.8, 4.0, 20001)
    shapes = np.exp(-3.0 * rates[:, np.newaxis] * times)
    left = y @ y - (shapes @ y) ** 2 / np.sum(shapes**2, axis=1)
    loss = 58 * np.log(left) + np.array([prior.deviation(b) for b in rates]) ** 2
    inner = np.flatnonzero((loss[1:-1] < loss[:-2]) & (loss[1:-1] < loss[2:])) + 1
    best, *others = sorted(inner, key=lambda k: float(loss[k]))
    if result.status == "limit":  # the noise settles slowly where one minimum becomes two
        assert (name, rate) == ("scipy-minimize", 2.5)
        assert "the limit of iterations is reached" in result.message
        return
    assert result.status == "converged", result.message
    assert values(result)[1] == pytest.approx(rates[best], rel=1e-3)
    two = [f for f in result.findings if f.code == "second-minimum"]
    assert len(two) == len(others)
    if two:
        (said,) = (f.text for f in result.findings if "b = " in f.text)
        other = float(said.split("b = ")[1])
        assert other == pytest.approx(rates[others[0]], rel=1e-3)
