"""Several starts of least squares are searches side by side."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import pytest

from fmident.estimation import StopEstimation, run_estimation
from fmident.estimation.contract import Iteration
from fmident.evaluation import (
    Evaluator,
)
from fmident.problem.model import EvaluationSettings, Problem
from fmident_estimators.least_squares.estimator import LeastSquares

from .rig import Recording, one_at_a_time

pytestmark = pytest.mark.slow  # many builds or whole runs


class Watching:
    """An observer that must be called where the run was started."""

    def __init__(self, stop_at: int = -1) -> None:
        self.thread = threading.get_ident()
        self.rows: list[tuple[object, ...]] = []
        self._stop_at = stop_at

    def iteration(self, state: Iteration) -> None:
        assert threading.get_ident() == self.thread
        if state.number == self._stop_at:
            raise StopEstimation("a rule")
        self.rows.append(
            (state.parameters.tobytes(), state.cost, state.simulations, state.jacobians,
             dict(state.details))
        )  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"loss": "huber"}])
def test_many_starts_find_what_they_find_one_after_the_other(
    problem: Problem, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = EvaluationSettings(check=False)
    problem = dataclasses.replace(problem, evaluation=settings)

    def run() -> tuple[Any, list[tuple[object, ...]], Recording]:
        executor, watching = Recording(problem), Watching()
        with Evaluator(problem, executor) as evaluator:
            chosen = {**options, "starts": 12, "max_iterations": 8}
            result = run_estimation(problem, evaluator, LeastSquares(), chosen, [watching])
        return result, watching.rows, executor

    together, rows, executor = run()
    again, same_rows, _ = run()
    assert rows == same_rows
    one_at_a_time(monkeypatch)
    alone, other_rows, slow = run()
    assert together.settings["local_results"] == alone.settings["local_results"]
    assert together.values == alone.values == again.values
    assert together.covariance.tobytes() == alone.covariance.tobytes()
    assert together.simulations == alone.simulations

    def of_start(table: list[tuple[Any, ...]], start: float) -> list[float]:
        return [row[4]["local_cost"] for row in table if row[4]["start"] == start]

    for start in range(1, 13):
        assert of_start(rows, start) == of_start(other_rows, start)
    assert executor.threads == slow.threads == {threading.get_ident()}
    assert len(executor.batches) < len(slow.batches) / 3


def test_a_rule_that_ends_the_run_leaves_the_best_of_all_starts(
    problem: Problem, capfd: pytest.CaptureFixture[str]
) -> None:
    watching = Watching(stop_at=25)
    with Evaluator(problem, Recording(problem)) as evaluator:
        options = {"starts": 6}
        result = run_estimation(problem, evaluator, LeastSquares(), options, [watching])
    assert result.status == "stopped"
    assert result.cost_final == pytest.approx(min(i.cost for i in result.history), rel=1e-12)
    assert result.cost_final < result.cost_initial
    assert len({i.details["start"] for i in result.history[6:]}) > 3
    assert capfd.readouterr() == ("", "")
