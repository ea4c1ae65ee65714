"""Benchmark: linear regression of the delta robot, 100 000 samples, seven parameters.

The gear of the delta robot loses power in the direction in which power flows, and that
direction depends on the masses: with an efficiency below one its torque is not linear in them
(the estimator says so), even where the efficiency is known. The regression is that of the
lossless gear, ``gearEfficiency = 1``. The seven parameters are three masses, the motor inertia,
Coulomb and viscous friction, and the offset of the first torque sensor. Data: the pick-and-place
cycle of the delta study, resampled by its own analytic motion at 100 000
instants, with noise. Reading the data, imports and opening the FMU are left out; the simulations
that make the regressor, the test of linearity and the base parameters are in.

    python benchmarks/regression.py [--samples 100000] [--repeat 5]

Prints the median; ends with 1 when it is above 2 s, or when an estimate is off by more than
five standard errors.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import fmident
from fmident.data import Experiment, Measurement
from fmident.fmu import SimulationSetup
from fmident.problem.model import EstimatorSettings, EvaluationSettings, Parameter, Problem

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples" / "delta"))

import generate  # noqa: E402

REQUIRED = 2.0
LOSSLESS = {"gearEfficiency": 1.0}
TRUTH = {n: v for n, v in generate.TRUTH.items() if n not in LOSSLESS}
OFFSET = 0.05
"""Of the first torque sensor, N.m."""


def problem_of(samples: int) -> tuple[Problem, dict[str, float]]:
    """Return the problem and its true values."""
    times = np.linspace(0.0, generate.DURATION, samples)
    inputs = np.hstack(generate.inverse_kinematics(*generate.tool_path(times)))
    setup = SimulationSetup(times, generate.INPUTS, inputs, generate.OUTPUTS)
    with fmident.open_fmu(generate.FMU) as opened, opened.simulator() as simulator:
        torques = simulator.simulate(setup, {**TRUTH, **LOSSLESS})
    torques[:, 0] += OFFSET
    torques += np.random.default_rng(1).normal(0.0, generate.SIGMA, torques.shape)
    measurements = tuple(
        Measurement(
            name,
            name,
            name,
            torques[:, i].copy(),
            np.array(generate.SIGMA),
            offset="sensorOffset" if i == 0 else 0.0,
            unit="N.m",
        )
        for i, name in enumerate(generate.OUTPUTS)
    )
    columns = {name: inputs[:, i].copy() for i, name in enumerate(generate.INPUTS)}
    parameters = [Parameter(n, 0.5 * v, variable=n, scale=v) for n, v in TRUTH.items()]
    parameters.append(Parameter("sensorOffset", 0.0))
    problem = Problem(
        generate.FMU,
        tuple(parameters),
        (Experiment("cycle", times, columns, measurements),),
        EstimatorSettings("linear-regression", {}),
        EvaluationSettings(check=False),
        start_values=LOSSLESS,
    )
    return problem, {**TRUTH, "sensorOffset": OFFSET}


def main() -> int:
    """Run the regression several times."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    problem, truth = problem_of(args.samples)
    result = fmident.estimate(problem)  # start-up: compiles the loop
    seconds = []
    for _ in range(args.repeat):
        begin = time.perf_counter()
        result = fmident.estimate(problem)
        seconds.append(time.perf_counter() - begin)
    free = [p.name for p in problem.free]
    right = True
    print(f"{'parameter':<18}{'true':>12}{'found':>14}{'std. error':>12}")
    for name in free:
        row = result.parameters.loc[name]
        right = right and abs(row["value"] - truth[name]) <= 5.0 * row["standard_error"]
        print(f"{name:<18}{truth[name]:>12.5g}{row['value']:>14.6g}{row['standard_error']:>12.2g}")
    median = statistics.median(seconds)
    print(
        f"{args.samples} samples of {len(generate.OUTPUTS)} torques, {len(free)} parameters,"
        f" {result.simulations} simulations: {median:.2f} s"
        f" (from {min(seconds):.2f} to {max(seconds):.2f} s; required: {REQUIRED:g} s)"
    )
    return 0 if median <= REQUIRED and right else 1


if __name__ == "__main__":
    raise SystemExit(main())
