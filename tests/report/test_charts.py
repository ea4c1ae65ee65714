from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.estimation.comparisons import Influence, InputSignal, OutputFit, OutputSensitivity
from fmident.estimation.contract import Generation, Iteration, TimeSeriesEstimate
from fmident.estimation.result import EstimationResult
from fmident.report.figures.browser import column_json
from fmident.report.figures.chart import Axis, Chart, Dots, Line, Panel, Segments
from fmident.report.figures.fits import fit_chart, inputs_chart, series_chart
from fmident.report.figures.residuals import diagnostics_chart, histogram_chart
from fmident.report.figures.search import (
    cost_chart,
    generations_chart,
    path_chart,
    population_chart,
    searches,
    starts_chart,
)
from fmident.report.figures.style import short_name, short_names
from fmident.report.figures.uncertainty import (
    forest_chart,
    identifiability_chart,
    sensitivity_chart,
)
from fmident.statistics.identifiability import Identifiability, WeakDirection

MakeResult = Callable[..., EstimationResult]


def column(stored: Any) -> F64:
    """Read a column as the browser does."""
    if isinstance(stored, list):
        return np.array([np.nan if v is None else v for v in stored])
    if "step" in stored:
        return stored["start"] + stored["step"] * np.arange(stored["count"])
    if "f8" in stored:
        return np.frombuffer(base64.b64decode(stored["f8"]), "<f8")
    return np.frombuffer(base64.b64decode(stored["f4"]), "<f4").astype(float) + stored["offset"]


def values(chart: Chart, panel: int, mark: int, key: str = "y") -> F64:
    said = chart.json()
    names = said["panels"][panel]["marks"][mark]["data"][key]
    names = names if isinstance(names, list) else [names]
    return np.sum([column(said["data"][name]) for name in names], axis=0)


@pytest.mark.parametrize("count", [3, 500, 9000])
def test_columns_come_back(count: int) -> None:
    given = 1e6 + np.random.default_rng(1).standard_normal(count)
    given[count // 2] = np.nan
    back = column(json.loads(json.dumps(column_json(given), allow_nan=False)))
    # A small signal about a large value keeps its digits.
    np.testing.assert_allclose(back, given, rtol=0.0, atol=1e-6)


def test_small_costs_are_not_lost_beside_large_ones() -> None:
    given = np.geomspace(1e-12, 1e12, 5000)
    np.testing.assert_allclose(column(column_json(given)), given, rtol=1e-6)


def test_a_regular_time_axis_takes_three_numbers() -> None:
    times = np.arange(100_000) * 1e-3
    assert set(column_json(times, is_place=True)) == {"start", "step", "count"}
    np.testing.assert_allclose(column(column_json(times, is_place=True)), times, atol=1e-9)
    uneven = times.copy()
    uneven[5000] += 1e-5
    np.testing.assert_array_equal(column(column_json(uneven, is_place=True)), uneven)


def test_a_fit_holds_every_sample(make_result: MakeResult) -> None:
    fit = make_result(20_000).fits[0]
    chart = fit_chart(fit)
    np.testing.assert_allclose(values(chart, 0, 0), fit.measured, atol=2e-6)
    np.testing.assert_allclose(values(chart, 0, 1), fit.initial, atol=2e-6)
    np.testing.assert_allclose(values(chart, 0, 2), fit.fitted, atol=2e-6)
    residual = [m["kind"] for m in chart.json()["panels"][1]["marks"]].index("line")
    # Not the difference of two rounded signals: its digits are its own.
    np.testing.assert_allclose(
        values(chart, 1, residual), fit.measured - fit.fitted, rtol=1e-6, atol=1e-9
    )


def test_where_the_fit_moved_most_is_a_jump(make_result: MakeResult) -> None:
    fit = make_result(4000).fits[0]
    moved = replace(fit, initial=np.where(np.arange(4000) // 400 == 7, fit.fitted + 5, fit.fitted))
    ((words, begin, end),) = fit_chart(moved).jumps
    assert words == "largest change"
    assert fit.times[2800] <= begin < end <= fit.times[3200]
    assert not fit_chart(make_result(200).fits[0]).jumps


@pytest.mark.parametrize("field", ["measured", "initial", "fitted", "sigma"])
def test_signals_that_are_all_nan_leave_a_chart(make_result: MakeResult, field: str) -> None:
    fit = make_result().fits[0]
    chart = fit_chart(replace(fit, **{field: np.full_like(fit.times, np.nan)}))
    json.dumps(chart.json(), allow_nan=False)
    if field == "fitted":
        np.testing.assert_allclose(values(chart, 0, 0), fit.measured)


def test_noise_that_varies_is_a_band(make_result: MakeResult) -> None:
    fit = make_result().fits[0]
    varying = replace(fit, sigma=np.linspace(0.1, 0.3, fit.times.size))
    kinds = [m.kind for m in fit_chart(varying).panels[1].marks]
    assert "band" in kinds
    levels = [m.kind for m in fit_chart(fit).panels[1].marks]
    assert levels.count("level") == 3


def test_the_initial_simulation_cannot_flatten_the_others(make_result: MakeResult) -> None:
    fit = make_result().fits[0]
    wild = fit_chart(replace(fit, initial=1e6 * fit.initial))
    assert wild.panels[0].y.high < 100.0


def test_the_histogram_is_a_density(make_result: MakeResult) -> None:
    chart = histogram_chart(make_result(5000).fits)
    assert chart is not None
    left, right, top = (values(chart, 0, 0, key) for key in ("left", "right", "top"))
    assert np.sum((right - left) * top) == pytest.approx(1.0)
    assert histogram_chart(()) is None


def state(number: int, start: float, cost: float) -> Iteration:
    details = {"start": start, "starts": 2.0, "local_cost": cost}
    return Iteration(number, np.zeros(1), min(cost, 5.0), number, 0, 0.0, details)


def test_the_cost_of_each_start_is_a_line_of_its_own(make_result: MakeResult) -> None:
    costs = [(1.0, 9.0), (1.0, 5.0), (2.0, 80.0), (2.0, np.nan), (2.0, 30.0)]
    history = [state(k, start, cost) for k, (start, cost) in enumerate(costs)]
    assert searches(history) == [[9.0, 5.0], [80.0, 30.0]]
    chart = cost_chart(history)
    assert chart is not None
    assert [m.name for m in chart.panels[0].marks] == ["other starts", "best start", "best start"]
    assert chart.panels[0].x.label == "iteration of each start"
    alone = cost_chart(make_result().history)
    assert alone is not None
    assert alone.panels[0].x.label == "iteration"
    assert cost_chart(history[:1]) is None


def test_each_parameter_has_its_path(make_result: MakeResult) -> None:
    chart = path_chart(make_result())
    assert chart is not None
    assert [p.title for p in chart.panels] == ["mass", "friction", "offset"]
    np.testing.assert_array_equal(values(chart, 1, 1), 2.0 * np.arange(5))
    assert {p.x.link for p in chart.panels} == {"iterations"}
    assert path_chart(make_result(history=make_result().history[:1])) is None


def test_starts_are_in_the_order_of_their_costs(make_result: MakeResult) -> None:
    local = [
        {"cost": 12.5, "parameters": [1.0, 2.0, 3.0]},
        {"cost": 2.5, "parameters": [4.0, 5.0, 6.0]},
        {"cost": np.inf, "parameters": [0.0, 0.0, 0.0]},
    ]
    chart = starts_chart(make_result(settings={"local_results": local}))
    assert chart is not None
    np.testing.assert_array_equal(values(chart, 0, 0), [2.5, 12.5])
    np.testing.assert_array_equal(values(chart, 2, 1), [5.0, 2.0])
    assert starts_chart(make_result()) is None


def test_names_cannot_leave_their_element() -> None:
    evil = '</script><script>alert(1)</script>"'
    axis = Axis(0.0, 1.0, evil)
    dots = Dots(np.zeros(1), np.zeros(1), "#000", evil, extra={"who": [evil]})
    html = str(Chart([Panel(axis, axis, [dots])], evil).html())
    assert html.count("</script>") == 1
    assert html.count("<script") == 1
    assert 'aria-label="&lt;/script&gt;' in html


def test_a_column_that_several_marks_use_is_kept_once(make_result: MakeResult) -> None:
    fit: OutputFit = make_result().fits[0]
    panel = Panel(
        Axis(0.0, 1.0), Axis(0.0, 1.0),
        [Line(fit.times, fit.fitted, "#000"), Line(fit.times, fit.initial, "#000")],
    )  # fmt: skip
    assert len(Chart([panel, panel], "").json()["data"]) == 3


def test_residuals_are_compared_with_the_inputs_that_they_follow_most(
    make_result: MakeResult,
) -> None:
    fit = make_result(2000).fits[0]
    rng = np.random.default_rng(4)
    cause, other = rng.standard_normal((2, 2000))
    fit = replace(fit, measured=fit.fitted + 0.2 * cause)
    inputs = {"other": other, "at rest": np.ones(2000), "cause": cause}
    chart = diagnostics_chart(fit, inputs, 1)
    assert chart is not None
    titles = [p.title for p in chart.panels]
    assert titles == [
        "Histogram", "Quantiles", "Autocorrelation", "Spectrum", "With the input cause",
    ]  # fmt: skip
    json.dumps(chart.json(), allow_nan=False)
    uneven = replace(fit, times=fit.times**1.1)
    chart = diagnostics_chart(uneven, {}, 1)
    assert chart is not None
    assert [p.title for p in chart.panels] == titles[:3]
    assert chart.panels[2].x.label == "lag (samples)"


def test_quantiles_of_normal_residuals_lie_on_the_line(make_result: MakeResult) -> None:
    fit = make_result(2000).fits[0]
    noise = np.array([NormalDist().inv_cdf((k + 0.5) / 2000) for k in range(2000)])
    chart = diagnostics_chart(replace(fit, measured=fit.fitted + fit.sigma * noise), {}, 0)
    assert chart is not None
    np.testing.assert_allclose(values(chart, 1, 1, "y"), values(chart, 1, 1, "x"), atol=1e-9)


def test_few_residuals_have_no_diagnostics(make_result: MakeResult) -> None:
    fit = make_result().fits[0]
    assert diagnostics_chart(replace(fit, measured=np.full_like(fit.times, np.nan)), {}, 1) is None


def test_every_vector_has_its_place_and_its_cost(make_result: MakeResult) -> None:
    rng = np.random.default_rng(2)
    costs = np.append(np.inf, rng.lognormal(size=40))
    generations = [Generation.of(rng.standard_normal((41, 3)), costs)]
    free = [e for e in make_result().estimates if e.searched]
    found = population_chart(generations, free)
    assert found is not None
    chart, words = found
    labels = [(p.x.label, p.y.label) for p in chart.panels]
    assert labels == [
        ("mass (kg)", "friction (N.s/m)"),
        ("mass (kg)", "offset (N)"),
        ("friction (N.s/m)", "offset (N)"),
    ]
    assert [m.name for m in chart.panels[0].marks] == ["failed", "simulated", "initial", "result"]
    order = np.argsort(-costs[1:], kind="stable") + 1
    np.testing.assert_allclose(values(chart, 1, 1, "y"), generations[0].points[order, 2])
    np.testing.assert_allclose(values(chart, 1, 1, "cost"), costs[order])
    assert words.startswith("Light: cost")
    assert chart.json() == population_chart(generations, free)[0].json()  # type: ignore[index]
    failed = [Generation.of(np.zeros((2, 3)), np.full(2, np.inf))]
    assert population_chart(failed, free) is None


def test_the_best_of_the_generations_never_gets_worse() -> None:
    costs = [[9.0, 5.0], [np.inf, 7.0], [3.0, np.inf]]
    generations = [Generation.of(np.zeros((2, 1)), np.array(c)) for c in costs]
    chart = generations_chart(generations)
    assert chart is not None
    np.testing.assert_array_equal(values(chart, 0, 2), [5.0, 5.0, 3.0])
    assert generations_chart(generations[:1]) is None
    nothing = [Generation.of(np.zeros((1, 1)), np.array([np.inf]))] * 2
    json.dumps(generations_chart(nothing).json(), allow_nan=False)  # type: ignore[union-attr]


def test_series_of_a_parameter_of_another_experiment_are_left_empty() -> None:
    times = np.linspace(0.0, 1.0, 200)
    both = np.column_stack([np.ones(200), np.full(200, np.nan)])
    flags = np.zeros(200, dtype=np.uint8)
    series = TimeSeriesEstimate("cycle", ("k", "d"), ("N/m", None), times, both, 0.1 * both, flags)
    chart = series_chart(series, np.array([1.0, 2.0]))
    json.dumps(chart.json(), allow_nan=False)
    assert [p.y.label for p in chart.panels] == ["k (N/m)", "d"]
    # With the time axes of the fits of this experiment.
    assert {p.x.link for p in chart.panels} == {"time of cycle"}
    low, high = chart.panels[1].y.low, chart.panels[1].y.high
    assert low < 2.0 < high


def marks_of(chart: Chart, panel: int) -> dict[str, Any]:
    return {m.name: m for m in chart.panels[panel].marks}


def test_the_forest_relates_everything_to_the_estimates(make_result: MakeResult) -> None:
    result = make_result()
    chart = forest_chart(result)
    assert chart is not None
    assert [label for _, label in chart.panels[0].y.ticks] == ["mass", "friction", "offset"]
    marks = marks_of(chart, 0)
    half = [100.0 * 1.96 * e.standard_error / abs(e.value) for e in result.estimates[:3]]
    np.testing.assert_allclose(marks["95 % interval"].x1, half)
    np.testing.assert_allclose(marks["95 % interval"].x0, np.negative(half))
    # 1 instead of -3.16 is more, by 132 % of its magnitude.
    assert marks_of(chart, 1)["initial"].x[2] == pytest.approx(100.0 * (1.0 + 3.1648) / 3.1648)
    assert chart.panels[0].x.high == pytest.approx(1.15 * max(half))
    assert chart.panels[1].x.high > marks_of(chart, 1)["initial"].x[2]
    json.dumps(chart.json(), allow_nan=False)


def test_parameters_without_a_finite_interval_are_seen(make_result: MakeResult) -> None:
    first, second, *others = make_result().estimates
    endless = replace(first, interval_95=(-np.inf, np.inf), standard_error=np.nan)
    none = replace(second, interval_95=(np.nan, np.nan), at_bound=True)
    chart = forest_chart(make_result(estimates=(endless, none, *others)))
    assert chart is not None
    marks = marks_of(chart, 1)
    assert marks["no finite interval"].y0.tolist() == [3.0]
    assert marks["no finite interval"].x1[0] == chart.panels[1].x.high
    assert marks["95 % interval"].y0.tolist() == [1.0]
    assert marks["initial"].extra["95 % interval"][:2] == ["-∞ … ∞", "n/a … n/a"]
    json.dumps(chart.json(), allow_nan=False)


def test_the_interval_of_a_parameter_on_its_bound_is_seen(make_result: MakeResult) -> None:
    first, *others = make_result().estimates
    one_sided = (first.value, 1.001 * first.value)
    held = replace(first, interval_95=one_sided, standard_error=np.nan, at_bound=True, held=True)
    chart = forest_chart(make_result(estimates=(held, *others)))
    assert chart is not None
    for panel in (0, 1):
        marks = marks_of(chart, panel)
        assert "no finite interval" not in marks
        assert marks["95 % interval"].y0[0] == 3.0
        assert marks["95 % interval"].x1[0] == pytest.approx(0.1)


def test_a_far_bound_is_cut_off_with_an_arrow(make_result: MakeResult) -> None:
    first, *others = make_result().estimates
    far = replace(first, upper=400.0 * first.value)
    chart = forest_chart(make_result(estimates=(far, *others)))
    assert chart is not None
    axis, marks = chart.panels[1].x, marks_of(chart, 1)
    assert axis.high < 1000.0
    assert marks["bounds"].x1[0] == axis.high
    assert (marks["beyond the axis"].y.tolist(), marks["beyond the axis"].marker) == (
        [3.0],
        "right",
    )
    assert "beyond the axis" not in marks_of(chart, 0)


def test_an_estimate_of_zero_has_no_relative_interval(make_result: MakeResult) -> None:
    zero = tuple(replace(e, value=0.0) for e in make_result().estimates)
    assert forest_chart(make_result(estimates=zero)) is None


def test_combinations_that_the_data_do_not_determine_stand_out() -> None:
    shares = {"a": 0.8, "b": -0.6, "c": 0.01}
    weakest = tuple(WeakDirection(value, value > 1e-6, shares) for value in (1e-9, 0.02, 0.7))
    judged = Identifiability(np.array([3.0, 1.0, 1e-9]), 2, "2 of 3", weakest=weakest)
    chart = identifiability_chart(judged)
    assert chart is not None
    marks = marks_of(chart, 0)
    assert marks["determined"].y.tolist() == [3.0, 1.0]
    assert marks["not determined"].x.tolist() == [3.0]
    assert chart.panels[0].y.log
    # What is known as well as each parameter alone needs no look.
    assert [p.title for p in chart.panels[1:]] == ["Not determined", "Singular value 0.02"]
    bars = chart.panels[1].marks[0]
    assert isinstance(bars, Segments)
    assert bars.x1.tolist() == [0.8, -0.6]
    assert [label for _, label in chart.panels[1].y.ticks] == ["a", "b"]
    json.dumps(chart.json(), allow_nan=False)
    assert identifiability_chart(Identifiability(np.array([1.0]), 1, "one")) is None


def test_of_many_parameters_few_sensitivities_are_seen_at_first() -> None:
    times = np.linspace(0.0, 1.0, 50)
    names = tuple(f"p{k}" for k in range(40))
    shares = np.linspace(0.0, 0.9, 40)
    values = np.sqrt(shares / 50) * np.ones((50, 1))
    influences = {n: Influence(float(share), 1.0) for n, share in zip(names, shares, strict=True)}
    one = OutputSensitivity("cycle", "y", influences, times, values)
    chart = sensitivity_chart(one)
    assert chart is not None
    lines = [m for m in chart.panels[0].marks if isinstance(m, Line)]
    assert [m.name for m in lines] == [*names[1:]], "the first one is invisible"
    assert [m.name for m in lines if not m.hidden] == [*names[32:]]
    hidden = [m.get("hidden") for m in chart.json()["panels"][0]["marks"]]
    assert hidden.count(True) == 31
    nothing = replace(
        one, influences=dict.fromkeys(names, Influence(0.0, 1.0)), values=np.zeros((50, 40))
    )
    assert sensitivity_chart(nothing) is None


def test_held_inputs_are_steps() -> None:
    times, values = np.array([0.0, 1.0, 3.0]), np.array([5.0, 7.0, 2.0])
    held = InputSignal("cycle", "u", "V", times, values, held=True)
    chart = inputs_chart([held, replace(held, name="v", held=False)])
    steps, line = (p.marks[0] for p in chart.panels)
    assert isinstance(steps, Line)
    assert isinstance(line, Line)
    assert np.asarray(steps.x).tolist() == [0.0, 1.0, 1.0, 3.0, 3.0]
    assert np.asarray(steps.y).tolist() == [5.0, 5.0, 7.0, 7.0, 2.0]
    assert np.asarray(line.y).tolist() == [5.0, 7.0, 2.0]


def test_long_names_are_told_apart_by_their_ends() -> None:
    long = "drive.gearbox.secondStage.planetary"
    assert short_names(["a", "b.c"]) == ["a", "b.c"]
    assert short_names([f"{long}.mu[{k}]" for k in range(2)]) == ["…mu[0]", "…mu[1]"]
    shown = short_names([f"{long}.mu", f"{long}.k", "drive.k"])
    assert shown == ["…gearbox…ge.planetary.mu", "…gearbox…age.planetary.k", "…k"]
    alone = short_name("aVeryLongNameWithoutAnyDotInItThatGoesOn[3]", 24)
    assert (len(alone), alone[:8], alone[-15:]) == (24, "aVeryLon", "tInItThatGoesOn[3]"[-15:])
