r"""Whether the linear model of an estimate reaches as far as its intervals.

The interval of a parameter lies on the line along which the cost rises least while it moves, from
the estimate to ``p + t d``: `d` is the change by one standard error, ``C[:, j] / sqrt(C[j, j])``. A
simulation on that line measures what the linear model misses there,

    ``q = |r(p + h d) - r - h J d| / |h J d|``,

half of the relative curvature of the line times h (Bates and Watts, J. Royal Statistical Society B
42, 1980; Nonlinear Regression Analysis and Its Applications, 1988, section 7.1). At the end of the
interval it is ``2 q t / h``. Up to 1/2 they call the model linear there: half an interval then
deviates from its tangent by a quarter of its length.

A direction that the derivatives leave open has no end. There the second derivatives decide: what
they do to the outputs, and no other parameter can undo, must be hidden in the noise as far as the
parameters are likely to go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.estimation.diagnostics import Fit, sizes_of
from fmident.estimation.result import CURVED
from fmident.statistics.distributions import student_quantile
from fmident.statistics.local_model import LEVEL, LocalModel

_WEAK = 0.1
"""Curvature to be expected one standard error away, above which it is measured."""

_LONGEST = 1.0
"""Longest step, in sizes of the parameters."""

_OPEN = 100.0
"""Length of half an interval, in sizes, above which the derivatives do not show its end."""

_SHORT = 0.1
"""Step along an open direction, in sizes; third derivatives must not count."""

_ALONE = 0.3
"""Part of the change along an open direction that no other parameter can undo, if the data see it.
In a bent valley that is a third derivative."""

_FAILED = 1e3
"""Curvature where the simulation fails one standard error away."""

_LEAST = 1e-6
"""Shortest step to one side, in sizes, before an inequality comes."""


@dataclass(frozen=True, eq=False)
class _Line:
    """One side of the line of an interval: `step` is a change of the parameters, shape (n,).

    It is `part` of the way to the end of the interval, or to an inequality; 0 along an open
    direction.
    """

    index: int
    step: F64
    part: float


def curvatures(fit: Fit) -> dict[str, float]:
    """Return the relative curvature at the end of the interval of each weak parameter, by name.

    Two simulations of each experiment for each such parameter, as one batch; none for others.
    """
    model = fit.statistics.local
    lines = [line for j in range(fit.p.size) for line in _lines(fit, model.releasing([j]), j)]
    if not lines:
        return {}
    points = np.clip(
        fit.p + np.array([line.step for line in lines]), fit.problem.lower, fit.problem.upper
    )
    changes = fit.evaluator.probe(points)[:, : model.samples] - model.residuals
    measured: dict[str, float] = {}
    for line, change in zip(lines, changes, strict=True):
        name, value = fit.names[line.index], _curvature(fit, model, line, change)
        measured[name] = max(measured.get(name, 0.0), value)
    return measured


def _sizes(fit: Fit) -> F64:
    return np.maximum(sizes_of(fit.problem, fit.p), np.abs(fit.problem.initial))


def _direction(model: LocalModel, index: int, sizes: F64) -> tuple[F64, float]:
    """Return the direction of a parameter's interval for one standard error, and half its length.

    An open one is infinitely long. The length is 0 of a parameter that is not weak.
    """
    nothing = np.zeros_like(sizes), 0.0
    if not model.noise > 0.0 or model.unknown[index]:
        return nothing
    if model.is_open[index]:
        along = model.open_directions
        return along @ along[index], np.inf
    error = float(model.standard_errors[index])
    if not error > 0.0:
        return nothing
    direction = np.nan_to_num(model.covariance[:, index]) / error
    if not _expected(model, direction, sizes) > _WEAK:
        return nothing
    freedom = float(model.parameter_freedoms[index])
    return direction, float(student_quantile(0.5 * (1.0 + LEVEL), freedom))


def _lines(fit: Fit, model: LocalModel, index: int) -> Iterator[_Line]:
    """Yield both sides of the line of one parameter, if it is weak and there is room."""
    sizes = _sizes(fit)
    direction, length = _direction(model, index, sizes)
    spread = float(np.max(np.abs(direction) / sizes))
    if not spread > 0.0 or not length > 0.0:
        return
    for side in (1.0, -1.0):
        room = _room(model, side * direction)
        if room * spread <= _LEAST:
            continue
        end = min(length, room)
        is_open = bool(model.is_open[index]) or not end * spread < _OPEN
        if is_open:
            yield _Line(index, min(_SHORT / spread, room) * side * direction, 0.0)
        else:
            step = min(_LONGEST / spread, room, 1.0)
            yield _Line(index, step * side * direction, step / end)


def _expected(model: LocalModel, direction: F64, sizes: F64) -> float:
    """Return the curvature if no second derivative were larger than the first over the size.

    What a parameter changes along the line by itself may be many times what is left when others
    make up for it. Alone, it is the relative standard error.
    """
    own = np.linalg.norm(model.jacobian, axis=0) * np.abs(direction)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(own * np.abs(direction) / sizes) / model.noise)


def _room(model: LocalModel, direction: F64) -> float:
    slopes = model.limits.rows @ direction
    ahead = slopes < 0.0
    return float(np.min(model.limits.slacks[ahead] / -slopes[ahead], initial=np.inf))


def _curvature(fit: Fit, model: LocalModel, line: _Line, change: F64) -> float:
    """Return the relative curvature at the end of an interval from the change of the residuals."""
    if not bool(np.isfinite(change).all()):
        return _FAILED
    linear = model.jacobian @ line.step
    missed = change - linear
    errors = fit.evaluator.column_errors(fit.p)
    blur = 2.0 * fit.evaluator.noise(fit.p) * float(np.sqrt(change.size))
    blur += 0.0 if errors is None else float(np.linalg.norm(errors * line.step))
    if line.part == 0.0:
        return _curvature_of_open(fit, model, line, missed, blur)
    known = model.rows[model.samples :, model.moving] @ line.step[model.moving]
    length = float(np.hypot(np.linalg.norm(linear), np.linalg.norm(known)))
    bent = max(float(np.linalg.norm(missed)) - blur, 0.0)
    return 2.0 * bent / length / line.part if length > 0.0 else 0.0


def _curvature_of_open(fit: Fit, model: LocalModel, line: _Line, missed: F64, blur: float) -> float:
    """Return the curvature along an open direction that other parameters cannot undo."""
    norms = np.linalg.norm(model.jacobian, axis=0)
    columns = model.jacobian[:, norms > 0.0] / norms[norms > 0.0]
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    left = left[:, singular > 1e-6 * np.max(singular, initial=0.0)]
    alone = float(np.linalg.norm(missed - left @ (left.T @ missed))) - blur
    if not alone > _ALONE * float(np.linalg.norm(missed)):
        return 0.0
    reach = _LONGEST / float(np.max(np.abs(line.step) / _sizes(fit)))
    freedom = model.freedom
    quantile = float(student_quantile(0.5 * (1.0 + LEVEL), freedom))
    return CURVED * alone * reach**2 / (model.noise * quantile)
