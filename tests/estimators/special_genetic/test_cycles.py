"""The estimator's own rules: cycles, ranges, ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.evaluation import python_problem
from fmident.problem.model import Parameter, Problem
from fmident_estimators.special_genetic.estimator import SpecialGenetic

Run = Callable[..., Any]


def waves(times, inputs, a, b):
    """Return residuals of which the squares sum to Rastrigin's function."""
    zero = np.zeros(times.shape)
    parts = [a, b, *(np.sqrt(10.0 * (1.0 - np.cos(2.0 * np.pi * x))) for x in (a, b))]
    zero[:4] = parts
    return {"y": zero}


def rastrigin() -> Problem:
    times = np.linspace(0.0, 1.0, 5)
    parameters = [Parameter(n, 4.0, -5.12, 5.12, variable=n) for n in ("a", "b")]
    return python_problem({"y": np.zeros(5)}, times, parameters, sigma=np.sqrt(0.5))


def generations(run: Run, **options: Any) -> Any:
    return run(rastrigin(), waves, SpecialGenetic(), options)


def test_the_cost_is_rastrigin(run: Run) -> None:
    result = generations(run, generations=3)
    points = np.vstack([g.points for g in result.generations])
    costs = np.concatenate([g.costs for g in result.generations])
    expected = 20.0 + np.sum(points**2 - 10.0 * np.cos(2.0 * np.pi * points), axis=1)
    np.testing.assert_allclose(costs, expected, atol=1e-10)


def test_sizes_are_those_of_the_paper(run: Run) -> None:
    result = generations(run, initial_population=20, survivors=4, children=3, generations=5)
    assert [len(g.costs) for g in result.generations] == [1, 20, 12, 12, 12, 12]


def test_the_range_shrinks_by_its_factor(run: Run) -> None:
    result = generations(run, generations=6, range_reduction=0.5)
    ranges = [s.details["next_range"] for s in result.history[1:]]
    np.testing.assert_allclose(ranges, 0.5 ** np.arange(6))


def test_without_the_initial_point_the_search_does_not_know_it(run: Run) -> None:
    # At the truth, which nobody finds to the last bit by chance.
    times = np.linspace(0.0, 1.0, 5)
    parameters = [Parameter(n, 0.0, -5.12, 5.12, variable=n) for n in ("a", "b")]
    problem = python_problem({"y": np.zeros(5)}, times, parameters, sigma=1.0)
    options = {"generations": 4, "survivors": 1, "children": 200, "range_reduction": 0.01}
    known = run(problem, waves, SpecialGenetic(), options)
    unknown = run(problem, waves, SpecialGenetic(), {**options, "start_from_initial": False})
    assert np.max(np.abs(known.generations[-1].points)) < 0.02
    assert np.max(np.abs(unknown.generations[-1].points)) > 0.02


@pytest.mark.slow
def test_further_cycles_leave_local_minima(run: Run) -> None:
    fast = {"survivors": 3, "children": 3, "range_reduction": 0.5, "initial_population": 10}
    alone, repeated = [], []
    for seed in range(3):
        alone.append(generations(run, seed=seed, **fast).cost_final)
        found = generations(run, seed=seed, cycles=40, generations=2000, **fast)
        repeated.append(found.cost_final)
        cycles = [s.details["cycle"] for s in found.history[1:]]
        assert cycles == sorted(cycles)
        assert cycles[-1] > 1
    assert np.median(alone) > 0.9
    assert np.median(repeated) < 1e-6


def test_a_target_holds_for_all_survivors(run: Run) -> None:
    result = generations(
        run, target_cost=1e-4, cycles=100, generations=2000, survivors=5, children=3
    )
    assert result.status == "converged"
    assert "target" in result.message
    assert result.history[-1].details["survivor_worst"] <= 1e-4
    assert result.cost_final < 1e-4


def test_equal_costs_of_the_survivors_end_it(run: Run) -> None:
    result = generations(run, cost_tolerance=1e-3)
    assert result.status == "converged"
    assert "costs of all survivors" in result.message
    last = result.history[-1]
    assert last.details["survivor_worst"] - last.cost <= 1e-3


def test_a_range_that_shrinks_too_fast_is_no_convergence(run: Run) -> None:
    result = generations(run, range_reduction=0.01, survivors=10, children=1)
    assert result.status == "limit"
    assert "before the survivors came together" in result.message


@pytest.mark.parametrize("count", [1, 7])
def test_generations_count_over_all_cycles(count: int, run: Run) -> None:
    result = generations(run, generations=count, cycles=3)
    assert result.status == "limit"
    assert f"all {count} generations" in result.message
    assert len(result.history) == count + 1
