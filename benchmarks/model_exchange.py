"""Benchmark: Model Exchange through the engine and through FMPy, both with SUNDIALS CVODE.

Both integrate the same FMU with the same tolerance and record the same outputs at the same
instants, and each result is compared with the solution in closed form. The FMU is
instantiated once and reset before each run; start-up (unpacking, loading, machine code from
disk) stays outside the times. Times are those of the processor, the runs
are interleaved. The cases are FMUs from C in tests/fmu/fixtures, so that the FMU itself costs
next to nothing and the integration shows:

driven    two states, an input on straight lines, time events; 2000 instants
ball      a bouncing ball, state events; 2000 instants
stiff     three states of very different speeds; 200 instants

    python benchmarks/model_exchange.py [CASE ...] [--rounds N]

Prints times, ratios and errors. Ends with 1 when the engine's error is above 1e-5 of an output's
range, or when FMPy takes less than five times as long in any case. (FMPy sets inputs in root
functions only: without event indicators it holds them, which shows as its error in "driven".)
"""

from __future__ import annotations

import argparse
import contextlib
import io
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
from tests.fmu.test_model_exchange import BALL, DRIVEN, STIFF, ball  # noqa: E402

from fmident.arrays import F64  # noqa: E402
from fmident.fmu import SimulationSetup, open_fmu  # noqa: E402

TOLERANCE = 1e-7
BAR = 5.0
LARGEST_ERROR = 1e-5  # of an output's range
STOP = 3.0  # s


@dataclass(frozen=True)
class Case:
    """An FMU and how it is driven."""

    fixture: Exchange
    samples: int
    outputs: tuple[str, ...]
    solution: Callable[[F64], F64]
    inputs: tuple[str, ...] = ()


def drive(times: F64) -> F64:
    """Return the input of the case "driven", shape (n,)."""
    return np.sin(3.0 * times)


def driven(times: F64) -> F64:
    """Return integrals of the input on straight lines and of a staircase, and feedthrough."""
    u = drive(times)
    x = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(times) * (u[1:] + u[:-1]))])
    n = np.floor(times / 0.25 + 1e-9)
    return np.column_stack([x, 0.125 * n * (n - 1.0) + n * (times - 0.25 * n), 2.0 * u + x])


def bouncing(times: F64) -> F64:
    """Return the height of the ball."""
    return ball(times)[0][:, np.newaxis]


def stiff(times: F64) -> F64:
    """Return the slow solution of the stiff system."""
    return np.column_stack([np.cos(times), np.sin(times), 1e-9 * np.exp(-times)])


CASES = {
    "driven": Case(DRIVEN, 2000, ("x", "s", "y"), driven, ("u",)),
    "ball": Case(BALL, 2000, ("h",), bouncing),
    "stiff": Case(STIFF, 200, ("x0", "x1", "x2"), stiff),
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
        with contextlib.redirect_stdout(io.StringIO()):  # it reports inputs that have no data
            found = self._simulate(times)
        return np.column_stack(
            [np.interp(times, found["time"], found[n]) for n in self.setup.output_names]
        )

    def _simulate(self, times: F64) -> Any:
        return fmpy.simulate_fmu(
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


def clock(work: Callable[[], Any]) -> float:
    """Return the processor time of one call, s."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measure(name: str, case: Case, rounds: int, folder: Path) -> bool:
    """Run one case; print a row; return whether it is as it should be."""
    path = build_exchange(case.fixture, 2, folder)
    times = np.linspace(0.0, STOP, case.samples + 1)
    inputs = drive(times)[:, np.newaxis] if case.inputs else None
    setup = SimulationSetup(times, case.inputs, inputs, case.outputs, tolerance=TOLERANCE)
    exact = case.solution(times)
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        theirs = Theirs(path, case, setup)
        error, other = (
            float(np.max(np.abs(found - exact) / np.ptp(exact, axis=0)))
            for found in (simulator.simulate(setup), theirs.run())
        )
        engine, reference = [], []
        for _ in range(rounds):
            engine.append(clock(lambda: simulator.simulate(setup)))
            reference.append(clock(theirs.run))
    ratio = min(reference) / min(engine)
    print(
        f"{name:8} engine {1e3 * min(engine):6.2f} ms, error {error:.1e}"
        f"   FMPy {1e3 * min(reference):6.1f} ms, error {other:.1e}   FMPy/engine {ratio:5.1f}"
    )
    return ratio >= BAR and error <= LARGEST_ERROR


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
