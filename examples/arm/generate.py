"""Make the measured data of the six-axis arm.

Each joint follows a Fourier series within its limits, whose coefficients are drawn from a seed;
the FMUs give the torques for the motion, and the motion for other torques. The true arm carries
a tool and has other friction than the defaults of the library.

    python examples/arm/generate.py [--seed 1] [--output FOLDER]

writes ``training.csv`` and ``validation.csv``, and ``forward.csv`` where ArmForward is built.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import fmident
from fmident.fmu import SimulationSetup

F64 = npt.NDArray[np.float64]
HERE = Path(__file__).parent
INVERSE = HERE.parents[1] / "fmus" / "Mechanisms.FMUs.ArmInverse.fmu"
FORWARD = HERE.parents[1] / "fmus" / "Mechanisms.FMUs.ArmForward.fmu"

JOINTS = range(1, 7)
UNITS = {"q": "rad", "qd": "rad/s", "qdd": "rad/s2", "tau": "N.m"}
MOTION = tuple(f"{name}[{j}]" for name in ("q", "qd", "qdd") for j in JOINTS)
ANGLES, TORQUES = MOTION[:6], tuple(f"tau[{j}]" for j in JOINTS)

TOOL_MASS, TOOL_PLACE = 1.0, np.array([0.02, 0.01, 0.12])
"""A point mass in the frame of link 6; kg, m."""

COULOMB = (6.5, 8.9, 5.9, 2.3, 3.2, 2.1)  # N.m
VISCOUS = (8.6, 5.2, 2.2, 1.0, 1.7, 0.7)  # N.m.s/rad

DRIVEN = {
    "my[3]": -0.26,
    "Ia[1]": 0.41,
    "viscousFriction[2]": 6.1,
    "coulombTorque[3]": 5.6,
    "coupling[6,5]": 0.95,
}
"""How the arm in forward.csv differs from the defaults of the library."""

ANGLE_LIMIT = np.array([2.0, 1.6, 1.8, 2.5, 1.9, 3.0])  # rad
SPEED_LIMIT = np.array([3.0, 3.0, 4.0, 6.0, 6.0, 8.0])  # rad/s
SIGMA_TORQUE = np.array([0.5, 0.5, 0.3, 0.1, 0.1, 0.1])  # N.m
SIGMA_ANGLE = 1e-3  # rad
PERIOD, HARMONICS, RATE = 10.0, 5, 100.0  # s, 1, Hz


def truth(fmu: Path = INVERSE) -> dict[str, float]:
    """Return all parameters of the true arm that may be identified."""
    with fmident.open_fmu(fmu) as opened:
        starts = {v.name: v.start for v in opened.description.variables}
    names = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "mx", "my", "mz", "m", "Ia", "offsetTorque")
    values = {f"{n}[{j}]": float(starts[f"{n}[{j}]"] or 0.0) for j in JOINTS for n in names}
    tensor = TOOL_PLACE @ TOOL_PLACE * np.eye(3) - np.outer(TOOL_PLACE, TOOL_PLACE)
    ten = TOOL_MASS * np.array([*tensor[np.triu_indices(3)], *TOOL_PLACE, 1.0])
    for name, more in zip(names, ten, strict=False):
        values[f"{name}[6]"] += float(more)
    for j, coulomb, viscous in zip(JOINTS, COULOMB, VISCOUS, strict=True):
        values |= {f"coulombTorque[{j}]": coulomb, f"viscousFriction[{j}]": viscous}
    return values


def motion(times: F64, seed: int) -> F64:
    """Return angles, speeds and accelerations of all joints, shape (n, 18)."""
    generator = np.random.default_rng(seed)
    frequency = 2 * np.pi / PERIOD * np.arange(1, HARMONICS + 1)
    phase = np.outer(times, frequency)
    joints = []
    for angle_limit, speed_limit in zip(ANGLE_LIMIT, SPEED_LIMIT, strict=True):
        a, b = generator.normal(size=(2, HARMONICS)) / frequency
        orders = []
        for order in range(3):
            shifted = phase + order * np.pi / 2
            orders.append((np.sin(shifted) * a + np.cos(shifted) * b) @ frequency**order)
        largest = np.abs(orders).max(axis=1)
        joint = np.array(orders) * min(0.7 * angle_limit / largest[0], speed_limit / largest[1])
        joint[0] += generator.uniform(-0.3, 0.3) * angle_limit
        joints.append(joint)
    return np.array(joints).transpose(2, 1, 0).reshape(times.size, 18)


def simulated(fmu: Path, setup: SimulationSetup, parameters: dict[str, float]) -> F64:
    """Return the outputs, shape (n, outputs)."""
    with fmident.open_fmu(fmu) as opened, opened.simulator() as simulator:
        return simulator.simulate(setup, parameters)


def table(times: F64, names: Sequence[str], values: F64) -> pd.DataFrame:
    """Return columns with units in their headers."""
    heads = [f"{name} [{UNITS[name.split('[')[0]]}]" for name in names]
    return pd.DataFrame(np.column_stack([times, values]), columns=["time [s]", *heads])


def measured(seed: int, fmu: Path = INVERSE) -> pd.DataFrame:
    """Return one period of a motion and its torques, without noise."""
    times = np.arange(round(PERIOD * RATE)) / RATE
    moved = motion(times, seed)
    torques = simulated(fmu, SimulationSetup(times, MOTION, moved, TORQUES), truth(fmu))
    return table(times, (*MOTION, *TORQUES), np.hstack([moved, torques]))


def with_noise(
    data: pd.DataFrame, generator: np.random.Generator, size: float = 1.0
) -> pd.DataFrame:
    """Return the measurement with white noise on the torques, `size` times as large."""
    noisy = data.copy()
    noisy.iloc[:, -6:] += size * SIGMA_TORQUE * generator.normal(size=(len(data), 6))
    return noisy


def driven(generator: np.random.Generator, fmu: Path = FORWARD) -> pd.DataFrame:
    """Return torques, one sine for each axis, and the angles with noise."""
    times = np.arange(201) / RATE
    phase = np.outer(times, 3.0 + np.arange(6)) + np.arange(6)
    torques = np.sin(phase) * [30.0, 40.0, 20.0, 6.0, 6.0, 5.0]
    angles = simulated(fmu, SimulationSetup(times, TORQUES, torques, ANGLES), DRIVEN)
    angles += SIGMA_ANGLE * generator.normal(size=angles.shape)
    return table(times, (*TORQUES, *ANGLES), np.hstack([torques, angles]))


def main() -> None:
    """Write the CSV files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=HERE / "data", metavar="FOLDER")
    args = parser.parse_args()
    if not INVERSE.exists():
        parser.error(f"no FMU at {INVERSE}: run 'fmident build {INVERSE.stem}'")
    args.output.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(args.seed)
    rows = {
        "training": with_noise(measured(args.seed), generator),
        "validation": with_noise(measured(args.seed + 1000), generator),
    }
    if FORWARD.exists():
        rows["forward"] = driven(generator)
    else:
        print(f"no forward.csv, which needs {FORWARD}: run 'fmident build {FORWARD.stem}'")
    for name, data in rows.items():
        path = args.output / f"{name}.csv"
        data.to_csv(path, index=False, float_format="%.12g")
        print(f"{path}: {len(data)} samples, seed {args.seed}")


if __name__ == "__main__":
    main()
