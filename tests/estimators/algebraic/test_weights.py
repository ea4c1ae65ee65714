"""Weights of the iterated integrals, against symbols and known integrals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy

from fmident_estimators.algebraic.kernels import degree_of, kernel, row_weights

RULES = ("simpson", "product-2", "product-4", "product-5", "product-6")


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("extra", [1, 2, 3])
def test_kernels_are_derivatives_of_one_modulating_function(n: int, extra: int) -> None:
    mu = n + extra
    tau = sympy.Symbol("tau")
    base = (-1) ** n * (1 - tau) ** (mu - 1) * tau**n
    grid = np.linspace(0.0, 1.0, 23)
    for i in range(n + 1):
        exact = sympy.lambdify(tau, (-1) ** i * sympy.diff(base, tau, i) + 0 * tau)
        expected = np.broadcast_to(np.asarray(exact(grid), dtype=float), grid.shape)
        scale = np.max(np.abs(expected))
        np.testing.assert_allclose(kernel(n, mu, i, grid), expected, atol=1e-13 * scale)


@pytest.mark.parametrize("mu", [3, 4, 5])
def test_the_row_of_the_paper(mu: int) -> None:
    """theta2: P_mu,2; theta1: 2 P_mu,1 + P_mu-1,2; known: 2 P_mu,0 + 4 P_mu-1,1 + P_mu-2,2."""
    step, intervals = 0.01, 96
    length = step * intervals
    times = np.arange(intervals + 1) * step
    signal = np.exp(-0.7 * times) * np.cos(3.0 * times)

    def iterated(m: int, j: int) -> float:
        fine = np.linspace(0.0, length, 200_001)
        g = np.exp(-0.7 * fine) * np.cos(3.0 * fine)
        values = (length - fine) ** (m - 1) * fine**j * g
        return (-1) ** j / math.factorial(m - 1) * float(np.trapezoid(values, fine))

    expected = np.array(
        [
            iterated(mu, 2),
            2.0 * iterated(mu, 1) + iterated(mu - 1, 2),
            2.0 * iterated(mu, 0) + 4.0 * iterated(mu - 1, 1) + iterated(mu - 2, 2),
        ]
    )
    found = row_weights(2, mu, intervals, step, "product-6") @ signal
    # All terms of a row share the factor (mu-1)!/T^mu of normalised time.
    np.testing.assert_allclose(found * length**mu / math.factorial(mu - 1), expected, rtol=1e-7)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_order_of_convergence(rule: str, n: int) -> None:
    degree = degree_of(rule)
    expected = 4 if rule == "simpson" else degree + 2 - degree % 2
    errors = []
    counts = {"product-5": (60, 120), "product-6": (24, 48)}.get(rule, (48, 96))
    for intervals in counts:
        times = np.linspace(0.0, 1.0, intervals + 1)
        # y = sin(5 t + 1): rows of the equation y'' = -25 y hold whatever the order n is.
        weights = row_weights(n, n + 1, intervals, 1.0 / intervals, rule)
        fine = np.linspace(0.0, 1.0, 4001)
        exact = row_weights(n, n + 1, 4000 // 8 * 8, 1.0 / 4000, "product-4") @ np.sin(5 * fine + 1)
        errors.append(np.max(np.abs(weights @ np.sin(5.0 * times + 1.0) - exact)))
    observed = np.log2(errors[0] / errors[1])
    assert observed > expected - 0.4


@pytest.mark.parametrize("rule", RULES[1:])
def test_initial_conditions_are_annihilated_exactly(rule: str) -> None:
    """The n-th derivative's weights do not see a polynomial of degree n - 1."""
    for n in (1, 2, 3):
        intervals = 2 * degree_of(rule) if degree_of(rule) >= n else 4 * n
        times = np.linspace(0.0, 1.0, intervals + 1)
        weights = row_weights(n, n + 2, intervals, 1.0 / intervals, rule)
        for power in range(min(n, degree_of(rule) + 1)):
            size = np.abs(weights[n]) @ np.abs(times**power)
            assert abs(weights[n] @ times**power) < 1e-13 * size


def test_refusals() -> None:
    with pytest.raises(ValueError, match="multiple of 4"):
        row_weights(2, 3, 6, 0.1, "product-4")
    with pytest.raises(ValueError, match="larger than n"):
        row_weights(2, 2, 8, 0.1)
