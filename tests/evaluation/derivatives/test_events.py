"""Derivatives of models with events: jumps across samples are found, named and taken out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.evaluation.derivatives.differences import standing_out
from fmident.problem.model import EvaluationSettings, Parameter, Problem
from fmident_estimators.least_squares.estimator import LeastSquares

GRAVITY = 9.81
SCHEMES = pytest.mark.parametrize("difference", ["forward", "central", "auto"])


def bouncing(times: np.ndarray, inputs: object, h: float, e: float) -> dict[str, np.ndarray]:
    """Height and speed of a ball dropped from `h` with restitution `e`, to rounding."""
    x, v = np.zeros(times.size), np.zeros(times.size)
    begin, speed, height = 0.0, 0.0, h
    while begin < times[-1]:
        flight = (speed + np.sqrt(speed**2 + 2.0 * GRAVITY * height)) / GRAVITY
        t = times - begin
        now = (t >= 0.0) & (t < flight)
        x[now] = height + speed * t[now] - 0.5 * GRAVITY * t[now] ** 2
        v[now] = speed - GRAVITY * t[now]
        begin, speed, height = begin + flight, e * (GRAVITY * flight - speed), 0.0
    return {"x": x, "v": v}


def bouncing_derivative(times: np.ndarray, h: float, e: float) -> tuple[np.ndarray, np.ndarray]:
    """Return d(x, v)/dh and d(x, v)/de, each (2, instants), by the chain rule over the flights."""
    fall = np.sqrt(2.0 * h / GRAVITY)
    hit = np.sqrt(2.0 * GRAVITY * h)
    by_h, by_e = np.zeros((2, times.size)), np.zeros((2, times.size))
    now = times < fall
    by_h[0, now] = 1.0
    begin, begin_h, begin_e = fall, 0.5 * fall / h, 0.0
    k = 1
    while begin < times[-1]:
        speed, speed_h, speed_e = e**k * hit, 0.5 * e**k * hit / h, k * e ** (k - 1) * hit
        flight = 2.0 * speed / GRAVITY
        t = times - begin
        now = (t >= 0.0) & (t < flight)
        for by, b, s in ((by_h, begin_h, speed_h), (by_e, begin_e, speed_e)):
            by[0, now] = s * t[now] - (speed - GRAVITY * t[now]) * b
            by[1, now] = s + GRAVITY * b
        begin_h += 2.0 * speed_h / GRAVITY
        begin_e += 2.0 * speed_e / GRAVITY
        begin += flight
        k += 1
    return by_h, by_e


def sliding(times: np.ndarray, inputs: object, mu: float, v0: float) -> dict[str, np.ndarray]:
    """Speed of a mass that Coulomb friction stops, and whether it still moves."""
    v = np.maximum(v0 - mu * GRAVITY * times, 0.0)
    return {"v": v, "sliding": (v > 0.0).astype(np.float64)}


def problem_for(
    model: Callable[..., dict[str, np.ndarray]],
    times: np.ndarray,
    parameters: list[Parameter],
    sigma: float = 0.01,
    **settings: object,
) -> Problem:
    truth = {p.name: 1.02 * p.initial for p in parameters}
    return python_problem(
        model(times, {}, **truth),
        times,
        parameters,
        sigma=sigma,
        evaluation=EvaluationSettings(check=False, **settings),
    )


def ball(times: np.ndarray, **settings: object) -> Problem:
    parameters = [
        Parameter("h", 1.0, 0.1, 5.0, variable="h"),
        Parameter("e", 0.8, 0.1, 0.99, variable="e"),
    ]
    return problem_for(bouncing, times, parameters, **settings)


@SCHEMES
@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_jumps_of_a_bouncing_ball_do_not_spoil_the_jacobian(difference: str, noise: float) -> None:
    rng = np.random.default_rng(0)
    # Some samples lie just behind a bounce, the nearest at the 92nd place.
    hit = np.sqrt(2.0 / GRAVITY)
    times = np.sort(np.r_[np.linspace(0.0, 2.0, 401), hit + np.array([1e-9, 1e-3, -1e-3])])

    def model(times: np.ndarray, inputs: object, h: float, e: float) -> dict[str, np.ndarray]:
        clean = bouncing(times, inputs, h, e)
        return {k: y + noise * rng.normal(size=y.size) for k, y in clean.items()}

    problem = ball(times, difference=difference)
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    found = evaluator.jacobian(problem.initial)
    exact = -np.column_stack([d.ravel() for d in bouncing_derivative(times, 1.0, 0.8)]) / 0.01
    # So near to the bounce the height has two derivatives, for earlier and for later ones.
    nearest = int(np.searchsorted(times, hit))
    assert 0.0 < times[nearest] - hit < 2e-9
    before = -1.0 / 0.01
    assert before - 0.1 <= found[nearest, 0] <= exact[nearest, 0] + 0.1
    found[nearest] = exact[nearest]
    error = np.linalg.norm(found - exact, axis=0) / np.linalg.norm(exact, axis=0)
    assert np.all(error < (1e-5 if noise == 0.0 else 3e-3))
    (note,) = (n for n in evaluator.notes if "'h'" in n)
    assert "moves an event across" in note
    assert "at 0.45152" in note


@SCHEMES
def test_a_switching_time_moves_no_derivative_to_infinity(difference: str) -> None:
    times = np.linspace(0.0, 3.0, 301)

    def switched(times, inputs, a, ts):
        # At the start the switch is at a sample, to rounding.
        return {"y": a * np.sin(times) + np.where(times >= ts, 1.0, 0.0)}

    parameters = [Parameter("a", 2.0, variable="a"), Parameter("ts", 1.5, variable="ts")]
    problem = problem_for(switched, times, parameters, difference=difference)
    evaluator = Evaluator(problem, PythonExecutor(problem, switched))
    found = evaluator.jacobian(problem.initial)
    np.testing.assert_allclose(found[:, 0], -np.sin(times) / 0.01, atol=1e-5)
    np.testing.assert_allclose(found[:, 1], 0.0, atol=1e-9)
    (note,) = evaluator.notes
    assert "'ts' moves an event across 1 sample: 'y' at 1.5 s in experiment 'data'" in note
    assert "the side without the jump" in note


@SCHEMES
def test_stick_after_sliding(difference: str) -> None:
    times = np.linspace(0.0, 1.0, 1001)
    parameters = [
        Parameter("mu", 0.3, 0.01, 1.0, variable="mu", scaling="log"),
        Parameter("v0", 2.0, 0.1, 10.0, variable="v0"),
    ]
    problem = problem_for(sliding, times, parameters, difference=difference)
    evaluator = Evaluator(problem, PythonExecutor(problem, sliding))
    found = evaluator.jacobian(problem.initial)
    moves = (times < 2.0 / (0.3 * GRAVITY)).astype(np.float64)
    flat = np.zeros(times.size)
    exact = np.column_stack([np.r_[GRAVITY * times * moves, flat], np.r_[-moves, flat]]) / 0.01
    error = np.linalg.norm(found - exact, axis=0) / np.linalg.norm(exact, axis=0)
    assert np.all(error < 1e-3)


def test_one_side_only_at_a_bound() -> None:
    times = np.linspace(0.0, 2.0, 401)
    hit = np.sqrt(2.0 / GRAVITY)
    times = np.sort(np.r_[times, hit + 1e-4])
    parameters = [Parameter("h", 1.0, 1.0, 2.0, variable="h"), Parameter("e", 0.8, variable="e")]
    problem = problem_for(bouncing, times, parameters)
    evaluator = Evaluator(problem, PythonExecutor(problem, bouncing))
    found = evaluator.jacobian(problem.initial)
    exact = -np.column_stack([d.ravel() for d in bouncing_derivative(times, 1.0, 0.8)]) / 0.01
    error = np.linalg.norm(found - exact, axis=0) / np.linalg.norm(exact, axis=0)
    assert np.all(error < 1e-3)


def test_without_events_nothing_is_spent_or_said() -> None:
    times = np.linspace(0.0, 2.0, 401)

    def smooth(times, inputs, h, e):
        return {"x": h * np.exp(-e * times), "v": -e * h * np.exp(-e * times)}

    problem = problem_for(
        smooth,
        times,
        [Parameter("h", 1.0, variable="h"), Parameter("e", 0.8, variable="e")],
        relative_step=1e-6,
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, smooth))
    evaluator.jacobian(problem.initial)
    assert evaluator.simulations == 3
    assert evaluator.notes == ()


@pytest.mark.parametrize("difference", ["forward", "central"])
def test_a_steep_but_smooth_change_is_no_event(difference: str) -> None:
    times = np.linspace(0.0, 2.0, 2001)

    def steep(times, inputs, ts, a):
        return {"y": a * np.sin(times) + np.tanh((times - ts) / 0.01)}

    parameters = [Parameter("ts", 1.0, variable="ts", step=1e-3), Parameter("a", 1.0, variable="a")]
    problem = problem_for(steep, times, parameters, difference=difference)
    evaluator = Evaluator(problem, PythonExecutor(problem, steep))
    found = evaluator.jacobian(problem.initial)
    assert evaluator.notes == ()
    offsets = [-1e-3, 1e-3] if difference == "central" else [0.0, 1e-3]
    low, high = (steep(times, {}, 1.0 + d, 1.0)["y"] for d in offsets)
    np.testing.assert_allclose(
        found[:, 0], (low - high) / (offsets[1] - offsets[0]) / 0.01, atol=1e-6
    )


def test_a_parameter_that_acts_on_few_samples_is_no_event() -> None:
    values = np.zeros(1000)
    values[400:420] = np.sin(np.linspace(0.0, 3.0, 20))
    assert standing_out(values, 0.0).any()
    assert not standing_out(values, 0.0, groups=[slice(0, 400), slice(400, 420)]).any()


def test_the_estimate_is_right_and_the_result_tells_of_the_event() -> None:
    times = np.linspace(0.0, 1.0, 201)
    rng = np.random.default_rng(2)
    truth = {"mu": 0.3, "v0": 2.0}

    def moving(times, inputs, mu, v0):
        # The signal of a stop switch jumps, and weighs little.
        found = sliding(times, inputs, mu, v0)
        return {"v": found["v"] + 1e-3 * found["sliding"]}

    measured = moving(times, {}, **truth)["v"] + 0.01 * rng.normal(size=times.size)
    parameters = [
        Parameter("mu", 0.2, 0.01, 1.0, variable="mu"),
        Parameter("v0", 1.5, 0.1, 10.0, variable="v0"),
    ]
    problem = python_problem(
        {"v": measured},
        times,
        parameters,
        sigma=0.01,
        evaluation=EvaluationSettings(check=False),
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, moving))
    result = run_estimation(problem, evaluator, LeastSquares())
    for name, value in truth.items():
        row = result.parameters.loc[name]
        assert abs(row["value"] - value) < 3.0 * row["standard_error"]


def test_the_result_tells_of_events_and_the_intervals_leave_them_out() -> None:
    times = np.linspace(0.0, 1.5, 1501)
    rng = np.random.default_rng(4)

    def height(times, inputs, h, e):
        # Noise makes the steps long enough for bounces to cross samples.
        return {"x": bouncing(times, inputs, h, e)["x"] + 1e-6 * rng.normal(size=times.size)}

    truth = np.array([1.02, 0.81])
    problem = python_problem(
        {"x": bouncing(times, {}, *truth)["x"] + 0.01 * rng.normal(size=times.size)},
        times,
        [
            Parameter("h", 1.0, 0.1, 5.0, variable="h"),
            Parameter("e", 0.8, 0.1, 0.99, variable="e"),
        ],
        sigma=0.01,
        evaluation=EvaluationSettings(check=False),
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, height))
    result = run_estimation(problem, evaluator, LeastSquares())
    assert result.converged()
    assert any("moves an event across" in note for note in result.notes)
    p = np.array(list(result.values.values()))
    jacobian = -np.column_stack([d[0] for d in bouncing_derivative(times, *p)]) / 0.01
    exact = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    np.testing.assert_allclose(result.parameters["standard_error"], exact, rtol=0.01)
    assert np.all(np.abs(p - truth) < 3.0 * exact)
    along = evaluator.directional_derivatives(p, np.eye(2))
    missed = np.linalg.norm(along.values - jacobian, axis=0)
    assert np.all(missed < 0.005 * np.linalg.norm(jacobian, axis=0))
