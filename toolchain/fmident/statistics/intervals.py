"""Intervals: the range of a quantity over the confidence region, cut by bounds and constraints.

All intervals have one definition. With changes d of the parameters, the set of those that are
allowed, ``F = {d : C d = 0, G d + b >= 0}`` (bounds and constraints, linearised), and the quadratic
model Q of the cost, the interval of a quantity ``g . d`` is the range of its values over

    ``{d in F : Q(d) - Q(0) <= t^2}``,

the likelihood-ratio region of the linearised problem. The threshold is that of a problem without
inequalities, so that the coverage is at least the nominal one (Self and Liang, J. American
Statistical Association 82, 1987; for a bound Feldman and Cousins, Physical Review D 57, 1998). Q is
a squared distance in the coordinates y that the data determine, and constant along the directions
that they leave open. A linear model does not reach far along these: what they change has no range
but its own bounds.

The linear function has its largest value over a ball within planes where a point that moves from
the centre along its gradient, projected onto what the planes allow, leaves the ball. The projection
is a least-distance problem (Lawson and Hanson, Solving Least Squares Problems, 1974, section 23.4).
On the planes that it ends on the value has a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from fmident.arrays import F64, Flags

CANCELLED = 1e-6
"""Part of a sum's terms that is left where they cancel."""

ROUNDED = 1e-9
"""The same for what is exactly 0, but for rounding."""

_ROUNDING = 1e-9

_SLICED = 1e-7
"""Part of a direction that is left within planes, below which it is rounding."""

_FAR = 1e3
"""How far the point moves at most, in radii of the ball; the end lies on a corner by then."""


@dataclass(frozen=True, eq=False)
class Region:
    """The quadratic model of the cost within inequalities, along what the data determine.

    Changes of the parameters are ``root @ y``: the cost of one is ``|y - center|^2``, in units of
    the noise. `root` has the shape (n, r). The inequalities are ``rows @ d + slacks >= 0``; those
    that a move along the `free` directions, shape (n, u), can satisfy at no cost do not count.
    """

    root: F64
    free: F64
    center: F64
    rows: F64
    slacks: F64

    def reach(self, movements: F64, quantiles: F64) -> F64:
        """Return the range of the changes of determined quantities, shape (h, 2).

        `movements` are their derivatives with respect to the parameters, shape (h, n), and
        `quantiles` those of Student's t of each, shape (h,).
        """
        rows = self.rows @ self.root
        lengths = np.linalg.norm(rows, axis=1)
        binding = (lengths > 0.0) & ~moved_by(self.rows, self.free)
        rows = rows[binding] / lengths[binding, np.newaxis]
        slacks = self.slacks[binding] / lengths[binding]
        ends = np.zeros((len(movements), 2))
        for k, (way, quantile) in enumerate(zip(movements @ self.root, quantiles, strict=True)):
            cut = _Cut(self.center, float(quantile), rows, slacks)
            ends[k] = -cut.farthest(-way), cut.farthest(way)
        return ends


def moved_by(rows: F64, directions: F64, cancelled: float = CANCELLED) -> Flags:
    """Return which quantities change along directions, shape (h,).

    `rows` are their derivatives, shape (h, n). Terms may cancel but for a part `cancelled`; terms
    that are small beside those along other directions are rounding.
    """
    terms = np.abs(rows) @ np.abs(directions)
    rounding = ROUNDED * terms.max(axis=1, initial=0.0, keepdims=True)
    seen = np.abs(rows @ directions) > np.maximum(cancelled * terms, rounding)
    return np.asarray(seen.any(axis=1))


class _Cut:
    """A ball cut by planes: points x with ``|x|^2 - 2 c x <= t^2`` and ``rows @ x + slacks >= 0``.

    The origin is the estimate; the centre c can be far beyond the planes.
    """

    def __init__(self, center: F64, quantile: float, rows: F64, slacks: F64) -> None:
        self._center, self._quantile = center, quantile
        radius = float(np.hypot(quantile, np.linalg.norm(center)))
        near = slacks + rows @ center < radius
        self._rows, self._slacks = rows[near], slacks[near]

    def farthest(self, way: F64) -> float:
        """Return the largest ``way @ x``."""
        length = float(np.linalg.norm(way))
        if length == 0.0:
            return 0.0
        point, value = self._on_slice(way, np.zeros(len(self._rows), dtype=np.bool_))
        if self._is_inside(point):
            return value

        def beyond(step: float) -> float:
            return self._excess(self._projected(step * way)[0])

        size = self._quantile + float(np.linalg.norm(self._center))
        most = _FAR * max(size, 1.0) / length
        step = most
        if beyond(most) > 0.0:
            step = optimize.brentq(beyond, 0.0, most, rtol=1e-12) if beyond(0.0) < 0.0 else 0.0
        point, touched = self._projected(step * way)
        exact, value = self._on_slice(way, touched)
        if not (np.isfinite(value) and self._is_inside(exact)):
            value = float(way @ point)
        return max(value, 0.0)

    def _excess(self, point: F64) -> float:
        return float(point @ point - 2.0 * (self._center @ point)) - self._quantile**2

    def _is_inside(self, point: F64) -> bool:
        size = _ROUNDING * max(self._quantile, float(np.linalg.norm(point)))
        return bool((self._rows @ point + self._slacks >= -size).all())

    def _on_slice(self, way: F64, touched: Flags) -> tuple[F64, float]:
        """Return the farthest point of the ball on some planes, and its distance along `way`."""
        inverse = np.asarray(np.linalg.pinv(self._rows[touched]), dtype=np.float64)
        offset = -(inverse @ self._slacks[touched])

        def along(vector: F64) -> F64:
            return vector - inverse @ (self._rows[touched] @ vector)

        middle, slope = along(self._center), along(way)
        size = float(np.linalg.norm(slope))
        if size <= _SLICED * float(np.linalg.norm(way)):
            return offset, float(way @ offset)
        left = self._quantile**2 - float(offset @ offset) + 2.0 * float(self._center @ offset)
        square = left + float(middle @ middle)
        if square < 0.0:
            return offset, np.nan
        forward = float(slope @ middle) / size
        across = middle - forward / size * slope
        radius = float(np.sqrt(square))
        # forward + radius, without the difference of numbers that are nearly equal
        reach = forward + radius
        if forward < 0.0:
            reach = (left + float(across @ across)) / (radius - forward)
        return offset + across + reach / size * slope, float(way @ offset) + size * reach

    def _projected(self, move: F64) -> tuple[F64, Flags]:
        """Return the point within the planes next to ``center + move``, and the planes it is on."""
        start = self._center + move
        distances = -(self._slacks + self._rows @ start)
        if not bool((distances > 0.0).any()):
            return start, np.zeros(len(self._rows), dtype=np.bool_)
        scale = float(np.max(np.abs(distances)))
        system = np.vstack([self._rows.T, distances / scale])
        target = np.append(np.zeros(start.size), 1.0)
        multipliers, _ = optimize.nnls(system, target, maxiter=30 * len(system.T) + 100)
        residual = system @ multipliers - target
        touched: Flags = multipliers > 0.0
        return start - residual[:-1] / residual[-1] * scale, touched
