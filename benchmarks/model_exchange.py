"""Benchmark: Model Exchange through the engine and through FMPy, both with SUNDIALS CVODE.

Both integrate the same FMU with the same tolerance and record the same outputs at the same
instants. The FMU is instantiated once and reset before each run; start-up (unpacking, loading,
machine code from disk) stays outside the times. Times are those of the processor, the runs
are interleaved. The cases are FMUs from C in tests/fmu/fixtures, so that the FMU itself costs
next to nothing and the integration shows:

driven    two states, an input on straight lines, time events; 2000 instants
ball      a bouncing ball, state events; 2000 instants
stiff     three states of very different speeds; 200 instants

    python benchmarks/model_exchange.py [CASE ...] [--rounds N]

Prints times and ratios and checks that the results agree. Ends with 1 when they differ, or
when FMPy is not at least ten times slower in any case.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fmpy
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.fmu.exchange import Exchange, build_exchange  # noqa: E402
from tests.fmu.test_model_exchange import BALL, DRIVEN, STIFF  # noqa: E402

from fmident.fmu import SimulationSetup, open_fmu  # noqa: E402

TOLERANCE = 1e-7
BAR = 10.0
AGREEMENT = 1e-3  # of an output's range; each integrates on its own within the tolerance


@dataclass(frozen=True)
class Case:
    """An FMU and how it is driven."""

    fixture: Exchange
    samples: int
    outputs: tuple[str, ...]
    inputs: tuple[str, ...] = ()


CASES = {
    "driven": Case(DRIVEN, 2000, ("x", "s", "y"), ("u",)),
    "ball": Case(BALL, 2000, ("h",)),
    "stiff": Case(STIFF, 200, ("x0", "x1", "x2")),
}


class Theirs:
    """FMPy with one instance."""

    def __init__(self, path: Path, case: Case, setup: SimulationSetup) -> None:
        self.folder = fmpy.extract(str(path))
        self.description = fmpy.read_model_description(self.folder, validate=False)
        self.instance = fmpy.instantiate_fmu(self.folder, self.description, "ModelExchange")
        self.setup = setup
        assert setup.inputs is not None
        columns = [("time", float), *((name, float) for name in case.inputs)]
        self.signals = np.zeros(setup.times.size, dtype=columns)
        self.signals["time"] = setup.times
        for name, column in zip(case.inputs, setup.inputs.T, strict=True):
            self.signals[name] = column

    def run(self) -> Any:
        """Simulate once."""
        self.instance.reset()
        times = self.setup.times
        found = fmpy.simulate_fmu(
            self.folder,
            validate=False,
            model_description=self.description,
            fmu_instance=self.instance,
            start_time=times[0],
            stop_time=times[-1],
            output_interval=times[1] - times[0],
            solver="CVode",
            relative_tolerance=TOLERANCE,
            record_events=False,
            input=self.signals if len(self.signals.dtype) > 1 else None,
            output=list(self.setup.output_names),
        )
        return np.column_stack(
            [np.interp(times, found["time"], found[n]) for n in self.setup.output_names]
        )


def clock(work: Callable[[], Any]) -> float:
    """Return the processor time of one call, s."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measure(name: str, case: Case, rounds: int, folder: Path) -> bool:
    """Run one case; print a row; return whether it is as it should be."""
    path = build_exchange(case.fixture, 2, folder)
    times = np.linspace(0.0, 4.0, case.samples + 1)
    inputs = np.column_stack([np.sin(3.0 * times) for _ in case.inputs]) if case.inputs else None
    setup = SimulationSetup(times, case.inputs, inputs, case.outputs, tolerance=TOLERANCE)
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        theirs = Theirs(path, case, setup)
        ours, other = simulator.simulate(setup), theirs.run()
        gap = float(np.max(np.abs(ours - other) / np.maximum(np.ptp(other, axis=0), 1e-300)))
        engine, reference = [], []
        for _ in range(rounds):
            engine.append(clock(lambda: simulator.simulate(setup)))
            reference.append(clock(theirs.run))
    ratio = min(reference) / min(engine)
    print(
        f"{name:8} engine {1e3 * min(engine):8.2f} ms   FMPy {1e3 * min(reference):8.1f} ms"
        f"   FMPy/engine {ratio:6.1f}   largest deviation {gap:.1e} of range"
    )
    return ratio >= BAR and gap <= AGREEMENT


def main() -> int:
    """Run the cases that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = [
            measure(name, CASES[name], given.rounds, Path(folder))
            for name in (given.cases or CASES)
        ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
