from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fmident.estimation.comparisons import InputSignal
from fmident.estimation.result import EstimationResult
from fmident.report.estimate import ESTIMATE
from fmident.report.figures.browser import extremes
from fmident.report.figures.chart import Band, Lines, long_band, most_samples
from fmident.report.figures.fits import fit_chart

from .test_charts import column

MakeResult = Callable[..., EstimationResult]


@pytest.fixture
def noise() -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(3).standard_normal(200_000)


def test_extremes_of_every_stretch_are_kept(noise: Any) -> None:
    places = extremes([noise], 20_000)
    assert places.size <= 20_000
    shown = np.full(noise.size, np.nan)
    shown[places] = noise[places]
    for part, whole in zip(np.split(shown, 500), np.split(noise, 500), strict=True):
        assert np.nanmax(part) == pytest.approx(np.max(whole), abs=0.6)
    for part, whole in zip(np.split(shown, 20), np.split(noise, 20), strict=True):
        assert (np.nanmin(part), np.nanmax(part)) == (np.min(whole), np.max(whole))


def test_a_single_peak_of_either_signal_is_kept(noise: Any) -> None:
    other = np.zeros(noise.size)
    other[123_457] = 1e-3
    assert 123_457 in extremes([noise, other], 5000)


def test_a_gap_stays_a_gap(noise: Any) -> None:
    noise[70_000:70_100] = np.nan
    noise[90_000:90_010] = np.nan
    places = extremes([noise], 5000)
    missing = places[np.isnan(noise[places])]
    np.testing.assert_array_equal(missing, np.arange(70_000, 70_021))


def test_short_signals_are_drawn_whole(noise: Any) -> None:
    np.testing.assert_array_equal(extremes([noise[:500]], 500), np.arange(500))


def test_signals_of_a_fit_are_drawn_at_the_same_samples(make_result: MakeResult) -> None:
    fit = make_result(300_000).fits[0]
    content = fit_chart(fit).json(12_000)
    shown, count = content["envelope"]
    marks = {
        m["name"]: m["data"] for p in content["panels"] for m in p["marks"] if "x" in m["data"]
    }
    assert count == 300_000
    assert shown <= 12_000
    assert {m["x"] for m in marks.values()} == {marks["fitted"]["x"]}
    places = np.searchsorted(fit.times, column(content["data"][marks["fitted"]["x"]]))
    fitted = column(content["data"][marks["fitted"]["y"]])
    np.testing.assert_allclose(fitted, fit.fitted[places], atol=2e-6)


def test_the_extremes_of_a_page_are_exact(make_result: MakeResult) -> None:
    fit = make_result(1_000_000).fits[0]
    content = fit_chart(fit).json(70_000)
    residual = next(m for m in content["panels"][1]["marks"] if m["name"] == "residual")
    times = column(content["data"][residual["data"]["x"]])
    shown = column(content["data"][residual["data"]["y"]])
    whole = fit.measured - fit.fitted
    for part in np.array_split(np.arange(fit.times.size), 100):
        if not np.isfinite(whole[part]).all():
            continue
        inside = shown[(times >= fit.times[part[0]]) & (times <= fit.times[part[-1]])]
        assert np.nanmin(inside) == np.float32(np.min(whole[part]))
        assert np.nanmax(inside) == np.float32(np.max(whole[part]))


def test_many_gaps_take_a_part_of_the_samples(noise: Any) -> None:
    for begin in range(100, noise.size - 100, 300):
        noise[begin : begin + 60] = np.nan
    places = extremes([noise, noise.copy()], 2000)
    assert places.size <= 2000
    assert np.isnan(noise[places]).sum() == 20 * 21


def test_a_long_band_keeps_its_extremes(noise: Any) -> None:
    low, high = noise - 1.0, noise + 1.0
    high[123_457] = 50.0
    times = np.arange(noise.size, dtype=np.float64)
    shown = long_band(Band(times, low, high, "#000"))
    assert shown.x.size <= 2000
    assert (np.min(shown.low), np.max(shown.high)) == (np.min(low), 50.0)
    assert shown.high[shown.x == 123_457.0] == 50.0


def test_lines_that_are_too_long_share_what_the_short_ones_leave() -> None:
    lines = [Lines(1000, 3), Lines(10_000, 3), Lines(100_000, 3)]
    assert most_samples(lines, 600_000) == 100_000
    assert most_samples(lines, 255_000) == 40_000
    assert most_samples([Lines(10_000, 3), Lines(10_000, 1)], 8000) == 1000
    assert most_samples([]) == 1000


def test_regular_places_take_no_room_where_all_samples_are_drawn() -> None:
    lines = [Lines(1000, 3, regular=True), Lines(2000, 3, regular=True)]
    assert most_samples(lines, 9000) == 2000
    assert most_samples(lines, 8999) == 1199


def test_pages_of_short_signals_have_every_sample(make_result: MakeResult) -> None:
    one = make_result(3000)
    fits = tuple(replace(one.fits[0], name=f"x{k}") for k in range(60))
    assert '"envelope":[' not in ESTIMATE.render(replace(one, fits=fits), "x", "1")


def test_a_long_signal_among_short_ones_has_what_they_leave(make_result: MakeResult) -> None:
    one, long = make_result(500), make_result(1_000_000)
    fits = (long.fits[0], *(replace(one.fits[0], name=f"x{k}") for k in range(20)))
    page = ESTIMATE.render(replace(one, fits=fits), "x", "1")
    ((shown, count),) = re.findall(r'"envelope":\[(\d+),(\d+)\]', page)
    assert int(count) == 1_000_000
    assert int(shown) > 90_000
    assert len(page) < 5_000_000


def test_a_page_of_many_long_signals_is_below_five_megabytes(make_result: MakeResult) -> None:
    one = make_result(20_000)
    times = np.linspace(0.0, 62.278, 4000)
    inputs = tuple(
        InputSignal(f"e{e}", f"u{k}", "V", times, np.sin(k * times), held=True)
        for e in range(24)
        for k in range(16)
    )
    fits = tuple(
        replace(one.fits[0], name=f"x{k}", sigma=0.2 + 0.1 * np.sin(one.fits[0].times) ** 2)
        for k in range(60)
    )
    page = ESTIMATE.render(replace(one, fits=fits, inputs=inputs), "x", "1")
    assert len(page) < 5_000_000
