"""Products that an inexact Jacobian speaks for."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.statistics.identifiability import blocks, format_combination, monomials_of, products_of


@pytest.mark.parametrize("error", [0.0, 3e-3, 0.05])
def test_an_inexact_jacobian_still_names_the_product_to_be_tested(error: float) -> None:
    """Next to jumps the columns of C, G and P, which act as C/P and G/P, do not add up to 0."""
    c, g = np.random.default_rng(2).standard_normal((2, 50))
    relative = np.column_stack([c * (1.0 + error), g, -c - g, 20.0 * np.cos(c) + 5.0])
    found = [p.texts for p in products_of(["C", "G", "P", "T"], relative, 1)]
    assert ("C/P", "G/P") in found
    assert len(found) <= 3


def test_products_that_are_the_same_at_all_points() -> None:
    """K/(R*J) and K^2/(R*J) + b/J are determined: no direction without effect changes the first."""
    spaces = []
    for k, r, j, b in ((0.05, 1.0, 0.01, 0.002), (0.07, 0.8, 0.02, 0.003)):
        ratio, rest = k * k / (r * j), b / j
        rows = np.array([[1.0, -1.0, -1.0, 0.0], [2.0 * ratio, -ratio, -ratio - rest, rest]])
        spaces.append(np.linalg.svd(rows)[2][2:].T)
    assert [row.tolist() for row in monomials_of(spaces)] == [[1, -1, -1, 0]]
    assert monomials_of([np.ones((9, 1))]) == []


def test_coefficients_are_fractions_of_small_numbers_only() -> None:
    names = ["a", "b", "c"]
    text = format_combination(np.array([1.0, -7.0 / 3.0, 20800.0 / 11.0]), names)
    assert text == "a - 7*b/3 + 1891*c"


def test_groups_of_parameters() -> None:
    null = np.zeros((5, 2))
    null[[0, 3], 0] = 0.6, -0.8
    null[[1, 4], 1] = 0.8, 0.6
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])  # another basis of the same
    assert blocks(null @ turn) == [[0, 3], [1, 4]]
