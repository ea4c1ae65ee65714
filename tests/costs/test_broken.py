"""Costs of plugins that do what no cost may: told as the plugin's mistake, with its line."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.errors import Code, PluginError
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem import Cost, MeasuredSignal, Parameter
from fmident.problem.residuals import check_cost

from ..refused import refused

TIMES = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True)
class Plain(Cost):
    name: ClassVar[str] = "plain"

    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        return signals[0].differences(predicted[0])


class Leaves(Plain):
    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        raise SystemExit(4)


class Writes(Plain):
    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        signals[0].measured[:] = 0.0
        return super().residuals(signals, predicted)


class Varies(Plain):
    """One more or less of them from call to call."""

    lengths: ClassVar[Callable[[], int]] = itertools.cycle([11, 1]).__next__

    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        return super().residuals(signals, predicted)[: type(self).lengths()]


class CannotCheck(Plain):
    def check(self, signals: Sequence[MeasuredSignal]) -> None:
        raise KeyError("window")


def problem_with(cost: Cost):
    made = python_problem({"y": 2.0 * TIMES}, TIMES, [Parameter("a", 1.0, variable="a")])
    return dataclasses.replace(made, cost=cost)


def line(times, inputs, a):
    return {"y": a * times}


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (Leaves(), r"test_broken\.py:\d+: the cost 'plain' .* failed with SystemExit: 4"),
        (Writes(), r"test_broken\.py:\d+: the cost 'plain' .* read-only"),
        (Varies(), r"returned 1 residuals after 11: their number must not depend"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_broken_cost_is_the_plugins_mistake(cost: Cost, words: str) -> None:
    problem = problem_with(cost)
    evaluator = Evaluator(problem, PythonExecutor(problem, line))
    with evaluator, pytest.raises(PluginError, match=words) as told:
        evaluator.cost(problem.initial)
    assert "report it to its authors" in str(told.value)
    assert problem.experiments[0].measurements[0].values[-1] == 2.0


def test_a_check_that_fails_is_no_refusal() -> None:
    with refused(
        Code.PLUGIN_FAILED, PluginError, match=r"test_broken\.py:\d+: .* KeyError: 'window'"
    ):
        check_cost(problem_with(CannotCheck()))
