"""Finite-difference Jacobian inside bounds, columns as one batch.

Derivatives along chosen directions, each with a measured error.

A direction in which several parameters move so that their effects nearly cancel can be followed
much farther than any of them alone, so that its small derivative stands out of the simulation's
noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, EstimationError
from fmident.evaluation.derivatives.curvature import LARGEST
from fmident.evaluation.derivatives.events import Crossing, disagreeing, exceeding, jumping, resolve
from fmident.evaluation.derivatives.neighbourhood import Neighbourhood, Sample
from fmident.evaluation.derivatives.noise import Flags
from fmident.evaluation.derivatives.steps import Difference, Scheme, StepSizes

_RETRIES = ((-1.0, 1.0), (1.0, 0.1), (-1.0, 0.1), (1.0, 0.01), (-1.0, 0.01))
"""Side and factor on the step, tried in turn for a column whose simulation failed."""

_LONGER = (10.0, 100.0, 1000.0)
"""Factors on the step, tried in turn for a column that is zero though the parameter acts."""

_ROOM = 0.5
"""Part of a central step that must fit between point and bound; else it goes to one side."""

_FAR, _NEAR = 0.2, 0.02
"""Allowed error of the Jacobian in relation to its smallest singular value, columns scaled to
length 1: far from the minimum a step may be off a little, near it that moves the estimate."""

_STILL_FAR = 0.01
"""Fraction of the cost that a Gauss-Newton step promises from where on the minimum is far."""


_FARTHEST = 0.2
"""Largest relative change of a parameter."""

_LARGEST_CHANGE = 0.1
"""Largest expected change of the outputs, in relation to their size."""


class JacobianError(EstimationError):
    """A column of the Jacobian cannot be computed, since every simulation nearby fails."""

    default_code = Code.NO_DERIVATIVE


@dataclass(frozen=True)
class Columns:
    """A Jacobian by finite differences with respect to the search space, shape (m, n).

    `errors` are the expected root mean square errors per entry of each column, shape (n,);
    `crossings` are the rows corrected for events.
    """

    jacobian: F64
    errors: F64
    crossings: tuple[Crossing, ...]

    @property
    def smooth(self) -> F64:
        """The Jacobian with 0 where events crossed, shape (m, n)."""
        jacobian = self.jacobian.copy()
        for crossing in self.crossings:
            jacobian[crossing.rows, crossing.column] = 0.0
        return jacobian


@dataclass
class _Column:
    """Intermediate state of one column."""

    values: F64
    error: float = np.inf
    samples: list[Sample] = field(default_factory=list)

    @property
    def known(self) -> bool:
        return bool(self.samples)


def difference_columns(
    around: Neighbourhood,
    sizes: StepSizes,
    names: Sequence[str],
    difference: Difference,
    reason: Callable[[], str] = str,
    known: F64 | None = None,
) -> Columns:
    """Return the derivative of the residuals with respect to the search space.

    A forward step that would leave the bounds goes backwards; a central difference near a
    bound is shortened or one-sided. If a simulation fails, the other side and smaller steps
    are tried. With ``"auto"``, inaccurate columns are recomputed by central differences.
    Rows crossed by events are corrected (see :mod:`fmident.evaluation.derivatives.events`).
    `known` are smooth derivatives at another point, shape (m, n), which limit the suspicion
    of events.
    """
    base = around.base
    everyone = range(around.z.size)
    columns = [_Column(np.full(base.size, np.nan)) for _ in everyone]
    central = sizes.steps if sizes.central is None else sizes.central
    if difference == "central":
        _fill(columns, around, sizes, {j: _both(around, j, float(central[j])) for j in everyone})
    else:
        _fill(columns, around, sizes, {j: [around.inside(j, sizes.steps[j])] for j in everyone})
    _retry(columns, around, sizes)
    for name, column in zip(names, columns, strict=True):
        if not column.known:
            raise JacobianError(
                f"the derivative with respect to '{name}' cannot be computed: every simulation "
                f"nearby fails: {reason()}",
                hint=f"narrow the bounds of '{name}', or start elsewhere",
            )
    _lengthen(columns, around, sizes)
    if difference == "auto":
        crude = _too_inexact(columns, base)
        better = {j: _both(around, j, float(central[j])) for j in crude}
        _fill(columns, around, sizes, better)
    crossings = _separate_events(columns, around, sizes, known)
    return Columns(
        np.column_stack([c.values for c in columns]) if columns else np.empty((base.size, 0)),
        np.array([c.error for c in columns]),
        tuple(crossings),
    )


def _both(around: Neighbourhood, column: int, step: float) -> list[float]:
    """Return the offsets of a central difference, or of a one-sided one near a bound."""
    down, up = around.room(column)
    near = min(down, up)
    if near >= step:
        return [step, -step]
    if near >= _ROOM * step:
        return [near, -near]
    side = 1.0 if up > down else -1.0
    length = side * min(step, 0.5 * max(up, down))
    return [length, 2.0 * length]


def _fill(
    columns: Sequence[_Column],
    around: Neighbourhood,
    sizes: StepSizes,
    wanted: dict[int, list[float]],
) -> None:
    """Evaluate all offsets as one batch and update the columns that improve."""
    probes = [(j, offset) for j, offsets in wanted.items() for offset in offsets]
    samples_of = iter(around.samples(probes))
    for j, offsets in wanted.items():
        samples = [s for s in (next(samples_of) for _ in offsets) if s is not None]
        if not samples:
            continue
        scheme, values = _derivative(samples)
        error = sizes.error(j, scheme, abs(samples[0].offset))
        column = columns[j]
        if not column.known or error < column.error:
            column.values, column.error, column.samples = values, error, samples


def _derivative(samples: Sequence[Sample]) -> tuple[Scheme, F64]:
    """Return the difference formula for one sample, one on each side, or two on one side."""
    first = samples[0]
    if len(samples) == 1:
        return "one-sided", first.slope
    second = samples[1]
    a, b = first.offset, second.offset
    # The slope at 0 of the parabola through three points, for a = -b the central difference.
    values: F64 = (b * first.slope - a * second.slope) / (b - a)
    return ("central" if a * b < 0.0 else "aside"), values


def _retry(columns: Sequence[_Column], around: Neighbourhood, sizes: StepSizes) -> None:
    """Retry columns whose simulations failed on the other side and with smaller steps."""
    for side, factor in _RETRIES:
        wanted = {}
        for j, column in enumerate(columns):
            offset = side * factor * around.inside(j, float(sizes.steps[j]))
            if not column.known and around.contains(j, offset):
                wanted[j] = [offset]
        if not wanted and all(c.known for c in columns):
            return
        _fill(columns, around, sizes, wanted)


def _lengthen(columns: Sequence[_Column], around: Neighbourhood, sizes: StepSizes) -> None:
    """Increase steps without effect, for parameters of coarsely rounded outputs."""
    if sizes.influence is None:
        return
    for factor in _LONGER:
        wanted = {}
        for j, column in enumerate(columns):
            offset = factor * column.samples[0].offset
            if (
                sizes.influence[j]
                and not any(bool(s.change.any()) for s in column.samples)
                and around.contains(j, offset)
                and (sizes.size is None or abs(offset) <= LARGEST * float(sizes.size[j]))
            ):
                wanted[j] = [offset]
                column.error = np.inf
        if not wanted:
            return
        _fill(columns, around, sizes, wanted)


def _too_inexact(columns: Sequence[_Column], base: F64) -> list[int]:
    """Return the columns whose errors affect the next step or the end of the search."""
    jacobian = np.column_stack([c.values for c in columns])
    norms = np.linalg.norm(jacobian, axis=0)
    seen = np.flatnonzero(norms > 0.0)
    if seen.size == 0:
        return []
    scaled = jacobian[:, seen] / norms[seen]
    relative = np.array([columns[int(j)].error for j in seen]) * np.sqrt(base.size) / norms[seen]
    basis, triangle = np.linalg.qr(scaled)
    smallest = float(np.linalg.svd(triangle, compute_uv=False)[-1])
    power = float(base @ base)
    promised = float(np.sum((basis.T @ base) ** 2)) / power if power > 0.0 else 0.0
    allowed = (_FAR if promised > _STILL_FAR else _NEAR) * smallest
    if float(np.linalg.norm(relative)) <= allowed:
        return []
    return [int(j) for j in seen[relative > allowed / np.sqrt(seen.size)]]


def _separate_events(
    columns: Sequence[_Column], around: Neighbourhood, sizes: StepSizes, known: F64 | None
) -> list[Crossing]:
    """Correct rows crossed by an event; costs nothing if none is suspected."""
    noise = sizes.noise_or_rounding
    watched = sizes.events if sizes.events is not None else np.zeros(len(columns), dtype=np.bool_)
    groups = around.groups

    def new(j: int) -> Flags:
        slopes = np.max([np.abs(s.slope) for s in columns[j].samples], axis=0)
        return exceeding(slopes, None if known is None or watched[j] else known[:, j], groups)

    suspicious = [
        j
        for j, c in enumerate(columns)
        if watched[j] or bool((jumping(c.samples[0], noise, groups) & new(j)).any())
    ]
    if suspicious:
        # As a rule all parameters move an event, though only some of them by much.
        suspicious = list(range(len(columns)))
    wanted = [
        (j, -columns[j].samples[0].offset)
        for j in suspicious
        if len(columns[j].samples) == 1 and around.contains(j, -columns[j].samples[0].offset)
    ]
    other = {j: s for (j, _), s in zip(wanted, around.samples(wanted), strict=True) if s}
    doubtful: list[tuple[int, F64, Sequence[Sample], Flags]] = []
    for j, column in enumerate(columns):
        samples = [*column.samples, *([other[j]] if j in other else [])]
        if len(samples) == 2:
            rows = disagreeing(samples[0], samples[1], noise, groups)
            if j not in suspicious:
                rows &= new(j)
        elif j in suspicious:
            rows = jumping(samples[0], noise, groups)
        else:
            continue
        if bool(rows.any()):
            doubtful.append((j, column.values, samples, rows))
    return resolve(around, doubtful, noise)


@dataclass(frozen=True)
class DirectionalDerivatives:
    """Derivatives of the residuals along directions, shape (m, k), NaN if all failed.

    `errors` are measured norms, shape (k,), infinite for NaN.
    """

    values: F64
    errors: F64


def longest_steps(directions: F64, size: F64, visible: F64) -> F64:
    """Return the longest acceptable step along each direction, shape (k,).

    `size` is that of the parameters, shape (n,); `visible` steps change the outputs by
    about their own size, shape (k,).
    """
    with np.errstate(divide="ignore"):
        far = _FARTHEST * size[:, np.newaxis] / np.abs(directions)
    steps: F64 = np.minimum(far.min(axis=0), _LARGEST_CHANGE * visible)
    return steps
