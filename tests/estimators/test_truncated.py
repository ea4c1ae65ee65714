"""Truncated singular value decomposition of ``least-squares`` against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from fmident.errors import ProblemError
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import Parameter

TIMES = np.linspace(0.0, 1.0, 40)
SIGMA = 0.01


def parameter(name, initial, low=-np.inf, high=np.inf, **more):
    return Parameter(name, initial, low, high, variable=name, **{"scale": abs(initial)} | more)


def noise(seed=0, sigma=SIGMA):
    return sigma * np.random.default_rng(seed).standard_normal(TIMES.size)


def run(model, measured, parameters, sigma=SIGMA, **options) -> EstimationResult:
    given = {} if sigma is None else {"sigma": sigma}
    problem = python_problem({"y": measured}, TIMES, parameters, **given)
    estimator = load_plugins().estimators.get("least-squares")()
    chosen = {"truncate": "auto"} | options
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, estimator, chosen)


def linear(columns):
    names = "abcdefg"[: columns.shape[1]]

    def model(times, inputs, **p):
        return {"y": columns @ np.array([p[n] for n in names])}

    return model


def truncated_solution(columns, measured, start, scales, keep):
    """Return the estimate, its covariance and the resolution by the singular values, by hand."""
    left, values, right = np.linalg.svd(columns * scales / SIGMA, full_matrices=False)
    moved = right[:keep].T
    step = moved @ ((left[:, :keep].T @ ((measured - columns @ start) / SIGMA)) / values[:keep])
    covariance = (moved / values[:keep] ** 2) @ moved.T * np.outer(scales, scales)
    return start + scales * step, covariance, moved @ moved.T, values


RANK_TWO = np.column_stack([np.ones(40), TIMES, 2.0 * np.ones(40) - TIMES])


def test_a_linear_problem_has_the_truncated_pseudo_inverse():
    start, scales = np.array([1.0, 2.0, -1.0]), np.array([1.0, 2.0, 0.5])
    measured = RANK_TWO @ np.array([0.3, 1.0, 0.7]) + noise()
    given = [parameter(n, s, scale=w) for n, s, w in zip("abc", start, scales, strict=True)]
    found = run(linear(RANK_TWO), measured, given)
    exact, covariance, resolution, values = truncated_solution(RANK_TWO, measured, start, scales, 2)
    assert found.status == "converged"
    np.testing.assert_allclose(list(found.values.values()), exact, rtol=1e-6)
    held = found.truncation
    assert held is not None
    assert held.rank == 2
    np.testing.assert_allclose(held.singular_values[:2], values[:2], rtol=1e-6)
    np.testing.assert_allclose([p.resolution for p in held.parameters], np.diag(resolution))
    np.testing.assert_allclose(
        [p.standard_error for p in held.parameters], np.sqrt(np.diag(covariance)), rtol=1e-5
    )
    across = (np.eye(3) - resolution) * scales[:, np.newaxis] / scales
    shown = np.array([[held.bias[i][j] for j in "abc"] for i in "abc"])
    np.testing.assert_allclose(shown, across, atol=1e-7)
    # No combination of all three alone is known: no interval pretends to.
    for estimate in found.estimates:
        assert np.isnan(estimate.standard_error)
        assert np.isnan(estimate.interval_95).all()
    assert held.held == ("a", "b", "c")
    assert np.isnan(held.p_value)  # the data say nothing of what was held


def test_what_the_data_do_not_see_leaves_the_others_alone():
    """The interval of a parameter outside of what is held is that of least squares."""
    columns = np.column_stack([TIMES, np.ones(40), np.ones(40)])
    measured = columns @ np.array([2.0, 1.0, 1.0]) + noise(1)
    found = run(linear(columns), measured, [parameter(n, 0.5) for n in "abc"])
    a, b, c = found.estimates
    plain, *_ = np.linalg.lstsq(columns[:, :2], measured)
    error = SIGMA * np.sqrt(np.linalg.inv(columns[:, :2].T @ columns[:, :2])[0, 0])
    assert a.value == pytest.approx(plain[0], rel=1e-7)
    assert a.standard_error == pytest.approx(error, rel=1e-6)
    half = stats.norm.ppf(0.975) * error
    assert a.interval_95 == pytest.approx((a.value - half, a.value + half), rel=1e-6)
    assert b.value == pytest.approx(c.value)  # both moved alike from the same start
    assert b.value + c.value == pytest.approx(plain[1], rel=1e-7)
    assert found.truncation is not None
    assert found.truncation.held == ("b", "c")
    b_of = found.truncation.parameters[1]
    assert b_of.resolution == pytest.approx(0.5)
    assert b_of.start_error == pytest.approx(0.5 * np.sqrt(0.5))  # of a scale of 0.5
    assert found.truncation.bias["b"]["c"] == pytest.approx(-0.5)


def test_the_rank_follows_from_the_noise():
    """A direction is kept where its standard error is below one scale."""
    nearly = np.column_stack([np.ones(40), 1.0 + 1e-3 * TIMES])
    measured = nearly @ np.array([1.0, 1.0])
    start = np.array([0.9, 1.1])
    _, _, _, values = truncated_solution(nearly, measured, start, start, 2)
    assert values[1] < 1.0  # at the noise of 0.01
    coarse = run(
        linear(nearly), measured, [parameter(n, s) for n, s in zip("ab", start, strict=True)]
    )
    assert coarse.truncation is not None
    assert coarse.truncation.rank == 1
    exact, *_ = truncated_solution(nearly, measured, start, start, 1)
    np.testing.assert_allclose(list(coarse.values.values()), exact, rtol=1e-6)
    fine = run(
        linear(nearly),
        measured,
        [parameter(n, s) for n, s in zip("ab", start, strict=True)],
        sigma=1e-4,
    )
    assert fine.truncation is None
    assert any("Nothing was truncated" in note for note in fine.notes)
    np.testing.assert_allclose(list(fine.values.values()), [1.0, 1.0], rtol=1e-6)
    by_ratio = run(
        linear(nearly),
        measured,
        [parameter(n, s) for n, s in zip("ab", start, strict=True)],
        sigma=1e-4,
        truncate=0.01,
    )
    assert by_ratio.truncation is not None
    assert by_ratio.truncation.rule == "relative"
    np.testing.assert_allclose(list(by_ratio.values.values()), exact, rtol=1e-6)


def product(times, inputs, a, b, c):
    return {"y": a * b * np.exp(-c * times)}


def test_a_product_is_fitted_by_the_point_nearest_to_the_start():
    """Data without noise: outputs as of the whole solution; a and b on their hyperbola."""
    measured = product(TIMES, {}, 2.0, 3.0, 1.5)["y"]
    start = (1.0, 4.0, 1.0)
    found = run(product, measured, [parameter(n, s) for n, s in zip("abc", start, strict=True)])
    assert found.status == "converged"
    a, b, c = found.values.values()
    assert c == pytest.approx(1.5, rel=1e-6)
    assert a * b == pytest.approx(6.0, rel=1e-6)
    assert found.cost_final < 1e-10
    near = optimize.minimize_scalar(
        lambda x: (x - 1.0) ** 2 + (6.0 / x / 4.0 - 1.0) ** 2,
        bounds=(0.5, 5.0),
        options={"xatol": 1e-12},
    )
    assert a == pytest.approx(near.x, rel=1e-5)
    assert found.truncation is not None
    assert found.truncation.held == ("a", "b")
    (third,) = (e for e in found.estimates if e.name == "c")
    assert np.isfinite(third.standard_error)
    assert third.interval_95[0] < 1.5 < third.interval_95[1]


@pytest.mark.each_time("start2-scales2")
@pytest.mark.parametrize(
    ("start", "scales"),
    [
        ((30.0, 1.0), (1.0, 1.0)),  # far outside: directions turn by 30 times as much as the point
        ((5.0, 3.0), (1.0, 10.0)),  # the directions at the start do not lead to what fits
        ((0.1, 0.05), (1.0, 10.0)),
    ],
)
def test_what_fits_may_be_bent(start, scales):
    """Of ``a^2 + b^2`` only the radius is known: the point of the circle nearest to the start."""
    measured = (1.0 + TIMES) + noise(1, 1e-4)
    given = [parameter(n, s, scale=w) for n, s, w in zip("ab", start, scales, strict=True)]
    found = run(lambda t, u, a, b: {"y": (a * a + b * b) * (1.0 + t)}, measured, given, sigma=1e-3)
    assert found.status == "converged"
    a, b = found.values.values()
    radius = np.sqrt((1.0 + TIMES) @ measured / np.sum((1.0 + TIMES) ** 2))
    assert np.hypot(a, b) == pytest.approx(radius, rel=1e-7)

    def distance(angle):
        point = radius * np.array([np.cos(angle), np.sin(angle)])
        return np.sum(((point - start) / scales) ** 2)

    near = optimize.minimize_scalar(
        distance, bounds=(0.0, 0.5 * np.pi), method="bounded", options={"xatol": 1e-12}
    )
    assert np.arctan2(b, a) == pytest.approx(near.x, abs=2e-5)


def test_on_a_logarithmic_scale_the_ratio_stays():
    measured = product(TIMES, {}, 2.0, 3.0, 1.5)["y"] + noise(3)
    given = [parameter("a", 1.0, scaling="log"), parameter("b", 4.0, scaling="log")]
    found = run(product, measured, [*given, parameter("c", 1.0)])
    values = found.values
    assert values["b"] / values["a"] == pytest.approx(4.0, rel=1e-6)
    whole = optimize.least_squares(
        lambda x: (x[0] * np.exp(-x[1] * TIMES) - measured) / SIGMA, [5.0, 1.0], xtol=1e-15
    )
    assert values["a"] * values["b"] == pytest.approx(whole.x[0], rel=1e-6)
    assert values["c"] == pytest.approx(whole.x[1], rel=1e-6)
    held = found.truncation
    assert held is not None
    assert [p.resolution for p in held.parameters] == pytest.approx([0.5, 0.5, 1.0])
    # A start of b that is 1 % too large makes b half a percent larger, and a so much smaller.
    assert held.bias["b"]["b"] == pytest.approx(0.5)
    assert held.bias["a"]["b"] * values["b"] / values["a"] == pytest.approx(-0.5)


def test_the_bias_is_what_another_start_does():
    """The bias operator against estimates from moved starts."""
    measured = product(TIMES, {}, 2.0, 3.0, 1.5)["y"] + noise(4)
    given = [("a", 1.8, 1.0), ("b", 3.1, 0.5), ("c", 1.4, 1.0)]

    def estimated(moved="", by=0.0):
        start = [parameter(n, s + by * (n == moved), scale=w) for n, s, w in given]
        return run(product, measured, start)

    base = estimated()
    assert base.truncation is not None
    for name in "ab":
        up, down = (estimated(name, by).values for by in (1e-3, -1e-3))
        for other in "abc":
            slope = (up[other] - down[other]) / 2e-3
            # To first order: the hyperbola is bent, and the start is not on it.
            assert slope == pytest.approx(base.truncation.bias[other][name], abs=0.06)


def test_a_bound_is_kept():
    """With a at its bound, b alone makes the product, and is determined."""
    measured = product(TIMES, {}, 2.0, 3.0, 1.5)["y"]
    given = [parameter("a", 1.0, 0.1, 1.2), parameter("b", 4.0, 0.1, 20.0), parameter("c", 1.0)]
    found = run(product, measured, given)
    values = found.values
    assert values["a"] == pytest.approx(1.2)
    assert values["b"] == pytest.approx(5.0, rel=1e-5)
    assert found.status == "converged"
    assert found.truncation is None  # the bound has left nothing open
    assert found.cost_final < 1e-6


def test_a_start_that_the_data_contradict_is_told():
    """Along a direction that is known to more than a scale, the start is wrong by many scales."""
    nearly = np.column_stack([np.ones(40), 1.0 + 1e-3 * TIMES])
    measured = nearly @ np.array([-30.0, 32.0]) + noise(5)
    found = run(linear(nearly), measured, [parameter("a", 0.9), parameter("b", 1.1)])
    held = found.truncation
    assert held is not None
    assert held.compared == 1
    left, *_ = np.linalg.lstsq(nearly, measured)
    whole = np.sum((measured - nearly @ left) ** 2)
    here = np.sum((measured - nearly @ list(found.values.values())) ** 2)
    expected = stats.chi2.sf((here - whole) / SIGMA**2, 1)
    assert held.p_value == pytest.approx(expected, rel=1e-4)
    assert held.conflict
    assert "interval-of-start" in {f.code for f in found.findings}


def test_without_sigma_the_noise_is_that_of_the_best_fit():
    start, scales = np.array([1.0, 2.0, -1.0]), np.ones(3)
    measured = RANK_TWO @ np.array([0.3, 1.0, 0.7]) + noise(6)
    given = [parameter(n, s, scale=1.0) for n, s in zip("abc", start, strict=True)]
    found = run(linear(RANK_TWO), measured, given, sigma=None)
    exact, covariance, *_ = truncated_solution(RANK_TWO, measured, start, scales, 2)
    np.testing.assert_allclose(list(found.values.values()), exact, rtol=1e-6)
    power = np.sum((measured - RANK_TWO @ exact) ** 2) / 38
    errors = np.sqrt(np.diag(covariance) * power) / SIGMA
    assert found.truncation is not None
    np.testing.assert_allclose(
        [p.standard_error for p in found.truncation.parameters], errors, rtol=1e-5
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "huber"}, "no robust loss"),
        ({"truncate": "off"}, "must be"),
        ({"truncate": 1.5}, "between 0 and 1"),
    ],
)
def test_what_does_not_go_together_is_refused(options, message):
    with pytest.raises(ProblemError, match=message):
        run(linear(RANK_TWO), TIMES, [parameter(n, 1.0) for n in "abc"], **options)
