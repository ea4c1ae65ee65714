"""Derivatives of expressions, against formulas and against differences of high order."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from fmident.evaluation.python_model import python_problem
from fmident.problem import Constraints, Parameter, read_constraint
from fmident.problem.constraints import ConstraintValues
from fmident.problem.expressions import FUNCTIONS, read_expression, value_of

X = np.array([0.3, 0.7])


def constraints(text: str) -> Constraints:
    parameters = [Parameter("x", X[0]), Parameter("y", X[1])]
    problem = python_problem({"y": np.zeros(3)}, np.arange(3.0), parameters)
    return Constraints(dataclasses.replace(problem, constraints=read_constraint("c", text)))


EXPRESSIONS = [
    "x*y + x/y - y", "x^2*y^3", "x^y", "(x + y)^-2", "-x^3", "x^0", "x^1", "2^x", "x^0.5",
    "x/(x^2 + y^2)", *(f"{name}(x*y + 0.1*x)" for name in FUNCTIONS),
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_gradient_and_hessian(text: str) -> None:
    tree = read_expression(text)
    function = constraints(f"{text} >= 0")
    at = function.at(X)
    assert at.values[0] == value_of(tree, {"x": X[0], "y": X[1]})

    def gradient(x: np.ndarray) -> np.ndarray:
        return function.at(x).jacobian[0]

    def value(x: np.ndarray) -> float:
        return value_of(tree, {"x": x[0], "y": x[1]})

    for j in range(2):
        assert at.jacobian[0, j] == pytest.approx(_slope(value, j), rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(at.hessians[0, j], _slope(gradient, j), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(at.hessians[0], at.hessians[0].T)


def _slope(function, j: int):  # type: ignore[no-untyped-def]
    """Central differences of sixth order."""
    h = np.zeros(2)
    h[j] = 2e-3
    pairs = ((1, 45.0), (2, -9.0), (3, 1.0))
    return sum(c * (function(X + k * h) - function(X - k * h)) for k, c in pairs) / (60.0 * 2e-3)


def test_a_closed_form() -> None:
    at = constraints("x^2*y >= 0").at(np.array([2.0, 3.0]))
    assert at.values.tolist() == [12.0]
    assert at.jacobian.tolist() == [[12.0, 4.0]]
    assert at.hessians.tolist() == [[[6.0, 4.0], [4.0, 0.0]]]


def test_what_is_not_defined_has_no_derivative() -> None:
    at = constraints("sqrt(x - 1) >= log(y - 1)").at(np.array([1.0, 0.5]))
    assert np.isnan(at.values).all()
    assert np.isnan(at.jacobian).any()


@pytest.mark.parametrize(
    ("text", "affine"),
    [("2*x - y/4 >= 1", True), ("x*y >= 1", False), ("abs(x) <= y", False), ("sin(2)*x = y", True)],
)
def test_what_is_affine(text: str, affine: bool) -> None:
    assert constraints(text).affine.tolist() == [affine]


def test_derivatives_go_with_a_problem_to_another_process() -> None:
    function = constraints("x*y >= 1")
    function.at(X)
    copy: Constraints = pickle.loads(pickle.dumps(function))
    assert isinstance(copy.at(X), ConstraintValues)
    assert copy.at(X).jacobian.tolist() == function.at(X).jacobian.tolist()
