"""Robots by Lagrange's equations in redundant coordinates, and the reference files made with them.

Nothing is shared with the Modelica library: bodies are given by the positions of their points,
loops by the lengths of their rods, everything else is differentiated by CasADi. The coordinates
hold the platform as well as the arms, and multipliers keep the rods' lengths.

    python tests/modelica/support/lagrange.py      # writes delta_forward.csv, tripod_inverse.csv
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import root

F64 = NDArray[np.float64]
Values = dict[str, float]
REFERENCES = Path(__file__).parents[3] / "fmus" / "reference"
DIRECTIONS = [np.array([np.cos(a), np.sin(a), 0.0]) for a in np.arange(3) * 2.0 * np.pi / 3.0]
UP = np.array([0.0, 0.0, 1.0])

DELTA: Values = {
    "lowerArmMass": 0.08,
    "upperArmMass": 1.74,
    "platformMass": 1.1,
    "motorInertia": 1.55e-4,
    "gearEfficiency": 0.907,
    "coulombTorque": 0.105,
    "viscousFriction": 0.00128,
    "baseRadius": 0.2,
    "platformRadius": 0.05,
    "upperArmLength": 0.2,
    "lowerArmLength": 0.5,
    "gearRatio": 25.0,
    "gravity": 9.81,
    "speedWidth": 1.0,
    "gearPowerWidth": 1.0,
}
TRIPOD: Values = {
    "toolMass": 1.5,
    "gearStiffness": 5e4,
    "gearDampingRatio": 0.1,
    "coulombTorque": 0.05,
    "viscousFriction": 2e-4,
    "carriageMass": 1.0,
    "driveInertia": 80e-6,
    "gearFactor": 100.0,
    "railRadius": 0.3,
    "rodLength": 0.5,
    "gravity": 9.81,
    "speedWidth": 0.5,
}


@dataclass(frozen=True)
class Mechanism:
    """``mass @ a + bias = forces + constraint.T @ multipliers``, ``constraint @ a = curvature``.

    `terms` maps coordinates and their rates to these four and to kinetic and potential energy.
    """

    terms: Callable[[F64, F64], Sequence[F64]]

    def accelerations(self, x: F64, v: F64, forces: F64) -> F64:
        """Accelerations under generalized forces on the first coordinates; columns are cases."""
        mass, bias, constraint, curvature = self.terms(x, v)[:4]
        n, m = len(bias), len(curvature)
        known = np.zeros((n + m, *forces.shape[1:]))
        known[: len(forces)] = forces
        known = (known.T + np.concatenate([-bias, curvature])).T
        system = np.block([[mass, -constraint.T], [constraint, np.zeros((m, m))]])
        solution: F64 = np.linalg.solve(system, known)
        return solution[:n]

    def energies(self, x: F64, v: F64) -> tuple[float, float]:
        """Kinetic and potential energy."""
        kinetic, potential = self.terms(x, v)[4:]
        return float(kinetic[0]), float(potential[0])


def mechanism(x: ca.SX, v: ca.SX, kinetic: ca.SX, potential: ca.SX, rods: ca.SX) -> Mechanism:
    """Lagrange's equations of the second kind, differentiated from energies and rod lengths."""
    momentum = ca.gradient(kinetic, v)
    mass = ca.jacobian(momentum, v)
    bias = ca.jtimes(momentum, x, v) - ca.gradient(kinetic - potential, x)
    constraint = ca.jacobian(rods, x)
    curvature = -ca.jtimes(constraint @ v, x, v)
    function = ca.Function("terms", [x, v], [mass, bias, constraint, curvature, kinetic, potential])

    def terms(x_now: F64, v_now: F64) -> list[F64]:
        found = [np.asarray(m, dtype=float) for m in function(x_now, v_now)]
        return [m.ravel() if m.shape[1] == 1 else m for m in found]

    return Mechanism(terms)


def rod_energy(mass: float, ends: Sequence[ca.SX], x: ca.SX, v: ca.SX, g: float) -> ca.SX:
    """Kinetic and potential energy of a uniform rod, by Gauss's formula along it."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    energy = ca.SX.zeros(2)
    for node, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        point = (1.0 - node) * ends[0] + node * ends[1]
        speed = ca.jtimes(point, x, v)
        energy += weight * mass * ca.vertcat(0.5 * ca.dot(speed, speed), g * point[2])
    return energy


def delta(p: Values) -> Mechanism:
    """Arms and platform of the delta robot; coordinates: angles of the arms, then the platform."""
    x, v = ca.SX.sym("x", 6), ca.SX.sym("v", 6)
    energy = p["platformMass"] * ca.vertcat(0.5 * ca.sumsqr(v[3:]), p["gravity"] * x[5])
    rods = []
    for i, e in enumerate(DIRECTIONS):
        shoulder = ca.SX(p["baseRadius"] * e)
        elbow = shoulder + p["upperArmLength"] * (ca.cos(x[i]) * e - ca.sin(x[i]) * UP)
        joint = x[3:] + p["platformRadius"] * e
        energy += rod_energy(p["upperArmMass"], (shoulder, elbow), x, v, p["gravity"])
        energy += rod_energy(p["lowerArmMass"], (elbow, joint), x, v, p["gravity"])
        rods.append(ca.sumsqr(joint - elbow) - p["lowerArmLength"] ** 2)
    return mechanism(x, v, energy[0], energy[1], ca.vertcat(*rods))


def delta_torques(p: Values, load: F64, qd: F64, qdd: F64) -> F64:
    """Motor torques of drives that pass `load` to the arms."""
    w = p["gearRatio"] * qd
    gear = load / p["gearRatio"] * p["gearEfficiency"] ** -np.tanh(load * qd / p["gearPowerWidth"])
    friction = p["coulombTorque"] * np.tanh(w / p["speedWidth"]) + p["viscousFriction"] * w
    return np.asarray(p["motorInertia"] * p["gearRatio"] * qdd + friction + gear)


def delta_loads(p: Values, robot: Mechanism, x: F64, v: F64, tau: F64, start: F64) -> F64:
    """Torques that the gears pass to the arms under motor torques."""
    free, *unit = robot.accelerations(x, v, np.eye(3, 4, 1)).T[:, :3]
    slope = np.column_stack(unit) - free[:, None]

    def rest(load: F64) -> F64:
        return delta_torques(p, load, v[:3], free + slope @ load) - tau

    load: F64 = root(rest, start, tol=1e-14).x
    assert np.max(np.abs(rest(load))) < 1e-12
    return load


def tripod(p: Values) -> Mechanism:
    """Carriages and tool of the tripod; coordinates: heights of three carriages, then the tool."""
    x, v = ca.SX.sym("x", 6), ca.SX.sym("v", 6)
    masses = ca.vertcat(ca.repmat(ca.SX(p["carriageMass"]), 3, 1), *[p["toolMass"]] * 3)
    heights = ca.sum1(p["carriageMass"] * x[:3]) + p["toolMass"] * x[5]
    feet = [ca.vertcat(*(p["railRadius"] * e[:2]), x[i]) for i, e in enumerate(DIRECTIONS)]
    rods = [ca.sumsqr(x[3:] - foot) - p["rodLength"] ** 2 for foot in feet]
    kinetic = 0.5 * ca.dot(masses, v**2)
    return mechanism(x, v, kinetic, p["gravity"] * heights, ca.vertcat(*rods))


def tripod_springs(p: Values, x: F64, v: F64, q: F64, qd: F64) -> tuple[F64, float, float]:
    """Forces of springs and dampers on the carriages; stored energy and lost power."""
    drive, carriage = p["driveInertia"] * p["gearFactor"] ** 2, p["carriageMass"]
    c = p["gearStiffness"]
    d = 2.0 * p["gearDampingRatio"] * np.sqrt(c * drive * carriage / (drive + carriage))
    stretch, rate = x[:3] - q, v[:3] - qd
    return -c * stretch - d * rate, 0.5 * c * stretch @ stretch, d * rate @ rate


def integrated(
    rate: Callable[[F64, F64, F64], F64], start: tuple[F64, F64], times: F64, inputs: F64
) -> list[tuple[F64, F64]]:
    """Coordinates and rates at `times`, with accelerations ``rate(x, v, u)``, u linear between."""
    n = len(start[0])
    states = [np.concatenate(start)]
    for (t0, t1), (u0, u1) in zip(pairwise(times), pairwise(inputs), strict=True):

        def slope(t: float, y: F64, t0=t0, t1=t1, u0=u0, u1=u1) -> F64:  # type: ignore[no-untyped-def]
            u = u0 + (t - t0) / (t1 - t0) * (u1 - u0)
            return np.concatenate([y[n:], rate(y[:n], y[n:], u)])

        solution = solve_ivp(slope, (t0, t1), states[-1], "DOP853", rtol=1e-12, atol=1e-14)
        assert solution.success, solution.message
        states.append(solution.y[:, -1])
    return [(state[:n], state[n:]) for state in states]


def vectors(**signals: F64) -> dict[str, float]:
    """Elements by name: ``q[1]``, ..."""
    return {f"{name}[{i}]": s for name, values in signals.items() for i, s in enumerate(values, 1)}


def delta_row(p: Values, robot: Mechanism, x: F64, v: F64, tau: F64) -> dict[str, float]:
    """Signals of the delta robot at one instant."""
    load = delta_loads(p, robot, x, v, tau, np.zeros(3))
    a = robot.accelerations(x, v, load)
    w, drive = p["gearRatio"] * v[:3], p["motorInertia"] * p["gearRatio"]
    kinetic, potential = robot.energies(x, v)
    return vectors(tau=tau, q=x[:3], qd=v[:3], qdd=a[:3], r=x[3:]) | {
        "kineticEnergy": kinetic + 0.5 * p["motorInertia"] * w @ w,
        "potentialEnergy": potential,
        "inputPower": tau @ w,
        "dissipatedPower": (tau - drive * a[:3]) @ w - load @ v[:3],
    }


def delta_forward() -> tuple[F64, list[dict[str, float]]]:
    """Times and signals of the delta robot under sines of torque, from rest."""
    times = np.arange(501) * 4e-3
    sines = [0.25 * np.sin(7 * times + k) + 0.15 * np.sin(13 * times + 2 * k) for k in range(3)]
    tau = np.column_stack(sines) - 0.14
    p, robot, load = DELTA, delta(DELTA), np.zeros(3)
    arm = p["baseRadius"] - p["platformRadius"] + p["upperArmLength"] * np.cos(0.6)
    height = p["upperArmLength"] * np.sin(0.6) + np.sqrt(p["lowerArmLength"] ** 2 - arm**2)

    def rate(x: F64, v: F64, u: F64) -> F64:
        nonlocal load
        load = delta_loads(p, robot, x, v, u, load)
        return robot.accelerations(x, v, load)

    start = np.array([0.6, 0.6, 0.6, 0.0, 0.0, -height]), np.zeros(6)
    states = integrated(rate, start, times, tau)
    return times, [delta_row(p, robot, *state, u) for state, u in zip(states, tau, strict=True)]


def tripod_row(
    p: Values, robot: Mechanism, x: F64, v: F64, q: F64, qd: F64, qdd: F64
) -> dict[str, float]:
    """Signals of the tripod at one instant."""
    force, stored, lost = tripod_springs(p, x, v, q, qd)
    w = p["gearFactor"] * qd
    friction = p["coulombTorque"] * np.tanh(w / p["speedWidth"]) + p["viscousFriction"] * w
    torque = p["driveInertia"] * p["gearFactor"] * qdd + friction + force / p["gearFactor"]
    kinetic, potential = robot.energies(x, v)
    signals = vectors(q=q, qd=qd, qdd=qdd, driveTorque=torque, carriagePosition=x[:3])
    return (
        signals
        | vectors(toolPosition=x[3:], toolVelocity=v[3:])
        | {
            "kineticEnergy": kinetic + 0.5 * p["driveInertia"] * w @ w,
            "potentialEnergy": potential + stored,
            "inputPower": torque @ w,
            "dissipatedPower": friction @ w + lost,
        }
    )


def tripod_inverse() -> tuple[F64, list[dict[str, float]]]:
    """Times and signals of the tripod while its drives follow sines, from rest in equilibrium."""
    times = np.arange(501) * 2e-3
    p, robot = TRIPOD, tripod(TRIPOD)
    phase = 2 * np.pi * times
    q, qd, qdd = (np.zeros((times.size, 3)) for _ in range(3))
    for i, (once, twice) in enumerate(((0.03, -0.01), (-0.02, 0.03), (0.04, -0.02))):
        for k, a in ((1, once), (2, twice), (5, 0.002)):
            w = 2 * np.pi * k
            q[:, i] += a * (1 - np.cos(k * phase))
            qd[:, i] += a * w * np.sin(k * phase)
            qdd[:, i] += a * w**2 * np.cos(k * phase)
    # Each spring carries its carriage and a third of the tool.
    sag = p["gravity"] * (p["carriageMass"] + p["toolMass"] / 3) / p["gearStiffness"]
    height = np.sqrt(p["rodLength"] ** 2 - p["railRadius"] ** 2)
    start = np.array([-sag, -sag, -sag, 0.0, 0.0, -sag - height]), np.zeros(6)

    def rate(x: F64, v: F64, u: F64) -> F64:
        force = tripod_springs(p, x, v, u[:3], u[3:6])[0]
        return robot.accelerations(x, v, force)

    motion = np.hstack([q, qd, qdd])
    states = integrated(rate, start, times, motion)
    return times, [
        tripod_row(p, robot, *state, u[:3], u[3:6], u[6:])
        for state, u in zip(states, motion, strict=True)
    ]


UNITS = {"tau": "N.m", "qd": "rad/s", "qdd": "rad/s2", "q": "rad", "r": "m", "driveTorque": "N.m"}
UNITS |= {"carriagePosition": "m", "toolPosition": "m", "toolVelocity": "m/s"}
UNITS |= {"kineticEnergy": "J", "potentialEnergy": "J", "inputPower": "W", "dissipatedPower": "W"}
RAILS = {"q": "m", "qd": "m/s", "qdd": "m/s2"}
SOLVER = "DOP853 of SciPy, relative tolerance 1e-12, started anew at every row"
DELTA_INPUT = (
    "tau_k = -0.14 + 0.25*sin(7*t + k) + 0.15*sin(13*t + 2*k), k = 0, 1, 2, at the rows, "
    "LINEAR between; start at rest with all arms at 0.6 rad"
)
TRIPOD_INPUT = (
    "q_i = sum of a_ik*(1 - cos(2*pi*k*t)) over k = 1, 2, 5 with a = ((0.03, -0.01, 0.002), "
    "(-0.02, 0.03, 0.002), (0.04, -0.02, 0.002)), and its derivatives, at the rows, "
    "LINEAR between; start at rest with the springs loaded by the weight"
)


def main() -> None:
    """Write the reference files."""
    for name, model, simulated, parameters, given, units in (
        ("delta_forward", "DeltaForward", delta_forward, DELTA, DELTA_INPUT, UNITS),
        ("tripod_inverse", "TripodInverse", tripod_inverse, TRIPOD, TRIPOD_INPUT, UNITS | RAILS),
    ):
        times, rows = simulated()
        names = [f"{key} [{units[key.partition('[')[0]]}]" for key in rows[0]]
        lines = [
            "# Lagrange's equations in redundant coordinates, tests/modelica/support/lagrange.py",
            f"# model: Mechanisms.FMUs.{model}",
            f"# date: {date.today()}",
            f"# simulation: {SOLVER}",
            f"# input: {given}",
            "# parameters: " + " ".join(f"{key}={value}" for key, value in parameters.items()),
            "# columns: name [unit]; every row has inputs and outputs of the same instant",
            "# kept here: every row, 10 significant digits",
            ",".join(["time [s]", *names]),
        ]
        for time, row in zip(times, rows, strict=True):
            lines.append(",".join(f"{value:.10g}" for value in (time, *row.values())))
        (REFERENCES / f"{name}.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
