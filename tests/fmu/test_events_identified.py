"""Parameters of a bouncing ball from FMUs of both versions and interfaces: the cost jumps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, InProcessExecutor
from fmident.fmu import SimulationSetup, open_fmu
from fmident.problem.model import EstimatorSettings, EvaluationSettings, Parameter, Problem
from fmident_estimators.least_squares.estimator import LeastSquares

from .build import Fixture, build, real
from .exchange import build_exchange
from .slave3 import CONTACT, Slave3, build_slave3
from .test_model_exchange import BALL

pytestmark = pytest.mark.slow  # hundreds of simulations each

TIMES = np.linspace(0.0, 1.5, 151)
BOUNCE = "\n".join(
    [
        real("h", 0, "output", start=1, initial="exact"),
        real("v", 1, "output", start=0, initial="exact"),
        real("g", 2, "parameter", start=9.81),
        real("e", 3, "parameter", start=0.8),
    ]
)


def exchange(version: int) -> Callable[[Path], Path]:
    return lambda folder: build_exchange(BALL, version, folder)


def slave_2(folder: Path) -> Path:
    return build(Fixture("bounce.c", BOUNCE), folder)


def slave_3(folder: Path) -> Path:
    return build_slave3(Slave3("contact.c", CONTACT, {"hasEventMode": "true"}), folder)


KINDS = pytest.mark.parametrize(
    ("make", "truth", "factors"),
    [
        (slave_2, {"g": 9.81, "e": 0.8}, (0.92, 1.08)),
        (slave_3, {"e": 0.8}, (0.9,)),
        (exchange(2), {"g": 9.81, "e": 0.8}, (1.09, 0.94)),
        (exchange(3), {"g": 9.81, "e": 0.8}, (0.91, 0.93)),
    ],
    ids=["co-simulation-2", "co-simulation-3", "model-exchange-2", "model-exchange-3"],
)


def estimate(
    path: Path, outputs: tuple[str, ...], truth: dict[str, float], factors: tuple[float, ...]
) -> EstimationResult:
    with open_fmu(path) as fmu:
        with fmu.simulator() as simulator:
            found: F64 = simulator.simulate(SimulationSetup(TIMES, output_names=outputs), truth)
        measured = found.copy()
        problem = Problem(
            path,
            tuple(
                Parameter(n, f * x, 0.6 * x, min(1.4 * x, 0.97 if n == "e" else 20.0), variable=n)
                for (n, x), f in zip(truth.items(), factors, strict=True)
            ),
            (
                Experiment(
                    "drop",
                    TIMES,
                    {},
                    tuple(
                        Measurement(name, name, name, y, None)
                        for name, y in zip(outputs, measured.T, strict=True)
                    ),
                ),
            ),
            EstimatorSettings("least-squares"),
            evaluation=EvaluationSettings(),
        )
        with Evaluator(problem, InProcessExecutor(problem, fmu)) as evaluator:
            return run_estimation(problem, evaluator, LeastSquares())


@KINDS
@pytest.mark.parametrize("outputs", [("h",), ("h", "v")], ids=["height", "height-and-speed"])
def test_the_ball_is_found(
    fmu_folder: Path,
    make: Callable[[Path], Path],
    truth: dict[str, float],
    factors: tuple[float, ...],
    outputs: tuple[str, ...],
) -> None:
    found = estimate(make(fmu_folder), outputs, truth, factors)
    for name, value in truth.items():
        assert found.values[name] == pytest.approx(value, rel=1e-5)
