"""Standard errors and intervals of parameters that keep constraints."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from fmident.estimation import EstimationResult, run_estimation, suited
from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import EstimatorSettings, Expression, Parameter, Problem, read_constraint
from fmident.report.verdict import verdict

T = np.linspace(0.0, 2.0, 30)
SIGMA = 0.05
X = np.column_stack([np.ones_like(T), T, np.cos(4.0 * T)])
TRUTH = np.array([1.0, 2.0, 0.5])
NORMAL = 1.959963984540054
ESTIMATORS = load_plugins().estimators


def line(times: np.ndarray, inputs: Any, a: float, b: float, c: float) -> dict[str, np.ndarray]:
    return {"y": a + b * times + c * np.cos(4.0 * times)}


def noisy(seed: int) -> np.ndarray:
    return X @ TRUTH + SIGMA * np.random.default_rng(seed).normal(size=T.size)


def problem(
    *constraints: str,
    y: np.ndarray | None = None,
    estimator: str = "scipy-minimize",
    sigma: float | None = SIGMA,
    more: tuple[Parameter, ...] = (),
) -> Problem:
    made = python_problem(
        {"y": noisy(5) if y is None else y},
        T,
        [*(Parameter(n, 0.7, variable=n) for n in "abc"), *more],
        sigma=sigma,
        estimator=EstimatorSettings(estimator),
    )
    read = [c for k, text in enumerate(constraints) for c in read_constraint(f"c{k}", text)]
    return dataclasses.replace(made, constraints=tuple(read))


def solve(given: Problem) -> EstimationResult:
    estimator = ESTIMATORS.get(given.estimator.name)()
    given = suited(given, estimator)
    with Evaluator(given, PythonExecutor(given, line)) as evaluator:
        return run_estimation(given, evaluator, estimator)


def tangent_covariance(rows: np.ndarray) -> np.ndarray:
    """Return T (T' X' X T)^-1 T' sigma^2 with an orthonormal basis T of the null space."""
    basis = np.linalg.svd(rows)[2][len(rows) :].T
    return SIGMA**2 * basis @ np.linalg.inv(basis.T @ X.T @ X @ basis) @ basis.T


@pytest.mark.parametrize(
    ("texts", "rows"),
    [
        (["a + b = 3"], [[1.0, 1.0, 0.0]]),
        (["2*a - c = b/4 + 1"], [[2.0, -0.25, -1.0]]),
        (["a + b = 3", "b = 4*c"], [[1.0, 1.0, 0.0], [0.0, 1.0, -4.0]]),
    ],
    ids=str,
)
def test_covariance_on_the_tangent_space(texts: list[str], rows: list[list[float]]) -> None:
    result = solve(problem(*texts))
    np.testing.assert_allclose(
        result.covariance, tangent_covariance(np.array(rows)), rtol=1e-6, atol=1e-12
    )
    errors = np.sqrt(np.diag(result.covariance))
    for e, error in zip(result.estimates, errors, strict=True):
        assert e.standard_error == pytest.approx(error)
        assert e.interval_95[1] - e.value == pytest.approx(NORMAL * error)
    said = verdict(result)
    assert said.grade == "good", said
    assert "'c0'" in str(said.of("constraint-kept"))


def test_nonlinear_equalities_count_by_their_derivatives() -> None:
    result = solve(problem("a*b = 2"))
    a, b = result.values["a"], result.values["b"]
    expected = tangent_covariance(np.array([[b, a, 0.0]]))
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-6, atol=1e-12)


def test_elimination_gives_the_same() -> None:
    direct = solve(problem("a + b = 3"))
    other = solve(problem("a + b = 3", estimator="least-squares"))
    assert [e.expression for e in other.estimates] == ["", "a + b = 3", ""]
    for one, two in zip(direct.estimates, other.estimates, strict=True):
        assert two.value == pytest.approx(one.value, rel=1e-7)
        assert two.standard_error == pytest.approx(one.standard_error, rel=1e-6)
        assert two.interval_95 == pytest.approx(one.interval_95, rel=1e-6)


def test_degrees_of_freedom_when_the_noise_is_unknown() -> None:
    """30 samples, 3 parameters, 1 equality: 28 degrees of freedom."""
    result = solve(problem("a + b = 3", sigma=None))
    p = np.array([result.values[n] for n in "abc"])
    variance = np.sum((noisy(5) - X @ p) ** 2) / 28
    expected = tangent_covariance(np.array([[1.0, 1.0, 0.0]])) * variance / SIGMA**2
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-6, atol=1e-12)
    e = result.estimates[0]
    assert (e.interval_95[1] - e.value) / e.standard_error == pytest.approx(2.048407, rel=1e-6)


def likelihood_ends(
    y: np.ndarray, way: np.ndarray, constraints: list[Any], best: np.ndarray
) -> tuple[float, float]:
    """Return the ends of the likelihood-ratio interval of a linear function, by SciPy."""

    def cost(p: np.ndarray) -> float:
        return 0.5 * float(np.sum((X @ p - y) ** 2)) / SIGMA**2

    limit = cost(best) + 0.5 * NORMAL**2
    inside = {"type": "ineq", "fun": lambda p: limit - cost(p)}
    ends = [
        optimize.minimize(
            lambda p, s=sign: s * float(way @ p),
            best,
            constraints=[inside, *constraints],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        ).x
        @ way
        for sign in (1.0, -1.0)
    ]
    return float(ends[0]), float(ends[1])


@pytest.mark.parametrize(
    ("texts", "rows", "offsets"),
    [
        (["a + b <= 2.97"], [[-1.0, -1.0, 0.0]], [2.97]),
        (["c >= 0.49"], [[0.0, 0.0, 1.0]], [-0.49]),
        (["a + b <= 2.97", "c >= 0.51"], [[-1.0, -1.0, 0.0], [0.0, 0.0, 1.0]], [2.97, -0.51]),
        (["a + b <= 3.04", "a >= 0.98"], [[-1.0, -1.0, 0.0], [1.0, 0.0, 0.0]], [3.04, -0.98]),
    ],
    ids=str,
)
def test_intervals_are_the_likelihood_region_inside_the_constraints(
    texts: list[str], rows: list[list[float]], offsets: list[float]
) -> None:
    result = solve(problem(*texts, more=(Parameter("s", 0.0, expression=Expression("a - 2*c")),)))
    best = np.array([result.values[n] for n in "abc"])
    parts = [
        {"type": "ineq", "fun": lambda p, r=r, d=d: float(np.array(r) @ p + d)}
        for r, d in zip(rows, offsets, strict=True)
    ]
    ways = [*np.eye(3), np.array([1.0, 0.0, -2.0])]
    for e, way in zip(result.estimates, ways, strict=True):
        expected = likelihood_ends(noisy(5), way, parts, best)
        assert e.interval_95 == pytest.approx(expected, rel=2e-5), e.name


def test_an_active_inequality_is_named_and_its_interval_has_one_side() -> None:
    result = solve(problem("c >= 0.6"))
    (c,) = [e for e in result.estimates if e.name == "c"]
    assert c.value == pytest.approx(0.6)
    assert c.interval_95[0] == pytest.approx(0.6)
    assert c.interval_95[1] > 0.601
    (check,) = result.constraints
    assert (check.name, check.text, check.active, check.violated) == ("c0", "c >= 0.6", True, False)
    said = verdict(result)
    assert said.grade == "doubtful"
    assert "'c0' (c >= 0.6)" in str(said.of("constraint-kept"))
    assert any("'c0'" in note for note in result.notes)


def test_far_inequalities_change_nothing() -> None:
    plain, result = solve(problem()), solve(problem("a + b <= 30", "c >= -4"))
    for one, two in zip(plain.estimates, result.estimates, strict=True):
        assert two.interval_95 == pytest.approx(one.interval_95, rel=1e-7)
    assert [c.active for c in result.constraints] == [False, False]
    assert verdict(result).grade == "good"


def test_an_equality_can_make_parameters_identifiable() -> None:
    def twins(times: np.ndarray, inputs: Any, a: float, b: float, c: float) -> Any:
        return {"y": (a + b) * times + c}

    given = problem("a = 2*b", y=3.0 * T + 0.5 + SIGMA * np.random.default_rng(1).normal(size=30))
    with Evaluator(given, PythonExecutor(given, twins)) as evaluator:
        result = run_estimation(given, evaluator, ESTIMATORS.get("scipy-minimize")())
    a, b = result.estimates[:2]
    assert result.identifiability is not None
    assert result.identifiability.full_rank
    assert a.value == pytest.approx(2.0 * b.value)
    assert a.standard_error == pytest.approx(2.0 * b.standard_error)


def constrained_intervals(text: str, row: np.ndarray, right: float, seed: int) -> np.ndarray:
    """Return the intervals at the closed form of the constrained estimate, shape (3, 2)."""
    y = noisy(seed)
    p = np.linalg.lstsq(X, y)[0]
    if ">" not in text or row @ p < right:
        system = np.block([[X.T @ X, row[:, np.newaxis]], [row, np.zeros(1)]])
        p = np.linalg.solve(system, np.append(X.T @ y, right))[:3]
    given = problem(text, y=y)
    with Evaluator(given, PythonExecutor(given, line)) as evaluator:
        evaluator.remember_jacobian(p, -X / SIGMA, np.zeros(3))
        return uncertainty(given, evaluator, p, verify=False).local.intervals


def covered(text: str, row: np.ndarray, right: float, draws: int) -> np.ndarray:
    held = np.zeros(3)
    for seed in range(draws):
        low, high = constrained_intervals(text, row, right, seed).T
        held += (low <= TRUTH + 1e-9) & (high >= TRUTH - 1e-9)
    return held / draws


@pytest.mark.nightly
def test_coverage_under_an_equality() -> None:
    """95 % of the intervals hold the truth, within three deviations of the count."""
    found = covered("a + b = 3", np.array([1.0, 1.0, 0.0]), 3.0, 300)
    assert (np.abs(found - 0.95) < 3.0 * np.sqrt(0.95 * 0.05 / 300)).all(), found


@pytest.mark.nightly
def test_coverage_at_an_inequality_is_at_least_that_of_the_level() -> None:
    """The truth lies on c = 0.5: the worst case for the region (Self and Liang 1987)."""
    found = covered("c >= 0.5", np.array([0.0, 0.0, 1.0]), 0.5, 300)
    assert (found > 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / 300)).all(), found
