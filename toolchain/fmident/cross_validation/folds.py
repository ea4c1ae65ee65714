"""Folds of samples that are left out in turn, and problems without them.

A block in time is excluded from the comparison, but not from the simulation: the state
is continuous. The fold becomes a validation experiment of such a problem, so that it is
predicted in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from fmident.data import Experiment
from fmident.data.experiment import Measurement
from fmident.errors import Code, ProblemError
from fmident.problem.model import Parameter, Problem, with_notes

Way = Literal["experiments", "blocks"]

BLOCKS = 5
"""Number of blocks by default."""


_SAME = 1e-9
"""Relative difference of samples that are the same."""


@dataclass(frozen=True)
class Fold:
    """Samples that are predicted and not fitted.

    `name` is that of the experiment, or ``"block 2"``; `spans` maps experiments to the
    first and the last instant that are left out, s.
    """

    name: str
    spans: Mapping[str, tuple[float, float]]

    def held(self, experiment: Experiment) -> npt.NDArray[np.bool_]:
        """Return the mask of the instants left out, shape (n,)."""
        return self._around(experiment, 0.0)

    def unfitted(self, experiment: Experiment, gap: float) -> npt.NDArray[np.bool_]:
        """Return the mask of unfitted instants, including those closer than `gap`, shape (n,)."""
        return self._around(experiment, gap)

    def _around(self, experiment: Experiment, gap: float) -> npt.NDArray[np.bool_]:
        if experiment.name not in self.spans:
            return np.zeros(experiment.times.size, dtype=np.bool_)
        first, last = self.spans[experiment.name]
        # A gap of two steps leaves out two samples, whatever rounding makes of the instants.
        slack = 1e-6 * gap
        return np.asarray(
            (experiment.times >= first - gap - slack) & (experiment.times <= last + gap + slack)
        )


def make_folds(
    experiments: Sequence[Experiment], way: Way | None, count: int | None
) -> tuple[Way, tuple[Fold, ...]]:
    """Return how samples are left out, and the folds.

    `way` is ``"experiments"``, each left out once as a whole, or ``"blocks"``: each
    experiment is divided into `count` (by default 5) contiguous blocks of equal numbers of
    samples, and a fold is one block of each. ``None`` means experiments if there are
    several. Raises `ProblemError` if there is only one experiment to leave out, or the
    number of blocks is unsuitable.
    """
    if way is None:
        way = "experiments" if len(experiments) > 1 and count is None else "blocks"
    if way == "experiments":
        if count is not None and count != len(experiments):
            raise ProblemError(
                f"{count} folds over {len(experiments)} experiments: each is one fold",
                hint="leave the number out, or cut the experiments into blocks of time",
                code=Code.INVALID_PROBLEM,
            )
        if len(experiments) < 2:
            raise ProblemError(
                "one experiment cannot be left out where there is no other",
                hint="cut it into blocks of time: --by blocks",
                code=Code.INVALID_PROBLEM,
            )
        return way, tuple(
            Fold(e.name, {e.name: (float(e.times[0]), float(e.times[-1]))}) for e in experiments
        )
    number = BLOCKS if count is None else count
    least = min(e.times.size for e in experiments)
    if not 2 <= number <= least:
        raise ProblemError(
            f"{number} blocks cannot be made: at least 2, at most {least}, which is how many"
            " instants the shortest experiment has",
            hint="5 to 10 blocks, each longer than the slowest motion, are usual",
            code=Code.INVALID_PROBLEM,
        )
    parts = {e.name: np.array_split(e.times, number) for e in experiments}
    return way, tuple(
        Fold(
            f"block {k + 1}",
            {name: (float(own[k][0]), float(own[k][-1])) for name, own in parts.items()},
        )
        for k in range(number)
    )


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
