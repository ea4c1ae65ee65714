"""What an estimate makes of experiments that were not fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.estimation.fits import check_fits, output_fits
from fmident.estimation.result import EstimationResult, OutputFit, Validation
from fmident.evaluation import Evaluator, SimulationFailure
from fmident.problem.cost import TimeDomain

if TYPE_CHECKING:
    from fmident.evaluation import Executor, Simulated
    from fmident.problem.model import Problem


def validated(
    problem: Problem, result: EstimationResult, executor_of: Callable[[Problem], Executor]
) -> EstimationResult:
    """Return a result with what its values make of the experiments for validation.

    Parameters
    ----------
    problem
        What was estimated. Without such an experiment the result is returned as it is.
    result
        What was found.
    executor_of
        Makes the executor that simulates them.
    """
    if not problem.validation:
        return result
    values = {e.name: e.value for e in result.estimates}
    p = np.array([values[q.name] for q in problem.free])
    held_out = held_out_problem(problem)
    try:
        with executor_of(held_out) as executor, Evaluator(held_out, executor) as evaluator:
            found = validate(held_out, evaluator, p, result.fits)
    except KeyboardInterrupt:
        note = "The experiments for validation were not simulated: the run was interrupted."
        return replace(result, notes=(*result.notes, note))
    except FmidentError as error:  # what was estimated must not be lost
        found = Validation((), None, {e.name: error.message for e in problem.validation})
    return replace(result, validation=found, notes=(*result.notes, *_notes(found)))


def held_out_problem(problem: Problem) -> Problem:
    """Return the problem of the experiments for validation alone."""
    return replace(
        problem,
        experiments=problem.validation,
        validation=(),
        stages=(),
        constraints=(),
        cost=TimeDomain(),
    )


def validate(
    problem: Problem, evaluator: Evaluator, p: F64, fitted: Sequence[OutputFit] = ()
) -> Validation:
    """Compare experiments with what parameters predict that were not fitted to them.

    Parameters
    ----------
    problem, evaluator
        Of these experiments.
    p
        Free parameters, shape (n,).
    fitted
        Outputs of the experiments that were fitted: the noise of those with the same name takes the
        place of an unknown one.
    """
    initial, final = evaluator.simulate(problem.initial), evaluator.simulate(p)
    fits: list[OutputFit] = []
    failures: dict[str, str] = {}
    for experiment, before, after in zip(problem.experiments, initial, final, strict=True):
        if isinstance(after, SimulationFailure):
            failures[experiment.name] = after.message
            continue
        one = replace(problem, experiments=(experiment,))
        fits += output_fits(one, [_or_nan(before, after)], [after], p, float("nan"))
    sigmas = {f.name: f.sigma[np.isfinite(f.sigma)] for f in fitted}
    known = [_with_sigma(fit, sigmas.get(fit.name)) for fit in fits]
    simulated = tuple(e for e in problem.experiments if e.name not in failures)
    residuals = check_fits(replace(problem, experiments=simulated), known, parameters=0)
    return Validation(tuple(known), residuals, failures)


def _or_nan(before: Simulated, after: F64) -> F64:
    """Return outputs, NaN where the simulation at the initial parameters has failed."""
    return np.full_like(after, np.nan) if isinstance(before, SimulationFailure) else before


def _with_sigma(fit: OutputFit, sigma: F64 | None) -> OutputFit:
    if sigma is None or not sigma.size or np.isfinite(fit.sigma).any():
        return fit
    return replace(fit, sigma=np.full(fit.times.shape, float(np.median(sigma))))


def _notes(found: Validation) -> list[str]:
    notes = [
        f"The experiment '{name}' for validation could not be simulated: {message}."
        for name, message in found.failures.items()
    ]
    worse = [f"'{f.name}' of '{f.experiment}'" for f in found.fits if f.nrmse > 1.0]
    if worse:
        shown = ", ".join(worse[:3]) + (", ..." if len(worse) > 3 else "")
        notes.append(
            f"Validation: the model predicts {shown} worse than the mean of the measured values"
            " would."
        )
    return notes
