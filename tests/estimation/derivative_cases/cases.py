"""Models whose sensitivities are known exactly, with the traps that engineers' models have.

Each is a real simulation: an FMU of the embedded compiler, or one from C with a solver of its own.
Exact outputs, standard errors and ranks lie in ``references``, made by ``make_references.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fmident.arrays import F64
from fmident.compilers.base import Compiler
from fmident.data.experiment import Experiment, Measurement
from fmident.problem.model import (
    DifferenceScheme,
    EstimatorSettings,
    EvaluationSettings,
    Parameter,
    Problem,
    Scaling,
)

from ...fmu.build import Fixture, build, real
from ...fmu.exchange import Exchange, Signal, build_exchange, states
from ...kept import library_fmu

HERE = Path(__file__).resolve().parent
TOLERANCES = (1e-4, 1e-6, 1e-8)
MODES: tuple[DifferenceScheme, ...] = ("forward", "central", "auto")


@dataclass(frozen=True, eq=False)
class Recording:
    """One experiment: when, under which inputs, and what is measured with which noise.

    Parameters
    ----------
    name
        Unique within the case.
    times
        Shape (n,), s, from 0.
    sigma
        Output variable to the standard deviation of its noise.
    inputs
        Input variable to values of shape (n,), straight lines in between.
    start
        Start values that hold here only.
    """

    name: str
    times: F64
    sigma: Mapping[str, float]
    inputs: Mapping[str, F64] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Point:
    """What holds exactly at some values of the parameters.

    Parameters
    ----------
    values
        Parameter to value.
    standard_errors
        Parameter to its standard error; ``None`` where the data leave it open.
    rank
        Of the Jacobian.
    """

    values: Mapping[str, float]
    standard_errors: Mapping[str, float | None]
    rank: int


@dataclass(frozen=True)
class Reference:
    """What is known of a case.

    Parameters
    ----------
    outputs
        Experiment to output to values at the truth, shape (n,).
    points
        The truth, then others up to 5 % away: whether a step is good is partly luck.
    """

    outputs: Mapping[str, Mapping[str, F64]]
    points: tuple[Point, ...]


@dataclass(frozen=True, eq=False)
class Case:
    """A model, its true parameters, and what is measured.

    Parameters
    ----------
    name, trap
        What it is called, and what is difficult about it.
    model
        A class of ``models``, or a fixture in C.
    parameters
        With the true values as initial ones.
    recordings
        At least one.
    """

    name: str
    trap: str
    model: str | Fixture | Exchange
    parameters: tuple[Parameter, ...]
    recordings: tuple[Recording, ...]

    @property
    def truth(self) -> dict[str, float]:
        """Parameter to its true value."""
        return {q.name: q.initial for q in self.parameters}

    @cached_property
    def reference(self) -> Reference:
        """Read from its file."""
        found = json.loads((HERE / "references" / f"{self.name}.json").read_text())
        outputs = {
            experiment: {variable: np.array(values) for variable, values in columns.items()}
            for experiment, columns in found["outputs"].items()
        }
        return Reference(outputs, tuple(Point(**point) for point in found["points"]))

    def fmu(self, compiler: Compiler, folder: Path) -> Path:
        """Return the FMU, compiled to a folder unless it is kept."""
        if isinstance(self.model, Fixture):
            return build(self.model, folder)
        if isinstance(self.model, Exchange):
            return build_exchange(self.model, 2, folder)
        return library_fmu(compiler, self.model, (HERE / "models" / f"{self.model}.mo",))

    def problem(
        self,
        fmu: Path,
        tolerance: float | None,
        difference: DifferenceScheme,
        noise: np.random.Generator | None = None,
        point: int = 0,
    ) -> Problem:
        """Return the problem that begins at a point, with exact or with noisy data."""
        experiments = []
        for recording in self.recordings:
            measurements = []
            for variable, sigma in recording.sigma.items():
                values = self.reference.outputs[recording.name][variable]
                if noise is not None:
                    values = values + sigma * noise.standard_normal(values.size)
                measurements.append(
                    Measurement(variable, variable, variable, values, np.array(sigma))
                )
            experiments.append(
                Experiment(
                    recording.name,
                    recording.times,
                    recording.inputs,
                    tuple(measurements),
                    recording.start,
                )
            )
        values = self.reference.points[point].values
        return Problem(
            fmu,
            tuple(replace(q, initial=values[q.name]) for q in self.parameters),
            tuple(experiments),
            EstimatorSettings("least-squares"),
            EvaluationSettings(
                tolerance=tolerance, difference=difference, check=False, executor="inline"
            ),
        )


def _parameters(truth: Mapping[str, float], scaling: Scaling = "linear") -> tuple[Parameter, ...]:
    return tuple(_parameter(name, name, value, scaling) for name, value in truth.items())


def _parameter(
    name: str,
    variable: str,
    value: float,
    scaling: Scaling = "linear",
    experiments: tuple[str, ...] | None = None,
) -> Parameter:
    return Parameter(
        name, value, 0.1 * value, 10.0 * value, variable, experiments, scaling, scale=value
    )


def _one(times: F64, sigma: Mapping[str, float], **inputs: F64) -> tuple[Recording, ...]:
    return (Recording("data", times, sigma, inputs),)


def _room() -> tuple[Recording, ...]:
    """Return 2.5 days in minutes: the weather, and a heater that goes on and off."""
    times = 60.0 * np.arange(3600)
    day = 2.0 * np.pi * times / 86400.0
    outside = np.round(5.0 + 6.0 * np.sin(day) + np.sin(7.3 * day), 3)
    heating = np.round(35.0 + 15.0 * np.sign(np.sin(5.1 * day + 0.4)), 3)
    return _one(times, {"T": 0.05}, Ti1=outside, Ti2=heating)


def _chamber() -> tuple[Recording, ...]:
    """Return an hour in seconds: a wall that sways and a heater that goes on and off."""
    times = np.arange(0.0, 3600.0)
    wall = np.round(5.0 + 6.0 * np.sin(times / 857.0), 3)
    heating = np.round(35.0 + 15.0 * np.sign(np.sin(times / 486.0 + 0.4)), 3)
    return _one(times, {"T": 0.05}, Ti1=wall, Ti2=heating)


def _oscillator(source: str, *defines: str) -> Fixture:
    variables = [
        real("x", 0, "output"),
        real("k", 1, "parameter", start=4.0),
        real("d", 2, "parameter", start=0.3),
        real("x0", 3, "parameter", start=1.0),
    ]
    return Fixture(str(HERE / "fixtures" / source), "\n".join(variables), defines=defines)


BALL = Exchange(
    "ball.c",
    (*states("h", "v"), Signal("g", 4, "parameter", 9.81), Signal("e", 5, "parameter", 0.8)),
    indicators=1,
)
ROOM = {"R1": 0.02, "R2": 0.05, "C": 5e5}
OSCILLATOR = {"k": 4.0, "d": 0.3, "x0": 1.0}
SWINGS = _one(np.linspace(0.0, 20.0, 101), {"x": 0.005})

CASES = (
    Case(
        "products",
        "only R1*C and R2*C act; 3600 samples",
        "Thermal",
        _parameters(ROOM),
        _room(),
    ),
    Case(
        "log-products",
        "the same in logarithms, sampled once a second",
        "Thermal",
        _parameters({**ROOM, "C": 2e4}, "log"),
        _chamber(),
    ),
    Case(
        "sum",
        "only d1 + d2 acts",
        "Dampers",
        _parameters({"m": 1.5, "d1": 0.4, "d2": 0.7, "k": 20.0}),
        _one(np.linspace(0.0, 6.0, 121), {"x": 2e-3}),
    ),
    Case(
        "stiff",
        "Robertson's reaction, rates over nine decades",
        "Robertson",
        _parameters({"k1": 0.04, "k2": 1e4, "k3": 3e7}),
        _one(
            np.concatenate([[0.0], np.round(np.geomspace(1e-3, 40.0, 40), 6)]),
            {"y1": 5e-3, "y2": 5e-7},
        ),
    ),
    Case(
        "bend",
        "the substrate runs out within a sample",
        "Monod",
        _parameters({"mu": 0.4, "Ks": 0.02, "Y": 0.5}),
        _one(0.25 * np.arange(53), {"X": 0.005, "S": 0.005}),
    ),
    Case(
        "jump",
        "a ball that bounces: events between samples",
        BALL,
        _parameters({"g": 9.81, "e": 0.8}),
        _one(0.035 * np.arange(60), {"h": 5e-3}),
    ),
    Case(
        "switch",
        "a right-hand side that jumps at an unknown time, without an event",
        "Switch",
        _parameters({"power": 2.0, "off": 3.14159, "loss": 0.35}),
        _one(np.linspace(0.0, 10.0, 81), {"x": 0.02}),
    ),
    Case(
        "drift",
        "an orbit whose phase drifts",
        "Predator",
        _parameters({"a": 1.1, "b": 0.4, "c": 0.4, "d": 0.1}),
        _one(np.linspace(0.0, 60.0, 121), {"x": 0.3, "y": 0.15}),
    ),
    Case(
        "coarse",
        "a coarse solver of its own that respects the tolerance",
        _oscillator("coarse.c"),
        _parameters(OSCILLATOR),
        SWINGS,
    ),
    Case(
        "deaf",
        "a coarse solver of its own, 1e-4 whatever is asked for",
        _oscillator("coarse.c", "DEAF"),
        _parameters(OSCILLATOR),
        SWINGS,
    ),
    Case(
        "threshold",
        "twice as many solver steps just beside the truth",
        _oscillator("discrete.c"),
        _parameters(OSCILLATOR),
        SWINGS,
    ),
    Case(
        "staircase",
        "another number of solver steps every 1e-5",
        _oscillator("discrete.c", "STAIRCASE"),
        _parameters(OSCILLATOR),
        SWINGS,
    ),
    Case(
        "units",
        "1e-11 and 1e10 in one model",
        "Discharge",
        _parameters({"R": 2.2e9, "C": 4.7e-11, "leak": 3e10}),
        _one(np.linspace(0.0, 0.6, 61), {"v": 1e-3, "i": 4e-13}),
    ),
    Case(
        "twenty",
        "20 parameters",
        "Ladder",
        tuple(_parameter(f"R{j + 1}", f"R[{j + 1}]", round(0.6 + 0.1 * j, 1)) for j in range(10))
        + tuple(
            _parameter(f"C{j + 1}", f"C[{j + 1}]", c)
            for j, c in enumerate((3.0, 4.0, 2.0, 3.0, 4.0, 2.0, 3.0, 4.0, 2.0, 3.0))
        ),
        _one(np.linspace(0.0, 120.0, 41), {f"T[{j + 1}]": 0.02 for j in range(10)}),
    ),
    Case(
        "log",
        "log scaling over nine decades",
        "Dose",
        _parameters({"ka": 4e-4, "ke": 4e-5, "V": 3e4}, "log"),
        _one(np.linspace(0.0, 86400.0, 49), {"c": 0.05}),
    ),
    Case(
        "experiments",
        "three experiments, each with a start of its own",
        "Cooling",
        (
            _parameter("C", "C", 40.0),
            _parameter("k", "k", 0.5),
            _parameter("warm", "start", 60.0, experiments=("cooling",)),
            _parameter("cold", "start", 12.0, experiments=("heating", "drifting")),
        ),
        (
            Recording("cooling", np.linspace(0.0, 200.0, 41), {"T": 0.1}, start={"Q": 0.0}),
            Recording("heating", np.linspace(0.0, 300.0, 31), {"T": 0.2}, start={"Q": 15.0}),
            Recording("drifting", np.linspace(0.0, 100.0, 21), {"T": 0.1}, start={"Q": 2.0}),
        ),
    ),
)
BY_NAME = {case.name: case for case in CASES}
