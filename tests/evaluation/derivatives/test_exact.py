"""Jacobians from a model's own sensitivities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.errors import Code, ProblemError, SimulationError
from fmident.estimation.contract import Estimate
from fmident.estimation.diagnostics import Fit
from fmident.estimation.diagnostics.notes import inexact_derivatives
from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.estimation.run import run_estimation
from fmident.evaluation import (
    Evaluator,
    Executor,
    JacobianError,
    Outcomes,
    PythonExecutor,
    SimulationTask,
    python_problem,
)
from fmident.evaluation.derivatives.verification import Judgement
from fmident.problem import Parameter, Problem
from fmident.problem.expressions import Expression
from fmident.problem.model import EvaluationSettings
from fmident.problem.residuals import DerivativeOrigin, summary_of
from fmident_estimators.least_squares.estimator import LeastSquares

from ...problem import test_chain_rule as chain_rule
from ...refused import refused

TIMES = np.linspace(0.0, 2.0, 41)
TRUE = {"k": 1.3, "a": 2.0}


def model(times: F64, inputs: Mapping[str, F64], k: float, a: float) -> dict[str, F64]:
    return {"y": a * np.exp(-k * times)}


DERIVATIVES: dict[str, Callable[..., dict[str, F64]]] = {
    "k": lambda times, inputs, k, a: {"y": -a * times * np.exp(-k * times)},
    "a": lambda times, inputs, k, a: {"y": np.exp(-k * times)},
}


def problem(noise: float = 0.01, **settings: Any) -> Problem:
    clean = model(TIMES, {}, **TRUE)["y"]
    found = python_problem(
        {"y": clean + noise * np.random.default_rng(1).normal(size=TIMES.size)},
        TIMES,
        [
            Parameter("k", 0.8, variable="k", lower=0.1, upper=10.0),
            Parameter("a", 1.5, variable="a", lower=0.1, upper=10.0),
            Parameter("offset", 0.05, lower=-1.0, upper=1.0),
        ],
        sigma=0.01,
        evaluation=EvaluationSettings(check=False, **settings),
    )
    (experiment,) = found.experiments
    (measured,) = experiment.measurements
    measured = replace(measured, offset="offset")
    return replace(found, experiments=(replace(experiment, measurements=(measured,)),))


def expected(p: F64) -> F64:
    values = dict(zip(("k", "a"), p.tolist(), strict=False))
    slopes = [DERIVATIVES[name](TIMES, {}, **values)["y"] for name in ("k", "a")]
    return -np.column_stack([*slopes, np.ones(TIMES.size)]) / 0.01


class Recording(PythonExecutor):
    """Notes the tasks."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.tasks: list[SimulationTask] = []

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        self.tasks += tasks
        return super().run(tasks)


def evaluator(task: Problem, *, known: Sequence[str] = ("k", "a")) -> tuple[Evaluator, Recording]:
    executor = Recording(task, model, {name: DERIVATIVES[name] for name in known})
    return Evaluator(task, executor), executor


def satisfied(jacobian: F64, errors: F64) -> Judgement:
    return Judgement(True, (0.0,), True, 1.0, jacobian)


def test_sensitivities_are_said_to_be_them_after_derivatives_elsewhere() -> None:
    task, p = problem(), np.array([1.3, 2.0, 0.0])
    found, _ = evaluator(task)
    with found:
        held = np.zeros(3, dtype=np.bool_)
        statistics = uncertainty(task, found, p)
        check = replace(statistics.derivatives, tolerance=1e-6, tightened=1e-8)
        found.jacobian(1.1 * p)
        estimate, known = Estimate(p, "converged", ""), replace(statistics, derivatives=check)
        fit = Fit(task, found, estimate, found.cost(p), held, uncertainty=known)
        (note,) = [f for f in inexact_derivatives(fit) if f.code == "derivatives-tightened"]
    assert "the sensitivities are not exact enough" in note.text


@pytest.mark.parametrize("difference", [None, "auto", "sensitivities"])
def test_residuals_and_jacobian_take_one_simulation(difference: str | None) -> None:
    task = problem(difference=difference)
    found, executor = evaluator(task)
    p = task.initial
    residuals = found.residuals(p)
    jacobian = found.jacobian(p)
    assert np.allclose(jacobian, expected(p), rtol=1e-13, atol=1e-12)
    assert found.simulations == len(executor.tasks) == 1
    assert executor.tasks[0].sensitivities == ("k", "a")
    plain, _ = evaluator(task, known=()) if difference != "sensitivities" else (found, None)
    assert np.array_equal(residuals, plain.residuals(p))
    assert found.jacobians == 1
    assert found.step_sizes is None
    kinds = {name: origin.kind for name, origin in found.derivative_origins.items()}
    assert kinds == {"k": "sensitivities", "a": "sensitivities", "offset": "measurement-model"}
    assert summary_of(found.derivative_origins) == "exact sensitivities of the FMU"


@pytest.mark.parametrize("difference", ["forward", "central"])
def test_explicit_schemes_keep_differences(difference: str) -> None:
    task = problem(difference=difference)
    found, executor = evaluator(task)
    jacobian = found.jacobian(task.initial)
    assert not any(task.sensitivities for task in executor.tasks)
    assert not np.array_equal(jacobian[:, :2], expected(task.initial)[:, :2])
    assert f'evaluation.difference = "{difference}"' in found.derivative_origins["k"].reason


def test_differences_for_what_the_model_does_not_differentiate() -> None:
    task = problem()
    found, _ = evaluator(task, known=("k",))
    p = task.initial
    jacobian = found.jacobian(p)
    right = expected(p)
    assert np.allclose(jacobian[:, [0, 2]], right[:, [0, 2]], rtol=1e-14, atol=0.0)
    assert np.allclose(jacobian[:, 1], right[:, 1], rtol=1e-5)
    assert found.step_sizes is not None
    assert np.array_equal(np.isfinite(found.step_sizes.steps), [False, True, False])
    assert "does not differentiate with respect to 'a'" in found.derivative_origins["a"].reason
    errors = found.column_errors(p)
    assert errors is not None
    assert np.isfinite(errors).all()
    # Noise, curvature of one parameter, its column: not those of all three.
    assert found.simulations <= 11
    assert np.isfinite(found.verified_jacobian(p, satisfied).errors).all()


def test_parameters_of_the_measurement_model_take_no_simulation() -> None:
    task = problem()
    held = [replace(q, fixed=q.variable is not None) for q in task.parameters]
    task = replace(task, parameters=tuple(held))
    found, executor = evaluator(task, known=())
    found.residuals(task.initial)
    jacobian = found.jacobian(task.initial)
    assert np.array_equal(jacobian, np.full((TIMES.size, 1), -100.0))
    assert found.simulations == 1
    assert not executor.tasks[0].sensitivities


def test_sensitivities_that_are_not_offered_are_refused() -> None:
    task = problem(difference="sensitivities")
    with pytest.raises(ProblemError, match="does not differentiate with respect to 'a'") as raised:
        evaluator(task, known=("k",))
    assert raised.value.code == Code.NOT_SUPPORTED
    with pytest.raises(ProblemError, match="the FMU offers no sensitivities"):
        evaluator(task, known=())


def refusing(code: str) -> dict[str, Callable[..., dict[str, F64]]]:
    def refuse(times: F64, inputs: Mapping[str, F64], k: float, a: float) -> dict[str, F64]:
        if a == 1.5:
            raise SimulationError("a contact is only touched", code=code)
        return DERIVATIVES["a"](times, inputs, k=k, a=a)

    return {**DERIVATIVES, "a": refuse}


@pytest.mark.parametrize("code", [Code.NOT_DIFFERENTIABLE, Code.SIMULATION_FAILED])
def test_a_point_without_derivatives_falls_back_to_differences(code: str) -> None:
    task = problem()
    with Evaluator(task, PythonExecutor(task, model, refusing(code))) as found:
        jacobian = found.jacobian(task.initial)
        assert np.allclose(jacobian, expected(task.initial), rtol=1e-4)
        assert found.failures == 0
        (note,) = found.notes
        assert "One simulation could not be differentiated (a contact is only touched)" in note
        assert found.derivative_origins["k"] == DerivativeOrigin(
            "differences", "a contact is only touched"
        )
        elsewhere = task.initial * 1.1
        before = found.simulations
        assert np.allclose(found.jacobian(elsewhere), expected(elsewhere), rtol=1e-13)
        assert found.simulations == before + 1


def test_sensitivities_alone_have_no_jacobian_where_there_are_none() -> None:
    task = problem(difference="sensitivities")
    with (
        Evaluator(task, PythonExecutor(task, model, refusing(Code.NOT_DIFFERENTIABLE))) as found,
        refused(Code.NO_DERIVATIVE, JacobianError, match="a contact is only touched"),
    ):
        found.jacobian(task.initial)


def test_derivatives_that_are_not_finite_fall_back() -> None:
    task = problem()
    broken = {**DERIVATIVES, "k": lambda times, inputs, k, a: {"y": np.full(times.size, np.nan)}}
    with Evaluator(task, PythonExecutor(task, model, broken)) as found:
        assert np.allclose(found.jacobian(task.initial), expected(task.initial), rtol=1e-4)
        assert "a derivative of output 0 is nan" in found.notes[0]


class Ignoring(PythonExecutor):
    """Says that it differentiates, and does not."""

    differentiable = frozenset({"k", "a"})

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        return super().run([task.plain for task in tasks])


def test_an_executor_that_ignores_sensitivities_is_asked_once() -> None:
    task = problem()
    with Evaluator(task, Ignoring(task, model)) as found:
        assert np.allclose(found.jacobian(task.initial), expected(task.initial), rtol=1e-4)
        assert "returns no sensitivities" in found.notes[0]
        found.jacobian(task.initial * 1.2)
        assert len(found.notes) == 1
        assert "One simulation" in found.notes[0]


def test_a_failure_with_and_without_sensitivities_is_one_failure() -> None:
    def failing(times: F64, inputs: Mapping[str, F64], k: float, a: float) -> dict[str, F64]:
        raise SimulationError("the spring is broken")

    task = problem()
    with Evaluator(task, PythonExecutor(task, failing, DERIVATIVES)) as found:
        assert np.isnan(found.residuals(task.initial)).all()
        assert (found.simulations, found.failures) == (2, 1)
        assert not found.notes


def test_populations_and_searches_without_jacobians_carry_none() -> None:
    task = problem()
    found, executor = evaluator(task)
    found.costs(task.initial * np.linspace(0.9, 1.1, 7)[:, np.newaxis])
    assert not any(t.sensitivities for t in executor.tasks)
    for k in range(10):
        found.cost(task.initial * (1.2 + 0.01 * k))
    assert sum(bool(t.sensitivities) for t in executor.tasks) == 4
    found.jacobian(task.initial)
    found.cost(task.initial * 1.7)
    assert executor.tasks[-1].sensitivities


def with_tolerance(error: float) -> tuple[Callable[..., Any], dict[str, Callable[..., Any]]]:
    """Return a model, and its derivatives, whose relative error is some times the tolerance."""

    def wrong(function: Callable[..., dict[str, F64]]) -> Callable[..., dict[str, F64]]:
        def run(
            times: F64, inputs: Mapping[str, F64], k: float, a: float, tolerance: float
        ) -> dict[str, F64]:
            part = 1.0 + error * tolerance
            return {v: part * y for v, y in function(times, inputs, k=k, a=a).items()}

        return run

    return wrong(model), {name: wrong(function) for name, function in DERIVATIVES.items()}


def test_errors_are_measured_with_one_simulation_at_a_tighter_tolerance() -> None:
    task = problem(tolerance=1e-6)
    simulated, derivatives = with_tolerance(30.0)
    with Evaluator(task, PythonExecutor(task, simulated, derivatives)) as found:
        p = task.initial
        jacobian = found.jacobian(p)
        lengths = np.linalg.norm(jacobian, axis=0)
        predicted = found.column_errors(p)
        assert predicted is not None
        assert np.allclose(predicted[:2], 1e-5 * lengths[:2])
        assert found.simulations == 1
        verified = found.verified_jacobian(p, satisfied)
        assert found.simulations == 2
        measured = found.column_errors(p)
        assert measured is not None
        assert np.allclose(measured[:2], 3e-5 * lengths[:2], rtol=0.02)
        assert measured[2] <= 1e-12 * lengths[2]
        assert np.allclose(np.linalg.norm(verified.errors, axis=0)[:2], measured[:2])
        error = found.integration_error(p)
        assert error is not None
        assert np.linalg.norm(error) > 0.0
        found.directional_derivatives(p, np.eye(3))
        assert found.simulations == 2
        # Elsewhere in proportion, without another simulation.
        q = 1.1 * p
        found.jacobian(q)
        again = found.column_errors(q)
        assert again is not None
        assert np.allclose(
            again[:2] / np.linalg.norm(found.jacobian(q), axis=0)[:2], 3e-5, rtol=0.1
        )
        assert found.simulations == 3


def test_an_estimation_takes_a_simulation_per_iteration() -> None:
    task = problem()
    with Evaluator(task, PythonExecutor(task, model, DERIVATIVES)) as found:
        result = run_estimation(task, found, LeastSquares())
    assert result.converged()
    assert result.simulations <= 8 + 2 * 3  # the curvature of three weak parameters
    with Evaluator(task, PythonExecutor(task, model)) as other:
        differenced = run_estimation(task, other, LeastSquares())
    assert differenced.simulations > 3 * result.simulations
    for one, two in zip(result.estimates, differenced.estimates, strict=True):
        assert one.value == pytest.approx(two.value, abs=1e-3 * two.standard_error)
        assert one.standard_error == pytest.approx(two.standard_error, rel=1e-4)


def test_searches_side_by_side_carry_sensitivities() -> None:
    task = problem()
    found, executor = evaluator(task)
    points = [task.initial * factor for factor in (1.0, 1.1, 1.2)]

    def search(p: F64) -> Callable[[Any], F64]:
        return lambda branch: branch.jacobian(p)

    jacobians = found.side_by_side([search(p) for p in points])
    for p, jacobian in zip(points, jacobians, strict=True):
        assert np.allclose(jacobian, expected(p), rtol=1e-13)
    assert found.simulations == len(executor.tasks) == 3


def test_executors_have_no_sensitivities_unless_they_say_so() -> None:
    assert Executor.differentiable == frozenset()


def test_sensitivities_that_take_too_long_are_given_up() -> None:
    def slow(times: F64, inputs: Mapping[str, F64], k: float, a: float) -> dict[str, F64]:
        raise SimulationError("the simulation took longer than 60 s", timed_out=True)

    task = problem()
    found = Evaluator(task, executor := Recording(task, model, {**DERIVATIVES, "k": slow}))
    for factor in (1.0, 1.1, 1.2):
        assert np.isfinite(found.residuals(factor * task.initial)).all()
    assert [bool(t.sensitivities) for t in executor.tasks] == [True, False, False, False]
    assert "took longer than 60 s" in found.notes[0]


def test_a_parameter_that_follows_from_others_passes_its_derivative_on() -> None:
    task = problem()
    k, _, offset = task.parameters
    follows = Parameter("a", 0.0, variable="a", expression=Expression("k^2 + 1"))
    task = replace(task, parameters=(k, follows, offset))
    found, executor = evaluator(task)
    p = task.initial
    jacobian = found.jacobian(p)
    values = {"k": p[0], "a": p[0] ** 2 + 1.0}
    slopes = {name: DERIVATIVES[name](TIMES, {}, **values)["y"] for name in values}
    right = -(slopes["k"] + 2.0 * p[0] * slopes["a"]) / 0.01
    assert np.allclose(jacobian[:, 0], right, rtol=1e-13)
    assert len(executor.tasks) == 1
    # Without derivatives of what follows there are none.
    partly, _ = evaluator(task, known=("k",))
    assert partly.differenced == (0,)


def test_through_the_whole_measurement_model_of_several_experiments() -> None:
    task = chain_rule.problem(chain_rule.TimeDomain())

    def simulated(times: F64, inputs: Mapping[str, F64], a: float, b: float) -> dict[str, F64]:
        return dict(zip("yz", chain_rule.outputs(times, a, b).T, strict=True))

    def slope(name: str) -> Callable[..., dict[str, F64]]:
        def of(times: F64, inputs: Mapping[str, F64], a: float, b: float) -> dict[str, F64]:
            return dict(zip("yz", chain_rule.slopes(times, a, b)[name].T, strict=True))

        return of

    executor = Recording(task, simulated, {name: slope(name) for name in "ab"})
    found = Evaluator(task, executor)
    p = task.initial
    expected_here = chain_rule.of_high_order(lambda q: found.probe(q[np.newaxis])[0], p, 2e-4)
    count = len(executor.tasks)
    jacobian = found.jacobian(p)
    assert len(executor.tasks) == count + 2
    assert np.abs(jacobian - expected_here).max() <= 1e-8 * np.abs(expected_here).max()


def test_experiments_ask_for_what_moves_them_alone() -> None:
    task = problem()
    (experiment,) = task.experiments
    k, a, offset = task.parameters
    local = (replace(k, experiments=("data",)), replace(a, experiments=("data",)))
    other = (
        Parameter("k2", 0.9, variable="k", experiments=("other",)),
        Parameter("a2", 1.4, variable="a", experiments=("other",), fixed=True),
    )
    both = (experiment, replace(experiment, name="other"))
    task = replace(task, parameters=(*local, *other, offset), experiments=both)
    found, executor = evaluator(task)
    jacobian = found.jacobian(task.initial)
    assert [t.sensitivities for t in executor.tasks] == [("k", "a"), ("k",)]
    half = TIMES.size
    assert not jacobian[half:, :2].any()
    assert not jacobian[:half, 2].any()
    assert np.allclose(jacobian[:half, [0, 1, 3]], expected(task.initial[:2]), rtol=1e-13)
    slope = DERIVATIVES["k"](TIMES, {}, k=0.9, a=1.4)["y"]
    assert np.allclose(jacobian[half:, 2], -slope / 0.01, rtol=1e-13)
