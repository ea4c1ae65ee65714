"""Derivatives along chosen directions, each with a measured error.

A direction in which several parameters move so that their effects nearly cancel can be followed
much farther than any of them alone, so that its small derivative stands out of the simulation's
noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64

_FARTHEST = 0.2
"""Largest relative change of a parameter."""

_LARGEST_CHANGE = 0.1
"""Largest expected change of the outputs, in relation to their size."""


@dataclass(frozen=True)
class DirectionalDerivatives:
    """Derivatives of the residuals along directions.

    Parameters
    ----------
    values
        Shape (m, k); NaN where every simulation failed.
    errors
        Measured length of the error of each, shape (k,); infinite where it is NaN.
    """

    values: F64
    errors: F64


def longest_steps(directions: F64, size: F64, visible: F64) -> F64:
    """Return the longest step along each direction that may still be near enough, shape (k,).

    Parameters
    ----------
    directions
        Shape (n, k).
    size
        Of the parameters, shape (n,).
    visible
        Step that is expected to change the outputs by their own size, shape (k,).
    """
    with np.errstate(divide="ignore"):
        far = _FARTHEST * size[:, np.newaxis] / np.abs(directions)
    steps: F64 = np.minimum(far.min(axis=0), _LARGEST_CHANGE * visible)
    return steps
