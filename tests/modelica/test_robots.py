"""Robots against Lagrange's equations in redundant coordinates, and where the answer is known."""

from __future__ import annotations

import lagrange
import numpy as np
import pytest
from lagrange import F64, Mechanism
from machines import Signals, Workshop
from reference import read_reference

pytestmark = pytest.mark.slow  # builds two robots

ARMS = (1, 2, 3)


def vector(signals: Signals, name: str) -> F64:
    """Elements of a signal as columns."""
    return np.column_stack([signals[f"{name}[{i}]"] for i in ARMS])


def columns(**signals: F64) -> Signals:
    return {f"{name}[{i + 1}]": s[:, i] for name, s in signals.items() for i in range(3)}


def rates(robot: Mechanism, x: F64, qd: F64) -> F64:
    """Rates of all coordinates, from those of the arms and the rods' lengths."""
    constraint = robot.terms(x, np.zeros(6))[2]
    return np.concatenate([qd, np.linalg.solve(constraint[:, 3:], -constraint[:, :3] @ qd)])


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"gearEfficiency": 0.5, "lowerArmMass": 0.9, "platformMass": 0.4, "motorInertia": 0.0},
        {"gearPowerWidth": 1e-3, "upperArmLength": 0.25, "platformRadius": 0.1, "gravity": 3.7},
        {"gearEfficiency": 1.1, "coulombTorque": 0.0, "gearRatio": 8.0},
    ],
)
def test_delta_accelerates_as_by_lagrange(workshop: Workshop, changed: dict[str, float]) -> None:
    times = np.linspace(0.0, 0.5, 26)
    tau = np.column_stack([-0.1 + 0.3 * np.sin(9.0 * times + 2.0 * k) for k in range(3)])
    names = [f"{n}[{i}]" for n in ("q", "qd", "qdd", "r") for i in ARMS]
    energies = ("kineticEnergy", "potentialEnergy", "inputPower", "dissipatedPower")
    start = {"q_start[1]": 0.5, "q_start[2]": 0.8, "qd_start[3]": 2.0}
    start |= {"q_min": -3.0, "q_max": 3.0}
    signals = workshop.machine("FMUs.DeltaForward").simulate(
        times, columns(tau=tau), [*names, *energies], changed | start
    )
    assert np.ptp(vector(signals, "qd")) > 1.0
    p = lagrange.DELTA | changed
    robot = lagrange.delta(p)
    x, qd = np.hstack([vector(signals, "q"), vector(signals, "r")]), vector(signals, "qd")
    rows = [
        lagrange.delta_row(p, robot, position, rates(robot, position, speed), torque)
        for position, speed, torque in zip(x, qd, tau, strict=True)
    ]
    for name in [n for n in signals if n[:2] != "q["]:
        expected = np.array([row[name] for row in rows])
        assert np.max(np.abs(signals[name] - expected)) < 1e-9 * np.max(np.abs(expected)), name


def test_delta_accelerates_as_in_the_reference_of_its_inverse(workshop: Workshop) -> None:
    """Torques of the standard library's delta robot give back its accelerations, row by row."""
    reference = read_reference("delta_inverse_fourier")
    machine = workshop.machine("FMUs.DeltaForward")
    q, qd, qdd, tau = (vector(reference.signals, n) for n in ("q", "qd", "qdd", "tau"))
    for row in range(0, len(q), 25):
        start = {f"q_start[{i}]": q[row, i - 1] for i in ARMS}
        start |= {f"qd_start[{i}]": qd[row, i - 1] for i in ARMS}
        inputs = columns(tau=np.vstack([tau[row]] * 2))
        at = machine.simulate(np.array([0.0, 1e-6]), inputs, [f"qdd[{i}]" for i in ARMS], start)
        np.testing.assert_allclose(vector(at, "qdd")[0], qdd[row], rtol=0, atol=1e-7 * np.ptp(qdd))


LOSSLESS = {"gearEfficiency": 1.0, "coulombTorque": 0.0, "viscousFriction": 0.0}


def test_delta_of_upper_arms_alone_is_three_pendulums(workshop: Workshop) -> None:
    """Small oscillations about hanging, under the arms' weight and with the motors' inertia."""
    times = np.linspace(0.0, 3.0, 301)
    amplitudes = np.array([1e-4, -2e-4, 3e-4])
    p = lagrange.DELTA
    parameters = LOSSLESS | {"lowerArmMass": 0.0, "platformMass": 0.0, "q_max": 2.0}
    parameters |= {f"q_start[{i}]": 0.5 * np.pi + a for i, a in zip(ARMS, amplitudes, strict=True)}
    signals = workshop.machine("FMUs.DeltaForward").simulate(
        times, {}, [f"q[{i}]" for i in ARMS], parameters, 1e-11
    )
    weight = p["upperArmMass"] * p["gravity"] * p["upperArmLength"] / 2.0
    inertia = p["upperArmMass"] * p["upperArmLength"] ** 2 / 3.0
    omega = np.sqrt(weight / (inertia + p["motorInertia"] * p["gearRatio"] ** 2))
    expected = 0.5 * np.pi + np.cos(omega * times)[:, None] * amplitudes
    np.testing.assert_allclose(vector(signals, "q"), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("gravity", [0.0, 9.81])
def test_delta_without_losses_keeps_its_energy(workshop: Workshop, gravity: float) -> None:
    times = np.linspace(0.0, 0.2, 21)
    start = {"qd_start[1]": 2.0, "qd_start[2]": -3.0, "qd_start[3]": 1.0, "gravity": gravity}
    signals = workshop.machine("FMUs.DeltaForward").simulate(
        times, {}, ("kineticEnergy", "potentialEnergy", "qd[1]"), LOSSLESS | start, 1e-11
    )
    kinetic, potential, speed = signals.values()
    assert np.ptp(speed) > 0.1
    np.testing.assert_allclose(kinetic + potential, kinetic[0] + potential[0], rtol=0, atol=1e-9)


def test_delta_rests_under_the_torques_of_virtual_work(workshop: Workshop) -> None:
    """The slope of the potential energy along each arm, over the gear ratio, holds the robot."""
    p, q = lagrange.DELTA, np.array([0.3, 0.6, 0.9])
    robot = lagrange.delta(p)
    machine = workshop.machine("FMUs.DeltaForward")
    start = {f"q_start[{i}]": a for i, a in zip(ARMS, q, strict=True)}

    def at(tau: F64) -> Signals:
        names = [f"{n}[{i}]" for n in ("qdd", "r") for i in ARMS]
        return machine.simulate(
            np.array([0.0, 1e-6]), columns(tau=np.vstack([tau, tau])), names, start
        )

    x = np.concatenate([q, vector(at(np.zeros(3)), "r")[0]])
    terms = robot.terms(x, np.zeros(6))
    by_arm = np.column_stack([rates(robot, x, e) for e in np.eye(3)])
    tau = terms[1] @ by_arm / p["gearRatio"]  # at rest the bias is the slope of the potential
    assert np.max(np.abs(vector(at(tau), "qdd")[0])) < 1e-9 * np.max(
        np.abs(vector(at(0 * tau), "qdd"))
    )


def test_tripod_with_its_drives_held_oscillates_vertically(workshop: Workshop) -> None:
    """On the axis the rods keep their angle: tool and carriages are one mass on three springs."""
    p = lagrange.TRIPOD | {"toolMass": 2.0, "gearDampingRatio": 0.05}
    changed = {"toolMass": 2.0, "gearDampingRatio": 0.05}
    mass, c = p["toolMass"] + 3.0 * p["carriageMass"], p["gearStiffness"]
    d = lagrange.tripod_springs(p, np.zeros(6), np.eye(6)[0], np.zeros(3), np.zeros(3))[2]
    height = np.sqrt(p["rodLength"] ** 2 - p["railRadius"] ** 2)
    rest, amplitude = -height - mass * p["gravity"] / (3.0 * c), 1e-3
    omega, decay = np.sqrt(3.0 * c / mass), 3.0 * d / (2.0 * mass)
    damped = np.sqrt(omega**2 - decay**2)
    times = np.linspace(0.0, 0.2, 201)
    phase = damped * times
    z = np.exp(-decay * times) * (np.cos(phase) + decay / damped * np.sin(phase)) * amplitude
    signals = workshop.machine("FMUs.TripodInverse").simulate(
        times,
        {},
        ("toolPosition[3]", "driveTorque[1]"),
        changed | {"toolPosition_start[3]": rest + amplitude},
        1e-11,
    )
    np.testing.assert_allclose(signals["toolPosition[3]"], rest + z, rtol=0, atol=1e-9)
    rate = -np.exp(-decay * times) * omega**2 / damped * np.sin(phase) * amplitude
    torque = -(c * (rest + z + height) + d * rate) / p["gearFactor"]
    np.testing.assert_allclose(signals["driveTorque[1]"], torque, rtol=0, atol=1e-7)


def test_tripod_torques_by_lagrange(workshop: Workshop) -> None:
    """With other values than the reference file, at the states that the FMU has reached."""
    changed = {"toolMass": 0.4, "carriageMass": 1.8, "gearStiffness": 2e4, "railRadius": 0.25}
    changed |= {"gearFactor": 60.0, "coulombTorque": 0.2, "gravity": 1.6, "rodLength": 0.45}
    p = lagrange.TRIPOD | changed
    times = np.linspace(0.0, 0.4, 41)
    height = np.sqrt(p["rodLength"] ** 2 - p["railRadius"] ** 2)
    phase = 12.0 * times[:, None] + np.zeros(3)
    size = np.array([0.03, -0.02, 0.01])
    motion = columns(
        q=size * (1 - np.cos(phase)), qd=12 * size * np.sin(phase), qdd=144 * size * np.cos(phase)
    )
    names = ("driveTorque", "carriagePosition", "toolPosition", "toolVelocity")
    outputs = [f"{n}[{i}]" for n in names for i in ARMS] + ["kineticEnergy", "potentialEnergy"]
    signals = workshop.machine("FMUs.TripodInverse").simulate(
        times, motion, outputs, changed | {"toolPosition_start[3]": -height}
    )
    robot = lagrange.tripod(p)
    for k in range(times.size):
        x = np.concatenate([vector(signals, n)[k] for n in ("carriagePosition", "toolPosition")])
        tool = vector(signals, "toolVelocity")[k]
        constraint = robot.terms(x, np.zeros(6))[2]
        carriages = np.linalg.solve(constraint[:, :3], -constraint[:, 3:] @ tool)
        given = [vector(motion, n)[k] for n in ("q", "qd", "qdd")]
        row = lagrange.tripod_row(p, robot, x, np.concatenate([carriages, tool]), *given)
        for name in outputs:
            assert signals[name][k] == pytest.approx(row[name], rel=1e-9, abs=1e-9), name
