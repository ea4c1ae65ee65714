"""Samples near events are compared with the branch that they were measured on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from fmident.evaluation import Evaluator, EventMatching, PythonExecutor, python_problem
from fmident.problem.model import Parameter, Problem

from ..fmu.build import compiler
from ..fmu.exchange import Exchange, build_exchange, states

TIMES = np.linspace(0.0, 2.0, 101)


def switched(times: np.ndarray, inputs: object, a: float, at: float) -> dict[str, np.ndarray]:
    """A straight line that jumps to another one."""
    return {"y": np.where(times < at, a * times, 5.0 - 2.0 * times)}


def problem_for(model: object = switched, **inputs: np.ndarray) -> tuple[Problem, Evaluator]:
    truth = {"a": 1.0, "at": 1.013}
    problem = python_problem(
        switched(TIMES, {}, **truth),
        TIMES,
        [Parameter(n, v, 0.1, 2.0, variable=n) for n, v in truth.items()],
        sigma=0.01,
        inputs=inputs,
    )
    return problem, Evaluator(problem, PythonExecutor(problem, model))


def test_the_cost_no_longer_jumps_when_the_event_passes_a_sample() -> None:
    problem, evaluator = problem_for()
    matching = EventMatching(problem)
    late = np.linspace(1.013, 1.113, 41)
    rows = evaluator.residuals_many(np.column_stack([np.full(late.size, 1.0), late]))
    assert np.ptp(np.sum(rows**2, axis=1)) > 1e4
    for row in rows:
        matched = matching.match(row, 0.1)
        np.testing.assert_allclose(matched, 0.0, atol=1e-9)


@pytest.mark.parametrize(("indicators", "kind"), [(0, "Jumps of the outputs"), (1, "Events")])
def test_what_breaks_outputs_where_the_fmu_has_no_event_indicators(
    tmp_path: Path, indicators: int, kind: str
) -> None:
    if compiler() is None:
        pytest.skip("no C compiler")
    fixture = Exchange("faulty.c", tuple(states("x")), indicators)
    problem, _ = problem_for()
    path = build_exchange(fixture, 2, tmp_path)
    assert EventMatching(dataclasses.replace(problem, fmu=path)).kind == kind
    assert EventMatching(problem).kind == "Events"


def test_without_a_window_residuals_stay_as_they_are() -> None:
    problem, evaluator = problem_for()
    row = evaluator.residuals(np.array([1.2, 1.1]))
    assert np.array_equal(EventMatching(problem).match(row, 0.0), row)


def test_only_breaks_that_move_count() -> None:
    problem, evaluator = problem_for()
    (breaks,) = EventMatching(problem).moving(evaluator, problem.initial)
    assert TIMES[breaks] < 1.013 <= TIMES[breaks + 1]
    assert EventMatching(problem).where([breaks]) == ["'y' after 1 s in experiment 'data'"]

    def fixed(times: np.ndarray, inputs: object, a: float, at: float) -> dict[str, np.ndarray]:
        return {"y": at * switched(times, inputs, a, 1.013)["y"]}

    problem, evaluator = problem_for(fixed)
    assert not any(k.size for k in EventMatching(problem).moving(evaluator, problem.initial))


def test_a_break_that_an_input_has_itself_costs_no_simulation() -> None:
    problem, evaluator = problem_for(u=np.where(TIMES < 1.0, 0.0, 1.0))
    evaluator.residuals(problem.initial)
    assert not any(k.size for k in EventMatching(problem).moving(evaluator, problem.initial))
    assert evaluator.simulations == 1


def test_friction_that_an_input_turns_around_costs_no_simulation() -> None:
    speed = np.sin(7.0 * TIMES + 0.1)

    def inverse(times: np.ndarray, inputs: object, a: float, at: float) -> dict[str, np.ndarray]:
        return {"y": a * np.sign(speed) + at * speed}

    problem, evaluator = problem_for(inverse, u=speed)
    matching = EventMatching(problem)
    assert any(k.size for k in matching.breaks(evaluator.residuals(problem.initial)))
    assert not any(k.size for k in matching.moving(evaluator, problem.initial))
    assert evaluator.simulations == 1


@pytest.mark.parametrize("share", np.geomspace(2.0, 10.0, 10))
def test_a_break_that_only_changes_its_size_does_not_move(share: float) -> None:
    # Breaks of many sizes, around the size from which one is seen for certain. The input is
    # delayed in the model, so that they are not where it changes its sign.
    delayed = np.sin(9.0 * (TIMES - 0.07))
    sizes = share * 4e-3 * np.linspace(0.7, 1.3, TIMES.size)

    def inverse(times: np.ndarray, inputs: object, a: float, at: float) -> dict[str, np.ndarray]:
        return {"y": a * np.abs(delayed) * sizes + at * (1.0 + times)}

    problem, evaluator = problem_for(inverse, u=np.sin(9.0 * TIMES))
    assert not any(k.size for k in EventMatching(problem).moving(evaluator, problem.initial))
    assert evaluator.simulations <= 3


@pytest.mark.parametrize("after", [0.4, 1.1, 1.7])
def test_a_delay_that_is_a_parameter_moves_the_breaks_of_an_input(after: float) -> None:
    def late(times: np.ndarray, inputs: object, a: float, at: float) -> dict[str, np.ndarray]:
        return {"y": a * np.sign(np.sin(3.0 * (times - at * after)))}

    problem, evaluator = problem_for(late, u=np.sin(3.0 * TIMES))
    assert any(k.size for k in EventMatching(problem).moving(evaluator, problem.initial))


def test_blurred_residuals_grow_with_the_delay() -> None:
    problem, evaluator = problem_for()
    rows = evaluator.residuals_many(np.array([[1.0, 1.0 + d] for d in (0.05, 0.1, 0.2)]))
    everything = np.ones(TIMES.size, dtype=np.bool_)
    sizes = [float(np.max(np.abs(EventMatching(problem).blur(r, 0.1, everything)))) for r in rows]
    assert 1.5 < sizes[1] / sizes[0] < 2.6
    assert 1.5 < sizes[2] / sizes[1] < 2.6
