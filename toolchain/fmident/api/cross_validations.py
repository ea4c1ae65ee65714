"""Cross-validation, everything wired together: folds, an estimation for each, a journal.

:func:`cross_validate` is what ``fmident.cross_validate`` is, and what the command line calls.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fmident.api.estimates import estimate
from fmident.api.journalled import WatchedKind, carried_out
from fmident.api.wiring import Report, loaded, warn
from fmident.arrays import F64
from fmident.cross_validation import (
    CrossValidation,
    Fold,
    FoldResult,
    ModelFolds,
    Way,
    fold_problem,
    fold_result,
    make_folds,
    refuse_other_samples,
    refuse_unpredictable,
)
from fmident.errors import EstimationError, FmidentError

if TYPE_CHECKING:
    from fmident.errors import Diagnostic
    from fmident.estimation.monitor import Observer
    from fmident.estimation.result import EstimationResult
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import Host
    from fmident.problem.model import Problem
    from fmident.progress import Watch

Listener = Callable[[str, str], None]
"""Receives the model and what is fitted next: ``"all samples"``, or without which fold."""


@dataclass(frozen=True)
class CrossValidationRun(WatchedKind["CrossValidation"]):
    """Cross-validation as a run with a journal and a result folder.

    Parameters
    ----------
    others
        Further problems by the names of their models; the journal is that of the first.
    name
        Of the first one.
    by, folds, gap, host, observers, listener, report
        As of :func:`cross_validate`.
    """

    others: Mapping[str, Problem] = field(default_factory=dict)
    name: str = "problem"
    by: Way | None = None
    folds: int | None = None
    gap: float = 0.0
    host: Host | None = None
    observers: Sequence[Observer] = ()
    listener: Listener = lambda *_: None
    report: Report = warn
    marker: ClassVar[str] = "cross-validation.json"

    def run(self, problem: Problem, workspace: Workspace | None) -> CrossValidation:
        """Estimate and predict, fold by fold."""
        return _cross_validate({self.name: problem, **self.others}, self, workspace)

    def beside(self, problem: Problem) -> Mapping[str, Any]:
        """Return the other models, and how samples are left out."""
        from fmident.evaluation.journal.keys import identity_of

        way, made = make_folds(problem.experiments, self.by, self.folds)
        return {
            "models": {name: identity_of(other) for name, other in self.others.items()},
            "folds": {"by": way, "number": len(made), "gap": repr(float(self.gap))},
        }

    def watched(self, watch: Watch) -> CrossValidationRun:
        """Return the same run, which tells the iterations of all estimations."""
        return dataclasses.replace(self, observers=(watch, *self.observers))

    def status(self, result: CrossValidation) -> str:
        """Return that of the result, in the words of an estimation."""
        return "converged" if result.status == "complete" else result.status

    def write(
        self, result: CrossValidation, problem: Problem, folder: Path
    ) -> Iterable[Diagnostic]:
        """Write tables, pictures and the page."""
        from fmident.report.cross_validation import write_cross_validation

        write_cross_validation(result, {self.name: problem, **self.others}, folder)
        return ()


def cross_validate(
    problems: Problem | Mapping[str, Problem],
    *,
    by: Literal["experiments", "blocks"] | None = None,
    folds: int | None = None,
    gap: float = 0.0,
    host: Host | None = None,
    observers: Sequence[Observer] = (),
    listener: Listener = lambda *_: None,
    report: Report = warn,
    progress: bool = False,
    folder: str | Path | None = None,
    resume: bool = False,
) -> CrossValidation:
    """Return how well problems predict samples that they were not fitted to.

    Each fold is left out in turn, all else is fitted as :func:`fmident.estimate` would, from the
    initial values of the problem, and the fold is predicted with the values found.

    Parameters
    ----------
    problems
        One, or several models of the same samples by name.
    by
        ``"experiments"``: each is left out once; ``"blocks"``: contiguous parts of each
        experiment, which is simulated as a whole. By default experiments, where there are several
        and no number of folds is given.
    folds
        Number of blocks; 5 by default.
    gap
        Samples nearer than this to a block are not fitted either, s: with noise that is correlated
        in time they hold part of what is to be predicted (P. Burman, E. Chow, D. Nolan, Biometrika
        81, 1994).
    host
        Plugins; loaded when not given.
    observers
        Receives the iterations of all estimations.
    listener
        Receives model and fold before each of them.
    report
        Takes warnings of the estimation from all samples; Python warnings by default.
    progress
        Show the run as it goes, on standard error or in the output of a notebook's cell.
    folder
        Where the result folder is written; a journal is kept beside it during the run.
    resume
        With `folder`: go on from the journal of a run that was interrupted or killed.

    Returns
    -------
    fmident.cross_validation.CrossValidation
        Also when the run was interrupted with Ctrl-C: with the folds so far.

    Raises
    ------
    fmident.errors.FmidentError
        A problem cannot be estimated from all of its samples; samples that are not the same for all
        problems; folds that cannot be made.
    """
    named = dict(problems) if isinstance(problems, Mapping) else {_name_of(problems): problems}
    if not named:
        raise EstimationError("there is no problem to cross-validate", hint="give one or more")
    first = next(iter(named))
    others = {n: p for n, p in named.items() if n != first}
    kind = CrossValidationRun(others, first, by, folds, gap, host, observers, listener, report)
    return carried_out(kind, named[first], folder, progress=progress, resume=resume)


def _cross_validate(
    named: Mapping[str, Problem], kind: CrossValidationRun, workspace: Workspace | None
) -> CrossValidation:
    first, gap = kind.name, kind.gap
    if not 0.0 <= gap < float("inf"):
        raise EstimationError(f"the gap must be 0 s or longer, not {gap:g}", hint="such as 0.5")
    began = time.monotonic()
    way, made = make_folds(named[first].experiments, kind.by, kind.folds)
    for name, problem in named.items():
        refuse_other_samples(first, named[first], name, problem)
        refuse_unpredictable(problem, way, made)
        for fold in made:  # before the first estimation: that may take long
            fold_problem(problem, fold, way, gap)
    work = _Work(
        loaded(kind.host, kind.report), kind.observers, kind.listener, kind.report, workspace
    )
    models = work.models(named, way, made, gap)
    if not models:
        raise KeyboardInterrupt
    return CrossValidation(
        "interrupted" if work.interrupted else "complete",
        way,
        gap,
        made,
        tuple(models),
        work.simulations,
        time.monotonic() - began,
        tuple(_notes(named, models, way, gap)),
    )


@dataclass
class _Work:
    """What all estimations share, and what they have come to."""

    host: Host
    observers: Sequence[Observer]
    listener: Listener
    report: Report
    workspace: Workspace | None
    interrupted: bool = False
    simulations: int = 0

    def models(
        self, named: Mapping[str, Problem], way: Way, folds: Sequence[Fold], gap: float
    ) -> list[ModelFolds]:
        """Return all models until the run is interrupted."""
        found = []
        for name, problem in named.items():
            full = self._full(name, problem)
            if full is None:
                break
            done: list[FoldResult] = []
            found.append((name, full, done))
            for fold in folds:
                one = self._fold(name, problem, fold, way, gap)
                if one is None:
                    break
                done.append(one)
            if self.interrupted:
                break
        return [ModelFolds(name, full, tuple(done)) for name, full, done in found]

    def _full(self, name: str, problem: Problem) -> EstimationResult | None:
        self.listener(name, "all samples")
        found = self._estimate(problem, self.report)
        if found is not None and found.status == "failed":
            raise EstimationError(
                f"'{name}' cannot be fitted to all samples: {found.message}",
                hint="'fmident check' shows why an estimation fails",
            )
        return found

    def _fold(
        self, name: str, problem: Problem, fold: Fold, way: Way, gap: float
    ) -> FoldResult | None:
        self.listener(name, f"without {fold.name}")
        try:
            found = self._estimate(fold_problem(problem, fold, way, gap), lambda _: None)
        except FmidentError as error:  # what the others predict must not be lost
            return FoldResult(fold, (), failure=error.message)
        return None if found is None else fold_result(problem, fold, found)

    def _estimate(self, problem: Problem, report: Report) -> EstimationResult | None:
        """Return an estimate; ``None`` when it was interrupted."""
        try:
            found = estimate(
                problem,
                host=self.host,
                observers=self.observers,
                report=report,
                workspace=self.workspace,
            )
        except KeyboardInterrupt:
            self.interrupted = True
            return None
        self.simulations += found.simulations
        if found.status == "interrupted" or _prediction_interrupted(problem, found):
            self.interrupted = True
            return None
        return found


def _prediction_interrupted(problem: Problem, found: EstimationResult) -> bool:
    return bool(problem.validation) and found.validation is None


def _name_of(problem: Problem) -> str:
    return problem.fmu.stem if problem.source is None else problem.source.stem


def _notes(
    named: Mapping[str, Problem], models: Sequence[ModelFolds], way: Way, gap: float
) -> list[str]:
    """Return what the user should know of the folds."""
    from fmident.estimation.fits import coloured_fits

    notes = []
    for m in models:
        notes += [
            f"{m.name} without {f.fold.name}: nothing is predicted, since {f.failure}."
            for f in m.folds
            if f.failure
        ]
        ended = [f.fold.name for f in m.folds if not f.failure and f.status != "converged"]
        notes += [
            f"{m.name} without {f.fold.name}: {', '.join(lost)} not determined, or at a bound."
            for f in m.folds
            if not f.failure and (lost := _lost(m, f))
        ]
        if ended:
            notes.append(
                f"{m.name}: the estimation without {', '.join(ended)} ended at a limit before it"
                " converged."
            )
    if any(p.validation for p in named.values()):
        notes.append('Experiments with role = "validation" take no part in the folds.')
    if way == "blocks":
        slow = [_memory(fit.times, rho) for m in models for fit, rho in coloured_fits(m.full.fits)]
        longest = max(slow, default=0.0)
        if longest > gap:
            notes.append(
                f"The residuals are correlated over about {longest:.2g} s, and samples up to"
                f" {gap:.2g} s from a block are fitted: predictions may look better than those of a"
                f" new experiment. A gap of {longest:.2g} s leaves them out."
            )
    return notes


def _lost(model: ModelFolds, fold: FoldResult) -> list[str]:
    """Return the parameters that have a standard error with all samples alone."""
    return [
        e.name
        for e in model.full.estimates
        if e.searched
        and math.isfinite(e.standard_error)
        and not math.isfinite(fold.errors.get(e.name, math.nan))
    ]


def _memory(times: F64, rho: float) -> float:
    """Return after how long the correlation of residuals has fallen to 5 %, s, if it decays."""
    step = float(np.median(np.diff(times)))
    return step * math.log(0.05) / math.log(rho) if 0.0 < rho < 1.0 else 0.0
