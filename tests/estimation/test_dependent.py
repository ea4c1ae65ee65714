"""Parameters that follow from others in an estimation: values, standard errors, intervals."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fmident.estimation import EstimationResult, run_estimation, run_stages
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import EstimatorSettings, Expression, Parameter, Problem, stage_of
from fmident.report.estimate import remark
from fmident.report.result_json import as_json, read_result

T = np.linspace(0.0, 2.0, 50)
SIGMA = 0.05


def model(times: np.ndarray, inputs: Any, **v: float) -> dict[str, np.ndarray]:
    return {"y": v["a"] * times + v["b"] * np.cos(3.0 * times) + v.get("c", 0.0) * times**2}


Y = model(T, {}, a=1.2, b=1.8)["y"] + SIGMA * np.random.default_rng(3).normal(size=T.size)


def problem(*parameters: Parameter, estimator: str = "least-squares", **options: Any) -> Problem:
    return python_problem(
        {"y": Y},
        T,
        parameters,
        sigma=SIGMA,
        estimator=EstimatorSettings(estimator, options),
    )


def solve(given: Problem) -> EstimationResult:
    estimator = load_plugins().estimators.get(given.estimator.name)()
    with Evaluator(given, PythonExecutor(given, model)) as evaluator:
        return run_estimation(given, evaluator, estimator)


def follows(name: str, text: str, variable: str | None = None, **more: Any) -> Parameter:
    return Parameter(name, 0.0, variable=variable, expression=Expression(text), **more)


A = Parameter("a", 0.5, -5.0, 5.0, variable="a")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("least-squares", {}),
        ("linear-regression", {}),
        ("cma-es", {"seed": 1, "generations": 80}),
        ("differential-evolution", {"seed": 1}),
    ],
)
def test_every_estimator_substitutes_it(name: str, options: dict[str, Any]) -> None:
    """y = a t + (3 - a) cos 3t: the closed form of a line through one regressor."""
    result = solve(problem(A, follows("b", "3 - a", "b"), estimator=name, **options))
    x, y = T - np.cos(3.0 * T), Y - 3.0 * np.cos(3.0 * T)
    a, error = float(x @ y / (x @ x)), SIGMA / float(np.linalg.norm(x))
    assert result.values["a"] == pytest.approx(a, abs=1e-3 * error)
    assert result.values["b"] == pytest.approx(3.0 - a, abs=1e-3 * error)
    first, second = result.estimates
    assert first.standard_error == pytest.approx(error, rel=1e-6)
    assert second.standard_error == pytest.approx(error, rel=1e-6)
    assert second.interval_95[1] - second.value == pytest.approx(1.95996398 * error, rel=1e-6)
    assert (second.fixed, second.searched, second.expression) == (False, False, "3 - a")
    assert result.covariance.shape == (1, 1)


def test_the_chain_rule_counts_correlations() -> None:
    b = Parameter("b", 0.5, -5.0, 5.0, variable="b")
    result = solve(problem(A, b, follows("product", "a*b"), follows("twice", "2*product")))
    row = np.array([result.values["b"], result.values["a"]])
    error = float(np.sqrt(row @ result.covariance @ row))
    found = {e.name: e for e in result.estimates}
    assert found["product"].value == result.values["a"] * result.values["b"]
    assert found["product"].standard_error == pytest.approx(error, rel=1e-9)
    assert found["twice"].standard_error == pytest.approx(2.0 * error, rel=1e-9)
    assert remark(found["product"]) == "= a*b"


def test_a_combination_may_be_determined_where_its_parts_are_not() -> None:
    given = problem(
        Parameter("u", 0.5),
        Parameter("v", 0.5),
        follows("a", "u + v", "a"),
        follows("b", "3 - a", "b"),
        follows("difference", "u - v"),
    )
    found = {e.name: e for e in solve(given).estimates}
    assert np.isnan(found["u"].standard_error)
    error = SIGMA / float(np.linalg.norm(T - np.cos(3.0 * T)))
    assert found["a"].standard_error == pytest.approx(error, rel=1e-6)
    assert np.isinf(found["difference"].interval_95).all()


def test_results_are_stored_with_it(tmp_path: Any) -> None:
    import json

    result = solve(problem(A, follows("b", "3 - a", "b")))
    content = as_json(result, "0")
    assert content["parameters"]["b"]["expression"] == "3 - a"
    assert content["free_parameters"] == ["a"]
    (tmp_path / "result.json").write_text(json.dumps(content))
    stored = read_result(tmp_path).result
    assert [e.expression for e in stored.estimates] == ["", "3 - a"]
    assert stored.covariance.shape == (1, 1)


def test_stages_recompute_it_and_hand_its_uncertainty_on() -> None:
    whole = problem(
        A,
        Parameter("c", 0.1, -2.0, 2.0, variable="c"),
        follows("b", "3 - a", "b"),
        follows("s", "a + 2*c"),
    )
    staged = dataclasses.replace(
        whole,
        stages=(stage_of(whole, "one", free=["a"]), stage_of(whole, "two", free=["a", "c"])),
    )
    executor = PythonExecutor(staged, model)
    estimators = load_plugins().estimators
    result = run_stages(staged, lambda _: executor, lambda name: estimators.get(name)())
    x = np.column_stack([T - np.cos(3.0 * T), T**2])
    expected = np.linalg.lstsq(x, Y - 3.0 * np.cos(3.0 * T), rcond=None)[0]
    covariance = SIGMA**2 * np.linalg.inv(x.T @ x)
    found = {e.name: e for e in result.estimates}
    assert result.values["b"] == pytest.approx(3.0 - expected[0], rel=1e-6)
    assert found["b"].standard_error == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-5)
    row = np.array([1.0, 2.0])
    assert found["s"].standard_error == pytest.approx(np.sqrt(row @ covariance @ row), rel=1e-5)
    assert (found["s"].stage, found["s"].fixed) == ("two", False)


def test_a_stage_keeps_what_its_dependent_parameters_follow_from() -> None:
    """A parameter that acts on another experiment alone, but for what follows from it."""
    other = dataclasses.replace(problem(A).experiments[0], name="other")
    whole = dataclasses.replace(
        problem(
            dataclasses.replace(A, experiments=("data",)),
            Parameter("b", 1.0, variable="b"),
            follows("a2", "2*a", "a", experiments=("other",)),
        ),
        experiments=(problem(A).experiments[0], other),
    )
    stage = stage_of(whole, "one", experiments=["other"]).problem
    assert [q.name for q in stage.free] == ["a", "b"]
    assert [q.name for q in stage.parameters] == ["a", "b", "a2"]
