"""The arm against Lagrange's equations of point masses, limiting cases, and its own inverse.

A link is a set of point masses here: its inertia tensor, first moments and mass are sums over
them, and CasADi differentiates their energies. No recursion is shared with the library.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from machines import Machine, Workshop
from motions import Fourier, at_centres, rate_at_centres, stencil_times
from numpy.typing import NDArray

F64 = NDArray[np.float64]
N = 6
POWERS = ("kineticEnergy", "potentialEnergy", "inputPower", "dissipatedPower")
TORQUES = tuple(f"tau[{j}]" for j in range(1, N + 1))
INERTIAL = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "mx", "my", "mz", "m")
TX40 = {
    "alpha": np.array([0, -1, 0, 1, -1, 1]) * np.pi / 2,
    "d": np.array([0, 0, 0.225, 0, 0, 0]),
    "r": np.array([0, 0, 0.035, 0.225, 0, 0]),
    "jointOffset": np.array([0, -1, 1, 0, 0, 0]) * np.pi / 2,
}


def vector(name: str, values: F64) -> dict[str, float]:
    return {f"{name}[{j}]": float(value) for j, value in enumerate(values, start=1)}


def motions(seed: int, size: float = 0.5) -> list[Fourier]:
    random = np.random.default_rng(seed)
    return [
        Fourier(1.3, size * offset, tuple(size * sine), tuple(size * cosine))
        for offset, sine, cosine in zip(
            random.uniform(-1, 1, N),
            *random.normal(size=(2, N, 3)),
            strict=True,
        )
    ]


def inputs(motion: list[Fourier], times: F64) -> dict[str, F64]:
    return {
        f"{name}[{j}]": one(times, order)
        for j, one in enumerate(motion, start=1)
        for order, name in enumerate(("q", "qd", "qdd"))
    }


def without(*names: str) -> dict[str, float]:
    return {k: v for name in names for k, v in vector(name, np.zeros(N)).items()}


FRICTION = ("coulombTorque", "viscousFriction", "offsetTorque")


def inertial(points: F64, masses: F64) -> F64:
    """The ten parameters of point masses, in the order of INERTIAL."""
    tensor = np.einsum("k,kij->ij", masses, (points**2).sum(1)[:, None, None] * np.eye(3))
    tensor -= np.einsum("k,ki,kj->ij", masses, points, points)
    return np.array([*tensor[np.triu_indices(3)], *(masses @ points), masses.sum()])


def lagrange(
    geometry: dict[str, F64],
    links: list[tuple[F64, F64]],
    rotors: F64,
    coupling: F64,
    gravity: F64,
) -> ca.Function:
    """Torques of the axes and both energies as a function of q, qd and qdd."""
    q, qd, qdd = (ca.SX.sym(name, N) for name in ("q", "qd", "qdd"))
    frame = ca.SX.eye(4)
    kinetic, potential = ca.SX(0), ca.SX(0)
    for j, (points, masses) in enumerate(links):
        a, angle = geometry["alpha"][j], q[j] + geometry["jointOffset"][j]
        about_x = ca.blockcat([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
        about_z = ca.blockcat(
            [[ca.cos(angle), -ca.sin(angle), 0], [ca.sin(angle), ca.cos(angle), 0], [0, 0, 1]]
        )
        first = ca.diagcat(about_x, 1)
        first[0, 3] = geometry["d"][j]
        second = ca.diagcat(about_z, 1)
        second[2, 3] = geometry["r"][j]
        frame = frame @ first @ second
        for point, mass in zip(points, masses, strict=True):
            place = (frame @ ca.DM([*point, 1.0]))[:3]
            kinetic += 0.5 * mass * ca.sumsqr(ca.jtimes(place, q, qd))
            potential -= mass * ca.dot(ca.DM(gravity), place)
    axes = np.eye(N) + np.tril(coupling, -1)
    kinetic += 0.5 * ca.dot(ca.DM(rotors), (ca.DM(axes) @ qd) ** 2)
    momentum = ca.gradient(kinetic, qd)
    rate = ca.jtimes(momentum, q, qd) + ca.jtimes(momentum, qd, qdd)
    joints = rate - ca.gradient(kinetic - potential, q)
    torques = ca.solve(ca.DM(axes).T, joints)
    return ca.Function("lagrange", [q, qd, qdd], [torques, kinetic, potential])


@pytest.fixture(scope="module")
def inverse(workshop: Workshop) -> Machine:
    return workshop.machine("FMUs.ArmInverse")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_torques_and_energies_are_those_of_point_masses(inverse: Machine, seed: int) -> None:
    """Seed 1 has the geometry of the library, the others any."""
    random = np.random.default_rng(seed)
    geometry = TX40 if seed == 1 else {name: random.normal(size=N) for name in TX40}
    links = [(random.normal(size=(5, 3)), random.uniform(0.1, 1.0, 5)) for _ in range(N)]
    rotors, coupling = random.uniform(0.1, 1.0, N), random.normal(size=(N, N))
    gravity = random.normal(size=3) * 5.0
    parameters = without(*FRICTION) | vector("Ia", rotors) | vector("gravity", gravity)
    for name, values in geometry.items():
        parameters |= vector(name, values)
    for name, values in zip(INERTIAL, np.array([inertial(*one) for one in links]).T, strict=True):
        parameters |= vector(name, values)
    for i, row in enumerate(coupling, start=1):
        parameters |= {f"coupling[{i},{j}]": value for j, value in enumerate(row, start=1)}
    times, motion = np.linspace(0.0, 4.0, 41), motions(seed)
    signals = inverse.simulate(times, inputs(motion, times), (*TORQUES, *POWERS[:2]), parameters)
    function = lagrange(geometry, links, rotors, coupling, gravity)
    at = [np.array([one(times, order) for one in motion]) for order in range(3)]
    torques, kinetic, potential = (np.array(values) for values in function(*at))
    actual = np.array([signals[name] for name in TORQUES])
    assert np.max(np.abs(actual - torques)) < 1e-12 * np.max(np.abs(torques))
    assert np.max(np.abs(signals["kineticEnergy"] - kinetic)) < 1e-13 * np.max(kinetic)
    error = np.abs(signals["potentialEnergy"] - potential)
    assert np.max(error) < 1e-13 * np.max(np.abs(potential))


def test_friction_of_the_axes(inverse: Machine) -> None:
    """Axis 6 turns with joint 5 too; nothing else acts, as the links and rotors have no mass."""
    times, motion = np.linspace(0.0, 4.0, 201), motions(4)
    signals = inverse.simulate(times, inputs(motion, times), TORQUES, without(*INERTIAL, "Ia"))
    speeds = np.array([one(times, 1) for one in motion])
    speeds[5] += speeds[4]
    coulomb, viscous, offset = (
        np.array(values)[:, None]
        for values in (
            [7.14, 8.26, 6.34, 2.48, 3.03, 1.95],
            [8.05, 5.53, 1.97, 1.11, 1.86, 0.65],
            [0.392, 1.37, 0.326, -0.102, -0.0288, 0.127],
        )
    )
    expected = coulomb * np.tanh(speeds / 0.01) + viscous * speeds + offset
    actual = np.array([signals[name] for name in TORQUES])
    assert np.max(np.abs(actual - expected)) < 1e-13 * np.max(np.abs(expected))


def test_one_link_is_a_pendulum(inverse: Machine) -> None:
    """Joint 2 alone, with its axis horizontal: Izz*q'' less the torque of the weight."""
    times = np.linspace(0.0, 3.0, 31)
    still = Fourier(1.0, 0.0, (), ())
    motion = [still, motions(5)[1], still, still, still, still]
    nothing = without(*INERTIAL, "Ia", *FRICTION)
    own = {"Izz[2]": 0.4, "mx[2]": 0.7, "my[2]": -0.2, "m[2]": 5.0, "Ia[2]": 0.1}
    signals = inverse.simulate(times, inputs(motion, times), TORQUES, nothing | own)
    q, qdd = motion[1](times), motion[1](times, 2)
    # Frame 2 lies in a vertical plane: its x axis is up at q = 0 and falls forward
    weight = -9.81 * (0.7 * np.sin(q) - 0.2 * np.cos(q))
    expected = 0.5 * qdd + weight
    assert np.max(np.abs(signals["tau[2]"] - expected)) < 1e-13 * np.max(np.abs(expected))
    assert np.max(np.abs(signals["tau[6]"])) == 0.0


def test_at_rest_only_gravity_acts(inverse: Machine) -> None:
    """The torques are the slopes of the potential energy, by central differences."""
    step = 1e-4
    pose = np.array([0.3, -0.4, 0.9, 0.5, -0.7, 1.1])
    poses = pose + np.vstack([np.zeros(N), step * np.eye(N), -step * np.eye(N)])
    times = np.arange(2.0 * N + 1)
    held = {f"q[{j}]": poses[:, j - 1] for j in range(1, N + 1)}
    nothing = without(*FRICTION) | {"coupling[6,5]": 0.0}
    signals = inverse.simulate(times, held, (*TORQUES, *POWERS), nothing)
    potential = signals["potentialEnergy"]
    slopes = (potential[1 : N + 1] - potential[N + 1 :]) / (2.0 * step)
    torques = np.array([signals[name][0] for name in TORQUES])
    assert np.max(np.abs(torques)) > 3.0
    assert np.max(np.abs(torques - slopes)) < 1e-6
    assert np.max(np.abs(signals["kineticEnergy"])) == 0.0
    assert np.max(np.abs(signals["inputPower"])) == 0.0


def test_input_power_is_rate_of_energy_and_dissipation(inverse: Machine) -> None:
    step = 1e-3
    times = stencil_times(np.linspace(0.01, 4.01, 401), step)
    signals = inverse.simulate(times, inputs(motions(6), times), POWERS)
    energy = signals["kineticEnergy"] + signals["potentialEnergy"]
    power, loss = at_centres(signals["inputPower"]), at_centres(signals["dissipatedPower"])
    error = power - rate_at_centres(energy, step) - loss
    assert np.ptp(loss) > 0.01 * np.ptp(power)
    assert np.max(np.abs(error)) < 1e-6 * np.max(np.abs(power))


@pytest.mark.slow
@pytest.mark.parametrize("massless", [False, True])
def test_inverse_of_forward(workshop: Workshop, inverse: Machine, massless: bool) -> None:
    """Without mass in the wrist the inertias of its drives remain."""
    parameters = {"coupling[5,4]": 0.3, "coupling[6,4]": -0.2}
    if massless:
        parameters |= {f"{name}[{j}]": 0.0 for name in INERTIAL for j in (4, 5, 6)}
    times = np.linspace(0.0, 2.0, 1001)
    sizes = (30.0, 40.0, 20.0, 6.0, 6.0, 4.0)
    tau = {
        name: size * np.sin((2.0 + j) * times + j)
        for j, (name, size) in enumerate(zip(TORQUES, sizes, strict=True))
    }
    motion = [f"{name}[{j}]" for name in ("q", "qd", "qdd") for j in range(1, N + 1)]
    forward = workshop.machine("FMUs.ArmForward").simulate(
        times, tau, (*motion, *POWERS), parameters
    )
    assert all(np.ptp(forward[f"q[{j}]"]) > 0.2 for j in range(1, N + 1))
    energies = [forward.pop(name) for name in POWERS]
    again = inverse.simulate(times, forward, (*TORQUES, *POWERS), parameters)
    for name, given in tau.items():
        assert np.max(np.abs(again[name] - given)) < 1e-6 * np.max(np.abs(given))
    for name, values in zip(POWERS, energies, strict=True):
        assert np.max(np.abs(again[name] - values)) < 1e-9 * np.max(np.abs(values))


@pytest.mark.slow
def test_two_links_on_elastic_shafts_of_the_standard_library(workshop: Workshop) -> None:
    machine = workshop.machine("MechanismsTest.ArmOnElasticShafts")
    times = np.arange(0.0, 2.00005, 1e-4)
    tau = {"tau[1]": 12.0 * np.sin(4.0 * times), "tau[2]": 3.0 * np.sin(7.0 * times)}
    signals = machine.simulate(times, tau, ("q[1]", "energy", "power", "loss"), tolerance=1e-10)
    change = np.diff(signals["energy"][::200])
    net = signals["power"] - signals["loss"]
    windows = net[:-1].reshape(-1, 200)
    ends = net[::200]
    work = 1e-4 * (windows.sum(axis=1) + 0.5 * (ends[1:] - ends[:-1]))
    assert np.ptp(signals["q[1]"]) > 0.2
    assert np.max(np.abs(change - work)) < 1e-4 * np.max(np.abs(change))
