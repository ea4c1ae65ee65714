"""Derivatives of expressions, against formulas and against differences of high order."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.problem.expressions import FUNCTIONS, read_expression
from fmident.problem.jets import Jet, jet_of, value_of

X = np.array([0.3, 0.7])


def jets(x: np.ndarray) -> dict[str, Jet]:
    return {"x": Jet.variable(x[0], 0, 2), "y": Jet.variable(x[1], 1, 2)}


EXPRESSIONS = [
    "x*y + x/y - y", "x^2*y^3", "x^y", "(x + y)^-2", "-x^3", "x^0", "x^1", "2^x", "x^0.5",
    "x/(x^2 + y^2)", *(f"{name}(x*y + 0.1*x)" for name in FUNCTIONS),
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_gradient_and_hessian(text: str) -> None:
    tree = read_expression(text)
    found = jet_of(tree, jets(X), 2)
    assert found.value == value_of(tree, {"x": X[0], "y": X[1]})

    def gradient(x: np.ndarray) -> np.ndarray:
        return jet_of(tree, jets(x), 2).gradient

    def value(x: np.ndarray) -> float:
        return value_of(tree, {"x": x[0], "y": x[1]})

    for j in range(2):
        assert found.gradient[j] == pytest.approx(_slope(value, j), rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(found.hessian[j], _slope(gradient, j), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(found.hessian, found.hessian.T)


def _slope(function, j: int):  # type: ignore[no-untyped-def]
    """Central differences of sixth order."""
    h = np.zeros(2)
    h[j] = 2e-3
    pairs = ((1, 45.0), (2, -9.0), (3, 1.0))
    return sum(c * (function(X + k * h) - function(X - k * h)) for k, c in pairs) / (60.0 * 2e-3)


def test_a_closed_form() -> None:
    found = jet_of(read_expression("x^2*y"), jets(np.array([2.0, 3.0])), 2)
    assert found.value == 12.0
    assert found.gradient.tolist() == [12.0, 4.0]
    assert found.hessian.tolist() == [[6.0, 4.0], [4.0, 0.0]]
