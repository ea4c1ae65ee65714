"""Which samples determine which parameter: derivatives of each output, sample by sample."""

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
    constraints a parameter takes with it what follows from it.

    Parameters
    ----------
    problem
        What was solved.
    statistics
        At the estimate.
    weights
        Of the residuals, as of :class:`Estimate`; those of weight zero are left out.

    Returns
    -------
    tuple of OutputSensitivity
        Empty where the rows of the Jacobian are not samples.
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
    found = []
    experiments, measurements = layout.experiment[used], layout.measurement[used]
    for i, j in places:
        own = np.flatnonzero((experiments == i) & (measurements == j))
        if not own.size:
            continue
        experiment, values = problem.experiments[i], jacobian[own] * scale
        shares = np.sum(values**2, axis=0).tolist()
        times, shown = thinned(layout.time[used[own]], values, rows)
        found.append(
            OutputSensitivity(
                experiment.name,
                experiment.measurements[j].name,
                dict(zip(names, map(Influence, shares, moves.tolist()), strict=True)),
                times,
                shown,
            )
        )
    return tuple(found)


def thinned(times: F64, values: F64, most: int) -> tuple[F64, F64]:
    """Return signals as they are, or of many samples the extremes of equal parts of the time axis.

    Parameters
    ----------
    times
        Shape (k,).
    values
        Signals as columns, shape (k, n), finite.
    most
        So many rows are returned at most.

    Returns
    -------
    times, values
        Of each part two rows, at its first sample and at the one in its middle; in each column the
        smallest and the largest value of the part, in the order in which they come.
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
