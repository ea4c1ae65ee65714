"""Selection and mutation of the special genetic algorithm, in the unit cube."""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64


def distances(r: F64) -> F64:
    """Return ``s(r) = -sgn(r - 0.5) log(2 |r - 0.5|)``, 0 at 0.5 (eq. 23).

    For uniform `r` the Laplace distribution of scale 1: most children are near, a few far.

    Parameters
    ----------
    r
        In [0, 1], any shape.
    """
    offset = r - 0.5
    middle = offset == 0.0
    safe = np.where(middle, 0.5, np.abs(offset))
    found: F64 = np.where(middle, 0.0, -np.sign(offset) * np.log(2.0 * safe))
    return found


def offspring(survivors: F64, children: int, reach: float, generator: np.random.Generator) -> F64:
    """Return the children of all survivors, clipped to the unit cube (eqs. 10 and 24).

    Parameters
    ----------
    survivors
        Shape (k, n).
    children
        Of each.
    reach
        ``xi^(g-1)``: range of generation g + 1.
    generator
        Of the uniform random numbers.

    Returns
    -------
    numpy.ndarray
        Shape (k * children, n), sorted by parent.
    """
    parents = np.repeat(survivors, children, axis=0)
    inside: F64 = np.clip(parents + distances(generator.random(parents.shape)) * reach, 0.0, 1.0)
    return inside


def survivors_of(points: F64, costs: F64, count: int) -> tuple[F64, F64]:
    """Return the `count` best vectors and their costs, best first.

    Of equal costs the earlier vector survives. A failed simulation has infinite cost and so
    survives only when nothing else is left. The same vector survives once.

    Parameters
    ----------
    points
        Shape (k, n).
    costs
        Shape (k,).
    count
        At most.
    """
    chosen: list[int] = []
    seen: set[bytes] = set()
    for i in np.argsort(costs, kind="stable"):
        key = points[i].tobytes()
        if key not in seen:
            seen.add(key)
            chosen.append(int(i))
        if len(chosen) == count:
            break
    return points[chosen], costs[chosen]
