"""Parameters without influence at an estimate that act farther away."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident_estimators.least_squares import LeastSquares

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
def test_a_parameter_that_acts_in_steps_has_not_converged_on_a_wrong_one(start: float) -> None:
    """At 2.3 a step to 3 lowers the cost only if k follows."""
    found = estimated(steps, {"n": 3.6, "k": 0.7}, {"n": start, "k": 1.0})
    assert (found.status, found.ended_by) == ("limit", "plateau")
    assert any("this is not the minimum" in note for note in found.notes)


def test_on_the_right_step_the_verdict_says_that_others_exist() -> None:
    found = estimated(steps, {"n": 3.6, "k": 0.7}, {"n": 3.3, "k": 1.0})
    assert found.status == "converged"
    assert found.identifiability is not None
    assert found.identifiability.verdict.endswith(
        "That is so next to these values only: n acts at n = 2.97."
    )
    assert not any("not the minimum" in note for note in found.notes)


def test_a_parameter_that_the_search_has_made_silent() -> None:
    """Alone it acts nowhere: that needs a larger k."""

    def model(times, inputs, a, k):
        return {"y": np.exp(-k * times) + 0.01 * a * max(0.0, k - 1.0) ** 2}

    found = estimated(model, {"a": 1.0, "k": 0.7}, {"a": 2.0, "k": 1.2})
    assert not any("not the minimum" in note for note in found.notes)
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
        assert not any("not the minimum" in note for note in found.notes)
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
