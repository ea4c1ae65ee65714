"""Distributions that say what is known of a parameter before any data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

PriorName = Literal["normal", "lognormal", "uniform"]

PRIOR_NAMES: tuple[str, ...] = get_args(PriorName)

_TINY = 1e-300
"""In place of values that a lognormal quantity cannot have, so that its logarithm is finite."""


@dataclass(frozen=True)
class Prior:
    """What is known of one parameter before any data: a distribution of its value.

    Parameters
    ----------
    distribution
        ``"normal"``; ``"lognormal"``, for positive quantities; ``"uniform"``, which says that the
        value lies within limits and nothing else.
    mean, sd
        Mean and standard deviation of the quantity itself, in the parameter's unit, also of a
        lognormal one: 2.0 and 0.2 stand for "2.0 within 10 %". NaN for a uniform one.
    lower, upper
        Limits of a uniform one, in the parameter's unit.
    """

    distribution: PriorName
    mean: float = math.nan
    sd: float = math.nan
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def counts(self) -> bool:
        """Whether it adds to the cost; a uniform one is the same everywhere in its limits."""
        return self.distribution != "uniform"

    @property
    def log_sd(self) -> float:
        """Standard deviation of the logarithm of a lognormal quantity."""
        return math.sqrt(math.log1p((self.sd / self.mean) ** 2))

    @property
    def center(self) -> float:
        """The value of deviation zero: the mean, of a lognormal quantity the median."""
        if self.distribution == "uniform":
            return 0.5 * (self.lower + self.upper)
        if self.distribution == "lognormal":
            return self.mean * math.exp(-0.5 * self.log_sd**2)
        return self.mean

    def deviation(self, value: float) -> float:
        """Return how many standard deviations a value lies above the centre.

        Of a lognormal quantity on the scale of its logarithm, on which it is normal; 0 for a
        uniform one.
        """
        if self.distribution == "normal":
            return (value - self.mean) / self.sd
        if self.distribution == "lognormal":
            return (math.log(max(value, _TINY)) - math.log(self.center)) / self.log_sd
        return 0.0

    def slope(self, value: float) -> float:
        """Return the derivative of :meth:`deviation` with respect to the value."""
        if self.distribution == "normal":
            return 1.0 / self.sd
        if self.distribution == "lognormal":
            return 1.0 / (max(value, _TINY) * self.log_sd) if value > 0.0 else 0.0
        return 0.0

    def at(self, deviation: float) -> float:
        """Return the value of a deviation: the inverse of :meth:`deviation`."""
        if self.distribution == "lognormal":
            return self.center * math.exp(self.log_sd * deviation)
        return self.mean + self.sd * deviation

    def __str__(self) -> str:
        if self.distribution == "uniform":
            return f"uniform from {self.lower:g} to {self.upper:g}"
        return f"{self.distribution}, {self.mean:g} +- {self.sd:g}"
