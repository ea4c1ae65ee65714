"""Benchmark: draws from the posteriors of a mass-spring-damper and of LuGre friction.

The mass-spring-damper has three parameters and 501 samples; LuGre friction six parameters, 325
samples of position and friction with noise, and a posterior that is a thin, bent valley. Each is
drawn from as ``estimator.name = "posterior"`` does by default. Its quantiles at 2.5, 50 and 97.5 %
are compared with those of a reference run with many more draws and another seed, and effective
draws are counted for each second, the search and the statistics included.

    python benchmarks/posterior.py [--effective 10000] [--reference 60000]

Prints a table; ends with 1 when a quantile is off by more than 2 % of the width of the 95 %
interval, or there are fewer than 100 effective draws a second.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import fmident

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples" / "lugre"))

import generate  # noqa: E402

MOST, LEAST = 0.02, 100.0
QUANTILES = (0.025, 0.5, 0.975)
NOISE = {"position [m]": 1e-6, "friction [N]": 2e-2}
STARTS = {
    "sigma0": (1e5, 1e4, 1e6),
    "sigma1": (316.0, 30.0, 3000.0),
    "viscousFriction": (0.4, 0.04, 4.0),
    "coulombForce": (1.0, 0.5, 2.0),
    "staticForce": (1.5, 1.0, 3.0),
    "stribeckSpeed": (1e-3, 1e-4, 1e-2),
}


def mass_spring_damper(folder: Path) -> fmident.Problem:
    """Return the problem that ``fmident init`` writes, its FMU in a folder."""
    return fmident.load_problem(
        ROOT / "examples" / "oscillator" / "problem.toml",
        overrides={"model.fmu_folder": str(folder)},
    )


def lugre(folder: Path) -> fmident.Problem:
    """Return the six parameters of a run that breaks away, with noise on both outputs."""
    fmu = fmident.build_class(generate.SLIDE, output=folder / f"{generate.SLIDE}.fmu")
    data = generate.run("break-away", fmu)
    rng = np.random.default_rng(3)
    for column, sigma in NOISE.items():
        data[column] += sigma * rng.normal(size=len(data))
    return fmident.Problem.from_frames(
        fmu,
        {"break-away": data},
        parameters={
            name: {"initial": start, "bounds": (low, high), "scaling": "log"}
            for name, (start, low, high) in STARTS.items()
        },
        inputs={"u": "force"},
        outputs={
            "x": {"column": "position", "sigma": NOISE["position [m]"]},
            "frictionForce": {"column": "friction", "sigma": NOISE["friction [N]"]},
        },
        evaluation={"tolerance": 1e-8, "interpolation": "linear"},
    )


def drawn(problem: fmident.Problem, effective: int, seed: int) -> tuple[np.ndarray, float, float]:
    """Return quantiles, shape (3, n), the least effective number of draws, and seconds."""
    options = {"effective": effective, "seed": seed, "max_draws": 2_000_000}
    settings = type(problem.estimator)("posterior", options)
    began = time.perf_counter()
    result = fmident.estimate(dataclasses.replace(problem, estimator=settings))
    seconds = time.perf_counter() - began
    if not result.converged() or result.draws is None:
        raise SystemExit(result.message)
    known = result.draws.parameters.values()
    flat = result.draws.values.reshape(-1, len(result.draws.parameters))
    return np.quantile(flat, QUANTILES, axis=0), min(min(p.bulk, p.tail) for p in known), seconds


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effective", type=int, default=10_000)
    parser.add_argument("--reference", type=int, default=60_000)
    given = parser.parse_args()
    failed = False
    print(f"{'problem':20}{'effective':>10}{'seconds':>9}{'a second':>10}{'largest error':>15}")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("mass-spring-damper", mass_spring_damper), ("LuGre", lugre)):
            problem = make(Path(folder))
            reference, *_ = drawn(problem, given.reference, seed=99)
            found, effective, seconds = drawn(problem, given.effective, seed=0)
            error = float(np.max(np.abs(found - reference) / (reference[2] - reference[0])))
            rate = effective / seconds
            print(f"{name:20}{effective:10.0f}{seconds:9.1f}{rate:10.0f}{error:14.2%}")
            failed |= error > MOST or rate < LEAST
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
