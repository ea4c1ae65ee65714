"""Python function in place of an FMU, for tests of estimators and for teaching.

Authors of estimator plugins can test on a problem with known solution, without a
compiler or an FMU::

    problem = python_problem({"y": measured}, times, [Parameter("k", 1.0, variable="k")])
    executor = PythonExecutor(problem, lambda times, inputs, k: {"y": np.exp(-k * times)})
    with Evaluator(problem, executor) as evaluator:
        result = run_estimation(problem, evaluator, MyEstimator())
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import SimulationError
from fmident.evaluation.executors.base import Executor
from fmident.evaluation.setups import output_variables
from fmident.evaluation.tasks import (
    Outcomes,
    Simulated,
    SimulationFailure,
    SimulationTask,
    refuse_not_finite,
)
from fmident.problem.model import EstimatorSettings, EvaluationSettings, Parameter, Problem

Model = Callable[..., Mapping[str, F64]]
"""``model(times, inputs, **values) -> {variable: values of shape (n,)}``."""


class PythonExecutor(Executor):
    """Runs a Python function.

    Parameters
    ----------
    problem
        Its experiments.
    model
        ``model(times, inputs, **values)`` with times of shape (n,), inputs by name, and the
        values of the parameters' FMU variables and the experiment's start values; returns
        at least the measured variables. If it has an argument ``tolerance``, this is the
        simulation's tolerance. It may raise :class:`~fmident.errors.SimulationError`, which
        becomes a failed simulation.
    derivatives
        FMU variable to a function with the arguments of `model` that returns the
        derivatives of its variables with respect to that one, in the same form, like the
        sensitivities of an FMU from the embedded compiler.
    """

    other_experiments = True

    def __init__(
        self, problem: Problem, model: Model, derivatives: Mapping[str, Model] | None = None
    ) -> None:
        self._experiments = problem.experiments
        self._model = model
        self._derivatives = dict(derivatives or {})
        self._tolerance = problem.evaluation.tolerance
        functions = (model, *self._derivatives.values())
        self._takes_tolerance = frozenset(f for f in functions if _takes_tolerance(f))

    @property
    def differentiable(self) -> frozenset[str]:  # type: ignore[override]
        """FMU variables with derivatives."""
        return frozenset(self._derivatives)

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run all tasks in order."""
        for index, task in enumerate(tasks):
            if task.other is None:
                experiment = self._experiments[task.experiment]
                variables = output_variables(experiment)
            else:
                experiment, variables = task.other.experiment, task.other.variables
            yield index, self._run_one(experiment, variables, task)

    def _run_one(
        self, experiment: Experiment, variables: Sequence[str], task: SimulationTask
    ) -> Simulated:
        given: dict[str, Any] = {**experiment.start_values, **task.values}
        asked = self._tolerance if task.tolerance is None else task.tolerance
        functions = (self._model, *(self._derivatives[name] for name in task.sensitivities))
        columns = []
        try:
            for function in functions:
                more = {"tolerance": asked} if function in self._takes_tolerance else {}
                signals = function(experiment.times, experiment.inputs, **given, **more)
                columns += [np.broadcast_to(signals[v], experiment.times.shape) for v in variables]
        except SimulationError as error:
            return SimulationFailure.of(error, task.values, experiment.name)
        outputs = np.column_stack(columns).astype(np.float64)
        return refuse_not_finite(outputs, task.values, experiment.name, len(variables))


def _takes_tolerance(function: Model) -> bool:
    return "tolerance" in inspect.signature(function).parameters


def python_problem(
    measured: Mapping[str, F64],
    times: F64,
    parameters: Sequence[Parameter],
    *,
    sigma: float | None = None,
    inputs: Mapping[str, F64] | None = None,
    estimator: EstimatorSettings | None = None,
    evaluation: EvaluationSettings | None = None,
) -> Problem:
    """Return a problem with one experiment for :class:`PythonExecutor`.

    Parameters
    ----------
    measured
        Output variable to values of shape (n,); NaN marks a missing sample.
    times
        Shape (n,), s.
    parameters
        With ``variable`` set to the model's argument.
    sigma
        Standard deviation of the noise on all outputs; ``None`` if unknown.
    inputs
        Input variable to values of shape (n,).
    estimator, evaluation
        Settings.
    """
    measurements = tuple(
        Measurement(
            name=name,
            variable=name,
            column=name,
            values=np.asarray(values, dtype=np.float64),
            sigma=None if sigma is None else np.array(sigma),
        )
        for name, values in measured.items()
    )
    experiment = Experiment("data", np.asarray(times, dtype=np.float64), inputs or {}, measurements)
    return Problem(
        fmu=Path("model.py"),
        parameters=tuple(parameters),
        experiments=(experiment,),
        estimator=estimator or EstimatorSettings("least-squares"),
        evaluation=evaluation or EvaluationSettings(check=False),
    )
