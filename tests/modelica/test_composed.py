"""Models that a user would draw: parts of the library between those of the standard library."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from machines import Signals, Workshop

pytestmark = pytest.mark.slow  # builds or starts processes throughout

MODELS = (
    "BeltDrive",
    "SliderCrankWithMotor",
    "HeatedBearing",
    "SuspendedHousing",
    "StickSlip",
    "SelfLockingHoist",
    "ControlledAxis",
    "TwoDrives",
    "BreakAway",
    "ControlledDelta",
)


OUTPUTS = ("stored", "work", "speed", "position")
OUTPUTS += tuple(f"{name}[{i}]" for name in ("q", "tau") for i in (1, 2, 3))


@cache
def simulated(workshop: Workshop, name: str) -> Signals:
    """Return what tests ask for: one simulation serves all tests of a model in a process."""
    machine = workshop.machine(f"MechanismsTest.{name}")
    outputs = [output for output in OUTPUTS if output in machine.names]
    return machine.simulate(np.linspace(0.0, 4.0, 2001), outputs=outputs, tolerance=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_stored_energy_is_the_work_less_the_losses(workshop: Workshop, name: str) -> None:
    signals = simulated(workshop, name)
    stored = signals["stored"] - signals["stored"][0]
    work = signals["work"] - signals["work"][0]
    assert np.ptp(stored) > 1e-3
    assert stored == pytest.approx(work, abs=1e-8 * np.ptp(stored))


def test_hoist_holds_its_load_at_rest(workshop: Workshop) -> None:
    # At rest the motor may give between 0.736*0.6 - 0.1 and 0.736/0.6 + 0.1 N.m; it gives 0.6.
    speed = simulated(workshop, "SelfLockingHoist")["speed"]
    assert np.abs(speed[:500]).max() == 0.0
    assert speed[700] > 1.0


def test_hoist_lifts_with_the_torque_that_losses_leave(workshop: Workshop) -> None:
    speed = simulated(workshop, "SelfLockingHoist")["speed"]
    torque = 2.0 - 0.1 - 15 * 9.81 / (20 * 10 * 0.6)
    inertia = 1e-3 + 15 / (20 * 10) ** 2 / 0.6
    assert speed[1000] == pytest.approx(torque / inertia * 1.0, rel=1e-6)


def test_controlled_axis_settles_at_its_reference(workshop: Workshop) -> None:
    position = simulated(workshop, "ControlledAxis")["position"]
    assert position[-1] == pytest.approx(0.02, abs=2e-4)


def test_shaft_sticks_below_the_coulomb_torque(workshop: Workshop) -> None:
    times = np.linspace(0.0, 4.0, 2001)
    speed = simulated(workshop, "BreakAway")["speed"]
    breaks = np.arcsin(0.5) / 3  # 2*sin(3*t) reaches the Coulomb torque of 1 N.m
    assert np.abs(speed[times < breaks]).max() == 0.0
    assert speed[times > breaks + 0.01][:20].min() > 0.0


def test_shaft_slides_as_its_differential_equation_says(workshop: Workshop) -> None:
    times = np.linspace(0.0, 4.0, 2001)
    speed = simulated(workshop, "BreakAway")["speed"]
    a, begin = 0.2 / 0.5, np.arcsin(0.5) / 3
    sliding = (times > begin) & (times < 0.9)  # J*w' = 2*sin(3*t) - 1 - 0.2*w

    def particular(t: np.ndarray) -> np.ndarray:
        return 4 * (a * np.sin(3 * t) - 3 * np.cos(3 * t)) / (a**2 + 9) - 2 / a

    t = times[sliding]
    exact = particular(t) - particular(np.array(begin)) * np.exp(-a * (t - begin))
    assert speed[sliding] == pytest.approx(exact, abs=1e-7)


def test_slide_sticks_between_slips(workshop: Workshop) -> None:
    speed = simulated(workshop, "StickSlip")["speed"]
    assert speed.max() > 0.15  # faster than the end of the spring, which moves at 0.1 m/s
    sticks = np.abs(speed) < 1e-3  # presliding is slow, not zero
    assert 0.3 < sticks.mean() < 0.9
    assert np.count_nonzero(np.diff(sticks.astype(int)) == 1) >= 2


def test_robot_rests_at_its_targets_under_the_torques_of_its_weight(workshop: Workshop) -> None:
    axes = (1, 2, 3)
    angles, torques = ([f"{name}[{i}]" for i in axes] for name in ("q", "tau"))
    signals = simulated(workshop, "ControlledDelta")
    target = np.array([22.5, 12.5, 17.5]) / 25
    assert [signals[name][-1] for name in angles] == pytest.approx(target, abs=1e-6)
    inverse = workshop.machine("FMUs.DeltaInverse")
    step = 1e-4
    shifts = step * np.vstack([np.eye(3), -np.eye(3)])
    inputs = {f"q[{i}]": target[i - 1] + shifts[:, i - 1] for i in axes}
    inputs |= {f"{name}[{i}]": np.zeros(6) for name in ("qd", "qdd") for i in axes}
    energies = inverse.simulate(np.arange(6.0), inputs, ("potentialEnergy",))["potentialEnergy"]
    weight = (energies[:3] - energies[3:]) / (2 * step) / 25
    assert [signals[name][-1] for name in torques] == pytest.approx(weight, abs=1e-5)
