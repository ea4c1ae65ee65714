"""Schemes and steps: auto, steps of the problem, bounds, magnitudes, little precision."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem import TimeDomain
from fmident.problem.model import EvaluationSettings, Parameter, Problem
from fmident_costs import FrequencyDomain
from fmident_estimators.least_squares.estimator import LeastSquares

from ...models import decay

TIMES = np.linspace(0.0, 2.0, 401)


def exact_decay(a: float, k: float, sigma: float) -> np.ndarray:
    e = np.exp(-k * TIMES)
    return -np.column_stack([e, -a * TIMES * e]) / sigma


def decay_problem(
    a: Parameter | None = None, k: Parameter | None = None, sigma: float = 0.01, **settings: object
) -> Problem:
    return python_problem(
        {"y": decay(TIMES, {}, 2.0, 1.5)["y"]},
        TIMES,
        [
            a or Parameter("a", 1.0, variable="a"),
            k or Parameter("k", 1.0, 1e-3, 100.0, variable="k", scaling="log"),
        ],
        sigma=sigma,
        evaluation=EvaluationSettings(check=False, **settings),
    )


def relative_errors(found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    return np.linalg.norm(found - exact, axis=0) / np.linalg.norm(exact, axis=0)


@pytest.mark.parametrize("scheme", ["forward", "central", "auto"])
@pytest.mark.parametrize("scaling", ["linear", "log"])
@pytest.mark.parametrize("a", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("k", [1e-9, 1e9])
def test_magnitudes_do_not_matter(scheme: str, scaling: str, a: float, k: float) -> None:
    def scaled(times, inputs, a, k):
        return {"y": a * np.exp(-k / first * times)}

    first, sigma = k, 0.01 * a
    problem = python_problem(
        {"y": 1.1 * scaled(TIMES, {}, a, k)["y"]},
        TIMES,
        [
            Parameter("a", a, variable="a", scale=a, lower=0.0, scaling=scaling),
            Parameter("k", k, variable="k", scale=k, lower=0.0, scaling=scaling),
        ],
        sigma=sigma,
        evaluation=EvaluationSettings(check=False, difference=scheme),
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, scaled))
    found = evaluator.jacobian(problem.initial)
    exact = exact_decay(1.0, 1.0, 0.01) / np.array([a, k])
    assert np.all(relative_errors(found, exact) < 2e-7)


@pytest.mark.parametrize("level", [1e-10, 1e-6, 1e-3])
def test_auto_is_forward_where_that_will_do_and_central_where_it_will_not(level: float) -> None:
    rng = np.random.default_rng(1)

    def noisy(times, inputs, a, k):
        return {"y": decay(times, inputs, a, k)["y"] + level * rng.normal(size=times.size)}

    used, error = {}, {}
    for scheme in ("forward", "central", "auto"):
        problem = decay_problem(difference=scheme)
        evaluator = Evaluator(problem, PythonExecutor(problem, noisy))
        found = evaluator.jacobian(np.array([2.0, 1.5]))
        # Noise in the base point itself must not count as residual: only columns are compared.
        error[scheme] = relative_errors(found, exact_decay(2.0, 1.5, 0.01)).max()
        evaluator.measure_steps(np.array([2.0, 1.5]))
        before = evaluator.simulations
        evaluator.jacobian(np.array([2.01, 1.5]))
        used[scheme] = evaluator.simulations - before - 1
    assert used["forward"] == 2
    assert used["central"] == 4
    if level < 1e-5:
        assert used["auto"] == 2
    else:
        assert used["auto"] > 2
        assert error["auto"] < 0.7 * error["forward"]


def test_auto_is_forward_far_away_and_central_near_the_minimum() -> None:
    rng = np.random.default_rng(1)

    def noisy(times, inputs, a, k):
        return {"y": decay(times, inputs, a, k)["y"] + 1e-4 * rng.normal(size=times.size)}

    problem = decay_problem(difference="auto")
    evaluator = Evaluator(problem, PythonExecutor(problem, noisy))
    evaluator.measure_steps(problem.initial)
    spent = []
    for point in ([1.0, 1.0], [2.0, 1.5]):
        evaluator.residuals(np.array(point))
        before = evaluator.simulations
        evaluator.jacobian(np.array(point))
        spent.append(evaluator.simulations - before)
    assert spent[0] == 2
    assert spent[1] > 2


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-7, 1e-4, 1e-3])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_central_differences_stay_exact_near_a_bound(gap: float, side: str) -> None:
    seen: list[float] = []

    def watching(times, inputs, a, k):
        seen.append(k)
        return decay(times, inputs, a, k)

    bounds = (1.0 - gap, 9.0) if side == "lower" else (0.1, 1.0 + gap)
    k = Parameter("k", 1.0, *bounds, variable="k")
    problem = decay_problem(k=k, difference="central")
    evaluator = Evaluator(problem, PythonExecutor(problem, watching))
    found = evaluator.jacobian(problem.initial)
    assert np.all(relative_errors(found, exact_decay(1.0, 1.0, 0.01)) < 1e-8)
    assert bounds[0] <= min(seen)
    assert max(seen) <= bounds[1]


def test_the_expected_error_is_that_of_the_scheme_that_was_used() -> None:
    level = 1e-5
    rng = np.random.default_rng(7)

    def noisy(times, inputs, a, k):
        return {"y": decay(times, inputs, a, k)["y"] + level * rng.normal(size=times.size)}

    at_bound = Parameter("k", 1.0, 1.0, 9.0, variable="k")
    for k in (None, at_bound):
        problem = decay_problem(k=k, difference="central")
        evaluator = Evaluator(problem, PythonExecutor(problem, noisy))
        found = evaluator.jacobian(problem.initial)
        error = np.linalg.norm(found - exact_decay(1.0, 1.0, 0.01), axis=0)
        expected = evaluator.column_errors(problem.initial)
        assert expected is not None
        assert np.all(error < 3.0 * expected)
        assert np.all(error > 0.2 * expected)


def test_a_parameter_may_have_a_step_of_its_own() -> None:
    seen: list[tuple[float, float]] = []

    def watching(times, inputs, a, k):
        seen.append((a, k))
        return decay(times, inputs, a, k)

    problem = decay_problem(
        a=Parameter("a", 1.0, variable="a", scale=10.0, step=0.02),
        k=Parameter("k", 1.0, 1e-3, 100.0, variable="k", scaling="log", step=0.03),
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, watching))
    evaluator.jacobian(problem.initial)
    np.testing.assert_allclose(seen, [(1.0, 1.0), (1.02, 1.0), (1.0, 1.03)])
    assert evaluator.step_sizes is not None
    assert evaluator.step_sizes.reasons == ("step of the problem",) * 2


def test_one_step_of_the_problem_leaves_the_others_measured() -> None:
    problem = decay_problem(a=Parameter("a", 1.0, variable="a", step=0.02))
    evaluator = Evaluator(problem, PythonExecutor(problem, decay))
    evaluator.jacobian(problem.initial)
    sizes = evaluator.step_sizes
    assert sizes is not None
    assert sizes.steps[0] == pytest.approx(0.02)
    assert sizes.steps[1] < 1e-5
    assert sizes.reasons[0] == "step of the problem"
    assert "curvature" in sizes.reasons[1]


@pytest.mark.parametrize("scheme", ["forward", "central", "auto"])
@pytest.mark.parametrize("quantum", ["float32", 1e-4, 1e-3])
def test_outputs_without_precision(scheme: str, quantum: float | str) -> None:
    def coarse(times, inputs, a, k):
        y = decay(times, inputs, a, k)["y"]
        if quantum == "float32":
            return {"y": y.astype(np.float32).astype(np.float64)}
        return {"y": quantum * np.round(y / quantum)}

    size = 6e-8 if quantum == "float32" else quantum
    problem = decay_problem(difference=scheme)
    evaluator = Evaluator(problem, PythonExecutor(problem, coarse))
    found = evaluator.jacobian(problem.initial)
    sizes = evaluator.step_sizes
    assert sizes is not None
    assert 0.03 * size < 0.01 * sizes.noise < 1.5 * size
    exact = exact_decay(1.0, 1.0, 0.01)
    expected = evaluator.column_errors(problem.initial)
    assert expected is not None
    assert np.all(np.linalg.norm(found - exact, axis=0) < 2.0 * expected)
    # A forward difference has 2 sqrt(noise f'') at best; no step is longer than a 50th.
    assert np.all(relative_errors(found, exact) < max(2.0 * np.sqrt(size), 100.0 * size))


def test_an_estimate_in_single_precision_is_right() -> None:
    """A doStep that throws precision away: the state is a float between the samples."""
    rng = np.random.default_rng(5)
    step = np.float32(TIMES[1])

    def stepped(times, inputs, a, k):
        state, factor = np.float32(a), np.float32(np.exp(-k * float(step)))
        states = np.empty(times.size, dtype=np.float32)
        for i in range(times.size):
            states[i] = state
            state = np.float32(state * factor)
        return {"y": states.astype(np.float64)}

    clean = decay_problem()
    measured = clean.experiments[0].measurements[0].values + 0.01 * rng.normal(size=TIMES.size)
    fine = python_problem({"y": measured}, TIMES, clean.parameters, sigma=0.01)
    fine = dataclasses.replace(fine, evaluation=clean.evaluation)
    results = [
        run_estimation(fine, Evaluator(fine, PythonExecutor(fine, m)), LeastSquares())
        for m in (decay, stepped)
    ]
    assert all(r.converged() for r in results)
    for name in ("a", "k"):
        exact, single = (r.parameters.loc[name] for r in results)
        assert abs(single["value"] - exact["value"]) < 0.02 * exact["standard_error"]
        assert single["standard_error"] == pytest.approx(exact["standard_error"], rel=0.01)


def test_the_result_tells_steps_in_the_unit_of_the_parameter() -> None:
    problem = decay_problem(a=Parameter("a", 1.0, variable="a", scale=10.0, step=0.02))
    with Evaluator(problem, PythonExecutor(problem, decay)) as evaluator:
        result = run_estimation(problem, evaluator, LeastSquares())
    assert result.settings["difference_steps"]["a"]["step"] == pytest.approx(0.02)


def test_peaks_of_a_spectrum_are_no_events() -> None:
    def ringing(times, inputs, k: float, d: float) -> dict[str, np.ndarray]:
        return {"y": np.exp(-d * times) * np.sin(np.sqrt(k) * times)}

    times = np.linspace(0.0, 40.0, 2000)
    whole = python_problem(
        ringing(times, {}, 9.0, 0.02),
        times,
        [
            Parameter("k", 8.8, 1.0, 30.0, variable="k"),
            Parameter("d", 0.03, 0.0, 1.0, variable="d"),
        ],
        evaluation=EvaluationSettings(check=False, difference="central"),
    )
    found = []
    for cost in (TimeDomain("mean-square"), FrequencyDomain()):
        problem = dataclasses.replace(whole, cost=cost)
        evaluator = Evaluator(problem, PythonExecutor(problem, ringing))
        jacobian = evaluator.jacobian(problem.initial)
        found.append((evaluator.simulations, jacobian.T @ jacobian, evaluator.step_sizes.curvature))
    (simulations, normal, curvature), (others, same, likewise) = found
    # The spectrum is an orthogonal transform of the samples.
    assert others == simulations
    np.testing.assert_allclose(same, normal, rtol=1e-8)
    np.testing.assert_allclose(likewise, curvature, rtol=0.01)


@pytest.mark.parametrize("difference", ["forward", "central", "auto"])
@pytest.mark.parametrize("width", [0.3, 0.1, 0.03])
@pytest.mark.parametrize("shape", ["peak", "step"])
def test_a_narrow_peak_is_smooth_however_few_samples_it_has(
    shape: str, width: float, difference: str
) -> None:
    times = np.linspace(0.0, 10.0, 2001)
    sigma, jitter = 0.01, 1e-6

    def model(times, inputs, c: float) -> dict[str, np.ndarray]:
        s = (times - c) / width
        y = np.exp(-(s**2)) if shape == "peak" else np.tanh(s)
        seed = int(np.float64(c).view(np.uint64)) % 2**32
        return {"y": y + jitter * np.random.default_rng(seed).normal(size=y.size)}

    s = (times - 5.0) / width
    slope = 2.0 * s * np.exp(-(s**2)) if shape == "peak" else -(np.cosh(np.clip(s, -9, 9)) ** -2.0)
    exact = -slope / width / sigma
    problem = python_problem(
        {"y": model(times, {}, 5.1)["y"]},
        times,
        [Parameter("c", 5.0, 1.0, 9.0, variable="c")],
        sigma=sigma,
        evaluation=EvaluationSettings(check=False, difference=difference),
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    jacobian = evaluator.jacobian(problem.initial)
    assert np.linalg.norm(jacobian[:, 0] - exact) < 0.02 * np.linalg.norm(exact)
    assert evaluator.notes == ()


@pytest.mark.parametrize(("difference", "each"), [("forward", 2), ("central", 4)])
def test_narrow_peaks_are_looked_at_in_the_first_jacobian_only(difference: str, each: int) -> None:
    times = np.linspace(0.0, 10.0, 2001)

    def peak(times, inputs, c: float, a: float) -> dict[str, np.ndarray]:
        return {"y": a * np.exp(-(((times - c) / 0.05) ** 2))}

    def jumping(times, inputs, c: float, a: float) -> dict[str, np.ndarray]:
        late = 0.5 * (times > 2.0 * c - 0.1 - 1e-10)
        return {"y": peak(times, inputs, c, a)["y"] + late}

    problem = python_problem(
        peak(times, {}, 4.1, 2.2),
        times,
        [Parameter("c", 4.0, 1.0, 9.0, variable="c"), Parameter("a", 2.0, 0.1, 9.0, variable="a")],
        evaluation=EvaluationSettings(check=False, difference=difference),
    )
    first, second = problem.initial, np.array([4.05, 2.1])
    evaluator = Evaluator(problem, PythonExecutor(problem, peak))
    evaluator.jacobian(first)
    evaluator.residuals(second)
    before = evaluator.simulations
    smooth = evaluator.jacobian(second)
    assert evaluator.simulations - before == each
    # An event that comes up later is found all the same: at `second` on a sample, at 8.0 s.
    evaluator = Evaluator(problem, PythonExecutor(problem, jumping))
    evaluator.jacobian(first - [0.0012, 0.0])
    found = evaluator.jacobian(second)
    assert "moves an event across 1 sample" in evaluator.notes[0]
    np.testing.assert_allclose(found, smooth, atol=1e-3 * np.abs(smooth).max())
