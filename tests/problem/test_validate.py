"""Problems built in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.data import Decimation, Experiment, Measurement
from fmident.errors import Code, ProblemError
from fmident.fmu import ModelDescription
from fmident.options import OptionError
from fmident.problem import (
    EstimatorSettings,
    EvaluationSettings,
    Parameter,
    Problem,
    validate_problem,
)

from ..refused import refused

TIMES = np.linspace(0.0, 1.0, 50)
Y = Measurement("x", "x", "c", np.zeros(50), sigma=np.array(1.0))
GOOD = Problem(
    Path("model.fmu"),
    (Parameter("m", 1.0, variable="m"), Parameter("d", 0.1)),
    (Experiment("e", TIMES, {"F": np.ones(50)}, (replace(Y, delay="d"),)),),
    EstimatorSettings("none"),
)


def with_experiment(**changes: Any) -> Problem:
    return replace(GOOD, experiments=(replace(GOOD.experiments[0], **changes),))


def with_output(**changes: Any) -> Problem:
    return with_experiment(measurements=(replace(Y, delay="d", **changes),))


def with_parameter(*added: Parameter) -> Problem:
    return replace(GOOD, parameters=(*GOOD.parameters, *added))


def test_a_good_one_passes(model: ModelDescription) -> None:
    validate_problem(GOOD, model)


@pytest.mark.parametrize(
    ("problem", "fragments"),
    [
        (replace(GOOD, parameters=()), ("nothing to estimate",)),
        (with_parameter(Parameter("m", 1.0, variable="k")), ("two parameters", "'m'")),
        (replace(GOOD, experiments=GOOD.experiments * 2), ("two experiments", "'e'")),
        (with_parameter(Parameter("a", 1.0, variable="derived")), ("'derived'", "cannot be set")),
        (with_parameter(Parameter("a", 1.0, variable="count")), ("Integer", "start_values")),
        (with_parameter(Parameter("a", 1.0, scale=-1.0, variable="k")), ("scale", "positive")),
        (with_parameter(Parameter("a", 1.0, -1.0, 2.0, variable="k", scaling="log")),
         ("log scaling", "[-1, 2]")),
        (with_parameter(Parameter("a", 1.0)), ("'a'", "used nowhere")),
        (with_experiment(times=TIMES[::-1]), ("strictly increasing",)),
        (with_experiment(times=np.zeros(1)), ("two or more",)),
        (with_experiment(inputs={"f": np.ones(50)}), ("'f'", "'F'")),
        (with_experiment(inputs={"F": np.ones(49)}), ("'F'", "50 instants")),
        (with_experiment(inputs={"F": np.full(50, np.nan)}), ("'F'", "finite value")),
        (replace(with_experiment(measurements=()), parameters=GOOD.parameters[:1]),
         ("no outputs",)),
        (with_experiment(measurements=(replace(Y, delay="d"), Y)), ("two outputs", "'x'")),
        (with_output(variable="xx"), ("'xx'", "'x'")),
        (with_output(variable="F"), ("'F' is an input",)),
        (with_output(values=np.zeros(49)), ("49 values", "50 instants")),
        (with_output(values=np.full(50, np.nan)), ("no finite values",)),
        (with_output(sigma=np.array(0.0)), ("sigma and weight",)),
        (with_output(weight=-1.0), ("sigma and weight",)),
        (with_output(offset=np.nan), ("offset", "finite")),
        (with_output(gain="g"), ("'g'", "not declared")),
        (with_output(decimation=Decimation(2, order=17)), ("50 samples are too few",)),
        (with_output(decimation=Decimation(2), values=np.where(TIMES == 0, np.nan, 1.0)),
         ("sample 1 of 50 is missing",)),
        (replace(with_experiment(times=TIMES**2, measurements=(
            replace(Y, delay="d", decimation=Decimation(2)),))), ("equal steps",)),
    ],
)  # fmt: skip
def test_refused(problem: Problem, fragments: tuple[str, ...], model: ModelDescription) -> None:
    with pytest.raises(ProblemError) as caught:
        validate_problem(problem, model)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert EvaluationSettings(workers=np.int64(2)).workers == 2
    with refused(Code.WRONG_TYPE, OptionError, match="workers"):
        EvaluationSettings(workers=1.5)  # type: ignore[arg-type]
