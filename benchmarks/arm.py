"""Benchmark: one pass of the six-axis arm's inverse dynamics, the FMU and a recursion in C.

The C program is the Newton-Euler recursion as one would write it by hand, compiled here with the
options of the FMUs. The FMU is instantiated once and reset before each run; start-up stays
outside the times. Times are those of the processor, all threads; the runs are interleaved.

    python benchmarks/arm.py [--samples 20000] [--rounds 15]

Prints the times per sample; ends with 1 when the torques differ or the FMU takes more than three
times as long.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fmident
from fmident.fmu import SimulationSetup

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples" / "arm"))

import generate  # noqa: E402

BAR = 3.0
AGREEMENT = 1e-12  # of the largest torque
NAMES = (
    *("alpha", "d", "r", "jointOffset", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"),
    *("mx", "my", "mz", "m", "Ia", "coulombTorque", "viscousFriction", "offsetTorque"),
)
"""Parameters in the order of ``Parameters`` in recursion.c, before the coupling."""


def recursion(folder: Path) -> ctypes.CDLL:
    """Return the compiled recursion."""
    library = folder / "recursion.so"
    source = Path(__file__).parent / "arm" / "recursion.c"
    options = ["-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC"]
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, *options, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def seconds(function: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    begin = time.process_time()
    function()
    return time.process_time() - begin


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    times = np.arange(args.samples) / generate.RATE
    inputs = np.ascontiguousarray(generate.motion(times, 1))
    torques = np.empty((args.samples, 6))
    setup = SimulationSetup(times, generate.MOTION, inputs, generate.TORQUES)
    with (
        tempfile.TemporaryDirectory() as folder,
        fmident.open_fmu(generate.INVERSE) as fmu,
        fmu.simulator() as simulator,
    ):
        starts = {v.name: float(v.start or 0.0) for v in fmu.description.variables}
        rows = [f"{name}[{j}]" for name in NAMES for j in generate.JOINTS]
        rows += [f"coupling[{i},{j}]" for i in generate.JOINTS for j in generate.JOINTS]
        rows += [*(f"gravity[{i}]" for i in (1, 2, 3)), "speedWidth"]
        parameters = np.array([starts[name] for name in rows])
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (parameters, inputs, torques)]
        run = recursion(Path(folder)).__getattr__("pass")

        def by_hand() -> None:
            run(pointers[0], ctypes.c_long(args.samples), *pointers[1:])

        def by_fmu() -> None:
            simulator.simulate(setup, {})

        expected = simulator.simulate(setup, {})
        by_hand()
        error = np.abs(torques - expected).max() / np.abs(expected).max()
        rounds = [(seconds(by_hand), seconds(by_fmu)) for _ in range(args.rounds)]
    hand, machine = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(b / a for a, b in rounds)
    print(f"recursion in C  {1e6 * hand / args.samples:7.3f} us per sample")
    print(f"FMU             {1e6 * machine / args.samples:7.3f} us per sample")
    print(f"ratio {ratio:.2f} (at most {BAR:g}), torques differ by {error:.1e}")
    return int(ratio > BAR or not error <= AGREEMENT)


if __name__ == "__main__":
    sys.exit(main())
