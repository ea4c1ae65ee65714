"""Estimates with priors, against closed forms of linear problems and against quadrature."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from fmident.errors import Code, ProblemError
from fmident.estimation import EstimationResult, run_estimation, run_stages
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import EstimatorSettings, Expression, Parameter, Prior, Problem, stage_of
from fmident.profiles import run_profiles
from fmident.report.estimate import ESTIMATE
from fmident.report.verdict import verdict

from ..refused import refused

ESTIMATORS = load_plugins().estimators
TIMES = np.linspace(0.0, 1.0, 25)
SIGMA = 0.1
X = np.column_stack([np.ones(TIMES.size), TIMES])
TRUTH = np.array([1.0, 2.0])
PRIOR = Prior("normal", 1.9, 0.15)


def line(times: np.ndarray, inputs: Any, a: float, b: float, c: float = 0.0) -> Any:
    """Return a line, linear in its parameters; c has no influence."""
    return {"y": a + b * times}


def measured(seed: int = 1, truth: np.ndarray = TRUTH, noise: float = SIGMA) -> np.ndarray:
    return X @ truth + noise * np.random.default_rng(seed).normal(size=TIMES.size)


def problem(
    y: np.ndarray, sigma: float | None = SIGMA, prior: Prior | None = PRIOR, **a: Any
) -> Problem:
    parameters = [
        Parameter("a", 0.5, -9.0, 9.0, variable="a", **a),
        Parameter("b", 0.5, -9.0, 9.0, variable="b", prior=prior),
    ]
    return python_problem({"y": y}, TIMES, parameters, sigma=sigma)


def estimate(
    found: Problem, name: str = "least-squares", model: Any = line, **options: Any
) -> EstimationResult:
    with Evaluator(found, PythonExecutor(found, model)) as evaluator:
        return run_estimation(found, evaluator, ESTIMATORS.get(name)(), options)


def values(result: EstimationResult) -> np.ndarray:
    return np.array([e.value for e in result.estimates])


def posterior(y: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the linear Gaussian problem (Box and Tiao, section 2.7)."""
    information = X.T @ X / sigma**2 + np.diag([0.0, 1.0 / PRIOR.sd**2])
    covariance = np.linalg.inv(information)
    right = X.T @ y / sigma**2 + np.array([0.0, PRIOR.mean / PRIOR.sd**2])
    return covariance @ right, covariance


def test_known_noise_is_bayesian_linear_regression() -> None:
    y = measured()
    result = estimate(problem(y))
    mean, covariance = posterior(y, SIGMA)
    np.testing.assert_allclose(values(result), mean, rtol=1e-7)
    np.testing.assert_allclose(result.covariance, covariance, rtol=1e-6)
    low, high = result.estimates[1].interval_95
    assert high - low == pytest.approx(2.0 * 1.959964 * np.sqrt(covariance[1, 1]), rel=1e-5)


def marginal(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviations with the noise integrated out, by quadrature.

    The prior of the noise is Jeffreys', 1/sigma; given sigma everything is Gaussian.
    """
    sigmas = SIGMA * np.geomspace(0.2, 5.0, 4001)
    means, variances, logs = [], [], []
    for s in sigmas:
        mean, covariance = posterior(y, s)
        r = y - X @ mean
        d = (mean[1] - PRIOR.mean) / PRIOR.sd
        _sign, logdet = np.linalg.slogdet(covariance)
        logs.append(-y.size * np.log(s) - 0.5 * (r @ r / s**2 + d * d) + 0.5 * logdet)
        means.append(mean)
        variances.append(np.diag(covariance))
    # Equal steps of ln(sigma) are what Jeffreys' prior asks for.
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    spread = weights @ (np.array(variances) + (np.array(means) - mean) ** 2)
    return mean, np.sqrt(spread)


@pytest.mark.parametrize("seed", range(4))
def test_unknown_noise_is_weighed_as_by_quadrature(seed: int) -> None:
    """Value and interval are those of the marginal posterior, as near as 25 samples let them."""
    y = measured(seed)
    result = estimate(problem(y, sigma=None))
    mean, spread = marginal(y)
    np.testing.assert_allclose((values(result) - mean) / spread, 0.0, atol=0.05)
    for e, width in zip(result.estimates, spread, strict=True):
        assert (e.interval_95[1] - e.interval_95[0]) / width == pytest.approx(2 * 1.96, rel=0.06)


def test_the_balance_does_not_depend_on_the_weight_of_an_output() -> None:
    """Unknown noise: the unit in which residuals count must not matter, as weights of 1 would."""
    y = measured()
    one = estimate(problem(y, sigma=None))
    found = problem(y, sigma=None)
    (e,) = found.experiments
    heavy = tuple(dataclasses.replace(m, weight=1e3) for m in e.measurements)
    two = estimate(
        dataclasses.replace(found, experiments=(dataclasses.replace(e, measurements=heavy),))
    )
    np.testing.assert_allclose(values(one), values(two), rtol=1e-7)
    np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-5)


@pytest.mark.nightly
@pytest.mark.parametrize("sigma", [SIGMA, None])
def test_intervals_cover_the_truth_that_the_prior_draws(sigma: float | None) -> None:
    rng, inside, draws = np.random.default_rng(7), np.zeros(2), 200
    for k in range(draws):
        truth = np.array([1.0, PRIOR.mean + PRIOR.sd * rng.normal()])
        result = estimate(problem(measured(1000 + k, truth, noise=0.3), sigma and 0.3))
        inside += [
            e.interval_95[0] <= t <= e.interval_95[1]
            for e, t in zip(result.estimates, truth, strict=True)
        ]
    # 200 draws of 95 %: three standard deviations are 4.6 %.
    assert np.all(np.abs(inside / draws - 0.95) < 0.047), inside


def test_a_parameter_that_the_data_do_not_show_is_determined_by_its_prior_alone() -> None:
    found = problem(measured(), prior=None)
    silent = Parameter("c", 3.0, variable="c", prior=Prior("normal", 2.0, 0.25))
    result = estimate(dataclasses.replace(found, parameters=(*found.parameters, silent)))
    c = result.estimates[2]
    assert (c.value, c.standard_error) == (pytest.approx(2.0), pytest.approx(0.25))
    assert result.identifiability is not None
    assert result.identifiability.full_rank
    assert "The data alone have rank 2 of 3" in result.identifiability.verdict
    assert "c is determined by its prior alone" in result.identifiability.verdict
    assert result.priors is not None
    (check,) = result.priors.checks
    assert check.alone
    assert check.share == pytest.approx(1.0)
    assert np.isnan(check.data_value)
    assert result.priors.compared == 0
    assert "every parameter is determined by the data and the priors" in verdict(result).headline


def tangled(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
    return {"y": (a + b) * times}


def test_parameters_that_the_data_cannot_tell_apart_are_told_apart_by_a_prior() -> None:
    y = 3.0 * TIMES + SIGMA * np.random.default_rng(3).normal(size=TIMES.size)
    result = estimate(problem(y), model=tangled)
    a, b = result.estimates
    total = float(TIMES @ y / (TIMES @ TIMES))
    assert b.value == pytest.approx(PRIOR.mean, rel=1e-6)
    assert a.value + b.value == pytest.approx(total, rel=1e-6)
    assert b.standard_error == pytest.approx(PRIOR.sd, rel=1e-6)
    assert result.priors is not None
    assert result.priors.left_open == ("a", "b")
    assert result.identifiability is not None
    assert "a is determined only by data and priors together" in result.identifiability.verdict


def test_shares_are_those_of_the_covariance() -> None:
    y = measured()
    result = estimate(problem(y))
    _, covariance = posterior(y, SIGMA)
    by_prior = covariance[:, 1] ** 2 / PRIOR.sd**2
    assert result.priors is not None
    shares = [result.priors.shares[n] for n in ("a", "b")]
    np.testing.assert_allclose(shares, by_prior / np.diag(covariance), rtol=1e-6)
    # What the data alone say is the fit without the prior.
    alone = estimate(problem(y, prior=None)).estimates[1]
    (check,) = result.priors.checks
    assert check.data_value == pytest.approx(alone.value, rel=1e-7)
    assert check.data_error == pytest.approx(alone.standard_error, rel=1e-6)


@pytest.mark.parametrize("sigma", [SIGMA, None])
def test_conflict_is_the_distance_of_prior_and_data(sigma: float | None) -> None:
    y = measured()
    alone = estimate(problem(y, sigma, prior=None)).estimates[1]
    far = Prior("normal", alone.value + 6.0 * np.hypot(alone.standard_error, 0.05), 0.05)
    result = estimate(problem(y, sigma, prior=far))
    assert result.priors is not None
    (check,) = result.priors.checks
    if sigma is not None:
        # Box 1980: the estimate of the data before the data are seen is normal.
        assert check.deviation == pytest.approx(-6.0, rel=1e-6)
        assert result.priors.distance == pytest.approx(36.0, rel=1e-6)
        assert result.priors.p_value == pytest.approx(stats.chi2.sf(36.0, 1), rel=1e-5)
    assert result.priors.p_value < 1e-3
    assert [c.name for c in result.priors.conflict] == ["b"]
    assert "prior-conflict" in {f.code for f in result.findings}
    assert "the data contradict the prior of b" in " ".join(verdict(result).headline.split())


@pytest.mark.nightly
def test_p_values_are_uniform_where_the_prior_holds() -> None:
    rng, found = np.random.default_rng(11), []
    for k in range(150):
        truth = np.array([1.0, PRIOR.mean + PRIOR.sd * rng.normal()])
        priors = estimate(problem(measured(5000 + k, truth, 0.3), None)).priors
        assert priors is not None
        found.append(priors.p_value)
    assert stats.kstest(found, "uniform").pvalue > 0.01


@pytest.mark.nightly
@pytest.mark.parametrize("sigma", [0.3, None])
def test_coloured_noise_is_no_conflict(sigma: float | None) -> None:
    """AR(1) noise of 0.8: intervals cover, and what the prior drew is seldom called a conflict."""
    rng, times = np.random.default_rng(3), np.linspace(0.0, 1.0, 300)
    found, inside, draws = [], np.zeros(2), 150
    for _ in range(draws):
        truth = np.array([1.0, PRIOR.mean + PRIOR.sd * rng.normal()])
        noise = lfilter([0.6], [1.0, -0.8], rng.normal(size=900))[600:] * 0.3
        y = line(times, {}, *truth)["y"] + noise
        parameters = problem(measured(), sigma).parameters
        result = estimate(python_problem({"y": y}, times, parameters, sigma=sigma))
        assert result.priors is not None
        found.append(result.priors.p_value)
        inside += [
            e.interval_95[0] <= t <= e.interval_95[1]
            for e, t in zip(result.estimates, truth, strict=True)
        ]
    assert np.mean(np.array(found) < 0.05) < 0.11
    assert np.all(inside / draws > 0.9), inside


def test_a_lognormal_prior_is_normal_in_logarithms() -> None:
    def power(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
        return {"y": np.log(b) * times + a}

    prior = Prior("lognormal", 7.0, 1.4)
    result = estimate(problem(measured(), prior=prior), model=power)
    # Linear in a and ln(b).
    information = X.T @ X / SIGMA**2 + np.diag([0.0, prior.log_sd**-2])
    right = X.T @ measured() / SIGMA**2 + np.array([0.0, np.log(prior.center) / prior.log_sd**2])
    a, log_b = np.linalg.solve(information, right)
    np.testing.assert_allclose(values(result), [a, np.exp(log_b)], rtol=1e-6)
    e = result.estimates[1]
    error = np.sqrt(np.linalg.inv(information)[1, 1])
    assert e.standard_error == pytest.approx(e.value * error, rel=1e-4)


@pytest.mark.parametrize("scaling", ["linear", "log"])
def test_scaling_does_not_matter(scaling: Any) -> None:
    found = problem(measured())
    b = dataclasses.replace(found.parameters[1], lower=0.01, scaling=scaling)
    result = estimate(dataclasses.replace(found, parameters=(found.parameters[0], b)))
    np.testing.assert_allclose(values(result), posterior(measured(), SIGMA)[0], rtol=1e-6)


@pytest.mark.parametrize("sigma", [SIGMA, None])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("scipy-minimize", {}),
        ("differential-evolution", {"generations": 300, "seed": 1}),
        ("least-squares", {}),
        ("least-squares", {"starts": 3}),
    ],
)
def test_every_kind_of_search_finds_the_same(
    name: str, options: dict[str, Any], sigma: float | None
) -> None:
    found = problem(measured(), sigma)
    expected = estimate(found)
    result = estimate(found, name, **options)
    np.testing.assert_allclose(values(result), values(expected), atol=2e-4)
    np.testing.assert_allclose(result.covariance, expected.covariance, rtol=1e-2)


@pytest.mark.parametrize("sigma", [SIGMA, None])
def test_a_profile_counts_the_prior(sigma: float | None) -> None:
    found = problem(measured(), sigma)
    result = estimate(found)
    with Evaluator(found, PythonExecutor(found, line)) as evaluator:
        profiles = run_profiles(found, evaluator, values(result))
    for p, e in zip(profiles.profiles, result.estimates, strict=True):
        # The noise is known better than a profile knows, where a prior brings part of the rest.
        tolerance = 1e-3 if sigma is not None else 0.06
        width = e.interval_95[1] - e.interval_95[0]
        assert p.upper.value - p.lower.value == pytest.approx(width, rel=tolerance)


# --------------------------------------------------------- a valley that the data leave open

FAR = Prior("normal", 2.0, 0.1)
VALLEY = (
    Parameter("a", 1.0, 0.1, 9.0, variable="a", prior=FAR),
    Parameter("b", 1.0, 0.1, 9.0, variable="b"),
)


def product(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
    """Return what shows the product of its parameters and nothing else."""
    return {"y": a * b * (1.0 + times)}


def valley(noise: float) -> Problem:
    white = np.random.default_rng(0).normal(size=TIMES.size)
    return python_problem({"y": 3.0 * (1.0 + TIMES) + noise * white}, TIMES, VALLEY)


@pytest.mark.parametrize("noise", [0.3, 1e-2, 1e-8, 0.0])
def test_a_search_follows_a_valley_to_the_prior(noise: float) -> None:
    """Ten standard deviations along the curve a*b = constant, whose walls are noise apart."""
    found = valley(noise)
    result = estimate(found, model=product)
    (y,) = (m.values for m in found.experiments[0].measurements)
    x = 1.0 + TIMES
    assert result.status == "converged", result.message
    a, b = values(result)
    # The data determine the product alone, so that the prior holds exactly.
    assert a == pytest.approx(FAR.mean, abs=1e-5)
    assert a * b == pytest.approx(float(x @ y / (x @ x)), rel=1e-6)
    assert result.simulations < 100
    if noise:
        assert result.estimates[0].standard_error == pytest.approx(FAR.sd, rel=1e-3)


@pytest.mark.parametrize("slope", [2.1, 2.4, 3.0])
def test_where_a_search_ends_the_concentrated_posterior_is_flat(slope: float) -> None:
    """From agreement to a conflict of ten standard deviations, by differences of the density."""
    y = measured(truth=np.array([1.0, slope]), noise=0.02)
    found = problem(y, sigma=None, prior=FAR)
    result = estimate(found)
    assert result.status == "converged", result.message

    def density(p: np.ndarray) -> float:
        r = y - X @ p
        return float(-0.5 * (y.size - 2) * np.log(r @ r) - 0.5 * FAR.deviation(p[1]) ** 2)

    best = density(values(result))
    for direction in np.linalg.cholesky(result.covariance).T:
        ahead, behind = (density(values(result) + s * 1e-2 * direction) for s in (1.0, -1.0))
        assert max(ahead, behind) < best
        # Half the difference is the slope, per standard error: far less than one.
        assert abs(ahead - behind) / 2e-2 < 1e-3


def test_what_cannot_weigh_a_prior_refuses_it() -> None:
    found = problem(measured())
    with refused(Code.NOT_SUPPORTED, ProblemError, match="'b' has a prior, but the estimator"):
        estimate(found, "linear-regression")
    unknown = python_problem({"y": measured()}, TIMES, found.parameters)
    for name in ("least-squares", "scipy-minimize"):
        with refused(Code.NOT_SUPPORTED, ProblemError, match="is not known without sigma"):
            estimate(unknown, name, loss="huber")
    mean = type(found.cost)(normalisation="mean-square")
    with refused(Code.NOT_SUPPORTED, ProblemError, match="is not a likelihood"):
        estimate(dataclasses.replace(found, cost=mean))
    few = python_problem({"y": measured()[:2]}, TIMES[:2], found.parameters)
    with refused(
        Code.INVALID_PROBLEM,
        ProblemError,
        match="2 samples cannot tell it together with 2 parameters",
    ):
        estimate(few)


def test_the_terminal_shows_what_contributed() -> None:
    text = ESTIMATE.text(estimate(problem(measured())))
    assert "by the data alone" in text
    assert "normal, 1.9 +- 0.15" in text


# ------------------------------------------------------------------------------ in stages


def staged(sigma: float | None, prior_of: str) -> Problem:
    """Return a line whose offset is found first, its slope after that."""
    found = problem(measured(), sigma, prior=None)
    a, b = found.parameters
    known = {"a": Prior("normal", 1.05, 0.02), "b": Prior("normal", 1.9, 0.1)}
    both = Parameter("end", 0.0, expression=Expression("a + b"), prior=Prior("normal", 3.05, 0.03))
    parameters: Sequence[Parameter] = (
        (a, b, both)
        if prior_of == "end"
        else tuple(
            dataclasses.replace(q, prior=known[q.name]) if q.name == prior_of else q for q in (a, b)
        )
    )
    found = dataclasses.replace(found, parameters=tuple(parameters))
    found = dataclasses.replace(found, estimator=EstimatorSettings("least-squares"))
    stages = (stage_of(found, "first", free=["a"]), stage_of(found, "second", free=["b"]))
    return dataclasses.replace(found, stages=stages)


@pytest.mark.parametrize("prior_of", ["a", "b", "end"])
def test_stages_count_priors_as_the_closed_form_does(prior_of: str) -> None:
    found = staged(SIGMA, prior_of)
    result = run_stages(
        found, lambda asked: PythonExecutor(asked, line), lambda name: ESTIMATORS.get(name)()
    )
    t = TIMES
    # The answer of each stage to all noises: of the samples, and of the prior.
    rows = {"a": (1.0, 0.0, 0.02), "b": (0.0, 1.0, 0.1), "end": (1.0, 1.0, 0.03)}[prior_of]
    first = np.append(np.ones(t.size) / SIGMA, rows[0] / rows[2])
    second = np.append(t / SIGMA, rows[1] / rows[2])
    answer_a = first / (first @ first)
    answer_b = second / (second @ second)
    answer_b = answer_b - (answer_b @ first) * answer_a
    # A prior that does not move with what a stage searches has no row in it.
    expected = [np.linalg.norm(answer_a), np.linalg.norm(answer_b)]
    errors = [e.standard_error for e in result.estimates[:2]]
    np.testing.assert_allclose(errors, expected, rtol=1e-5)
    assert result.priors is not None
