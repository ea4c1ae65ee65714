"""Information of samples about parameters: derivatives of each output, sample by sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.estimation.compared import Influence, OutputSensitivity
from fmident.problem.residuals import residual_layout
from fmident.statistics import ParameterStatistics

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_MOST_ROWS, _LEAST_ROWS = 1000, 100
_MOST_NUMBERS = 120_000
"""Of all outputs together; the file that holds them stays below about a megabyte."""


def output_sensitivities(
    problem: Problem, statistics: ParameterStatistics, weights: F64 | None = None
) -> tuple[OutputSensitivity, ...]:
    """Return one item for each output of each experiment.

    The columns of the whitened Jacobian are scaled to unit length, as for the rank. With
    constraints, dependent parameters move with a parameter. `weights` are those of
    :class:`Estimate`; residuals of weight zero are left out. Empty if the rows of the
    Jacobian are not samples.
    """
    linear, jacobian = statistics.linearisation, statistics.linearisation.data_jacobian
    layout = residual_layout(problem)
    used = np.arange(layout.size) if weights is None else np.flatnonzero(weights[: layout.size])
    if jacobian.shape[0] != used.size or not used.size:
        return ()
    norms: F64 = np.linalg.norm(jacobian, axis=0)
    norms[linear.kept[linear.analysis.column_norms == 0.0]] = 0.0  # no more than their error
    # A residual is measured minus predicted.
    scale = -np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    with np.errstate(divide="ignore"):
        moves = linear.noise / norms
    names = tuple(q.name for q in problem.free)
    places = [(i, j) for i, e in enumerate(problem.experiments) for j in range(len(e.measurements))]
    rows = _MOST_NUMBERS // max(len(places) * len(names), 1)
    rows = min(max(rows, _LEAST_ROWS), _MOST_ROWS)
    sensitivities = []
    experiments, measurements = layout.experiment[used], layout.measurement[used]
    for i, j in places:
        own = np.flatnonzero((experiments == i) & (measurements == j))
        if not own.size:
            continue
        experiment, values = problem.experiments[i], jacobian[own] * scale
        shares = np.sum(values**2, axis=0).tolist()
        times, extremes = thinned(layout.time[used[own]], values, rows)
        sensitivities.append(
            OutputSensitivity(
                experiment.name,
                experiment.measurements[j].name,
                dict(zip(names, map(Influence, shares, moves.tolist()), strict=True)),
                times,
                extremes,
            )
        )
    return tuple(sensitivities)


def thinned(times: F64, values: F64, most: int) -> tuple[F64, F64]:
    """Return signals unchanged, or the extremes of equal parts of the time axis.

    At most `most` rows are returned. `values` has the signals as columns, shape (k, n),
    finite. Each part has two rows, at its first and its middle sample, with the smallest
    and the largest value of each column in the order in which they occur.
    """
    count = times.size
    if count <= most:
        return times, values
    size = -(-count // (most // 2))
    begins = np.arange(0, count, size)
    index = np.minimum(begins[:, np.newaxis] + np.arange(size), count - 1)
    parts = values[index]  # the last one may end with the same sample several times
    least, largest = np.argmin(parts, axis=1), np.argmax(parts, axis=1)
    pairs = np.stack([np.minimum(least, largest), np.maximum(least, largest)], axis=1)
    rows = np.take_along_axis(parts, pairs, axis=1).reshape(-1, values.shape[1])
    middles = np.minimum(begins + size // 2, count - 1)
    return times[np.column_stack([begins, middles]).ravel()], rows
