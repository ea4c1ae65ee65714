"""Independent and dependent columns."""

from __future__ import annotations

import numpy as np
import pytest

from fmident_estimators.linear_regression.base_parameters import find_base

NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture
def columns() -> np.ndarray:
    """c = 2a - b, d is zero, e is on its own; lengths differ by orders of magnitude."""
    a, b, e = np.random.default_rng(0).normal(size=(3, 50)) * [[1e-4], [1e3], [1.0]]
    return np.column_stack([a, b, 2.0 * a - 1e-7 * b, 0.0 * a, e])


def test_columns_are_sorted_into_three_kinds(columns: np.ndarray) -> None:
    base = find_base(columns, NAMES, range(5), 1e-7)
    assert base.independent == (0, 1, 4)
    assert base.dependent == (2,)
    assert base.inert == (3,)
    assert [c.text for c in base.combinations] == ["a + 2*c", "b - 1e-07*c", "e"]


def test_the_mapping_reproduces_all_columns(columns: np.ndarray) -> None:
    base = find_base(columns, NAMES, range(5), 1e-7)
    again = columns[:, base.independent] @ base.mapping
    np.testing.assert_allclose(again, columns, rtol=0.0, atol=1e-12 * np.abs(columns).max())


@pytest.mark.parametrize("order", [(2, 0, 1, 3, 4), (4, 3, 2, 1, 0), (1, 2, 0, 4, 3)])
def test_any_order_gives_the_same_rank(columns: np.ndarray, order: tuple[int, ...]) -> None:
    base = find_base(columns, NAMES, order, 1e-7)
    assert len(base.independent) == np.linalg.matrix_rank(columns / [1e-4, 1e3, 1e-4, 1, 1])
    assert base.independent[0] == next(j for j in order if j != 3)


def test_moving_dependent_parameters_keeps_the_base(columns: np.ndarray) -> None:
    base = find_base(columns, NAMES, range(5), 1e-7)
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    wanted = base.values(values)
    moved = base.with_dependent(wanted, np.array([0.0, 0.0, -7.0, 4.0, 0.0]))
    assert moved[2] == -7.0
    np.testing.assert_allclose(base.values(moved), wanted, rtol=1e-14)
    np.testing.assert_allclose(columns @ moved, columns @ values, rtol=1e-9, atol=1e-9)


def test_no_other_parameters_have_a_smaller_norm(columns: np.ndarray) -> None:
    base = find_base(columns, NAMES, range(5), 1e-7)
    wanted = base.values(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    least = base.minimum_norm(wanted, np.full(5, 4.0))
    np.testing.assert_allclose(base.values(least), wanted, rtol=1e-12)
    assert least[3] == 4.0
    norms = [
        np.linalg.norm(base.with_dependent(wanted, np.array([0, 0, c, 4.0, 0])))
        for c in np.linspace(-3.0, 3.0, 61)
    ]
    assert np.linalg.norm(least) <= min(norms) + 1e-12


def test_rounding_is_no_column_in_any_unit(columns: np.ndarray) -> None:
    noise = np.random.default_rng(3).normal(size=50)
    noise /= np.linalg.norm(noise)
    noisy, length = columns.copy(), np.linalg.norm(columns[:, 1])
    noisy[:, 3] = 1e-14 * length * noise
    assert find_base(noisy, NAMES, range(5), 1e-7).inert == (3,)
    # A parameter of 1e6 units has an influence with the same column.
    sizes = np.array([1.0, 1.0, 1.0, 1e6, 1.0])
    assert find_base(noisy, NAMES, range(5), 1e-7, sizes).independent == (0, 1, 3, 4)


def test_reduction_by_what_the_data_show(columns: np.ndarray) -> None:
    base = find_base(columns, NAMES, range(5), 1e-7)
    rng = np.random.default_rng(1)
    first = rng.normal(size=20)
    # These data show a, do not show b, and cannot tell e from a.
    shown = base.reduced(np.column_stack([first, 0.0 * first, 3.0 * first]), 1e-7)
    assert [c.text for c in shown.combinations] == ["a + 2*c + 3*e"]
    assert shown.inert == (1, 3)


def test_noise_below_the_tolerance_is_no_column(columns: np.ndarray) -> None:
    noisy = columns.copy()
    noisy[:, 2] += 1e-10 * np.linalg.norm(columns[:, 2]) * np.random.default_rng(2).normal(size=50)
    assert find_base(noisy, NAMES, range(5), 1e-7).dependent == (2,)
    assert find_base(noisy, NAMES, range(5), 1e-12).dependent == ()
