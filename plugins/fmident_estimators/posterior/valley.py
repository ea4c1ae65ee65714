r"""Coordinates in which the posterior is nearly a standard normal distribution.

The Laplace approximation whitens the search space by the Jacobian at the minimum of the
cost. Where the valley of the cost bends, a straight approximation soon misses it by
many standard deviations: along the k-th principal direction, from the least to the best
determined one, the floor moves by a polynomial of the previous directions. The shear

.. math:: u_k = v_k + g_k(u_1, \dots, u_{k-1})

has the determinant 1 and an inverse for any polynomials (a Knothe-Rosenblatt map with
unit slopes; Marzouk, Moselhy, Parno and Spantini, Sampling via measure transport, in
Handbook of Uncertainty Quantification, 2016). They are fitted to Gauss-Newton steps,
:math:`u - Q^T (r(u) - r(0))`, from points at increasing distances around the minimum.
This is an approximation: draws are accepted or rejected by the density itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.contract import Evaluator
from fmident_estimators.posterior.target import Target

_SCALES = (0.2, 0.5, 1.0, 1.5, 2.0, 2.0)
"""Standard deviations of the points around the least cost, round by round."""

_LEAST_POINTS = 40
_RIDGE = 1e-6


class Valley:
    """The map from nearly normal coordinates v to the search space.

    `center` is the minimum of the cost in the search space, shape (n,); `information`,
    shape (m, n), the Jacobian there over the noise, with rows of priors, whose square is
    the inverse of the covariance. `widths` are the standard deviations for directions that
    the data leave open; infinite for none, which raises ``numpy.linalg.LinAlgError``.
    """

    def __init__(self, center: F64, information: F64, widths: F64) -> None:
        self.center = center
        bounded = np.diag(np.where(np.isfinite(widths), 1.0 / widths, 0.0))
        rows = np.vstack([information, bounded])
        sizes = np.linalg.norm(rows, axis=0)
        if not bool((sizes > 0.0).all()):
            raise np.linalg.LinAlgError("a column is zero")
        _, singular, right = np.linalg.svd(np.linalg.qr(rows / sizes, mode="r"))
        if singular[-1] <= 1e-10 * singular[0]:
            raise np.linalg.LinAlgError("the rank is deficient")
        spread = (right.T / singular) / sizes[:, np.newaxis]
        values, vectors = np.linalg.eigh(spread @ spread.T)
        order = np.argsort(values)[::-1]
        self._axes: F64 = vectors[:, order] * np.sqrt(values[order])
        self._project: F64 = information @ self._axes
        count = center.size
        self._terms = [list(combinations_with_replacement(range(k), 2)) for k in range(count)]
        self._weights = [np.zeros(len(t)) for t in self._terms]

    def points(self, v: F64) -> F64:
        """Return points of the search space, (k, n) -> (k, n)."""
        return self.center + self._bent(v) @ self._axes.T

    def straighten(
        self, target: Target, evaluator: Evaluator, noise: float, generator: np.random.Generator
    ) -> None:
        """Fit the bends of the valley to residuals around the minimum of the cost."""
        base = evaluator.residuals(target.physical(self.center[np.newaxis])[0])
        size = max(2 * max(len(t) for t in self._terms), _LEAST_POINTS)
        places, floors, trusts = [], [], []
        for scale in _SCALES:
            v = scale * generator.standard_normal((size, self.center.size))
            u = self._bent(v)
            z = self.center + u @ self._axes.T
            inside = ((z >= target.lower) & (z <= target.upper)).all(axis=1)
            if not inside.any():
                break
            rows = evaluator.residuals_many(target.physical(z[inside])) - base
            works = np.isfinite(rows).all(axis=1)
            steps = rows[works] / noise @ self._project
            places.append(u[inside][works])
            floors.append(places[-1] - steps)
            # Far up the walls, a step does not lead to the floor.
            off = np.abs(steps - v[inside][works]).max(axis=1, initial=0.0)
            trusts.append(1.0 / (1.0 + off))
            self._fit(np.vstack(places), np.vstack(floors), np.concatenate(trusts))

    def _fit(self, places: F64, floors: F64, trusts: F64) -> None:
        for k, terms in enumerate(self._terms):
            if not terms or len(places) < len(terms):
                continue
            rows = _products(places, terms) * trusts[:, np.newaxis]
            sizes = np.linalg.norm(rows, axis=0)
            sizes[sizes == 0.0] = 1.0
            system = np.vstack([rows / sizes, _RIDGE * np.eye(len(terms))])
            right = np.concatenate([floors[:, k] * trusts, np.zeros(len(terms))])
            self._weights[k] = np.linalg.lstsq(system, right, rcond=None)[0] / sizes

    def _bent(self, v: F64) -> F64:
        u = v.copy()
        for k, terms in enumerate(self._terms):
            if terms and self._weights[k].any():
                u[:, k] += _products(u, terms) @ self._weights[k]
        return u


def _products(values: F64, terms: Sequence[tuple[int, ...]]) -> F64:
    """Return the products of columns, shape (k, terms)."""
    pairs = np.array(terms)
    products: F64 = values[:, pairs[:, 0]] * values[:, pairs[:, 1]]
    return products
