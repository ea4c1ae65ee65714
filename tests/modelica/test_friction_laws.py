"""Friction laws by themselves: closed forms, steady sliding, presliding, energy."""

from __future__ import annotations

import numpy as np
import pytest
from machines import Workshop
from motions import window_means

SPEEDS = np.concatenate([-np.logspace(0, -6, 60), [0.0], np.logspace(-6, 0, 60)])
TRANSLATIONAL = {
    "prefix": "Translational",
    "speed": "v",
    "force": "f",
    "c": "coulombForce",
    "s": "staticForce",
    "vs": "stribeckSpeed",
}
ROTATIONAL = {
    "prefix": "Rotational",
    "speed": "w",
    "force": "tau",
    "c": "coulombTorque",
    "s": "staticTorque",
    "vs": "stribeckSpeed",
}
KINDS = pytest.mark.parametrize("kind", [TRANSLATIONAL, ROTATIONAL], ids=["force", "torque"])


def swept(
    workshop: Workshop, kind: dict[str, str], law: str, parameters: dict[str, float]
) -> np.ndarray:
    machine = workshop.machine(f"FMUs.{kind['prefix']}{law}")
    times = np.arange(SPEEDS.size) * 0.01
    outputs = (kind["force"], "lossPower", "storedEnergy")
    signals = machine.simulate(times, {kind["speed"]: SPEEDS}, outputs, parameters)
    np.testing.assert_allclose(signals["lossPower"], signals[kind["force"]] * SPEEDS, rtol=1e-14)
    assert not signals["storedEnergy"].any()
    return signals[kind["force"]]


@KINDS
def test_coulomb_viscous(workshop: Workshop, kind: dict[str, str]) -> None:
    force = swept(
        workshop,
        kind,
        "CoulombViscous",
        {kind["c"]: 2.0, "viscousFriction": 0.3, "speedWidth": 1e-3},
    )
    np.testing.assert_allclose(force, 2.0 * np.tanh(SPEEDS / 1e-3) + 0.3 * SPEEDS, rtol=1e-13)


@KINDS
def test_stribeck(workshop: Workshop, kind: dict[str, str]) -> None:
    values = {
        kind["c"]: 1.0,
        kind["s"]: 1.8,
        kind["vs"]: 0.01,
        "viscousFriction": 0.3,
        "speedWidth": 1e-5,
    }
    force = swept(workshop, kind, "Stribeck", values)
    level = 1.0 + 0.8 * np.exp(-((SPEEDS / 0.01) ** 2))
    np.testing.assert_allclose(force, level * np.tanh(SPEEDS / 1e-5) + 0.3 * SPEEDS, rtol=1e-13)


@KINDS
@pytest.mark.parametrize("speed", [-0.02, 0.005, 0.3])
def test_lugre_slides_steadily_on_the_stribeck_curve(
    workshop: Workshop, kind: dict[str, str], speed: float
) -> None:
    values = {
        kind["c"]: 1.0, kind["s"]: 1.5, kind["vs"]: 0.01,
        "sigma0": 1e4, "sigma1": 10.0, "viscousFriction": 0.4,
    }  # fmt: skip
    machine = workshop.machine(f"FMUs.{kind['prefix']}LuGre")
    times = np.linspace(0.0, 1.0, 51)
    inputs = {kind["speed"]: np.full(51, speed)}
    force = machine.simulate(times, inputs, (kind["force"],), values, 1e-10)[kind["force"]][-1]
    level = 1.0 + 0.5 * np.exp(-((speed / 0.01) ** 2))
    assert force == pytest.approx(level * np.sign(speed) + 0.4 * speed, rel=1e-8)


@KINDS
def test_lugre_is_a_spring_and_damper_for_small_motion(
    workshop: Workshop, kind: dict[str, str]
) -> None:
    """At deflections far below staticForce/sigma0 the bristles do not slip."""
    values = {
        kind["c"]: 1e6, kind["s"]: 1e6, kind["vs"]: 0.01,
        "sigma0": 1e4, "sigma1": 10.0, "viscousFriction": 0.4,
    }  # fmt: skip
    machine = workshop.machine(f"FMUs.{kind['prefix']}LuGre")
    times = np.linspace(0.0, 1.0, 1001)
    speed = 1e-3 * times * (1.0 - times)
    deflection = 1e-3 * (times**2 / 2.0 - times**3 / 3.0)
    signals = machine.simulate(times, {kind["speed"]: speed}, (kind["force"],), values, 1e-10)
    expected = 1e4 * deflection + 10.4 * speed
    assert np.max(np.abs(signals[kind["force"]] - expected)) < 2e-6 * np.max(expected)


@KINDS
def test_lugre_keeps_its_deflection_at_rest(workshop: Workshop, kind: dict[str, str]) -> None:
    machine = workshop.machine(f"FMUs.{kind['prefix']}LuGre")
    times = np.linspace(0.0, 100.0, 1001)
    signals = machine.simulate(times, {kind["speed"]: np.zeros(1001)}, ("z",), {"z": 1e-6})
    np.testing.assert_array_equal(signals["z"], np.full(1001, 1e-6))


@KINDS
def test_lugre_balances_its_power(workshop: Workshop, kind: dict[str, str]) -> None:
    machine = workshop.machine(f"FMUs.{kind['prefix']}LuGre")
    step, per_window = 1e-5, 1000
    times = np.arange(40001) * step
    speed = 0.01 * np.sin(20.0 * times) + 0.003 * np.sin(71.0 * times)
    names = (kind["force"], "storedEnergy", "lossPower")
    force, stored, loss = machine.simulate(times, {kind["speed"]: speed}, names, {}, 1e-11).values()
    error = window_means(force * speed - loss, per_window) - np.diff(stored[::per_window]) / (
        per_window * step
    )
    assert np.max(np.abs(error)) < 1e-6 * np.max(np.abs(force * speed))
