"""What is rare must not spoil the intervals of a stage, nor end the run."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.data import Experiment
from fmident.estimation import Estimate, EstimationResult, Estimator, run_stages
from fmident.evaluation import PythonExecutor
from fmident.problem import EstimatorSettings, EvaluationSettings, Problem, Stage, stage_of

from .linear_stages import (
    ESTIMATORS,
    J1,
    J2,
    J21,
    SECOND,
    SIGMA,
    TRUTH,
    G,
    inverse,
    line,
    same_data,
    solve,
    two_stages,
    whole,
)


def test_a_value_found_near_zero_is_moved_by_steps_that_suit_what_it_was_searched_from() -> None:
    def noisy(times: np.ndarray, inputs: Any, a: float, b: float, **rest: float) -> Any:
        phase = 1e6 * (a + 1.7 * b + 2.3 * sum(rest.values())) + 7.0 * np.arange(times.size)
        tiny = 1e-6 * np.sin(phase)  # as a solver with step control leaves it
        return {k: v + tiny for k, v in line(times, inputs, a, b, **rest).items()}

    problem = whole()
    one, second = problem.experiments
    (y,) = one.measurements
    offset = np.linalg.lstsq(-J1, y.values, rcond=None)[0][0]  # so that "line" finds a = 1e-6
    y = dataclasses.replace(y, values=y.values - offset + 1e-6)
    one = dataclasses.replace(one, measurements=(y,))
    found = solve(two_stages(dataclasses.replace(problem, experiments=(one, second))), noisy)
    assert abs(found.values["a"]) < 1e-4
    expected = SIGMA**2 * (inverse(J2) + G @ inverse(J1) @ G.T)
    errors = found.parameters["standard_error"].iloc[2:]
    np.testing.assert_allclose(errors, np.sqrt(np.diag(expected)), rtol=1e-2)


def test_derivatives_too_inexact_to_carry_anything_over_are_told() -> None:
    def rough(times: np.ndarray, inputs: Any, a: float, b: float, **rest: float) -> Any:
        phase = 1e6 * (a + 1.7 * b + 2.3 * sum(rest.values())) + 7.0 * np.arange(times.size)
        found = line(times, inputs, a, b, **rest)
        return found | {"y2": found["y2"] + 0.02 * np.sin(phase)}

    precise = EvaluationSettings(check=False, relative_step=1e-6)
    problem = dataclasses.replace(whole(), evaluation=precise)
    first, rest = two_stages(problem).stages
    coarse = dataclasses.replace(rest.problem, evaluation=EvaluationSettings(check=False))
    problem = dataclasses.replace(problem, stages=(first, Stage("rest", coarse)))
    for model, told in ((rough, True), (line, False)):
        notes = solve(problem, model).notes
        assert any("the simulation is too inexact to tell" in n for n in notes) == told, notes


def test_a_stage_that_ends_on_its_bounds_has_nothing_to_carry_over() -> None:
    low = {"lower": -9.0, "upper": -8.0, "initial": -8.5}
    found = solve(two_stages(whole(c=low, d=low)))
    carried = found.stages[1].uncertainty
    assert carried is not None
    assert carried.simulations == 0
    assert not {"stage-held-counted", "stage-held-known"} & {f.code for f in found.findings}


def test_data_without_noise_leave_no_warning_and_no_width() -> None:
    problem = same_data(sigma=None)
    (e,) = problem.experiments
    (y,) = e.measurements
    y = dataclasses.replace(y, values=line(SECOND, {}, **TRUTH)["y2"])
    exact = tuple(dataclasses.replace(q, initial=TRUTH[q.name]) for q in problem.parameters)
    problem = dataclasses.replace(
        problem, experiments=(dataclasses.replace(e, measurements=(y,)),), parameters=exact
    )
    stages = (
        stage_of(problem, "first", free=["a", "b"]),
        stage_of(problem, "rest", free=["c", "d"]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve(dataclasses.replace(problem, stages=stages))
    np.testing.assert_allclose(found.parameters["standard_error"], 0.0, atol=1e-9)


def test_the_same_file_by_another_path_is_the_same_data(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    problem = same_data()
    (e,) = problem.experiments
    by_path = {
        name: dataclasses.replace(problem, experiments=(dataclasses.replace(e, source=source),))
        for name, source in (
            ("first", str(tmp_path / "data.csv")),
            ("rest", str(tmp_path / "sub" / ".." / "data.csv")),
        )
    }
    stages = tuple(
        stage_of(by_path[name], name, free=free)
        for name, free in (("first", ["a", "b"]), ("rest", ["c", "d"]))
    )
    found = solve(dataclasses.replace(by_path["first"], stages=stages))
    np.testing.assert_allclose(found.covariance, solve(same_data()).covariance, rtol=1e-12)
    carried = found.stages[1].uncertainty
    assert carried is not None
    assert carried.shared_experiments == ("second",)


@dataclasses.dataclass(frozen=True)
class NoOptions:
    pass


class Half(Estimator[NoOptions]):
    """Least squares that looks at every other sample only."""

    name = "half"
    summary = "every other sample"
    options_type = NoOptions

    def estimate(
        self, problem: Problem, evaluator: Any, options: NoOptions, monitor: Any
    ) -> Estimate:
        weights = np.where(np.arange(evaluator.residuals(problem.initial).size) % 2, 0.0, 1.0)
        jacobian = weights[:, np.newaxis] * evaluator.jacobian(problem.initial)
        residuals = weights * evaluator.residuals(problem.initial)
        step = np.linalg.lstsq(jacobian, residuals, rcond=None)[0]
        return Estimate(problem.initial - step, "converged", "", residual_weights=weights)


def test_samples_that_an_estimator_leaves_out_are_no_common_samples() -> None:
    problem = same_data()
    first, rest = problem.stages
    half = dataclasses.replace(first.problem, estimator=EstimatorSettings("half"))
    problem = dataclasses.replace(problem, stages=(Stage("first", half), rest))
    found = run_stages(
        problem,
        lambda asked: PythonExecutor(asked, line),
        lambda name: Half() if name == "half" else ESTIMATORS.get(name)(),
    )
    answer1 = np.zeros((2, 33))
    answer1[:, ::2] = -inverse(J21[::2]) @ J21[::2].T
    answer2 = -inverse(J2) @ J2.T @ (np.eye(33) + J21 @ answer1)
    joint = np.vstack([answer1, answer2]) * SIGMA
    np.testing.assert_allclose(found.covariance, joint @ joint.T, rtol=1e-4, atol=1e-8)


@pytest.mark.slow
def test_four_stages_against_the_answers_to_each_sample_alone() -> None:
    """Brute force: each sample is moved, and the whole run repeated."""

    def run(moved: int, by: float) -> EstimationResult:
        problem = whole(b={"experiments": ("one", "second")}, d={"scaling": "log", "lower": 0.01})
        experiments = []
        for e, first in zip(problem.experiments, (0, 7), strict=True):
            every = slice(None, None, 3 if first == 0 else 4)
            (y,) = e.measurements
            values = y.values[every].copy()
            if 0 <= moved - first < values.size:
                values[moved - first] += by
            y = dataclasses.replace(y, values=values)
            experiments.append(Experiment(e.name, e.times[every], {}, (y,)))
        exact = EvaluationSettings(check=False, relative_step=1e-6)
        # The search may leave no more than the differences between its answers can bear.
        search = EstimatorSettings("least-squares", {"step_tolerance": 1e-10})
        problem = dataclasses.replace(
            problem, experiments=tuple(experiments), evaluation=exact, estimator=search
        )
        stages = (
            stage_of(problem, "1", free=["a", "b"], experiments=["one"]),
            stage_of(problem, "2", free=["c", "d"], experiments=["second"]),
            stage_of(problem, "3", free=["b"], experiments=["second"]),
            stage_of(problem, "4", free=["a", "d"]),
        )
        return solve(dataclasses.replace(problem, stages=stages))

    step = 0.01 * SIGMA
    columns = []
    for k in range(7 + 9):
        up, down = (np.array(list(run(k, s).values.values())) for s in (step, -step))
        columns.append((up - down) / (2.0 * step))
    answers = SIGMA * np.array(columns).T
    found = run(-1, 0.0)
    errors = found.parameters["standard_error"].to_numpy()
    np.testing.assert_allclose(
        found.covariance / np.outer(errors, errors),
        answers @ answers.T / np.outer(errors, errors),
        atol=1e-5,
    )
