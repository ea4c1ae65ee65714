"""Affine models by exact differences, and the test that a model is affine.

A function that is affine in the parameters, ``f(p) = f(p0) + A (p - p0)``, follows from
``n + 1`` evaluations; differences with large steps are exact except for rounding.
Superposition at random points tests whether it is affine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fmident.arrays import F64

Function = Callable[[F64], F64]
"""Points, shape (k, n), to values, shape (k, m); rows of NaN where it failed."""

_SMALL = 1e-5
"""A column that contributes less than this part of the values is taken again with a larger
step, so that it is not lost in rounding."""

_LARGER = 1e6

_RETREATS = (-1.0, 0.3, -0.3, 0.1, -0.1, 0.01, -0.01)
"""Where a step fails, the other side is tried, and nearer points: of a linear function each gives
the same column."""

_ROUNDINGS = 4.0
"""Changes up to this many roundings of the largest value count as none."""

_EPS = float(np.finfo(np.float64).eps)


class FailedEvaluationError(Exception):
    """The function failed at a required point."""


@dataclass(frozen=True)
class Box:
    """Region of the admissible points.

    `center` is the reference point; the bounds may be infinite; `size` is the typical size
    of the parameters, positive. All have the shape (n,).
    """

    center: F64
    lower: F64
    upper: F64
    size: F64

    def steps(self, factor: F64 | float = 1.0) -> F64:
        """Return steps from the centre of about ``factor * size`` within the bounds, shape (n,)."""
        wanted = factor * self.size
        up, down = self.upper - self.center, self.center - self.lower
        step: F64 = np.where(
            wanted <= up, wanted, np.where(wanted <= down, -wanted, np.where(up >= down, up, -down))
        )
        return step

    def random(self, generator: np.random.Generator, count: int) -> F64:
        """Return random points, uniform between the bounds, shape (count, n).

        Without a bound, they are at most the size of the parameter away from the centre.
        """
        low = np.where(np.isfinite(self.lower), self.lower, self.center - self.size)
        high = np.where(np.isfinite(self.upper), self.upper, self.center + self.size)
        low, high = np.minimum(low, self.center), np.maximum(high, self.center)
        return self.inside(generator.uniform(low, high, (count, self.center.size)))

    def inside(self, points: F64) -> F64:
        """Return points of shape (k, n), moved inside if rounding has put them just outside."""
        return np.clip(points, self.lower, self.upper)


@dataclass(frozen=True)
class AffineModel:
    """``f(p) = base + matrix (p - center)`` with the shapes (m,), (m, n) and (n,)."""

    center: F64
    base: F64
    matrix: F64

    def __call__(self, points: F64) -> F64:
        """Return the values at points, shape (k, n) -> (k, m)."""
        return self.base + (points - self.center) @ self.matrix.T


def affine_model(function: Function, box: Box) -> AffineModel:
    """Return the affine model through the centre and one step along each parameter."""
    count = box.center.size
    base = function(box.center[np.newaxis, :])[0]
    _refuse_failed(base)
    wanted = box.steps()
    steps = wanted.copy()
    changes = _changes(function, box, base, steps, np.arange(count))
    for retreat in _RETREATS:
        failed = np.flatnonzero(~np.isfinite(changes).all(axis=1))
        if failed.size == 0:
            break
        tried = box.center + retreat * wanted
        failed = failed[((tried >= box.lower) & (tried <= box.upper))[failed]]
        steps[failed] = retreat * wanted[failed]
        changes[failed] = _changes(function, box, base, steps, failed)
    _refuse_failed(changes)
    scale = max(float(np.linalg.norm(base)), float(np.linalg.norm(changes, axis=1).max(initial=0)))
    lengths = np.linalg.norm(changes, axis=1)
    weak = np.flatnonzero((lengths > 0.0) & (lengths < _SMALL * scale))
    if weak.size:
        factor = np.ones(count)
        factor[weak] = np.minimum(_LARGER, scale / lengths[weak])
        larger = box.steps(factor)
        weak = weak[np.abs(larger[weak]) > 2.0 * np.abs(steps[weak])]
        again = _changes(function, box, base, larger, weak)
        good = np.isfinite(again).all(axis=1)
        changes[weak[good]] = again[good]
        steps[weak[good]] = larger[weak[good]]
    # What rounding alone makes of an unchanged value is not influence.
    still = np.abs(changes).max(axis=1, initial=0.0) <= _ROUNDINGS * _EPS * np.abs(base).max()
    changes[still] = 0.0
    return AffineModel(box.center, base, np.ascontiguousarray((changes / steps[:, np.newaxis]).T))


def affine_from_derivatives(base: F64, jacobian: F64, box: Box) -> AffineModel:
    """Return the affine model of a function from values and derivatives at the centre."""
    matrix = np.ascontiguousarray(jacobian)
    largest = np.abs(matrix).max(axis=0, initial=0.0) * np.abs(box.steps())
    matrix[:, largest <= _ROUNDINGS * _EPS * np.abs(base).max()] = 0.0
    return AffineModel(box.center, base, matrix)


def superposition_error(function: Function, model: AffineModel, points: F64) -> tuple[float, F64]:
    """Return the error of the model at points, relative to the change of the values.

    The second result has the errors of the points, shape (k,), NaN where the function
    failed; the first is their maximum, NaN if all points failed.
    """
    actual = function(points)
    expected = model(points)
    change = np.linalg.norm(expected - model.base, axis=1)
    # Where nothing changes, superposition holds but for rounding of the values themselves.
    floor = 1e3 * _EPS * np.linalg.norm(model.base)
    errors = np.linalg.norm(actual - expected, axis=1) / np.maximum(change, floor + 1e-300)
    finite = errors[np.isfinite(errors)]
    return (float(finite.max()) if finite.size else float("nan")), errors


def nonlinear_parameters(
    function: Function, model: AffineModel, box: Box, tolerance: float, names: Sequence[str]
) -> str:
    """Return in words which parameters violate superposition by more than `tolerance`.

    Each parameter is moved alone to two more points; if none is nonlinear alone, pairs are
    tried.
    """
    count = box.center.size
    alone = []
    for factor in (0.37, 1.9):
        points = np.tile(box.center, (count, 1))
        np.fill_diagonal(points, box.center + box.steps(factor))
        points = box.inside(points)
        errors = superposition_error(function, model, points)[1]
        alone.append(np.nan_to_num(errors, nan=0.0))
    errors = np.max(alone, axis=0)
    guilty = [j for j in np.argsort(-errors) if errors[j] > tolerance]
    if guilty:
        return " and ".join(f"'{names[j]}'" for j in sorted(guilty))
    pairs = list(combinations(range(count), 2))
    if pairs:
        steps = box.steps()
        points = np.tile(box.center, (len(pairs), 1))
        for row, (i, j) in enumerate(pairs):
            points[row, [i, j]] += steps[[i, j]]
        errors = np.nan_to_num(superposition_error(function, model, points)[1], nan=0.0)
        worst = int(np.argmax(errors))
        if errors[worst] > tolerance:
            i, j = pairs[worst]
            return f"the product of '{names[i]}' and '{names[j]}'"
    return "all of them together"


def _changes(
    function: Function,
    box: Box,
    base: F64,
    steps: F64,
    which: np.ndarray[tuple[int], np.dtype[np.intp]],
) -> F64:
    """Return the changes by one step along some parameters; rows of NaN where it fails."""
    points = np.tile(box.center, (which.size, 1))
    points[np.arange(which.size), which] += steps[which]
    changes: F64 = function(box.inside(points)) - base if which.size else np.empty((0, base.size))
    return changes


def _refuse_failed(values: F64) -> None:
    if not bool(np.isfinite(values).all()):
        raise FailedEvaluationError
