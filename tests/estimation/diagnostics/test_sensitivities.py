"""Sensitivities against the derivatives of the formula."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fmident.data import Experiment
from fmident.estimation import Estimate
from fmident.estimation.diagnostics.parameters import thinned
from fmident.problem.model import Problem
from fmident_costs.frequency import FrequencyDomain

from ..conftest import GOOD, answer
from ..stages.linear_stages import FIRST, SECOND, solve, two_stages, whole


def derivatives(times: np.ndarray) -> np.ndarray:
    """Return those of a exp(-k t) at GOOD."""
    a, k = GOOD
    return np.column_stack([np.exp(-k * times), -a * times * np.exp(-k * times)])


def test_they_are_derivatives_in_units_of_the_noise(run: Any, problem: Problem) -> None:
    (found,) = run(answer).sensitivities
    times = problem.experiments[0].times
    assert (found.experiment, found.name) == (problem.experiments[0].name, "y")
    assert found.parameters == ("a", "k")
    np.testing.assert_array_equal(found.times, times)
    np.testing.assert_allclose(
        found.values * 0.05 / found.moves, derivatives(times), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_allclose(np.sum(found.values**2, axis=0), 1.0)
    np.testing.assert_allclose(found.shares, 1.0)
    # Standard errors if the other parameter were known.
    lengths = np.linalg.norm(derivatives(times) / 0.05, axis=0)
    np.testing.assert_allclose(found.moves, 1.0 / lengths, rtol=1e-5)


def test_missing_samples_have_none_and_experiments_share_what_is_known(
    run: Any, problem: Problem
) -> None:
    (one,) = problem.experiments
    (y,) = one.measurements
    values = y.values.copy()
    values[10:30] = np.nan
    cut = Experiment("cut", one.times, {}, (dataclasses.replace(y, values=values),))
    result = run(answer, problem=dataclasses.replace(problem, experiments=(one, cut)))
    first, second = result.sensitivities
    assert second.experiment == "cut"
    assert second.times.size == one.times.size - 20
    squares = derivatives(one.times) ** 2
    parts = np.stack([squares.sum(axis=0), np.delete(squares, slice(10, 30), axis=0).sum(axis=0)])
    np.testing.assert_allclose([first.shares, second.shares], parts / parts.sum(axis=0), rtol=1e-5)


def test_residuals_of_weight_zero_are_left_out(run: Any, problem: Problem) -> None:
    weights = np.ones(problem.experiments[0].times.size)
    weights[::2] = 0.0

    def weighted(problem: Problem, evaluator: Any, monitor: Any) -> Estimate:
        found = answer(problem, evaluator, monitor)
        return dataclasses.replace(found, residual_weights=weights)

    (found,) = run(weighted).sensitivities
    np.testing.assert_array_equal(found.times, problem.experiments[0].times[1::2])


def test_a_cost_whose_residuals_are_no_samples_has_none(run: Any, problem: Problem) -> None:
    result = run(answer, problem=dataclasses.replace(problem, cost=FrequencyDomain()))
    assert result.sensitivities == ()


def test_after_stages_they_are_those_of_the_stage_that_found_the_parameter() -> None:
    result = solve(two_stages(whole()))
    assert [(s.stage, s.experiment, s.parameters) for s in result.sensitivities] == [
        ("line", "one", ("a", "b")),
        ("rest", "second", ("c", "d")),
    ]
    line, rest = result.sensitivities
    np.testing.assert_allclose(line.values[:, 0], 1.0 / np.sqrt(FIRST.size), rtol=1e-6)
    waves = np.column_stack([np.sin(SECOND), np.cos(3.0 * SECOND)])
    np.testing.assert_allclose(
        rest.values, waves / np.linalg.norm(waves, axis=0), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("count", [1000, 1001, 1999, 2000, 123_457])
def test_of_many_samples_the_extremes_are_kept(count: int) -> None:
    times = np.linspace(0.0, 1.0, count)
    values = np.column_stack([np.sin(9.0 * times), np.zeros(count)])
    values[count // 3, 1], values[count // 2, 1] = 5.0, -7.0
    shown, kept = thinned(times, values, 1000)
    assert kept.shape == (shown.size, 2)
    assert shown.size <= 1000
    assert np.all(np.diff(shown) >= 0.0)
    np.testing.assert_array_equal(kept.max(axis=0), values.max(axis=0))
    np.testing.assert_array_equal(kept.min(axis=0), values.min(axis=0))
    # Each extreme is where it was, as far as parts of the time axis are wide.
    assert shown[np.argmax(kept[:, 1])] == pytest.approx(times[count // 3], abs=1.0 / 400)
    assert shown[np.argmin(kept[:, 1])] == pytest.approx(times[count // 2], abs=1.0 / 400)
