"""A verdict must not blame the data for what inexact derivatives hide."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import EvaluationSettings, Parameter, Problem
from fmident.statistics.rank import analyse_rank, scaled_jacobian_error

TIMES = np.linspace(0.0, 4.0, 2000)
TRUTH = np.array([2.0, 3.0])
SIGMA = 1e-3


class Noisy:
    """A model whose parameters nearly cancel, with the noise of a solver."""

    def __init__(self, noise: float, difference: float) -> None:
        self.noise, self.difference = noise, difference
        self.rng = np.random.default_rng(3)

    def __call__(
        self, times: np.ndarray, inputs: object, a: float, b: float
    ) -> dict[str, np.ndarray]:
        clean = np.sin(a * b * times) + self.difference * (a - 2.0) * times
        return {"y": clean + self.noise * self.rng.normal(size=times.size)}


def problem_of(model: Noisy) -> Problem:
    clean = Noisy(0.0, model.difference)(TIMES, {}, *TRUTH)["y"]
    measured = clean + SIGMA * np.random.default_rng(0).normal(size=TIMES.size)
    parameters = [Parameter("a", 2.0, variable="a"), Parameter("b", 3.0, variable="b")]
    return python_problem({"y": measured}, TIMES, parameters, sigma=SIGMA)


def standard_errors(difference: float) -> np.ndarray:
    a, b = TRUTH
    slope = np.cos(a * b * TIMES) * TIMES
    jacobian = np.column_stack([b * slope + difference * TIMES, a * slope]) / SIGMA
    return np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))


def test_rank_and_errors_are_right_where_forward_differences_are_too_inexact() -> None:
    model = Noisy(3e-5, 0.02)
    problem = problem_of(model)
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    jacobian, errors = evaluator.jacobian(TRUTH), evaluator.column_errors(TRUTH)
    assert errors is not None
    forward = analyse_rank(jacobian, errors)
    # The case that the newcomer met: the error is larger than the smallest singular value.
    assert scaled_jacobian_error(forward.column_norms, errors) > forward.singular_values[-1]
    assert forward.rank == 1
    before = evaluator.simulations
    found = uncertainty(problem, evaluator, TRUTH)
    assert found.identifiability.rank == 2
    assert found.identifiability.verdict == "Both parameters are identifiable."
    np.testing.assert_allclose(found.local.standard_errors, standard_errors(0.02), rtol=0.1)
    assert before < evaluator.simulations <= before + 20


def test_derivatives_that_stay_too_inexact_are_blamed_not_the_data() -> None:
    model = Noisy(1e-3, 3e-4)
    problem = problem_of(model)
    problem = replace(problem, experiments=_finer(problem, 1e-3))
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    found = uncertainty(problem, evaluator, TRUTH)
    identifiability = found.identifiability
    assert set(identifiability.undecided) == {"a", "b"}
    assert "derivatives are too inexact to tell" in identifiability.verdict
    assert "tighten evaluation.tolerance" in identifiability.verdict
    assert "cannot be told apart" not in identifiability.verdict
    assert np.isnan(found.local.intervals).all()


def test_data_are_blamed_where_a_and_b_act_together_only() -> None:
    model = Noisy(1e-6, 0.0)
    problem = problem_of(model)
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    found = uncertainty(problem, evaluator, TRUTH)
    assert found.identifiability.rank == 1
    (combination,) = found.identifiability.determined
    np.testing.assert_allclose(combination.sums, [[1.0, 2.0 / 3.0]], rtol=1e-3)


def test_exact_models_pay_one_simulation_per_parameter_to_be_verified() -> None:
    model = Noisy(0.0, 0.02)
    problem = problem_of(model)
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    evaluator.jacobian(TRUTH)
    before = evaluator.simulations
    found = uncertainty(problem, evaluator, TRUTH)
    assert evaluator.simulations == before + 2
    np.testing.assert_allclose(found.local.standard_errors, standard_errors(0.02), rtol=1e-2)


def test_a_jacobian_that_was_handed_over_is_not_computed_again() -> None:
    model = Noisy(0.0, 0.0)
    problem = problem_of(model)
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    slope = np.cos(6.0 * TIMES) * TIMES / SIGMA
    evaluator.remember_jacobian(TRUTH, slope[:, None] * [3.0, 2.0], np.ones(2))
    evaluator.residuals(TRUTH)
    before = evaluator.simulations
    assert uncertainty(problem, evaluator, TRUTH).identifiability.rank == 1
    assert evaluator.simulations == before


@pytest.mark.parametrize("held", [0, 1])
def test_a_parameter_that_the_data_push_onto_its_bound_is_held(held: int) -> None:
    model = Noisy(1e-9, 0.02)
    p = TRUTH.copy()
    p[held] += 0.5
    p[1 - held] = 6.0 / p[held]  # the product stays
    problem = problem_of(model)
    bounded = replace(problem.parameters[held], lower=p[held])
    other = problem.parameters[1 - held]
    parameters = (bounded, other) if held == 0 else (other, bounded)
    problem = replace(problem, parameters=parameters)
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    found = uncertainty(problem, evaluator, p).local
    assert found.on_bound.tolist() == [held == 0, held == 1]
    assert np.isnan(found.standard_errors[held])
    assert np.isfinite(found.standard_errors[1 - held])


def _finer(problem: Problem, factor: float) -> tuple:
    """Return the experiments with less noise, so that the data would tell a from b."""
    experiment = problem.experiments[0]
    measurement = experiment.measurements[0]
    finer = replace(measurement, sigma=np.array(SIGMA * factor))
    return (replace(experiment, measurements=(finer,)),)


def test_data_that_the_same_coarse_simulation_has_made_leave_no_standard_errors() -> None:
    def coarse(
        times: np.ndarray, inputs: object, a: float, b: float, tolerance: float
    ) -> dict[str, np.ndarray]:
        return {"y": a * np.exp(-b * times) + tolerance * np.sin(7.0 * times)}

    measured = coarse(TIMES, {}, *TRUTH, tolerance=1e-2)["y"]
    parameters = [Parameter("a", 2.0, variable="a"), Parameter("b", 3.0, variable="b")]
    settings = EvaluationSettings(check=False, tolerance=1e-2)
    problem = python_problem({"y": measured}, TIMES, parameters, evaluation=settings)
    found = uncertainty(problem, Evaluator(problem, PythonExecutor(problem, coarse)), TRUTH)
    effect = found.derivatives
    assert np.array_equal(found.local.standard_errors, [0.0, 0.0])
    shifts = np.array([effect.shifts["a"], effect.shifts["b"]])
    assert np.isfinite(shifts).all()
    # What is left of the error then is no more than what never matters, and the next decade is.
    moved = np.abs(shifts * np.finfo(np.float64).eps * TRUTH)
    assert effect.needed is not None
    assert effect.tolerance is not None
    rest = np.max(moved / TRUTH) * effect.needed / effect.tolerance
    assert 0.1 * 0.5e-4 < rest <= 0.5e-4


def test_the_tolerance_that_is_needed_for_some_parameters_beside_one_that_does_not_act() -> None:
    def coarse(
        times: np.ndarray, inputs: object, a: float, silent: float, tolerance: float
    ) -> dict[str, np.ndarray]:
        return {"y": a * np.exp(-3.0 * times) + tolerance * np.sin(7.0 * times)}

    measured = coarse(TIMES, {}, 2.0, 1.0, tolerance=0.0)["y"]
    parameters = [Parameter("a", 2.0, variable="a"), Parameter("silent", 1.0, variable="silent")]
    settings = EvaluationSettings(check=False, tolerance=1e-2)
    problem = python_problem({"y": measured}, TIMES, parameters, sigma=1e-3, evaluation=settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        executor = PythonExecutor(problem, coarse)
        found = uncertainty(problem, Evaluator(problem, executor), np.array([2.0, 1.0]))
    effect = found.derivatives
    assert list(effect.shifts) == ["a"]
    assert effect.needed is not None
    assert effect.needed < 1e-2
