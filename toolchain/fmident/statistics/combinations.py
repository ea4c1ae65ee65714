"""Products of powers that are determined where single parameters are not: ``k/m``.

Parameters that always occur as a product or a quotient can be scaled against each other without
any effect. In ``log |p|`` the direction of no effect is then the same at all points, with
components that are small whole numbers, whereas in ``p`` it turns from point to point.
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
    listed,
    not_told_apart,
    rank_sentence,
    without_influence,
)

_SAME = 1e-2
_LARGEST = 6
_NOTHING = 1e-3
_LADDER = ((_SAME, _LARGEST), (0.05, 3), (0.2, 2))
"""How far powers may be from whole numbers, and how large these may be, to be worth a test."""

_PART = 0.2
"""Share in a direction of no effect that is none, in parts of the error of the powers."""


@dataclass(frozen=True)
class PointSensitivity:
    """A Jacobian somewhere inside the bounds.

    Parameters
    ----------
    point
        Free parameters, shape (n,).
    jacobian
        Whitened, shape (m, n).
    column_errors
        Lengths of the errors of its columns, shape (n,).
    rank
        Numerical rank.
    """

    point: F64
    jacobian: F64
    column_errors: F64
    rank: int


def product_verdict(
    names: Sequence[str], sensitivities: Sequence[PointSensitivity], judged: Identifiability
) -> tuple[tuple[str, ...], str] | None:
    """Return the products that are determined, and the verdict that names them.

    Parameters
    ----------
    names
        Of the free parameters, shape (n,).
    sensitivities
        At several points, the initial point first; two or more tell products from sums.
    judged
        At the initial point.

    Returns
    -------
    determined, verdict
        ``None`` where nothing speaks for products, or everything is identifiable.
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
    found = _products(names, relative[0])
    return None if found is None else (found.texts, products_verdict(names, judged.rank, found))


@dataclass(frozen=True)
class Products:
    """Products of powers that may be all that acts.

    Parameters
    ----------
    texts
        Such as ``"R1*C"``.
    powers
        Exponents of all parameters, shape (k, n).
    directions
        In the logarithms of the parameters' sizes, shape (n, missing): along these none of the
        products changes.
    involved
        Indices of the parameters that cannot be told apart.
    """

    texts: tuple[str, ...]
    powers: F64
    directions: F64
    involved: tuple[int, ...]


def products_of(names: Sequence[str], relative: F64, missing: int) -> list[Products]:
    """Return the products that a Jacobian with respect to ``log p`` speaks for, at one point.

    The best founded come first. Where the Jacobian is inexact, as next to jumps, those with small
    powers only that are near what it says follow: they need a test.

    Parameters
    ----------
    names
        Of the free parameters, shape (n,).
    relative
        Shape (m, n).
    missing
        Dimension of its null space.
    """
    basis = null_space(relative, missing)
    found: list[Products] = []
    for same, largest in _LADDER:
        more = _products(names, basis, same, largest)
        if more is not None and more.texts not in [f.texts for f in found]:
            found.append(more)
    return found


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
    """Return the verdict that names the products.

    Parameters
    ----------
    names
        Of the free parameters, shape (n,).
    rank
        Numerical rank.
    found
        The products.
    """
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
    """Return the verdict that names combinations.

    Parameters
    ----------
    names
        Of the free parameters, shape (n,).
    rank
        Numerical rank.
    involved
        Indices of the parameters that cannot be told apart.
    determined
        The combinations of them that are determined; empty texts for those without a name.
    identifiable
        Indices of the parameters that are determined themselves.
    silent
        Which parameters have no visible influence, shape (n,); none by default.
    count
        Parameters that are not held on a bound; by default all.
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
    """Return groups of parameters such that every direction of no effect is of one group.

    Parameters
    ----------
    null
        Orthonormal basis of the directions of no effect, shape (n, missing).

    Returns
    -------
    list of lists
        Of indices; parameters that are in no such direction are in none.
    """
    linked = np.abs(null @ null.T) > _NOTHING
    left = {int(j) for j in np.flatnonzero(np.linalg.norm(null, axis=1) > _NOTHING)}
    found = []
    while left:
        group, new = set[int](), {min(left)}
        while new:
            group |= new
            new = {k for j in new for k in left if linked[j, k]} - group
        left -= group
        found.append(sorted(group))
    return found


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
    found: F64 = basis
    return found


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
    found: F64 = left[:, rank:].T
    return found


def _whole_rows(rows: F64, same: float, largest: int) -> list[list[int]] | None:
    """Return rows that span the same as whole numbers, or ``None`` if they are none."""
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
