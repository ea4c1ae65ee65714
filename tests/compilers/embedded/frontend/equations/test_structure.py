"""Matching, order of blocks and symbolic elimination against brute force."""

import itertools

import casadi as ca
import numpy as np
import pytest

from fmident.compilers.embedded.frontend.equations.blocks import SingularMatrixError, solve
from fmident.compilers.embedded.frontend.equations.structure import (
    blocks,
    maximum_matching,
    reachable_equations,
    reachable_unknowns,
)


def random_incidence(generator: np.random.Generator, n: int) -> list[list[int]]:
    matrix = generator.random((n, n)) < 0.35
    return [list(map(int, np.flatnonzero(row))) for row in matrix]


@pytest.mark.parametrize("seed", range(25))
def test_matching_is_maximum(seed: int) -> None:
    n = 5
    incidence = random_incidence(np.random.default_rng(seed), n)
    best = max(
        sum(column in incidence[row] for row, column in enumerate(order))
        for order in itertools.permutations(range(n))
    )
    matching = maximum_matching(incidence, n)
    assert n - len(matching.unmatched_equations) == best
    for equation, unknown in enumerate(matching.unknown_of):
        if unknown is not None:
            assert unknown in incidence[equation]
            assert matching.equation_of[unknown] == equation


@pytest.mark.parametrize("seed", range(25))
def test_blocks_need_earlier_blocks_only(seed: int) -> None:
    n = 8
    incidence = [
        sorted({*row, i}) for i, row in enumerate(random_incidence(np.random.default_rng(seed), n))
    ]
    matching = maximum_matching(incidence, n)
    found = blocks(incidence, matching)
    assert sorted(itertools.chain(*found)) == list(range(n))
    known: set[int] = set()
    for block in found:
        known |= {u for i in block if (u := matching.unknown_of[i]) is not None}
        for equation in block:
            assert set(incidence[equation]) <= known


def test_a_loop_is_one_block_and_a_chain_is_none() -> None:
    loop = [[0, 1], [1, 2], [2, 0]]
    assert blocks(loop, maximum_matching(loop, 3)) == [[0, 1, 2]]
    chain = [[0, 1], [1, 2], [2]]
    assert blocks(chain, maximum_matching(chain, 3)) == [[2], [1], [0]]


def test_culprits() -> None:
    incidence = [[0], [0], [1, 2]]
    matching = maximum_matching(incidence, 3)
    (surplus,) = matching.unmatched_equations
    assert sorted(reachable_equations(incidence, matching, surplus)) == [0, 1]
    (missing,) = matching.unmatched_unknowns
    assert sorted(reachable_unknowns(incidence, matching, missing)) == [1, 2]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 9])
def test_elimination_as_accurate_as_lapack(n: int) -> None:
    A, b = ca.SX.sym("A", n, n), ca.SX.sym("b", n)
    rows = [[A[i, j] for j in range(n)] for i in range(n)]
    function = ca.Function("f", [A, b], [ca.vertcat(*solve(rows, [b[i] for i in range(n)]))])
    generator = np.random.default_rng(n)
    for trial in range(30):
        matrix = generator.normal(size=(n, n)) * 10.0 ** generator.uniform(-3, 3, (n, 1))
        if trial % 3 == 0 and n > 1:
            np.fill_diagonal(matrix, 0.0)
        right = generator.normal(size=n)
        x = np.array(function(matrix, right)).ravel()
        scale = np.abs(matrix) @ np.abs(x) + np.abs(right)
        assert np.all(np.abs(matrix @ x - right) <= 1e-13 * n * scale.max())


def test_elimination_of_sparse_and_constant_entries() -> None:
    a = ca.SX.sym("a")
    solution = solve([[1, -1, 0], [0, a, 1], [0, 0, -2]], [0, 3, 4])
    values = np.array(ca.Function("f", [a], [ca.vertcat(*solution)])(2.5)).ravel()
    assert values == pytest.approx([2.0, 2.0, -2.0])


def test_singular_constant_matrix_is_found() -> None:
    with pytest.raises(SingularMatrixError):
        solve([[1, 2], [2, 4]], [ca.SX.sym("b"), 1])
