"""Make the measured cycle of the delta robot study.

A pick-and-place cycle at four speeds, 62.278 s, 6250 samples, three axes: the
positions, speeds and accelerations of the arms by inverse kinematics, and the motor
torques that the FMU gives for the true parameters (the "estimated" column of Table 1 of
the FMI paper), with white noise on them.

    python examples/delta/generate.py [--seed 2] [--sigma 0.01] [--output FILE]

With --tour it writes handling.csv, the data of the tour of 'fmident app': every fourth sample
of the fastest quarter, of a robot with a new gripper and more friction than the model has.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import fmident
from fmident.fmu import SimulationSetup

F64 = npt.NDArray[np.float64]
HERE = Path(__file__).parent
FMU = HERE.parents[1] / "fmus" / "Mechanisms.FMUs.DeltaInverse.fmu"

TRUTH = {
    "lowerArmMass": 0.08,
    "upperArmMass": 1.74,
    "platformMass": 1.1,
    "motorInertia": 1.55e-4,
    "gearEfficiency": 0.907,
    "coulombTorque": 0.105,
    "viscousFriction": 0.00128,
}
"""Table 1 of the FMI paper, estimated values: kg, kg, kg, kg.m2, 1, N.m, N.m.s/rad."""

HANDLING = {"platformMass": 1.35, "coulombTorque": 0.13, "viscousFriction": 0.0018}
"""What differs from the model on the robot of the tour: kg, N.m, N.m.s/rad."""

SIGMA = 0.01
"""Standard deviation of the torque noise, N.m."""

DURATION, SAMPLES = 62.278, 6250
CYCLES = (4, 8, 13, 18)  # in four equal parts of the duration
PICKS = np.array([[-0.15, -0.05, -0.52], [-0.12, 0.08, -0.52]])
PLACES = np.array([[0.16, 0.0, -0.52], [0.08, 0.13, -0.52], [0.10, -0.12, -0.52]])
LIFT = 0.08  # m
MOVING = 0.85  # share of a half cycle; the rest is dwell

GEAR_RATIO = 25
BASE, PLATFORM, UPPER, LOWER = 0.2, 0.05, 0.2, 0.5  # m, defaults of the Modelica class


def tool_path(times: F64) -> tuple[F64, F64, F64]:
    """Return position, velocity and acceleration of the platform, each (n, 3)."""
    starts, lengths, origins, targets = [], [], [], []
    for part, cycles in enumerate(CYCLES):
        half = DURATION / len(CYCLES) / cycles / 2
        for k in range(cycles):
            pick, place = PICKS[k % 2], PLACES[k % 3]
            following = PICKS[(k + 1) % 2] if k < cycles - 1 else PICKS[0]
            begin = part * DURATION / len(CYCLES) + 2 * k * half
            starts += [begin, begin + half]
            lengths += [half * MOVING] * 2
            origins += [pick, place]
            targets += [place, following]
    segment = np.searchsorted(np.array(starts), times + 1e-12, side="right") - 1
    length = np.array(lengths)[segment][:, None]
    origin, target = np.array(origins)[segment], np.array(targets)[segment]
    s = np.minimum((times - np.array(starts)[segment])[:, None] / length, 1.0)
    along = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])
    up = 64 * np.polynomial.Polynomial([0, 0, 0, 1, -3, 3, -1])
    lift = np.array([0.0, 0.0, LIFT])
    position, velocity, acceleration = (
        (target - origin) * along.deriv(k)(s) / length**k + lift * up.deriv(k)(s) / length**k
        if k
        else origin + (target - origin) * along(s) + lift * up(s)
        for k in range(3)
    )
    return position, velocity, acceleration


def inverse_kinematics(position: F64, velocity: F64, acceleration: F64) -> tuple[F64, F64, F64]:
    """Return angle, speed and acceleration of the three arms, each (n, 3)."""
    columns = []
    for angle in np.arange(3) * 2 * np.pi / 3:
        radial = np.array([np.cos(angle), np.sin(angle), 0.0])
        lateral = np.array([-np.sin(angle), np.cos(angle), 0.0])
        vertical = np.array([0.0, 0.0, 1.0])
        # In the arm's plane the elbow stands UPPER from the shoulder and LOWER from the joint.
        x = position @ radial + PLATFORM - BASE
        y, z = position @ lateral, position @ vertical
        reach = (x**2 + y**2 + z**2 + UPPER**2 - LOWER**2) / (2 * UPPER)
        q = np.arctan2(-z, x) - np.arccos(reach / np.hypot(x, z))
        c, s = np.cos(q)[:, None], np.sin(q)[:, None]
        elbow = (BASE + UPPER * c) * radial - UPPER * s * vertical
        elbow_q = -UPPER * (s * radial + c * vertical)
        elbow_qq = -UPPER * (c * radial - s * vertical)
        rod = position + PLATFORM * radial - elbow
        along = np.sum(rod * elbow_q, axis=1)
        qd = np.sum(rod * velocity, axis=1) / along
        rod_rate = velocity - elbow_q * qd[:, None]
        qdd = (
            np.sum(rod * (acceleration - elbow_qq * (qd**2)[:, None]), axis=1)
            + np.sum(rod_rate**2, axis=1)
        ) / along
        columns.append((q, qd, qdd))
    q, qd, qdd = (np.column_stack(c) for c in zip(*columns, strict=True))
    return q, qd, qdd


def motion() -> tuple[F64, F64]:
    """Return the sampling times (n,) and the FMU's nine inputs (n, 9)."""
    times = np.linspace(0.0, DURATION, SAMPLES)
    return times, np.hstack(inverse_kinematics(*tool_path(times)))


INPUTS = tuple(f"{name}[{i}]" for name in ("q", "qd", "qdd") for i in (1, 2, 3))
OUTPUTS = tuple(f"tau[{i}]" for i in (1, 2, 3))


def smoothing(width: float) -> dict[str, float]:
    """Return the FMU's parameters for smooth signs of a width, rad/s for friction, W for gears."""
    return {"speedWidth": width, "gearPowerWidth": width}


def true_torques(times: F64, inputs: F64, fmu: Path = FMU, width: float = 1.0) -> F64:
    """Return the FMU's motor torques for the true parameters, (n, 3), N.m."""
    return torques_of(TRUTH | smoothing(width), times, inputs, fmu)


def torques_of(values: dict[str, float], times: F64, inputs: F64, fmu: Path) -> F64:
    """Return the FMU's motor torques, (n, 3), N.m."""
    setup = SimulationSetup(times, INPUTS, inputs, OUTPUTS)
    with fmident.open_fmu(fmu) as opened, opened.simulator() as simulator:
        return simulator.simulate(setup, values)


def cycle(seed: int, sigma: float, fmu: Path = FMU) -> pd.DataFrame:
    """Return the measured cycle with noise of standard deviation `sigma`, N.m."""
    times, inputs = motion()
    return measured(times, inputs, true_torques(times, inputs, fmu), seed, sigma)


def handling(seed: int, sigma: float, fmu: Path = FMU) -> pd.DataFrame:
    """Return the data of the tour, with noise of standard deviation `sigma`, N.m."""
    times, inputs = (part[-SAMPLES // 4 :: 4] for part in motion())
    times = times - times[0]
    return measured(times, inputs, torques_of(HANDLING, times, inputs, fmu), seed, sigma)


def measured(times: F64, inputs: F64, torques: F64, seed: int, sigma: float) -> pd.DataFrame:
    """Return a table of the motion, and of torques with noise."""
    noisy = torques + np.random.default_rng(seed).normal(0.0, sigma, torques.shape)
    units = ["rad"] * 3 + ["rad/s"] * 3 + ["rad/s2"] * 3
    frame = pd.DataFrame({"time [s]": times})
    for name, unit, values in zip(INPUTS, units, inputs.T, strict=True):
        frame[f"{name} [{unit}]"] = values
    for name, values in zip(OUTPUTS, noisy.T, strict=True):
        frame[f"{name} [N.m]"] = values
    return frame


def record(name: str, table: pd.DataFrame, **facts: str) -> None:
    """Add a table of texts, and facts, to ``figures.json``, of which the README is made."""
    file = HERE / "figures.json"
    found = json.loads(file.read_text()) if file.exists() else {"tables": {}, "facts": {}}
    rows = table.astype(str).to_numpy().tolist()
    found["tables"][name] = {"header": list(table.columns), "rows": rows}
    found.setdefault("facts", {}).update(facts)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write the CSV."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--sigma", type=float, default=SIGMA, help="N.m (default: %(default)s)")
    parser.add_argument("--fmu", type=Path, default=FMU)
    parser.add_argument("--output", type=Path, default=HERE / "data" / "cycle.csv")
    parser.add_argument("--tour", action="store_true", help="write the data of the tour")
    args = parser.parse_args()
    if not args.fmu.exists():
        parser.error(f"no FMU at {args.fmu}: run 'fmident build Mechanisms.FMUs.DeltaInverse'")
    if args.tour:
        table = handling(args.seed, args.sigma, args.fmu)
        table.to_csv(HERE / "handling.csv", index=False, float_format="%.5g")
        return
    args.output.parent.mkdir(parents=True, exist_ok=True)
    cycle(args.seed, args.sigma, args.fmu).to_csv(args.output, index=False, float_format="%.12g")
    print(f"{args.output}: {SAMPLES} samples, seed {args.seed}, sigma {args.sigma} N.m")


if __name__ == "__main__":
    main()
