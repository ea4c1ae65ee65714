"""The chain rule from sensitivities to residuals, against differences of high order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement
from fmident.data.prepare import Decimation
from fmident.problem import Cost, MeasuredSignal, Parameter, Problem, TimeDomain
from fmident.problem.model import EstimatorSettings
from fmident.problem.residuals import (
    cost_residuals,
    delay_derivative,
    delayed,
    parameter_values_for,
    residual_jacobian,
)
from fmident_costs import (
    Correlation,
    FrequencyDomain,
    SeparateSpectra,
    SmoothedSpectrum,
    SquaresAndMaxima,
)

TIMES = np.linspace(0.0, 3.0, 121)


def outputs(times: F64, a: float, b: float) -> F64:
    return np.column_stack([a * np.sin(b * times) + 0.3, np.exp(-a * times) * np.cos(times)])


def slopes(times: F64, a: float, b: float) -> dict[str, F64]:
    decay = -times * np.exp(-a * times) * np.cos(times)
    none = np.zeros_like(times)
    return {
        "a": np.column_stack([np.sin(b * times), decay]),
        "b": np.column_stack([a * times * np.cos(b * times), none]),
    }


@dataclass(frozen=True)
class Roots(Cost):
    """A cost of somebody else, without formulas for its derivatives."""

    name: ClassVar[str] = "roots"

    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        parts = [np.sqrt(np.abs(s.differences(y))) for s, y in zip(signals, predicted, strict=True)]
        return np.concatenate(parts)


def problem(cost: Cost, **model: object) -> Problem:
    """Two experiments with their own measurement models, sigmas, gaps and a local parameter."""
    parameters = (
        Parameter("a", 1.2, variable="a"),
        Parameter("b1", 2.1, variable="b", experiments=("first",), scaling="log", lower=0.1),
        Parameter("b2", 1.7, variable="b", experiments=("second",)),
        Parameter("gain", 1.1),
        Parameter("offset", -0.2),
        Parameter("delay", 0.0371, lower=-0.5, upper=0.5),
        Parameter("fixed", 3.0, fixed=True),
    )
    experiments, noise = [], np.random.default_rng(5)
    for name in ("first", "second"):
        measured = [noise.normal(size=TIMES.size) for _ in range(2)]
        if model.get("gaps", True):
            measured[0][[3, 40, 41]] = np.nan
        rows = (
            Measurement(
                "y",
                "y",
                "y",
                measured[0],
                sigma=0.1 + 0.05 * np.arange(TIMES.size) / TIMES.size,
                weight=0.7,
                gain="gain",
                offset="offset",
                delay="delay" if name == "first" else 0.013,
            ),
            Measurement(
                "z",
                "z",
                "z",
                measured[1],
                sigma=np.array(0.2),
                gain="gain" if name == "second" else 2.0,
                delay="delay",
                decimation=model.get("decimation"),  # type: ignore[arg-type]
            ),
        )
        experiments.append(Experiment(name, TIMES, {}, rows))
    return Problem(
        Path("model.py"), parameters, tuple(experiments), EstimatorSettings("none"), cost=cost
    )


def residuals(task: Problem, p: F64) -> F64:
    found = [outputs(e.times, **parameter_values_for(task, e, p)) for e in task.experiments]
    return cost_residuals(task, found, p)


def by_chain_rule(task: Problem, p: F64) -> F64:
    values = [parameter_values_for(task, e, p) for e in task.experiments]
    return residual_jacobian(
        task,
        [outputs(e.times, **v) for e, v in zip(task.experiments, values, strict=True)],
        [slopes(e.times, **v) for e, v in zip(task.experiments, values, strict=True)],
        p,
        range(p.size),
    )


def of_high_order(function: Callable[[F64], F64], p: F64, step: float = 2e-3) -> F64:
    """Return a Jacobian by central differences of eighth order."""
    weights = {1: 4.0 / 5.0, 2: -1.0 / 5.0, 3: 4.0 / 105.0, 4: -1.0 / 280.0}
    columns = []
    for j in range(p.size):
        total: F64 | float = 0.0
        for k, weight in weights.items():
            up, down = p.copy(), p.copy()
            up[j] += k * step
            down[j] -= k * step
            total = total + weight * (function(up) - function(down)) / step
        columns.append(total)
    return np.column_stack(columns)


COSTS = [
    TimeDomain(),
    TimeDomain(normalisation="mean-square"),
    FrequencyDomain(),
    FrequencyDomain(band=(0.2, 5.0)),
    SmoothedSpectrum(smoothing=3, window="hann"),
    SeparateSpectra(smoothing=2),
    SquaresAndMaxima(),
    SquaresAndMaxima(squares={"y": 2.0}, maxima=0.5, errors="plain"),
    Correlation(),
    Roots(),
]


@pytest.mark.parametrize("cost", COSTS, ids=lambda c: f"{c.name}-{c.options()}"[:60])
def test_every_cost_and_every_kind_of_parameter(cost: Cost) -> None:
    task = problem(cost)
    p = task.initial
    # The delayed signal is a polynomial between samples: differences must not leave an interval.
    expected = of_high_order(lambda q: residuals(task, q), p, 2e-4)
    found = by_chain_rule(task, p)
    assert found.shape == expected.shape
    bend = isinstance(cost, Roots)
    # Differences with a step of 2e-4 see bends of the square root next to it.
    close = np.isclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    assert np.mean(close) > (0.98 if bend else 0.9999)


def test_a_cost_without_formulas_is_differentiated_to_nine_digits() -> None:
    task = problem(Roots())
    exact = replace(task, cost=TimeDomain())
    p = task.initial
    r = residuals(exact, p)
    expected = by_chain_rule(exact, p) * (0.5 * np.sign(r) / np.sqrt(np.abs(r)))[:, np.newaxis]
    found = by_chain_rule(task, p)
    assert np.all(np.abs(found - expected) <= 1e-9 * np.abs(expected) + 1e-12)


@pytest.mark.parametrize("cost", COSTS[2:9], ids=lambda c: f"{c.name}-{c.options()}"[:60])
def test_formulas_of_costs_agree_with_their_differences(cost: Cost) -> None:
    task = problem(cost, gaps=False)
    p = task.initial
    found = by_chain_rule(task, p)

    class Plain(type(cost)):  # type: ignore[misc]
        derivatives = Cost.derivatives

    plain = replace(task, cost=Plain(**cost.options()))
    other = by_chain_rule(plain, p)
    assert np.abs(found - other).max() <= 1e-9 * np.abs(found).max()


def test_decimated_signals_have_filtered_derivatives() -> None:
    task = problem(TimeDomain(), decimation=Decimation(4), gaps=False)
    p = task.initial
    expected = of_high_order(lambda q: residuals(task, q), p, 2e-4)
    found = by_chain_rule(task, p)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()


def test_only_the_columns_that_are_asked_for_need_sensitivities() -> None:
    task = problem(TimeDomain())
    p = task.initial
    found = [outputs(e.times, **parameter_values_for(task, e, p)) for e in task.experiments]
    own = [3, 4, 5]
    part = residual_jacobian(task, found, [{}, {}], p, own)
    assert np.array_equal(part, by_chain_rule(task, p)[:, own])


@pytest.mark.parametrize("delay", [-0.21, -1e-3, 1e-3, 0.017, 0.41, 2.91, 3.5])
def test_derivative_of_a_delayed_signal(delay: float) -> None:
    y = np.sin(3.0 * TIMES) + TIMES**2
    h = 1e-6
    numeric = (delayed(TIMES, y, delay + h) - delayed(TIMES, y, delay - h)) / (2.0 * h)
    assert np.allclose(delay_derivative(TIMES, y, delay), numeric, atol=1e-6)


@pytest.mark.parametrize("delay", [0.0, 0.4, -0.2])
@pytest.mark.parametrize("smaller", [False, True])
def test_derivative_at_whole_steps_is_that_of_one_side(smaller: bool, delay: float) -> None:
    y = np.sin(3.0 * TIMES) + TIMES**2 + 5.0
    h = -1e-7 if smaller else 1e-7
    numeric = (delayed(TIMES, y, delay + h) - delayed(TIMES, y, delay)) / h
    found = delay_derivative(TIMES, y, delay, towards_smaller=smaller)
    assert np.allclose(found, numeric, atol=1e-4)


def test_signals_are_delayed_as_columns_as_they_are_one_by_one() -> None:
    y = np.random.default_rng(5).normal(size=(TIMES.size, 3))
    together = delayed(TIMES, y, 0.033)
    for k in range(3):
        assert np.array_equal(together[:, k], delayed(TIMES, y[:, k].copy(), 0.033))
