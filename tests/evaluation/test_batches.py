"""What can run at once reaches the executor as one batch."""

from __future__ import annotations

import dataclasses

import numpy as np

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, SimulationTask, python_problem
from fmident.problem.model import EvaluationSettings, Parameter, Problem
from fmident_estimators.least_squares.estimator import LeastSquares

from ..models import decay

TIMES = np.linspace(0.0, 2.0, 41)


class Recording(PythonExecutor):
    """Notes the size of each batch."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, decay)
        self.batches: list[int] = []

    def run(self, tasks):  # type: ignore[no-untyped-def]
        assert all(isinstance(t, SimulationTask) for t in tasks)
        self.batches.append(len(tasks))
        return super().run(tasks)


def problem_with(experiments: int = 1, **settings: object) -> Problem:
    single = python_problem(
        {"y": decay(TIMES, {}, 2.0, 1.5)["y"]},
        TIMES,
        [
            Parameter("a", 1.0, 0.1, 10.0, variable="a"),
            Parameter("k", 1.0, 0.1, 10.0, variable="k"),
        ],
        sigma=0.1,
        evaluation=EvaluationSettings(check=False, **settings),
    )
    names = [f"run{i}" for i in range(experiments)]
    many = tuple(dataclasses.replace(single.experiments[0], name=n) for n in names)
    return dataclasses.replace(single, experiments=many)


def test_noise_curvature_and_columns_are_a_batch_each_over_all_experiments() -> None:
    problem = problem_with(experiments=3)
    executor = Recording(problem)
    evaluator = Evaluator(problem, executor)
    evaluator.residuals(problem.initial)
    evaluator.measure_steps(problem.initial)
    assert executor.batches[0] == 3
    # Equidistant points at one spacing or more, then a point to each side of each parameter.
    assert set(executor.batches[1:-1]) == {6 * 3}
    assert executor.batches[-1] == 2 * 2 * 3
    executor.batches.clear()
    evaluator.jacobian(problem.initial)
    assert executor.batches == [2 * 3]


def test_central_differences_are_one_batch() -> None:
    problem = problem_with(experiments=2, difference="central", relative_step=1e-4)
    executor = Recording(problem)
    evaluator = Evaluator(problem, executor)
    evaluator.jacobian(problem.initial)
    assert executor.batches == [2, 4 * 2]


def test_candidates_are_one_batch_and_are_not_simulated_again() -> None:
    problem = problem_with(experiments=2)
    executor = Recording(problem)
    evaluator = Evaluator(problem, executor)
    points = problem.initial + np.linspace(0.0, 1.0, 20)[:, np.newaxis]
    costs = evaluator.costs(points)
    assert executor.batches == [20 * 2]
    assert [evaluator.cost(p) for p in points] == costs.tolist()
    assert executor.batches == [20 * 2]


def test_the_starts_of_least_squares_are_one_batch() -> None:
    problem = problem_with()
    executor = Recording(problem)
    evaluator = Evaluator(problem, executor)
    result = run_estimation(problem, evaluator, LeastSquares(), {"starts": 8})
    assert result.converged()
    known = executor.batches.index(4)  # the initial point, the noise there and the curvature
    assert executor.batches[known + 1] == 7
    # Then what all searches need for their first Jacobians: columns, or first the noise.
    assert executor.batches[known + 2] > 7 * 2
