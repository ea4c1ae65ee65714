"""What consistent bodies are worth: regressions of a short and noisy motion, with and without.

The first three seconds of the training motion, with five times its noise. The error is that of the
torques predicted for the motion of the validation, without noise.

    python examples/arm/consistency.py [--seed 1]

The table goes to ``figures.json``, of which the README is made.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
from pathlib import Path

import generate
import numpy as np

import fmident
from fmident.fmu import SimulationSetup

HERE = Path(__file__).parent
ROWS, NOISE = 300, 5.0


def problem(folder: Path, seed: int) -> fmident.Problem:
    """Return the problem of the example with data written to `folder`."""
    random = np.random.default_rng(seed)
    (folder / "data").mkdir()
    for name, number in (("training", 1), ("validation", 1001)):
        rows = generate.with_noise(generate.measured(number), random, NOISE)[:ROWS]
        rows.to_csv(folder / "data" / f"{name}.csv", index=False)
    text = (HERE / "problem.toml").read_text(encoding="utf-8")
    model = f'class = "{generate.INVERSE.stem}"'
    path = folder / "problem.toml"
    path.write_text(text.replace(model, f'fmu = "{generate.INVERSE}"'), encoding="utf-8")
    return fmident.load_problem(path)


def with_options(problem: fmident.Problem, **options: object) -> fmident.Problem:
    """Return the problem with other options of its estimator, without held-out data."""
    options = {**problem.estimator.options, "validation": (), **options}
    return dataclasses.replace(
        problem, estimator=dataclasses.replace(problem.estimator, options=options)
    )


def main() -> None:
    """Print and record the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not generate.INVERSE.exists():
        parser.error(f"no FMU at {generate.INVERSE}: run 'fmident build {generate.INVERSE.stem}'")
    times = np.arange(round(generate.PERIOD * generate.RATE)) / generate.RATE
    setup = SimulationSetup(times, generate.MOTION, generate.motion(times, 1001), generate.TORQUES)
    truth = generate.simulated(generate.INVERSE, setup, generate.truth())
    header = ["regression", "cost", "error of axes 1 to 6, N.m"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = problem(Path(folder), args.seed)
        for name, consistent in (("plain", False), ("consistent bodies", True)):
            result = fmident.estimate(with_options(data, consistent=consistent))
            values = {row.name: row.value for row in result.estimates}
            missed = generate.simulated(generate.INVERSE, setup, values) - truth
            errors = ", ".join(f"{x:.2g}" for x in np.sqrt(np.mean(missed**2, axis=0)))
            rows.append([name, f"{result.cost_final:.1f}", errors])
            print(*rows[-1], sep="  ", flush=True)
    figures = {"tables": {"consistency": {"header": header, "rows": rows}}, "facts": {}}
    (HERE / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
