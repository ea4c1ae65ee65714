"""The five functions of the paper, in two dimensions, each with minimum 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64


@dataclass(frozen=True)
class TestFunction:
    """A function to minimise.

    Parameters
    ----------
    name
        Of the function.
    limit
        Both parameters lie in [-limit, limit].
    values
        Points of shape (k, 2) to values of shape (k,).
    """

    name: str
    limit: float
    values: Callable[[F64], F64]

    __test__ = False  # no test class, whatever its name


def quadratic(x: F64) -> F64:
    """Return the values at points, (k, 2) -> (k,)."""
    return x[:, 0] ** 2 + 1.5 * x[:, 1] ** 2


def sphere(x: F64) -> F64:
    """Return the values at points, (k, 2) -> (k,)."""
    return np.sum(x**2, axis=1)


def griewank(x: F64) -> F64:
    """Return the values at points, (k, 2) -> (k,)."""
    # The paper's print shows cos(theta_l / l); the function of that name has the root.
    waves = np.prod(np.cos(x / np.sqrt(np.arange(1, x.shape[1] + 1))), axis=1)
    return np.sum(x**2, axis=1) / 4000.0 - waves + 1.0


def rastrigin(x: F64) -> F64:
    """Return the values at points, (k, 2) -> (k,)."""
    return 20.0 + np.sum(x**2 - 10.0 * np.cos(2.0 * np.pi * x), axis=1)


def rosenbrock(x: F64) -> F64:
    """Return the values at points, (k, 2) -> (k,)."""
    return 100.0 * (x[:, 1] - x[:, 0] ** 2) ** 2 + (1.0 - x[:, 0]) ** 2


# The paper prints no bounds. These are the usual ones of each function: De Jong's for the
# sphere and Rosenbrock's function, +-5.12 for Rastrigin's, +-600 for Griewank's.
FUNCTIONS = (
    TestFunction("quadratic", 5.12, quadratic),
    TestFunction("sphere", 5.12, sphere),
    TestFunction("Griewank", 600.0, griewank),
    TestFunction("Rastrigin", 5.12, rastrigin),
    TestFunction("Rosenbrock", 2.048, rosenbrock),
)
