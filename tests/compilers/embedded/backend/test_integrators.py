"""What integrates the states: each by itself, and the choice between them."""

from __future__ import annotations

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from fmident.compilers.embedded.model import INTEGRATORS

from .conftest import Builder
from .test_accuracy import drive, integrate_piecewise, relative, rich_signal

pytestmark = pytest.mark.slow  # many builds or whole runs

Array = np.ndarray

MOTOR = np.array([[-1e5, -0.05e5, 1e5], [500.0, -0.1, 0.0], [0.0, 0.0, 0.0]])
"""Of current, speed and voltage."""


def motor_on_ramps(time: Array, values: Array) -> Array:
    """Return current and speed exactly, from sample to sample."""
    # The slope of the voltage is a fourth state.
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = MOTOR
    matrix[2, 3] = 1.0
    x = np.zeros(2)
    rows = [x]
    for size, now, after in zip(np.diff(time), values[:-1], values[1:], strict=True):
        whole = np.array([*x, now, (after - now) / size])
        x = (expm(matrix * size) @ whole)[:2]
        rows.append(x)
    return np.array(rows)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_each_agrees_with_scipy(fmus: Builder, integrator: str) -> None:
    time = np.linspace(0, 3, 301)
    values = rich_signal(time, 3.0)

    def rhs(t: float, x: Array, u: float) -> Array:
        return np.array([x[1], -9.81 / 0.5 * np.sin(x[0]) - 0.2 * x[1] + u])

    expected = integrate_piecewise(rhs, [values[0] / 100, 1.0], time, values, True)
    errors = []
    with fmus.open("pendulum", integrator) as fmu:
        for tolerance in (1e-4, 1e-6, 1e-8, 1e-10):
            fmu.slave.reset()
            fmu.initialize(tolerance, tau=values[0])
            found = drive(fmu, "tau", time, values, ["phi", "w"], True)
            errors.append(relative(found, expected))
            assert errors[-1] < (100 if integrator == "cvode" else 1) * tolerance
    assert errors[-1] < errors[0] / 10


@pytest.mark.parametrize("step", [1e-3, 0.1], ids=["1kHz", "10Hz"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_stiff_right_hand_side(fmus: Builder, integrator: str, step: float) -> None:
    time = np.arange(0, 200 * step, step)
    values = np.sin(time / step / 20) + np.sin(time / step / 7)
    expected = motor_on_ramps(time, values)
    with fmus.open("motor", integrator) as fmu:
        fmu.initialize(1e-7)
        found = drive(fmu, "v", time, values, ["i", "w"], True)
    assert relative(found, expected) < (1e-5 if integrator == "cvode" else 1e-7)


def test_explicit_steps_are_given_up_where_they_are_too_many(fmus: Builder) -> None:
    """100 s of a motor that settles in 10 microseconds: the others take a few hundred steps."""
    with fmus.open("motor", "explicit") as fmu:
        fmu.initialize(v=1.0)
        with pytest.raises(FMICallException):
            fmu.step(0.0, 100.0)
        assert "more than 1000000 steps were taken" in fmu.error()
    steady = np.linalg.solve(MOTOR[:2, :2], -MOTOR[:2, 2])
    for integrator in ("auto", "rosenbrock", "cvode"):
        with fmus.open("motor", integrator) as fmu:
            fmu.initialize(v=1.0)
            fmu.step(0.0, 100.0)
            assert fmu.get("i", "w") == pytest.approx(steady, rel=1e-5)


@pytest.mark.parametrize("integrator", ["auto", "rosenbrock"])
def test_many_states(fmus: Builder, integrator: str) -> None:
    """The rod settles; at its cells the temperature then falls evenly to the sink."""
    n = 110
    matrix = (
        n * n * (np.diag([-2.0] * n) + np.diag([1.0] * (n - 1), 1) + np.diag([1.0] * (n - 1), -1))
    )
    matrix[0, 0] += n * n
    source = np.zeros(n)
    source[0] = n
    times = np.linspace(0, 0.5, 26)
    exact = solve_ivp(
        lambda t, x: matrix @ x + source,
        (0, 0.5),
        np.zeros(n),
        method="Radau",
        jac=matrix,
        rtol=1e-10,
        atol=1e-12,
        t_eval=times,
    ).y.T
    names = [f"T[{i + 1}]" for i in range(n)]
    with fmus.open("rod", integrator) as fmu:
        fmu.initialize(1e-6, q=1.0)
        found = drive(fmu, "q", times, np.ones(times.size), names, False)
    assert np.abs(found - exact).max() < 1e-5 * exact.max()


@pytest.mark.parametrize("model", ["motor", "pendulum"])
def test_the_choice_is_the_same_after_a_saved_state(fmus: Builder, model: str) -> None:
    """What has been chosen is part of the state: the bits of the continuation are the same."""
    name, outputs = ("v", ["i", "w"]) if model == "motor" else ("tau", ["phi", "w"])
    time = np.arange(60) * 1e-3
    values = np.sin(40 * time)
    with fmus.open(model) as fmu:
        fmu.initialize(1e-6, **{name: 0.0})
        drive(fmu, name, time, values, outputs, True)
        state = fmu.slave.getFMUState()

        def go_on() -> Array:
            return drive(fmu, name, time[-1] + time, values, outputs, True)

        first = go_on()
        fmu.slave.setFMUState(state)
        assert np.array_equal(go_on(), first)
        fmu.slave.freeFMUState(state)


def test_a_right_hand_side_that_is_stiff_for_a_while(fmus: Builder) -> None:
    """Long samples, short ones, long ones: each time it is another method's turn."""
    time = np.concatenate([np.arange(0, 1, 0.1), np.arange(1, 1.002, 1e-6), np.arange(1.1, 2, 0.1)])
    values = np.sin(3 * time)
    expected = motor_on_ramps(time, values)
    with fmus.open("motor") as fmu:
        fmu.initialize(1e-7)
        found = drive(fmu, "v", time, values, ["i", "w"], True)
    assert relative(found, expected) < 1e-7


@pytest.mark.parametrize("integrator", ["auto", "rosenbrock"])
def test_a_tank_that_is_empty_at_first(fmus: Builder, integrator: str) -> None:
    """There is no Jacobian at the start, and explicit stages lie below the bottom."""
    time = np.linspace(0.0, 1.0, 101)
    values = 6.0 * time

    def fill() -> Array:
        return drive(fmu, "q", time, values, ["h"], True)

    with fmus.open("tank", integrator) as fmu:
        fmu.initialize(1e-6)
        start = fmu.slave.getFMUState()
        first = fill()
        fmu.slave.setFMUState(start)
        assert np.array_equal(fill(), first)
        fmu.slave.reset()
        fmu.initialize(1e-6)
        assert np.array_equal(fill(), first)
        fmu.slave.freeFMUState(start)
    exact = (1.5 * time) ** 2  # 6 t - 1.5 t = 2 * 1.5^2 t
    assert np.abs(first[:, 0] - exact).max() < 1e-6 * exact.max()


@pytest.mark.parametrize("integrator", ["auto", "explicit", "rosenbrock"])
def test_a_start_many_years_after_zero(fmus: Builder, integrator: str) -> None:
    """Seconds since 1970 have a resolution of 2e-7 s: what is lost is only that of the samples."""
    begin = 1.7e9
    time = begin + np.arange(50) * 1e-3
    since = time - begin  # as the samples are, not as they were meant
    values = np.where(since < 0.01, 0.0, 1e3)
    with fmus.open("motor", integrator) as fmu:
        fmu.initialize(1e-8, start=begin)
        found = drive(fmu, "v", time, values, ["i", "w"], True)
    assert relative(found, motor_on_ramps(since, values)) < 1e-6
