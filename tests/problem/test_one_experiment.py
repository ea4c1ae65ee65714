"""One experiment of a file that need not be finished."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident import read_data
from fmident.errors import ProblemError
from fmident.problem import experiment_from_file, measured_output, problem_from_file

from ..edits import replace_once
from .conftest import DATA, Case

MODEL = '[parameters.lag]\ninitial = 20.0\nunit = "ms"\n[parameters.m]'
OUTPUT = 'x = { column = "position", gain = 2.0, offset = 0.1, delay = "lag" }'


def edited(folder: Path) -> Path:
    path = folder / "problem.toml"
    replace_once(path, "[parameters.m]", MODEL)
    replace_once(path, 'x = { column = "position", sigma = 0.01 }', OUTPUT)
    replace_once(path, 'data = "data.csv"', 'data = "data.csv"\nwindow = [0.1, 0.3]')
    return path


def test_it_is_that_of_the_whole_problem(case: Case) -> None:
    path = edited(case.folder)
    whole = problem_from_file(path).experiments[0]
    for table in (None, read_data(case.folder / "data.csv")[0]):
        alone, values = experiment_from_file(path, 0, fmu=case.folder / "model.fmu", table=table)
        assert values == {"lag": 0.02}
        assert np.array_equal(alone.times, whole.times)
        assert np.array_equal(alone.inputs["F"], whole.inputs["F"])
        assert np.array_equal(alone.measurements[0].compared, whole.measurements[0].compared)
        assert set(alone.interpolation.values()) <= {"hold", "linear", "mean"}


def test_the_measured_column_as_the_output_of_the_model(case: Case) -> None:
    alone, values = experiment_from_file(edited(case.folder), 0, fmu=case.folder / "model.fmu")
    times, output = measured_output(alone.measurements[0], alone.times, values)
    assert np.allclose(times, [0.08, 0.18, 0.28])
    assert np.allclose(2.0 * output + 0.1, [0.1, 0.4, 0.9])


def test_an_unfinished_file(case: Case) -> None:
    (case.folder / "other.csv").write_text(DATA, encoding="utf-8")
    text = '[[experiments]]\ndata = "other.csv"\n[experiments.outputs]\nx = "position"\n'
    fmu = case.folder / "model.fmu"
    alone, _ = experiment_from_file(case.folder / "problem.toml", 0, fmu=fmu, text=text)
    assert (alone.name, alone.inputs) == ("other", {})
    wrong = text.replace("position", "speed")
    with pytest.raises(ProblemError, match="speed"):
        experiment_from_file(case.folder / "problem.toml", 0, fmu=fmu, text=wrong)
