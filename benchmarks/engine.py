"""Benchmark: one simulation through the engine, FMPy, a Python loop and a C program.

All drive the same FMU with the same inputs and record the same outputs; the FMU is
instantiated once and reset before each run, and start-up stays outside the times. Times are
those of the processor, all threads of the process, since a busy machine makes others wait; the
runs are interleaved, so that it is busy for all. There are three cases:

delta     the delta robot's inverse dynamics: 6250 samples, 9 inputs, 3 outputs
lugre     a slide with LuGre friction that sticks and slips, which is stiff: the integrator works
outputs   100 outputs that cost next to nothing, so that the loop itself shows

FMPy's simulate_fmu reads outputs before it sets the inputs of the same instant, and gives
the slope of the interval before as input derivative. So its result is compared with
inputs held and one sample later; its time is taken with the inputs as asked for. It takes part
where that comparison is exact, in the delta case.

    python benchmarks/engine.py [CASE ...] [--fmu PATH] [--samples N] [--rounds N] [--inputs-held]

Prints times and ratios and checks that the results agree. Ends with 1 when in any case the
results differ or the engine takes more than 1.1 times the C program's time.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave

from fmident.api.builds import build
from fmident.fmu import Fmu, ModelDescription, SimulationSetup, Simulator, open_fmu
from fmident.plugins import load_plugins

ROOT = Path(__file__).resolve().parents[1]
BAR = 1.1
AGREEMENT = 1e-9  # of an output's range; FMPy computes the instants itself


@dataclass(frozen=True)
class Case:
    """An FMU and how it is driven.

    Parameters
    ----------
    fmu
        The file; ``None`` when it is built from `source`.
    source
        Modelica file of a model of the same name.
    samples, duration
        Instants, and the time of the last, s.
    amplitude
        Of the inputs, or of the angles where there are speeds and accelerations as well.
    outputs
        How many are recorded at most.
    with_fmpy
        Whether FMPy's simulate_fmu takes part.
    """

    fmu: Path | None
    source: Path | None = None
    samples: int = 6250
    duration: float = 62.278
    amplitude: float = 0.25
    outputs: int = 3
    with_fmpy: bool = False


CASES = {
    "delta": Case(ROOT / "fmus" / "Mechanisms.FMUs.DeltaInverse.fmu", with_fmpy=True),
    "lugre": Case(
        ROOT / "fmus" / "Mechanisms.FMUs.SlideWithLuGreFriction.fmu",
        samples=2001,
        duration=2.0,
        amplitude=2.0,  # N: more than break-away, so that it sticks and slips
    ),
    "outputs": Case(
        None, ROOT / "benchmarks" / "engine" / "HundredOutputs.mo", duration=10.0, outputs=100
    ),
}


@dataclass(frozen=True)
class Task:
    """What every contestant has to simulate."""

    setup: SimulationSetup
    parameters: dict[str, float]
    linear: bool


def motion(
    description: ModelDescription, times: np.ndarray, amplitude: float
) -> dict[str, np.ndarray]:
    """Return a smooth signal for every Real input; angle, speed, acceleration fit together."""
    signals: dict[str, np.ndarray] = {}
    for number, variable in enumerate(v for v in description.inputs if v.type == "Real"):
        axis = re.fullmatch(r"(q|qd|qdd)\[(\d+)\]", variable.name)
        kind, phase = (axis[1], float(axis[2])) if axis else ("q", float(number))
        w = 2.0 * np.pi * 0.5
        start = variable.start if isinstance(variable.start, float) else 0.0
        signals[variable.name] = {
            "q": start + amplitude * np.sin(w * times + phase),
            "qd": amplitude * w * np.cos(w * times + phase),
            "qdd": -amplitude * w**2 * np.sin(w * times + phase),
        }[kind]
    return signals


def make_task(fmu: Fmu, case: Case, samples: int, held: bool) -> Task:
    """Choose outputs and all parameters that have a Real start value."""
    description = fmu.description
    times = np.linspace(0.0, case.duration, samples)
    signals = motion(description, times, case.amplitude)
    outputs = [v.name for v in description.outputs if v.type == "Real"]
    torques = [name for name in outputs if name.startswith("tau[")]
    linear = description.can_interpolate_inputs and not held
    return Task(
        SimulationSetup(
            times,
            tuple(signals),
            np.column_stack(list(signals.values())) if signals else None,
            tuple((torques or outputs)[: case.outputs]),
            interpolation="linear" if linear else "hold",
        ),
        {
            v.name: v.start
            for v in description.settable_parameters[:7]
            if isinstance(v.start, float)
        },
        linear,
    )


class Engine:
    """fmident."""

    name = "fmident engine"

    def __init__(self, simulator: Simulator, task: Task) -> None:
        self.simulator, self.task = simulator, task

    def run(self, repeats: int) -> tuple[list[float], np.ndarray]:
        """Return the seconds of each run, and the outputs."""
        return timed(
            lambda: self.simulator.simulate(self.task.setup, self.task.parameters), repeats
        )


class CProgram:
    """The C program."""

    name = "C program"

    def __init__(self, fmu: Fmu, task: Task, folder: Path) -> None:
        self.fmu, self.task, self.folder = fmu, task, folder
        self.program = folder / "driver"
        compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            sys.exit("no C compiler found: install one, or name it in CC")
        headers = Path(fmpy.__file__).parent / "c-code"
        source = Path(__file__).parent / "engine" / "driver.c"
        subprocess.run(
            [compiler, "-O2", "-std=gnu11", f"-I{headers}", "-o", self.program, source, "-ldl"],
            check=True,
        )

    def run(self, repeats: int) -> tuple[list[float], np.ndarray]:
        """Return the seconds of each run, and the outputs."""
        setup, description = self.task.setup, self.fmu.description
        assert setup.inputs is not None
        names = (setup.input_names, setup.output_names, tuple(self.task.parameters))
        tolerance = setup.tolerance or description.default_tolerance
        n = setup.times.size
        counts = [n, *(len(group) for group in names), repeats, self.task.linear]
        references = [description.variable(v).value_reference for group in names for v in group]
        integers = np.array([*counts, tolerance is not None, *references], np.int64)
        doubles = np.concatenate(
            [
                [tolerance or 0.0],
                list(self.task.parameters.values()),
                setup.times,
                setup.inputs.flat,
            ]
        )
        request, result = self.folder / "request.bin", self.folder / "result.bin"
        request.write_bytes(integers.tobytes() + doubles.tobytes())
        subprocess.run(
            [
                self.program,
                self.fmu.library_path,
                description.guid,
                self.fmu.resources,
                request,
                result,
            ],
            check=True,
        )
        values = np.frombuffer(result.read_bytes())
        outputs = len(setup.output_names)
        return list(values[n * outputs :]), values[: n * outputs].reshape(n, outputs)


class PythonLoop:
    """A loop in Python over FMPy's calls, as users write it."""

    name = "Python loop over FMPy's calls"

    def __init__(self, slave: FMU2Slave, task: Task, description: ModelDescription) -> None:
        self.slave, self.task, self.description = slave, task, description

    def run(self, repeats: int) -> tuple[list[float], np.ndarray]:
        """Return the seconds of each run, and the outputs."""
        return timed(self.once, repeats)

    def once(self) -> np.ndarray:
        """Simulate once."""
        slave, setup = self.slave, self.task.setup
        assert setup.inputs is not None

        def of(names: object) -> list[int]:
            return [self.description.variable(n).value_reference for n in names]  # type: ignore[attr-defined]

        vu, vy, vp = of(setup.input_names), of(setup.output_names), of(self.task.parameters)
        times, inputs = setup.times.tolist(), setup.inputs.tolist()
        slave.reset()
        slave.setupExperiment(
            tolerance=setup.tolerance or self.description.default_tolerance,
            startTime=times[0],
            stopTime=times[-1],
        )
        slave.setReal(vp, list(self.task.parameters.values()))
        slave.enterInitializationMode()
        slave.setReal(vu, inputs[0])
        slave.exitInitializationMode()
        rows = [slave.getReal(vy)]
        for i in range(len(times) - 1):
            h = times[i + 1] - times[i]
            if self.task.linear:
                slopes = [(b - a) / h for a, b in zip(inputs[i], inputs[i + 1], strict=True)]
                slave.setRealInputDerivatives(vu, [1] * len(vu), slopes)
            slave.doStep(times[i], h)
            slave.setReal(vu, inputs[i + 1])
            rows.append(slave.getReal(vy))
        slave.terminate()
        return np.array(rows)


class SimulateFmu:
    """FMPy's own simulation function with a reused instance."""

    name = "FMPy simulate_fmu"

    def __init__(self, slave: FMU2Slave, folder: str, task: Task) -> None:
        self.slave, self.folder, self.task = slave, folder, task
        self.description = fmpy.read_model_description(folder)
        setup = task.setup
        assert setup.inputs is not None
        kinds = [(name, np.float64) for name in ("time", *setup.input_names)]
        self.signals = np.zeros(setup.times.size, dtype=kinds)
        self.signals["time"] = setup.times
        for name, column in zip(setup.input_names, setup.inputs.T, strict=True):
            self.signals[name] = column

    def run(self, repeats: int) -> tuple[list[float], np.ndarray]:
        """Return the seconds of each run, and the outputs."""
        return timed(self.once, repeats)

    def once(self, held: bool = False) -> np.ndarray:
        """Simulate once."""
        times, outputs = self.task.setup.times, self.task.setup.output_names
        self.slave.reset()
        result = fmpy.simulate_fmu(
            self.folder,
            validate=False,
            fmi_type="CoSimulation",
            start_time=float(times[0]),
            stop_time=float(times[-1]),
            output_interval=float(times[1] - times[0]),
            start_values=self.task.parameters,
            input=self.signals if self.task.setup.input_names else None,
            output=list(outputs),
            set_input_derivatives=self.task.linear and not held,
            model_description=self.description,
            fmu_instance=self.slave,
        )
        return np.column_stack([result[name] for name in outputs])


Contestant = Engine | CProgram | PythonLoop | SimulateFmu


def timed(once: Callable[[], np.ndarray], repeats: int) -> tuple[list[float], np.ndarray]:
    """Call `once` several times; return the seconds of each call, and the last result."""
    seconds: list[float] = []
    result = np.empty(0)
    for _ in range(repeats):
        began = time.process_time()
        result = once()
        seconds.append(time.process_time() - began)
    return seconds, result


def deviation(result: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest deviation relative to the range of each output."""
    span = np.ptp(reference, axis=0)
    return float((np.abs(result - reference) / np.where(span == 0.0, 1.0, span)).max())


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--fmu", type=Path, help="an FMU of your own instead")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--inputs-held", action="store_true", help="no input interpolation")
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]!r}: choose of {', '.join(CASES)}")
    chosen = [CASES[name] for name in options.cases or CASES]
    if options.fmu is not None:
        chosen = [Case(options.fmu)]
    codes = []
    for case in chosen:
        with tempfile.TemporaryDirectory() as folder:
            fmu = built(case, Path(folder))
            samples = options.samples or case.samples
            codes.append(
                run_case(case, fmu, Path(folder), samples, options.rounds, options.inputs_held)
            )
    return max(codes)


def built(case: Case, folder: Path) -> Path:
    """Return the case's FMU, built first if it comes as a source."""
    if case.source is not None:
        name = case.source.stem
        build(load_plugins(), name, sources=[case.source], output=folder / f"{name}.fmu")
        return folder / f"{name}.fmu"
    assert case.fmu is not None
    if not case.fmu.exists():
        sys.exit(f"{case.fmu} is missing: build it first, fmident build {case.fmu.stem}")
    return case.fmu


def run_case(case: Case, path: Path, folder: Path, samples: int, rounds: int, held: bool) -> int:
    """Run all contestants on one FMU, interleaved; return the exit code."""
    unpacked = fmpy.extract(str(path))
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        task = make_task(fmu, case, samples, held)
        slave = FMU2Slave(
            guid=fmu.description.guid,
            unzipDirectory=unpacked,
            modelIdentifier=fmu.description.model_identifier,
            instanceName="benchmark",
        )
        slave.instantiate()
        c = CProgram(fmu, task, folder)
        engine = Engine(simulator, task)
        peer = SimulateFmu(slave, unpacked, task)
        contestants: list[tuple[Contestant, int]] = [(c, 10), (engine, 10)]
        contestants.append((PythonLoop(slave, task, fmu.description), 1))
        if case.with_fmpy:
            contestants.append((peer, 1))
        seconds: dict[str, list[list[float]]] = {x.name: [] for x, _ in contestants}
        results: dict[str, np.ndarray] = {}
        for contestant, _ in contestants:  # first runs: compile, load, fill caches
            contestant.run(1)
        for _ in range(rounds):
            for contestant, repeats in contestants:
                taken, result = contestant.run(repeats)
                # Of a batch in C the first run is the first of its process.
                seconds[contestant.name].append(taken[1:] or taken)
                results[contestant.name] = result
        apart = {name: deviation(y, results[c.name]) for name, y in results.items()}
        if case.with_fmpy:
            as_held = dataclasses.replace(task.setup, interpolation="hold")
            reference = simulator.simulate(as_held, task.parameters)
            # The first row is the initial state, the second belongs to the first input too.
            apart[peer.name] = deviation(peer.once(held=True)[2:], reference[1:-1])
        slave.freeInstance()
        code = report(fmu.description, task, seconds, apart)
    shutil.rmtree(unpacked, ignore_errors=True)
    return code


def report(
    description: ModelDescription,
    task: Task,
    seconds: dict[str, list[list[float]]],
    apart: dict[str, float],
) -> int:
    """Print the table; return the exit code."""
    setup = task.setup
    print(
        f"{description.name}: {setup.times.size} samples, {len(setup.input_names)} inputs"
        f" ({'linear' if task.linear else 'held'}), {len(setup.output_names)} outputs,"
        f" {len(task.parameters)} parameters"
    )
    # A busy machine only ever adds time, so the fastest of the interleaved runs are compared.
    fastest = {name: min(x for r in taken for x in r) for name, taken in seconds.items()}
    ratios = {name: mine / fastest[CProgram.name] for name, mine in fastest.items()}
    print(f"{'':32}{'fastest':>12}{'to C':>10}{'median':>12}{'deviation':>12}")
    for name, taken in seconds.items():
        flat = [x for r in taken for x in r]
        print(
            f"{name:32}{1e3 * fastest[name]:9.3f} ms{ratios[name]:10.3f}"
            f"{1e3 * statistics.median(flat):9.3f} ms{apart[name]:12.1e}"
        )
    good = max(apart.values()) <= AGREEMENT
    ratio = ratios[Engine.name]
    if not good:
        print("the results differ")
    print(f"engine to C program: {ratio:.3f} (bar: {BAR})")
    return 0 if good and ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
