"""An FMU that misbehaves on request, and problems with it."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fmident.data.experiment import Experiment, Measurement
from fmident.evaluation import Simulated, SimulationFailure, SimulationTask
from fmident.fmu.sensitivity_table import EXTENSION_FILE, EXTENSION_TEXT
from fmident.problem.model import EstimatorSettings, EvaluationSettings, Parameter, Problem

from ...fmu.build import Fixture, build, real

FINE, CRASH, HANG, LEAK, DISCARD, ERROR, FATAL, FLOOD, CHDIR, SINGLE = range(10)
ABORT, EXIT, GREEDY, NAN, INF, SLOW, KILLED, CHATTER, QUIT = range(10, 19)
CLOSES, TERMINATED, ALARM, STOPPED, QUITS_WELL = range(19, 24)

SOURCE = Path(__file__).parent / "fixtures" / "faults.c"
VARIABLES = "\n".join(
    [
        real("a", 0, "parameter", start=1),
        real("b", 1, "parameter", start=0.5),
        real("at", 2, "parameter", start=1),
        real("kind", 3, "parameter", start=0),
        real("threshold", 4, "parameter", start=-1e300),
        real("x", 5, "output"),
        real("y", 6, "output"),
        real("pace", 7, "parameter", start=0),
        real("bent", 9, "parameter", start=0),
    ]
)
CATEGORIES = ("logStatusDiscard", "logStatusError", "logStatusFatal")

TIMES = np.linspace(0.0, 2.0, 21)

BuildFaults = Callable[..., Path]


SENSITIVE = "SENSITIVE"
"""Definition of an FMU that differentiates ``x`` and ``y`` with respect to ``a`` and ``b``."""


def build_faults(folder: Path, *defines: str) -> Path:
    """Return the FMU."""
    fmu = build(Fixture(str(SOURCE), VARIABLES, {}, defines, categories=CATEGORIES), folder)
    if SENSITIVE in defines:
        with zipfile.ZipFile(fmu, "a") as archive:
            if EXTENSION_FILE not in archive.namelist():
                archive.writestr(EXTENSION_FILE, EXTENSION_TEXT)
    return fmu


def make_problem(
    fmu: Path, *, start: dict[str, float] | None = None, **settings: object
) -> Problem:
    """Return a problem with two experiments, of 21 and 11 instants."""
    experiments = tuple(
        Experiment(
            name,
            times,
            {},
            tuple(
                Measurement(name=v, variable=v, column=v, values=0.0 * times, sigma=np.array(1.0))
                for v in variables
            ),
            start_values=dict(start or {}),
        )
        for name, times, variables in (
            ("long", TIMES, ("x", "y")),
            ("short", TIMES[:11], ("y",)),
        )
    )
    settings = {"timeout": 20.0, "workers": 2, **settings}
    return Problem(
        fmu=fmu,
        parameters=(Parameter("a", 1.0, variable="a"), Parameter("b", 0.5, variable="b")),
        experiments=experiments,
        estimator=EstimatorSettings("least-squares"),
        evaluation=EvaluationSettings(**settings),  # type: ignore[arg-type]
    )


def task(a: float, experiment: int = 0, **more: float) -> SimulationTask:
    """Return a task."""
    return SimulationTask(experiment, {"a": a, "b": 0.5, **more})


def failure(outcome: Simulated) -> SimulationFailure:
    """Return the outcome, which must be a failure."""
    assert isinstance(outcome, SimulationFailure), "the simulation should have failed"
    return outcome


def same(first: list[Simulated], second: list[Simulated]) -> bool:
    """Return whether outcomes agree to the last bit."""
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        if isinstance(one, SimulationFailure) or isinstance(other, SimulationFailure):
            if type(one) is not type(other):
                return False
        elif one.shape != other.shape or one.tobytes() != other.tobytes():
            return False
    return True


def lives(pid: int) -> bool:
    """Return whether a process lives; one that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


STUDY = """\
[model]
fmu = "{fmu}"
start_values = {{ kind = {kind}, at = 0.0, threshold = {threshold}, pace = {pace} }}

[parameters.a]
initial = 0.7
bounds = [0.1, 5.0]

[parameters.b]
initial = 0.2
bounds = [-2.0, 2.0]

[[experiments]]
name = "step"
data = "data.csv"
time = "time"

[experiments.outputs]
x = {{ column = "x", sigma = 1e-3 }}
y = {{ column = "y", sigma = 1e-3 }}

[estimator]
name = "least-squares"

[evaluation]
{evaluation}
"""

TRUE = {"a": 1.3, "b": 0.4}


def write_study(
    folder: Path,
    fmu: Path,
    *,
    kind: int = FINE,
    pace: float = 0.0,
    threshold: float = -1e300,
    evaluation: str = "",
) -> Path:
    """Write a problem file and its data, exact but for noise of 1e-3; return the file."""
    x, rows = 0.0, ["time,x,y"]
    random = np.random.default_rng(7)
    for k, t in enumerate(TIMES):
        if k:
            x += (TIMES[k] - TIMES[k - 1]) * (TRUE["a"] - x)
        first, second = 1e-3 * random.standard_normal(2)
        row = (t, x + first, x + TRUE["b"] + second)
        rows.append(",".join(repr(float(value)) for value in row))
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    path = folder / "problem.toml"
    path.write_text(
        STUDY.format(fmu=fmu, kind=kind, pace=pace, threshold=threshold, evaluation=evaluation)
    )
    return path
