"""Parameters without influence at an estimate that act farther away."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from fmident.errors import ProblemError
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident_estimators.least_squares.estimator import LeastSquares

TIMES = np.linspace(0.0, 4.0, 41)
Model = Callable[..., Mapping[str, np.ndarray]]


def estimated(
    model: Model, truth: Mapping[str, float], start: Mapping[str, float], noise: float = 1e-3
) -> EstimationResult:
    added = noise * np.random.default_rng(0).normal(size=TIMES.size)
    measured = model(TIMES, {}, **truth)["y"] + added
    parameters = [
        Parameter(n, v, variable=n, scale=abs(v) or 1.0, lower=-20.0, upper=20.0)
        for n, v in start.items()
    ]
    problem = python_problem({"y": measured}, TIMES, parameters)
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, LeastSquares())


def steps(times: np.ndarray, inputs: object, n: float, k: float) -> Mapping[str, np.ndarray]:
    return {"y": np.floor(n) * np.exp(-k * times)}


@pytest.mark.parametrize("start", [2.3, 5.2])
def test_a_search_goes_on_from_a_wrong_step(start: float) -> None:
    """At 2.3 a step to 3 lowers the cost only if k follows."""
    found = estimated(steps, {"n": 3.6, "k": 0.7}, {"n": start, "k": 1.0})
    assert found.status == "converged"
    assert np.floor(found.values["n"]) == 3.0
    assert found.values["k"] == pytest.approx(0.7, abs=0.01)
    assert "search" in {f.code for f in found.findings}


def test_on_the_right_step_the_verdict_says_that_others_exist() -> None:
    found = estimated(steps, {"n": 3.6, "k": 0.7}, {"n": 3.3, "k": 1.0})
    assert found.status == "converged"
    assert found.identifiability is not None
    assert found.identifiability.verdict.endswith(
        "That is so next to these values only: n acts at n = 2.97."
    )
    assert "lower-cost-elsewhere" not in {f.code for f in found.findings}


def test_a_parameter_that_the_search_has_made_silent() -> None:
    """Alone it acts nowhere: that needs a larger k."""

    def model(times, inputs, a, k):
        return {"y": np.exp(-k * times) + 0.01 * a * max(0.0, k - 1.0) ** 2}

    found = estimated(model, {"a": 1.0, "k": 0.7}, {"a": 2.0, "k": 1.2})
    assert "lower-cost-elsewhere" not in {f.code for f in found.findings}
    assert found.identifiability is not None
    assert found.identifiability.verdict == (
        "Rank 1 of 2. a has no visible influence on the measured outputs. k is identifiable."
    )


def test_a_peak_that_the_start_does_not_see() -> None:
    def model(times, inputs, place):
        return {"y": np.exp(-(((10.0 * times / 4.0 - place) / 0.2) ** 2))}

    found = estimated(model, {"place": 7.0}, {"place": 10.5})
    assert (found.status, found.ended_by) == ("limit", "plateau")
    assert found.identifiability is not None
    assert "That is so next to these values only: place acts at" in found.identifiability.verdict


def test_noise_of_the_simulation_is_not_taken_for_influence() -> None:
    """A parameter that changes nothing but the steps of an integrator, and data without noise."""
    generator = np.random.default_rng(3)

    def model(times, inputs, a, hidden):
        noise = 1e-9 * generator.normal(size=times.size)
        return {"y": np.exp(-a * times) + noise}

    for seed in range(5):
        generator = np.random.default_rng(seed)
        found = estimated(model, {"a": 1.0, "hidden": 2.0}, {"a": 1.1, "hidden": 2.5}, noise=0.0)
        assert "lower-cost-elsewhere" not in {f.code for f in found.findings}
        assert found.identifiability is not None
        assert "next to these values" not in found.identifiability.verdict


def test_a_simulation_that_fails_farther_away_is_not_influence() -> None:
    def model(times, inputs, a, gate):
        bad = np.nan if gate < 1.5 else 0.0
        return {"y": np.exp(-a * times) + bad + 1e-3 * max(0.0, a - 1.05) * gate}

    found = estimated(model, {"a": 1.0, "gate": 2.0}, {"a": 1.2, "gate": 2.5})
    assert found.identifiability is not None
    assert "a is identifiable" in found.identifiability.verdict
    assert "next to these values" not in found.identifiability.verdict


def test_the_look_does_not_stop_at_another_parameter_on_a_bound() -> None:
    def model(times, inputs, n, k, b):
        return {"y": np.floor(n) * np.exp(-k * times) + (b - 30.0) * times}

    found = estimated(model, {"n": 3.6, "k": 0.7, "b": 25.0}, {"n": 3.3, "k": 1.0, "b": 19.0})
    assert found.parameters.loc["b", "at_bound"]
    assert found.identifiability is not None
    assert "next to these values only: n acts at" in found.identifiability.verdict


def test_a_search_leaves_where_only_a_ratio_of_rates_acts() -> None:
    """Two reactions that are over at once: their sum is seen farther away only."""

    def model(times, inputs, a, b):
        return {"y": a / (a + b) * -np.expm1(-(a + b) * times)}

    measured = model(TIMES, {}, 0.7, 0.4)["y"]
    measured += 1e-3 * np.random.default_rng(0).normal(size=TIMES.size)
    for factor in (1e2, 1e3):
        parameters = [
            Parameter("a", 2.0 * factor, 0.0, variable="a"),
            Parameter("b", 3.0 * factor, 0.0, variable="b"),
        ]
        problem = python_problem({"y": measured}, TIMES, parameters)
        with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
            found = run_estimation(problem, evaluator, LeastSquares())
        assert found.status == "converged"
        assert list(found.values.values()) == pytest.approx([0.7, 0.4], abs=0.02)


def test_what_cannot_be_told_apart_anywhere_is_no_plateau() -> None:
    def model(times, inputs, a, b, k):
        return {"y": (a + 2.0 * b) * np.exp(-k * times)}

    found = estimated(model, {"a": 2.0, "b": 1.0, "k": 0.7}, {"a": 1.0, "b": 0.5, "k": 1.0})
    assert found.status == "converged"
    assert found.identifiability is not None
    assert found.identifiability.rank == 2


LIMITED = {
    "saturation": lambda u, x: np.clip(u, -x, x),
    "dead zone": lambda u, x: np.sign(u) * np.maximum(np.abs(u) - x, 0.0) + 0.1 * u,
    "overflow": lambda u, x: np.minimum(u, x),
}


@pytest.mark.parametrize("kind", LIMITED)
def test_a_parameter_that_acts_elsewhere_does_not_refuse_the_others(kind: str) -> None:
    def model(times, inputs, gain, limit):
        return {"y": LIMITED[kind](gain * np.sin(2.0 * times), limit)}

    truth = {"gain": 2.0, "limit": 0.8}
    found = estimated(model, truth, {"gain": 0.9, "limit": 3.0})
    assert found.status == "converged"
    assert [found.values[n] for n in truth] == pytest.approx(list(truth.values()), abs=0.01)
    with pytest.raises(ProblemError, match="'limit' acts elsewhere"):  # nothing leads there
        estimated(lambda t, u, limit: model(t, u, 0.9, limit), {"limit": 0.5}, {"limit": 6.0})


def ball(times: np.ndarray, inputs: object, g: float, e: float) -> Mapping[str, np.ndarray]:
    """As a solver with a fixed step has it, which finds impacts at the end of a step."""
    height, speed, found = 1.0, 0.0, [1.0]
    for _ in range(times.size - 1):
        for _ in range(10):
            height += 1e-3 * speed
            speed -= 1e-3 * g
            if height <= 0.0 and speed < 0.0:
                height, speed = 0.0, -e * speed
                if speed < 0.1:
                    speed = g = 0.0
        found.append(height)
    return {"h": np.array(found)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "start",
    [(9.117584262738394, 0.7061759210738942), (7.4653579966481525, 0.6758628242662499)],
)
def test_an_exact_optimum_is_one_though_events_hide_the_derivatives(
    start: tuple[float, float],
) -> None:
    times = np.linspace(0.0, 3.0, 301)
    parameters = [
        Parameter("g", start[0], 1.0, 30.0, variable="g"),
        Parameter("e", start[1], 0.5, 1.0, variable="e"),
    ]
    problem = python_problem(ball(times, {}, 9.81, 0.7), times, parameters)
    with Evaluator(problem, PythonExecutor(problem, ball)) as evaluator:
        found = run_estimation(problem, evaluator, LeastSquares())
    assert found.cost_final < 1e-28
    assert found.status == "converged"


def test_a_limit_that_cuts_no_peak_at_the_start() -> None:
    """Without it the gain fits less than 2, and most limits that cut raise the cost."""

    def model(times, inputs, gain, limit):
        return {"y": np.clip(gain * 4.0 * np.sin(2.0 * times), -limit, limit)}

    found = estimated(model, {"gain": 2.0, "limit": 5.5}, {"gain": 2.0, "limit": 13.0})
    assert found.status == "converged"
    assert found.values == pytest.approx({"gain": 2.0, "limit": 5.5}, rel=1e-3)
