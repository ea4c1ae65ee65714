"""Make the measured data of the slider-crank study.

The crank turns on a Fourier trajectory; the FMU gives the torque for the parameters of the
paper's Table 1. The crank angle and the torque are the measurements, with white noise on both:
1e-3 rad and 1e-2 N.m, as in the paper. Speed and acceleration are not measured.

    python examples/slider-crank/generate.py [--seed 1] [--friction] [--output FOLDER]

writes ``training.csv`` and ``validation.csv``. The paper does not print its trajectory; this
one is described in README.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import fmident
from fmident.fmu import SimulationSetup

F64 = npt.NDArray[np.float64]
HERE = Path(__file__).parent
FMU = HERE.parents[1] / "fmus" / "Mechanisms.FMUs.SliderCrankInverse.fmu"

TRUTH = {
    "inertia1": 3.8e-4, "momentX1": 7.2e-3, "momentY1": 0.0, "mass1": 0.18,
    "inertia2": 4.6e-3, "momentX2": 2.8e-2, "momentY2": 0.0, "mass2": 0.22,
    "inertia3": 1.9e-4, "momentX3": 0.0, "momentY3": 0.0, "mass3": 0.25,
}  # fmt: skip
"""Table 1 of the paper; kg.m2, kg.m, kg."""

FRICTION = {"coulombForce": 0.0, "viscousFriction": 0.0}
"""The numerical example of the paper has none."""

WITH_FRICTION = {"coulombForce": 2.0, "viscousFriction": 0.0}
"""Fc of eq. 17, N."""

LENGTH1, LENGTH2 = 0.08, 0.25  # m

SIGMA_ANGLE, SIGMA_TORQUE = 1e-3, 1e-2  # rad, N.m; the paper's
PERIOD = 1e-3  # s


@dataclass(frozen=True)
class Fourier:
    """``q0 + turns*2*pi*t/T + sum of a_k sin(2 pi k t/T) + b_k cos(2 pi k t/T)``.

    Parameters
    ----------
    duration
        T, s.
    turns
        Turns of the crank in T.
    start
        q0, rad.
    sine, cosine
        a_k and b_k, k = 1, 2, ..., rad.
    """

    duration: float
    turns: float
    start: float
    sine: tuple[float, ...]
    cosine: tuple[float, ...]

    def __call__(self, times: F64, order: int = 0) -> F64:
        """Return the angle, or its derivative of the given order, shape (n,)."""
        base = 2 * np.pi / self.duration
        found = np.zeros_like(times)
        if order < 2:
            found += [self.start + base * self.turns * times, base * self.turns][order]
        for k, (a, b) in enumerate(zip(self.sine, self.cosine, strict=True), 1):
            w = k * base
            shift = order * np.pi / 2
            found += w**order * (a * np.sin(w * times + shift) + b * np.cos(w * times + shift))
        return found


TRAINING = Fourier(
    duration=5.0,
    turns=8.0,
    start=0.0,
    sine=(0.8, -0.5, 0.0, 0.6, 0.0, 0.25, 0.0, 0.15),
    cosine=(0.3, 0.4, -0.6, 0.0, 0.35, 0.0, -0.2, 0.1),
)
VALIDATION = Fourier(
    duration=5.0,
    turns=-6.0,
    start=1.0,
    sine=(0.0, 0.9, 0.3, 0.0, -0.4, 0.2),
    cosine=(0.7, 0.0, -0.4, 0.5, 0.0, -0.2),
)


def times_of(motion: Fourier) -> F64:
    """Return the sampling times: two periods, shape (n,)."""
    return np.arange(round(2 * motion.duration / PERIOD) + 1) * PERIOD


def true_torque(motion: Fourier, friction: dict[str, float], fmu: Path = FMU) -> F64:
    """Return the crank torque without noise, shape (n,), N.m."""
    times = times_of(motion)
    inputs = np.column_stack([motion(times, k) for k in range(3)])
    setup = SimulationSetup(times, ("q", "qd", "qdd"), inputs, ("tau",))
    with fmident.open_fmu(fmu) as opened, opened.simulator() as simulator:
        return simulator.simulate(setup, {**TRUTH, **friction})[:, 0]


def measured(motion: Fourier, torque: F64, generator: np.random.Generator) -> pd.DataFrame:
    """Return angle and torque with noise."""
    times = times_of(motion)
    angle = motion(times) + generator.normal(0.0, SIGMA_ANGLE, times.size)
    noisy = torque + generator.normal(0.0, SIGMA_TORQUE, times.size)
    return pd.DataFrame({"time [s]": times, "angle [rad]": angle, "torque [N.m]": noisy})


def main() -> None:
    """Write both CSV files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--friction", action="store_true", help="with Coulomb friction")
    parser.add_argument("--fmu", type=Path, default=FMU)
    parser.add_argument("--output", type=Path, default=HERE / "data", metavar="FOLDER")
    args = parser.parse_args()
    if not args.fmu.exists():
        name = "Mechanisms.FMUs.SliderCrankInverse"
        parser.error(f"no FMU at {args.fmu}: run 'fmident build {name}'")
    args.output.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(args.seed)
    friction = WITH_FRICTION if args.friction else FRICTION
    suffix = "-friction" if args.friction else ""
    for name, motion in (("training", TRAINING), ("validation", VALIDATION)):
        rows = measured(motion, true_torque(motion, friction, args.fmu), generator)
        path = args.output / f"{name}{suffix}.csv"
        rows.to_csv(path, index=False, float_format="%.12g")
        print(f"{path}: {len(rows)} samples, seed {args.seed}")


if __name__ == "__main__":
    main()
