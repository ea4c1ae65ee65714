"""Least squares on models whose events move with the parameters: the cost jumps."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, EventMatching, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident.report.verdict import verdict
from fmident_estimators.least_squares.estimator import LeastSquares

from ..models import decay

Bounds = dict[str, tuple[float, float]]
Model = Callable[..., dict[str, np.ndarray]]


def ball(times: np.ndarray, inputs: object, g: float, e: float) -> dict[str, np.ndarray]:
    """Height and speed of a ball dropped from 1 m."""
    h, v = np.zeros(times.size), np.zeros(times.size)
    begin, height, speed = 0.0, 1.0, 0.0
    while begin <= times[-1] and (height > 0.0 or speed > 0.1):
        flight = (speed + np.sqrt(speed**2 + 2.0 * g * height)) / g
        t = times - begin
        now = (t >= 0.0) & (t < flight)
        h[now] = height + speed * t[now] - 0.5 * g * t[now] ** 2
        v[now] = speed - g * t[now]
        begin, height, speed = begin + flight, 0.0, e * (g * flight - speed)
    return {"h": h, "v": v}


def thermostat(
    times: np.ndarray, inputs: object, tau: float, gain: float, high: float
) -> dict[str, np.ndarray]:
    """Temperature and heater of a room between 22 degrees and `high`, 20 outside."""
    y, on = np.zeros(times.size), np.zeros(times.size)
    begin, y0, heating = 0.0, 20.0, 1.0
    while begin <= times[-1]:
        end, limit = 20.0 + gain * heating, high if heating else 22.0
        ratio = (limit - end) / (y0 - end)
        lasts = -tau * np.log(ratio) if 0.0 < ratio < 1.0 else np.inf
        now = (times >= begin) & (times < begin + lasts)
        y[now] = end + (y0 - end) * np.exp(-(times[now] - begin) / tau)
        on[now] = heating
        begin, y0, heating = begin + lasts, limit, 1.0 - heating
    return {"T": y, "on": on}


def stick_slip(
    times: np.ndarray, inputs: object, static: float, kinetic: float, stiffness: float
) -> dict[str, np.ndarray]:
    """A mass of 1 kg on a spring and a belt that moves at 0.1 m/s."""
    x, v, begin, x0 = np.zeros(times.size), np.zeros(times.size), 0.0, 0.0
    rate = np.sqrt(stiffness)
    while begin <= times[-1]:
        sticks = max((static / stiffness - x0) / 0.1, 0.0)
        now = (times >= begin) & (times < begin + sticks)
        x[now], v[now] = x0 + 0.1 * (times[now] - begin), 0.1
        begin, x0 = begin + sticks, x0 + 0.1 * sticks
        rest = kinetic / stiffness
        a, b = x0 - rest, 0.1 / rate
        slips = (2.0 * np.pi - 2.0 * np.arctan2(a, b)) / rate
        now = (times >= begin) & (times < begin + slips)
        phase = rate * (times[now] - begin)
        x[now] = rest + a * np.cos(phase) + b * np.sin(phase)
        v[now] = rate * (b * np.cos(phase) - a * np.sin(phase))
        begin, x0 = begin + slips, 2.0 * rest - x0
    return {"x": x, "v": v}


BALL = (
    ball,
    {"g": 9.81, "e": 0.7},
    np.linspace(0.0, 3.0, 151),
    {"g": (5.0, 15.0), "e": (0.5, 0.95)},
)
THERMOSTAT = (
    thermostat,
    {"tau": 10.0, "gain": 8.0, "high": 25.0},
    np.linspace(0.0, 40.0, 134),
    {"tau": (5.0, 20.0), "gain": (6.0, 16.0), "high": (23.0, 28.0)},
)
STICK_SLIP = (
    stick_slip,
    {"static": 1.0, "kinetic": 0.6, "stiffness": 2.0},
    np.linspace(0.0, 30.0, 301),
    {"static": (0.8, 2.0), "kinetic": (0.3, 0.75), "stiffness": (1.0, 4.0)},
)


def estimate(
    case: tuple[Model, dict[str, float], np.ndarray, Bounds],
    outputs: tuple[str, ...],
    factors: tuple[float, ...],
    noise: float = 0.0,
) -> EstimationResult:
    """Estimate from a start that is off by factors, from data with relative noise."""
    whole, truth, times, bounds = case

    def model(times: np.ndarray, inputs: object, **values: float) -> dict[str, np.ndarray]:
        return {name: y for name, y in whole(times, inputs, **values).items() if name in outputs}

    rng = np.random.default_rng(7)
    clean = model(times, {}, **truth)
    data = {k: y + noise * np.ptp(y) * rng.normal(size=y.size) for k, y in clean.items()}
    parameters = [
        Parameter(name, factor * value, *bounds[name], variable=name)
        for (name, value), factor in zip(truth.items(), factors, strict=True)
    ]
    problem = python_problem(data, times, parameters)
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, LeastSquares())


@pytest.mark.each_time(
    "case2-outputs2-factors2-0.01", "case4-outputs4-factors4-0.0", "case7-outputs7-factors7-0.0"
)
@pytest.mark.slow  # thousands of runs of a Python model
@pytest.mark.parametrize(
    ("case", "outputs", "factors", "noise"),
    [
        (BALL, ("h",), (0.9, 1.1), 0.0),
        (BALL, ("h", "v"), (0.93, 1.09), 0.0),
        (BALL, ("h", "v"), (1.1, 0.9), 0.01),
        (BALL, ("v",), (0.91, 0.93), 0.01),
        (THERMOSTAT, ("T",), (0.94, 1.05, 1.09), 0.0),
        (THERMOSTAT, ("T", "on"), (1.1, 0.9, 1.1), 0.01),
        (STICK_SLIP, ("x",), (0.9, 1.1, 0.9), 0.01),
        (STICK_SLIP, ("x", "v"), (1.1, 1.1, 0.9), 0.0),
    ],
)
def test_the_truth_is_found_past_the_jumps(
    case: tuple[Model, dict[str, float], np.ndarray, Bounds],
    outputs: tuple[str, ...],
    factors: tuple[float, ...],
    noise: float,
) -> None:
    found = estimate(case, outputs, factors, noise)
    truth = np.array(list(case[1].values()))
    np.testing.assert_allclose(list(found.values.values()), truth, rtol=0.02 if noise else 1e-5)


def test_the_result_says_which_samples_events_pass_and_how_they_were_treated() -> None:
    found = estimate(BALL, ("h", "v"), (0.93, 1.09))
    (note,) = (n for n in found.notes if n.startswith("Events move with the parameters"))
    assert "'h' after 0.46 s in experiment 'data'" in note or "after 0.44 s" in note
    assert "compares samples near an event with the branch" in note


def inverse(times: np.ndarray, inputs: object, a: float, k: float) -> dict[str, np.ndarray]:
    """Coulomb and viscous friction of a motion that is measured."""
    speed = np.sin(3.0 * times + 0.1)
    return {"y": a * np.sign(speed) + k * speed}


@pytest.mark.parametrize("model", [decay, inverse])
def test_a_model_without_events_has_the_same_result_to_the_last_bit(
    monkeypatch: pytest.MonkeyPatch, model: Model
) -> None:
    times = np.linspace(0.0, 5.0, 101)
    rng = np.random.default_rng(0)
    data = {"y": model(times, {}, 2.0, 0.7)["y"] + 0.01 * rng.normal(size=times.size)}
    parameters = [Parameter(n, 1.0, 0.1, 5.0, variable=n) for n in ("a", "k")]
    inputs = {"speed": np.sin(3.0 * times + 0.1)}
    problem = python_problem(data, times, parameters, sigma=0.01, inputs=inputs)
    found = []
    for usable in (True, False):
        if not usable:
            monkeypatch.setattr(EventMatching, "usable", False)
        with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
            found.append(run_estimation(problem, evaluator, LeastSquares()))
    with_events, without = found
    assert with_events.parameters.equals(without.parameters)
    assert with_events.simulations == without.simulations
    assert with_events.notes == without.notes


def test_where_the_cost_jumps_there_is_no_interval_and_the_verdict_says_so() -> None:
    # Noise so large that the interval reaches across many jumps.
    found = estimate(BALL, ("h", "v"), (1.02, 0.99), 0.03)
    assert found.identifiability is not None
    assert set(found.identifiability.jumps) == {"g", "e"}
    assert found.parameters.standard_error[["g", "e"]].isna().all()
    assert "the cost jumps next to the estimate" in verdict(found).headline
    assert found.findings[0].code == "no-intervals"
    assert np.isnan(found.covariance).all()


def test_the_memory_of_a_search_past_events_grows_with_the_samples_and_not_their_square() -> None:
    times = np.linspace(0.0, 3.0, 2000)
    noise = 1e-3 * np.random.default_rng(1).normal(size=times.size)
    measured = {"h": ball(times, {}, 9.81, 0.7)["h"] + noise}
    parameters = [Parameter("g", 9.3, 5.0, 15.0, "g"), Parameter("e", 0.72, 0.5, 0.95, "e")]
    problem = python_problem(measured, times, parameters, sigma=1e-3)
    tracemalloc.start()
    try:
        with Evaluator(problem, PythonExecutor(problem, ball)) as evaluator:
            result = run_estimation(problem, evaluator, LeastSquares())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert any("Events move" in note for note in result.notes)
    assert most < 0.5 * times.size**2 * times.itemsize


@pytest.mark.each_time("soft_l1")
@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy"])
def test_a_robust_loss_has_no_interval_on_a_jump_either(loss: str) -> None:
    times = np.linspace(0.0, 10.0, 200)

    def switching(times: np.ndarray, inputs: object, f: float, g: float) -> dict[str, np.ndarray]:
        return {"y": g * np.sign(np.sin(f * times))}

    noise = 0.01 * np.random.default_rng(0).normal(size=times.size)
    measured = {"y": switching(times, {}, 3.0, 1.5)["y"] + noise}
    parameters = [Parameter("f", 2.9, 1.0, 9.0, "f"), Parameter("g", 1.0, variable="g")]
    problem = python_problem(measured, times, parameters, sigma=0.01)
    with Evaluator(problem, PythonExecutor(problem, switching)) as evaluator:
        result = run_estimation(problem, evaluator, LeastSquares(), {"loss": loss})
    f, g = result.estimates
    assert np.isnan(f.interval_95).all()
    assert g.interval_95[0] < 1.5 < g.interval_95[1]
    assert result.identifiability is not None
    assert result.identifiability.jumps == ("f",)
    # No tolerance of the simulations helps against a jump.
    assert not any("evaluation.tolerance" in note for note in result.notes)


def test_a_lower_cost_beyond_a_jump_is_found_where_samples_are_far_apart() -> None:
    times = np.linspace(0.0, 10.0, 200)

    def step(times: np.ndarray, inputs: object, at: float, g: float) -> dict[str, np.ndarray]:
        return {"y": np.where(times < at, 0.0, g)}

    noise = 0.01 * np.random.default_rng(0).normal(size=times.size)
    measured = {"y": step(times, {}, 0.07, 1.5)["y"] + noise}
    parameters = [Parameter("at", 0.2, 0.01, 9.0, "at"), Parameter("g", 1.0, variable="g")]
    problem = python_problem(measured, times, parameters, sigma=0.01)
    with Evaluator(problem, PythonExecutor(problem, step)) as evaluator:
        result = run_estimation(problem, evaluator, LeastSquares())
    # The sample at 0.05 s lies before the step, that at 0.1 s behind it.
    assert times[1] < result.estimates[0].value <= times[2]
    assert result.cost_final < times.size
