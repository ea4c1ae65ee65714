r"""Uncertainty and bias of an estimate that moves along some directions only.

In scaled parameters ``x`` the estimate is that of least squares along orthonormal
directions V, and stays at the start ``x_0`` orthogonal to them. To first order

.. math:: \hat x = x_0 + R (x - x_0) + V (A V)^+ e, \qquad R = V V^T,

with the noise e: the covariance is that of least squares along V, and R, the
*resolution*, is the contribution of the data to the estimate (Menke, Geophysical Data
Analysis: Discrete Inverse Theory, 4th ed., 2018, section 4.3; Aster, Borchers and
Thurber, Parameter Estimation and Inverse Problems, 3rd ed., 2018, section 3.2). The
rest is bias: ``(I - R)`` times the error of the start. No interval includes it, so that
the interval of a parameter that is not resolved holds only if the start is correct
along the held directions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.words import listed, percent

_OPEN = 1e6
"""Standard error, in scales, from which on the data say nothing."""

_MOST_NAMED = 4
"""Parameters that a sentence names."""

_NOTHING = 1e-6
"""Resolution that is rounding."""

CONFLICT = 0.01
"""Probability below which the data are said to contradict the start."""


_SMALL = 0.2
"""Standard errors that the start may add, if it is wrong by one unit, to a parameter that counts as
resolved: intervals cover 94.6 % in place of 95 %."""

_ROUNDED = 1e-6
"""The same, in units of the start."""


@dataclass(frozen=True, eq=False)
class Subspace:
    """The directions along which an estimate moved from its start.

    `moved` are orthonormal columns in scaled parameters, shape (n, r), and `units` the physical
    sizes of one scale, shape (n,).
    """

    moved: F64
    units: F64

    @property
    def directions(self) -> F64:
        """The directions in physical parameters, as columns, shape (n, r)."""
        directions: F64 = self.units[:, np.newaxis] * self.moved
        return directions

    @property
    def across(self) -> F64:
        """The directions along which it stayed at the start, in physical parameters, (n, n - r)."""
        left, _, _ = np.linalg.svd(self.moved, full_matrices=True)
        across: F64 = self.units[:, np.newaxis] * left[:, self.moved.shape[1] :]
        return across

    @property
    def resolution(self) -> F64:
        """Contribution of the data to the estimate, in scaled parameters, shape (n, n)."""
        resolution: F64 = self.moved @ self.moved.T
        return resolution

    @property
    def start_errors(self) -> F64:
        """Errors of the values for random errors of one scale in all starts, shape (n,)."""
        across = np.eye(self.units.size) - self.resolution
        errors: F64 = self.units * np.linalg.norm(across, axis=1)
        return errors

    def resolved(self, standard_errors: F64) -> npt.NDArray[np.bool_]:
        """Return which parameters hardly depend on the start, shape (n,)."""
        small = np.maximum(_SMALL * standard_errors, _ROUNDED * self.units)
        flags: npt.NDArray[np.bool_] = self.start_errors <= small
        return flags


@dataclass(frozen=True)
class TruncatedParameter:
    """Contributions of data and start to a parameter.

    `resolution` is that of the data, from 0 to 1. `start_error`, which is in no interval,
    is the error of the value for random errors of one `scale` in all starts. Standard error
    and interval hold for a correct start along the held directions, and in any case for a
    `resolved` parameter.
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
    """Directions that an estimate held at the start because the data do not determine them.

    It moved along `rank` directions: by the rule ``"noise"`` those that the data determine
    better than `limit` scales, by ``"relative"`` those with singular values above `limit`
    times the largest. The inverses of the singular values, descending, are standard errors
    in scales of the parameters. `parameters` are those that do not lie on a bound; `bias`
    is the change of each per error of each start, by name. The data have some information on
    `compared` held directions; `p_value` is the probability of such an increase of the cost if
    the start is correct.
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
        """Parameters that stayed at the start."""
        return tuple(p.name for p in self.parameters if p.resolution <= _NOTHING)

    @property
    def held(self) -> tuple[str, ...]:
        """Parameters that depend partly on the start."""
        return tuple(p.name for p in self.parameters if not p.resolved)

    @property
    def conflict(self) -> bool:
        """Whether the data contradict the start along the held directions."""
        return self.p_value < CONFLICT

    @property
    def sentence(self) -> str:
        """Description of the held directions."""
        by = (
            f"known to better than {self.limit:g} scale{'s' * (self.limit != 1.0)}"
            if self.rule == "noise"
            else f"with singular values above {self.limit:g} of the largest"
        )
        leading, rest = self.singular_values[: self.rank], self.singular_values[self.rank :]
        errors = [1.0 / q for q in leading if q > 0.0]
        known = f" (standard errors {_span(errors)})" if errors else ""
        open_ones = [1.0 / q if q > 0.0 else math.inf for q in rest]
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
            words.append(f"{listed(still, _MOST_NAMED)} {verb} started")
        if partly:
            shares = [f"{percent(p.resolution)} of {p.name}" for p in partly]
            words.append(f"from the data come {listed(shares, _MOST_NAMED)}")
        whose = "its interval holds" if len(parts) == 1 else "their intervals hold"
        text = "; ".join(words)
        return (
            f"{text[0].upper()}{text[1:]}; {whose} only if the start is right along what was held."
        )


def _span(errors: Sequence[float]) -> str:
    """Return standard errors as a range."""
    known = [e for e in errors if e <= _OPEN]
    lost = len(errors) - len(known)
    if not known:
        return "of which the data say nothing" if lost else "none"
    low, high = (f"{end:.3g}" for end in (min(known), max(known)))
    text = low if low == high else f"{low} to {high}"
    return f"{text} scales" + (f", or nothing known, {lost} of them" if lost else "")
