"""A small estimation problem on an FMU of the library, as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .edits import replace_once

OSCILLATOR = "Mechanisms.FMUs.MassSpringDamper"

TRUE = {"m": 3.0, "d": 4.0, "k": 400.0}
NOISE = 2e-5

PROBLEM = """\
[model]
fmu = "oscillator.fmu"

[parameters.m]
initial = 2.5
bounds = [0.5, 10.0]

[parameters.d]
initial = 2.0
bounds = [0.0, 50.0]

[parameters.k]
initial = 300.0
bounds = [50.0, 1000.0]

[[experiments]]
name = "push"
data = "data.csv"
time = "time"

[experiments.inputs]
F = "force"

[experiments.outputs]
x = { column = "position", sigma = 2e-5 }

[estimator]
name = "least-squares"
"""


@dataclass(frozen=True)
class Study:
    """A folder with ``problem.toml``, ``data.csv`` and ``oscillator.fmu``."""

    folder: Path

    @property
    def problem(self) -> Path:
        return self.folder / "problem.toml"

    @property
    def data(self) -> Path:
        return self.folder / "data.csv"

    @property
    def fmu(self) -> Path:
        return self.folder / "oscillator.fmu"

    def change(self, old: str, new: str) -> None:
        """Replace text in the problem file; it must be there exactly once."""
        replace_once(self.problem, old, new)
