"""Checks of the simulations: failures within the bounds, noise, remarks of the executor.

An FMU must work wherever an estimator may go.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.checking.report import BoundsCheck
from fmident.checking.subject import Subject
from fmident.errors import Diagnostic
from fmident.estimation.checks import points_inside
from fmident.evaluation import Evaluator, SimulationFailure

if TYPE_CHECKING:
    from fmident.evaluation.executors.base import ExecutorReport

_CORNERS = 4
_MANY = 0.5
_NOISY = 0.1
"""Noise of the simulation in units of sigma from which on the data deserve a better one."""


def points_to_try(evaluator: Evaluator, inside: int) -> F64:
    """Return points inside the bounds and at some of their corners, shape (k, n)."""
    problem = evaluator.problem
    points = points_inside(evaluator, inside)
    bounded = np.isfinite(problem.lower) & np.isfinite(problem.upper)
    if not bounded.any():
        return points
    signs = np.random.default_rng(0).random((_CORNERS - 2, bounded.size)) < 0.5
    signs = np.vstack([np.zeros_like(bounded), np.ones_like(bounded), signs])
    corners = np.where(signs, problem.upper, problem.lower)
    corners = np.where(bounded, corners, problem.initial)
    return np.unique(np.vstack([points, corners]), axis=0)


def try_bounds(evaluator: Evaluator, points: F64) -> BoundsCheck:
    """Simulate at all points and count the failures."""
    reasons: Counter[str] = Counter()
    failed = 0
    works = np.isfinite(evaluator.residuals_many(points)).all(axis=1)
    for p in points[~works]:
        wrong = [x for x in evaluator.simulate(p) if isinstance(x, SimulationFailure)]
        failed += 1
        reasons.update([_reason(wrong[0]) if wrong else "the residuals are not finite"])
    return BoundsCheck(len(points), failed, tuple(r for r, _ in reasons.most_common(5)))


def bounds_findings(subject: Subject, check: BoundsCheck) -> list[Diagnostic]:
    """Return a finding if simulations fail within the bounds."""
    if not check.failed:
        return []
    share = check.failed / check.points
    more = f" (and {len(check.reasons) - 1} other reasons)" if len(check.reasons) > 1 else ""
    return [
        subject.finding(
            "warning" if share >= _MANY else "note",
            "fails-in-bounds",
            f"{check.failed} of {check.points} simulations inside the bounds fail:"
            f" {check.reasons[0]}{more}",
            "narrow the bounds to where the model makes sense; a failed simulation costs a step,"
            " not the run",
            "parameters",
        )
    ]


def noise_findings(subject: Subject, noise: float) -> list[Diagnostic]:
    """Return a finding if simulation noise is significant beside that of the data.

    `noise` is its root mean square per whitened residual; NaN if unknown.
    """
    problem = subject.problem
    if not (problem.sigma_known and noise > _NOISY):
        return []
    tolerance = problem.evaluation.tolerance
    now = "the FMU's own" if tolerance is None else f"{tolerance:g}"
    return [
        subject.finding(
            "warning",
            "simulation-noise",
            f"the noise of the simulation is {noise:.2g} times sigma: it, not the data, limits"
            " the estimate",
            f"tighten evaluation.tolerance (now {now})"
            + (f" to about {tolerance * _NOISY / noise:.0e}" if tolerance else ""),
            "evaluation",
            "tolerance",
        )
    ]


def engine_findings(done: ExecutorReport) -> list[Diagnostic]:
    """Return findings of the executor: incomplete resets, crashes, timeouts."""
    findings = [Diagnostic("warning", t.rstrip("."), rule="engine") for t in done.doubts]
    findings += [Diagnostic("note", t.rstrip("."), rule="engine") for t in done.notes]
    for count, what in ((done.crashes, "crashed"), (done.timeouts, "took too long")):
        if count:
            runs = f"{count} simulation{'' if count == 1 else 's'}"
            findings.append(
                Diagnostic("warning", f"{runs} {what} inside the bounds", None, None, "engine")
            )
    return findings


def _reason(failure: SimulationFailure) -> str:
    """Return the message without values that vary from run to run."""
    return failure.message.splitlines()[0].rstrip(".")
