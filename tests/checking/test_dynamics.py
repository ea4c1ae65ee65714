"""Time constants of models whose eigenvalues are known, as `check` finds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import signal

from fmident.arrays import F64
from fmident.checking.dynamics import most_simulations, simulate_finely, with_dynamics
from fmident.checking.report import ExperimentCheck
from fmident.data import Experiment, Measurement
from fmident.errors import FmuError
from fmident.evaluation import Evaluator

Model = Callable[[F64, F64], F64]
"""Times and the input, shape (n,) each, to the outputs, shape (n, outputs)."""


class _Simulations:
    """What `with_dynamics` asks of an evaluator, with the noise of a solver."""

    def __init__(self, model: Model, noise: float) -> None:
        self.model, self.noise = model, noise
        self.problem = SimpleNamespace(initial=np.ones(1))
        self.random = np.random.default_rng(0)
        self.count = 0

    def simulate_outputs(self, e: Experiment, names: Sequence[str], points: F64) -> F64:
        self.count += 1
        on = e.inputs.get("on", np.zeros(1))
        if not np.isin(on, (0.0, 1.0)).all():
            raise FmuError("input 'on' is Boolean")
        u = e.inputs.get("u", np.zeros(e.times.size))
        found = self.model(e.times, u + on)
        size = self.noise * np.abs(found).max(axis=0)
        return (found + size * self.random.standard_normal(found.shape))[np.newaxis]


def time_constants(
    model: Model,
    count: int,
    step: float,
    u: F64 | None,
    noise: float = 1e-8,
    on: F64 | None = None,
) -> tuple[float, float]:
    simulations = _Simulations(model, noise)
    evaluator = cast(Evaluator, cast(Any, simulations))
    experiment = driven(model, step * np.arange(count), u, on)
    held = {"on"} & {*experiment.inputs}
    fine = simulate_finely(evaluator, experiment, 8, held, held)
    assert fine is not None
    check = ExperimentCheck("e", count, step * (count - 1), step, regular=True)
    found = with_dynamics(evaluator, check, fine)
    assert simulations.count <= most_simulations(experiment, held)
    return found.fastest, found.slowest


def driven(model: Model, times: F64, u: F64 | None, on: F64 | None) -> Experiment:
    still = np.zeros(times.size)
    names = [f"y{k}" for k in range(model(times, still if u is None else u).shape[1])]
    inputs = {n: x for n, x in (("u", u), ("on", on)) if x is not None}
    return Experiment("e", times, inputs, tuple(Measurement(n, n, n, still) for n in names))


def lags(constants: Sequence[float], gains: Sequence[float], square: float = 0.0) -> Model:
    """First-order lags in parallel, from 1 at the beginning; then something that is not linear."""

    def model(times: F64, u: F64) -> F64:
        y = np.zeros(times.size)
        for constant, gain in zip(constants, gains, strict=True):
            share = float(times[1] - times[0]) / constant
            a = math.exp(-share)
            late = 1.0 - (1.0 - a) / share  # exact for straight lines between the samples
            numerator, denominator = [late, 1.0 - a - late], [1.0, -a]
            begin = signal.lfiltic(numerator, denominator, [1.0], [u[0]])
            response, _ = signal.lfilter(numerator, denominator, u[1:], zi=begin)
            y += gain * np.concatenate([[1.0], response])
        return (y + square * y**2)[:, np.newaxis]

    return model


def steps(count: int) -> F64:
    return 3.0 + np.repeat(np.random.default_rng(1).standard_normal(count // 20 + 1), 20)[:count]


@pytest.mark.parametrize("noise", [0.0, 1e-8, 1e-6])
@pytest.mark.parametrize(
    ("constants", "gains", "step"),
    [
        ((1.0, 30.0), (1.0, 1.0), 0.2),
        ((2e-5,), (1.0,), 1e-5),
        ((5e3,), (1.0,), 600.0),
        ((0.5, 300.0), (0.05, 1.0), 1.0),
        ((3.0, 20.0, 200.0), (1.0, 1.0, 1.0), 1.0),
    ],
)
def test_linear_models(
    constants: tuple[float, ...], gains: tuple[float, ...], step: float, noise: float
) -> None:
    """Over seven orders of size, driven, stiff; the noise is that of a solver."""
    found = time_constants(lags(constants, gains), 1000, step, steps(1000), noise)
    assert found == pytest.approx((min(constants), max(constants)), rel=0.06)


@pytest.mark.parametrize(("also", "square"), [(True, 0.0), (True, 0.05), (False, 0.0)])
def test_what_switches_is_neither_halved_nor_stepped(also: bool, square: float) -> None:
    """Alone, or beside an input that moves: a Boolean is 0 or 1 on every grid."""
    on = (np.arange(1000) // 130 % 2).astype(np.float64)
    u = steps(1000) if also else None
    found = time_constants(lags((1.0, 30.0), (1.0, 1.0), square), 1000, 0.2, u, on=on)
    assert found == pytest.approx((1.0, 30.0), rel=0.1)


def test_inputs_that_the_fmu_refuses_cost_no_report() -> None:
    model = lags((1.0,), (1.0,))
    experiment = driven(model, 0.2 * np.arange(100), None, np.arange(100) // 13 % 2 + 0.0)
    evaluator = cast(Evaluator, cast(Any, _Simulations(model, 0.0)))
    assert simulate_finely(evaluator, experiment, 8) is None
    assert simulate_finely(evaluator, experiment, 8, {"on"}) is not None


def test_models_without_inputs() -> None:
    assert time_constants(lags((2.0, 40.0), (1.0, 1.0)), 1000, 0.2, None) == pytest.approx(
        (2.0, 40.0), rel=0.01
    )


@pytest.mark.parametrize("shape", ["steps", "sine"])
@pytest.mark.parametrize("constants", [(40.0,), (3.0, 20.0, 200.0)])
def test_what_is_not_linear_adds_no_modes(constants: tuple[float, ...], shape: str) -> None:
    """Squares of a mode decay twice as fast, products of two with the sum of their rates."""
    model = lags(constants, (1.0,) * len(constants), 0.05)
    phase = 6.0 * math.pi * np.linspace(0.0, 1.0, 2000)
    u = steps(2000) if shape == "steps" else 1.0 + np.sin(phase)
    found = time_constants(model, 2000, 1.0, u)
    assert found == pytest.approx((min(constants), max(constants)), rel=0.1)


def test_two_tanks_with_orifices() -> None:
    """Time constants of the linearised tanks are ``A v / (a g)``: 20 to 100 s for these flows."""
    area, orifice, g = (0.02, 0.03), 1e-4, 9.81

    def model(times: F64, q: F64) -> F64:
        h = np.empty((times.size, 2))
        h[0] = 0.1, 0.05
        step = float(times[1] - times[0])
        for k in range(times.size - 1):
            v1, v2 = math.sqrt(2.0 * g * h[k, 0]), math.sqrt(2.0 * g * h[k, 1])
            h[k + 1, 0] = h[k, 0] + step * (q[k] - orifice * v1) / area[0]
            h[k + 1, 1] = h[k, 1] + step * orifice * (v1 - v2) / area[1]
        return h

    flow = np.where(np.arange(1200) // 120 % 2, 3e-4, 2e-4)
    fastest, slowest = time_constants(model, 1200, 1.0, flow, 0.0)
    speed = 2.5e-4 / orifice  # at the mean flow
    assert fastest == pytest.approx(area[0] * speed / (orifice * g), rel=0.4)
    assert slowest == pytest.approx(area[1] * speed / (orifice * g), rel=0.4)
