"""Benchmark: a generation of 64 simulations side by side against 64 single ones, on one core.

The slide with LuGre friction and the tripod run the first experiment of the catalogue with the
outputs and parameters of their studies; parameters are drawn within 30 % around the catalogue's
values. The single simulations are those that an executor without batches makes. Prints processor
times, their ratio, and whether all outputs are equal to the last bit.

    python benchmarks/batches.py [--count N] [--rounds N] [--tolerance T]

Ends with 1 when a bit differs or a ratio is below the bar.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fmident.api.builds import build_class
from fmident.arrays import F64
from fmident.catalog import find_catalog, read_catalog
from fmident.fmu import SimulationSetup, open_fmu
from fmident.fmu.simulator import Simulator
from fmident.validation import plan_fmu
from fmident.validation.bench import Bench

ROOT = Path(__file__).resolve().parents[1]
LEAST = 4.0
SPREAD = 0.3


@dataclass(frozen=True)
class Study:
    """What a study measures of a machine, what it estimates, and how exactly it simulates."""

    machine: str
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    tolerance: float


STUDIES = (
    Study(
        "DriveTrains.SlideWithLuGreFriction",
        ("x", "frictionForce"),
        (
            *("m", "sigma0", "sigma1", "viscousFriction", "coulombForce", "staticForce"),
            "stribeckSpeed",
        ),
        1e-4,
    ),
    Study(
        "Robots.Tripod",
        ("driveTorque[1]", "driveTorque[2]", "driveTorque[3]"),
        ("toolMass", "gearStiffness", "gearDampingRatio", "coulombTorque", "viscousFriction"),
        1e-3,
    ),
)


def seconds(work: Callable[[], list[F64]], rounds: int) -> tuple[float, list[F64]]:
    """Return the least processor time of a call, s, and what it returns."""
    best = np.inf
    for _ in range(rounds):
        began = time.process_time()
        found = work()
        best = min(best, time.process_time() - began)
    return best, found


def together(
    simulator: Simulator, setup: SimulationSetup, sets: list[dict[str, float]]
) -> list[F64]:
    """Simulate side by side what can be, the rest alone."""
    found: dict[int, F64] = {}
    simulator.simulate_batch(setup, sets, found.__setitem__)
    return [
        found[k] if k in found else simulator.simulate(setup, values)
        for k, values in enumerate(sets)
    ]


def run(study: Study, folder: Path, count: int, rounds: int, tolerance: float | None) -> bool:
    """Print the row of one machine; return whether it holds the bar."""
    name = f"Mechanisms.{study.machine}"
    fmu = build_class(
        name,
        sources=[ROOT / "modelica" / "Mechanisms"],
        output=folder / f"{name}.fmu",
        compiler="embedded",
    )
    entry = next(e for e in read_catalog(find_catalog(ROOT)).entries if e.class_name == name)
    with Bench(plan_fmu(fmu, entry)) as bench:
        setup = replace(
            bench.main.setup,
            output_names=study.outputs,
            tolerance=tolerance or study.tolerance,
        )
        values = {k: float(v) for k, v in bench.main.values.items()}
        starts = {k: bench.fmu.description.variable(k).start for k in study.parameters}
    random = np.random.default_rng(1)
    sets = [
        values
        | {
            k: float(values.get(k, starts[k])) * (1.0 + SPREAD * random.uniform(-1.0, 1.0))
            for k in study.parameters
        }
        for _ in range(count)
    ]
    with open_fmu(fmu) as opened, opened.simulator(reuse="trusted") as simulator:
        single, alone = seconds(lambda: [simulator.simulate(setup, v) for v in sets], rounds)
        batch, beside = seconds(lambda: together(simulator, setup, sets), rounds)
    equal = all(a.tobytes() == b.tobytes() for a, b in zip(alone, beside, strict=True))
    ratio = single / batch
    print(
        f"{study.machine:<36}{setup.tolerance:>10.0e}{1e3 * single:>12.1f}{1e3 * batch:>12.1f}"
        f"{ratio:>8.2f}  {'equal' if equal else 'NOT EQUAL'}"
    )
    return equal and ratio >= LEAST


def main() -> int:
    """Run all machines; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tolerance", type=float, help="in place of the studies'")
    chosen = parser.parse_args()
    print(
        f"{chosen.count:<3}{'simulations of':<33}{'tolerance':>10}{'single/ms':>12}{'batch/ms':>12}"
    )
    with tempfile.TemporaryDirectory() as folder:
        good = [
            run(s, Path(folder), chosen.count, chosen.rounds, chosen.tolerance) for s in STUDIES
        ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
