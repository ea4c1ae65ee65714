"""Filters against closed forms and against SciPy's own decimation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import signal

from fmident.data import Decimation, butterworth, kept_samples
from fmident.data.prepare import check_equidistant, differentiate, low_pass_for
from fmident.errors import DataError
from fmident.options import OptionError

N = 4000
STEP = 1e-3
TIMES = STEP * np.arange(N)


def wave(frequency: float) -> np.ndarray:
    return np.sin(2.0 * np.pi * frequency * TIMES)


def decimated(values: np.ndarray, decimation: Decimation) -> np.ndarray:
    return low_pass_for(values, decimation)[kept_samples(values.size, decimation.factor)]


@pytest.mark.parametrize(
    ("count", "factor", "expected"),
    [(10, 5, [4, 9]), (11, 5, [0, 5, 10]), (12, 5, [1, 6, 11]), (3, 10, [2]), (24792, 10, None)],
)
def test_the_last_sample_is_kept(count: int, factor: int, expected: list[int] | None) -> None:
    kept = kept_samples(count, factor)
    assert kept[-1] == count - 1
    assert kept.size == -(-count // factor)
    if expected is not None:
        assert list(kept) == expected


def test_decimation_is_scipys_apart_from_ends_and_phase() -> None:
    values = np.random.default_rng(0).normal(size=N + 1)
    # With n = 1 modulo the factor both keep the same samples; they continue the ends differently.
    ours, theirs = decimated(values, Decimation(10)), signal.decimate(values, 10)
    assert ours.shape == theirs.shape == (401,)
    np.testing.assert_allclose(ours[150:-150], theirs[150:-150], atol=1e-9)


@pytest.mark.parametrize("frequency", [5.0, 20.0, 39.0, 40.0, 45.0, 60.0])
def test_gain_of_the_filter_is_chebyshevs_in_closed_form(frequency: float) -> None:
    # Two passes: 1 / (1 + eps^2 T_8^2(w)), with the frequency warped by the bilinear transform.
    edge = 0.8 * 500.0 / 10.0
    w = np.tan(np.pi * frequency * STEP) / np.tan(np.pi * edge * STEP)
    chebyshev = np.cos(8.0 * np.arccos(w)) if w <= 1.0 else np.cosh(8.0 * np.arccosh(w))
    expected = 1.0 / (1.0 + (10.0 ** (0.05 / 10.0) - 1.0) * chebyshev**2)
    inside = slice(1000, -1000)
    filtered = low_pass_for(wave(frequency), Decimation(10))[inside]
    np.testing.assert_allclose(filtered, expected * wave(frequency)[inside], atol=1e-6)


def test_decimation_is_linear() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 500))
    decimation = Decimation(4, order=5, ripple=0.5, cutoff=0.6)
    both = decimated(2.0 * a - 3.0 * b, decimation)
    apart = 2.0 * decimated(a, decimation) - 3.0 * decimated(b, decimation)
    np.testing.assert_allclose(both, apart, atol=1e-12)


def test_butterworth_takes_half_at_its_cutoff_and_keeps_the_phase() -> None:
    inside = slice(500, -500)
    filtered = butterworth(wave(50.0), 50.0, STEP)[inside]
    np.testing.assert_allclose(filtered, 0.5 * wave(50.0)[inside], atol=1e-6)
    columns = butterworth(np.column_stack([wave(5.0), wave(200.0)]), 50.0, STEP)
    np.testing.assert_allclose(columns[inside, 0], wave(5.0)[inside], atol=1e-6)
    assert np.abs(columns[inside, 1]).max() < 1e-4


def test_derivative_of_a_parabola() -> None:
    times = np.array([0.0, 0.5, 0.7, 1.5, 2.0])
    found = differentiate(times**2, times)
    np.testing.assert_allclose(found[1:-1], 2.0 * times[1:-1], rtol=1e-12)
    assert found[0] == pytest.approx(0.5)  # one-sided


def test_jitter_is_equidistant_and_a_lost_sample_is_not() -> None:
    jitter = TIMES + 1e-6 * np.random.default_rng(0).uniform(size=N)
    assert check_equidistant(jitter, "decimation") == pytest.approx(STEP, rel=1e-4)
    with pytest.raises(DataError, match=r"decimation takes samples at equal steps.*0.099 s"):
        check_equidistant(np.delete(TIMES, 100), "decimation")


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda: Decimation(1), "factor must be from 2 to 10000, not 1"),
        (lambda: Decimation(2, order=0), "order must be from 1 to 20, not 0"),
        (lambda: Decimation(2, ripple=0.0), "ripple must be from 1e-06 to 20, not 0.0"),
        (lambda: Decimation(2, cutoff=1.5), "cutoff must be from 0.01 to 1, not 1.5"),
        (lambda: decimated(np.ones(24), Decimation(2)), "24 samples are too few"),
        (lambda: decimated(np.where(TIMES == 0.0, np.nan, 1.0), Decimation(2)),
         "sample 1 of 4000 is missing"),
        (lambda: butterworth(TIMES, 500.0, STEP), "between 0 and 500 Hz"),
        (lambda: butterworth(np.ones(12), 50.0, STEP), "12 samples are too few"),
        (lambda: differentiate(np.ones(1), np.zeros(1)), "two samples"),
    ],
)  # fmt: skip
def test_refused(call: Callable[[], object], fragment: str) -> None:
    with pytest.raises((DataError, OptionError), match=fragment):
        call()
