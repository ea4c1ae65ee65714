"""Estimates over time in the result folder and in the report."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ElementTree

import numpy as np

from fmident.estimation import TimeSeriesEstimate
from fmident.report.figures.drawing import picture
from fmident.report.figures.fits import series_chart
from fmident.report.tables import series_table


def series(count: int = 4000) -> TimeSeriesEstimate:
    times = np.linspace(0.0, 2.0, count)
    flags = np.zeros(count, dtype=np.uint8)
    flags[:100] = 1
    flags[2000:2010] = 2
    values = np.column_stack([400.0 + np.sin(times), 0.05 + 0.0 * times])
    errors = np.full((count, 2), 0.5)
    values[flags > 0] = errors[flags > 0] = np.nan
    return TimeSeriesEstimate("sine", ("k", "d"), ("N/m", None), times, values, errors, flags)


def test_the_table() -> None:
    table = series_table([series(), series()])
    assert list(table.columns) == [
        "experiment", "time", "flag", "k", "k standard error", "d", "d standard error",
    ]  # fmt: skip
    assert len(table) == 8000
    assert table["flag"].iloc[[0, 150, 2005]].tolist() == ["filling", "", "singular"]
    assert np.isnan(table["k"].iloc[0])
    assert series_table([]).empty


def series_plot(found: TimeSeriesEstimate, final: np.ndarray) -> bytes:
    return picture(series_chart(found, final))


def test_the_plot_is_a_picture_of_each_parameter() -> None:
    drawn = series_plot(series(), np.array([400.0, 0.05]))
    root = ElementTree.fromstring(drawn)
    assert root.tag.endswith("svg")
    text = drawn.decode()
    assert "k (N/m)" in text
    assert ">d<" in text
    assert series_plot(series(), np.array([400.0, 0.05])) == drawn


def test_a_series_without_any_estimate_can_be_drawn() -> None:
    empty = series()
    empty.values[:] = np.nan
    empty.flags[:] = 1
    assert b"svg" in series_plot(empty, np.array([400.0, 0.05]))


def test_a_parameter_of_another_experiment_is_left_empty() -> None:
    made = series()
    values = made.values.copy()
    values[:, 1] = np.nan
    drawn = series_plot(dataclasses.replace(made, values=values), np.ones(len(made.names)))
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
