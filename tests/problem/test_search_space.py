"""The scaled space."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fmident.problem import EstimatorSettings, Parameter, Problem, SearchSpace

PROBLEM = Problem(
    Path("m.fmu"),
    (
        Parameter("a", 2.0, 1.0, 6.0, scale=4.0),
        Parameter("fixed", 1.0, fixed=True),
        Parameter("b", 10.0, 0.0, 1e3, scaling="log", scale=7.0),
        Parameter("c", 0.0),
    ),
    (),
    EstimatorSettings("none"),
)
SPACE = SearchSpace.of(PROBLEM)


def test_components_and_bounds() -> None:
    p = np.array([2.0, 10.0, -3.0])
    np.testing.assert_allclose(SPACE.from_physical(p), [0.5, np.log(10.0), -3.0])
    np.testing.assert_allclose(SPACE.lower, [0.25, -np.inf, -np.inf])
    np.testing.assert_allclose(SPACE.upper, [1.5, np.log(1e3), np.inf])


def test_there_and_back_for_many_points() -> None:
    points = np.random.default_rng(0).uniform(0.1, 5.0, size=(8, 3))
    np.testing.assert_allclose(SPACE.to_physical(SPACE.from_physical(points)), points, rtol=1e-14)


def test_derivative() -> None:
    p = np.array([2.0, 10.0, -3.0])
    z, h = SPACE.from_physical(p), 1e-6
    numeric = [
        (SPACE.to_physical(z + h * e)[i] - SPACE.to_physical(z - h * e)[i]) / (2.0 * h)
        for i, e in enumerate(np.eye(3))
    ]
    np.testing.assert_allclose(SPACE.derivative(p), numeric, rtol=1e-8)
