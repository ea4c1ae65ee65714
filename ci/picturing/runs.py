"""The runs that pictures show, each made once."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fmident
from fmident.estimation.result import EstimationResult
from fmident.evaluation import Evaluator, make_executor
from fmident.evaluation.cost_map import CostMap, cost_map
from picturing.drawing import F64, ROOT

OSCILLATOR = "Mechanisms.FMUs.MassSpringDamper"
TRUE = {"m": 3.0, "d": 5.0, "k": 400.0}
START = {
    "m": {"initial": 1.0, "bounds": (0.1, 20.0)},
    "d": {"initial": 1.0, "bounds": (0.0, 100.0)},
    "k": {"initial": 200.0, "bounds": (10.0, 5000.0)},
}


def motion(end: float = 5.0, step: float = 0.004, *, released: bool = False) -> tuple[F64, F64]:
    """Return instants (s) and deflections (m) of the oscillator, without noise."""
    m, d, k = TRUE.values()
    times = np.arange(0.0, end, step)
    omega0, zeta = np.sqrt(k / m), d / (2 * np.sqrt(k * m))
    omega = omega0 * np.sqrt(1 - zeta**2)
    swing = np.cos(omega * times) + zeta * omega0 / omega * np.sin(omega * times)
    free = np.exp(-zeta * omega0 * times) * swing
    return times, 0.02 * free if released else 10.0 / k * (1 - free)


def frame(
    end: float = 5.0,
    step: float = 0.004,
    *,
    released: bool = False,
    sigma: float = 1e-4,
    seed: int = 1,
) -> pd.DataFrame:
    """Return a measured motion; `sigma` of its noise in m."""
    times, x = motion(end, step, released=released)
    noise = np.random.default_rng(seed).normal(0.0, sigma, len(times))
    force = 0.0 if released else 10.0
    return pd.DataFrame({"time [s]": times, "force [N]": force, "position [m]": x + noise})


def problem(data: Any, *, sigma: float = 1e-4, **changes: Any) -> fmident.Problem:
    """Return the problem of the first tutorial with other data or settings."""
    arguments: dict[str, Any] = {
        "parameters": START,
        "inputs": {"F": "force"},
        "outputs": {"x": {"column": "position", "sigma": sigma}},
    }
    return fmident.Problem.from_frames(OSCILLATOR, data, **(arguments | changes))


@functools.cache
def first() -> EstimationResult:
    """Return the result of the first tutorial."""
    return fmident.estimate(problem(frame()))


@functools.cache
def example(file: str) -> EstimationResult:
    """Return the result of a problem file in ``examples/``; its data are made first."""
    path = ROOT / "examples" / file
    loaded = fmident_problem(path)
    return fmident.estimate(loaded)


def fmident_problem(path: Path) -> fmident.Problem:
    """Return a problem of an example; its FMU and its data are made where they are missing."""
    try:
        return fmident.load_problem(path)
    except fmident.FmidentError:  # the FMU is built by now, which some data need
        subprocess.run([sys.executable, str(path.parent / "generate.py")], check=True)
        return fmident.load_problem(path)


def costs(asked: fmident.Problem, points: F64) -> F64:
    """Return the costs at points of shape (k, n)."""
    with Evaluator(asked, make_executor(asked)) as evaluator:
        return np.asarray(evaluator.costs(points))


def field(asked: fmident.Problem, names: tuple[str, str], **options: Any) -> CostMap:
    """Return the cost over two parameters."""
    with Evaluator(asked, make_executor(asked)) as evaluator:
        return cost_map(evaluator, names, **options)
