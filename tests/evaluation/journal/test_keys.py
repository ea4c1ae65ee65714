"""What makes two simulations the same."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fmident.evaluation import OtherExperiment, SimulationTask
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.problem.model import EvaluationSettings, Problem

from .conftest import task


def key(keys: SimulationKeys, *simulation: Any) -> bytes:
    """Return the key of a task, or of what `run_other` takes."""
    if len(simulation) == 1:
        (asked,) = simulation
    else:
        experiment, variables, (values,) = simulation
        other = OtherExperiment(experiment, tuple(variables))
        asked = SimulationTask(-1, values, other=other)
    (one,) = keys.of([asked])
    return one


def test_equal_simulations_have_equal_keys(problem: Problem) -> None:
    one, two = SimulationKeys(problem, b"fmu"), SimulationKeys(problem, b"fmu")
    assert key(one, task(1.0)) == key(two, task(1.0))


def test_values_count_to_the_last_bit(problem: Problem) -> None:
    keys = SimulationKeys(problem)
    near = float(np.nextafter(1.0, 2.0))
    found = {key(keys, t) for t in (task(1.0), task(near), task(1.0, near), task(0.0), task(-0.0))}
    assert len(found) == 5


@pytest.mark.parametrize(
    "what", ["fmu", "times", "inputs", "start", "tolerance", "interface", "interpolation", "input"]
)
def test_everything_that_acts_on_a_simulation_counts(problem: Problem, what: str) -> None:
    experiment = problem.experiments[0]
    fmu = b"fmu"
    changed = problem
    if what == "fmu":
        fmu = b"other"
    elif what == "times":
        times = experiment.times.copy()
        times[3] = np.nextafter(times[3], 1.0)
        changed = _with(problem, times=times)
    elif what == "inputs":
        changed = _with(problem, inputs={"u": np.ones(experiment.times.size)})
    elif what == "start":
        changed = dataclasses.replace(problem, start_values={"x": 1.0})
    elif what == "tolerance":
        changed = dataclasses.replace(problem, evaluation=EvaluationSettings(tolerance=1e-5))
    elif what == "interface":
        settings = EvaluationSettings(interface="model-exchange")
        changed = dataclasses.replace(problem, evaluation=settings)
    elif what == "input":
        problem = _with(problem, inputs={"u": np.ones(experiment.times.size)})
        changed = _with(problem, interpolation={"u": "hold"})
    else:
        changed = dataclasses.replace(problem, evaluation=EvaluationSettings(interpolation="hold"))
    before = key(SimulationKeys(problem, b"fmu"), task(1.0))
    assert key(SimulationKeys(changed, fmu), task(1.0)) != before


def test_measurements_do_not_count(problem: Problem) -> None:
    measurement = problem.experiments[0].measurements[0]
    other = dataclasses.replace(measurement, values=measurement.values + 1.0)
    changed = _with(problem, measurements=(other,))
    assert key(SimulationKeys(changed), task(1.0)) == key(SimulationKeys(problem), task(1.0))


def test_variables_of_another_experiment_count(problem: Problem) -> None:
    keys, experiment = SimulationKeys(problem), problem.experiments[0]
    values = {"k": 1.0, "a": 1.0}
    found = {
        key(keys, task(1.0)),
        key(keys, experiment, ["y", "z"], [values]),
        key(keys, experiment, ["z"], [values]),
    }
    assert len(found) == 3
    assert key(keys, experiment, ["y"], [values]) == key(keys, task(1.0))


def _with(problem: Problem, **changes: object) -> Problem:
    experiment = dataclasses.replace(problem.experiments[0], **changes)
    return dataclasses.replace(problem, experiments=(experiment,))
