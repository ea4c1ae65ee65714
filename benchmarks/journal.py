"""Benchmark: what the journal costs in the delta study, and what a simulation from it takes.

Residuals of the delta study (each from a simulation of 6250 samples of three outputs, 150 kB) are
computed on one instance of the FMU as `fmident.estimate` does it, without and with a journal, in
pairs of small batches, in turns which comes first. A batch with a journal has ended when its last
record is in the file, so that nothing is left over that others would pay for. Two ratios are
printed, each of wall time and of the CPU time of all threads: of the smallest times, since whatever
else the machine does only adds to them, and the median over the pairs, whose halves ran under
nearly the same load.

With a second processor the writing thread works beside the simulations, and the wall time is what
a run feels. CPU time is what it feels where no processor is free. Most of it is the system's time
for the write itself: compare with a copy of the same bytes into a file, which is printed, too.

Then each simulation is asked for again: by another executor, which finds it in the files of the
first, and once more, from memory.

    python benchmarks/journal.py [--pairs 100] [--folder FOLDER]

Ends with 1 when the journal costs more than 2 % of the wall time (smallest times), or a simulation
from it takes over 0.1 ms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fmident
from fmident.evaluation import Evaluator, InProcessExecutor, SimulationTask
from fmident.evaluation.journal import Journal, RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys, file_digest
from fmident.fmu import open_fmu
from fmident.problem.residuals import parameter_values_for

ROOT = Path(__file__).resolve().parents[1]
MOST_OVERHEAD = 0.02
LONGEST_HIT = 1e-4
BATCH = 4


def seconds(work: Callable[[], object]) -> float:
    """Return the time of a call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall time of a call, and the CPU time of all threads meanwhile."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def copying(path: Path, size: int) -> list[float]:
    """Return the CPU times of the system's calls that write so many bytes at the end of a file."""
    content = np.random.default_rng(0).bytes(size)
    times = []
    with path.open("wb", buffering=0) as stream:
        for number in range(100):
            begin = time.thread_time()
            os.pwrite(stream.fileno(), content, number * size)
            times.append(time.thread_time() - begin)
    return times


def main() -> int:
    """Measure both figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="where the journal is written")
    arguments = parser.parse_args()
    problem = fmident.load_problem(ROOT / "examples" / "delta" / "problem.toml")
    draw = np.random.default_rng(0)

    def batch() -> np.ndarray:
        return problem.initial * (1.0 + 1e-3 * draw.standard_normal((BATCH, len(problem.free))))

    def tasks(points: np.ndarray) -> list[SimulationTask]:
        experiment = problem.experiments[0]
        return [SimulationTask(0, parameter_values_for(problem, experiment, p)) for p in points]

    with (
        tempfile.TemporaryDirectory(dir=arguments.folder) as name,
        open_fmu(problem.fmu) as fmu,
        InProcessExecutor(problem, fmu) as executor,
    ):
        keys = SimulationKeys(problem, file_digest(problem.fmu))
        journal = Journal(Path(name))
        without = Evaluator(problem, RecordedExecutor(executor, keys))
        recorded = Evaluator(problem, RecordedExecutor(executor, keys, journal))

        def keeping(points: np.ndarray) -> None:
            recorded.residuals_many(points)
            journal.flush()

        for _ in range(3):  # start-up
            without.residuals_many(batch())
            keeping(batch())
        plain, kept, asked = [], [], []
        for number in range(arguments.pairs):
            points = batch(), batch()
            if number % 2:
                plain.append(spent(lambda p=points[0]: without.residuals_many(p)))
            kept.append(spent(lambda p=points[1]: keeping(p)))
            if not number % 2:
                plain.append(spent(lambda p=points[0]: without.residuals_many(p)))
            asked += tasks(points[1])
        journal.close()
        size = journal.path.stat().st_size
        copies = copying(
            Path(name, "copy"), 8 * sum(r.size for r in recorded.simulate(points[1][0]))
        )
        journal = Journal(Path(name))
        again = RecordedExecutor(executor, keys, journal)
        disk = [seconds(lambda task=task: again.run_all([task])) for task in asked]
        memory = [seconds(lambda task=task: again.run_all([task])) for task in asked[-20:]]
        assert again.served.simulated == 0
        assert again.served.restored == len(asked)
        journal.close()

    bare, recording = np.array(plain), np.array(kept)
    smallest = recording.min(axis=0) / bare.min(axis=0) - 1.0
    middle = np.median(recording / bare, axis=0) - 1.0
    hit = statistics.median(disk)
    print(f"{len(asked)} simulations, {size / 1e6:.0f} MB of journal")
    print(f"{'':<26}{'smallest ms':>12}{'median ms':>12}")
    for label, times, count in (
        ("residuals", bare[:, 0], BATCH),
        ("residuals, journalled", recording[:, 0], BATCH),
        ("from the journal", disk, 1),
        ("from memory", memory, 1),
        ("copy into a file", copies, 1),
    ):
        least, median = (1e3 * f(times) / count for f in (min, statistics.median))
        print(f"{label:<26}{least:>12.4f}{median:>12.4f}")
    for k, clock in enumerate(("wall time", "CPU time")):
        print(
            f"journal overhead, {clock}: {100 * smallest[k]:.2f} % by the smallest times, "
            f"{100 * middle[k]:.2f} % by the median pair"
        )
    print(f"required: below {100 * MOST_OVERHEAD:.0f} % of the wall time")
    print(f"from the journal {1e3 * hit:.4f} ms (required: below {1e3 * LONGEST_HIT:.1f} ms)")
    return 0 if smallest[0] < MOST_OVERHEAD and hit < LONGEST_HIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
