"""Which combinations of parameters are determined, tested by simulating along the claim.

A Jacobian shows a direction of no effect at one point only. Whether it belongs to a product or to a
sum is seen farther away: along ``R1 -> c R1, R2 -> c R2, C -> C/c`` the outputs stay the same when
``R1*C`` and ``R2*C`` are all that acts, and along a straight line when a sum is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.evaluation import Evaluator
from fmident.statistics import Identifiability, ParameterStatistics
from fmident.statistics.combinations import blocks, combined_verdict, null_space, products_of
from fmident.statistics.fixing import ranked_for_fixing
from fmident.statistics.identifiability import (
    DeterminedCombination,
    analyse_rank,
    determined_combinations,
)

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
    if not 0 < judged.rank < p.size or judged.undecided or held.any():
        return judged
    jacobian, errors = evaluator.jacobian(p), evaluator.column_errors(p)
    if errors is None:
        return judged
    norms = np.linalg.norm(jacobian, axis=0)
    visible = np.flatnonzero(norms > errors)
    missing = visible.size - judged.rank
    if missing <= 0:
        return judged
    names = [q.name for q in problem.free]
    alone = float(np.max(_FAR * norms * _sizes(problem, p)))
    null = np.zeros((p.size, missing))
    null[visible] = analyse_rank(jacobian[:, visible]).right[:, -missing:]
    claims: list[_Claim] = []
    groups = blocks(null)
    for group in groups:
        found = _claim(problem, evaluator, p, jacobian, null, group, alone)
        if found is None:  # the groups are not as separate as they seemed
            return judged
        claims.append(found)
    texts = [text for claim in claims for text in claim.texts]
    determined = tuple(c for claim in claims for c in claim.determined)
    involved = [j for claim in claims for j in claim.involved]
    identifiable = [int(j) for j in visible if not any(j in group for group in groups)]
    verdict = combined_verdict(names, judged.rank, involved, texts, identifiable, norms <= errors)
    nearby = [claim for claim in claims if claim.nearby]
    if nearby:
        near = "This" if nearby == claims else _listed([t for c in nearby for t in c.texts]) + ":"
        verdict += f" {near} holds near these values only: farther away other combinations"
        verdict += " are determined."
    return replace(judged, verdict=verdict, determined=determined)


@dataclass(frozen=True)
class _Claim:
    """What is determined of a group of parameters that cannot be told apart.

    Parameters
    ----------
    involved
        Indices of the parameters that cannot be told apart.
    texts
        One for each combination, empty where it has no name.
    determined
        Those with a name.
    nearby
        Whether they are determined near the estimate only.
    """

    involved: tuple[int, ...]
    texts: tuple[str, ...]
    determined: tuple[DeterminedCombination, ...]
    nearby: bool = False


def _claim(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    jacobian: F64,
    null: F64,
    group: list[int],
    alone: float,
) -> _Claim | None:
    """Return what is determined of a group: products if these hold, else sums."""
    free = [problem.free[j] for j in group]
    names, units = [q.name for q in free], [q.unit for q in free]
    missing = int(np.count_nonzero(np.linalg.svd(null[group], compute_uv=False) > 0.5))
    if not 0 < missing <= len(group):
        return None

    def whole(part: F64) -> F64:
        full = np.zeros((p.size, part.shape[1]))
        full[group] = part
        return full

    own = jacobian[:, group]
    if missing == len(group):
        return _Claim(tuple(group), (), ())
    if bool((p[group] != 0.0).all()):
        for found in products_of(names, own * p[group], missing):
            directions = whole(found.directions)
            if not _holds(evaluator, p, directions, alone, powers=True):
                continue
            gradients = [whole((row / p[group])[:, np.newaxis])[:, 0] for row in found.powers]
            return _Claim(
                tuple(group[j] for j in found.involved),
                found.texts,
                tuple(
                    DeterminedCombination(text, g / g[np.flatnonzero(g)[0]])
                    for text, g in zip(found.texts, gradients, strict=True)
                ),
            )
    analysis = analyse_rank(own)
    analysis = replace(
        analysis, rank=len(group) - missing, involved=np.ones(len(group), dtype=np.bool_)
    )
    holds = _holds(evaluator, p, whole(null_space(own, missing)), alone, powers=False)
    # A sum that holds everywhere has coefficients with units of their own, such as inertia + l^2*m.
    sums = determined_combinations(analysis, names, None if holds else units)
    named = tuple(
        DeterminedCombination(c.text, whole(c.coefficients[:, np.newaxis])[:, 0])
        for c in sums
        if c.text
    )
    nearby = bool(named) and not holds
    return _Claim(tuple(group), tuple(c.text for c in sums), named, nearby)


def _sizes(problem: Problem, p: F64) -> F64:
    """Return the sizes of the parameters, shape (n,): of one at zero, its scale."""
    scales = np.array([q.scale for q in problem.free])
    found: F64 = np.where(p == 0.0, scales, np.abs(p))
    return found


def _listed(words: Sequence[str]) -> str:
    known = [w for w in words if w]
    return known[0] if len(known) == 1 else ", ".join(known[:-1]) + " and " + known[-1]


def _holds(evaluator: Evaluator, p: F64, directions: F64, alone: float, *, powers: bool) -> bool:
    """Return whether the outputs stay the same along all directions, both ways."""
    problem = evaluator.problem
    points = []
    for way in directions.T:
        relative = way if powers else way / _sizes(problem, p)
        length = _FAR / float(np.max(np.abs(relative)))
        for side in (length, -length):
            points.append(p * np.exp(side * way) if powers else p + side * way)
    inside = np.clip(np.array(points), problem.lower, problem.upper)
    usable = [k for k, row in enumerate(points) if np.array_equal(row, inside[k])]
    if not usable:
        return False
    changes = evaluator.probe(inside[usable]) - evaluator.residuals(p)
    noise = evaluator.noise(p)
    allowed = _SAME * alone + 10.0 * noise * float(np.sqrt(changes.shape[1]))
    return bool((np.linalg.norm(changes, axis=1) <= allowed).all())


def with_fixing(
    problem: Problem, p: F64, statistics: ParameterStatistics | None
) -> Identifiability | None:
    """Return what the data determine, with the parameters ranked for fixing.

    Parameters
    ----------
    problem
        Of the run.
    p
        Estimate, shape (n,).
    statistics
        There; ``None`` where there are none.
    """
    if statistics is None:
        return None
    judged, linear = statistics.identifiability, statistics.linearisation
    if not judged.rank_known or judged.undecided or linear.tangent is not None:
        return judged
    kept = [int(j) for j in linear.kept]
    sizes = np.array(
        [abs(x) or abs(q.initial) or q.scale for q, x in zip(problem.free, p, strict=True)]
    )
    names = [problem.free[j].name for j in kept]
    seen = linear.jacobian[:, kept] * (linear.analysis.column_norms > 0.0)
    steps = ranked_for_fixing(names, seen, sizes[kept])
    return replace(judged, fixing=steps)
