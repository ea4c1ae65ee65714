"""Searches of least-squares from candidates, where the first does not explain the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.errors import Code, ProblemError
from fmident.estimation import EstimationResult
from fmident.options import OptionError
from fmident.problem.model import Parameter, Problem
from fmident_estimators.least_squares.estimator import LeastSquares
from fmident_estimators.least_squares.options import LeastSquaresOptions

Run = Callable[..., EstimationResult]
Make = Callable[..., Problem]

TRUTH = {"a": 1.5, "w": 9.0}


def wave(times: np.ndarray, inputs: object, a: float, w: float) -> dict[str, np.ndarray]:
    """Return an output whose cost has a local minimum every half turn of the frequency."""
    return {"y": a * np.sin(w * times)}


def free(w: float, upper: float = 20.0) -> list[Parameter]:
    return [
        Parameter("a", 1.0, 0.1, 5.0, variable="a"),
        Parameter("w", w, 0.5, upper, variable="w"),
    ]


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_search_in_a_local_minimum_goes_on_from_candidates(
    make_problem: Make, run: Run, noise: float
) -> None:
    problem = make_problem(wave, TRUTH, free(2.0), noise=noise)
    alone = run(problem, wave, LeastSquares(), {})
    assert abs(alone.values["w"] - TRUTH["w"]) > 1.0
    found = run(problem, wave, LeastSquares(), {"candidates": 24})
    assert found.values["w"] == pytest.approx(TRUTH["w"], rel=1e-2)
    assert found.converged()


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_candidates_cost_nothing_where_the_first_search_explains_the_data(
    make_problem: Make, run: Run, noise: float
) -> None:
    problem = make_problem(wave, TRUTH, free(8.8), noise=noise)
    alone = run(problem, wave, LeastSquares(), {})
    with_candidates = run(problem, wave, LeastSquares(), {"candidates": 24})
    assert with_candidates.values == alone.values
    assert with_candidates.simulations == alone.simulations


def test_candidates_that_cannot_be_simulated_are_left_out(make_problem: Make, run: Run) -> None:
    def fragile(times: np.ndarray, inputs: object, a: float, w: float) -> dict[str, np.ndarray]:
        return {"y": wave(times, inputs, a, w)["y"] if w < 12.0 else np.full(times.size, np.nan)}

    problem = make_problem(wave, TRUTH, free(2.0))
    found = run(problem, fragile, LeastSquares(), {"candidates": 24})
    assert found.values["w"] == pytest.approx(TRUTH["w"], rel=1e-6)


def test_candidates_need_bounds_and_no_starts(make_problem: Make) -> None:
    problem = make_problem(wave, TRUTH, free(2.0, upper=np.inf))
    with pytest.raises(ProblemError, match="candidates = 24") as error:
        LeastSquares().check_problem(problem, LeastSquaresOptions(candidates=24))
    assert error.value.code is Code.MISSING_BOUNDS
    with pytest.raises(OptionError, match="leave one of them out"):
        LeastSquaresOptions(candidates=24, starts=3)
