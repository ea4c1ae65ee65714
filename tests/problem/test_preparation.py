"""``[experiments.prepare]`` in a problem file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.data.prepare import Automatic, Edges, LowPass, Preparation
from fmident.errors import Code, ProblemError
from fmident.problem.reading.sampling import preparation
from fmident.problem.reading.tables import PrepareTable
from fmident.toml_file import Section, Source

from ..refused import refused
from .conftest import Case


def read(table: dict[str, Any]) -> Preparation:
    section = Section(Source(Path("problem.toml"), ""), ("experiments", 0, "prepare"), table)
    return preparation(section.read(PrepareTable))


def test_a_cutoff() -> None:
    found = read({"columns": ["q"], "cutoff": 15, "order": 6, "padding": 30})
    assert found.columns == ("q",)
    assert found.low_pass == LowPass(15.0, 6, 30)


def test_an_automatic_cutoff() -> None:
    found = read({"columns": ["q"], "cutoff": "auto"})
    assert found.low_pass == Automatic()


def test_edges_and_derivatives() -> None:
    found = read(
        {
            "columns": ["q"],
            "passband": 10.0,
            "stopband": 20.0,
            "derivatives": {"qd": "q", "qdd": "qd"},
        }
    )
    assert found.low_pass == Edges(10.0, 20.0)
    assert list(found.derivatives.items()) == [("qd", "q"), ("qdd", "qd")]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "does nothing"),
        ({"columns": ["q"]}, "no filter"),
        ({"cutoff": 5.0}, "no 'columns'"),
        ({"columns": ["q"], "cutoff": 5.0, "passband": 3.0}, "both"),
        ({"columns": ["q"], "passband": 3.0}, "stopband"),
        ({"columns": ["q"], "cutof": 5.0, "cutoff": 1.0}, "cutof"),
        ({"columns": ["q"], "cutoff": 5.0, "order": 2.5}, "an integer"),
        ({"derivatives": {"qd": 3}}, "a text"),
        ({"columns": ["q"], "cutoff": "best"}, "number"),
    ],
)
def test_wrong_tables_are_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        read(table)


PREPARE = """
window = [1.0, 3.0]

[experiments.prepare]
columns = ["position"]
cutoff = 5.0
derivatives = { speed = "position" }

[experiments.inputs]
F = { column = "speed", unit = "N" }
"""


@pytest.fixture
def sampled(case: Case) -> Case:
    times = np.arange(0.0, 4.0, 0.01)
    rows = "\n".join(f"{t:.2f},{np.sin(t):.12g}" for t in times)
    case.write("data.csv", "t [s],position [m]\n" + rows + "\n")
    return case


INPUTS = '[experiments.inputs]\nF = "force"\n"tau[1]" = "torque"\n'


def test_in_a_whole_problem(sampled: Case) -> None:
    """The step comes before the window, whose ends it would see."""
    (experiment,) = sampled.load(INPUTS, PREPARE).experiments
    assert experiment.times[0] == pytest.approx(1.0)
    np.testing.assert_allclose(experiment.inputs["F"], np.cos(experiment.times), atol=1e-3)
    np.testing.assert_allclose(
        experiment.measurements[0].values, np.sin(experiment.times), atol=1e-3
    )


def test_derivatives_carry_units(sampled: Case) -> None:
    with refused(Code.INVALID_PROBLEM, ProblemError, match=r"m/s"):
        sampled.load(INPUTS, PREPARE.replace('{ column = "speed", unit = "N" }', '"speed"'))


def test_warnings_end_up_with_the_problem(sampled: Case) -> None:
    problem = sampled.load(INPUTS, PREPARE.replace("cutoff = 5.0", "cutoff = 30.0"))
    assert any("cut-off of 30 Hz" in note.message for note in problem.notes)


def test_errors_name_the_line(sampled: Case) -> None:
    with pytest.raises(ProblemError, match="not possible") as caught:
        sampled.load(INPUTS, PREPARE.replace("cutoff = 5.0", "cutoff = 60.0"))
    assert caught.value.location is not None
    lines = (sampled.folder / "problem.toml").read_text().splitlines()
    assert lines[(caught.value.location.line or 0) - 1] == "[experiments.prepare]"
