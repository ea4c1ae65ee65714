"""Draws against distributions that are known: normal, Student's t, bent and funnel-shaped."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fmident.errors import Code, EstimationError, ProblemError
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem import Expression, Parameter, Prior, Problem
from fmident_estimators import packages
from fmident_estimators.posterior.estimator import Posterior

from ...refused import refused

TIMES = np.linspace(0.0, 1.0, 20)
X = np.column_stack([np.ones(TIMES.size), TIMES])
SIGMA = 0.2
QUANTILES = (0.025, 0.5, 0.975)


def line(times: np.ndarray, inputs: Any, a: float, b: float, c: float = 1.0) -> Any:
    """Return a line; c has no influence."""
    return {"y": a + b * times}


def measured(seed: int = 1) -> np.ndarray:
    return X @ np.array([1.0, 2.0]) + SIGMA * np.random.default_rng(seed).normal(size=TIMES.size)


def problem(
    y: np.ndarray, sigma: float | None, *more: Parameter, prior: Prior | None = None
) -> Problem:
    parameters = [
        Parameter("a", 0.5, variable="a"),
        Parameter("b", 0.5, variable="b", prior=prior),
        *more,
    ]
    return python_problem({"y": y}, TIMES, parameters, sigma=sigma)


def drawn(found: Problem, model: Any = line, **options: Any) -> EstimationResult:
    with Evaluator(found, PythonExecutor(found, model)) as evaluator:
        return run_estimation(found, evaluator, Posterior(), options)


def flat(result: EstimationResult) -> np.ndarray:
    assert result.draws is not None
    return result.draws.values.reshape(-1, result.draws.values.shape[2])


def check_quantiles(draws: np.ndarray, expected: Callable[[float], float], share: float) -> None:
    """Compare with true quantiles, in parts of the width of the true interval."""
    width = expected(QUANTILES[2]) - expected(QUANTILES[0])
    found = np.quantile(draws, QUANTILES)
    off = (found - np.array([expected(q) for q in QUANTILES])) / width
    assert np.all(np.abs(off) < share), off


@pytest.mark.slow
def test_a_linear_problem_with_prior_is_normal() -> None:
    prior = Prior("normal", 1.8, 0.3)
    result = drawn(problem(measured(), SIGMA, prior=prior))
    assert result.status == "converged"
    information = X.T @ X / SIGMA**2 + np.diag([0.0, 1.0 / prior.sd**2])
    covariance = np.linalg.inv(information)
    mean = covariance @ (X.T @ measured() / SIGMA**2 + [0.0, prior.mean / prior.sd**2])
    for j, e in enumerate(result.estimates):
        check_quantiles(flat(result)[:, j], stats.norm(mean[j], covariance[j, j] ** 0.5).ppf, 0.02)
        assert e.interval_95 == tuple(np.quantile(flat(result)[:, j], [0.025, 0.975]))
        assert e.value == np.median(flat(result)[:, j])
    np.testing.assert_allclose(result.covariance, covariance, rtol=0.08, atol=0.02 * SIGMA**2)


@pytest.mark.slow
def test_unknown_noise_makes_it_students_t() -> None:
    """Jeffreys' prior of the noise: the marginals have as many degrees of freedom as residuals."""
    result = drawn(problem(measured(), None))
    best, (left,), *_ = np.linalg.lstsq(X, measured(), rcond=None)
    freedom = TIMES.size - 2
    errors = np.sqrt(np.diag(np.linalg.inv(X.T @ X)) * left / freedom)
    for j in range(2):
        check_quantiles(flat(result)[:, j], stats.t(freedom, best[j], errors[j]).ppf, 0.02)


@pytest.mark.nightly
@pytest.mark.parametrize("scaling", ["linear", "log"])
@pytest.mark.parametrize("prior", [Prior("normal", 3.0, 0.6), Prior("lognormal", 3.0, 0.9)])
@pytest.mark.parametrize("sigma", [SIGMA, None])
def test_a_prior_alone_is_what_is_drawn(scaling: Any, prior: Prior, sigma: float | None) -> None:
    c = Parameter("c", 2.5, 0.01, 60.0, variable="c", prior=prior, scaling=scaling)
    result = drawn(problem(measured(), sigma, c), effective=3000)
    expected = stats.norm(3.0, 0.6)
    if prior.distribution == "lognormal":
        expected = stats.lognorm(prior.log_sd, scale=prior.center)
    check_quantiles(flat(result)[:, 2], expected.ppf, 0.025)


@pytest.mark.nightly
@pytest.mark.parametrize("scaling", ["linear", "log"])
def test_a_uniform_prior_is_flat_in_the_quantity_itself(scaling: Any) -> None:
    def weak(times: np.ndarray, inputs: Any, c: float) -> Any:
        return {"y": 1e-9 * c * times}

    c = Parameter("c", 2.0, 1.0, 9.0, variable="c", prior=Prior("uniform", lower=1.0, upper=9.0))
    c = dataclasses.replace(c, scaling=scaling)
    found = python_problem({"y": np.zeros(TIMES.size)}, TIMES, [c], sigma=1.0)
    result = drawn(found, weak, effective=3000)
    check_quantiles(flat(result)[:, 0], stats.uniform(1.0, 8.0).ppf, 0.025)


@pytest.mark.nightly
def test_without_a_prior_it_is_flat_in_the_scale_of_the_search() -> None:
    def weak(times: np.ndarray, inputs: Any, c: float) -> Any:
        return {"y": 1e-9 * c * times}

    c = Parameter("c", 2.0, 1.0, 9.0, variable="c", scaling="log")
    found = python_problem({"y": np.zeros(TIMES.size)}, TIMES, [c], sigma=1.0)
    result = drawn(found, weak, effective=3000)
    check_quantiles(np.log(flat(result)[:, 0]), stats.uniform(0.0, np.log(9.0)).ppf, 0.025)


# ------------------------------------------------------------------------ hard targets


def two(
    first: Callable[[float, float], float], second: Callable[[float, float], float]
) -> tuple[Problem, Any]:
    """Return a problem with the two whitened residuals -first(a, b) and -second(a, b)."""

    def model(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
        return {"y": np.array([first(a, b), second(a, b)])}

    parameters = [
        Parameter("a", 0.3, -20.0, 20.0, variable="a"),
        Parameter("b", 0.2, -500.0, 500.0, variable="b"),
    ]
    found = python_problem({"y": np.zeros(2)}, np.array([0.0, 1.0]), parameters, sigma=1.0)
    return found, model


@pytest.mark.slow
@pytest.mark.parametrize("straighten", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_a_banana(straighten: bool) -> None:
    """a is standard normal, and b lies within 0.05 of the parabola 3 a^2."""
    found, model = two(lambda a, b: a, lambda a, b: (b - 3.0 * a * a) / 0.05)
    result = drawn(found, model, straighten=straighten, max_draws=60_000)
    if straighten:
        assert result.status == "converged"
        check_quantiles(flat(result)[:, 0], stats.norm.ppf, 0.02)
        check_quantiles(flat(result)[:, 1], stats.chi2(1, scale=3.0).ppf, 0.02)
        low, high = result.estimates[1].interval_95
        assert high - result.estimates[1].value > 5.0 * (result.estimates[1].value - low)
    else:
        assert result.status == "limit"  # and says so
        assert result.ended_by == "limit"


@pytest.mark.nightly
def test_a_funnel() -> None:
    """a is normal around -1, and b has the standard deviation exp(-a)."""
    found, model = two(lambda a, b: a, lambda a, b: b * np.exp(a))
    result = drawn(found, model, max_draws=400_000, effective=500, r_hat=1.05)
    assert result.status == "converged"
    check_quantiles(flat(result)[:, 0], stats.norm(-1.0, 1.0).ppf, 0.04)
    rng = np.random.default_rng(0)
    a = -1.0 + rng.normal(size=400_000)
    b = rng.normal(size=a.size) * np.exp(-a)
    check_quantiles(flat(result)[:, 1], lambda q: float(np.quantile(b, q)), 0.06)


@pytest.mark.nightly
def test_simulation_based_calibration() -> None:
    """Ranks of the truth among the draws are uniform (Talts and others 2018, algorithm 1)."""

    def decay(times: np.ndarray, inputs: Any, a: float, k: float) -> Any:
        return {"y": a * np.exp(-k * times)}

    known = (Prior("normal", 2.0, 0.3), Prior("lognormal", 1.5, 0.5))
    rng, ranks, bins = np.random.default_rng(5), [], 4
    for number in range(40):
        truth = [
            known[0].mean + known[0].sd * float(rng.normal()),
            known[1].center * np.exp(known[1].log_sd * float(rng.normal())),
        ]
        y = decay(TIMES, {}, *truth)["y"] + SIGMA * rng.normal(size=TIMES.size)
        parameters = [
            Parameter("a", 2.0, variable="a", prior=known[0]),
            Parameter("k", 1.5, 0.0, 50.0, variable="k", prior=known[1]),
        ]
        found = python_problem({"y": y}, TIMES, parameters, sigma=None)
        draws = flat(drawn(found, decay, effective=300, r_hat=1.03, seed=number))
        ranks.append((draws < np.array(truth)).mean(axis=0))
    for column in np.array(ranks).T:
        counts = np.histogram(column, bins=bins, range=(0.0, 1.0))[0]
        assert stats.chisquare(counts).pvalue > 0.005, counts


# ------------------------------------------------------------------------- how it ends


def test_what_has_not_converged_is_no_success() -> None:
    result = drawn(problem(measured(), SIGMA), max_draws=1000, effective=100_000)
    assert result.status == "limit"
    assert "before they agreed" in result.message
    assert result.draws is not None


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_drawn() -> None:
    found, calls = problem(measured(), SIGMA), []

    def model(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
        calls.append(a)
        if len(calls) == 9000:
            raise KeyboardInterrupt
        return line(times, inputs, a, b)

    result = drawn(found, model, effective=50_000)
    assert result.status == "interrupted"
    assert result.draws is not None
    assert 3000 < result.draws.count < 9000
    # The values are those of least cost, as after any interruption.
    best, *_ = np.linalg.lstsq(X, measured(), rcond=None)
    np.testing.assert_allclose([e.value for e in result.estimates], best, rtol=1e-6)


def test_the_seed_decides() -> None:
    found = problem(measured(), SIGMA)
    one, same, other = (drawn(found, seed=seed, effective=200) for seed in (1, 1, 2))
    np.testing.assert_array_equal(flat(one), flat(same))
    assert not np.array_equal(flat(one)[:10], flat(other)[:10])


@pytest.mark.slow
def test_parameters_that_follow_from_others_are_drawn_with_them() -> None:
    ratio = Parameter("ratio", 0.0, expression=Expression("b/a"))
    result = drawn(problem(measured(), SIGMA, ratio))
    own = flat(result)[:, 1] / flat(result)[:, 0]
    assert result.estimates[2].interval_95 == pytest.approx(tuple(np.quantile(own, [0.025, 0.975])))
    low, high = result.estimates[2].interval_95
    assert high - result.estimates[2].value > 1.05 * (result.estimates[2].value - low)


@pytest.mark.slow
def test_an_open_direction_needs_bounds_or_a_prior() -> None:
    def both(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
        return {"y": (a + b) * times}

    with pytest.raises(EstimationError, match="neither bounds nor priors"):
        drawn(problem(measured(), SIGMA), both)
    prior = Prior("normal", 1.8, 0.3)
    result = drawn(problem(measured(), SIGMA, prior=prior), both)
    check_quantiles(flat(result)[:, 1], stats.norm(1.8, 0.3).ppf, 0.02)


def test_data_without_noise_and_without_sigma_have_no_posterior() -> None:
    a = Parameter("a", 0.0, variable="a")
    found = python_problem({"y": np.zeros(9)}, np.arange(9.0), [a])
    with refused(Code.ESTIMATION_FAILED, EstimationError, match="the residuals vanish"):
        drawn(found, lambda times, inputs, a: {"y": a * times})


def test_a_cost_that_is_not_a_likelihood_is_refused() -> None:
    found = problem(measured(), SIGMA)
    cost = type(found.cost)(normalisation="mean-square")
    with refused(Code.INVALID_PROBLEM, ProblemError, match="posterior"):
        drawn(dataclasses.replace(found, cost=cost))


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(packages.importlib, "import_module", missing)
    with refused(
        Code.NOT_INSTALLED, EstimationError, match="needs the package 'arviz-stats'"
    ) as caught:
        packages.imported("arviz_stats.base", "posterior", "posterior")
    assert caught.value.hint == "pip install 'fmident[posterior]'"
