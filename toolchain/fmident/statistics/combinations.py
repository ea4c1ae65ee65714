"""Products of powers that are determined although their factors are not: ``k/m``.

Parameters that always occur as a product or a quotient can be scaled against each other
without any effect. In ``log |p|`` the direction without effect is then the same at all
points, with small integer components, whereas in ``p`` it rotates from point to point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.statistics.identifiability import (
    Identifiability,
    analyse_rank,
    not_told_apart,
    rank_sentence,
    without_influence,
)
from fmident.words import listed

_SAME = 1e-2
_LARGEST = 6
_NOTHING = 1e-3
_LADDER = ((_SAME, _LARGEST), (0.05, 3), (0.2, 2))
"""How far powers may be from whole numbers, and how large these may be, to be worth a test."""

_PART = 0.2
"""Share in a direction of no effect that is none, in parts of the error of the powers."""


@dataclass(frozen=True)
class PointSensitivity:
    """A Jacobian at a point within the bounds, whitened, shape (m, n).

    `column_errors` are the lengths of the errors of its columns, shape (n,).
    """

    point: F64
    jacobian: F64
    column_errors: F64
    rank: int


def product_verdict(
    names: Sequence[str], sensitivities: Sequence[PointSensitivity], judged: Identifiability
) -> tuple[tuple[str, ...], str] | None:
    """Return the determined products, and the statement that names them.

    Sensitivities at two or more points, the initial one first, distinguish products from
    sums. ``None`` if nothing indicates products, or all parameters are identifiable.
    """
    count = len(names)
    if judged.rank in (0, count) or judged.undecided or len(sensitivities) < 2:
        return None
    if any(not bool((s.point != 0.0).all()) for s in sensitivities):
        return None
    missing = count - judged.rank
    relative, plain = [], []
    for s in sensitivities:
        if bool((np.linalg.norm(s.jacobian, axis=0) <= s.column_errors).any()):
            return None
        relative.append(null_space(s.jacobian * s.point, missing))
        plain.append(null_space(s.jacobian, missing))
    if _spread(relative) > _SAME or _spread(relative) >= _spread(plain):
        return None
    products = _products(names, relative[0])
    return (
        None
        if products is None
        else (products.texts, products_verdict(names, judged.rank, products))
    )


@dataclass(frozen=True)
class Products:
    """Products of powers that may determine the outputs.

    `texts` are such as ``"R1*C"``, with the exponents of all parameters in `powers`, shape
    (k, n). None of the products changes along `directions` in the logarithms of the
    parameters' sizes, shape (n, missing). `involved` are the parameters that are not
    identifiable separately.
    """

    texts: tuple[str, ...]
    powers: F64
    directions: F64
    involved: tuple[int, ...]


def products_of(names: Sequence[str], relative: F64, missing: int) -> list[Products]:
    """Return the products that a Jacobian with respect to ``log p`` indicates at one point.

    The best supported come first. For an inexact Jacobian, as near jumps, products with
    only small powers that are close to it follow, which need a test. `missing` is the
    dimension of its null space.
    """
    basis = null_space(relative, missing)
    candidates: list[Products] = []
    for same, largest in _LADDER:
        more = _products(names, basis, same, largest)
        if more is not None and more.texts not in [f.texts for f in candidates]:
            candidates.append(more)
    return candidates


def _products(
    names: Sequence[str], basis: F64, same: float = _SAME, largest: int = _LARGEST
) -> Products | None:
    nothing = max(_NOTHING, _PART * (same - _SAME))
    involved = [int(j) for j in np.flatnonzero(np.linalg.norm(basis, axis=1) > nothing)]
    rows = _whole_rows(_complement(basis[involved]), same, largest)
    if rows is None or len(rows) != len(involved) - basis.shape[1]:
        return None
    powers = np.zeros((len(rows), len(names)))
    powers[:, involved] = np.array(rows, dtype=np.float64).reshape(len(rows), len(involved))
    texts = tuple(product_text(row, [names[j] for j in involved]) for row in rows)
    # Exactly along what does not change the whole powers.
    directions = np.zeros((len(names), basis.shape[1]))
    if rows:
        inner = powers[:, involved]
        _, _, right = np.linalg.svd(inner, full_matrices=True)
        directions[involved] = right[len(rows) :].T[:, : basis.shape[1]]
    else:
        directions = basis
    return Products(texts, powers, directions, tuple(involved))


def products_verdict(names: Sequence[str], rank: int, found: Products) -> str:
    """Return the statement that names the products; `rank` is the numerical rank."""
    rest = [j for j in range(len(names)) if j not in found.involved]
    return combined_verdict(names, rank, found.involved, found.texts, rest)


def combined_verdict(
    names: Sequence[str],
    rank: int,
    involved: Sequence[int],
    determined: Sequence[str],
    identifiable: Sequence[int],
    silent: Sequence[bool] | npt.NDArray[np.bool_] = (),
    count: int | None = None,
) -> str:
    """Return the statement that names combinations.

    `involved` are the indices of parameters that are not identifiable separately,
    `determined` their determined combinations (empty texts for those without a name),
    `identifiable` the indices of determined parameters, and `silent` those without visible
    influence. `count` is the number of parameters that are not held on a bound; by default
    all.
    """
    tangled = [names[j] for j in sorted(involved)]
    rest = [names[j] for j in identifiable]
    verdict = f"{rank_sentence(rank, len(names) if count is None else count)} "
    if unseen := [names[int(j)] for j in np.flatnonzero(silent)]:
        verdict += f"{without_influence(unseen)} "
    verdict += not_told_apart(tangled, determined) if tangled else ""
    if rest:
        verdict += f" {listed(rest)} {'is' if len(rest) == 1 else 'are'} identifiable."
    return verdict


def blocks(null: F64) -> list[list[int]]:
    """Return index groups such that every direction without effect lies in one group.

    `null` is an orthonormal basis of these directions, shape (n, missing). Parameters that
    are in no such direction are in no group.
    """
    linked = np.abs(null @ null.T) > _NOTHING
    left = {int(j) for j in np.flatnonzero(np.linalg.norm(null, axis=1) > _NOTHING)}
    groups = []
    while left:
        group, new = set[int](), {min(left)}
        while new:
            group |= new
            new = {k for j in new for k in left if linked[j, k]} - group
        left -= group
        groups.append(sorted(group))
    return groups


def product_text(powers: Sequence[int], names: Sequence[str]) -> str:
    """Return a product of powers as a user would write it.

    >>> product_text([1, -1, 0], ["k", "m", "c"]), product_text([2, 1, -2], ["a", "b", "c"])
    ('k/m', 'a^2*b/c^2')
    """
    above = [_power(n, k) for n, k in zip(names, powers, strict=True) if k > 0]
    below = [_power(n, -k) for n, k in zip(names, powers, strict=True) if k < 0]
    text = "*".join(above) or "1"
    if not below:
        return text
    return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"


def null_space(jacobian: F64, missing: int) -> F64:
    """Return an orthonormal basis of the directions without effect, shape (n, missing)."""
    analysis = analyse_rank(jacobian)
    scale = np.where(analysis.column_norms > 0.0, analysis.column_norms, 1.0)
    directions = analysis.right[:, -missing:] / scale[:, np.newaxis]
    basis, _ = np.linalg.qr(directions)
    orthonormal: F64 = basis
    return orthonormal


def _spread(bases: Sequence[F64]) -> float:
    """Return the largest sine of an angle between the first subspace and the others."""
    first = bases[0]
    worst = 0.0
    for other in bases[1:]:
        outside = other - first @ (first.T @ other)
        worst = max(worst, float(np.linalg.norm(outside, 2)))
    return worst


def _complement(basis: F64) -> F64:
    left, values, _ = np.linalg.svd(basis, full_matrices=True)
    rank = int(np.count_nonzero(values > _NOTHING))
    complement: F64 = left[:, rank:].T
    return complement


def _whole_rows(rows: F64, same: float, largest: int) -> list[list[int]] | None:
    """Return integer rows that span the same space, or ``None`` if there are none."""
    reduced = rows.copy()
    pivots = []
    # Numerators read best when the first names are above the line.
    for r in range(reduced.shape[0]):
        column = next(
            (
                c
                for c in range(reduced.shape[1])
                if c not in pivots and np.abs(reduced[r:, c]).max() > 0.05
            ),
            None,
        )
        if column is None:
            return None
        best = r + int(np.argmax(np.abs(reduced[r:, column])))
        reduced[[r, best]] = reduced[[best, r]]
        reduced[r] /= reduced[r, column]
        for other in range(reduced.shape[0]):
            if other != r:
                reduced[other] -= reduced[other, column] * reduced[r]
        pivots.append(column)
    whole = []
    for row in reduced:
        fractions = [Fraction(float(x)).limit_denominator(largest) for x in row]
        if any(abs(float(f) - x) > same for f, x in zip(fractions, row, strict=True)):
            return None
        common = 1
        for f in fractions:
            common = common * f.denominator // gcd(common, f.denominator)
        numbers = [int(f * common) for f in fractions]
        if max(map(abs, numbers)) > largest:
            return None
        whole.append(numbers)
    return whole
