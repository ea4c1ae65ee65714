"""Estimates over time, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64


class Flag(IntEnum):
    """State of an online estimation at an instant."""

    GOOD = 0
    """There is an estimate."""
    FILLING = 1
    """Too few samples so far."""
    SINGULAR = 2
    """The samples do not determine the parameters, as at rest."""
    MISSING = 3
    """A sample is missing."""
    SKIPPED = 4
    """The estimator leaves this sample out, as its options say."""


@dataclass(frozen=True, eq=False)
class OnlineEstimate:
    """The present estimate of an online estimator.

    Parameters
    ----------
    time
        Of the last sample, s.
    values
        Free parameters, shape (n,).
    standard_errors
        Shape (n,); NaN when unknown.
    """

    time: float
    values: F64
    standard_errors: F64


@dataclass(frozen=True, eq=False)
class TimeSeriesEstimate:
    """The estimates of one experiment over time.

    Parameters
    ----------
    names, units
        Of the n free parameters.
    times
        Of the samples, s, shape (k,).
    values, standard_errors
        Shape (k, n); NaN without estimate or standard error.
    flags
        A :class:`Flag` for each sample, shape (k,).
    """

    experiment: str
    names: tuple[str, ...]
    units: tuple[str | None, ...]
    times: F64
    values: F64
    standard_errors: F64
    flags: npt.NDArray[np.uint8]

    @property
    def good(self) -> npt.NDArray[np.bool_]:
        """Whether there is an estimate, shape (k,)."""
        mask: npt.NDArray[np.bool_] = self.flags == Flag.GOOD
        return mask

    @property
    def last(self) -> OnlineEstimate | None:
        """Last estimate, or ``None``."""
        where = np.flatnonzero(self.good)
        if where.size == 0:
            return None
        k = int(where[-1])
        return OnlineEstimate(float(self.times[k]), self.values[k], self.standard_errors[k])
