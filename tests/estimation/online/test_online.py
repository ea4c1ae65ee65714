"""Online estimators in the host: series, joining experiments, notes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from fmident.estimation import (
    Flag,
    OnlineEstimate,
    OnlineEstimator,
    TimeSeriesEstimate,
    Tracker,
    run_estimation,
)
from fmident.estimation.online import joined
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter, Problem


@dataclass(frozen=True)
class NoOptions:
    """None."""


class MeanTracker(Tracker):
    """The mean of what came so far; missing samples are left out."""

    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0

    def update(self, time, inputs, outputs):
        if not np.isfinite(outputs[0]):
            self.flag = Flag.MISSING
            return None
        self.sum += float(outputs[0])
        self.count += 1
        self.flag = Flag.GOOD if self.count > 2 else Flag.FILLING
        if self.flag is not Flag.GOOD:
            return None
        return OnlineEstimate(
            time, np.array([self.sum / self.count]), np.array([0.1 / np.sqrt(self.count)])
        )


class Mean(OnlineEstimator[NoOptions]):
    name: ClassVar[str] = "mean"
    options_type: ClassVar[type[NoOptions]] = NoOptions

    def start(self, problem, experiment, evaluator, options):
        return MeanTracker()


def constant(times, inputs, a):
    return {"y": np.full(times.shape, a)}


def problem(values: list[float]) -> Problem:
    times = np.arange(len(values), dtype=float)
    return python_problem(
        {"y": np.array(values)}, times, [Parameter("a", 0.0, variable="a")], sigma=0.1
    )


def run(made: Problem):
    with Evaluator(made, PythonExecutor(made, constant)) as evaluator:
        return run_estimation(made, evaluator, Mean())


def test_series_and_flags() -> None:
    result = run(problem([1.0, 2.0, np.nan, 3.0, 4.0]))
    assert result.converged()
    (series,) = result.series
    expected = [Flag.FILLING, Flag.FILLING, Flag.MISSING, Flag.GOOD, Flag.GOOD]
    assert list(series.flags) == expected
    np.testing.assert_allclose(series.values[:, 0], [np.nan, np.nan, np.nan, 2.0, 2.5])
    assert series.last is not None
    assert series.last.time == 4.0
    assert result.values["a"] == 2.5
    assert any("0.05" in note for note in result.notes), "own standard error"
    assert len(result.history) == 2


def test_several_experiments_count_by_their_errors() -> None:
    first = problem([1.0, 1.0, 1.0])
    second = dataclasses.replace(problem([2.0] * 9).experiments[0], name="second")
    both = dataclasses.replace(first, experiments=(first.experiments[0], second))
    assert run(both).values["a"] == pytest.approx((3 * 1.0 + 9 * 2.0) / 12)


def test_unknown_errors_count_equally() -> None:
    unknown = np.array([np.nan])
    pair = [OnlineEstimate(0.0, np.array([v]), unknown) for v in (1.0, 3.0)]
    assert joined(pair) == pytest.approx([2.0])


def test_no_estimate_is_a_failure_that_says_why() -> None:
    result = run(problem([1.0, 2.0]))
    assert result.status == "failed"
    assert "shorter than the window" in result.message
    assert isinstance(result.series[0], TimeSeriesEstimate)
    assert result.series[0].last is None
