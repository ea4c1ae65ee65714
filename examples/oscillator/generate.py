"""Make measured.csv: the step response of the oscillator in closed form, with noise of 0.1 mm.

    python generate.py [--seed 1] [--output FILE]

With data of your own, this file is not needed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent

MASS, DAMPING, STIFFNESS = 3.0, 5.0, 400.0
"""What the identification must find: kg, N.s/m, N/m."""

FORCE, SIGMA = 10.0, 1e-4
"""The step of the force, N, and the standard deviation of the noise, m."""


def measured(seed: int) -> pd.DataFrame:
    """Return 501 samples of 5 s: time, force and position with noise."""
    times = np.linspace(0.0, 5.0, 501)
    natural = np.sqrt(STIFFNESS / MASS)
    ratio = DAMPING / (2.0 * np.sqrt(STIFFNESS * MASS))
    damped = natural * np.sqrt(1.0 - ratio**2)
    wave = np.cos(damped * times) + ratio * natural / damped * np.sin(damped * times)
    position = FORCE / STIFFNESS * (1.0 - np.exp(-ratio * natural * times) * wave)
    position += np.random.default_rng(seed).normal(0.0, SIGMA, times.size)
    return pd.DataFrame({"time [s]": times, "force [N]": FORCE, "position [mm]": 1e3 * position})


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=HERE / "measured.csv")
    arguments = parser.parse_args()
    measured(arguments.seed).to_csv(arguments.output, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
