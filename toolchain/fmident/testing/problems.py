"""A small catalogue of problems with known solution, one for each kind of model.

Each has two free parameters and a model in Python, so that a simulation takes
microseconds and needs neither compiler nor FMU. Data, bounds and initial values can be
varied.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Requirement
from fmident.evaluation import python_problem
from fmident.evaluation.python_model import Model
from fmident.problem.model import Parameter, Problem, Scaling

Inputs = Callable[[F64, int], Mapping[str, F64]]
"""Instants, shape (n,), and the number of the experiment to inputs of shape (n,)."""

SECOND = 0.8
"""Value of a parameter in the second experiment over that in the first, if it differs."""


@dataclass(frozen=True, eq=False)
class ConformanceProblem:
    """A model with two or more parameters, their true values, and its measurement.

    The checks place bounds, starts and failing simulations relative to the truth, which
    must therefore be positive and have a margin around it. Raises `ValueError` if a value
    is missing or the margin too small.

    Parameters
    ----------
    name, summary
        Name, used in names of tests, and the model in words.
    model
        A picklable function, see :class:`~fmident.evaluation.PythonExecutor`.
    truth
        Parameter to true value; the name is also that of the model's argument.
    initial
        Start of the search, by parameter, at most 0.84 of the truth.
    lower, upper
        Bounds, by parameter; `lower` is positive and at most 0.8 of the truth.
    times
        Instants of the first experiment, s, shape (n,), n at least 20.
    inputs
        Makes the inputs of an experiment.
    provides
        Requirements of estimators that it satisfies.
    coefficients, order
        For a linear equation: its order, and the coefficient that each parameter
        represents, such as ``"a0"``.
    states
        Parameter that sets an initial state to the state's variable.
    start_values
        For all experiments.
    sigma
        Standard deviation of the noise.
    precision
        Relative accuracy that a method achieves from noise-free samples.
    """

    name: str
    summary: str
    model: Model
    truth: Mapping[str, float]
    initial: Mapping[str, float]
    lower: Mapping[str, float]
    upper: Mapping[str, float]
    times: F64
    inputs: Inputs
    provides: frozenset[Requirement] = frozenset()
    coefficients: Mapping[str, str] = field(default_factory=dict)
    order: int = 1
    states: Mapping[str, str] = field(default_factory=dict)
    start_values: Mapping[str, float] = field(default_factory=dict)
    sigma: float = 0.05
    precision: float = 1e-6

    def __post_init__(self) -> None:
        if len(self.truth) < 2 or self.times.size < 20:
            raise ValueError(
                f"problem '{self.name}': the checks need at least 2 parameters and 20 samples, "
                f"not {len(self.truth)} and {self.times.size}"
            )
        for name, true in self.truth.items():
            tables = {"initial": self.initial, "lower": self.lower, "upper": self.upper}
            for table, given in tables.items():
                if name not in given:
                    raise ValueError(f"problem '{self.name}': '{table}' lacks '{name}'")
            low, start, high = (given[name] for given in (self.lower, self.initial, self.upper))
            if not (0.0 < low <= min(start, 0.8 * true) and start <= 0.84 * true and true <= high):
                raise ValueError(
                    f"problem '{self.name}': '{name}' has the truth {true:g}, initial {start:g}, "
                    f"lower {low:g}, upper {high:g}; the checks need 0 < lower <= initial <= 0.84 "
                    "truth, lower <= 0.8 truth and truth <= upper"
                )

    def problem(
        self,
        *,
        noise: float = 1.0,
        initial: Mapping[str, float] | None = None,
        upper: Mapping[str, float] | None = None,
        bounded: bool = True,
        fixed: Sequence[str] = (),
        scaling: Scaling = "linear",
        experiments: int = 1,
        local: str | None = None,
        missing: Iterable[int] = (),
        outliers: Iterable[int] = (),
    ) -> Problem:
        """Return the problem, or a variation of it.

        `noise` is relative to `sigma`; `initial` and `upper` replace the usual values, and
        without `bounded` there are no bounds. `fixed` parameters are held at their true value.
        There are 1 or 2 `experiments`, the second shorter and with other inputs; the parameter
        `local` differs between them, as ``name_1`` and ``name_2``. `missing` and `outliers` are
        indices of samples that are missing or off by ten standard deviations.
        """
        parameters: list[Parameter] = []
        for name in self.truth:
            one = Parameter(
                name,
                self.truth[name] if name in fixed else {**self.initial, **(initial or {})}[name],
                self.lower[name] if bounded else -np.inf,
                {**self.upper, **(upper or {})}[name] if bounded else np.inf,
                variable=name,
                scaling=scaling,
                fixed=name in fixed,
            )
            parameters += [one] if name != local else _split(one)
        parts = [
            self._measured(parameters, number, noise, local) for number in range(1, experiments + 1)
        ]
        for part in parts:
            values = part.experiments[0].measurements[0].values
            values[list(outliers)] += 10.0 * self.sigma
            values[list(missing)] = np.nan
        return dataclasses.replace(
            parts[0], experiments=tuple(part.experiments[0] for part in parts)
        )

    def solution(self, problem: Problem) -> dict[str, float]:
        """Return the true values of a problem's parameters, by name."""
        return {
            q.name: self.truth[str(q.variable)] * (SECOND if q.name.endswith("_2") else 1.0)
            for q in problem.parameters
        }

    def options(self, problem: Problem, required: frozenset[Requirement]) -> dict[str, Any]:
        """Return the options of an estimator for this problem or a variation of it.

        They are ``order``, ``known`` and ``map`` of a linear equation, and ``states`` of a
        model with states, as used by the built-in estimators, depending on what the estimator
        requires.
        """
        options: dict[str, Any] = {}
        required &= self.provides
        if "linear-equation" in required:
            free, fixed = problem.free, [q for q in problem.parameters if q.fixed]
            options["order"] = self.order
            options["known"] = {self.coefficients[str(q.variable)]: q.name for q in fixed}
            options["map"] = {q.name: self.coefficients[str(q.variable)] for q in free}
        if "settable-states" in required:
            options["states"] = dict(self.states)
        return options

    def _measured(
        self, parameters: Sequence[Parameter], number: int, noise: float, local: str | None
    ) -> Problem:
        times = self.times if number == 1 else self.times[: 3 * self.times.size // 4]
        inputs = self.inputs(times, number)
        factor = SECOND if number == 2 else 1.0
        truth = {n: v * (factor if n == local else 1.0) for n, v in self.truth.items()}
        clean = self.model(times, inputs, **self.start_values, **truth)
        generator = np.random.default_rng(number)
        # A model may tell more than is measured; the first output is.
        name = next(iter(clean))
        measured = clean[name] + noise * self.sigma * generator.normal(size=times.size)
        base_problem = python_problem(
            {name: measured}, times, parameters, sigma=self.sigma, inputs=inputs
        )
        experiment = dataclasses.replace(
            base_problem.experiments[0], name=f"experiment_{number}", start_values=self.start_values
        )
        return dataclasses.replace(base_problem, experiments=(experiment,))


def conformance_problems() -> tuple[ConformanceProblem, ...]:
    """Return the catalogue; the first problem is for estimators without requirements."""
    return (_DECAY, _LAG, _LOAD)


def _split(parameter: Parameter) -> list[Parameter]:
    return [
        dataclasses.replace(
            parameter, name=f"{parameter.name}_{number}", experiments=(f"experiment_{number}",)
        )
        for number in (1, 2)
    ]


# ------------------------------------------------------------------------------- the models


def decay(times: F64, inputs: Mapping[str, F64], a: float, k: float) -> dict[str, F64]:
    """Return ``y = a exp(-k t)``."""
    return {"y": a * np.exp(-k * times)}


def lag(
    times: F64, inputs: Mapping[str, F64], rate: float, gain: float, x_start: float
) -> dict[str, F64]:
    """Return the solution of ``x' = -rate x + gain u``, exact for u linear between samples."""
    u, x = inputs["u"], np.empty(times.size)
    x[0] = x_start
    for k, h in enumerate(np.diff(times)):
        left = np.exp(-rate * h)
        held = (1.0 - left) / rate
        rising = (h - held) / (rate * h)
        x[k + 1] = left * x[k] + gain * (held * u[k] + rising * (u[k + 1] - u[k]))
    return {"x": x}


def load(times: F64, inputs: Mapping[str, F64], mass: float, damping: float) -> dict[str, F64]:
    """Return the force ``mass a + damping v`` of a prescribed motion."""
    return {"force": mass * inputs["a"] + damping * inputs["v"]}


def _nothing(times: F64, number: int) -> dict[str, F64]:
    return {}


def _waves(times: F64, number: int) -> dict[str, F64]:
    return {"u": np.sin(3.0 * number * times) + 0.5 * np.sin(7.0 * times) + 0.5}


def _motion(times: F64, number: int) -> dict[str, F64]:
    w = 2.0 + number
    return {"v": np.sin(w * times), "a": w * np.cos(w * times)}


_DECAY = ConformanceProblem(
    "decay",
    "an exponential in time",
    decay,
    truth={"a": 2.0, "k": 1.3},
    initial={"a": 1.0, "k": 0.5},
    lower={"a": 0.1, "k": 0.1},
    upper={"a": 5.0, "k": 3.0},
    times=np.linspace(0.0, 3.0, 61),
    inputs=_nothing,
)

_LAG = ConformanceProblem(
    "lag",
    "a linear differential equation of order one, from an input to a state",
    lag,
    truth={"rate": 2.0, "gain": 3.0},
    initial={"rate": 1.0, "gain": 1.5},
    lower={"rate": 0.1, "gain": 0.1},
    upper={"rate": 6.0, "gain": 9.0},
    times=np.linspace(0.0, 2.0, 201),
    inputs=_waves,
    provides=frozenset({"linear-equation", "settable-states"}),
    coefficients={"rate": "a0", "gain": "b0"},
    states={"x_start": "x"},
    start_values={"x_start": 0.4},
    sigma=0.005,
    precision=2e-3,
)

_LOAD = ConformanceProblem(
    "load",
    "a force that is linear in mass and damping",
    load,
    truth={"mass": 2.0, "damping": 1.3},
    initial={"mass": 1.0, "damping": 0.5},
    lower={"mass": 0.1, "damping": 0.1},
    upper={"mass": 5.0, "damping": 3.0},
    times=np.linspace(0.0, 3.0, 61),
    inputs=_motion,
    provides=frozenset({"linear-outputs"}),
)
