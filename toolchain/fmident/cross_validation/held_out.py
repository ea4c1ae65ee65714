"""Problems with a fold left out.

A block in time is excluded from the comparison, but not from the simulation: the state
is continuous. The fold becomes a validation experiment of such a problem, so that it is
predicted in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.cross_validation.folds import Fold, Way
from fmident.errors import Code, ProblemError
from fmident.problem.model import with_notes

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment, Measurement
    from fmident.problem.model import Parameter, Problem

_SAME = 1e-9
"""Relative difference of samples that are the same."""


def fold_problem(problem: Problem, fold: Fold, way: Way, gap: float = 0.0) -> Problem:
    """Return the problem that fits all but a fold, which becomes its validation.

    Samples closer than `gap` to the fold are not fitted either, s. Raises `ProblemError` if
    a stage has no samples left.
    """
    held = tuple(
        _without(e, ~fold.held(e)) for e in problem.experiments if _any_left(e, ~fold.held(e))
    )
    fitted = {}
    for e in problem.experiments:
        out = fold.unfitted(e, gap)
        whole = way == "experiments" and e.name in fold.spans
        if not whole and _any_left(e, out):
            fitted[e.name] = _without(e, out)
    return with_notes(replace(_only(problem, fitted, fold), validation=held), ())


def _only(problem: Problem, fitted: dict[str, Experiment], fold: Fold) -> Problem:
    experiments = tuple(fitted[e.name] for e in problem.experiments if e.name in fitted)
    if not experiments:
        raise ProblemError(
            f"nothing is left to fit when '{fold.name}' is left out",
            location=problem.where(),
            hint="a stage needs another experiment than the one that is left out, and a gap that is"
            " shorter than the record; --by blocks leaves part of each experiment",
            code=Code.INVALID_PROBLEM,
        )
    stages = tuple(
        replace(s, problem=with_notes(_only(s.problem, fitted, fold), ())) for s in problem.stages
    )
    return replace(problem, experiments=experiments, stages=stages)


def _any_left(experiment: Experiment, out: npt.NDArray[np.bool_]) -> bool:
    return any(bool((~out[m.rows]).any()) for m in experiment.measurements)


def _without(experiment: Experiment, out: npt.NDArray[np.bool_]) -> Experiment:
    """Return an experiment without samples; outputs without any left are removed."""
    left = tuple(_measurement(m, out) for m in experiment.measurements if (~out[m.rows]).any())
    return replace(experiment, measurements=left)


def _measurement(m: Measurement, out: npt.NDArray[np.bool_]) -> Measurement:
    if m.decimation is None:
        return replace(m, values=np.where(out, np.nan, m.values))
    # The filter takes a signal without gaps.
    return replace(m, left_out=out if m.left_out is None else out | m.left_out)


def refuse_unpredictable(problem: Problem, way: Way, folds: Sequence[Fold]) -> None:
    """Raise `ProblemError` for what could not be predicted when left out.

    This is a stage with its own problem file, or a parameter of a single experiment that is
    left out as a whole.
    """
    for stage in problem.stages:
        if stage.separate:
            raise ProblemError(
                f"the stage '{stage.name}' has a problem file of its own, whose samples would not"
                " be left out",
                location=problem.where(),
                hint="write its experiments into this file, or cross-validate it by itself",
                code=Code.NOT_SUPPORTED,
            )
    if way != "experiments":
        return
    for parameter in problem.free:
        acts = _experiments_of(problem, parameter)
        for fold in folds:
            if acts and acts <= {*fold.spans}:
                raise ProblemError(
                    f"'{parameter.name}' acts on the experiment '{fold.name}' alone: when that is"
                    " left out, nothing is known of it",
                    location=problem.where("parameters", parameter.name),
                    hint="cut the experiments into blocks of time: --by blocks",
                    code=Code.NOT_SUPPORTED,
                )


def _experiments_of(problem: Problem, parameter: Parameter) -> set[str]:
    """Return the experiments that a parameter acts on; empty if others depend on it."""
    if parameter.variable is not None:
        return {e.name for e in problem.experiments if parameter.acts_on(e.name)}
    return {
        e.name
        for e in problem.experiments
        if any(parameter.name in m.references for m in e.measurements)
    }


def refuse_other_samples(first: str, problem: Problem, name: str, other: Problem) -> None:
    """Raise `ProblemError` if the samples of two problems differ, as predictions are paired.

    `first` and `name` are the names of the problems.
    """
    reason = _difference(problem, other)
    if reason:
        raise ProblemError(
            f"'{name}' cannot be compared with '{first}': {reason}",
            location=other.where(),
            hint="models are compared by what they predict of the same samples",
            code=Code.OTHER_PROBLEM,
        )


def _difference(one: Problem, other: Problem) -> str:
    if [e.name for e in one.experiments] != [e.name for e in other.experiments]:
        return "their experiments differ"
    for a, b in zip(one.experiments, other.experiments, strict=True):
        mine = {m.name: m for m in a.measurements}
        theirs = {m.name: m for m in b.measurements}
        if mine.keys() != theirs.keys():
            return f"the outputs of experiment '{a.name}' differ"
        if a.times.shape != b.times.shape or not np.allclose(a.times, b.times, _SAME, 0.0):
            return f"the instants of experiment '{a.name}' differ"
        for name, m in mine.items():
            if not np.allclose(m.compared, theirs[name].compared, _SAME, 0.0, equal_nan=True):
                return f"the samples of '{name}' in experiment '{a.name}' differ"
    return ""
