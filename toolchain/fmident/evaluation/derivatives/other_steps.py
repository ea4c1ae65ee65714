"""The same differences with far longer steps, or shorter ones: noise and curvature show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.derivatives.curvature import longest_step
from fmident.evaluation.derivatives.neighbourhood import Neighbourhood
from fmident.evaluation.derivatives.steps import StepSizes

_BENT = 0.006
"""Part of a column that curvature may add to a difference with a longer step, twice."""

_APART = 100.0
"""Ratio of the longest such step to the one used from which on a second one says something."""

_SHORTER, _QUIET = 0.03, 1e-5
"""A shorter step in place of a longer one, and part of the column that noise may be there."""


def by_other_steps(
    around: Neighbourhood, steps: StepSizes, jacobian: F64, size: F64, columns: Sequence[int]
) -> F64:
    """Return columns of a Jacobian by other steps, one simulation each, shape (m, c).

    NaN where no such step is known, or the simulation fails.

    Parameters
    ----------
    around
        The point.
    steps
        Those used, noise and curvature.
    jacobian
        By these, in the search space, shape (m, n).
    size
        Of the parameters, shape (n,).
    columns
        c of the n parameters.
    """
    root, longest = np.sqrt(around.base.size), longest_step(around, size)
    offsets = {}
    for j in columns:
        used = float(steps.steps[j])
        length = float(np.linalg.norm(jacobian[:, j]))
        bend = float(np.nan_to_num(steps.curvature[j])) * root
        most = min(float(longest[j]), _BENT * length / bend if bend > 0.0 else np.inf)
        if most >= _APART * used:
            length = float(np.sqrt(used * most))
        elif steps.noise_or_rounding * root <= _QUIET * length * used:
            length = _SHORTER * used  # the step is the longest there is: almost no noise
        else:
            continue
        offset = around.inside(j, float(-np.sign(around.inside(j, used)) * length))
        if abs(offset) > 0.5 * length:
            offsets[j] = offset
    found = np.full((around.base.size, len(columns)), np.nan)
    for j, sample in zip(offsets, around.samples(list(offsets.items())), strict=True):
        if sample is not None:
            found[:, list(columns).index(j)] = sample.slope
    return found
