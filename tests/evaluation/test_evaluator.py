"""Residuals, counters, caching and failures on Python models."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fmident.data.experiment import Measurement
from fmident.errors import Code, SimulationError
from fmident.evaluation import Evaluator, JacobianError, PythonExecutor, python_problem
from fmident.problem.model import EvaluationSettings, Parameter, Problem

from ..refused import refused

TIMES = np.linspace(0.0, 2.0, 41)


def decay(times: np.ndarray, inputs: object, a: float, k: float) -> dict[str, np.ndarray]:
    if k > 10.0:
        raise SimulationError("solver gave up", time=0.5, log=["step size too small"])
    return {"y": a * np.exp(-k * times)}


def decay_problem(**settings: object) -> Problem:
    measured = decay(TIMES, {}, 2.0, 1.5)["y"]
    parameters = [
        Parameter("a", 1.0, variable="a", scale=1.0),
        Parameter("k", 1.0, 0.1, 50.0, variable="k", scale=1.0),
    ]
    return python_problem(
        {"y": measured},
        TIMES,
        parameters,
        sigma=0.1,
        evaluation=EvaluationSettings(check=False, **settings),
    )


@pytest.fixture
def evaluator():
    problem = decay_problem()
    with Evaluator(problem, PythonExecutor(problem, decay)) as e:
        yield e


def test_residuals_are_measured_minus_simulated_over_sigma(evaluator: Evaluator) -> None:
    expected = (decay(TIMES, {}, 2.0, 1.5)["y"] - decay(TIMES, {}, 1.0, 1.0)["y"]) / 0.1
    np.testing.assert_allclose(evaluator.residuals(np.array([1.0, 1.0])), expected)
    assert evaluator.cost(np.array([1.0, 1.0])) == pytest.approx(0.5 * expected @ expected)


def test_the_cost_after_the_residuals_costs_nothing(evaluator: Evaluator) -> None:
    p = np.array([1.0, 1.0])
    evaluator.residuals(p)
    evaluator.cost(p)
    evaluator.simulate(p)
    assert evaluator.simulations == 1


def test_many_points_come_back_in_order(evaluator: Evaluator) -> None:
    points = np.array([[1.0, 1.0], [2.0, 1.5], [1.0, 20.0], [3.0, 0.5]])
    many = evaluator.residuals_many(points)
    for row, p in zip(many, points, strict=True):
        np.testing.assert_array_equal(row, evaluator.residuals(p))
    assert np.isnan(many[2]).all()
    np.testing.assert_allclose(evaluator.costs(points)[1], 0.0, atol=1e-20)


def test_a_failed_simulation_is_a_value(evaluator: Evaluator) -> None:
    p = np.array([1.0, 20.0])
    assert np.isnan(evaluator.residuals(p)).all()
    assert evaluator.residuals(p).size == TIMES.size
    assert evaluator.cost(p) == np.inf
    assert evaluator.failures == 1
    failure = evaluator.last_failure
    assert failure is not None
    assert failure.message == "solver gave up"
    assert failure.time == 0.5
    assert failure.parameters == {"a": 1.0, "k": 20.0}
    assert failure.log == ("step size too small",)
    assert "at 0.5 s in experiment 'data' with a=1, k=20" in str(failure)


def test_outputs_that_are_not_finite_are_failures() -> None:
    problem = decay_problem()

    def model(times, inputs, a, k):
        return {"y": np.where(times > 1.0, np.nan, a)}

    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    assert evaluator.cost(problem.initial) == np.inf
    assert "is nan from sample 21 on" in str(evaluator.last_failure)


def test_parameters_that_are_not_finite_are_failures_without_a_simulation(
    evaluator: Evaluator,
) -> None:
    many = evaluator.residuals_many(np.array([[np.inf, 1.0], [2.0, 1.5], [1.0, np.nan]]))
    assert np.isfinite(many).all(axis=1).tolist() == [False, True, False]
    assert evaluator.simulations == 1
    assert evaluator.failures == 2
    assert "not finite with a=1, k=nan" in str(evaluator.last_failure)


def test_the_best_point_is_kept(evaluator: Evaluator) -> None:
    assert evaluator.best is None
    evaluator.cost(np.array([1.0, 20.0]))
    assert evaluator.best is None
    evaluator.cost(np.array([1.0, 1.0]))
    evaluator.cost(np.array([1.9, 1.4]))
    evaluator.cost(np.array([3.0, 1.0]))
    assert evaluator.best is not None
    np.testing.assert_array_equal(evaluator.best[0], [1.9, 1.4])
    assert evaluator.best[1] == evaluator.cost(np.array([1.9, 1.4]))


def test_points_of_the_finite_differences_are_not_candidates(evaluator: Evaluator) -> None:
    p = np.array([1.0, 1.0])
    evaluator.jacobian(p)
    assert evaluator.best is not None
    np.testing.assert_array_equal(evaluator.best[0], p)


def test_keyboard_interrupt_passes_and_leaves_the_best_point() -> None:
    problem = decay_problem()
    calls = []

    def model(times, inputs, a, k):
        calls.append(k)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return decay(times, inputs, a, k)

    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    evaluator.cost(np.array([1.0, 1.0]))
    evaluator.cost(np.array([1.8, 1.4]))
    with pytest.raises(KeyboardInterrupt):
        evaluator.residuals_many(np.array([[2.0, 1.5], [2.0, 1.6]]))
    np.testing.assert_array_equal(evaluator.best[0], [1.8, 1.4])
    assert np.isfinite(evaluator.cost(np.array([2.0, 1.5])))


def test_a_parameter_of_the_measurement_model_costs_no_simulation() -> None:
    problem = decay_problem()
    experiment = problem.experiments[0]
    measurement = dataclasses.replace(experiment.measurements[0], offset="shift")
    problem = dataclasses.replace(
        problem,
        parameters=(*problem.parameters, Parameter("shift", 0.1)),
        experiments=(dataclasses.replace(experiment, measurements=(measurement,)),),
        evaluation=EvaluationSettings(check=False, relative_step=1e-6),
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, decay))
    jacobian = evaluator.jacobian(problem.initial)
    assert evaluator.simulations == 3  # the point itself and two columns
    np.testing.assert_allclose(jacobian[:, 2], -10.0, rtol=1e-6)


def test_a_local_parameter_simulates_its_own_experiment_only() -> None:
    base = decay_problem(relative_step=1e-6)
    first = dataclasses.replace(base.experiments[0], name="first")
    second = dataclasses.replace(base.experiments[0], name="second")
    problem = dataclasses.replace(
        base,
        experiments=(first, second),
        parameters=(
            Parameter("k", 1.0, variable="k"),
            Parameter("a1", 1.0, variable="a", experiments=("first",)),
            Parameter("a2", 3.0, variable="a", experiments=("second",)),
        ),
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, decay))
    jacobian = evaluator.jacobian(problem.initial)
    assert evaluator.simulations == 2 + 2 + 1 + 1
    assert np.all(jacobian[TIMES.size :, 1] == 0.0)
    assert np.all(jacobian[: TIMES.size, 2] == 0.0)


def test_missing_samples_have_no_residual() -> None:
    problem = decay_problem()
    experiment = problem.experiments[0]
    values = experiment.measurements[0].values.copy()
    values[[3, 7]] = np.nan
    measurement: Measurement = dataclasses.replace(experiment.measurements[0], values=values)
    problem = dataclasses.replace(
        problem, experiments=(dataclasses.replace(experiment, measurements=(measurement,)),)
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, decay))
    assert evaluator.residuals(problem.initial).size == TIMES.size - 2
    assert evaluator.residuals(np.array([1.0, 20.0])).size == TIMES.size - 2


def test_no_jacobian_where_the_simulation_fails(evaluator: Evaluator) -> None:
    with refused(Code.NO_DERIVATIVE, JacobianError, match="solver gave up"):
        evaluator.jacobian(np.array([1.0, 20.0]))


def test_wrong_shape_is_a_programming_error(evaluator: Evaluator) -> None:
    with pytest.raises(ValueError, match="2 parameters"):
        evaluator.residuals(np.ones(3))
