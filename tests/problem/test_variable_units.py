"""Values in a unit that is not SI, for variables of the FMU that have none."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import Code, ProblemError
from fmident.problem import Problem, problem_from_file

from ..fmu.build import Fixture, description, real
from ..refused import refused

_VARIABLES = "\n".join(
    [
        real("E", 1, "parameter", start=50.0),
        real("m", 2, "parameter", start=1.0, extra=' unit="kg"'),
        real("u", 10, "input", start=0.0),
        real("w[1]", 20, "output"),
    ]
)
_PROBLEM = """\
[model]
fmu = "model.fmu"
[parameters.E]
initial = 50.0
PARAMETER
[parameters.m]
initial = 1.0
[[experiments]]
data = "data.csv"
inputs = { u = INPUT }
outputs = { "w[1]" = OUTPUT }
MORE
"""
_DATA = (
    "t [s],u [HEAD],speed [rpm],deviation [rad/s]\n0,0,0,1\n0.1,1,30,1\n0.2,2,60,2\n0.3,2,60,2\n"
)


def load(
    folder: Path,
    *,
    parameter: str = "",
    given: str = '"u"',
    output: str = '"speed"',
    head: str = "V",
    more: str = "",
) -> Problem:
    with zipfile.ZipFile(folder / "model.fmu", "w") as file:
        file.writestr("modelDescription.xml", description(Fixture("m.c", _VARIABLES), "model"))
    (folder / "data.csv").write_text(_DATA.replace("HEAD", head))
    text = _PROBLEM.replace("PARAMETER", parameter).replace("INPUT", given)
    (folder / "problem.toml").write_text(text.replace("OUTPUT", output).replace("MORE", more))
    return problem_from_file(folder / "problem.toml")


def speeds(problem: Problem) -> list[float]:
    return problem.experiments[0].measurements[0].values.tolist()


def test_an_output_in_rpm_is_not_taken_in_silence(tmp_path: Path) -> None:
    problem = load(tmp_path)
    (note,) = problem.notes
    assert (note.severity, note.rule) == ("note", "unit-not-converted")
    for part in (
        "column 'speed' is in rpm",
        "'w[1]' has no unit",
        '"w[1]" = { column = "speed", variable_unit = "rad/s" }',
        'variable_unit = "rpm"',
    ):
        assert part in note.message
    assert note.location is not None
    assert note.location.line == 11
    assert speeds(problem) == [0.0, 30.0, 60.0, 60.0]


def test_what_the_note_says_to_write_converts(tmp_path: Path) -> None:
    problem = load(tmp_path, output='{ column = "speed", variable_unit = "rad/s" }')
    assert problem.notes == ()
    assert speeds(problem) == pytest.approx([0.0, math.pi, 2 * math.pi, 2 * math.pi])
    assert problem.experiments[0].measurements[0].unit == "rad/s"


@pytest.mark.parametrize("own", ['variable_unit = "rpm"', "gain = 9.55"])
def test_what_the_user_has_said_is_not_noted(own: str, tmp_path: Path) -> None:
    problem = load(tmp_path, output=f'{{ column = "speed", {own} }}')
    assert problem.notes == ()
    assert speeds(problem)[1] == 30.0


def test_a_sigma_in_another_unit_than_the_column(tmp_path: Path) -> None:
    problem = load(tmp_path, output='{ column = "speed", sigma = "deviation" }')
    sigma = problem.experiments[0].measurements[0].sigma
    assert np.asarray(sigma) == pytest.approx(np.array([1, 1, 2, 2]) * 30.0 / math.pi)


@pytest.mark.parametrize(
    ("head", "written"),
    [("mm", "m"), ("degC", "K"), ("kJ/mol", "J/mol"), ("l/min", "m3/s"), ("counts", None)],
)
def test_inputs_likewise(head: str, written: str | None, tmp_path: Path) -> None:
    output = '{ column = "speed", variable_unit = "rpm" }'
    (note,) = load(tmp_path, head=head, output=output).notes
    assert f"column 'u' is in {head}" in note.message
    line = f'u = {{ column = "u", variable_unit = "{written or head}" }}'
    assert line in note.message
    given = line.removeprefix("u = ")
    problem = load(tmp_path, head=head, output=output, given=given)
    assert problem.notes == ()
    factor = {"mm": 1e-3, "kJ/mol": 1e3, "l/min": 1e-3 / 60.0}.get(head, 1.0)
    assert np.ptp(problem.experiments[0].inputs["u"]) == pytest.approx(2.0 * factor)


@pytest.mark.parametrize("unit", ["V", "rad/s", "kg.m2", "1", "s"])
def test_si_units_need_no_note(unit: str, tmp_path: Path) -> None:
    problem = load(
        tmp_path,
        head=unit,
        parameter=f'unit = "{unit}"',
        output='{ column = "speed", variable_unit = "rpm" }',
    )
    assert problem.notes == ()


def test_parameters_likewise(tmp_path: Path) -> None:
    output = '{ column = "speed", variable_unit = "rpm" }'
    (note,) = load(tmp_path, parameter='unit = "kJ/mol"', output=output).notes
    assert "parameter 'E' is in kJ/mol" in note.message
    assert 'variable_unit = "J/mol" in [parameters.E]' in note.message
    said = 'unit = "kJ/mol"\nvariable_unit = "J/mol"'
    problem = load(tmp_path, parameter=said, output=output)
    assert problem.notes == ()
    assert (problem.parameters[0].initial, problem.parameters[0].unit) == (50e3, "J/mol")
    quiet = load(tmp_path, parameter=said.replace('"J', '"kJ'), output=output)
    assert quiet.notes == ()
    assert quiet.parameters[0].initial == 50.0


def test_one_note_for_equal_experiments(tmp_path: Path) -> None:
    again = '[[experiments]]\nname = "b"\ndata = "data.csv"\n'
    again += 'inputs = { u = "u" }\noutputs = { "w[1]" = "speed" }'
    assert len(load(tmp_path, more=again).notes) == 1


def test_a_unit_that_the_fmu_declares_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    more = '[parameters.m2]\ninitial = 1\nvariable = "m"\nvariable_unit = "g"'
    with refused(Code.INVALID_PROBLEM, ProblemError, match="says that 'm' is in 'kg', not in 'g'"):
        load(tmp_path / "x", more=more)


def test_a_stage_does_not_bring_a_unit_of_its_own(tmp_path: Path) -> None:
    stage = (
        '[[stages]]\nfree = ["E"]\n[stages.parameters.E]\ninitial = 40\nunit = "kJ/mol"\n'
        "[estimator]\nname = 'least-squares'"
    )
    with refused(Code.INVALID_PROBLEM, ProblemError, match="'E' itself has no unit"):
        load(tmp_path, more=stage)


_AGAIN = """\
[[experiments]]
name = "b"
data = "data.csv"
inputs = { u = INPUT }
outputs = { OUTPUT }
"""


def again(given: str = '"u"', output: str = '"w[1]" = "speed"') -> str:
    return _AGAIN.replace("INPUT", given).replace("OUTPUT", output)


_RAD = '{ column = "speed", variable_unit = "rad/s" }'


@pytest.mark.parametrize(
    ("first", "second", "variable", "line"),
    [
        ({"output": _RAD}, again(output=f'"w[1]" = {_RAD.replace("rad/s", "rpm")}'), "w[1]", 16),
        (
            {"output": _RAD},
            again(output='s = { column = "speed", variable = "w[1]", variable_unit = "deg/s" }'),
            "w[1]",
            16,
        ),
        (
            {"given": '{ column = "u", variable_unit = "V" }'},
            again(given='{ column = "u", variable_unit = "mV" }'),
            "u",
            15,
        ),
        (
            {"parameter": 'variable_unit = "J/mol"'},
            '[parameters.E2]\ninitial = 1\nvariable = "E"\nvariable_unit = "kJ/mol"',
            "E",
            15,
        ),
    ],
)
def test_a_variable_has_one_unit(
    first: dict[str, str], second: str, variable: str, line: int, tmp_path: Path
) -> None:
    with pytest.raises(ProblemError) as caught:
        load(tmp_path, more=second, **first)
    assert f"variable '{variable}' is in" in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.line == line


@pytest.mark.parametrize(
    ("given", "unit", "hint"),
    [
        ({"output": '{ column = "speed", variable_unit = "rad/z" }'}, "rad/z", "nearest unit"),
        ({"output": '{ column = "speed", variable_unit = "bananas" }'}, "bananas", "write units"),
        ({"given": '{ column = "u", variable_unit = "Volt" }'}, "Volt", "did you mean 'V'"),
        ({"parameter": 'variable_unit = "kJ/mole"'}, "kJ/mole", "nearest unit: 'mol'"),
    ],
)
def test_a_unit_that_cannot_be_read(
    given: dict[str, str], unit: str, hint: str, tmp_path: Path
) -> None:
    with refused(Code.UNREADABLE_UNIT, ProblemError, match=f"'{unit}'") as caught:
        load(tmp_path, **given)
    assert hint in str(caught.value.hint)
    assert caught.value.location is not None
    text = (tmp_path / "problem.toml").read_text().splitlines()
    assert unit in text[(caught.value.location.line or 0) - 1]


def test_what_is_said_once_holds_everywhere(tmp_path: Path) -> None:
    same = again(output='"w[1]" = { column = "deviation", variable_unit = "rad.s-1" }')
    for more in (again(), same):
        problem = load(tmp_path, output=_RAD, more=more)
        assert problem.notes == ()
        assert {e.measurements[0].unit for e in problem.experiments} == {"rad/s"}
    problem = load(tmp_path, more=again(output=f'"w[1]" = {_RAD}'))
    assert speeds(problem)[1] == pytest.approx(math.pi)
