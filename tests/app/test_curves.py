"""What is drawn of a signal."""

from __future__ import annotations

import numpy as np

from fmident_app.curves import decimated

TIMES = np.linspace(0.0, 10.0, 100_001)


def test_few_samples_are_drawn_as_they_are() -> None:
    values = np.sin(TIMES[:1000])
    drawn = decimated(TIMES[:1000], values, 0.0, 10.0)
    assert np.array_equal(drawn, np.column_stack((TIMES[:1000], values)))


def test_no_peak_is_lost_and_no_value_made_up() -> None:
    values = np.random.default_rng(1).normal(size=TIMES.size)
    values[54_321], values[77_777] = 50.0, -60.0
    drawn = decimated(TIMES, values, 0.0, 10.0, 500)
    assert drawn.shape[0] <= 2 * 500 + 250
    assert (drawn[:, 1].max(), drawn[:, 1].min()) == (50.0, -60.0)
    assert np.all(np.diff(drawn[:, 0]) >= 0.0)
    assert set(drawn[:, 1]) <= set(values)
    peak = drawn[drawn[:, 1].argmax(), 0]
    assert abs(peak - TIMES[54_321]) < 10.0 / 500


def test_a_window_has_the_samples_beside_it() -> None:
    drawn = decimated(TIMES, TIMES, 2.00005, 2.00105)
    assert drawn[0, 0] <= 2.00005 < drawn[1, 0]
    assert drawn[-2, 0] < 2.00105 <= drawn[-1, 0]


def test_gaps_stay_gaps() -> None:
    values = np.sin(TIMES)
    values[30_000:60_000] = np.nan
    drawn = decimated(TIMES, values, 0.0, 10.0, 500)
    inside = (drawn[:, 0] > 3.05) & (drawn[:, 0] < 5.95)
    assert np.isnan(drawn[inside, 1]).all()
    assert not np.isnan(drawn[drawn[:, 0] < 2.95, 1]).any()


def test_an_empty_window() -> None:
    assert decimated(TIMES, TIMES, 11.0, 12.0).shape[0] <= 2
