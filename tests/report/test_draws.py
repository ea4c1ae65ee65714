"""Draws from the posterior: on the page, in result.json and draws.csv, and read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from fmident.errors import EstimationError
from fmident.estimation import EstimationResult
from fmident.estimation.comparisons import DrawnParameter, DrawnPosterior
from fmident.problem import Problem
from fmident.report.estimate import ESTIMATE, CsvReporter
from fmident.report.figures.draws import pairs_chart, trace_chart
from fmident.report.result_json import as_json, read_result
from fmident.report.tables import with_signals

from .conftest import section

Make = Callable[..., EstimationResult]

NAMES = ("mass", "friction", "offset")
VALUES = np.random.default_rng(2).normal(size=(4, 50, 3)) * [0.1, 1.1, 0.04] + [95.1, 203.5, -3.16]
DRAWS = DrawnPosterior(
    {n: DrawnParameter(v, v, 0.1, 180.0 + j, 160.0, 1.004) for j, (n, v) in
     enumerate(zip(NAMES, VALUES.reshape(-1, 3).mean(axis=0).tolist(), strict=True))},
    200,
    VALUES,
    -0.5 * (VALUES**2).sum(axis=2),
)  # fmt: skip


def test_their_course_and_their_pairs_are_drawn(make_result: Make) -> None:
    result = make_result(draws=DRAWS)
    panels = result.plot_draws()
    assert panels.shape == (3,)
    (axes,) = result.plot_draws("friction")
    first = axes.get_lines()[0]
    np.testing.assert_array_equal(first.get_xdata(), np.arange(1, 51))
    np.testing.assert_array_equal(first.get_ydata(), VALUES[0, :, 1])
    pairs = result.plot_corner().reshape(3, 3)
    np.testing.assert_array_equal(
        pairs[2, 0].get_lines()[0].get_data(), VALUES.reshape(-1, 3)[:, [0, 2]].T
    )
    plt.close("all")
    with pytest.raises(EstimationError, match="does not draw") as caught:
        make_result().plot_draws()
    assert "estimator.name=posterior" in (caught.value.hint or "")
    without = replace(DRAWS, values=np.empty((0, 0, 0)), densities=np.empty((0, 0)))
    with pytest.raises(EstimationError, match="no draws") as caught:
        make_result(draws=without).plot_corner()
    assert "draws.csv" in (caught.value.hint or "")


def test_they_are_read_back(make_result: Make, problem: Problem, tmp_path: Path) -> None:
    result = make_result(draws=DRAWS)
    (tmp_path / "result.json").write_text(json.dumps(as_json(result, "1")))
    CsvReporter().write(result, problem, tmp_path)
    numbers = read_result(tmp_path).result.draws
    assert numbers is not None
    assert numbers.parameters == DRAWS.parameters
    assert numbers.values.size == 0
    found = with_signals(read_result(tmp_path).result, tmp_path).draws
    assert found is not None
    np.testing.assert_allclose(found.values, VALUES, rtol=1e-11)
    np.testing.assert_allclose(found.densities, DRAWS.densities, rtol=1e-11)


def test_the_page_has_the_table_the_courses_and_the_pairs(make_result: Make) -> None:
    result = make_result(draws=DRAWS)
    page = section(result, "Posterior")
    assert "200 draws from the posterior" in page
    assert page.count("<figure") == 2
    trace, pairs = trace_chart(result), pairs_chart(result)
    assert trace is not None
    assert pairs is not None
    assert [len(p.marks) for p in trace.panels] == [5, 5, 5]  # four chains and the median
    assert len(pairs.panels) == 3 + 3
    assert section(make_result(), "Posterior") == ""


def test_the_terminal_says_how_well_they_agree(make_result: Make) -> None:
    text = ESTIMATE.text(make_result(draws=DRAWS))
    assert "R-hat" in text
    assert "1.004" in text
