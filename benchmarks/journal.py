"""Benchmark: what the journal costs in the delta study, and what a simulation from it takes.

The same simulations (6250 samples of three outputs, 150 kB) run on one instance without and with
a journal, in small interleaved batches; the smallest time of a batch counts, since whatever else
the machine does only adds to it. The writing thread has a batch's records done before the next
begins, so what it takes from the run is in the figure. Then each of them is asked for again:
by another executor, which finds it in the files of the first, and once more, from memory.

    python benchmarks/journal.py [--rounds 150] [--folder FOLDER]

Ends with 1 when the journal costs more than 2 %, or a simulation from it takes over 0.1 ms.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fmident
from fmident.evaluation import InProcessExecutor, SimulationTask
from fmident.evaluation.journal import Journal, RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys, file_digest
from fmident.fmu import open_fmu
from fmident.problem.residuals import parameter_values_for

ROOT = Path(__file__).resolve().parents[1]
MOST_OVERHEAD = 0.02
LONGEST_HIT = 1e-4
BATCH = 3


def clocks() -> np.ndarray:
    """Return wall time, CPU time of this thread, and CPU time of all threads."""
    return np.array([time.perf_counter(), time.thread_time(), time.process_time()])


def seconds(work: Callable[[], object]) -> float:
    """Return the time of a call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def spent(work: Callable[[], object]) -> np.ndarray:
    """Return what a call takes by each of the clocks."""
    begin = clocks()
    work()
    return clocks() - begin


def main() -> int:
    """Measure both figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--folder", type=Path, help="where the journal is written")
    arguments = parser.parse_args()
    problem = fmident.load_problem(ROOT / "examples" / "delta" / "problem.toml")
    problem = dataclasses.replace(
        problem, evaluation=dataclasses.replace(problem.evaluation, check=False)
    )
    draw = np.random.default_rng(0)

    def batch() -> list[SimulationTask]:
        points = problem.initial * (1.0 + 1e-3 * draw.standard_normal((BATCH, len(problem.free))))
        experiment = problem.experiments[0]
        return [SimulationTask(0, parameter_values_for(problem, experiment, p)) for p in points]

    with (
        tempfile.TemporaryDirectory(dir=arguments.folder) as name,
        open_fmu(problem.fmu) as fmu,
        InProcessExecutor(problem, fmu) as executor,
    ):
        keys = SimulationKeys(problem, file_digest(problem.fmu))
        journal = Journal(Path(name))
        recorded = RecordedExecutor(executor, keys, journal)
        recorded.run(batch())  # start-up
        plain, kept, tasks = [], [], []
        for _ in range(arguments.rounds):
            work = batch()
            plain.append(spent(lambda work=work: executor.run(work)))
            kept.append(spent(lambda work=work: recorded.run(work)))
            tasks += work
        journal.close()
        size = journal.size
        journal = Journal(Path(name))
        again = RecordedExecutor(executor, keys, journal)
        disk = [seconds(lambda task=task: again.run([task])) for task in tasks]
        memory = [seconds(lambda task=task: again.run([task])) for task in tasks[-20:]]
        assert again.served.simulated == 0
        assert again.served.restored == len(tasks)
        journal.close()

    without, recording = np.array(plain), np.array(kept)
    overhead, thread, _ = recording.min(axis=0) / without.min(axis=0) - 1.0
    # The writing thread also works between the batches: only sums hold all of it.
    total = np.median(recording[:, 2] - without[:, 2]) / np.median(without[:, 2])
    hit = statistics.median(disk)
    print(f"{len(tasks)} simulations, {size / 1e6:.0f} MB of journal")
    print(f"{'':<26}{'smallest ms':>12}{'median ms':>12}")
    for label, times, count in (
        ("simulation", without[:, 0], BATCH),
        ("simulation, journalled", recording[:, 0], BATCH),
        ("from the journal", disk, 1),
        ("from memory", memory, 1),
    ):
        smallest, median = (1e3 * f(times) / count for f in (min, statistics.median))
        print(f"{label:<26}{smallest:>12.4f}{median:>12.4f}")
    print(f"journal overhead {100 * overhead:.2f} % (required: below {100 * MOST_OVERHEAD:.0f} %)")
    print(
        f"in CPU time: {100 * thread:.2f} % of the thread that simulates, "
        f"{100 * total:.2f} % with the one that writes"
    )
    print(f"from the journal {1e3 * hit:.4f} ms (required: below {1e3 * LONGEST_HIT:.1f} ms)")
    return 0 if overhead < MOST_OVERHEAD and hit < LONGEST_HIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
