"""``exclude`` and ``hampel`` in a problem file: which samples count no more, and what is said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.errors import FmidentError
from fmident.problem import Problem, problem_from_file
from fmident.problem.residuals import residual_layout

from .conftest import PROBLEM, Case

HEAD = PROBLEM[: PROBLEM.index("[experiments.inputs]")]
TIMES = np.arange(0.0, 2.0, 0.05)


def study(prepare: str = "", x: str = "", extra: str = "", keys: str = "") -> str:
    block = f"[experiments.prepare]\n{prepare}\n" if prepare else ""
    return (
        f"{HEAD}{keys}\n{block}\n"
        '[experiments.inputs]\nF = "force"\n"tau[1]" = "torque"\n\n[experiments.outputs]\n'
        f'x = {{ column = "position", sigma = 0.01{x} }}\n{extra}\n'
    )


@pytest.fixture
def measured(case: Case) -> Case:
    rows = [
        f"{t:.2f},{np.sin(3 * t):.9g},0.0,{1000 * t * t:.9g},{90 * t:.9g},{k % 4}"
        for k, t in enumerate(TIMES)
    ]
    header = "t [s],force [N],torque [N.m],position [mm],angle [deg],state"
    case.write("data.csv", "\n".join([header, *rows]) + "\n")
    return case


@pytest.fixture
def load(measured: Case) -> Callable[..., Problem]:
    def make(prepare: str = "", x: str = "", extra: str = "", keys: str = "") -> Problem:
        measured.write("problem.toml", study(prepare, x, extra, keys))
        return problem_from_file(measured.folder / "problem.toml")

    return make


@pytest.fixture
def refusal(load: Callable[..., Problem]) -> Callable[..., FmidentError]:
    def make(prepare: str = "", x: str = "", extra: str = "", keys: str = "") -> FmidentError:
        with pytest.raises(FmidentError) as caught:
            load(prepare, x, extra, keys)
        return caught.value

    return make


def left(problem: Problem, output: int = 0) -> list[int]:
    return problem.experiments[0].measurements[output].rows.tolist()


ANGLE = '"q[1]" = { column = "angle", sigma = 0.01 }'


@pytest.mark.parametrize(
    ("prepare", "gone"),
    [
        ('exclude = "x > 1"', TIMES**2 > 1.0),  # in the FMU's m, not in the mm of the column
        ('exclude = "x > 1000 mm"', TIMES**2 > 1.0),
        ('exclude = "position > 1000"', TIMES**2 > 1.0),  # the column, as it is in the file
        ('exclude = "F > 0.5"', np.sin(3 * TIMES) > 0.5),
        ('exclude = "time < 0.42"', TIMES < 0.42),
        ('exclude = "t < 0.42"', TIMES < 0.42),
        ('exclude = "state == 2"', np.arange(TIMES.size) % 4 == 2),
        ('exclude = ["time < 0.42", "x > 1"]', (TIMES < 0.42) | (TIMES**2 > 1.0)),
    ],
)
def test_samples_that_meet_a_condition_do_not_count(
    load: Callable[..., Problem], prepare: str, gone: np.ndarray
) -> None:
    problem = load(prepare)
    assert left(problem) == np.flatnonzero(~gone).tolist()
    assert residual_layout(problem).size == np.count_nonzero(~gone)
    measurement = problem.experiments[0].measurements[0]
    samples = np.concatenate([e.samples for e in measurement.exclusions])
    assert sorted(samples) == np.flatnonzero(gone).tolist()
    values = np.concatenate([e.values for e in measurement.exclusions])
    np.testing.assert_allclose(values, TIMES[samples] ** 2, atol=1e-12)
    assert np.isfinite(problem.experiments[0].inputs["F"]).all()


def test_each_sample_has_the_first_reason(load: Callable[..., Problem]) -> None:
    problem = load('exclude = ["x > 1", "x > 0.25"]')
    exclusions = problem.experiments[0].measurements[0].exclusions
    assert [e.reason for e in exclusions] == ["x > 1", "x > 0.25"]
    assert [e.samples.size for e in exclusions] == [19, 10]
    (note,) = [n for n in problem.notes if n.rule == "excluded-samples"]
    assert note.message == (
        "experiment 'push': 19 of 40 samples of 'x' excluded (x > 1);"
        " 10 of 40 samples of 'x' excluded (x > 0.25)"
    )


def test_a_condition_of_the_experiment_is_for_all_outputs_that_of_an_output_for_itself(
    load: Callable[..., Problem],
) -> None:
    problem = load('exclude = "time < 0.12"', x=', exclude = "x > 1"', extra=ANGLE)
    assert left(problem, 0) == np.flatnonzero((TIMES > 0.12) & (TIMES**2 <= 1.0)).tolist()
    assert left(problem, 1) == np.flatnonzero(TIMES > 0.12).tolist()


def test_a_condition_that_no_sample_meets_excludes_nothing(load: Callable[..., Problem]) -> None:
    problem = load('exclude = "time > 100"')
    assert left(problem) == list(range(TIMES.size))
    (note,) = [n for n in problem.notes if n.rule == "excluded-samples"]
    assert "0 of 40 samples of 'x' excluded (time > 100)" in note.message


def test_conditions_see_an_output_from_another_file(
    load: Callable[..., Problem], measured: Case
) -> None:
    rows = "\n".join(f"{t},{t}" for t in (0.0, 0.5, 0.52, 1.0))
    measured.write("other.csv", f"time [s],angle [rad]\n{rows}\n")
    other = '"q[1]" = { data = "other.csv", column = "angle", sigma = 1.0 }'
    problem = load('''exclude = "'q[1]' > 0.9 or q[1] == 0"''', extra=other)
    times = problem.experiments[0].times
    # Where 'q[1]' was not measured, nothing is known of the condition.
    assert times[left(problem, 1)].tolist() == [0.5, 0.52]
    assert left(problem, 0) == [k for k, t in enumerate(times) if t not in (0.0, 0.52, 1.0)]


@pytest.mark.parametrize("where", ["prepare", "extra"])
def test_a_condition_that_says_nothing_of_any_sample_is_refused(
    measured: Case, refusal: Callable[..., FmidentError], load: Callable[..., Problem], where: str
) -> None:
    """An output between the instants of what is compared: all of its samples would count."""
    rows = "\n".join(f"{t + 0.01:.2f},1.0" for t in TIMES[:-1])
    measured.write("other.csv", f"time [s],angle [rad]\n{rows}\n")
    other = '"q[1]" = {{ data = "other.csv", column = "angle", sigma = 1.0{} }}'
    condition = 'exclude = "x > 1"'
    if where == "prepare":
        error = refusal(condition, extra=other.format(""))
    else:
        error = refusal(extra=other.format(f", {condition}"))
    assert "whether 'x > 1' is true is not known at any sample of output 'q[1]'" in error.message
    assert error.hint is not None
    assert "write 'exclude' only at outputs" in error.hint
    # Inputs are known everywhere.
    problem = load(extra=other.format(', exclude = "F > 0.5"'))
    assert 0 < problem.experiments[0].measurements[1].exclusions[0].samples.size < TIMES.size


@pytest.mark.usefixtures("spike")
def test_hampel_leaves_out_outliers(load: Callable[..., Problem]) -> None:
    plain = load()
    assert plain.experiments[0].measurements[0].values[10] == 7000.0
    problem = load('hampel = ["position"]')
    (exclusion,) = problem.experiments[0].measurements[0].exclusions
    assert exclusion.samples.tolist() == [10]
    assert exclusion.values.tolist() == [7000.0]  # in the FMU's m
    assert left(problem) == [k for k in range(TIMES.size) if k != 10]
    assert "1 of 40 samples of 'x' excluded (Hampel filter, 7 samples, 3 sigma)" in "".join(
        n.message for n in problem.notes
    )
    kept = load('hampel = { columns = ["position"], window = 0.3, threshold = 4, replace = true }')
    measurement = kept.experiments[0].measurements[0]
    assert measurement.values[10] == pytest.approx(TIMES[11] ** 2)  # the fourth of seven
    assert left(kept) == list(range(TIMES.size))
    assert measurement.exclusions[0].replaced
    assert "1 of 40 samples of 'x' replaced by the median (Hampel filter, 0.3 s, 4 sigma)" in (
        "".join(n.message for n in kept.notes)
    )


@pytest.fixture
def spike(measured: Case) -> Case:
    text = (measured.folder / "data.csv").read_text().split("\n")
    text[11] = "0.50,55,0.0,7e6,45,2"
    measured.write("data.csv", "\n".join(text))
    return measured


@pytest.mark.usefixtures("spike")
def test_a_filter_and_a_condition_go_together(load: Callable[..., Problem]) -> None:
    problem = load('hampel = ["position"]\nexclude = "time < 0.12"')
    reasons = problem.experiments[0].measurements[0].exclusions
    assert [e.samples.tolist() for e in reasons] == [[10], [0, 1, 2]]


@pytest.mark.usefixtures("spike")
@pytest.mark.parametrize(
    ("keys", "words", "remedy"),
    [
        (
            {"prepare": 'hampel = ["position"]\nderivatives = { speed = "position" }'},
            "signal without gaps",
            "replace = true",
        ),
        (
            {"prepare": 'hampel = ["position"]\ncolumns = ["position"]\ncutoff = 2'},
            "signal without gaps",
            "replace = true",
        ),
        ({"prepare": 'hampel = ["force"]'}, "input column 'force' has a gap", "replace = true"),
        ({"prepare": 'hampel = ["position"]', "x": ", decimate = 2"}, "gaps", "replace = true"),
        ({"prepare": 'exclude = "x > 1"', "x": ", decimate = 2"}, "excluded", "decimate"),
        ({"prepare": 'hampel = ["positon"]'}, "no column 'positon'", "position"),
        ({"prepare": "hampel = []"}, "names of columns", ""),
        ({"prepare": 'hampel = { columns = ["position"], samples = 4 }'}, "odd", ""),
        ({"prepare": "hampel = { window = 1.0 }"}, "columns", ""),
        (
            {"prepare": 'hampel = { columns = ["position"], samples = 5, window = 1.0 }'},
            "both",
            "one",
        ),
        ({"prepare": 'hampel = { columns = ["position"], treshold = 2 }'}, "treshold", "threshold"),
        ({"prepare": 'hampel = "position"'}, "must be a list of texts", ""),
        ({"prepare": 'exclude = "xx > 1"'}, "no signal 'xx'", "'x'"),
        ({"prepare": "exclude = 3"}, "must be a text or a list of texts", ""),
        ({"prepare": "exclude = []"}, "empty", "leave"),
        ({"prepare": 'exclude = "x >= 0"'}, "no sample of output 'x' is left", "narrow"),
        ({"x": ', exclude = "x >= 0"'}, "no sample of output 'x' is left", "narrow"),
        ({"prepare": 'exclude = "x > 0"'}, "the 1 that is left cannot determine 2", "narrow"),
    ],
)
def test_what_cannot_be_done_is_refused(
    refusal: Callable[..., FmidentError], keys: dict[str, str], words: str, remedy: str
) -> None:
    error = refusal(**keys)
    assert words in error.message
    assert remedy in (error.hint or "")
    assert error.location is not None


@pytest.mark.parametrize(
    "keys",
    [
        {"prepare": 'exclude = "x > 1 & F < 2"'},
        {"x": ', exclude = "x > 1 & F < 2"'},
        {"prepare": 'exclude = [\n  "x > 1",\n  "x > 2 & F < 2",  # second\n]'},
    ],
)
def test_the_place_of_a_mistake_is_its_column(
    refusal: Callable[..., FmidentError], measured: Case, keys: dict[str, str]
) -> None:
    error = refusal(**keys)
    lines = (measured.folder / "problem.toml").read_text().split("\n")
    line = next(k for k, text in enumerate(lines, 1) if "&" in text)
    column = lines[line - 1].index("&") + 1
    assert error.location is not None
    assert (error.location.line, error.location.column) == (line, column)


def test_gaps_of_an_input_are_interpolated_where_that_is_said(
    load: Callable[..., Problem], spike: Case
) -> None:
    problem = load('hampel = ["force"]', keys='fill_inputs = "linear"')
    force = problem.experiments[0].inputs["F"]
    assert force[10] == pytest.approx(0.5 * (force[9] + force[11]))
