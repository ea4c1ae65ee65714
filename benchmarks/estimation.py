"""Benchmark: the whole delta estimation against FMPy + SciPy on the same FMU and data.

Both sides start at the initial column of the paper's Table 1 and fit seven parameters to
6250 samples of three torques with forward differences. The peer is what a user would
write today: ``scipy.optimize.least_squares`` around ``fmpy.simulate_fmu`` with a reused
instance (FMPy reads an output with the input of the sample before; that shifts its
estimates, not its time). Start-up (imports, opening the FMU, reading the data) is left
out on both sides.

    python benchmarks/estimation.py [--repeat 3]

Prints the times and their ratio; ends with 1 when the ratio is below 10.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
import time
from pathlib import Path

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave
from scipy.optimize import least_squares

import fmident

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples" / "delta"))

import generate  # noqa: E402

REQUIRED = 10.0


def fmpy_estimation(measured: np.ndarray, start: np.ndarray, names: list[str]) -> tuple[float, int]:
    """Return wall time and number of simulations of the FMPy + SciPy estimation."""
    folder = fmpy.extract(str(generate.FMU))
    description = fmpy.read_model_description(folder)
    instance = FMU2Slave(
        guid=description.guid,
        unzipDirectory=folder,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="peer",
    )
    instance.instantiate()
    times, inputs = generate.motion()
    signals = np.zeros(len(times), dtype=[(n, np.float64) for n in ("time", *generate.INPUTS)])
    signals["time"] = times
    for name, values in zip(generate.INPUTS, inputs.T, strict=True):
        signals[name] = values
    step = times[1] - times[0]
    count = 0

    def residuals(p: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        instance.reset()
        result = fmpy.simulate_fmu(
            folder,
            model_description=description,
            fmu_instance=instance,
            start_values=dict(zip(names, p, strict=True)),
            input=signals,
            output=list(generate.OUTPUTS),
            start_time=0.0,
            stop_time=times[-1],
            step_size=step,
            output_interval=step,
            validate=False,
        )
        simulated = np.column_stack([result[n] for n in generate.OUTPUTS])[: len(measured)]
        return ((measured[: len(simulated)] - simulated) / generate.SIGMA).ravel()

    begin = time.perf_counter()
    solution = least_squares(residuals, start, x_scale=np.abs(start), diff_step=1e-6)
    seconds = time.perf_counter() - begin
    if not solution.success:
        raise SystemExit(f"the peer did not converge: {solution.message}")
    instance.freeInstance()
    return seconds, count


def main() -> int:
    """Run both, interleaved, and compare medians."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    problem = fmident.load_problem(ROOT / "examples" / "delta" / "problem.toml")
    problem = dataclasses.replace(
        problem,
        evaluation=dataclasses.replace(problem.evaluation, check=False),
    )
    names = [p.name for p in problem.free]
    measured = np.column_stack([m.values for m in problem.experiments[0].measurements])
    fmident.estimate(problem)  # start-up: compiles the loop
    ours, peer = [], []
    simulations = peer_simulations = 0
    for _ in range(args.repeat):
        begin = time.perf_counter()
        result = fmident.estimate(problem)
        ours.append(time.perf_counter() - begin)
        simulations = result.simulations
        seconds, peer_simulations = fmpy_estimation(measured, problem.initial, names)
        peer.append(seconds)
    a, b = statistics.median(ours), statistics.median(peer)
    print(f"{'':<24}{'median s':>10}{'simulations':>13}{'ms/simulation':>15}")
    print(f"{'fmident':<24}{a:>10.3f}{simulations:>13}{1e3 * a / simulations:>15.2f}")
    print(
        f"{'FMPy + least_squares':<24}{b:>10.3f}{peer_simulations:>13}"
        f"{1e3 * b / peer_simulations:>15.2f}"
    )
    print(f"ratio {b / a:.1f} (required: {REQUIRED:.0f})")
    return 0 if b / a >= REQUIRED else 1


if __name__ == "__main__":
    raise SystemExit(main())
