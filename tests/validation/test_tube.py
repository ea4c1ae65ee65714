"""The tube around a reference."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.validation.checks.reference import band, largest_excess, scale_of

TIMES = np.linspace(0.0, 1.0, 11)


def test_deviation_is_over_the_range_and_at_its_place() -> None:
    reference = 5.0 * TIMES
    values = reference.copy()
    values[7] += 0.1
    values[2] -= 0.05
    excess = largest_excess(TIMES, reference, TIMES, values)
    assert excess.deviation == pytest.approx(0.1 / 5.0)
    assert excess.time == pytest.approx(0.7)
    assert excess.low == excess.high == pytest.approx(3.5)


def test_a_late_step_is_inside_a_tube_in_time() -> None:
    reference = np.where(TIMES < 0.45, 0.0, 1.0)
    late = np.where(TIMES < 0.55, 0.0, 1.0)
    assert largest_excess(TIMES, reference, TIMES, late).deviation == 1.0
    assert largest_excess(TIMES, reference, TIMES, late, time_width=0.11).deviation == 0.0
    assert largest_excess(
        TIMES, reference, TIMES, late, time_width=0.05
    ).deviation == pytest.approx(0.5)


def test_band_against_a_fine_sweep() -> None:
    """Extremes between and at samples, at the ends, and wider than the whole reference."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.uniform(0.0, 10.0, 40))
    reference = rng.standard_normal(40)
    at = np.linspace(-1.0, 11.0, 97)
    for width in (0.03, 0.4, 3.0, 50.0):
        low, high = band(times, reference, at, width)
        for k, t in enumerate(at):
            around = np.linspace(t - width, t + width, 4001)
            near = np.append(around, times[np.abs(times - t) <= width])
            swept = np.interp(near, times, reference)
            assert low[k] == pytest.approx(swept.min(), abs=1e-12)
            assert high[k] == pytest.approx(swept.max(), abs=1e-12)


@pytest.mark.parametrize(
    ("reference", "scale"),
    [([0.0, 2.0], 2.0), ([4.0, 4.0], 4.0), ([0.0, 0.0], 1.0), ([1e-6, 3e-6], 2e-6)],
)
def test_scale(reference: list[float], scale: float) -> None:
    assert scale_of(np.array(reference)) == pytest.approx(scale)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_a_number_is_outside(bad: float) -> None:
    values = TIMES.copy()
    values[3] = bad
    excess = largest_excess(TIMES, TIMES, TIMES, values)
    assert excess.deviation == np.inf
    assert excess.time == TIMES[3]
