from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fmident.estimation.result import EstimationResult
from fmident.report.charts.envelopes import extremes
from fmident.report.charts.signals.fits import fit_chart
from fmident.report.page import render

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
    content = fit_chart(fit, link="").json(0.1)
    shown, count = content["envelope"]
    marks = {
        m["name"]: m["data"] for p in content["panels"] for m in p["marks"] if "x" in m["data"]
    }
    assert count == 300_000
    assert shown <= 0.1 * 600_000 / 5 + 21  # a gap
    assert {m["x"] for m in marks.values()} == {marks["fitted"]["x"]}
    places = np.searchsorted(fit.times, column(content["data"][marks["fitted"]["x"]]))
    fitted = column(content["data"][marks["fitted"]["y"]])
    np.testing.assert_allclose(fitted, fit.fitted[places], atol=2e-6)


def test_a_page_of_long_signals_is_below_five_megabytes(make_result: MakeResult) -> None:
    one = make_result(50_000)
    fits = tuple(replace(one.fits[0], name=f"x{k}") for k in range(20))
    assert len(render(replace(one, fits=fits), title="Oscillator", version="1")) < 5_000_000
