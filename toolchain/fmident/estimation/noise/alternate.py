"""Alternating estimation of parameters and noise model.

For a given noise model the parameters minimise the squares of the innovations; for
given parameters the noise model maximises the restricted likelihood of the residuals.
Alternating both leads to the maximum of the joint likelihood (Oberhofer and Kmenta,
Econometrica 42, 1974; Ljung, System Identification, 2nd ed., section 10.1).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, Location, ProblemError
from fmident.estimation.contract import Estimate, Estimator
from fmident.estimation.diagnostics.noise import coarse_sensors, noisy_outputs
from fmident.estimation.noise.prewhitened import Prewhitened, prewhitened
from fmident.evaluation import Evaluator
from fmident.findings import Finding, finding
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
    from fmident.problem.model import Problem

_MOST = 12
"""Rounds of a fit and a noise model."""

_LOOKED = 2
"""Rounds in which tones and the steps of sensors are looked for; then only their sizes change."""

_SAME = 0.01
"""Standard errors by which parameters may move in the last round."""


@dataclass(frozen=True, eq=False)
class InTurn:
    """An estimate with a noise model, after a number of rounds.

    `settled` says whether parameters and noise model have converged.
    """

    problem: Problem
    evaluator: Evaluator
    estimate: Estimate
    rounds: int
    settled: bool


def asks_for_noise(problem: Problem) -> bool:
    """Return whether a noise model is requested."""
    return any(m.noise is not None for e in problem.experiments for m in e.measurements)


def refuse_noise(
    problem: Problem, estimator: Estimator[Any] | type[Estimator[Any]], location: Location | None
) -> None:
    """Reject a noise model that would not be used; raises `ProblemError` at `location`."""
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


def check_noise(problem: Problem) -> None:
    """Reject a noise model with a cost that does not compare samples."""
    if asks_for_noise(problem) and problem.cost != TimeDomain():
        raise ProblemError(
            "the noise of an output cannot be modelled here: it is the noise of samples, not of "
            f"what the cost '{problem.cost.name}' compares",
            location=problem.where("cost"),
            hint="leave the cost out, or leave out 'noise'",
            code=Code.NOT_SUPPORTED,
        )


def with_noise_at(
    problem: Problem, evaluator: Evaluator, p: F64, orders: Mapping[str, int] | None = None
) -> tuple[Problem, Evaluator]:
    """Return a problem whose residuals are innovations, for the noise at a point.

    A problem without a noise model is returned unchanged. `orders` are those of the
    autoregressions, by output, if known; otherwise as in the problem. Raises `ProblemError`
    if the order does not fit the samples, `EstimationError` if the simulation fails.
    """
    if not asks_for_noise(problem) or isinstance(problem.cost, Prewhitened):
        return problem, evaluator
    asked = NoiseAsked.of(problem)
    residuals = evaluator.data_residuals(p)
    if not bool(np.isfinite(residuals).all()):
        raise EstimationError(
            f"the simulation fails at the estimate: {evaluator.last_failure}",
            hint="give the result folder of an estimation of this problem with --result",
        )
    known = orders or {}
    chosen = [known.get(o.name, w) for o, w in zip(asked.outputs, asked.orders, strict=True)]
    jacobian = evaluator.data_jacobian(p)
    waves = asked.waves(problem, residuals, jacobian)
    noise = fit_noise(asked.outputs, residuals, jacobian, chosen, asked.criterion, waves)
    current = prewhitened(problem, noise, np.clip(p, problem.lower, problem.upper))
    return current, evaluator.for_problem(current)


@dataclass(frozen=True)
class NoiseAsked:
    """Noise models that a problem requests.

    `outputs` are groups of residuals with a common noise, with one order of autoregression
    each, which `criterion` selects if it is automatic. Only the noise of `coloured` outputs
    may be coloured.
    """

    outputs: tuple[NoisyOutput, ...]
    orders: tuple[Order, ...]
    criterion: str
    coloured: tuple[NoisyOutput, ...]

    @classmethod
    def of(cls, problem: Problem) -> NoiseAsked:
        """Return the request of a problem."""
        outputs = noisy_outputs(problem)
        asked = {m.name: m.noise for e in problem.experiments for m in e.measurements}
        orders: list[Order] = []
        coloured: list[NoisyOutput] = []
        criterion = "aicc"
        for output in outputs:
            choice = asked[output.measurement]
            assert choice is not None
            chosen: Order = "auto" if choice.order is None else choice.order
            orders.append(0 if choice.model == "white" else chosen)
            coloured += [output] if choice.model != "white" else []
            criterion = choice.criterion
            if not output.even and chosen not in ("auto", 0, 1):
                raise ProblemError(
                    f"the samples of '{output.name}' are not equidistant: the noise model there is"
                    f" an autoregression of first order in continuous time, not one of order"
                    f" {chosen}",
                    location=problem.where(),
                    hint='write order = 1 or "auto", or resample the data',
                    code=Code.NOT_SUPPORTED,
                )
        return cls(outputs, tuple(orders), criterion, tuple(coloured))

    def waves(self, problem: Problem, residuals: F64, jacobian: F64) -> tuple[Wave, ...]:
        """Return the waves in the outputs whose noise may be coloured."""
        steps = coarse_sensors(problem, residuals)
        return waves_found(self.coloured, residuals, spanned(jacobian), steps)


def in_turn(
    problem: Problem,
    evaluator: Evaluator,
    estimate: Estimate,
    search: Callable[[Problem, Evaluator], Estimate],
) -> InTurn:
    """Return the estimate with the noise model that the problem requests.

    `estimate` is that of ordinary least squares, with plain residuals; `search` estimates
    from the initial values of a problem. Raises `ProblemError` if the estimator has
    weighted the residuals differently, `JacobianError` if the simulation fails around the
    estimate.
    """
    if estimate.residual_scores is not None or estimate.residual_weights is not None:
        raise ProblemError(
            "the noise of an output cannot be modelled together with a robust loss or weights of"
            " the estimator's own",
            location=problem.where("estimator"),
            hint="leave out 'loss', or leave out 'noise': the standard errors count its colour",
            code=Code.NOT_SUPPORTED,
        )
    asked = NoiseAsked.of(problem)
    orders: Sequence[Order] = asked.orders
    current, at, result = problem, evaluator, estimate
    settled, number = False, 0
    waves: tuple[Wave, ...] = ()
    for number in range(1, _MOST + 1):
        p = result.parameters
        residuals, jacobian = evaluator.data_residuals(p), evaluator.data_jacobian(p)
        if number <= _LOOKED:
            waves = asked.waves(problem, residuals, jacobian)
        else:
            waves = with_amplitudes(waves, residuals, spanned(jacobian))
        noise = fit_noise(asked.outputs, residuals, jacobian, orders, asked.criterion, waves)
        orders = [f.order for f in noise.fits]  # once chosen, an order stays
        current = prewhitened(problem, noise, np.clip(p, problem.lower, problem.upper))
        at = evaluator.for_problem(current)
        result = search(current, at)
        if result.status != "converged":
            break
        if _moved(noise.whiten(jacobian), result.parameters - p) <= _SAME:
            settled = True
            break
    if not settled and result.status == "converged":
        message = f"{result.message}; but the model of the noise still changes"
        result = dataclasses.replace(result, status="limit", message=message, ended_by="stuck")
    return InTurn(current, at, result, number, settled)


def noise_notes(found: InTurn | None, asked: bool, drawn: bool) -> list[Finding]:
    """Return how the noise was modelled, or why not; `drawn` says that draws followed."""
    if found is None:
        if not asked:
            return []
        text = "The noise was not modelled, since the search before it did not converge."
        return [finding("noise-model", text)]
    rounds = f"{found.rounds} round{'' if found.rounds == 1 else 's'}"
    if not found.settled:
        text = (
            f"Parameters and model of the noise do not agree after {rounds} of both in turn. If"
            " this remains so, a part of the residuals is what the model lacks, not noise"
        )
        hint = "Leave out 'noise', so that the standard errors count the residuals' colour."
        return [finding("noise-model", text, hint)]
    notes = [f"Parameters and model of the noise agree after {rounds} of both in turn."]
    if drawn:
        notes.append("The draws take the model of the noise of the least cost as known.")
    return [finding("noise-model", text) for text in notes]


def _moved(jacobian: F64, step: F64) -> float:
    """Return the largest change of a parameter by a step, in standard errors."""
    norms = np.linalg.norm(jacobian, axis=0)
    seen = norms > 0.0
    if not seen.any():
        return 0.0
    inverse = np.linalg.pinv(jacobian[:, seen] / norms[seen], rcond=1e-10)
    errors = np.linalg.norm(inverse, axis=1) / norms[seen]
    return float(np.max(np.abs(step[seen]) / np.maximum(errors, 1e-300)))
