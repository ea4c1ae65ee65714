"""Selection, crossover and mutation of bit strings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident_estimators.binary_genetic.code import Bits


def fitness(costs: F64) -> F64:
    """Return ``C_max - J`` (eq. 18), 0 for failed simulations, shape (k,)."""
    finite = np.isfinite(costs)
    if not bool(finite.any()):
        return np.zeros(costs.shape)
    found: F64 = np.where(finite, np.max(costs[finite]) - np.where(finite, costs, 0.0), 0.0)
    return found


def roulette(costs: F64, count: int, generator: np.random.Generator) -> npt.NDArray[np.intp]:
    """Draw parents with a probability in proportion to their fitness.

    When all fitnesses are equal, all that did not fail have the same chance.

    Parameters
    ----------
    costs
        Shape (k,).
    count
        How many to draw.
    generator
        Of the random numbers.

    Returns
    -------
    numpy.ndarray
        Indices, shape (count,).
    """
    weights = fitness(costs)
    total = float(weights.sum())
    if not np.isfinite(total) or total <= 0.0:
        finite = np.isfinite(costs)
        weights = finite.astype(np.float64) if bool(finite.any()) else np.ones(costs.shape)
        total = float(weights.sum())
    wheel = np.cumsum(weights / total)
    drawn = np.searchsorted(wheel, generator.random(count) * wheel[-1], side="right")
    # Rounding may point past the end; the last that can be drawn has a positive share.
    last = int(np.flatnonzero(weights)[-1])
    parents: npt.NDArray[np.intp] = np.minimum(drawn, last)
    return parents


def crossover(parents: Bits, probability: float, generator: np.random.Generator) -> Bits:
    """Return children of parents 0 and 1, 2 and 3, ...: uniform crossover, shape as `parents`."""
    children = parents.copy()
    pairs = len(parents) // 2
    crosses = generator.random(pairs) < probability
    exchanged = (generator.random((pairs, parents.shape[1])) < 0.5) & crosses[:, np.newaxis]
    first, second = parents[0 : 2 * pairs : 2], parents[1 : 2 * pairs : 2]
    children[0 : 2 * pairs : 2] = np.where(exchanged, second, first)
    children[1 : 2 * pairs : 2] = np.where(exchanged, first, second)
    return children


def mutate(strings: Bits, probability: float, generator: np.random.Generator) -> Bits:
    """Return the strings with each bit turned over with `probability`."""
    mutants: Bits = strings ^ (generator.random(strings.shape) < probability)
    return mutants
