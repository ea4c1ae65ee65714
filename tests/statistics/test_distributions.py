"""Quantiles and tails against values in closed form, and at their ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from fmident.statistics.distributions import (
    chi_squared_tail,
    f_tail,
    normal_quantile,
    student_freedom,
    student_quantile,
)

LEVELS = [1e-9, 0.025, 0.3, 0.5, 0.55, 0.84134, 0.975, 0.9995, 1 - 1e-9]


@pytest.mark.parametrize("freedom", [1.0, 2.3, 30.0, 4321.0, 1e6])
def test_degrees_of_freedom_from_a_quantile(freedom: float) -> None:
    quantile = float(special.stdtrit(freedom, 0.975))
    assert student_freedom(0.975, quantile) == pytest.approx(freedom, rel=1e-5)
    assert student_freedom(0.975, 99.0) == 1.0
    assert math.isinf(student_freedom(0.975, 1.96 - 4e-5))
    assert math.isnan(student_freedom(0.975, math.nan))


@pytest.mark.parametrize("level", LEVELS)
def test_student_quantiles_in_closed_form(level: float) -> None:
    """One degree of freedom is Cauchy's distribution; two have a formula."""
    centred = 2.0 * level - 1.0
    cauchy = math.tan(0.5 * math.pi * centred)
    two = centred * math.sqrt(0.5 / (level * (1.0 - level)))
    tolerance = 1e-12 if 1e-6 < level < 1 - 1e-6 else 1e-7  # the formulas lose digits there
    assert student_quantile(level, 1) == pytest.approx(cauchy, rel=tolerance, abs=1e-15)
    assert student_quantile(level, 2) == pytest.approx(two, rel=tolerance, abs=1e-15)


def test_tails_of_chi_squared_in_closed_form() -> None:
    assert chi_squared_tail(390, 1e-15) == 1.0
    for value in (1e-8, 0.3, 1.9, 2.1, 40.0, 900.0):
        assert chi_squared_tail(2, value) == pytest.approx(math.exp(-0.5 * value), rel=1e-13)
        root = math.sqrt(0.5 * value)
        assert chi_squared_tail(1, value) == pytest.approx(math.erfc(root), rel=1e-12)


def test_ends() -> None:
    assert normal_quantile(0.0) == -math.inf
    assert normal_quantile(1.0) == math.inf
    assert normal_quantile(0.5) == 0.0
    assert student_quantile(0.975, math.inf) == normal_quantile(0.975)
    assert chi_squared_tail(5, 0.0) == 1.0
    assert chi_squared_tail(5, math.inf) == 0.0
    assert chi_squared_tail(5, 1e9) == 0.0
    for found in (
        normal_quantile(1.5), normal_quantile(math.nan), student_quantile(0.9, 0.0),
        student_quantile(0.9, math.nan), chi_squared_tail(5, math.nan), chi_squared_tail(5, -1.0),
    ):  # fmt: skip
        assert math.isnan(found)


def test_a_quantile_is_where_the_tail_is() -> None:
    """Chi-squared with one degree of freedom is the square of a normal variable."""
    for level in np.linspace(0.51, 0.999, 7):
        x = normal_quantile(float(level))
        assert chi_squared_tail(1, x * x) == pytest.approx(2.0 * (1.0 - level), rel=1e-13)


def test_tails_of_f_in_closed_form() -> None:
    """F with one degree of freedom is the square of Student's t; with two it has a formula."""
    for freedom in (1, 4, 17, 300):
        for value in (0.1, 1.0, 3.7):
            two = (1.0 + 2.0 * value / freedom) ** (-0.5 * freedom)
            assert f_tail(2, freedom, value) == pytest.approx(two, rel=1e-12)
        t = student_quantile(0.97, freedom)
        assert f_tail(1, freedom, t * t) == pytest.approx(0.06, rel=1e-9)
    assert f_tail(3, 5, 0.0) == 1.0
    assert f_tail(3, 5, math.inf) == 0.0
    assert math.isnan(f_tail(3, 0.0, 1.0))
    assert math.isnan(f_tail(3, 5, -1.0))
