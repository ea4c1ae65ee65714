"""Sums of squares and largest errors, correlation, and the default."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fmident.problem import TimeDomain
from fmident_costs import Correlation, SquaresAndMaxima

MEASURED = np.array([1.0, -2.0, np.nan, 3.0])


def test_squares_and_maxima_by_hand(signal, value) -> None:
    # Errors 1, -2, 3: their squares add up to 14.
    assert value(SquaresAndMaxima(1.0, 0.0), signal(MEASURED), 0.0) == pytest.approx(14.0)
    assert value(SquaresAndMaxima(0.0, 1.0), signal(MEASURED), 0.0) == pytest.approx(3.0)
    assert value(SquaresAndMaxima(0.5, 10.0), signal(MEASURED), 0.0) == pytest.approx(37.0)
    assert value(SquaresAndMaxima(1.0, 1.0), signal(MEASURED), MEASURED) == 0.0


def test_the_lugre_cost_of_two_outputs(signal) -> None:
    s = signal([1.0, -2.0])
    force = dataclasses.replace(signal([3.0, 5.0]), output="F")
    cost = SquaresAndMaxima({"y": 1.0, "F": 3.0}, {"y": 2.0, "F": 4.0})
    residuals = cost.residuals([s, force], [np.zeros(2), np.zeros(2)])
    assert 0.5 * np.sum(residuals**2) == pytest.approx(1 * 5 + 2 * 2 + 3 * 34 + 4 * 5)
    only = SquaresAndMaxima({"F": 1.0}, 0.0)
    assert only.residuals([s, force], [np.zeros(2), np.zeros(2)]).shape == (2,)


def test_errors_in_units_leave_sigma_and_weight_out(signal, value) -> None:
    scaled = signal(MEASURED, scale=10.0)
    assert value(SquaresAndMaxima(1.0, 0.0), scaled, 0.0) == pytest.approx(1400.0)
    assert value(SquaresAndMaxima(1.0, 2.0, "plain"), scaled, 0.0) == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("cost", "fragment"),
    [
        (SquaresAndMaxima({"x": 1.0}), "'squares' names the output 'x', which is not measured"),
        (SquaresAndMaxima(0.0, {"x": 1.0}), "'maxima' names the output 'x'"),
        (SquaresAndMaxima(0.0, 0.0), "all weights are zero"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(cost, fragment, signal) -> None:
    with pytest.raises(ValueError, match=fragment):
        cost.check([signal(MEASURED)])


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, {"y": -1.0}])
def test_weights_below_zero_are_refused(weight) -> None:
    with pytest.raises(ValueError, match="'maxima'"):
        SquaresAndMaxima(maxima=weight)


def test_correlation_is_blind_to_gain_and_offset(signal, value) -> None:
    times = np.linspace(0.0, 2.0, 101)
    measured = signal(np.sin(7.0 * times), times)
    assert value(Correlation(), measured, 3.0 * measured.measured - 20.0) < 1e-24
    assert value(Correlation(), measured, -2.0 * measured.measured) == pytest.approx(2.0)
    other = np.exp(-times) + 0.1 * np.sin(9.0 * times)
    expected = 1.0 - np.corrcoef(measured.measured, other)[0, 1]
    assert value(Correlation(), measured, other) == pytest.approx(expected, rel=1e-12)


def test_correlation_with_sigma_of_every_sample_stays_blind(signal, value) -> None:
    scale = np.random.default_rng(0).uniform(0.5, 2.0, 50)
    measured = signal(np.random.default_rng(1).normal(size=50), scale=scale)
    assert value(Correlation(), measured, 5.0 * measured.measured + 3.0) < 1e-24


def test_nothing_correlates_with_a_constant(signal, value) -> None:
    assert value(Correlation(), signal([1.0, 2.0, 4.0]), 7.3) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="constant"):
        Correlation().check([signal([0.1, 0.1, 0.1])])
    with pytest.raises(ValueError, match="constant"):
        Correlation().check([signal([1.0])])


def test_time_domain(signal, value) -> None:
    assert value(TimeDomain(), signal(MEASURED), 0.0) == pytest.approx(7.0)
    assert value(TimeDomain("mean-square"), signal(MEASURED), 0.0) == pytest.approx(14.0 / 3.0)
    assert TimeDomain().gives_intervals
    assert not TimeDomain("mean-square").gives_intervals
