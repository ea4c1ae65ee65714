"""Cross-validation: the folds, an estimation for each, and a journal.

:func:`cross_validate` is ``fmident.cross_validate``; the command line calls it too.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np

from fmident.api.estimates import Estimation
from fmident.api.problems import file_of, problem_of
from fmident.api.run import Analysis, RunArguments, RunContext, perform, with_arguments
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
from fmident.errors import Diagnostic, EstimationError, FmidentError
from fmident.estimation.comparisons import coloured_fits
from fmident.estimation.result import EstimationResult
from fmident.evaluation.journal.keys import identity_of
from fmident.findings import Finding, finding, in_order
from fmident.problem.model import Problem
from fmident.progress.watch import Watch
from fmident.report.cross_validation import CROSS_VALIDATION, write_cross_validation


@dataclass(frozen=True)
class CrossValidating(Analysis[CrossValidation]):
    """Cross-validation of one or several models.

    `by`, `folds` and `gap` are as of :func:`cross_validate`; `models` are all problems by their
    names. The journal is that of the first.
    """

    by: Way | None = None
    folds: int | None = None
    gap: float = 0.0
    models: Mapping[str, Problem] = field(default_factory=dict)
    contents = CROSS_VALIDATION
    marker: ClassVar[str] = CROSS_VALIDATION.marker

    def prepared(
        self, subject: Any, context: RunContext, overrides: Mapping[str, object] | None = None
    ) -> tuple[Self, Problem]:
        """Take one problem, several files, or several problems by name."""
        if isinstance(subject, Mapping):
            named = dict(subject)
        else:
            given = list(subject) if isinstance(subject, list | tuple) else [subject]
            named = dict(zip(_names(given), given, strict=True))
        if not named:
            raise EstimationError("there is no problem to cross-validate", hint="give one or more")
        models = {
            n: problem_of(p, context.host, context.report, overrides) for n, p in named.items()
        }
        return dataclasses.replace(self, models=models), next(iter(models.values()))

    def run(self, problem: Problem, context: RunContext) -> CrossValidation:
        """Estimate and predict fold by fold."""
        if not 0.0 <= self.gap < float("inf"):
            raise EstimationError(
                f"the gap must be 0 s or longer, not {self.gap:g}", hint="such as 0.5"
            )
        began = time.monotonic()
        named = self.models
        first = next(iter(named))
        way, folds = make_folds(problem.experiments, self.by, self.folds)
        for name, other in named.items():
            refuse_other_samples(first, problem, name, other)
            refuse_unpredictable(other, way, folds)
            for fold in folds:  # before the first estimation: that may take long
                fold_problem(other, fold, way, self.gap)
        fits, interrupted = _Fits(context), False
        models: list[ModelFolds] = []
        try:
            for name, other in named.items():
                models.append(ModelFolds(name, fits.full(name, other), ()))
                for fold in folds:
                    result = fits.fold(name, other, fold, fold_problem(other, fold, way, self.gap))
                    models[-1] = dataclasses.replace(models[-1], folds=(*models[-1].folds, result))
        except KeyboardInterrupt:
            if not models:
                raise
            interrupted = True
        return CrossValidation(
            "interrupted" if interrupted else "complete",
            way,
            self.gap,
            folds,
            tuple(models),
            fits.simulations,
            time.monotonic() - began,
            in_order(_notes(named, models, way, self.gap)),
        )

    def identity(self, problem: Problem) -> Mapping[str, Any]:
        """Return the other models, and how samples are left out."""
        way, folds = make_folds(problem.experiments, self.by, self.folds)
        others = list(self.models.items())[1:]
        return {
            "models": {name: identity_of(other) for name, other in others},
            "folds": {"by": way, "number": len(folds), "gap": repr(float(self.gap))},
        }

    def write(
        self, result: CrossValidation, problem: Problem, folder: Path, context: RunContext
    ) -> Iterable[Diagnostic]:
        """Write tables, figures and the page."""
        write_cross_validation(result, self.models, folder)
        return ()

    def line(self, *state: Any) -> str:
        """Return what is fitted next."""
        model, what = state
        return f"{model}: {what}"

    def show(self, watch: Watch, *state: Any) -> None:
        """Show nothing: the iterations of each estimation are shown."""


@with_arguments(
    RunArguments,
    listener='the model and what is fitted next: ``"all samples"``, or without which fold',
)
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
        Arguments of every analysis, such as `progress`, `folder` and `resume`.

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
    return perform(CrossValidating(by, folds, gap), problems, **run)


def _names(models: Sequence[Problem | str | Path]) -> list[str]:
    files = [
        (m.source or m.fmu) if isinstance(m, Problem) else file_of(m).resolve() for m in models
    ]
    stems = [p.stem for p in files]
    if len(set(stems)) == len(stems):
        return stems
    longer = [f"{p.parent.name}/{p.stem}" for p in files]
    if len(set(longer)) == len(longer):
        return longer
    return [f"{s} ({k})" for k, s in enumerate(stems, 1)]


@dataclass
class _Fits:
    context: RunContext
    simulations: int = 0

    def full(self, name: str, problem: Problem) -> EstimationResult:
        self.context.tell(name, "all samples")
        result = self._estimate(problem, self.context)
        if result.status == "failed":
            raise EstimationError(
                f"'{name}' cannot be fitted to all samples: {result.message}",
                hint="'fmident check' shows why an estimation fails",
            )
        return result

    def fold(self, name: str, problem: Problem, fold: Fold, without: Problem) -> FoldResult:
        """Return what the estimate of the problem without a fold predicts of it."""
        self.context.tell(name, f"without {fold.name}")
        silent = dataclasses.replace(self.context, report=lambda _: None)
        try:
            return fold_result(problem, fold, self._estimate(without, silent))
        except FmidentError as error:  # what the others predict must not be lost
            return FoldResult(fold, (), failure=error.message)

    def _estimate(self, problem: Problem, context: RunContext) -> EstimationResult:
        """Return an estimation result; raises `KeyboardInterrupt` if it was interrupted."""
        result = Estimation().run(problem, context)
        self.simulations += result.simulations
        if result.status == "interrupted" or (problem.validation and result.validation is None):
            raise KeyboardInterrupt
        return result


def _notes(
    named: Mapping[str, Problem], models: Sequence[ModelFolds], way: Way, gap: float
) -> Iterator[Finding]:
    for m in models:
        for f in m.folds:
            without = f"'{m.name}' without {f.fold.name}"
            if f.failure:
                text = f"{without}: nothing is predicted, since {f.failure}."
                yield finding("fold-failed", text)
            elif lost := _lost(m, f):
                text = f"{without}: {', '.join(lost)} not determined, or at a bound."
                yield finding("fold-undetermined", text)
        ended = [f.fold.name for f in m.predicted if f.status != "converged"]
        if ended:
            yield finding(
                "fold-not-converged",
                f"'{m.name}': the estimation without {', '.join(ended)} ended at a limit "
                "before it converged.",
            )
    if any(p.validation for p in named.values()):
        yield finding(
            "validation", 'Experiments with role = "validation" take no part in the folds.'
        )
    if way == "blocks":
        slow = [_memory(fit.times, rho) for m in models for fit, rho in coloured_fits(m.full.fits)]
        longest = max(slow, default=0.0)
        if longest > gap:
            yield finding(
                "fold-gap",
                f"The residuals are correlated over about {longest:.2g} s, and samples up to "
                f"{gap:.2g} s from a block are fitted: predictions may look better than "
                f"those of a new experiment. A gap of {longest:.2g} s leaves them out.",
            )


def _lost(model: ModelFolds, fold: FoldResult) -> list[str]:
    return [
        e.name
        for e in model.full.estimates
        if e.searched
        and math.isfinite(e.standard_error)
        and not math.isfinite(fold.errors.get(e.name, math.nan))
    ]


def _memory(times: F64, rho: float) -> float:
    """Return the time, s, until residual autocorrelation falls to 5 %; 0 if it never does."""
    step = float(np.median(np.diff(times)))
    return step * math.log(0.05) / math.log(rho) if 0.0 < rho < 1.0 else 0.0
