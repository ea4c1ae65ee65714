"""A problem of data in memory is read as its file would be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fmident import Problem
from fmident.errors import Code, FmidentError
from fmident.evaluation.journal.keys import identity_of
from fmident.problem.model import ProblemFile
from fmident.report.folder import place_folder
from fmident.toml_file import document, loads

from .conftest import DATA, Case

ARGUMENTS: dict[str, Any] = {
    "parameters": {"m": {"initial": 2.5, "bounds": (0.5, 10.0)}, "k": {"initial": 300.0}},
    "inputs": {"F": "force", "tau[1]": "torque"},
    "outputs": {"x": {"column": "position", "sigma": 0.01}},
}
HEADER, *LINES = DATA.splitlines()
VALUES = np.array([[float(cell) for cell in line.split(",")] for line in LINES])


def columns() -> dict[str, Any]:
    return dict(zip(HEADER.split(","), VALUES.T, strict=True))


def frame() -> pd.DataFrame:
    return pd.DataFrame(columns())


def make(case: Case, data: Any = None, **changes: Any) -> Problem:
    found = {"push": frame()} if data is None else data
    return Problem.from_frames(case.folder / "model.fmu", found, **{**ARGUMENTS, **changes})


@pytest.fixture
def refused(case: Case) -> Callable[..., FmidentError]:
    def tell(data: Any = None, **changes: Any) -> FmidentError:
        with pytest.raises(FmidentError) as caught:
            make(case, data, **changes)
        return caught.value

    return tell


@pytest.mark.parametrize(
    "data",
    [
        {"push": frame()},
        {"push": columns()},
        {"push": {name: values.tolist() for name, values in columns().items()}},
        {"push": frame().set_index("t [s]")},
        {"push": frame().iloc[[0, 1, 2, 3]]},
    ],
    ids=["frame", "columns", "lists", "index", "selected"],
)
def test_it_is_the_problem_of_the_file(case: Case, data: Any) -> None:
    assert identity_of(make(case, data)) == identity_of(case.load())


def test_the_only_experiment_needs_no_name(case: Case) -> None:
    for data in (frame(), columns()):
        (experiment,) = make(case, data).experiments
        assert experiment.name == "data"
        np.testing.assert_array_equal(experiment.times, VALUES[:, 0])


def test_experiments_have_keys_of_their_own(case: Case) -> None:
    problem = make(
        case,
        {"short": frame(), "other": frame()},
        experiments={
            "short": {"window": [0.0, 0.2]},
            "other": {"inputs": {"F": "spare"}, "start_values": {"count": np.int64(4)}},
        },
    )
    short, other = problem.experiments
    np.testing.assert_array_equal(short.times, VALUES[:3, 0])
    np.testing.assert_array_equal(short.inputs["F"], VALUES[:3, 1])
    np.testing.assert_array_equal(other.inputs["F"], VALUES[:, 5])
    assert (dict(short.start_values), dict(other.start_values)) == ({}, {"count": 4})


def test_an_output_has_a_frame_of_its_own(case: Case) -> None:
    camera = pd.DataFrame({"time": [0.05, 0.25], "angle": [0.5, 1.5]})
    outputs = {"x": "position", "q[1]": {"column": "angle", "data": camera}}
    (experiment,) = make(case, outputs=outputs).experiments
    np.testing.assert_allclose(experiment.times, [0.0, 0.05, 0.1, 0.2, 0.25, 0.3])
    angle = experiment.measurements[1].values
    np.testing.assert_array_equal(angle[[1, 4]], [0.5, 1.5])
    assert np.isnan(angle[[0, 2, 3, 5]]).all()


def test_a_frame_that_changes_later_changes_nothing(case: Case) -> None:
    mine = frame()
    problem = make(case, {"push": mine})
    mine.loc[:, "position [m]"] = 0.0
    problem.to_toml()
    np.testing.assert_array_equal(problem.file.frames["push.csv"]["position [m]"], VALUES[:, 3])


def test_a_key_that_is_none_is_left_out(case: Case) -> None:
    parameters = {"m": {"initial": 2.5, "bounds": (0.5, 10.0), "unit": None}, "k": {"initial": 300}}
    problem = make(case, parameters=parameters, cost=None, time=None)
    assert identity_of(problem) == identity_of(case.load())


@pytest.mark.parametrize(
    ("old", "new", "changes", "place"),
    [
        ("bounds = [0.5, 10.0]", "bounds = [10.0, 0.5]",
         {"parameters": {"m": {"initial": 2.5, "bounds": [10.0, 0.5]}, "k": {"initial": 300.0}}},
         "parameters.m.bounds"),
        ('F = "force"', 'F = "forse"', {"inputs": {"F": "forse", "tau[1]": "torque"}}, "inputs.F"),
        ('"tau[1]" = "torque"', '"tau[2]" = "torque"',
         {"inputs": {"F": "force", "tau[2]": "torque"}},
         'inputs."tau[2]"'),
        ("sigma = 0.01", "sigma = -1.0", {"outputs": {"x": {"column": "position", "sigma": -1.0}}},
         "outputs.x.sigma"),
        ("[experiments.outputs]", "window = [2.0, 3.0]\n[experiments.outputs]",
         {"experiments": {"push": {"window": [2.0, 3.0]}}}, "experiments.push.window"),
        ("initial = 300.0", "inital = 300.0",
         {"parameters": {"m": {"initial": 2.5, "bounds": [0.5, 10.0]}, "k": {"inital": 300.0}}},
         "parameters.k.inital"),
    ],
    ids=["bounds", "column", "input", "sigma", "window", "key"],
)  # fmt: skip
def test_messages_are_those_of_the_file(
    case: Case,
    refused: Callable[..., FmidentError],
    old: str,
    new: str,
    changes: dict[str, Any],
    place: str,
) -> None:
    if old.startswith("["):  # a key of the experiment comes before its tables
        old, new = 'data = "data.csv"\n', 'data = "data.csv"\nwindow = [2.0, 3.0]\n'
    mine = refused(**changes)
    with pytest.raises(FmidentError) as caught:
        case.load(old, new)
    theirs = caught.value
    spoken = theirs.message.replace(str(case.folder / "data.csv"), "data.push")
    assert (mine.message, mine.hint, mine.code) == (spoken, theirs.hint, theirs.code)
    assert type(mine) is type(theirs)
    assert str(mine.location) == place


@pytest.mark.parametrize(
    ("data", "changes", "said"),
    [
        ([frame()], {}, "data: the data are of type list"),
        ({"a": frame(), "b": [1.0]}, {}, "data.b: the data hold both columns and tables"),
        ({"time": [0.0, 1.0], "force": [1.0]}, {}, "differ in length: 'time' 2, 'force' 1"),
        ({"time": [[0.0], [1.0]]}, {}, "data: column 'time' has the shape (2, 1)"),
        ({"time": [], "force": []}, {}, "data: there are no rows"),
        (frame().set_index(pd.Index([0.0, 0.1, 0.2, 0.3])), {}, "has values, but no name"),
        (frame(), {"experiments": {"pusch": {}}}, "there is no experiment 'pusch' in the data"),
        (frame(), {"model": {"class": "A"}}, "model.class: 'class' is given twice"),
        (frame(), {"parameters": {"m": {"initial": 1j}}}, "parameters.m.initial: this is of type"),
        (frame(), {"estimator": {"name": "x", "f": len}}, "estimator.f: this is of type builtin"),
        (
            frame(),
            {"experiments": {"data": {"separator": ";"}}},
            "data: 'separator' does not apply to data in memory",
        ),
        (frame(), {"outputs": None}, "data: [[experiments]] needs the key 'outputs'"),
        (frame(), {"estimator": "least"}, "estimator.name: there is no estimator 'least'"),
        (frame().rename(columns={"t [s]": "clock"}), {}, "data: there is no column 'time'"),
        (
            {**columns(), "t [s]": [0.0, 0.1, 0.1, 0.2]},
            {},
            "data: time 0.1 appears twice in row 3",
        ),
        (
            frame().assign(**{"position [m]": VALUES[:, 3] + 1j}),
            {},
            "column 'position' holds complex numbers",
        ),
    ],
)
def test_what_no_file_could_say_is_refused(
    refused: Callable[..., FmidentError], data: Any, changes: dict[str, Any], said: str
) -> None:
    assert said in str(refused(data, **changes))


def test_a_missing_fmu_is_named(case: Case) -> None:
    with pytest.raises(FmidentError, match=r"fmu: there is no FMU .*modle.fmu") as caught:
        Problem.from_frames(case.folder / "modle.fmu", frame(), **ARGUMENTS)
    assert caught.value.code == Code.UNKNOWN_NAME


@pytest.mark.parametrize("place", ["text", "file"])
def test_the_file_gives_an_equal_problem(case: Case, tmp_path: Path, place: str) -> None:
    data = {
        "push (1)": frame(),
        "push [1]": frame().assign(**{"position [m]": [np.nan, 1, 0.1, 2]}),
    }
    problem = make(case, data, estimator={"name": "least-squares", "max_iterations": 7})
    study = tmp_path / "study" / "problem.toml"
    text = problem.to_toml(None if place == "text" else study, data=place == "file")
    if place == "text":
        assert loads(text)["experiments"][1]["data"] == "push_1__2.csv"
        return
    again = Case(study.parent).load()
    assert identity_of(again) == identity_of(problem)
    assert again.estimator == problem.estimator
    assert sorted(p.name for p in study.parent.iterdir()) == [
        "problem.toml", "push_1_.csv", "push_1__2.csv",
    ]  # fmt: skip


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_time_stamps_stay_what_they_are(case: Case, tmp_path: Path, zone: str | None) -> None:
    """A frame of an output has another first instant: only the stamps say how the two lie."""
    clock = pd.date_range("2024-03-01T12:00:00.000000001", periods=4, freq="100ms", tz=zone)
    main = pd.DataFrame({"time": clock, **{k: v for k, v in columns().items() if k != "t [s]"}})
    camera = pd.DataFrame({"time": clock[[1, 3]], "angle": [0.5, 1.5]})
    outputs = {"x": "position", "q[1]": {"column": "angle", "data": camera}}
    problem = make(case, {"push": main}, outputs=outputs)
    (experiment,) = problem.experiments
    np.testing.assert_allclose(experiment.times, [0.0, 0.1, 0.2, 0.3])
    angle = experiment.measurements[1].values
    np.testing.assert_array_equal(angle[[1, 3]], [0.5, 1.5])
    problem.to_toml(tmp_path / "study" / "problem.toml", data=True)
    assert identity_of(Case(tmp_path / "study").load()) == identity_of(problem)


def test_a_result_folder_holds_the_data(case: Case, tmp_path: Path) -> None:
    problem = make(case, {"fit": frame(), "history": frame()})
    place_folder(
        tmp_path / "result", problem, lambda work: (work / "fit.csv").write_text("other"), list
    )
    assert identity_of(Case(tmp_path / "result").load()) == identity_of(problem)
    assert (tmp_path / "result" / "fit.csv").read_text() == "other"


def test_writing_twice_is_no_matter_but_other_files_stay(case: Case, tmp_path: Path) -> None:
    problem, target = make(case), tmp_path / "study" / "problem.toml"
    problem.to_toml(target, data=True)
    problem.to_toml(target, data=True)
    (target.parent / "push.csv").write_text("mine")
    with pytest.raises(FmidentError, match=r"push\.csv' exists and has another content"):
        problem.to_toml(target, data=True)
    assert (target.parent / "push.csv").read_text() == "mine"


def test_a_problem_of_a_file_moves_with_its_data(case: Case, tmp_path: Path) -> None:
    case.write("data.csv", DATA)
    problem = case.load('F = "force"', "F = { column = 'force' } # pushed")
    target = tmp_path / "study" / "problem.toml"
    text = problem.to_toml(target, data=True)
    assert "# pushed" in text
    assert (target.parent / "data.csv").read_text() == DATA
    (case.folder / "data.csv").unlink()
    assert identity_of(Case(target.parent).load()) == identity_of(problem)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"estimator": ("least-squares", {"max_iterations": 3})}, "max_iterations is new"),
        ({"parameters": 1}, "parameters.k is gone"),
    ],
)
def test_a_problem_that_was_changed_has_no_file(
    case: Case, changes: dict[str, Any], said: str
) -> None:
    problem = make(case)
    if "estimator" in changes:
        settings = dataclasses.replace(problem.estimator, options=changes["estimator"][1])
        problem = dataclasses.replace(problem, estimator=settings)
    else:
        problem = dataclasses.replace(problem, parameters=problem.parameters[:1])
    with pytest.raises(FmidentError, match=said):
        problem.to_toml()


def test_a_problem_built_of_its_parts_has_no_file(case: Case) -> None:
    problem = dataclasses.replace(case.load(), file=ProblemFile())
    with pytest.raises(FmidentError, match="built of its parts"):
        problem.to_toml()
    assert problem.where("parameters") is None


def test_a_column_keeps_any_name_that_a_csv_can_hold(case: Case, tmp_path: Path) -> None:
    odd = "#, 'x' \"2\"; y"
    problem = make(case, {"push": frame().rename(columns={"position [m]": f"{odd} [m]"})},
                   outputs={"x": {"column": odd, "sigma": 0.01}})  # fmt: skip
    problem.to_toml(tmp_path / "study" / "problem.toml", data=True)
    assert identity_of(Case(tmp_path / "study").load()) == identity_of(problem)
    for name in ("two\nlines", "#time"):
        renamed = frame().rename(columns={"t [s]": name})
        with pytest.raises(FmidentError, match="cannot hold the name"):
            make(case, {"push": renamed}, time=name).to_toml(tmp_path / "a.toml", data=True)


def test_a_document_says_what_was_given() -> None:
    content = {
        "model": {"fmu": "a.fmu", "start_values": {"a.b": 1.0}},
        "parameters": {"q[1]": {"initial": 2, "bounds": [0.1, float("inf")]}},
        "experiments": [{"data": "x.csv", "outputs": {"x": {"decimate": {"factor": 3}}}}, {}],
        "constraints": {},
        "stages": [{"parameters": {"m": {"initial": 1.0}}}],
    }
    assert loads(document(content)) == content


def test_what_is_excluded_is_written_back(case: Case, tmp_path: Path) -> None:
    long = {name: np.tile(values, 5) for name, values in columns().items()}
    long["t [s]"] = 0.1 * np.arange(20)
    long["position [m]"] = 0.1 * np.arange(20.0) ** 2
    long["position [m]"][11] = 500.0
    problem = make(
        case,
        pd.DataFrame(long),
        prepare={"hampel": {"columns": ["position"], "window": 0.6}, "exclude": ["time < 0.15"]},
        outputs={"x": {"column": "position", "sigma": 0.01, "exclude": "F > 2.4"}},
    )
    (measurement,) = problem.experiments[0].measurements
    found = [(e.reason, e.samples.tolist()) for e in measurement.exclusions]
    assert found == [
        ("Hampel filter, 0.6 s, 3 sigma", [11]),
        ("time < 0.15", [0, 1]),
        ("F > 2.4", [3, 7, 15, 19]),
    ]
    problem.to_toml(tmp_path / "study" / "problem.toml", data=True)
    again = Case(tmp_path / "study").load()
    assert identity_of(again) == identity_of(problem)
    (same,) = again.experiments[0].measurements
    assert [(e.reason, e.samples.tolist()) for e in same.exclusions] == found
    with pytest.raises(FmidentError, match="no signal 'G'") as caught:
        make(case, prepare={"exclude": "G > 1"})
    assert str(caught.value.location) == "prepare.exclude"
