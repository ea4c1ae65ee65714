"""Trajectories against closed forms and against SciPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from .conftest import Builder, Fmu

pytestmark = pytest.mark.slow  # many builds or whole runs

Array = np.ndarray


def drive(
    fmu: Fmu, name: str, time: Array, values: Array, outputs: list[str], linear: bool
) -> Array:
    """Run from sample to sample; outputs are read with the input of the same instant."""
    reference = [fmu.references[name]]
    rows = []
    for i, t in enumerate(time):
        fmu.set(**{name: values[i]})
        rows.append(fmu.get(*outputs))
        if i + 1 < len(time):
            size = time[i + 1] - t
            slope = (values[i + 1] - values[i]) / size if linear else 0.0
            fmu.slave.setRealInputDerivatives(reference, [1], [slope])
            fmu.step(t, size)
    return np.array(rows)


def integrate_piecewise(
    rhs: Callable[[float, Array, float], Array],
    x0: list[float],
    time: Array,
    values: Array,
    linear: bool,
) -> Array:
    """Integrate with SciPy from sample to sample, far more tightly than what it judges."""
    x = np.array(x0)
    rows = [x]
    for i in range(len(time) - 1):
        t0, t1 = time[i], time[i + 1]
        slope = (values[i + 1] - values[i]) / (t1 - t0) if linear else 0.0

        def f(t: float, x: Array, i: int = i, t0: float = t0, slope: float = slope) -> Array:
            return rhs(t, x, values[i] + slope * (t - t0))

        x = solve_ivp(f, (t0, t1), x, method="DOP853", rtol=3e-14, atol=1e-15).y[:, -1]
        rows.append(x)
    return np.array(rows)


def rich_signal(time: Array, amplitude: float) -> Array:
    return amplitude * (
        np.sin(2 * np.pi * 0.7 * time)
        + 0.6 * np.sin(2 * np.pi * 1.9 * time + 1)
        + 0.3 * np.sin(2 * np.pi * 4.3 * time + 2)
    )


def relative(found: Array, expected: Array) -> float:
    return float(np.max(np.abs(found - expected).max(0) / np.abs(expected).max(0)))


def test_error_falls_with_tolerance(fmus: Builder) -> None:
    m, k, d, s0 = 2.0, 50.0, 1.5, 0.1
    time = np.arange(0, 5, 0.05)
    decay = d / (2 * m)
    omega = np.sqrt(k / m - decay**2)
    exact = (
        s0 * np.exp(-decay * time) * (np.cos(omega * time) + decay / omega * np.sin(omega * time))
    )
    errors = []
    with fmus.open("oscillator") as fmu:
        for tolerance in (1e-4, 1e-6, 1e-8, 1e-10):  # also the absolute one; the size is 0.1
            fmu.slave.reset()
            fmu.initialize(tolerance)
            found = drive(fmu, "f", time, 0 * time, ["s"], False)[:, 0]
            errors.append(np.abs(found - exact).max() / s0)
            assert errors[-1] < 100 * tolerance
    for coarse, fine in pairwise(errors):
        assert fine < coarse / 10


@pytest.mark.parametrize("linear", [False, True], ids=["held", "linear"])
@pytest.mark.parametrize("model", ["oscillator", "pendulum"])
def test_rich_trajectories_agree_with_scipy(fmus: Builder, model: str, linear: bool) -> None:
    time = np.linspace(0, 6, 601)
    if model == "oscillator":
        name, states, values = "f", ["s", "v"], rich_signal(time, 5.0)
        x0 = [0.1, 0.0]

        def rhs(t: float, x: Array, u: float) -> Array:
            return np.array([x[1], (u - 1.5 * x[1] - 50 * x[0]) / 2])
    else:
        name, states, values = "tau", ["phi", "w"], rich_signal(time, 3.0)
        x0 = [values[0] / 100, 1.0]

        def rhs(t: float, x: Array, u: float) -> Array:
            return np.array([x[1], -9.81 / 0.5 * np.sin(x[0]) - 0.2 * x[1] + u])

    expected = integrate_piecewise(rhs, x0, time, values, linear)
    with fmus.open(model) as fmu:
        fmu.initialize(1e-9, **{name: values[0]})
        found = drive(fmu, name, time, values, states, linear)
    assert relative(found, expected) < 1e-6


def test_ramp_is_integrated_exactly(fmus: Builder) -> None:
    """Between communication points the input is a ramp: its integral is a parabola."""
    time = np.linspace(0, 4, 9)
    with fmus.open("integrator") as fmu:
        fmu.initialize(1e-10)
        found = drive(fmu, "u", time, 3 * time, ["x"], True)[:, 0]
    assert found == pytest.approx(1.5 * time**2, rel=1e-10, abs=1e-12)


def test_input_stands_at_its_interpolated_value_after_a_step(fmus: Builder) -> None:
    with fmus.open("integrator") as fmu:
        fmu.initialize()
        fmu.set(u=1.0)
        fmu.slave.setRealInputDerivatives([fmu.references["u"]], [1], [2.0])
        fmu.step(0.0, 0.5)
        assert fmu.get("u") == [2.0]


def test_held_input_is_held(fmus: Builder) -> None:
    time = np.linspace(0, 4, 9)
    with fmus.open("integrator") as fmu:
        fmu.initialize(1e-10)
        found = drive(fmu, "u", time, 3 * time, ["x"], False)[:, 0]
    expected = np.concatenate([[0], np.cumsum(1.5 * time[:-1])])
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_output_with_feedthrough_is_read_with_the_input_of_the_same_instant(
    fmus: Builder,
) -> None:
    with fmus.open("integrator") as fmu:
        fmu.initialize(u=1.0)
        assert fmu.get("y") == [10.0]
        fmu.set(u=2.0)
        assert fmu.get("y") == [20.0]
        fmu.step(0.0, 1.0)
        fmu.set(u=-1.0)
        assert fmu.get("y") == pytest.approx([2.0 - 10.0])


def test_model_without_states_is_evaluated_at_once(fmus: Builder) -> None:
    with fmus.open("algebraic") as fmu:
        fmu.initialize()
        for i in range(5):
            fmu.set(**{"u[1]": float(i), "u[2]": float(i * i)})
            assert fmu.get("y") == [4.0 * i]
            fmu.step(i * 0.1, 0.1)
        assert fmu.get("w") == [4.0 + 0.5]


def test_kink_after_a_long_rest_is_noticed(fmus: Builder) -> None:
    """The integrator has taken long steps at rest when the force begins to rise."""
    time = np.concatenate([np.linspace(0, 100, 11), np.linspace(100.5, 110, 20)])
    force = np.maximum(time - 100, 0) * 10
    expected = integrate_piecewise(
        lambda t, x, u: np.array([x[1], (u - 1.5 * x[1] - 50 * x[0]) / 2]),
        [0.1, 0.0],
        time,
        force,
        True,
    )
    with fmus.open("oscillator") as fmu:
        fmu.initialize(1e-9)
        found = drive(fmu, "f", time, force, ["s", "v"], True)
    assert relative(found, expected) < 1e-6


def test_parameters_take_effect_in_the_run(fmus: Builder) -> None:
    with fmus.open("integrator") as fmu:
        fmu.initialize(1e-9, u=1.0)
        fmu.step(0.0, 1.0)
        fmu.set(k=5.0)
        fmu.step(1.0, 1.0)
        assert fmu.get("x") == pytest.approx([6.0], rel=1e-8)


def test_time_that_starts_elsewhere(fmus: Builder) -> None:
    with fmus.open("algebraic") as fmu:
        fmu.initialize(start=7.0)
        assert fmu.get("w") == [7.0]


def test_step_of_rounding_size_is_taken(fmus: Builder) -> None:
    with fmus.open("integrator") as fmu:
        fmu.initialize(start=1e6, u=1.0)
        size = 1e-9  # a few units in the last place of the time
        fmu.step(1e6, size)
        assert fmu.get("x")[0] == pytest.approx(1e6 + size - 1e6, rel=1e-6)
