"""What a problem file means."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fmident.problem
from fmident.data import Decimation
from fmident.errors import Code, ProblemError
from fmident.problem import Problem, problem_from_file

from ..refused import refused
from .conftest import DATA, PROBLEM, Case

SPLIT = """\
[experiments.outputs]
x = { column = "position", sigma = 0.01 }
"""


def output(problem: Problem, index: int = 0) -> Any:
    return problem.experiments[0].measurements[index]


def test_the_plain_case(case: Case) -> None:
    problem = case.load()
    m, k = problem.parameters
    assert (m.name, m.initial, m.lower, m.upper, m.variable) == ("m", 2.5, 0.5, 10.0, "m")
    assert (m.scale, m.scaling, m.fixed, m.unit, m.experiments) == (
        2.5, "linear", False, "kg", None,
    )  # fmt: skip
    assert (k.lower, k.upper) == (-math.inf, math.inf)
    (experiment,) = problem.experiments
    assert experiment.name == "push"
    np.testing.assert_array_equal(experiment.times, [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_array_equal(experiment.inputs["F"], [1.0, 1.5, 2.0, 2.5])
    x = output(problem)
    np.testing.assert_array_equal(x.values, [0.0, 0.1, 0.4, 0.9])
    assert (x.name, x.variable, x.column, x.unit, float(x.sigma)) == (
        "x", "x", "position", "m", 0.01,
    )  # fmt: skip
    assert problem.sigma_known
    assert problem.estimator.name == "least-squares"
    assert problem.fmu == case.folder / "model.fmu"
    assert problem.file.text == PROBLEM
    assert problem.notes == ()


def test_the_fmu_fills_in_what_the_file_leaves_out(case: Case) -> None:
    m = case.load("initial = 2.5\nbounds = [0.5, 10.0]\n", "").parameters[0]
    assert (m.initial, m.lower, m.upper, m.scale) == (2.0, 0.1, 50.0, 2.0)


@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ("initial = -3.0", 3.0),
        ("initial = 0.0\nbounds = [-1.0, 4.0]", 5.0),
        ("initial = 0.0", 1.0),
        ("initial = 2.0\nscale = 0.5", 0.5),
    ],
)
def test_scales(settings: str, scale: float, case: Case) -> None:
    assert case.load("initial = 300.0", settings).parameters[1].scale == scale


def test_units_of_parameters(case: Case) -> None:
    text = '[parameters.phi0]\ninitial = 90\nbounds = [-180, 180]\nscale = 10\nunit = "deg"\n'
    phi0 = case.load("[[experiments]]", text + "[[experiments]]").parameters[2]
    assert phi0.initial == pytest.approx(math.pi / 2)
    assert (phi0.lower, phi0.upper) == pytest.approx((-math.pi, math.pi))
    assert phi0.scale == pytest.approx(math.pi / 18)
    assert phi0.unit == "rad"


def test_log_scaling_without_bounds_is_bounded_by_zero(case: Case) -> None:
    k = case.load("initial = 300.0", 'initial = 300.0\nscaling = "log"').parameters[1]
    assert (k.scaling, k.lower) == ("log", 0.0)


def test_a_parameter_with_another_name_and_one_of_a_single_experiment(case: Case) -> None:
    more = PROBLEM[PROBLEM.index("[[experiments]]") :].replace("push", "pull")
    case.write("problem.toml", PROBLEM + more)
    problem = case.load(
        "[parameters.k]",
        '[parameters.k2]\nvariable = "k"\nexperiments = ["pull"]\n'
        '[parameters.k]\nexperiments = ["push"]',
    )
    m, k2, k = problem.parameters
    assert (k2.variable, k2.initial) == ("k", 100.0)
    assert [p.acts_on("push") for p in (m, k2, k)] == [True, False, True]
    assert [p.acts_on("pull") for p in (m, k2, k)] == [True, True, False]


def test_units_of_columns_are_converted(case: Case) -> None:
    case.change_data("position [m]", "position [mm]")
    problem = case.load(
        'x = { column = "position", sigma = 0.01 }',
        'x = { column = "position", sigma = 0.01 }\n"q[1]" = { column = "angle", sigma = 9.0 }',
    )
    x, q = problem.experiments[0].measurements
    np.testing.assert_allclose(x.values, [0.0, 1e-4, 4e-4, 9e-4])
    assert float(x.sigma) == pytest.approx(1e-5)
    np.testing.assert_allclose(q.values, [0.0, math.pi / 2, math.pi, 1.5 * math.pi])
    assert float(q.sigma) == pytest.approx(math.pi / 20)


def test_a_unit_in_the_file_stands_in_for_the_header(case: Case) -> None:
    problem = case.load('x = { column = "position"', 'x = { column = "spare", unit = "mm"')
    np.testing.assert_allclose(output(problem).values, 7e-3)
    problem = case.load('F = "force"', 'F = { column = "spare", unit = "kN" }')
    np.testing.assert_allclose(problem.experiments[0].inputs["F"], 7000.0)


def test_an_unknown_unit_of_the_fmu_is_taken_by_its_letters(case: Case) -> None:
    case.change_data("spare", "spare [furlong]")
    problem = case.load('x = { column = "position"', 'odd = { column = "spare"')
    np.testing.assert_array_equal(output(problem).values, 7.0)


def test_the_whole_measurement_model(case: Case) -> None:
    problem = case.load(
        SPLIT,
        '[experiments.outputs]\nsignal = { variable = "x", column = "position", sigma = "spare",'
        ' gain = "g", offset = -0.5, delay = "d" }\n'
        "[parameters.g]\ninitial = 1.0\n"
        '[parameters.d]\ninitial = 20\nunit = "ms"\nbounds = [0, 50]\n',
    )
    x = output(problem)
    assert (x.name, x.variable, x.gain, x.offset, x.delay) == (
        "signal", "x", "g", -0.5, "d",
    )  # fmt: skip
    np.testing.assert_array_equal(x.sigma, [7.0] * 4)
    _, _, g, d = problem.parameters
    assert (g.variable, g.unit, d.variable) == (None, None, None)
    assert (d.initial, d.upper, d.unit) == (pytest.approx(0.02), pytest.approx(0.05), "s")


def test_a_gain_may_turn_the_unit_into_another(case: Case) -> None:
    case.change_data("spare", "spare [V]")
    problem = case.load(
        'x = { column = "position", sigma = 0.01 }',
        'x = { column = "spare", sigma = 0.01, gain = 35.0 }',
    )
    assert output(problem).unit == "V"
    np.testing.assert_array_equal(output(problem).values, 7.0)


def test_gaps_are_missing_samples(case: Case) -> None:
    case.change_data("0.1,1.5,0.1,0.1", "0.1,1.5,0.1,")
    problem = case.load("sigma = 0.01", 'sigma = "spare"')
    np.testing.assert_array_equal(output(problem).values, [0.0, np.nan, 0.4, 0.9])
    np.testing.assert_array_equal(output(problem).rows, [0, 2, 3])


def said(problem: Problem) -> list[str]:
    return [d.message for d in problem.notes if d.rule == "missing-samples"]


def test_missing_samples_are_said_once_with_their_column_and_place(case: Case) -> None:
    assert said(case.load()) == []
    case.change_data("0.1,1.5,0.1,0.1", "0.1,1.5,0.1,NaN")
    case.change_data("0.3,2.5,0.3,0.9", "0.3,2.5,0.3,")
    problem = case.load()
    assert said(problem) == [
        "experiment 'push': 2 of 4 samples of 'x' are missing (column 'position' of"
        f" '{case.folder / 'data.csv'}', first in line 3) and do not count"
    ]
    assert problem.experiments[0].samples == 2


def test_samples_that_are_missing_for_validation_are_said(case: Case) -> None:
    case.write("other.csv", DATA.replace("0.1,1.5,0.1,0.1", "0.1,1.5,0.1,nan"))
    table = PROBLEM[PROBLEM.index("[[experiments]]") :]
    table = table.replace('"push"', '"other"\nrole = "validation"').replace("data.csv", "other.csv")
    (note,) = said(case.load(PROBLEM, PROBLEM + table))
    assert "experiment 'other': 1 of 4 samples of 'x'" in note


def test_instants_of_another_file_are_no_missing_samples(case: Case) -> None:
    case.write("slow.csv", "time,angle [deg]\n0,0\n0.15,90\n0.3,\n")
    more = 'x = { column = "position", sigma = 0.01 }'
    slow = '"q[1]" = { data = "slow.csv", column = "angle", sigma = 1 }'
    (note,) = said(case.load(more, f"{more}\n{slow}"))
    assert "1 of 3 samples of 'q[1]'" in note
    assert "'x'" not in note


def test_a_sigma_that_is_missing_is_named_with_its_line(case: Case) -> None:
    case.change_data("180.0,7.0", "180.0,")
    with refused(
        Code.INVALID_PROBLEM, ProblemError, match=r"'spare' of .*data\.csv' is missing in line 4"
    ):
        case.load("sigma = 0.01", 'sigma = "spare"')


def test_a_sigma_may_be_missing_where_the_sample_is(case: Case) -> None:
    case.change_data("0.1,1.5,0.1,0.1,90.0,7.0", "0.1,1.5,0.1,,90.0,")
    x = output(case.load("sigma = 0.01", 'sigma = "spare"'))
    np.testing.assert_array_equal(x.whitening, [1.0 / 7.0] * 3)


def test_gaps_in_inputs_are_filled_on_request(case: Case) -> None:
    case.change_data("0.1,1.5", "0.1,")
    problem = case.load('name = "push"', 'name = "push"\nfill_inputs = "linear"')
    np.testing.assert_allclose(problem.experiments[0].inputs["F"], [1.0, 1.5, 2.0, 2.5])
    (note,) = said(problem)
    assert "1 of 4 values of the input 'F' are missing" in note
    assert "line 3) and interpolated" in note


@pytest.mark.parametrize(
    ("keys", "times"),
    [
        ("window = [0.1, 0.2]", [0.1, 0.2]),
        ("window = [0.05, 9.0]", [0.1, 0.2, 0.3]),
        ("every = 2", [0.0, 0.2]),
        ("window = [0.1, 0.3]\nevery = 2", [0.1, 0.3]),
    ],
)
def test_window_and_every(keys: str, times: list[float], case: Case) -> None:
    experiment = case.load('name = "push"', f'name = "push"\n{keys}').experiments[0]
    np.testing.assert_array_equal(experiment.times, times)
    np.testing.assert_allclose(experiment.inputs["F"], 1.0 + 5.0 * np.array(times))
    np.testing.assert_allclose(experiment.measurements[0].values, 10.0 * np.array(times) ** 2)


def test_the_end_of_a_window_counts_in_spite_of_rounding(case: Case) -> None:
    case.change_data("0.3,2.5", "0.30000000000000004,2.5")
    assert (
        case.load('name = "push"', 'name = "push"\nwindow = [0, 0.3]').experiments[0].times.size
        == 4
    )


def test_time_by_name_and_in_another_unit(case: Case) -> None:
    case.write("data.csv", DATA.replace("t [s]", "stamp [ms]"))
    problem = case.load('name = "push"', 'name = "push"\ntime = "stamp"')
    np.testing.assert_allclose(problem.experiments[0].times, [0.0, 1e-4, 2e-4, 3e-4])


def test_outputs_of_a_file_of_their_own_with_almost_the_same_stamps(case: Case) -> None:
    case.write("slow.csv", "time,x [mm]\n0,1\n0.2000000000000036,3\n")
    problem = case.load('column = "position"', 'column = "x", data = "slow.csv"')
    experiment = problem.experiments[0]
    np.testing.assert_array_equal(experiment.times, [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(output(problem).values, [1e-3, np.nan, 3e-3, np.nan])


def test_three_files_with_almost_the_same_stamps(case: Case) -> None:
    # The third file makes the smallest step of the grid a thousand times smaller.
    case.write("a.csv", "time,y\n0.00000005,1\n0.20000005,3\n")
    case.write("b.csv", "time,z\n0.1001,5\n0.3,6\n")
    problem = case.load(
        'x = { column = "position", sigma = 0.01 }',
        'a = { variable = "x", column = "y", data = "a.csv", sigma = 1 }\n'
        'b = { variable = "x", column = "z", data = "b.csv", sigma = 1 }',
    )
    experiment = problem.experiments[0]
    np.testing.assert_array_equal(experiment.times, [0.0, 0.1, 0.1001, 0.2, 0.3])
    a, b = experiment.measurements
    np.testing.assert_array_equal(a.values, [1, np.nan, np.nan, 3, np.nan])
    np.testing.assert_array_equal(b.values, [np.nan, np.nan, 5, np.nan, 6])


def test_a_single_sample_of_another_file(case: Case) -> None:
    case.write("late.csv", "time,x\n0.2,3\n5,4\n")
    problem = case.load('column = "position"', 'column = "x", data = "late.csv"')
    np.testing.assert_array_equal(output(problem).values, [np.nan, np.nan, 3.0, np.nan])


@pytest.mark.parametrize(
    ("interpolation", "between"), [("auto", 1.5), ("hold", 1.5), ("mean", 1.75)]
)
def test_outputs_between_the_instants_of_the_inputs(
    case: Case, interpolation: str, between: float
) -> None:
    """The input at an instant in between is what the FMU has there; this FMU holds its inputs."""
    case.write("slow.csv", "time,x\n0,1\n0.15,3\n")
    text = (case.folder / "problem.toml").read_text()
    case.write("problem.toml", f'{text}\n[evaluation]\ninterpolation = "{interpolation}"\n')
    experiment = case.load('column = "position"', 'column = "x", data = "slow.csv"').experiments[0]
    np.testing.assert_allclose(experiment.times, [0.0, 0.1, 0.15, 0.2, 0.3])
    np.testing.assert_allclose(experiment.inputs["F"], [1.0, 1.5, between, 2.0, 2.5])
    np.testing.assert_allclose(experiment.measurements[0].values, [1, np.nan, 3, np.nan, np.nan])


@pytest.mark.parametrize(
    ("experiment", "force", "expected", "between"),
    [
        ("", ', interpolation = "mean"', {"F": "mean"}, 1.75),
        ('interpolation = "mean"', "", {"F": "mean", "tau[1]": "mean"}, 1.75),
        (
            'interpolation = "mean"',
            ', interpolation = "hold"',
            {"F": "hold", "tau[1]": "mean"},
            1.5,
        ),
    ],
)
def test_interpolation_of_an_experiment_and_of_an_input(
    case: Case, experiment: str, force: str, expected: dict[str, str], between: float
) -> None:
    """It also says what an input is at an instant that another file adds."""
    case.write("slow.csv", "time,x\n0,1\n0.15,3\n")
    text = (case.folder / "problem.toml").read_text()
    text = text.replace('F = "force"', f'F = {{ column = "force"{force} }}')
    case.write(
        "problem.toml", text.replace("[experiments.inputs]", f"{experiment}\n[experiments.inputs]")
    )
    found = case.load('column = "position"', 'column = "x", data = "slow.csv"').experiments[0]
    assert found.interpolation == expected
    assert found.inputs["F"][2] == pytest.approx(between)


def test_decimation(case: Case) -> None:
    rows = "".join(f"{i / 100:.2f},0,0,{i % 7}\n" for i in range(200))
    case.write("data.csv", "t,force,torque,position\n" + rows)
    x = output(case.load("sigma = 0.01 }", "sigma = 0.01, decimate = 10 }"))
    assert x.decimation == Decimation(10)
    assert x.rows[-1] == 199
    assert x.rows.size == 20
    more = "{ factor = 5, order = 4, ripple = 0.1, cutoff = 0.7 }"
    x = output(case.load("decimate = 10", f"decimate = {more}"))
    assert x.decimation == Decimation(5, 4, 0.1, 0.7)


def test_outputs_without_sigma_count_by_their_spread(case: Case) -> None:
    problem = case.load(
        'x = { column = "position", sigma = 0.01 }',
        'x = "position"\n"q[1]" = { column = "angle", weight = 3.0 }',
    )
    x, q = problem.experiments[0].measurements
    assert not problem.sigma_known
    assert x.sigma is None
    assert x.weight == pytest.approx(1.0 / np.std([0.0, 0.1, 0.4, 0.9]))
    assert q.weight == 3.0, "what the user says is not divided by anything"


def test_a_single_output_without_sigma_has_weight_one(case: Case) -> None:
    problem = case.load('{ column = "position", sigma = 0.01 }', '"position"')
    assert output(problem).weight == 1.0


def test_an_input_without_data_is_noted(case: Case) -> None:
    problem = case.load('"tau[1]" = "torque"\n', "")
    (note,) = problem.notes
    assert note.severity == "note"
    assert "'tau[1]'" in note.message
    assert "0.0" in note.message
    told = case.load('fmu = "model.fmu"', 'fmu = "model.fmu"\nstart_values = { "tau[1]" = 2 }')
    assert told.notes == ()
    assert told.start_values == {"tau[1]": 2.0}


def test_start_values(case: Case) -> None:
    text = "[experiments.start_values]\ncount = 4\non = false\nphi0 = 1\n[experiments.outputs]"
    experiment = case.load("[experiments.outputs]", text).experiments[0]
    assert experiment.start_values == {"count": 4, "on": False, "phi0": 1.0}
    assert isinstance(experiment.start_values["phi0"], float)


def test_estimator_and_evaluation(case: Case) -> None:
    problem = case.load(
        "[model]",
        '[estimator]\nname = "other"\nsteps = [1, 2]\n[evaluation]\ntolerance = 1e-8\n'
        'interpolation = "mean"\ndifference = "central"\nrelative_step = 1e-3\ncheck = false\n'
        "timeout = 5\n[model]",
    )
    assert (problem.estimator.name, dict(problem.estimator.options)) == ("other", {"steps": [1, 2]})
    e = problem.evaluation
    assert (e.tolerance, e.interpolation, e.difference) == (1e-8, "mean", "central")
    assert (e.relative_step, e.check, e.timeout) == (1e-3, False, 5.0)


def test_a_class_is_resolved_by_the_caller(case: Case) -> None:
    asked: list[tuple[str, dict[str, Any], Path]] = []

    def resolve(name: str, table: Any, base: Path) -> Path:
        asked.append((name, dict(table), base))
        return case.folder / "model.fmu"

    case.load('fmu = "model.fmu"', 'class = "A.B"\ncompiler = "x"', model=resolve)
    assert asked == [("A.B", {"class": "A.B", "compiler": "x"}, case.folder)]


def test_a_reader_brings_other_formats(case: Case) -> None:
    case.write("run.mat", "binary")

    def reader(path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
        assert spec["data"] == "run.mat"
        return pd.read_csv(case.folder / "data.csv") if path.suffix == ".mat" else None

    problem = case.load('data = "data.csv"', 'data = "run.mat"', reader=reader)
    np.testing.assert_array_equal(output(problem).values, [0.0, 0.1, 0.4, 0.9])


def test_text_in_place_of_the_file(case: Case) -> None:
    text = PROBLEM.replace("initial = 2.5", "initial = 3.5")
    assert case.load(text=text).parameters[0].initial == 3.5


def test_sigma_in_one_experiment_only_is_refused(case: Case) -> None:
    text = (case.folder / "problem.toml").read_text()
    more = (
        '[[experiments]]\nname = "pull"\ndata = "data.csv"\n[experiments.outputs]\nx = "position"\n'
    )
    case.write("problem.toml", f"{text}\n{more}")
    with pytest.raises(ProblemError, match="'push' and 'pull'") as caught:
        case.load()
    assert caught.value.location is not None
    assert caught.value.location.line == text.count("\n") + 5


def test_columns_without_a_unit_beside_others_that_have_one_are_told(case: Case) -> None:
    case.change_data("force [N]", "force")
    case.change_data("position [m]", "position")
    (note,) = case.load().notes
    assert note.severity == "note"
    assert "'force' as N, 'position' as m" in note.message
    assert "data.csv" in note.message


def test_units_in_the_problem_file_need_no_note(case: Case) -> None:
    case.change_data("position [m]", "position")
    assert case.load('column = "position"', 'column = "position", unit = "m"').notes == ()


def test_a_file_without_any_unit_needs_no_note(case: Case) -> None:
    text = (case.folder / "data.csv").read_text()
    case.write("data.csv", re.sub(r" \[[^]]*\]", "", text))
    assert case.load().notes == ()


def test_a_finite_difference_step_is_converted_and_must_be_positive(case: Case) -> None:
    text = '[parameters.phi0]\ninitial = 90\nstep = 1.8\nbounds = [-180, 180]\nunit = "deg"\n'
    problem = case.load("[[experiments]]", f"{text}\n[[experiments]]")
    steps = {q.name: q.step for q in problem.parameters}
    assert steps.pop("phi0") == pytest.approx(math.pi / 100)
    assert set(steps.values()) == {None}
    with pytest.raises(ProblemError, match="step must be positive and finite, not 0"):
        case.load(
            text=PROBLEM.replace("[[experiments]]", text.replace("1.8", "0") + "[[experiments]]")
        )


def test_weights_that_are_given_count_as_they_are(case: Case) -> None:
    problem = case.load(
        'x = { column = "position", sigma = 0.01 }',
        'x = { column = "position", weight = 1 }\n"q[1]" = { column = "angle", weight = 1 }',
    )
    assert [m.weight for m in problem.experiments[0].measurements] == [1.0, 1.0]


def test_columns_without_a_unit_say_what_was_assumed(case: Case) -> None:
    assert dict(case.load().experiments[0].assumed_units) == {}
    header = DATA.splitlines()[0]
    bare = "t,force,torque [N.m],position,angle [deg],spare"
    (case.folder / "data.csv").write_text(DATA.replace(header, bare))
    (experiment,) = case.load().experiments
    assert dict(experiment.assumed_units) == {"t": "s", "force": "N", "position": "m"}
    assert (experiment.time_column, experiment.time_unit) == ("t", None)


def test_the_name_of_an_earlier_version_is_understood() -> None:
    with pytest.warns(DeprecationWarning, match="problem_from_file"):
        earlier = fmident.problem.load_problem
    assert earlier is problem_from_file
    with pytest.raises(AttributeError, match="no attribute 'load'"):
        _ = fmident.problem.load  # type: ignore[attr-defined]
