"""Which column is which variable, and where to search."""

from __future__ import annotations

import tomllib

import pytest

from fmident.fmu import ModelDescription, Variable
from fmident.problem import Match, matched_columns, search_range
from fmident.problem.proposal import DataFile, proposed_problem


def variable(name: str, unit: str | None = None, about: str = "") -> Variable:
    return Variable(name, 0, unit=unit, description=about)


@pytest.mark.parametrize(
    ("name", "column"),
    [("driveSpeed", "drive_speed"), ("F", "f"), ("axis.position", "Axis Position"), ("q[1]", "q1")],
)
def test_names_that_differ_in_case_and_separators_are_certain(name: str, column: str) -> None:
    assert matched_columns([variable(name)], {"other": None, column: None})[name] == Match(
        name, column, certain=True
    )


def test_the_only_ones_of_a_dimension_belong_together() -> None:
    variables = [variable("u", "V"), variable("phi", "rad"), variable("i", "A")]
    columns = {"supply": "mV", "encoder": "deg", "current": "A"}
    matches = matched_columns(variables, columns)
    assert {v: (m.column, m.certain) for v, m in matches.items()} == {
        "u": ("supply", True),
        "phi": ("encoder", True),
        "i": ("current", True),
    }


def test_without_units_only_names_count() -> None:
    assert matched_columns([variable("u", "1"), variable("v")], {"a": "1", "b": None}) == {}


def test_two_of_a_dimension_are_told_apart_by_their_words_and_stay_uncertain() -> None:
    variables = [variable("x", "m", "Position of the slide"), variable("s", "m", "Set-point")]
    matches = matched_columns(variables, {"setpoint": "mm", "slide pos": "mm"})
    assert {v: (m.column, m.certain) for v, m in matches.items()} == {
        "x": ("slide pos", False),
        "s": ("setpoint", False),
    }


def test_a_column_of_another_dimension_is_never_proposed() -> None:
    assert matched_columns([variable("force", "N")], {"force": "m"}) == {}


def test_a_column_is_proposed_once() -> None:
    variables = [variable("left.speed"), variable("right.speed")]
    assert len(matched_columns(variables, {"speed": None})) == 1


@pytest.mark.parametrize(
    ("start", "minimum", "maximum", "expected"),
    [
        (2.0, None, None, (0.2, 20.0)),
        (-2.0, None, None, (-20.0, -0.2)),
        (2.0, 0.0, None, (0.2, 20.0)),
        (2.0, 1.0, 3.0, (1.0, 3.0)),
        (0.0, None, None, None),
        (0.0, -1.0, 1.0, (-1.0, 1.0)),
        (2.0, float("-inf"), float("inf"), (0.2, 20.0)),
    ],
)
def test_where_a_parameter_is_searched(
    start: float,
    minimum: float | None,
    maximum: float | None,
    expected: tuple[float, float] | None,
) -> None:
    one = Variable("p", 0, start=start, minimum=minimum, maximum=maximum)
    assert search_range(one) == (None if expected is None else pytest.approx(expected))


def description() -> ModelDescription:
    variables = (
        Variable("F", 1, causality="input", unit="N", start=0.0),
        Variable("x", 2, causality="output", unit="m"),
        Variable("m", 3, causality="parameter", variability="fixed", start=2.0, unit="kg"),
        Variable("spring.k", 4, causality="parameter", variability="tunable", start=100.0),
        Variable("n", 5, "Integer", causality="parameter", variability="fixed", start=3),
    )
    return ModelDescription(
        name="Slide", guid="", fmi_version="2.0", generation_tool="", description="",
        model_identifier="", variables=variables, platforms=(),
    )  # fmt: skip


def test_a_problem_file_with_what_is_certain() -> None:
    file = DataFile("run.csv", {"force": "N", "x": "mm"}, {"time": "clock"})
    content = tomllib.loads(proposed_problem(description(), "slide.fmu", [file], ["spring.k"]))
    assert content["model"] == {"fmu": "slide.fmu"}
    assert content["parameters"] == {"spring.k": {"initial": 100.0, "bounds": [10.0, 1000.0]}}
    (experiment,) = content["experiments"]
    assert experiment == {
        "data": "run.csv", "time": "clock", "inputs": {"F": "force"}, "outputs": {"x": "x"},
    }  # fmt: skip


def test_the_other_parameters_are_comments_that_can_be_taken() -> None:
    text = proposed_problem(description(), "slide.fmu", [])
    taken = text.replace("# [parameters.m]", "[parameters.m]").replace(
        "# initial = 2.0", "initial = 2.0"
    )
    assert tomllib.loads(taken)["parameters"] == {"m": {"initial": 2.0}}
    assert "[parameters.n]" not in text
