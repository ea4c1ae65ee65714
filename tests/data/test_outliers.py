"""Hampel's identifier of outliers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmident.data import Table
from fmident.data.outliers import Hampel, find_outliers, share_of_noise
from fmident.data.prepare import Preparation, prepare
from fmident.errors import Code, DataError
from fmident.options import OptionError

from ..refused import refused

TIMES = np.arange(200) * 0.01
NOISE = np.random.default_rng(3).normal(scale=0.01, size=TIMES.size)
WAVE = np.sin(2.0 * np.pi * TIMES) + NOISE


def by_definition(values: np.ndarray, half: int, threshold: float) -> list[int]:
    """One sample after the other, as the filter is defined."""
    found = []
    for k, value in enumerate(values):
        window = values[max(0, k - half) : k + half + 1]
        window = window[np.isfinite(window)]
        if not np.isfinite(value) or window.size < 3:
            continue
        median = np.median(window)
        spread = 1.4826 * np.median(np.abs(window - median))
        if abs(value - median) > threshold * spread:
            found.append(k)
    return found


@pytest.mark.parametrize(("samples", "threshold"), [(3, 3.0), (7, 3.0), (7, 2.0), (21, 4.0)])
@pytest.mark.parametrize("gaps", [(), (0, 5, 6, 7, 8, 9, 10, 199)])
def test_it_finds_what_its_definition_says(
    samples: int, threshold: float, gaps: tuple[int, ...]
) -> None:
    values = WAVE.copy()
    values[[20, 21, 90, 198]] += [5.0, -4.0, 1.0, 9.0]
    values[list(gaps)] = np.nan
    found = find_outliers(values, TIMES, Hampel(("x",), samples=samples, threshold=threshold))
    assert found.rows.tolist() == by_definition(values, samples // 2, threshold)
    assert np.array_equal(found.values, values[found.rows])


def test_the_median_is_that_of_the_good_neighbours() -> None:
    values = TIMES.copy()
    values[100] = 50.0
    found = find_outliers(values, TIMES, Hampel(("x",)))
    assert found.rows.tolist() == [100]
    # The window holds 0.97 ... 1.03 but for 1.00, and 50: the fourth of seven is 1.01.
    assert found.medians == pytest.approx([1.01])


def test_a_window_in_seconds_is_one_in_samples_where_these_are_equidistant() -> None:
    values = WAVE.copy()
    values[[50, 120]] += 3.0
    in_samples = find_outliers(values, TIMES, Hampel(("x",), samples=9))
    in_seconds = find_outliers(values, TIMES, Hampel(("x",), window=0.08))
    assert in_seconds.rows.tolist() == in_samples.rows.tolist()
    assert np.array_equal(in_seconds.medians, in_samples.medians)


def test_a_window_in_seconds_takes_uneven_steps_as_they_are() -> None:
    times = np.concatenate([np.arange(50) * 0.01, 10.0 + np.arange(50) * 0.1])
    values = np.sin(times)
    values[[25, 75]] = 40.0
    found = find_outliers(values, times, Hampel(("x",), window=0.5, threshold=5.0))
    assert found.rows.tolist() == [25, 75]


def test_long_records_go_through_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = find_outliers(WAVE, TIMES, Hampel(("x",), threshold=1.5))
    assert whole.rows.size > 3
    monkeypatch.setattr("fmident.data.outliers._AT_ONCE", 50)
    parts = find_outliers(WAVE, TIMES, Hampel(("x",), threshold=1.5))
    assert np.array_equal(parts.rows, whole.rows)
    assert np.array_equal(parts.medians, whole.medians)


def test_flat_windows_are_counted() -> None:
    values = np.zeros(40)
    values[[10, 30]] = 0.1
    found = find_outliers(values, TIMES[:40], Hampel(("x",)))
    assert (found.rows.tolist(), found.flat) == ([10, 30], 2)


@pytest.mark.nightly
def test_the_share_of_good_samples_taken_for_outliers_is_that_of_the_normal_law() -> None:
    noise = np.random.default_rng(0).normal(size=200_000)
    times = np.arange(noise.size) * 1e-3
    found = find_outliers(noise, times, Hampel(("x",), samples=401, threshold=3.0))
    # 0.27 % beyond three standard deviations; the estimate of these from 401 samples adds to it.
    assert 0.0026 < found.rows.size / noise.size < 0.0032


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"columns": ()}, "names of columns"),
        ({"window": 0.0}, "positive"),
        ({"window": float("inf")}, "positive"),
        ({"samples": 4}, "odd"),
        ({"samples": 1}, "at least 3"),
        ({"threshold": -1.0}, "zero or positive"),
    ],
)
def test_values_out_of_range_are_refused(keys: dict[str, object], words: str) -> None:
    with refused(Code.OUT_OF_RANGE, OptionError, match=words):
        Hampel(**{"columns": ("x",), **keys})


def test_what_noise_alone_gives_is_known() -> None:
    noise = np.random.default_rng(5).normal(size=300_000)
    times = np.arange(noise.size) * 0.002
    for hampel in (Hampel(("x",)), Hampel(("x",), samples=21), Hampel(("x",), window=0.0401)):
        found = find_outliers(noise, times, hampel)
        assert found.width == (7 if hampel.samples == 7 and hampel.window is None else 21)
        assert share_of_noise(hampel, found.width) == pytest.approx(found.share, rel=0.1)


@pytest.mark.parametrize(("outliers", "noted"), [(0, True), (200, False)])
def test_good_samples_among_the_outliers_are_noted(outliers: int, noted: bool) -> None:
    values = np.random.default_rng(2).normal(size=1000)
    values[5 : 5 * outliers : 5] += 100.0
    times = np.arange(1000) * 0.01
    read = Table(Path("data.csv"), {"time": times, "x": values}, {"time": "s", "x": None}, None)
    _, notes = prepare(read, times, Preparation(hampel=Hampel(("x",))))
    rules = [n.rule for n in notes]
    assert ("good-samples-taken-for-outliers" in rules) == noted


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("window", [None, 1.0])
def test_a_record_too_short_for_any_outlier_is_refused(count: int, window: float | None) -> None:
    with refused(
        Code.INVALID_DATA, DataError, match=rf"a record of {count} samples? has no outliers"
    ):
        find_outliers(WAVE[:count], TIMES[:count], Hampel(("x",), window))


def test_a_window_without_neighbours_is_refused() -> None:
    with refused(
        Code.INVALID_DATA, DataError, match=r"fewer than 3 samples, which come every 0\.01 s"
    ):
        find_outliers(WAVE, TIMES, Hampel(("x",), window=0.011))
