"""Every registered estimator on an FMU: worker processes give the bits of this process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.errors import Diagnostic
from fmident.estimation import EstimationResult, Estimator, Iteration, StopEstimation
from fmident.evaluation import make_executor
from fmident.fmu import Fmu, SimulationSetup, open_fmu
from fmident.plugins import load_plugins
from fmident.problem.model import EvaluationSettings
from fmident.testing import ConformanceProblem, Subject

pytestmark = pytest.mark.slow

OSCILLATOR = "Mechanisms.FMUs.MassSpringDamper"
AXIS = "Mechanisms.FMUs.PositioningAxisInverse"
ESTIMATORS = load_plugins().estimators.registrations
OPTIONS: dict[str, dict[str, Any]] = {
    "algebraic": {"known": {"b0": 1.0}},
    "kalman-bucy": {"known": {"b0": 1.0}},
    "extended-kalman": {"every": 4},
}


class FmuModel:
    """Simulates an FMU where the catalogue has a function."""

    def __init__(self, fmu: Fmu, output: str) -> None:
        self._fmu, self._output = fmu, output

    def __call__(self, times: F64, inputs: Mapping[str, F64], **values: float) -> Mapping[str, F64]:
        columns = np.column_stack(list(inputs.values()))
        setup = SimulationSetup(
            times, tuple(inputs), columns, (self._output,), start_values=values, tolerance=1e-8
        )
        with self._fmu.simulator() as simulator:
            return {self._output: simulator.simulate(setup)[:, 0]}


def force(times: F64, number: int) -> dict[str, F64]:
    return {"F": 20.0 * np.sin(9.0 * times) * (1.0 + np.sin(2.0 * number * times))}


def motion(times: F64, number: int) -> dict[str, F64]:
    w = 2.0 + number
    return {"q": np.sin(w * times), "qd": w * np.cos(w * times), "qdd": -w * w * np.sin(w * times)}


@pytest.fixture(scope="module")
def oscillator(build_fmu: Callable[[str], Path]) -> Iterator[tuple[Path, ConformanceProblem]]:
    path = build_fmu(OSCILLATOR)
    with open_fmu(path) as fmu:
        yield (
            path,
            ConformanceProblem(
                "oscillator",
                "mass, spring and damper",
                FmuModel(fmu, "x"),
                truth={"d": 2.0, "k": 100.0},
                initial={"d": 1.0, "k": 80.0},
                lower={"d": 0.1, "k": 10.0},
                upper={"d": 10.0, "k": 500.0},
                times=np.linspace(0.0, 2.0, 201),
                inputs=force,
                provides=frozenset({"linear-equation", "settable-states"}),
                coefficients={"d": "a1", "k": "a0"},
                order=2,
                states={"x_start": "x", "v_start": "v"},
                start_values={"m": 1.0, "x_start": 0.05, "v_start": 0.0},
                sigma=1e-4,
            ),
        )


@pytest.fixture(scope="module")
def axis(build_fmu: Callable[[str], Path]) -> Iterator[tuple[Path, ConformanceProblem]]:
    path = build_fmu(AXIS)
    with open_fmu(path) as fmu:
        yield (
            path,
            ConformanceProblem(
                "axis",
                "the force that moves an axis",
                FmuModel(fmu, "force"),
                truth={"m": 90.0, "viscousFriction": 200.0},
                initial={"m": 60.0, "viscousFriction": 100.0},
                lower={"m": 1.0, "viscousFriction": 1.0},
                upper={"m": 500.0, "viscousFriction": 900.0},
                times=np.linspace(0.0, 2.0, 201),
                inputs=motion,
                provides=frozenset({"linear-outputs"}),
                sigma=1.0,
            ),
        )


class EndsAtTheSecond:
    def iteration(self, state: Iteration) -> None:
        if state.number == 2:
            raise StopEstimation("enough to compare")


@pytest.mark.each_time(
    "least-squares", "linear-regression", "extended-kalman", "posterior", "differential-evolution"
)
@pytest.mark.parametrize("kind", [r.item for r in ESTIMATORS.values()], ids=ESTIMATORS)
def test_processes_give_the_bits_of_this_process(
    kind: type[Estimator[Any]], request: pytest.FixtureRequest
) -> None:
    linear = "linear-outputs" in kind.requires
    path, bench = request.getfixturevalue("axis" if linear else "oscillator")
    subject = Subject(kind, bench, OPTIONS.get(kind.name, kind.trials[0]))
    plain = dataclasses.replace(bench.problem(experiments=2), fmu=path)
    found: list[EstimationResult] = []
    told: list[Diagnostic] = []
    for name in ("inline", "processes"):
        settings = EvaluationSettings(tolerance=1e-8, check=False, executor=name, workers=2)
        problem = dataclasses.replace(plain, evaluation=settings)
        executor = make_executor(problem, warn=told.append)
        found.append(subject.run(problem, executor=executor, observers=[EndsAtTheSecond()]))
        report = executor.report()
        assert report.name == name
        assert report.crashes == 0
    inline, processes = found
    assert inline.values == processes.values
    assert inline.status == processes.status != "failed"
    assert inline.cost_final < inline.cost_initial
    assert [i.cost for i in inline.history] == [i.cost for i in processes.history]
    assert inline.simulations == processes.simulations
    for one, two in zip(inline.series, processes.series, strict=True):
        np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(inline.covariance, processes.covariance)
    assert told == []
