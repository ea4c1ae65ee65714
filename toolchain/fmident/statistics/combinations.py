"""Products of powers that are determined where single parameters are not: ``k/m``.

Parameters that always occur as a product or a quotient can be scaled against each other without
any effect. In ``log p`` the direction of no effect is then the same at all points, with
components that are small whole numbers, whereas in ``p`` it turns from point to point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np

from fmident._types import F64
from fmident.statistics.identifiability import Identifiability, analyse_rank

_SAME = 1e-2
_LARGEST = 6
_NOTHING = 1e-3


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
    if any(not bool((s.point > 0.0).all()) for s in sensitivities):
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
        In the logarithms of the parameters: along these none of the products changes, (n, missing).
    involved
        Indices of the parameters that cannot be told apart.
    """

    texts: tuple[str, ...]
    powers: F64
    directions: F64
    involved: tuple[int, ...]


def products_of(names: Sequence[str], relative: F64, missing: int) -> Products | None:
    """Return the products that a Jacobian with respect to ``log p`` speaks for, at one point.

    Parameters
    ----------
    names
        Of the free parameters, shape (n,).
    relative
        Shape (m, n).
    missing
        Dimension of its null space.
    """
    return _products(names, null_space(relative, missing))


def _products(names: Sequence[str], basis: F64) -> Products | None:
    involved = [int(j) for j in np.flatnonzero(np.linalg.norm(basis, axis=1) > _NOTHING)]
    rows = _whole_rows(_complement(basis[involved]))
    if rows is None:
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
    involved, texts, count = found.involved, found.texts, len(names)
    listed = [names[j] for j in involved]
    rest = [n for j, n in enumerate(names) if j not in involved]
    verb = "is" if len(texts) == 1 else "are"
    verdict = (
        f"Rank {rank} of {count}. {_listed(listed)} cannot be told apart; only "
        f"{_listed(texts)} {verb} determined."
    )
    if not texts:
        verdict = f"Rank {rank} of {count}. {_listed(listed)} cannot be told apart."
    if rest:
        verdict += f" {_listed(rest)} {'is' if len(rest) == 1 else 'are'} identifiable."
    return verdict


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


def _whole_rows(rows: F64) -> list[list[int]] | None:
    """Return rows that span the same as whole numbers, or ``None`` if they are none."""
    reduced = rows.copy()
    pivots = []
    # Numerators read best when the first names stand above the line.
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
        fractions = [Fraction(float(x)).limit_denominator(_LARGEST) for x in row]
        if any(abs(float(f) - x) > _SAME for f, x in zip(fractions, row, strict=True)):
            return None
        common = 1
        for f in fractions:
            common = common * f.denominator // gcd(common, f.denominator)
        numbers = [int(f * common) for f in fractions]
        if max(map(abs, numbers)) > _LARGEST:
            return None
        whole.append(numbers)
    return whole


def _listed(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]
