"""The tripod's equations by Runge-Kutta steps of fixed length, in place of its FMU.

A search takes 3000 simulations, and what smoothing gains can be told from hundreds of searches
only. fixed_step.c is some forty times faster than the FMU; before it is used it must give the
FMU's torques for parameters from all over the bounds.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import generate
import numpy as np
import numpy.typing as npt

import fmident
from fmident.evaluation import Evaluator, InProcessExecutor
from fmident.evaluation.executors.base import Done, Executor
from fmident.evaluation.tasks import Simulated, SimulationTask

F64 = npt.NDArray[np.float64]
SOURCE = Path(__file__).with_suffix(".c")
STEPS = 32
"""Per sample: 0.25 ms, stable for the stiffest friction within the bounds."""
MECHANICAL = [name for name in generate.TRUTH if name != "transferTime"]
"""In the order of the C structure."""


class FixedStep(Executor):
    """Runs batches of simulations of the one experiment of a problem.

    Parameters
    ----------
    problem
        The tripod's; its executor.

    Raises
    ------
    RuntimeError
        There is no C compiler.
    """

    def __init__(self, problem: fmident.Problem) -> None:
        self._experiment = problem.experiments[0]
        inputs = [self._experiment.inputs[name] for name in generate.INPUTS]
        self._inputs = np.ascontiguousarray(np.column_stack(inputs))
        self._folder = tempfile.TemporaryDirectory()
        self._function = ctypes.CDLL(str(_compiled(Path(self._folder.name)))).tripod

    def close(self) -> None:
        """Remove the compiled program."""
        self._folder.cleanup()

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks as one batch."""
        found: list[Simulated] = list(self._torques([task.values for task in tasks]))
        if done is not None:
            for i, outputs in enumerate(found):
                done(i, outputs)
        return found

    def run_other(
        self,
        experiment: fmident.Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
    ) -> list[Simulated]:
        """Refuse: this program knows one experiment."""
        raise NotImplementedError("only the torques of the motion")

    def _torques(self, values: Sequence[Mapping[str, float]]) -> F64:
        parameters = np.array([[v[name] for name in MECHANICAL] for v in values])
        times = self._experiment.times
        torques = np.empty((len(values), times.size, 3))
        self._function(
            len(values),
            times.size,
            ctypes.c_double(generate.SAMPLE),
            STEPS,
            *(a.ctypes.data_as(ctypes.c_void_p) for a in (parameters, self._inputs, torques)),
        )
        return torques


def _compiled(folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("no C compiler: install gcc, or run the study on the FMU")
    program = folder / "fixed_step.so"
    options = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    command = [compiler, *options, str(SOURCE), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    return program


def difference(problem: fmident.Problem, count: int = 40) -> float:
    """Return the largest difference between program and FMU, N.m, over `count` random vectors."""
    generator = np.random.default_rng(0)
    points = generator.uniform(problem.lower, problem.upper, (count, len(problem.free)))
    with (
        fmident.open_fmu(problem.fmu) as fmu,
        Evaluator(problem, InProcessExecutor(problem, fmu)) as reference,
        Evaluator(problem, FixedStep(problem)) as program,
    ):
        both = [(reference.simulate(p)[0], program.simulate(p)[0]) for p in points]
    return max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in both)
