r"""Another minimum of the cost, where priors contradict the data.

A second minimum may exist if priors contradict the data and the size of the noise is unknown.
With the variance of the noise concentrated out, the minimised function is
:math:`\nu \ln S + Q` (:class:`~fmident.problem.Priors`). Near the data :math:`S` is
small, near the priors :math:`Q`. If both are far apart, either may be a minimum: little
noise and a wrong prior, or a correct prior and large noise (O'Hagan, On outlier
rejection phenomena in Bayes inference, Journal of the Royal Statistical Society B 41,
1979, for such conflicts of two sources). All minima lie on one curve, that of the least
:math:`S + s^2 Q` for each size of the noise :math:`s`, at the points where
:math:`s^2 = S / \nu`. With the model linearised at an estimate this curve takes no
simulation. Far away that model is not valid, so that in a strong conflict, searches
also begin at the estimate by the data without priors and at the centres of the priors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Estimate
from fmident.estimation.diagnostics import beginning_at
from fmident.estimation.diagnostics.constraints import parameters_at_bound
from fmident.evaluation import Evaluator, JacobianError
from fmident.problem.priors import Priors

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_STEPS = 121
"""Sizes of the noise on the curve."""

_FAR = 3.0
"""Standard deviations above which data and priors disagree."""

_SAME = 1e-3
"""Difference of the logarithm of the density by which two minima are one, with equal values."""


@dataclass(frozen=True, eq=False)
class OtherMinimum:
    """Another minimum than the estimate, at `p`, shape (n,).

    If it was only foreseen, by a linear model, `lower` says whether the cost is lower there. If it
    was searched, the estimate is the better one: `noises` are the root mean squares of the
    residuals at both, the estimate first, and `ratio` is that of their likelihoods.
    """

    p: F64
    lower: bool = False
    noises: tuple[float, float] | None = None
    ratio: float = float("nan")


def better_minimum(
    problem: Problem,
    evaluator: Evaluator,
    estimate: Estimate,
    search: Callable[[Problem, Evaluator], Estimate] | None,
) -> tuple[Estimate, OtherMinimum | None]:
    """Return the better one of two minima, and the other one, if there is one.

    `search` estimates from the initial values of a problem; it is ``None`` for an estimator
    that does not search for the nearest minimum.
    """
    priors, p = Priors.of(problem), estimate.parameters
    plain = estimate.draws is None and estimate.residual_weights is None
    if not priors.count or priors.sigma_known or estimate.status != "converged" or not plain:
        return estimate, None
    try:
        place, disagree = _linearised(problem, evaluator, p, priors)
    except JacobianError:  # which the summary says
        return estimate, None
    if search is None:
        if place is None or not np.isfinite(evaluator.cost(place)):
            return estimate, None
        return estimate, OtherMinimum(place, evaluator.cost(place) < evaluator.cost(p))
    starts = [] if place is None else [place]
    if disagree:
        alone = beginning_at(problem, p)
        free = tuple(dataclasses.replace(q, prior=None) for q in alone.parameters)
        alone = dataclasses.replace(alone, parameters=free)
        data = search(alone, evaluator.for_problem(alone))
        if data.status in ("interrupted", "stopped"):
            return _ended(estimate, data), None
        starts += [data.parameters, _centres(problem, p)]
    minima = [(_Minimum.at(problem, evaluator, p), estimate)]
    for start in starts:
        result = search(beginning_at(problem, start), evaluator)
        if result.status in ("interrupted", "stopped"):
            return _ended(estimate, result), None
        one = _Minimum.at(problem, evaluator, result.parameters)
        if result.status == "converged" and not any(one.is_same(m) for m, _ in minima):
            minima.append((one, result))
    if len(minima) == 1:
        return estimate, None
    (best, better), (other, _) = sorted(minima, key=lambda m: m[0].loss)[:2]
    ratio = float(np.exp(best.loss - other.loss))
    return better, OtherMinimum(other.p, noises=(best.noise, other.noise), ratio=ratio)


def _ended(estimate: Estimate, other: Estimate) -> Estimate:
    message = f"{other.message.split(';')[0]}, while another minimum was looked for"
    return dataclasses.replace(estimate, status=other.status, message=message)


@dataclass(frozen=True, eq=False)
class _Minimum:
    """A minimum of the concentrated cost at physical parameters.

    `loss` is the negative log density, up to a constant, and `noise` the root mean square
    of the residuals of the data.
    """

    p: F64
    loss: float
    noise: float

    @classmethod
    def at(cls, problem: Problem, evaluator: Evaluator, p: F64) -> _Minimum:
        data = evaluator.data_residuals(p)
        freedom = Priors.of(problem).freedom(data.size, p.size)
        cost = max(evaluator.cost(p), float(np.finfo(np.float64).tiny))
        noise = float(np.sqrt(np.mean(data**2)))
        return cls(p, 0.5 * freedom * float(np.log(cost)), noise)

    def is_same(self, other: _Minimum) -> bool:
        near = _SAME * np.maximum(np.abs(self.p), np.abs(other.p))
        return abs(self.loss - other.loss) < _SAME and bool(
            (np.abs(self.p - other.p) <= near).all()
        )


def _linearised(
    problem: Problem, evaluator: Evaluator, p: F64, priors: Priors
) -> tuple[F64 | None, bool]:
    """Return another minimum of the model linearised at an estimate, ``None`` without one.

    The second result says whether data and priors differ so much that the model itself may
    have another one.
    """
    residuals, jacobian = evaluator.data_residuals(p), evaluator.data_jacobian(p)
    slopes, deviations = priors.slopes(p), priors.deviations(p)
    known = np.isfinite(residuals).all() and np.isfinite(jacobian).all()
    free = ~parameters_at_bound(problem, p)
    size = np.linalg.norm(jacobian, axis=0) + np.linalg.norm(slopes, axis=0)
    free &= size > 0.0
    if not known or not free.any():
        return None, False
    jacobian, slopes, size = jacobian[:, free], slopes[:, free], size[free]
    freedom = priors.freedom(residuals.size, p.size)
    both = np.column_stack([jacobian / size, residuals])
    triangle: F64 = np.asarray(np.linalg.qr(both, mode="r"))
    rows, right = triangle[:, :-1], triangle[:, -1]

    def place(noise: float) -> tuple[F64, float, float]:
        """Return the step, the noise that remains there, and the loss."""
        weighed = np.vstack([rows, noise * slopes / size])
        target = -np.concatenate([right, noise * deviations])
        step = np.asarray(np.linalg.lstsq(weighed, target, rcond=None)[0])
        left, off = right + rows @ step, deviations + slopes / size @ step
        total = max(float(left @ left), float(np.finfo(np.float64).tiny))
        loss = 0.5 * freedom * float(np.log(total)) + 0.5 * float(off @ off)
        return step, float(np.sqrt(total / freedom)), loss

    here = float(np.linalg.norm(residuals)) / freedom**0.5
    if not here > 0.0:
        return None, False
    least = max(place(1e-6 * here)[1], 1e-6 * here)
    most = place(1e6 * here)[1]
    if not most > least:
        return None, False
    noises = np.geomspace(0.99 * least, 1.01 * most, _STEPS)
    places = [place(float(s)) for s in noises]
    # Below the first, too: data without noise are met exactly.
    more = [
        True,
        *(implied_noise > s for s, (_, implied_noise, _) in zip(noises, places, strict=True)),
    ]
    crossings = np.array([k for k in range(_STEPS) if more[k] and not more[k + 1]], dtype=np.intp)
    squares = float(deviations @ deviations)
    gain = 2.0 * freedom * float(np.log(here / least))
    disagree = max(squares, gain) > _FAR**2 * priors.count
    if crossings.size < 2:
        return None, disagree
    own = int(np.argmin(np.abs(np.log(noises[crossings] / here))))
    others = [int(k) for j, k in enumerate(crossings) if j != own]
    step, noise, _ = places[min(others, key=lambda k: places[k][2])]
    for _ in range(_STEPS):  # each lowers the loss
        step, noise, _ = place(noise)
    point = p.copy()
    point[free] += step / size
    return np.clip(point, problem.lower, problem.upper), disagree


def _centres(problem: Problem, p: F64) -> F64:
    centres = [
        value if q.prior is None or not q.prior.counts else q.prior.center
        for q, value in zip(problem.free, p, strict=True)
    ]
    return np.clip(np.array(centres, dtype=np.float64), problem.lower, problem.upper)
