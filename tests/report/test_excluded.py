"""Samples that do not count: stored beside the result, and marked wherever a fit is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from fmident.errors import Code, EstimationError
from fmident.estimation.comparisons import ExcludedSamples, OutputFit, Validation
from fmident.estimation.result import EstimationResult
from fmident.report.estimate import CsvReporter, JsonReporter
from fmident.report.figures.drawing import picture
from fmident.report.figures.fits import excluded_dots, fit_chart
from fmident.report.result_json import read_result
from fmident.report.tables import with_signals

from ..refused import refused
from .conftest import section

MakeResult = Callable[..., EstimationResult]

GONE = ExcludedSamples("abs(v) < 0.01", 2, False, np.array([30.0, 31.0]), np.array([1.0, 2.0]))
FAR = ExcludedSamples(
    "Hampel filter, 7 samples, 3 sigma", 1, True, np.array([5.0]), np.array([9e6])
)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def result(make_result: MakeResult) -> EstimationResult:
    """Return one with exclusions in its second output and in an experiment for validation."""
    made = make_result()
    first, second = made.fits
    nothing = ExcludedSamples("time > 100", 0)
    second = replace(second, excluded=(GONE, nothing, FAR))
    later = Validation((replace(first, experiment="later", excluded=(GONE,)),), None)
    return replace(made, fits=(first, second), validation=later)


def same(a: OutputFit, b: OutputFit) -> None:
    assert [(e.reason, e.count, e.replaced) for e in a.excluded] == [
        (e.reason, e.count, e.replaced) for e in b.excluded
    ]
    for one, other in zip(a.excluded, b.excluded, strict=True):
        np.testing.assert_allclose(one.times, other.times, rtol=1e-8)
        np.testing.assert_allclose(one.values, other.values, rtol=1e-8)


@pytest.fixture
def folder(result: EstimationResult, tmp_path: Path) -> Path:
    problem: Any = SimpleNamespace(source=None, fmu=Path("delta.fmu"))
    for reporter in (JsonReporter(), CsvReporter()):
        reporter.write(result, problem, tmp_path)
    return tmp_path


def test_they_come_back_from_the_result_folder(result: EstimationResult, folder: Path) -> None:
    stored = read_result(folder).result
    assert [str(e) for e in stored.fits[1].excluded] == [
        "2 excluded (abs(v) < 0.01)",
        "0 excluded (time > 100)",
        "1 replaced by the median (Hampel filter, 7 samples, 3 sigma)",
    ]
    back = with_signals(stored, folder)
    assert back.validation is not None
    assert result.validation is not None
    for a, b in zip(
        (*back.fits, *back.validation.fits), (*result.fits, *result.validation.fits), strict=True
    ):
        same(a, b)


def test_a_result_of_an_earlier_version_has_none(folder: Path) -> None:
    file = folder / "result.json"
    content = json.loads(file.read_text())
    for experiment in (*content["experiments"], *content["validation"]["experiments"]):
        for output in experiment["outputs"].values():
            del output["excluded"]
    file.write_text(json.dumps(content))
    (folder / "excluded.csv").unlink()
    back = with_signals(read_result(folder).result, folder)
    assert [f.excluded for f in back.fits] == [(), ()]


def test_a_table_that_lacks_a_reason_is_refused(folder: Path) -> None:
    (folder / "excluded.csv").write_text("experiment,output,reason,time,measured\n")
    with refused(Code.UNUSABLE_FILE, EstimationError, match=r"excluded\.csv"):
        with_signals(read_result(folder).result, folder)


def test_no_table_is_written_without_any(make_result: MakeResult, tmp_path: Path) -> None:
    problem: Any = SimpleNamespace(source=None, fmu=Path("delta.fmu"))
    CsvReporter().write(make_result(), problem, tmp_path)
    assert not (tmp_path / "excluded.csv").exists()


def test_the_chart_marks_them_and_says_why(result: EstimationResult) -> None:
    marks = fit_chart(result.fits[1]).json()["panels"][0]["marks"]
    (dots,) = [m for m in marks if m["kind"] == "dots"]
    assert dots["name"] == "excluded, 1 beyond the axis"
    assert dots["texts"]["reason"] == [
        "Hampel filter, 7 samples, 3 sigma, replaced by the median",
        "abs(v) < 0.01",
        "abs(v) < 0.01",
    ]
    assert [label for label, _, _ in dots["hover"]] == ["excluded", "time (s)", "measured"]
    plain = fit_chart(result.fits[0]).json()["panels"][0]["marks"]
    assert [m["kind"] for m in plain] == ["line", "line", "line"]


def test_a_far_outlier_does_not_flatten_the_rest(result: EstimationResult) -> None:
    axis = fit_chart(result.fits[1]).panels[0].y
    known = result.fits[1].measured[np.isfinite(result.fits[1].measured)]
    assert axis.high - axis.low < 4.0 * np.ptp(known)


def test_of_very_many_the_extremes_are_drawn(result: EstimationResult) -> None:
    times = np.linspace(0.0, 60.0, 300_000)
    values = np.sin(times)
    values[123_456] = 7.0
    many = ExcludedSamples("state == 0", times.size, False, times, values)
    marks = excluded_dots(replace(result.fits[0], excluded=(many,)))
    assert marks.x.size <= 2000
    assert (marks.y.max(), marks.y.min()) == (7.0, values.min())
    assert set(marks.extra["reason"]) == {"state == 0"}


def test_the_page_says_how_many(result: EstimationResult) -> None:
    assert "2 excluded (abs(v) &lt; 0.01)" in section(result, "Measured against simulated")
    assert "Samples: 2 excluded (abs(v) &lt; 0.01)." in section(result, "Validation")


@pytest.mark.draws
def test_the_static_picture_has_them_in_its_legend(result: EstimationResult) -> None:
    assert b"excluded, 1 beyond the axis" in picture(fit_chart(result.fits[1]))
    assert b"excluded" not in picture(fit_chart(result.fits[0]))


def test_axes_of_matplotlib_show_them(result: EstimationResult) -> None:
    first, second = result.plot_fit()
    assert "excluded" not in "".join(str(x.get_label()) for x in first.get_lines())
    (line,) = [x for x in second.get_lines() if "excluded" in str(x.get_label())]
    np.testing.assert_array_equal(line.get_xdata(), [5.0, 30.0, 31.0])
    np.testing.assert_array_equal(line.get_ydata(), [9e6, 1.0, 2.0])
    names = [text.get_text() for text in first.get_legend().get_texts()]
    assert names == ["measured", "initial", "fitted", "excluded, 1 beyond the axis"]
