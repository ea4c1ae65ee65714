"""Make the measured runs of the LuGre friction study: no noise, as in the paper.

A mass on a guide with LuGre friction, driven by a force (section 4 of the paper); the
displacement and the friction force are measured.

* ``published.csv``: the paper's input ``1.1 sin(5 t)``, which stays below the static
  friction force of 1.5 N, so that the mass never breaks away;
* ``break-away.csv``: an input that grows until the mass breaks away, slides and sticks again;
* ``stribeck.csv``: steady-state points of the Stribeck curve (eqs. 12-14), speed by speed,
  for the first of the paper's two steps.

    python examples/lugre/generate.py [--output FOLDER]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import fmident
from fmident.fmu import SimulationSetup

F64 = npt.NDArray[np.float64]
HERE = Path(__file__).parent
FMUS = HERE.parents[1] / "fmus"
SLIDE = "Mechanisms.FMUs.SlideWithLuGreFriction"
SLIDE_FMU = FMUS / f"{SLIDE}.fmu"

TRUTH = {
    "sigma0": 1e5,
    "sigma1": 316.0,
    "viscousFriction": 0.4,
    "coulombForce": 1.0,
    "staticForce": 1.5,
    "stribeckSpeed": 1e-3,
}
"""Actual values of the paper's Table 5-2: N/m, N.s/m, N.s/m, N, N, m/s."""

PERIOD = 2 * np.pi / 5


def published(times: F64) -> F64:
    """Return the paper's input, N."""
    return 1.1 * np.sin(5 * times)


def break_away(times: F64) -> F64:
    """Return an input that grows, N.

    The third peak, 1.4 N at 0.39 s, makes the mass slide already, since the friction level falls
    while the mass creeps; the fourth, 1.7 N at 0.55 s, exceeds the static friction.
    """
    return (0.6 + 2.0 * times) * np.sin(20 * times)


@dataclass(frozen=True)
class Run:
    """A dynamic run: input (N) over time (s), duration, sampling (s), tolerance of the FMU.

    The problem files take the same tolerance: without noise the data are as good as it is.
    """

    force: Callable[[F64], F64]
    duration: float
    sample: float
    tolerance: float


RUNS = {
    "published": Run(published, PERIOD, 8e-3, 1e-12),
    "break-away": Run(break_away, 0.65, 2e-3, 1e-9),
}
"""What Fc and vs do one by one to the published run is a 1e-8 of its range."""


def run(name: str, fmu_file: Path = SLIDE_FMU) -> pd.DataFrame:
    """Return the measurements of one dynamic run, from the FMU with the true parameters."""
    made = RUNS[name]
    times = np.arange(0.0, made.duration, made.sample)
    u = made.force(times)
    outputs = ("x", "frictionForce")
    setup = SimulationSetup(times, ("u",), u[:, None], outputs, tolerance=made.tolerance)
    with fmident.open_fmu(fmu_file) as fmu, fmu.simulator() as simulator:
        x, friction = simulator.simulate(setup, TRUTH).T
    columns = {"time [s]": times, "force [N]": u, "position [m]": x, "friction [N]": friction}
    return pd.DataFrame(columns)


def stribeck() -> pd.DataFrame:
    """Return steady-state points: the friction force over the speed, one per second.

    By eq. 14, not by an FMU, so that the estimation is held against an independent curve.
    """
    v = np.concatenate([np.geomspace(1e-4, 0.02, 30), np.linspace(0.03, 0.5, 10)])
    v = np.concatenate([-v[::-1], v])
    fall = np.exp(-((v / TRUTH["stribeckSpeed"]) ** 2))
    level = TRUTH["coulombForce"] + (TRUTH["staticForce"] - TRUTH["coulombForce"]) * fall
    force = level * np.sign(v) + TRUTH["viscousFriction"] * v
    columns = {"time [s]": np.arange(v.size, dtype=float), "speed [m/s]": v, "friction [N]": force}
    return pd.DataFrame(columns)


def main() -> None:
    """Write the CSV files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--fmus", type=Path, default=FMUS, help="folder of the built FMUs")
    parser.add_argument("--output", type=Path, default=HERE / "data", metavar="FOLDER")
    args = parser.parse_args()
    if not (args.fmus / f"{SLIDE}.fmu").exists():
        parser.error(f"no FMU of the slide in {args.fmus}: run 'fmident build {SLIDE}'")
    args.output.mkdir(parents=True, exist_ok=True)
    tables = {name: run(name, args.fmus / f"{SLIDE}.fmu") for name in RUNS} | {
        "stribeck": stribeck()
    }
    for name, table in tables.items():
        table.to_csv(args.output / f"{name}.csv", index=False, float_format="%.17g")
        print(f"{args.output / f'{name}.csv'}: {len(table)} samples")


if __name__ == "__main__":
    main()
