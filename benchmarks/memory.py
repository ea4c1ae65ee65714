"""Benchmark: the memory of this process and of workers over many simulations.

The delta FMU is simulated again and again with changing parameters, in this process and in
worker processes, and the private resident memory of the process that simulates is recorded. The
first tenth of the runs is left out: until then caches fill.

    python benchmarks/memory.py [--runs N] [--samples N] [--kind inline|processes]

The default is quick; the full figure is ``--runs 100000``. Ends with 1 when memory has grown by
more than 2 MB after the first tenth.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path

import fmident
from fmident.evaluation import InProcessExecutor, ProcessExecutor, SimulationFailure
from fmident.operating_system import PrivateMemory

sys.path.insert(0, str(Path(__file__).parent))

from workers import ROOT, shortened, tasks_of

ALLOWED = 2e6
BATCH = 500


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--samples", type=int, default=6250, help="of one run")
    parser.add_argument("--kind", choices=("inline", "processes"), action="append")
    chosen = parser.parse_args()
    problem = fmident.load_problem(ROOT / "examples" / "delta" / "problem.toml")
    problem = shortened(problem, chosen.samples)
    settings = dataclasses.replace(problem.evaluation, workers=1)
    problem = dataclasses.replace(problem, evaluation=settings)
    good = True
    for kind in chosen.kind or ("inline", "processes"):
        sizes, took, renewals = watch(problem, kind, chosen.runs)
        start = len(sizes) // 10
        growth = max(sizes[start:]) - sizes[start]
        good &= growth <= ALLOWED and renewals == 0
        print(
            f"{kind:10} {chosen.runs} simulations in {took:.0f} s: "
            f"{sizes[0] / 1e6:.1f} MB at first, {sizes[start] / 1e6:.1f} MB after a tenth, "
            f"{sizes[-1] / 1e6:.1f} MB in the end; largest growth after the first tenth "
            f"{growth / 1e3:.0f} kB; workers renewed: {renewals}"
        )
    print(f"allowed: {ALLOWED / 1e6:g} MB")
    return 0 if good else 1


def watch(problem: fmident.Problem, kind: str, runs: int) -> tuple[list[int], float, int]:
    """Return resident sizes after each batch, the wall-clock time, and the renewals."""
    tasks = tasks_of(problem, BATCH)
    began = time.perf_counter()
    sizes = []
    with (InProcessExecutor if kind == "inline" else ProcessExecutor)(problem) as executor:
        executor.run_all(tasks[:10])
        pid = executor.pids[0] if isinstance(executor, ProcessExecutor) else None
        size = PrivateMemory(pid)
        sizes.append(size())
        for done in range(0, runs, BATCH):
            found = executor.run_all(tasks[: min(BATCH, runs - done)])
            assert not any(isinstance(outcome, SimulationFailure) for outcome in found)
            del found
            sizes.append(size())
        size.close()
        return sizes, time.perf_counter() - began, executor.report().renewals


if __name__ == "__main__":
    sys.exit(main())
