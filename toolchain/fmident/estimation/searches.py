"""Number of searches that have found the same minimum."""

from __future__ import annotations

from collections.abc import Sequence

SAME_COST = 1e-3
"""Relative difference of costs up to which two searches count as one minimum: the noise of a
simulation lets searches end a little apart."""


def agreeing(costs: Sequence[float], best: float | None = None) -> int:
    """Return how many searches ended at the lowest minimum, whose cost is `best` if given."""
    least = min(costs, default=float("inf")) if best is None else best
    return sum(cost <= least * (1.0 + SAME_COST) + 1e-300 for cost in costs)
