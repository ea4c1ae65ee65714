"""Parameters and noise model in turn, until both agree.

For a given model of the noise the parameters minimise the squares of the innovations; for given
parameters the noise model has the greatest restricted likelihood of the residuals. In turn they go
to the maximum of the likelihood of both (Oberhofer and Kmenta, Econometrica 42, 1974; Ljung, System
Identification, 2nd ed., section 10.1, on such estimates in turn).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, Location, ProblemError
from fmident.estimation.contract import Estimate, Estimator
from fmident.estimation.diagnostics.noise import coarse_sensors, noisy_outputs
from fmident.estimation.noise.prewhitened import prewhitened
from fmident.evaluation import Evaluator
from fmident.problem.cost import TimeDomain
from fmident.statistics.noise import (
    NoisyOutput,
    Order,
    Wave,
    fit_noise,
    spanned,
    waves_found,
    with_amplitudes,
)

if TYPE_CHECKING:
    from fmident.data.noise import NoiseChoice
    from fmident.problem.model import Problem

_MOST = 12
"""Rounds of a fit and a noise model."""

_LOOKED = 2
"""Rounds in which tones and the steps of sensors are looked for; then only their sizes change."""

_SAME = 0.01
"""Standard errors by which parameters may move in the last round."""


@dataclass(frozen=True, eq=False)
class InTurn:
    """An estimate with a model of the noise.

    Parameters
    ----------
    problem, evaluator
        With whitened residuals.
    estimate
        Of the last round.
    rounds
        How many there were.
    settled
        Whether parameters and noise model agree.
    """

    problem: Problem
    evaluator: Evaluator
    estimate: Estimate
    rounds: int
    settled: bool


def asks_for_noise(problem: Problem) -> bool:
    """Return whether the noise is to be modelled."""
    return any(m.noise is not None for e in problem.experiments for m in e.measurements)


def refuse_noise(
    problem: Problem, estimator: Estimator[Any] | type[Estimator[Any]], location: Location | None
) -> None:
    """Refuse a model of the noise where it would not be looked at.

    Raises
    ------
    fmident.errors.ProblemError
        At `location`.
    """
    if not asks_for_noise(problem):
        return
    reason, hint = "", ""
    if problem.stages:
        reason = "stages do not hand on what is known of the noise"
        hint = "estimate in stages without 'noise', then all parameters from these values"
    elif not estimator.descends:
        reason = f"the estimator '{estimator.name}' does not search again from where it ended"
        hint = "estimate without 'noise' first, then from these values by least-squares"
    elif problem.cost != TimeDomain():
        reason = f"it is the noise of samples, not of what the cost '{problem.cost.name}' compares"
        hint = "leave the cost out"
    if reason:
        raise ProblemError(
            f"the noise of an output cannot be modelled here: {reason}",
            location=location,
            hint=hint,
            code=Code.NOT_SUPPORTED,
        )


def refuse_modelled(problem: Problem, what: str) -> None:
    """Refuse a problem with a model of the noise where plain residuals are taken.

    Parameters
    ----------
    problem
        That is asked for.
    what
        Would take them, such as ``"profiles"``.

    Raises
    ------
    fmident.errors.ProblemError
        The problem asks for a model of the noise.
    """
    if asks_for_noise(problem):
        raise ProblemError(
            f"{what} take no account of a model of the noise, which the outputs ask for",
            location=problem.where(),
            hint="leave out 'noise': then its colour is counted as the residuals show it",
            code=Code.NOT_SUPPORTED,
        )


def in_turn(
    problem: Problem,
    evaluator: Evaluator,
    estimate: Estimate,
    search: Callable[[Problem, Evaluator], Estimate],
) -> InTurn:
    """Return the estimate with the model of the noise that the problem asks for.

    Parameters
    ----------
    problem, evaluator
        With plain residuals.
    estimate
        Of ordinary least squares.
    search
        Estimates from the initial values of a problem.

    Raises
    ------
    fmident.errors.ProblemError
        The estimator has weighted residuals otherwise.
    fmident.evaluation.JacobianError
        The simulation fails around the estimate.
    """
    if estimate.residual_scores is not None or estimate.residual_weights is not None:
        raise ProblemError(
            "the noise of an output cannot be modelled together with a robust loss or weights of"
            " the estimator's own",
            location=problem.where("estimator"),
            hint="leave out 'loss', or leave out 'noise': the standard errors count its colour",
            code=Code.NOT_SUPPORTED,
        )
    outputs = noisy_outputs(problem)
    asked = {m.name: m.noise for e in problem.experiments for m in e.measurements}
    orders: list[Order] = []
    criterion = "aicc"
    for output in outputs:
        choice = asked[output.measurement]
        assert choice is not None
        chosen: Order = "auto" if choice.order is None else choice.order
        orders.append(0 if choice.model == "white" else chosen)
        criterion = choice.criterion
        if not output.even and chosen not in ("auto", 0, 1):
            raise ProblemError(
                f"the samples of '{output.name}' are not equidistant: the noise model there is an"
                f" autoregression of first order in continuous time, not one of order {chosen}",
                location=problem.where(),
                hint='write order = 1 or "auto", or resample the data',
                code=Code.NOT_SUPPORTED,
            )
    current, at, found = problem, evaluator, estimate
    settled, number = False, 0
    waves: tuple[Wave, ...] = ()
    for number in range(1, _MOST + 1):
        p = found.parameters
        residuals, jacobian = evaluator.data_residuals(p), evaluator.data_jacobian(p)
        if number <= _LOOKED:
            waves = _waves(problem, outputs, residuals, jacobian, asked)
        else:
            waves = with_amplitudes(waves, residuals, spanned(jacobian))
        noise = fit_noise(outputs, residuals, jacobian, orders, criterion, waves)
        orders = [f.order for f in noise.fits]  # once chosen, an order stays
        current = prewhitened(problem, noise, np.clip(p, problem.lower, problem.upper))
        at = evaluator.for_problem(current)
        found = search(current, at)
        if found.status != "converged":
            break
        if _moved(noise.whiten(jacobian), found.parameters - p) <= _SAME:
            settled = True
            break
    if not settled and found.status == "converged":
        message = f"{found.message}; but the model of the noise still changes"
        found = dataclasses.replace(found, status="limit", message=message)
    return InTurn(current, at, found, number, settled)


def _waves(
    problem: Problem,
    outputs: Sequence[NoisyOutput],
    residuals: F64,
    jacobian: F64,
    asked: Mapping[str, NoiseChoice | None],
) -> tuple[Wave, ...]:
    """Return the waves in the outputs whose noise may be other than white."""
    names = [n for n, choice in asked.items() if choice is not None and choice.model != "white"]
    chosen = [o for o in outputs if o.measurement in names]
    steps = coarse_sensors(problem, residuals)
    return waves_found(chosen, residuals, spanned(jacobian), steps)


def noise_notes(found: InTurn | None, asked: bool) -> list[str]:
    """Return how the noise was modelled, or why it was not."""
    if found is None:
        if not asked:
            return []
        return ["The noise was not modelled, since the search before it did not converge."]
    rounds = f"{found.rounds} round{'' if found.rounds == 1 else 's'}"
    if not found.settled:
        return [f"Parameters and model of the noise do not agree after {rounds} of both in turn."]
    return [f"Parameters and model of the noise agree after {rounds} of both in turn."]


def _moved(jacobian: F64, step: F64) -> float:
    """Return by how many standard errors a step moves a parameter at most.

    Parameters
    ----------
    jacobian
        Of residuals of variance 1, shape (m, n).
    step
        Shape (n,).
    """
    norms = np.linalg.norm(jacobian, axis=0)
    seen = norms > 0.0
    if not seen.any():
        return 0.0
    inverse = np.linalg.pinv(jacobian[:, seen] / norms[seen], rcond=1e-10)
    errors = np.linalg.norm(inverse, axis=1) / norms[seen]
    return float(np.max(np.abs(step[seen]) / np.maximum(errors, 1e-300)))
