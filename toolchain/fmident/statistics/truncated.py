r"""Uncertainty of an estimate that moves along some directions only, and its bias.

In scaled parameters ``x`` the estimate is that of least squares along orthonormal directions V, and
stays at the start ``x_0`` across them. To first order

.. math:: \hat x = x_0 + R (x - x_0) + V (A V)^+ e, \qquad R = V V^T,

with the noise e: the covariance is that of least squares along V, and R, the *resolution*, says how
much of the estimate comes from the data (Menke, Geophysical Data Analysis: Discrete Inverse Theory,
4th ed., 2018, section 4.3; Aster, Borchers and Thurber, Parameter Estimation and Inverse Problems,
3rd ed., 2018, section 3.2). The rest is bias: ``(I - R)`` times the error of the start. No interval
counts that, so that one of a parameter that is not resolved holds only if the start is right along
what was held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64

_OPEN = 1e6
"""Standard error, in scales, from which on the data say nothing."""

_MOST_NAMED = 4
"""Parameters that a sentence names."""

_NOTHING = 1e-6
"""Resolution that is rounding."""

CONFLICT = 0.01
"""Probability below which the data are said to contradict the start."""


@dataclass(frozen=True, eq=False)
class TruncatedStatistics:
    """What an estimate that held some directions at the start says of its parameters.

    Parameters
    ----------
    units
        Of the parameters, physical, in which their starts and directions are measured, shape (n,).
    resolution
        Shape (n, n), in these units; symmetric. Zero for parameters on a bound.
    singular_values
        Of the Jacobian in these units over the noise, descending; their inverses are standard
        errors along the singular vectors.
    standard_errors, intervals
        If the start is right along what was held, shapes (n,) and (n, 2).
    resolved
        Parameters of which that start does not matter, boolean, shape (n,).
    compared
        Directions that were held though the data tell something of them.
    p_value
        Probability of a cost that is so much higher than the least one if the start is right; NaN
        where there is nothing to compare.
    """

    units: F64
    resolution: F64
    singular_values: F64
    standard_errors: F64
    intervals: F64
    resolved: np.ndarray[tuple[int], np.dtype[np.bool_]]
    compared: int = 0
    p_value: float = float("nan")

    @property
    def shares(self) -> F64:
        """How much of each parameter comes from the data, from 0 to 1, shape (n,)."""
        return np.clip(np.diag(self.resolution), 0.0, 1.0)

    @property
    def start_errors(self) -> F64:
        """Error of each parameter if each start is wrong by one unit by chance, shape (n,)."""
        across = np.eye(self.units.size) - self.resolution
        found: F64 = self.units * np.linalg.norm(across, axis=1)
        return found

    @property
    def bias(self) -> F64:
        """Change of each parameter (row) per error of each start (column), physical, (n, n)."""
        across = np.eye(self.units.size) - self.resolution
        found: F64 = across * self.units[:, np.newaxis] / self.units
        return found


@dataclass(frozen=True)
class TruncatedParameter:
    """What of a parameter comes from the data, and what from where it started.

    Parameters
    ----------
    name, unit
        Of the parameter.
    start, value
        Of the parameter.
    scale
        Unit in which its start is measured.
    resolution
        How much of the value comes from the data: 1 all, 0 nothing.
    start_error
        Error of the value if each start is wrong by one scale by chance; counted by no interval.
    standard_error, interval_95
        If the start is right along what was held.
    resolved
        Whether the start does not matter: the interval holds as it is.
    """

    name: str
    unit: str | None
    start: float
    value: float
    scale: float
    resolution: float
    start_error: float
    standard_error: float
    interval_95: tuple[float, float]
    resolved: bool


@dataclass(frozen=True)
class Truncation:
    """What an estimate held at the start, since the data do not determine it.

    Parameters
    ----------
    rule, limit
        ``"noise"``: moved along what the data determine better than `limit` scales;
        ``"relative"``: along what has singular values above `limit` times the largest.
    rank
        Number of directions along which it moved.
    singular_values
        Of the Jacobian in scales of the parameters, over the noise, descending: their inverses are
        standard errors in scales.
    parameters
        Those that do not lie on a bound.
    bias
        Change of each parameter per error of each start, in their units, by name.
    compared, p_value
        Directions that were held though the data say something of them, and the probability of
        what they say if the start is right; NaN where they say nothing.
    """

    rule: str
    limit: float
    rank: int
    singular_values: tuple[float, ...]
    parameters: tuple[TruncatedParameter, ...]
    bias: Mapping[str, Mapping[str, float]]
    compared: int = 0
    p_value: float = float("nan")

    @property
    def untouched(self) -> tuple[str, ...]:
        """Parameters that are where they started."""
        return tuple(p.name for p in self.parameters if p.resolution <= _NOTHING)

    @property
    def held(self) -> tuple[str, ...]:
        """Parameters of which a part comes from the start."""
        return tuple(p.name for p in self.parameters if not p.resolved)

    @property
    def conflict(self) -> bool:
        """Whether the data contradict the start along what was held."""
        return self.p_value < CONFLICT

    @property
    def sentence(self) -> str:
        """What was held, in words."""
        by = (
            f"known to better than {self.limit:g} scale{'s' * (self.limit != 1.0)}"
            if self.rule == "noise"
            else f"with singular values above {self.limit:g} of the largest"
        )
        moved, rest = self.singular_values[: self.rank], self.singular_values[self.rank :]
        errors = [1.0 / q for q in moved if q > 0.0]
        known = f" (standard errors {_span(errors)})" if errors else ""
        open_ones = [1.0 / q if q > 0.0 else np.inf for q in rest]
        return (
            f"Truncated: the estimate moved along {self.rank} of {len(self.singular_values)}"
            f" directions, those {by}{known}, and stayed at the start along the rest"
            f" ({_span(open_ones)}). {self._effect()}"
        )

    def _effect(self) -> str:
        parts = [p for p in self.parameters if not p.resolved]
        if not parts:
            return "That makes no difference to any parameter."
        still = [p.name for p in parts if p.resolution <= _NOTHING]
        partly = sorted((p for p in parts if p.resolution > _NOTHING), key=lambda p: p.resolution)
        words = []
        if still:
            verb = "is where it" if len(still) == 1 else "are where they"
            words.append(f"{_some(still)} {verb} started")
        if partly:
            shares = [f"{_percent(p.resolution)} of {p.name}" for p in partly]
            words.append(f"from the data come {_some(shares)}")
        whose = "its interval holds" if len(parts) == 1 else "their intervals hold"
        said = "; ".join(words)
        return (
            f"{said[0].upper()}{said[1:]}; {whose} only if the start is right along what was held."
        )


def _some(items: Sequence[str]) -> str:
    """Return the first ones in words, and how many more there are."""
    more = len(items) - _MOST_NAMED
    if more > 1:
        return f"{', '.join(items[:_MOST_NAMED])} and {more} more"
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else items[0]


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def _span(errors: Sequence[float]) -> str:
    """Return standard errors as a range."""
    known = [e for e in errors if e <= _OPEN]
    lost = len(errors) - len(known)
    if not known:
        return "of which the data say nothing" if lost else "none"
    low, high = (f"{end:.3g}" for end in (min(known), max(known)))
    text = low if low == high else f"{low} to {high}"
    return f"{text} scales" + (f", or nothing known, {lost} of them" if lost else "")
