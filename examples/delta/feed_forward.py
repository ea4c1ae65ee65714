"""What the identified parameters are worth as a feed-forward: the robot moves under torques alone.

The inverse model gives the torques of a fast move from pick to place, with the parameters of the
data sheet, with those of a result and with the true ones; the forward model of the true robot is
driven by them, without a controller. What the platform misses is what a controller has to correct.

    python examples/delta/feed_forward.py [--result FOLDER]

The table goes to ``figures.json``, of which the README is made.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import generate
import numpy as np
import pandas as pd

import fmident
from fmident.fmu import SimulationSetup

HERE = Path(__file__).parent
FORWARD = generate.FMU.with_name("Mechanisms.FMUs.DeltaForward.fmu")
HALF = generate.DURATION / len(generate.CYCLES) / generate.CYCLES[-1] / 2  # s, at the highest speed
STEP = 2.5e-4  # s
PLACE = tuple(f"r[{i}]" for i in (1, 2, 3))


def missed(values: Mapping[str, float]) -> float:
    """Return how far the platform is from its path at worst, mm."""
    times = np.arange(round(HALF * generate.MOVING / STEP) + 1) * STEP
    path = generate.tool_path(times + generate.DURATION - 2 * HALF)
    motion = generate.inverse_kinematics(*path)
    with fmident.open_fmu(generate.FMU) as fmu, fmu.simulator() as simulator:
        setup = SimulationSetup(times, generate.INPUTS, np.hstack(motion), generate.OUTPUTS)
        torques = simulator.simulate(setup, dict(values))
    start = {f"q_start[{i}]": q for i, q in enumerate(motion[0][0], 1)}
    with fmident.open_fmu(FORWARD) as fmu, fmu.simulator() as simulator:
        setup = SimulationSetup(times, generate.OUTPUTS, torques, PLACE)
        reached = simulator.simulate(setup, generate.TRUTH | start)
    return 1e3 * float(np.max(np.linalg.norm(reached - path[0], axis=1)))


def main() -> None:
    """Print and record the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--result", type=Path, default=HERE / "results" / "problem")
    args = parser.parse_args()
    for fmu in (generate.FMU, FORWARD):
        if not fmu.exists():
            parser.error(f"no FMU at {fmu}: run 'fmident build {fmu.stem}'")
    if not args.result.exists():
        parser.error(
            f"no result in {args.result}: run 'fmident estimate examples/delta/problem.toml'"
        )
    found = fmident.load_result(args.result).parameters
    header = ["parameters", "farthest from the path, mm"]
    rows = []
    for name, values in (
        ("data sheet", found["initial"].to_dict()),
        ("estimated", found["value"].to_dict()),
        ("true", generate.TRUTH),
    ):
        rows.append([name, f"{missed(values):.2g}"])
        print(f"{name:12}{rows[-1][1]:>8} mm from the path", flush=True)
    generate.record("feed-forward", pd.DataFrame(rows, columns=header))


if __name__ == "__main__":
    main()
