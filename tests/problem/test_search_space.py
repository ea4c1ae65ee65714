"""The scaled space."""

from __future__ import annotations

import operator
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fmident.problem import EstimatorSettings, Parameter, Problem, SearchSpace

from ..properties import examples

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


sizes = st.floats(1e-30, 1e30)
free = st.one_of(
    st.tuples(st.just("linear"), sizes, st.just(0.0) | sizes | sizes.map(operator.neg)),
    st.tuples(st.just("log"), sizes, sizes),
)


@given(st.lists(free, min_size=1, max_size=4))
@examples(60)
def test_there_and_back(parameters: list[tuple[str, float, float]]) -> None:
    problem = replace(
        PROBLEM,
        parameters=tuple(
            Parameter(f"p{k}", x, x - abs(x) / 2, x + abs(x) / 2, scaling=kind, scale=scale)  # type: ignore[arg-type]
            for k, (kind, scale, x) in enumerate(parameters)
        ),
    )
    space = SearchSpace.of(problem)
    for p in (problem.initial, problem.lower, problem.upper):
        z = space.from_physical(p)
        np.testing.assert_allclose(space.to_physical(z), p, rtol=2e-14)
        again = space.from_physical(space.to_physical(z))
        np.testing.assert_allclose(again, z, rtol=2e-14, atol=1e-14)  # log(1) is 0
    assert np.all(space.lower <= space.from_physical(problem.initial))
    assert np.all(space.from_physical(problem.initial) <= space.upper)


def test_derivative() -> None:
    p = np.array([2.0, 10.0, -3.0])
    z, h = SPACE.from_physical(p), 1e-6
    numeric = [
        (SPACE.to_physical(z + h * e)[i] - SPACE.to_physical(z - h * e)[i]) / (2.0 * h)
        for i, e in enumerate(np.eye(3))
    ]
    np.testing.assert_allclose(SPACE.derivative(p), numeric, rtol=1e-8)
