"""What a run says of its result: notes, uncertainty, values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from fmident.errors import SimulationError
from fmident.estimation import (
    Estimate,
    EstimationResult,
)
from fmident.problem.model import Parameter, Problem

from .conftest import GOOD, TIMES, answer


def test_failures_are_counted_in_a_note(run: Any, model: Any) -> None:
    def fragile(times, inputs, a, k):
        if k > 4.0:
            raise SimulationError("too fast")
        return model(times, inputs, a, k)

    def search(problem, evaluator, monitor):
        evaluator.cost(np.array([1.0, 4.5]))
        evaluator.cost(np.array([1.0, 4.6]))
        return answer(problem, evaluator, monitor)

    result = run(search, model=fragile)
    assert result.simulations > 2
    (note,) = (f.text for f in result.findings if f.code == "simulations-failed")
    assert note.startswith("2 simulations of")


def test_notes_of_the_estimator_come_once(run: Any) -> None:
    text = "mind this"

    def search(problem, evaluator, monitor):
        for _ in range(2):
            monitor.note(text)
        return answer(problem, evaluator, monitor)

    (said,) = (f for f in run(search).findings if f.code == "search")
    assert said.text == text


def test_coloured_residuals_are_noted(run: Any) -> None:
    result = run(lambda p, e, m: Estimate(np.array([2.0, 0.9]), "limit", "not there"))
    assert "residuals-coloured" in {f.code for f in result.findings}
    assert "residuals-coloured" not in {f.code for f in run(answer).findings}


def test_the_misfit_is_part_of_the_result(run: Any) -> None:
    good, bad = run(answer), run(lambda p, e, m: Estimate(np.array([2.0, 0.9]), "limit", ""))
    assert good.residuals.noise_ratio == pytest.approx(1.0, abs=0.2)
    assert good.residuals.autocorrelation == 0.0
    assert bad.residuals.noise_ratio > 3.0
    assert bad.residuals.autocorrelation > 0.5


def test_a_result_prints_its_parameters_with_uncertainty(run: Any) -> None:
    result = run(answer)
    text = str(result)
    assert text.startswith("scripted: converged")
    row = next(line for line in text.splitlines() if line.startswith("k"))
    assert f"{result.values['k']:.6g}" in row
    assert f"{result.parameters.loc['k', 'standard_error']:.6g}" in row
    assert "Both parameters are identifiable." in text
    assert len(text.splitlines()) < 15
    assert list(result.parameters)[:4] == [
        "value",
        "standard_error",
        "interval_95_low",
        "interval_95_high",
    ]


def test_unknown_noise_is_estimated_and_said(run: Any, problem: Problem) -> None:
    experiment = problem.experiments[0]
    bare = dataclasses.replace(experiment.measurements[0], sigma=None)
    unknown = dataclasses.replace(
        problem, experiments=(dataclasses.replace(experiment, measurements=(bare,)),)
    )
    result = run(answer, problem=unknown)
    assert "noise-not-given" in {f.code for f in result.findings}
    assert result.fits[0].sigma[0] == pytest.approx(0.05, rel=0.25)
    known = run(answer).parameters["standard_error"]
    np.testing.assert_allclose(result.parameters["standard_error"], known, rtol=0.25)


def test_a_poorly_determined_parameter_is_noted(run: Any, problem: Problem) -> None:
    def weak(times, inputs, a, k):
        return {"y": 2.0 * np.exp(-1.3 * times) * (1.0 + 1e-4 * a) + 0.01 * k}

    result = run(answer, model=weak)
    assert "interval-poor" in {f.code for f in result.findings}


def test_parameters_that_the_data_push_onto_a_bound_have_no_standard_error(
    run: Any, problem: Problem
) -> None:
    a, k = problem.parameters
    bounded = dataclasses.replace(problem, parameters=(a, dataclasses.replace(k, upper=1.0)))
    result = run(lambda p, e, m: Estimate(np.array([1.77, 1.0]), "converged", ""), problem=bounded)
    table = result.parameters
    assert bool(table.loc["k", "at_bound"])
    assert np.isnan(table.loc["k", "standard_error"])
    assert np.isnan(result.covariance[1]).all()
    assert np.isfinite(table.loc["a", "standard_error"])
    assert "interval-at-bound" in {f.code for f in result.findings}


def test_a_parameter_of_the_measurement_model_can_be_estimated(run: Any, problem: Problem) -> None:
    experiment = problem.experiments[0]
    shifted = dataclasses.replace(
        experiment.measurements[0],
        values=experiment.measurements[0].values + 0.4,
        offset="shift",
    )
    extended = dataclasses.replace(
        problem,
        parameters=(*problem.parameters, Parameter("shift", 0.0, -1.0, 1.0)),
        experiments=(dataclasses.replace(experiment, measurements=(shifted,)),),
    )
    found = np.array([2.0, 1.3, 0.4])
    result = run(lambda p, e, m: Estimate(found, "converged", ""), problem=extended)
    assert result.fits[0].rms == pytest.approx(0.05, rel=0.2)
    assert result.parameters.loc["shift", "interval_95_low"] < 0.4


def test_values_away_from_the_minimum_are_told_in_standard_errors(
    run: Callable[..., EstimationResult], problem: Problem, model: Any
) -> None:
    def at(point: np.ndarray) -> tuple[np.ndarray, list[str]]:
        found = run(lambda *_: Estimate(point, "converged", "found"))
        errors = found.parameters["standard_error"].to_numpy()
        return errors, [f.text for f in found.findings if f.code == "away-from-minimum"]

    measured = problem.experiments[0].measurements[0].values
    best = optimize.least_squares(lambda p: model(TIMES, {}, *p)["y"] - measured, GOOD).x
    errors, notes = at(best)
    assert notes == []
    assert at(best + errors * [0.2, 0.0])[1] == []
    (note,) = at(best + errors * [3.0, 0.0])[1]
    assert "'a' by 3" in note
    assert "'k'" not in note
