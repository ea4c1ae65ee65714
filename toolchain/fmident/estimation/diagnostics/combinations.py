"""Determined combinations of parameters, tested by simulation.

A Jacobian shows a direction without effect at one point only. Whether it belongs to a
product or a sum shows farther away: along ``R1 -> c R1, R2 -> c R2, C -> C/c`` the
outputs stay the same if only ``R1*C`` and ``R2*C`` have an effect, and along a straight
line if only a sum does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.diagnostics import sizes_of
from fmident.evaluation import Evaluator, JacobianError
from fmident.statistics.identifiability import (
    DeterminedCombination,
    Identifiability,
    blocks,
    combined_verdict,
    determined_combinations,
    format_combination,
    monomials_of,
    product_text,
    products_of,
    ranked_for_fixing,
    simple_fractions,
)
from fmident.statistics.rank import analyse_rank, null_space
from fmident.words import listed

if TYPE_CHECKING:
    from fmident.estimation.diagnostics import Fit
    from fmident.estimation.diagnostics.distant_influence import DistantInfluence
    from fmident.estimation.diagnostics.jumps import Jumps
    from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics
    from fmident.problem.model import Problem

_FAR = 0.2
"""Largest relative change of a parameter along a claim."""

_SAME = 1e-3
"""Change of the outputs that is nothing, in parts of what a parameter alone does."""

_SCALED = 1e-3
"""Part of a scaling by one factor that may be error of the directions."""

_PARALLEL = 1e-6
"""One minus the cosine between derivatives that may be those by two members of a sum."""


def tested_combinations(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    held: npt.NDArray[np.bool_],
    judged: Identifiability,
    base: Sequence[DeterminedCombination],
) -> Identifiability:
    """Return the identifiability with the combinations named as products or sums.

    It takes four simulations per direction without effect; none if all is identifiable, or
    if the estimator knows the combinations (`base`, single parameters included). `held`
    marks parameters on a bound; `judged` is the result of the Jacobian at `p`.
    """
    kept = int(np.count_nonzero(~held))
    if not 0 < judged.rank < kept or judged.undecided:
        return judged
    jacobian, errors = evaluator.jacobian(p), evaluator.column_errors(p)
    if errors is None:
        return judged
    names = [q.name for q in problem.free]
    norms = np.linalg.norm(jacobian, axis=0)
    silent = (norms <= errors) & ~held
    if judged.rank == len(base):
        shared = tuple(c for c in base if len(c.members) > 1)
        involved = sorted({j for c in shared for j in c.members})
        alone = [c.leading for c in base if len(c.members) == 1]
        silent[:] = True
        silent[[*involved, *alone]] = False
        texts = [c.text for c in shared]
        verdict = combined_verdict(names, judged.rank, involved, texts, alone, silent & ~held, kept)
        unseen = tuple(names[int(j)] for j in np.flatnonzero(silent & ~held))
        return replace(judged, verdict=verdict, determined=shared, silent=unseen, by_choice=True)
    visible = np.flatnonzero((norms > errors) & ~held)
    missing = visible.size - judged.rank
    if missing <= 0:
        return judged
    null = np.zeros((p.size, missing))
    null[visible] = analyse_rank(jacobian[:, visible]).right[:, -missing:]
    claims: list[_Claim] = []
    groups = blocks(null)
    for group in groups:
        new = _claim(evaluator, p, jacobian, null, group)
        if new is None:  # the groups are not as separate as they seemed
            return judged
        claims.append(new)
    texts = [text for claim in claims for text in claim.texts]
    determined = tuple(c for claim in claims for c in claim.determined)
    involved = [j for claim in claims for j in claim.involved]
    identifiable = [int(j) for j in visible if not any(j in group for group in groups)]
    verdict = combined_verdict(names, judged.rank, involved, texts, identifiable, silent, kept)
    if nearby := [c.text for c in determined if not c.everywhere]:
        near = "This" if len(nearby) == len(determined) else f"{listed(nearby)}:"
        verdict += f" {near} holds near these values only: farther away other combinations"
        verdict += " are determined."
    return replace(judged, verdict=verdict, determined=determined)


@dataclass(frozen=True)
class _Claim:
    """The determined combinations in a group of parameters not identifiable separately.

    `involved` are the indices of these parameters; `texts` has one entry for each
    combination, empty if it has no name; `determined` are those with a name.
    """

    involved: tuple[int, ...]
    texts: tuple[str, ...]
    determined: tuple[DeterminedCombination, ...]


@dataclass(frozen=True, eq=False)
class _Group:
    """Parameters that are not identifiable separately.

    `sums` are the coefficients of each, or of sums of them, among all parameters; `columns`
    the derivatives, and `names` their texts. `missing` is the number of directions without
    effect.
    """

    evaluator: Evaluator
    p: F64
    names: Sequence[str]
    sums: F64
    columns: F64
    missing: int

    def holds(self, directions: F64, *, powers: bool = False, at: F64 | None = None) -> bool:
        """Return whether the outputs stay the same along all directions, both ways."""
        evaluator, problem, p = self.evaluator, self.evaluator.problem, self.p if at is None else at
        # Of the outputs, by a relative change of the parameter that acts most, alone.
        slopes = np.linalg.norm(self.columns, axis=0)
        alone = _FAR * float(np.max(slopes * np.abs(self.sums @ sizes_of(problem, p))))
        points = []
        for way in directions.T:
            if powers:
                length = _FAR / float(np.max(np.abs(way)))
            else:  # as far, however small a parameter is: what cancels is as large as that
                length = alone / float(np.max(slopes * np.abs(self.sums @ way)))
            for side in (length, -length):
                points.append(p * np.exp(side * way) if powers else p + side * way)
        inside = np.clip(np.array(points), problem.lower, problem.upper)
        usable = [k for k, row in enumerate(points) if np.array_equal(row, inside[k])]
        if not usable:
            return False
        changes = evaluator.probe(inside[usable]) - evaluator.residuals(p)
        allowed = _SAME * alone + 10.0 * evaluator.noise(p) * float(np.sqrt(changes.shape[1]))
        return bool((np.linalg.norm(changes, axis=1) <= allowed).all())

    def products(self) -> _Claim | None:
        """Return the products of powers of sums that determine the outputs; ``None``: none."""
        values = self.sums @ self.p
        if not bool((values != 0.0).all()):
            return None
        for candidate in products_of(self.names, self.columns * values, self.missing):
            # All members of a sum are scaled alike.
            directions = (self.sums != 0.0).T @ candidate.directions
            if not self.holds(directions, powers=True):
                continue
            combinations = []
            for text, row in zip(candidate.texts, candidate.powers, strict=True):
                used = np.flatnonzero(row)
                powers = tuple(int(k) for k in row[used])
                leading = int(np.flatnonzero(self.sums[used[0]])[0])
                combinations.append(
                    DeterminedCombination(text, self.sums[used], powers, leading, True)
                )
            involved = np.flatnonzero(self.sums[list(candidate.involved)].any(axis=0))
            return _Claim(tuple(int(j) for j in involved), candidate.texts, tuple(combinations))
        return None

    def monomials(self) -> list[DeterminedCombination]:
        """Return products of powers that are determined beside other combinations.

        None of them changes along a direction without effect, here and at two other points; each
        is led by a parameter of its own.
        """
        evaluator, problem = self.evaluator, self.evaluator.problem
        group = np.flatnonzero(self.sums.any(axis=0))
        shifts = np.random.default_rng(0).uniform(-_FAR, _FAR, (2, group.size))
        spaces = []
        for shift in np.vstack([np.zeros(group.size), shifts]):
            point = self.p.copy()
            point[group] *= np.exp(shift)
            point = np.clip(point, problem.lower, problem.upper)
            if not (point[group] != 0.0).all():
                return []
            try:
                relative = evaluator.jacobian(point)[:, group] * point[group]
            except JacobianError:
                return []
            spaces.append(null_space(relative, self.missing))
        combinations: list[DeterminedCombination] = []
        for powers in monomials_of(spaces):
            used = np.flatnonzero(powers)
            leaders = [int(group[j]) for j in used]
            free = [j for j in leaders if j not in [c.leading for c in combinations]]
            text = product_text(powers.tolist(), self.names)
            exponents = tuple(int(k) for k in powers[used])
            combinations.append(
                DeterminedCombination(text, self.sums[used], exponents, free[0], True)
            )
        return combinations

    def products_of_sums(self) -> _Claim | None:
        """Return products of sums, such as ``(k1 + k2)/m``.

        Parameters form a sum if the outputs change with each of them in the same way.
        """
        names, each, own = self.names, self.sums, self.columns
        lengths = np.linalg.norm(own, axis=0)
        unit = own / lengths
        left, texts, sums, columns = list(range(len(names))), [], [], []
        while left:
            first = left[0]
            same = [k for k in left if abs(unit[:, first] @ unit[:, k]) > 1.0 - _PARALLEL]
            shares = (unit[:, first] @ unit[:, same]) * lengths[same] / lengths[first]
            shares = simple_fractions(shares)
            ways = each[same[1:]] - shares[1:, np.newaxis] * each[first]
            if len(same) > 1 and not self.holds(ways.T):
                same, shares = [first], np.ones(1)
            text = format_combination(shares, [names[k] for k in same])
            texts.append(text if len(same) == 1 else f"({text})")
            sums.append(shares @ each[same])
            columns.append(own[:, first])
            left = [k for k in left if k not in same]
        missing = self.missing - len(names) + len(sums)
        if not 0 < missing < len(sums) < len(names):
            return None
        summed = np.array(sums), np.array(columns).T
        return replace(
            self, names=texts, sums=summed[0], columns=summed[1], missing=missing
        ).products()


def _claim(
    evaluator: Evaluator, p: F64, jacobian: F64, null: F64, group: list[int]
) -> _Claim | None:
    """Return the combinations of a group: products, else sums, or products of sums.

    Simulations test whether the outputs stay the same.
    """
    problem = evaluator.problem
    units = [problem.free[j].unit for j in group]
    names = [problem.free[j].name for j in group]
    missing = int(np.count_nonzero(np.linalg.svd(null[group], compute_uv=False) > 0.5))
    if not 0 < missing <= len(group):
        return None
    own = jacobian[:, group]
    if missing == len(group):
        return _Claim(tuple(group), (), ())
    each = np.zeros((len(group), p.size))
    each[np.arange(len(group)), group] = 1.0
    tangled = _Group(evaluator, p, names, each, own, missing)
    claim = tangled.products()
    if claim is not None:
        return claim
    directions = each.T @ null_space(own, missing)
    holds = tangled.holds(directions)
    if holds and _through_zero(directions[group], p[group]):
        # A ratio of sums is the same along a line through zero, but not along one beside it.
        beside, first = p.copy(), group[0]
        beside[first] += _FAR * abs(p[first]) * (1.0 if p[first] < problem.upper[first] else -1.0)
        holds = tangled.holds(directions, at=np.clip(beside, problem.lower, problem.upper))
    if not holds and missing > 1:
        claim = tangled.products_of_sums()
        if claim is not None:
            return claim
    products = [] if holds else tangled.monomials()
    # Sums are of the parameters that lead no product.
    leading = [group.index(c.leading) for c in products]
    order = [*leading, *(k for k in range(len(group)) if k not in leading)]
    analysis = replace(
        analyse_rank(own[:, order]),
        rank=len(group) - missing,
        involved=np.ones(len(group), dtype=np.bool_),
    )
    # A sum that holds everywhere has coefficients with units of their own, such as inertia + l^2*m.
    fitting = None if holds else [units[k] for k in order]
    sums = [
        replace(c, sums=c.sums @ each[order], leading=group[order[c.leading]], everywhere=holds)
        for c in determined_combinations(analysis, [names[k] for k in order], fitting)
    ][len(products) :]
    texts = tuple(c.text for c in (*products, *sums))
    return _Claim(tuple(group), texts, (*products, *(c for c in sums if c.text)))


def _through_zero(directions: F64, values: F64) -> bool:
    """Return whether scaling all parameters by one factor is a direction without effect."""
    if not bool((values != 0.0).all()):
        return False
    ones = np.ones(values.size)
    relative = directions / values[:, np.newaxis]
    left = ones - relative @ np.linalg.lstsq(relative, ones, rcond=None)[0]
    return float(np.linalg.norm(left)) < _SCALED * float(np.sqrt(values.size))


def with_distant_evidence(
    fit: Fit, identifiability: Identifiability, jumps: Jumps, influence: DistantInfluence
) -> VerifiedStatistics:
    """Return the statistics with their identifiability and what simulations farther away show.

    Where the cost jumps or bends, derivatives are wrong: there are no intervals.
    """
    statistics = fit.statistics
    if jumps.names:
        identifiability = replace(identifiability, jumps=jumps.names)
        lost = np.isin(fit.names, jumps.names)
        if bool(np.isnan(statistics.local.standard_errors[lost]).any()):
            verdict = "The rank cannot be judged where the cost jumps"
            identifiability = replace(
                identifiability, verdict=verdict, determined=(), rank_known=False
            )
        statistics = replace(statistics, local=replace(statistics.local, kinks=lost))
    elif influence.points:
        places = " and ".join(
            f"{name} acts at {name} = {point[fit.names.index(name)]:.4g}"
            for name, point in influence.points.items()
        )
        verdict = f"{identifiability.verdict} That is so next to these values only: {places}."
        identifiability = replace(identifiability, verdict=verdict)
    return replace(statistics, identifiability=identifiability)


def with_fixing(
    problem: Problem, p: F64, statistics: VerifiedStatistics | None
) -> Identifiability | None:
    """Return the identifiability, with the parameters ranked for fixing.

    ``None`` without statistics at `p`.
    """
    if statistics is None:
        return None
    judged, model = statistics.identifiability, statistics.local
    ranked = judged.rank_known and not judged.undecided and not judged.by_choice
    if not ranked or problem.constraints:
        return judged
    moving = model.moving.tolist()
    sizes = np.array(
        [abs(x) or abs(q.initial) or q.scale for q, x in zip(problem.free, p, strict=True)]
    )
    names = [problem.free[j].name for j in moving]
    seen = model.rows[:, moving] * (model.analysis.column_norms > 0.0)
    steps = ranked_for_fixing(names, seen, sizes[moving])
    return replace(judged, fixing=steps)
