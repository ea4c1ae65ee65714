"""Make the measured motion of the tripod study: torques of three drives.

A fast pick-and-place motion of the tool; the torques are those of the FMU with the nominal
parameters, recorded a constant transfer time too late, as in section 3.2 of the paper. With
``--drives`` a trace of the drives, for the inverse model: what their encoders measure instead of
the references, four samples in a millisecond, and noise on the torques.

    python examples/tripod/generate.py [--drives] [--output FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import fmident
from fmident.fmu import SimulationSetup

F64 = npt.NDArray[np.float64]
HERE = Path(__file__).parent
CLASS = "Mechanisms.FMUs.Tripod"
FMU = HERE.parents[1] / "fmus" / f"{CLASS}.fmu"

TRUTH = {
    "toolMass": 1.8,
    "gearStiffness": 4e4,
    "gearDampingRatio": 0.08,
    "coulombTorque": 0.12,
    "viscousFriction": 1e-3,
    "transferTime": 0.008,
}
"""Nominal values: kg, N/m, 1, N.m, N.m.s/rad, s. (Those of the paper's Table 4 are not in
its text.)"""

TOLERANCE = 1e-8
"""Of the FMU; the problem file searches with less."""

SAMPLE, DURATION = 8e-3, 0.8  # s
RAIL_RADIUS, ROD_LENGTH, REST = 0.3, 0.5, -0.4  # m, of the Modelica class

MOVES = (
    ((0.0, 0.0, 0.0), 0.04),
    ((-0.12, -0.06, 0.0), 0.20),
    ((-0.12, -0.06, -0.05), 0.08),
    ((-0.12, -0.06, -0.05), 0.04),
    ((-0.12, -0.06, 0.0), 0.08),
    ((0.12, 0.08, 0.0), 0.24),
    ((0.12, 0.08, -0.05), 0.08),
    ((0.12, 0.08, -0.05), 0.1),
)
"""Where the tool goes next, from its rest position, m, and in what time, s."""


def tool_path(times: F64) -> tuple[F64, F64, F64]:
    """Return position, velocity and acceleration of the tool, each (n, 3), m and s."""
    targets = np.array([target for target, _ in MOVES])
    lengths = np.array([length for _, length in MOVES])
    starts = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    origins = np.vstack([[0.0, 0.0, 0.0], targets[:-1]])
    move = np.searchsorted(starts, times + 1e-12, side="right") - 1
    length = lengths[move][:, None]
    s = np.clip((times - starts[move])[:, None] / length, 0.0, 1.0)
    way = targets[move] - origins[move]
    along = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])
    rest = np.array([0.0, 0.0, REST])
    position = rest + origins[move] + way * along(s)
    return position, way * along.deriv(1)(s) / length, way * along.deriv(2)(s) / length**2


def rails(times: F64) -> F64:
    """Return heights, speeds and accelerations of the three carriages, (n, 9)."""
    position, velocity, acceleration = tool_path(times)
    heights, speeds, accelerations = [], [], []
    for angle in np.arange(3) * 2 * np.pi / 3:
        foot = RAIL_RADIUS * np.array([np.cos(angle), np.sin(angle)])
        aside = position[:, :2] - foot
        h = np.sqrt(ROD_LENGTH**2 - np.sum(aside**2, axis=1))
        rate = -np.sum(aside * velocity[:, :2], axis=1) / h
        bend = np.sum(velocity[:, :2] ** 2 + aside * acceleration[:, :2], axis=1) + rate**2
        heights.append(position[:, 2] + h)
        speeds.append(velocity[:, 2] + rate)
        accelerations.append(acceleration[:, 2] - bend / h)
    return np.column_stack([*heights, *speeds, *accelerations])


INPUTS = tuple(f"{name}[{i}]" for name in ("s_ref", "v_ref", "a_ref") for i in (1, 2, 3))
DRIVES = tuple(f"drive{n}[{i}]" for n in ("Position", "Speed", "Acceleration") for i in (1, 2, 3))
OUTPUTS = tuple(f"driveTorque[{i}]" for i in (1, 2, 3))
TRACE, NOISE = 2.5e-4, 0.01
"""Sampling of the drives, s, and noise of their torques, N.m."""


def simulated(fmu: Path, sample: float) -> tuple[F64, F64, F64, F64]:
    """Return times, references, motion of the drives and late torques."""
    times = np.arange(round(DURATION / sample) + 1) * sample
    inputs = rails(times)
    setup = SimulationSetup(times, INPUTS, inputs, DRIVES + OUTPUTS, tolerance=TOLERANCE)
    values = {name: value for name, value in TRUTH.items() if name != "transferTime"}
    with fmident.open_fmu(fmu) as opened, opened.simulator() as simulator:
        signals = simulator.simulate(setup, values)
    late = np.maximum(np.arange(times.size) - round(TRUTH["transferTime"] / sample), 0)
    return times, inputs, signals[:, :9], signals[late, 9:]


def table(times: F64, names: tuple[str, ...], motion: F64, torques: F64) -> pd.DataFrame:
    """Return times, motion under these names, and torques as columns with units."""
    units = ["m"] * 3 + ["m/s"] * 3 + ["m/s2"] * 3
    columns = {"time [s]": times}
    columns |= {f"{n} [{u}]": c for n, u, c in zip(names, units, motion.T, strict=True)}
    columns |= {f"{n} [N.m]": c for n, c in zip(OUTPUTS, torques.T, strict=True)}
    return pd.DataFrame(columns)


def cycle(fmu: Path = FMU) -> pd.DataFrame:
    """Return references and late torques of the motion."""
    times, references, _, torques = simulated(fmu, SAMPLE)
    return table(times, INPUTS, references, torques)


def trace(fmu: Path = FMU, seed: int = 1) -> pd.DataFrame:
    """Return motion of the drives and late torques with noise."""
    times, _, motion, torques = simulated(fmu, TRACE)
    noise = np.random.default_rng(seed).normal(0.0, NOISE, torques.shape)
    return table(times, DRIVES, motion, torques + noise)


def main() -> None:
    """Write the CSV."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--fmu", type=Path, default=FMU)
    parser.add_argument("--drives", action="store_true", help="a trace of the drives")
    parser.add_argument("--output", type=Path, help="data/cycle.csv or data/drives.csv")
    args = parser.parse_args()
    if not args.fmu.exists():
        parser.error(f"no FMU at {args.fmu}: run 'fmident build {CLASS}'")
    made = trace(args.fmu) if args.drives else cycle(args.fmu)
    output = args.output or HERE / "data" / ("drives.csv" if args.drives else "cycle.csv")
    output.parent.mkdir(parents=True, exist_ok=True)
    made.to_csv(output, index=False, float_format="%.17g")
    print(f"{output}: {len(made)} samples")


if __name__ == "__main__":
    main()
