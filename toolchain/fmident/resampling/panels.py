"""Residuals in order of measurement: jointly sampled outputs, and gaps.

Outputs of one experiment with samples at the same instants form a panel. It is
resampled as a whole, so that the correlation between outputs is preserved.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.problem.residuals import residual_layout

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_GAP = 1.5
"""Distance of two samples, in usual ones, from which on something is missing between them."""

_UNEVEN = 0.1
"""Part of the distances above that from which on the samples are not equidistant at all."""

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Panel:
    """Samples of one or several outputs of an experiment at the same instants.

    `rows` are the indices of the samples among all residuals, shape (k, outputs). `runs`
    has begin and end of each gapless run, in instants, and `labels` the experiment and
    output of each column.
    """

    rows: Indices
    runs: tuple[tuple[int, int], ...]
    labels: tuple[tuple[str, str], ...]

    @property
    def size(self) -> int:
        """Number of instants, k."""
        return int(self.rows.shape[0])

    @property
    def longest(self) -> int:
        """Number of instants of the longest run."""
        return max((end - begin for begin, end in self.runs), default=0)


def panels_of(problem: Problem) -> tuple[Panel, ...]:
    """Return the panels of a problem's residuals."""
    layout = residual_layout(problem)
    panels: list[Panel] = []
    for i, experiment in enumerate(problem.experiments):
        groups: dict[bytes, list[tuple[str, Indices]]] = {}
        for j, measurement in enumerate(experiment.measurements):
            rows = layout.rows_of(i, j)
            if rows.size:
                key = layout.sample[rows].tobytes()
                groups.setdefault(key, []).append((measurement.name, rows))
        for members in groups.values():
            first = members[0][1]
            panels.append(
                Panel(
                    np.column_stack([rows for _, rows in members]),
                    runs_of(layout.time[first]),
                    tuple((experiment.name, name) for name, _ in members),
                )
            )
    return tuple(panels)


def runs_of(times: F64) -> tuple[tuple[int, int], ...]:
    """Return begin and end of each gapless run of the available instants, shape (k,)."""
    if times.size < 3:
        return ((0, times.size),) if times.size else ()
    between = np.diff(times)
    wide = between > _GAP * np.median(between)
    if float(np.mean(wide)) > _UNEVEN:
        return ((0, times.size),)
    edges = [0, *(int(k) + 1 for k in np.flatnonzero(wide)), times.size]
    return tuple(pairwise(edges))
