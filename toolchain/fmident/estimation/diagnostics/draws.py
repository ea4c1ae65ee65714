"""Parameter uncertainty from draws of the posterior distribution."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.estimation.compared import DrawnParameter, DrawnPosterior
from fmident.estimation.contract import Draws
from fmident.estimation.result import ParameterEstimate
from fmident.findings import Finding, finding
from fmident.problem.dependent import Dependence

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_ENDS = (0.025, 0.975)


def drawn(
    problem: Problem, estimates: Sequence[ParameterEstimate], draws: Draws
) -> tuple[tuple[ParameterEstimate, ...], F64, F64]:
    """Return parameters with statistics of draws, their covariance and correlation."""
    values = drawn_values(problem, draws)

    def of(e: ParameterEstimate) -> ParameterEstimate:
        own = values.get(e.name)
        if own is None:
            return e
        low, high = np.quantile(own, _ENDS)
        return dataclasses.replace(
            e,
            standard_error=float(np.std(own, ddof=1)),
            interval_95=(float(low), float(high)),
            at_bound=False,
        )

    covariance = np.atleast_2d(np.cov(draws.flat, rowvar=False))
    errors = np.sqrt(np.diag(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation: F64 = covariance / np.outer(errors, errors)
    return tuple(of(e) for e in estimates), covariance, correlation


def drawn_values(problem: Problem, draws: Draws) -> dict[str, F64]:
    """Return the draws of each free or dependent parameter, shape (k,)."""
    flat = draws.flat
    columns = {q.name: flat[:, j] for j, q in enumerate(problem.free)}
    followed = [q.name for q in problem.parameters if q.expression is not None]
    if followed:
        dependence = Dependence.of(problem)
        rows = [dependence.values(p) for p in flat]
        columns |= {name: np.array([row[name] for row in rows]) for name in followed}
    return columns


def drawn_posterior(problem: Problem, draws: Draws) -> DrawnPosterior:
    """Return the part of the draws that a result keeps."""
    parameters = {
        q.name: DrawnParameter(
            float(np.median(draws.flat[:, j])),
            float(np.mean(draws.flat[:, j])),
            float(np.std(draws.flat[:, j], ddof=1)),
            float(draws.bulk[j]),
            float(draws.tail[j]),
            float(draws.r_hat[j]),
        )
        for j, q in enumerate(problem.free)
    }
    return DrawnPosterior(parameters, draws.count, draws.values, draws.densities)


def draw_notes(problem: Problem, p: F64, cost: float, draws: Draws) -> list[Finding]:
    """Return a note if the medians together fit badly, since the posterior is curved."""
    if not problem.sigma_known:
        return []
    flat, densities = draws.flat, draws.densities.ravel()
    worst = float(np.quantile(densities, 1.0 - _ENDS[1]))
    best = flat[int(np.argmax(densities))]
    lowest = float(np.max(densities))
    if -cost >= worst - abs(lowest) * 1e-9 or np.array_equal(best, p):
        return []
    return [
        finding(
            "posterior-bends",
            "The medians of the parameters, taken together, fit the data worse than 97.5 % of the"
            " draws do: the posterior distribution is curved. The values of least cost are in"
            " 'settings'",
            "Use the draws themselves for predictions.",
        )
    ]
