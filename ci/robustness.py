# ruff: noqa: T201  # a part of programs that print a table
"""What ``ci/fuzz``, ``ci/kill-and-resume`` and ``ci/hostile-fmus`` have in common."""

from __future__ import annotations

import argparse
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FMIDENT = [sys.executable, "-m", "fmident"]
CODES = (0, 1, 2, 130, 141)
"""Exit codes that a command may end with; 70 is a defect of fmident."""

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
scaling = "log"

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
max_iterations = 2

[evaluation]
executor = "inline"
check = false
"""


@dataclass
class Budget:
    """How long a harness runs: until the first of both limits.

    Parameters
    ----------
    seconds, count
        Limits; infinite when not given.
    """

    seconds: float
    count: float
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def left(self) -> bool:
        """Return whether another case fits in, and count it."""
        if self.done >= self.count or time.monotonic() - self.began > self.seconds:
            return False
        self.done += 1
        return True


def arguments(description: str | None, *, seconds: float, count: int) -> argparse.ArgumentParser:
    """Return a parser with the options that all harnesses take."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seconds", type=float, default=seconds, help=f"no new case after that ({seconds:g})"
    )
    parser.add_argument("--count", type=int, default=count, help=f"cases at most ({count})")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (1)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what led to a finding")
    return parser


def make_study(folder: Path, samples: int = 101) -> Path:
    """Write FMU, data and problem file of a mass-spring-damper; return the problem file."""
    folder.mkdir(parents=True, exist_ok=True)
    run(
        [*FMIDENT, "build", "Mechanisms.FMUs.MassSpringDamper", "-o", "oscillator.fmu"],
        folder,
    )
    rows = [f"{i / 100},{math.sin(7e-2 * i) * 100:.9g}" for i in range(samples)]
    (folder / "input.csv").write_text("\n".join(["time,force", *rows]) + "\n")
    run(
        [*FMIDENT, "simulate", "oscillator.fmu", "--data", "input.csv", "--inputs", "F=force",
         "--set", "m=3", "--set", "d=4", "--set", "k=400", "--outputs", "x", "-o", "sim.csv"],
        folder,
    )  # fmt: skip
    noise = random.Random(1)
    found = (folder / "sim.csv").read_text().splitlines()[2:]  # below the parameters and the names
    lines = [
        f"{row},{float(line.split(',')[2]) + noise.gauss(0.0, 2e-5):.9g}"
        for row, line in zip(rows, found, strict=True)
    ]
    (folder / "data.csv").write_text("\n".join(["time,force,position", *lines]) + "\n")
    problem = folder / "problem.toml"
    problem.write_text(PROBLEM)
    return problem


def run(command: Sequence[str], folder: Path) -> str:
    """Run a command that must succeed; return what it printed.

    Raises
    ------
    SystemExit
        It failed.
    """
    done = subprocess.run(
        [*command], cwd=folder, capture_output=True, text=True, check=False, env=environment()
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a command: one thread for linear algebra."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **more}


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; numbers are aligned to the right."""
    cells = [list(header), *[[str(c) for c in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for number, row in enumerate(cells):
        line = [
            cell.rjust(width) if cell.replace(".", "").isdigit() else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ]
        print("  ".join(line).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
