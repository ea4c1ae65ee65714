"""Cross-validation: the folds, an estimation for each, and a journal.

:func:`cross_validate` is ``fmident.cross_validate``; the command line calls it too.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import numpy as np

from fmident.api.estimates import Estimation
from fmident.api.problems import loaded, problem_of, warn
from fmident.api.run import Analysis, Run, RunArguments, perform
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
from fmident.estimation.fits import coloured_fits
from fmident.evaluation.journal.keys import identity_of
from fmident.report.cross_validation import write_cross_validation

if TYPE_CHECKING:
    from fmident.errors import Diagnostic
    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Problem
    from fmident.progress import Watch


@dataclass(frozen=True)
class CrossValidating(Analysis[CrossValidation]):
    """Cross-validation of one or several models; options as of :func:`cross_validate`.

    Parameters
    ----------
    others
        Further problems by the names of their models; the journal is that of the first.
    name
        Of the first one.
    by, folds, gap
        As of :func:`cross_validate`.
    """

    others: Mapping[str, Problem] = field(default_factory=dict)
    name: str = "problem"
    by: Way | None = None
    folds: int | None = None
    gap: float = 0.0
    marker: ClassVar[str] = "cross-validation.json"

    def run(self, problem: Problem, run: Run) -> CrossValidation:
        """Estimate and predict fold by fold."""
        if not 0.0 <= self.gap < float("inf"):
            raise EstimationError(
                f"the gap must be 0 s or longer, not {self.gap:g}", hint="such as 0.5"
            )
        began = time.monotonic()
        named = {self.name: problem, **self.others}
        way, folds = make_folds(problem.experiments, self.by, self.folds)
        for name, other in named.items():
            refuse_other_samples(self.name, problem, name, other)
            refuse_unpredictable(other, way, folds)
            for fold in folds:  # before the first estimation: that may take long
                fold_problem(other, fold, way, self.gap)
        fits = _Fits(run)
        models = fits.models(named, way, folds, self.gap)
        if not models:
            raise KeyboardInterrupt
        return CrossValidation(
            "interrupted" if fits.interrupted else "complete",
            way,
            self.gap,
            folds,
            tuple(models),
            fits.simulations,
            time.monotonic() - began,
            tuple(_notes(named, models, way, self.gap)),
        )

    def identity(self, problem: Problem) -> Mapping[str, Any]:
        """Return the other models, and how samples are left out."""
        way, folds = make_folds(problem.experiments, self.by, self.folds)
        return {
            "models": {name: identity_of(other) for name, other in self.others.items()},
            "folds": {"by": way, "number": len(folds), "gap": repr(float(self.gap))},
        }

    def write(
        self, result: CrossValidation, problem: Problem, folder: Path, run: Run
    ) -> Iterable[Diagnostic]:
        """Write tables, figures and the page."""
        write_cross_validation(result, {self.name: problem, **self.others}, folder)
        return ()

    def show(self, watch: Watch, *state: Any) -> None:
        """Show nothing: the iterations of each estimation are shown."""


def cross_validate(
    problems: Problem | str | Path | Mapping[str, Problem | str | Path],
    *,
    by: Literal["experiments", "blocks"] | None = None,
    folds: int | None = None,
    gap: float = 0.0,
    **run: Unpack[RunArguments],
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
    **run
        As of :func:`fmident.estimate`; ``listener`` receives the model and what is fitted next:
        ``"all samples"``, or without which fold.

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
    report = run.setdefault("report", warn)
    host = run["host"] = loaded(run.get("host"), report)
    given = list(problems.items()) if isinstance(problems, Mapping) else [("", problems)]
    if not given:
        raise EstimationError("there is no problem to cross-validate", hint="give one or more")
    loads = [(name, problem_of(subject, host, report)) for name, subject in given]
    named = {name or _name_of(problem): problem for name, problem in loads}
    first = next(iter(named))
    others = {n: p for n, p in named.items() if n != first}
    return perform(CrossValidating(others, first, by, folds, gap), named[first], **run)


@dataclass
class _Fits:
    """The estimations of all models and folds, and what they have taken."""

    run: Run
    interrupted: bool = False
    simulations: int = 0

    def models(
        self, named: Mapping[str, Problem], way: Way, folds: Sequence[Fold], gap: float
    ) -> list[ModelFolds]:
        """Return the folds of all models, stopping when the run is interrupted."""
        models = []
        for name, problem in named.items():
            full = self._full(name, problem)
            if full is None:
                break
            results: list[FoldResult] = []
            for fold in folds:
                result = self._fold(name, problem, fold, way, gap)
                if result is None:
                    break
                results.append(result)
            models.append(ModelFolds(name, full, tuple(results)))
            if self.interrupted:
                break
        return models

    def _full(self, name: str, problem: Problem) -> EstimationResult | None:
        self.run.tell(name, "all samples")
        result = self._estimate(problem, self.run)
        if result is not None and result.status == "failed":
            raise EstimationError(
                f"'{name}' cannot be fitted to all samples: {result.message}",
                hint="'fmident check' shows why an estimation fails",
            )
        return result

    def _fold(
        self, name: str, problem: Problem, fold: Fold, way: Way, gap: float
    ) -> FoldResult | None:
        self.run.tell(name, f"without {fold.name}")
        silent = dataclasses.replace(self.run, report=lambda _: None)
        try:
            result = self._estimate(fold_problem(problem, fold, way, gap), silent)
        except FmidentError as error:  # what the others predict must not be lost
            return FoldResult(fold, (), failure=error.message)
        return None if result is None else fold_result(problem, fold, result)

    def _estimate(self, problem: Problem, run: Run) -> EstimationResult | None:
        """Return an estimation result; ``None`` if it was interrupted."""
        try:
            result = Estimation().run(problem, run)
        except KeyboardInterrupt:
            self.interrupted = True
            return None
        self.simulations += result.simulations
        if result.status == "interrupted" or _prediction_interrupted(problem, result):
            self.interrupted = True
            return None
        return result


def _prediction_interrupted(problem: Problem, found: EstimationResult) -> bool:
    return bool(problem.validation) and found.validation is None


def _name_of(problem: Problem) -> str:
    return problem.fmu.stem if problem.source is None else problem.source.stem


def _notes(
    named: Mapping[str, Problem], models: Sequence[ModelFolds], way: Way, gap: float
) -> list[str]:
    """Return notes for the user about the folds."""
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
    """Return the parameters that have a standard error only when all samples are used."""
    return [
        e.name
        for e in model.full.estimates
        if e.searched
        and math.isfinite(e.standard_error)
        and not math.isfinite(fold.errors.get(e.name, math.nan))
    ]


def _memory(times: F64, rho: float) -> float:
    """Return the time in which the residual autocorrelation falls to 5 %, s.

    It is 0 if the correlation does not decay.
    """
    step = float(np.median(np.diff(times)))
    return step * math.log(0.05) / math.log(rho) if 0.0 < rho < 1.0 else 0.0
