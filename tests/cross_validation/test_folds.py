"""What is left out of which problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmident.cross_validation import fold_problem, make_folds, refuse_unpredictable
from fmident.data import Experiment, Measurement
from fmident.data.experiment import Decimation
from fmident.errors import Code, ProblemError
from fmident.problem.model import EstimatorSettings, Parameter, Problem, Stage
from fmident.problem.residuals import compared_values, residual_layout

from ..refused import refused

TIMES = np.linspace(0.0, 9.9, 100)


def experiment(name: str = "one", *, times: np.ndarray = TIMES, missing: int = 0) -> Experiment:
    values = np.sin(times)
    values[:missing] = np.nan
    return Experiment(name, times, {}, (Measurement("y", "y", "y", values),))


def problem(*experiments: Experiment) -> Problem:
    return Problem(
        Path("model.fmu"),
        (Parameter("a", 1.0, variable="a"),),
        experiments or (experiment(),),
        EstimatorSettings("least-squares"),
    )


def fitted_and_held(whole: Problem, count: int, gap: float) -> list[tuple[set[float], set[float]]]:
    way, folds = make_folds(whole.experiments, "blocks", count)
    found = []
    for fold in folds:
        part = fold_problem(whole, fold, way, gap)
        held = replace(part, experiments=part.validation)
        found.append(({*residual_layout(part).time}, {*residual_layout(held).time}))
    return found


def test_blocks_cover_each_sample_once() -> None:
    parts = fitted_and_held(problem(), 7, 0.0)
    assert [len(held) for _, held in parts] == [15, 15, 14, 14, 14, 14, 14]
    assert set.union(*(held for _, held in parts)) == {*TIMES}
    for fitted, held in parts:
        assert fitted | held == {*TIMES}
        assert not fitted & held


def test_a_gap_is_neither_fitted_nor_predicted() -> None:
    first, second, *_ = fitted_and_held(problem(), 5, 0.3)
    fitted, held = second
    assert (min(held), max(held)) == (TIMES[20], TIMES[39])
    assert {*TIMES} - fitted - held == {*TIMES[17:20], *TIMES[40:43]}
    assert {*TIMES} - first[0] - first[1] == {*TIMES[20:23]}


def test_the_whole_record_is_simulated_and_missing_samples_stay_missing() -> None:
    whole = problem(experiment(missing=5))
    way, folds = make_folds(whole.experiments, "blocks", 4)
    part = fold_problem(whole, folds[0], way)
    for e in (*part.experiments, *part.validation):
        assert np.array_equal(e.times, TIMES)
    assert part.validation[0].measurements[0].rows.tolist() == [*range(5, 25)]


def test_experiments() -> None:
    whole = problem(*(experiment(name) for name in ("one", "two", "three")))
    way, folds = make_folds(whole.experiments, None, None)
    assert way == "experiments"
    assert [f.name for f in folds] == ["one", "two", "three"]
    part = fold_problem(whole, folds[1], way, 0.0)
    assert [e.name for e in part.experiments] == ["one", "three"]
    assert [e.name for e in part.validation] == ["two"]
    way, folds = make_folds(whole.experiments, None, 4)
    assert way == "blocks"
    assert [len(f.spans) for f in folds] == [3] * 4


def test_decimated_outputs_are_filtered_as_a_whole() -> None:
    """What is compared of the samples that are left is as if nothing was left out."""
    m = Measurement("y", "y", "y", np.sin(TIMES), decimation=Decimation(5))
    whole = problem(replace(experiment(), measurements=(m,)))
    before = compared_values(m)
    way, folds = make_folds(whole.experiments, "blocks", 4)
    part = fold_problem(whole, folds[2], way)
    fitted = compared_values(part.experiments[0].measurements[0])
    held = compared_values(part.validation[0].measurements[0])
    assert np.array_equal(np.where(np.isnan(fitted), held, fitted), before)
    assert np.array_equal(np.isfinite(held), np.isnan(fitted))
    assert np.count_nonzero(np.isfinite(held)) == 5


def test_stages_leave_the_same_out() -> None:
    whole = problem(experiment("one"), experiment("two"))
    first = Stage("first", replace(whole, experiments=whole.experiments[:1]))
    staged = replace(whole, stages=(first, Stage("all", whole)))
    way, folds = make_folds(whole.experiments, "blocks", 2)
    part = fold_problem(staged, folds[0], way)
    assert [len(s.problem.experiments) for s in part.stages] == [1, 2]
    assert residual_layout(part.stages[0].problem).size == 50
    with refused(Code.INVALID_PROBLEM, ProblemError, match="nothing is left to fit when 'one'"):
        fold_problem(staged, make_folds(whole.experiments, None, None)[1][0], "experiments")
    own = replace(staged, stages=(replace(first, separate=True),))
    with refused(Code.NOT_SUPPORTED, ProblemError, match="problem file of its own"):
        refuse_unpredictable(own, way, folds)


def test_a_parameter_of_one_experiment_cannot_be_predicted() -> None:
    whole = problem(experiment("one"), experiment("two"))
    own = Parameter("b", 1.0, variable="b", experiments=("two",))
    whole = replace(whole, parameters=(*whole.parameters, own))
    way, folds = make_folds(whole.experiments, None, None)
    with refused(Code.NOT_SUPPORTED, ProblemError, match="'b' acts on the experiment 'two' alone"):
        refuse_unpredictable(whole, way, folds)
    refuse_unpredictable(whole, *make_folds(whole.experiments, "blocks", 3))


@pytest.mark.parametrize(
    ("names", "way", "count", "message"),
    [
        (["one"], "experiments", None, "where there is no other"),
        (["one", "two"], "experiments", 5, "5 folds over 2 experiments"),
        (["one"], "blocks", 1, "1 blocks cannot be made: at least 2, at most 100"),
        (["one"], None, 101, "101 blocks cannot be made"),
    ],
)
def test_refused(names: list[str], way: object, count: int | None, message: str) -> None:
    with refused(Code.INVALID_PROBLEM, ProblemError, match=message):
        make_folds([experiment(n) for n in names], way, count)  # type: ignore[arg-type]
