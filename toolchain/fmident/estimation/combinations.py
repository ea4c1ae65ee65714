"""Which combinations of parameters are determined, tested by simulating along the claim.

A Jacobian tells a direction of no effect at one point only. Whether it belongs to a product or to a
sum is seen farther away: along ``R1 -> c R1, R2 -> c R2, C -> C/c`` the outputs stay the same when
``R1*C`` and ``R2*C`` are all that acts, and along a straight line when a sum is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident._types import F64
from fmident.evaluation import Evaluator
from fmident.statistics import Identifiability
from fmident.statistics.combinations import null_space, products_of, products_verdict
from fmident.statistics.identifiability import DeterminedCombination

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_FAR = 0.2
"""Largest relative change of a parameter along a claim."""

_SAME = 1e-3
"""Change of the outputs that is nothing, in parts of what a parameter alone does."""


def tested_combinations(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    held: npt.NDArray[np.bool_],
    judged: Identifiability,
) -> Identifiability:
    """Return the verdict with the combinations named as what they are.

    Costs four simulations per direction of no effect, none where all is identifiable.

    Parameters
    ----------
    problem, evaluator
        Of the run.
    p
        Estimate, shape (n,).
    held
        Parameters on a bound, shape (n,).
    judged
        What the Jacobian says there.
    """
    missing = p.size - judged.rank
    if not 0 < missing < p.size or judged.undecided or held.any() or not judged.determined:
        return judged
    jacobian, errors = evaluator.jacobian(p), evaluator.column_errors(p)
    norms = np.linalg.norm(jacobian, axis=0)
    if errors is None or bool((norms <= errors).any()) or not bool((p != 0.0).all()):
        return judged
    names = [q.name for q in problem.free]
    straight = null_space(jacobian, missing)
    found = products_of(names, jacobian * p, missing) if bool((p > 0.0).all()) else None
    alone = float(np.max(_FAR * norms * np.abs(p)))
    if found is not None and _holds(evaluator, p, found.directions, alone, powers=True):
        gradients = [row / p / (row / p)[np.flatnonzero(row)[0]] for row in found.powers]
        return replace(
            judged,
            verdict=products_verdict(names, judged.rank, found),
            determined=tuple(
                DeterminedCombination(text, gradient)
                for text, gradient in zip(found.texts, gradients, strict=True)
            ),
        )
    if _holds(evaluator, p, straight, alone, powers=False):
        return judged
    near = "This holds near these values only: farther away other combinations are determined."
    return replace(judged, verdict=f"{judged.verdict} {near}")


def _holds(evaluator: Evaluator, p: F64, directions: F64, alone: float, *, powers: bool) -> bool:
    """Return whether the outputs stay the same along all directions, both ways."""
    problem = evaluator.problem
    points = []
    for way in directions.T:
        relative = way if powers else way / p
        length = _FAR / float(np.max(np.abs(relative)))
        for side in (length, -length):
            points.append(p * np.exp(side * way) if powers else p + side * way)
    inside = np.clip(np.array(points), problem.lower, problem.upper)
    usable = [k for k, row in enumerate(points) if np.array_equal(row, inside[k])]
    if not usable:
        return False
    changes = evaluator.probe(inside[usable]) - evaluator.residuals(p)
    sizes = evaluator.step_sizes
    noise = 0.0 if sizes is None else sizes.noise_or_rounding
    allowed = _SAME * alone + 10.0 * noise * float(np.sqrt(changes.shape[1]))
    return bool((np.linalg.norm(changes, axis=1) <= allowed).all())
