from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.estimation.comparisons import ExcludedSamples, Influence, OutputFit
from fmident.estimation.result import EstimationResult
from fmident.report.estimate import ESTIMATE
from fmident.words import plain

from .browser import Seen, open_page, started
from .conftest import with_everything

pytestmark = pytest.mark.slow  # they start a browser

MakeResult = Callable[..., EstimationResult]
Opened = Callable[..., AbstractContextManager[Seen]]

TIME = "Bokeh.documents.flatMap(d => d.roots()).find(f => f.name === 'time of cycle')"
"""The plot of the first output, once it is drawn."""


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    """Return what opens pages in one browser; Playwright's loop must not outlive these tests."""
    with started() as browser:
        yield partial(open_page, browser)


@pytest.fixture
def report(make_result: MakeResult, tmp_path: Path) -> Callable[..., Path]:
    """Return what writes the page of a result."""

    def write(result: EstimationResult | None = None) -> Path:
        path = tmp_path / "report.html"
        page = ESTIMATE.render(result or make_result(), "delta", "1")
        path.write_text(page, "utf-8")
        return path

    return write


def spans(seen: Seen) -> list[list[float]]:
    """Return what the time axes show."""
    found: list[list[float]] = seen.page.evaluate(
        "Bokeh.documents.flatMap(d => d.roots()).filter(f => f.name === 'time of cycle')"
        ".map(f => [f.x_range.start, f.x_range.end])"
    )
    return found


def spans_in(seen: Seen, chart: Any) -> list[list[float]]:
    """Return what the time axes of one chart show."""
    found: list[list[float]] = chart.evaluate(
        """chart => {
          const all = Bokeh.documents.flatMap(d => d.roots())
          const box = chart.getBoundingClientRect()
          return all.filter(f => f.name === 'time of cycle').filter(f => {
            const own = Bokeh.index.find_one(f).el.getBoundingClientRect()
            return own.top >= box.top && own.bottom <= box.bottom
          }).map(f => [f.x_range.start, f.x_range.end])
        }"""
    )
    return found


def drag(seen: Seen, box: dict[str, float], begin: float, end: float) -> None:
    """Draw a frame over a part of a plot's width."""
    mouse = seen.page.mouse
    mouse.move(box["x"] + begin * box["width"], box["y"] + 0.2 * box["height"])
    mouse.down()
    mouse.move(box["x"] + end * box["width"], box["y"] + 0.6 * box["height"], steps=4)
    mouse.up()


def settled(seen: Seen, panel: Any) -> dict[str, float]:
    """Return where a plot is, once it stays there: plots above it may still be drawn."""
    box: dict[str, float] = panel.bounding_box()
    for _ in range(50):
        seen.page.wait_for_timeout(200)
        before, box = box, panel.bounding_box()
        if box == before:
            break
    return box


def picture(seen: Seen, figure: Any) -> bytes:
    seen.page.mouse.move(1, 1)
    drawn: bytes = figure.locator(".panels").screenshot()
    return drawn


@pytest.mark.each_time("1200-light", "400-dark")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 400])
def test_nothing_is_asked_for_and_the_policy_is_kept(
    opened: Opened, report: Callable[..., Path], make_result: MakeResult, scheme: str, width: int
) -> None:
    path = report(with_everything(make_result()))
    size = {"width": width, "height": 900}
    with opened(path, color_scheme=scheme, viewport=size) as seen:
        for number in range(seen.page.locator("figure.chart").count()):
            seen.chart(number)
        assert seen.requests == [path.as_uri()]
        assert seen.violations() == []
        assert seen.complaints == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_wide_table_of_the_run_scrolls_by_itself(
    opened: Opened, report: Callable[..., Path], make_result: MakeResult
) -> None:
    local = [
        {"start": k, "parameters": [1.23456789e5, 2.3456789e-5, 3.456789012], "cost": 12.5 + k,
         "status": "converged", "iterations": 12}
        for k in range(3)
    ]  # fmt: skip
    path = report(make_result(settings={"solver": "ceres", "local_results": local}))
    with opened(path, viewport={"width": 390, "height": 900}) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert seen.page.evaluate(
            "[...document.querySelectorAll('dd .scroll')].some(e => e.scrollWidth > e.clientWidth)"
        )


def test_scripts_that_the_policy_does_not_name_are_refused(
    opened: Opened, report: Callable[..., Path]
) -> None:
    with opened(report()) as seen:
        seen.chart(0)
        seen.page.evaluate(
            "() => { const s = document.createElement('script'); s.textContent = 'window.bad = 1';"
            " document.body.append(s) }"
        )
        assert seen.page.evaluate("window.bad") is None
        assert seen.violations() == ["script-src-elem inline"]


def test_a_frame_zooms_all_outputs_and_whole_brings_them_back(
    opened: Opened,
    report: Callable[..., Path],
) -> None:
    with opened(report()) as seen:
        first, second = seen.chart(1), seen.chart(2)
        before = picture(seen, second)
        first.evaluate("e => e.scrollIntoView()")
        drag(seen, settled(seen, first.locator(".panel").first), 0.3, 0.5)
        seen.page.wait_for_function(f"() => {TIME}.x_range.start > 1")
        shown = spans(seen)
        assert len(shown) == 4
        assert len({tuple(s) for s in shown}) == 1
        begin, end = shown[0]
        assert 8.0 < begin < 20.0 < end < 36.0
        assert picture(seen, second) != before
        first.get_by_role("button", name="show all").click()
        assert {tuple(s) for s in spans(seen)} == {(0.0, 62.278)}


def test_inputs_and_sensitivities_are_zoomed_with_the_outputs(
    opened: Opened, report: Callable[..., Path], make_result: MakeResult
) -> None:
    with opened(report(with_everything(make_result()))) as seen:
        others = ["Inputs of cycle", "Sensitivities of tau[1]", "Sensitivities of tau[2]"]
        before = [spans_in(seen, seen.chart_of(name)) for name in others]
        assert {tuple(s) for chart in before for s in chart} == {(0.0, 62.278)}
        assert [len(chart) for chart in before] == [2, 1, 1]
        first = seen.chart_of("tau[1] of cycle")
        drag(seen, settled(seen, first.locator(".panel").first), 0.3, 0.5)
        every = TIME.replace(".find", ".filter")
        seen.page.wait_for_function(f"() => {every}.some(f => f.x_range.start > 1)")
        (zoomed,) = {tuple(s) for s in spans_in(seen, first)}
        for name in others:
            chart = seen.chart_of(name)
            seen.page.wait_for_function(
                f"([low]) => {every}.filter(f => f.x_range.start === low).length >= 4", arg=zoomed
            )
            assert {tuple(s) for s in spans_in(seen, chart)} == {zoomed}
        assert seen.complaints == []


def test_hidden_lines_are_shown_by_their_names(
    opened: Opened, report: Callable[..., Path], make_result: MakeResult
) -> None:
    result = with_everything(make_result())
    (one, *_) = result.sensitivities
    names = tuple(f"p{k}" for k in range(10))
    wide = replace(
        one,
        influences={name: Influence((k + 1) / 100.0, 1.0) for k, name in enumerate(names)},
        values=np.repeat(one.values[:, :1], 10, axis=1) * np.arange(1, 11),
    )
    with opened(report(replace(result, sensitivities=(wide,)))) as seen:
        chart = seen.chart_of("Sensitivities of tau[1]")
        pressed = [
            seen.legend(chart)
            .get_by_role("button", name=n, exact=True)
            .get_attribute("aria-pressed")
            for n in names
        ]
        assert pressed == 2 * ["false"] + 8 * ["true"]
        before = picture(seen, chart)
        seen.legend(chart).get_by_role("button", name="p0", exact=True).click()
        assert picture(seen, chart) != before


def test_the_pointer_tells_the_sample_of_every_output(
    opened: Opened, report: Callable[..., Path], make_result: MakeResult
) -> None:
    result = make_result()
    with opened(report(result)) as seen:
        second, first = seen.chart(2), seen.chart(1)
        box = settled(seen, first.locator(".panel").first)
        seen.page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
        place = first.locator(".reading")
        seen.page.wait_for_function("e => e.textContent", arg=place.element_handle())
        time = float(place.inner_text().split(" · ")[0].removeprefix("time (s) "))
        fits = result.fits
        nearest = int(np.argmin(np.abs(fits[0].times - time)))
        assert fits[0].times[nearest] == pytest.approx(time, rel=1e-6)
        for chart, fit in zip((first, second), fits, strict=True):
            _, *parts = chart.locator(".reading").inner_text().split(" · ")
            values = dict(part.rsplit(" ", 1) for part in parts)
            assert float(values["measured"]) == pytest.approx(fit.measured[nearest], rel=1e-4)
        seen.page.mouse.move(1, 1)
        seen.page.wait_for_function("e => !e.textContent", arg=place.element_handle())


def test_charts_of_a_section_share_a_legend(opened: Opened, report: Callable[..., Path]) -> None:
    with opened(report()) as seen:
        first, second = seen.chart(1), seen.chart(2)
        assert seen.legend(first).count() == 1
        before = picture(seen, second)
        seen.legend(first).get_by_role("button", name="fitted").click()
        assert picture(seen, second) != before


def test_the_legend_hides_and_shows_a_line(opened: Opened, report: Callable[..., Path]) -> None:
    with opened(report()) as seen:
        chart = seen.chart(1)
        before = picture(seen, chart)
        button = seen.legend(chart).get_by_role("button", name="fitted")
        button.click()
        assert button.get_attribute("aria-pressed") == "false"
        assert picture(seen, chart) != before
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        assert picture(seen, chart) == before


@pytest.mark.parametrize(
    # With a margin of a fifth on both sides.
    ("count", "fewest", "most"),
    [(100_000, 28, 31), (1_000_000, 10, 100)],
    ids=["every sample", "envelope"],
)
def test_no_peak_of_long_signals_is_lost_and_zooming_shows_more(
    opened: Opened,
    report: Callable[..., Path],
    make_result: MakeResult,
    count: int,
    fewest: int,
    most: int,
) -> None:
    where = 654_321 * count // 1_000_000
    times = np.linspace(0.0, 100.0, count)
    fitted = np.sin(times)
    measured = fitted.copy()
    measured[where] = 50.0
    fit = OutputFit(
        "cycle", "y", "m", times, measured, 0.9 * fitted, fitted, np.full(count, 0.1), 1.0, 0.1, 0.1
    )
    points = f"""() => {{
      const x = {TIME}.renderers[0].data_source.data
      return [x.y.length, Math.max(...x.y), x.x[0], x.x[x.x.length - 1]]
    }}"""
    with opened(report(replace(make_result(), fits=(fit,)))) as seen:
        seen.chart(1)
        drawn, highest, begin, end = seen.page.evaluate(points)
        assert drawn < 6000
        assert highest == pytest.approx(50.0, rel=1e-6)
        assert (begin, end) == (0.0, pytest.approx(100.0))
        low, high = times[where] - 0.01, times[where] + 0.01
        seen.page.evaluate(
            f"([low, high]) => {TIME}.x_range.setv({{start: low, end: high}})",
            [low, high],
        )
        seen.page.wait_for_function(f"() => {TIME}.renderers[0].data_source.data.x[0] > 60")
        drawn, highest, begin, end = seen.page.evaluate(points)
        assert fewest <= drawn <= most
        assert highest == pytest.approx(50.0, rel=1e-6)
        assert begin < low < high < end
        said = "Envelope of 1,000,000 samples: drawn through"
        assert seen.chart(1).get_by_text(said).count() == (count == 1_000_000)


def test_a_dot_tells_what_it_is(
    opened: Opened, report: Callable[..., Path], make_result: MakeResult
) -> None:
    low, high = make_result().estimates[0].interval_95
    with opened(report()) as seen:
        forest = seen.chart(0)
        box = settled(seen, forest.locator(".panel").first)
        place: list[float] = seen.page.evaluate(
            """() => {
              const roots = Bokeh.documents.flatMap(d => d.roots())
              const figure = roots.find(f => f.y_range.reset_end > 3.5 && f.y_range.reset_end < 3.7)
              const view = Bokeh.index.find_one(figure)
              const canvas = view.el.getBoundingClientRect()
              const frame = view.frame
              return [canvas.x + frame.x_scale.compute(0), canvas.y + frame.y_scale.compute(3)]
            }"""
        )
        assert box["x"] < place[0] < box["x"] + box["width"]
        seen.page.mouse.move(*place)
        tip = seen.page.get_by_text(f"{plain(low)} … {plain(high)}")
        tip.first.wait_for()
        assert seen.complaints == []


def test_an_output_that_nobody_saw_follows_once_it_is_seen(
    opened: Opened, report: Callable[..., Path], make_result: MakeResult
) -> None:
    result = make_result()
    fits = tuple(replace(result.fits[k % 2], name=f"y[{k}]") for k in range(8))
    with opened(report(replace(result, fits=fits))) as seen:
        last, first = seen.chart(8), seen.chart(1)
        seen.page.wait_for_function("() => window.scrollY < 1500")
        whole = tuple(spans_in(seen, last)[0])
        drag(seen, settled(seen, first.locator(".panel").first), 0.3, 0.5)
        # Which plot is the first of Bokeh's list depends on which was drawn first.
        every = TIME.replace(".find", ".filter")
        seen.page.wait_for_function(f"() => {every}.some(f => f.x_range.start > 1)")
        (zoomed,) = {tuple(span) for span in spans_in(seen, first)}
        assert zoomed != whole
        assert {tuple(span) for span in spans_in(seen, last)} == {whole}
        seen.chart(8)
        seen.page.wait_for_function(f"() => {every}.filter(f => f.x_range.start > 1).length >= 4")
        assert {tuple(span) for span in spans_in(seen, last)} == {zoomed}
        assert {tuple(span) for span in spans(seen)} <= {zoomed, whole}


def test_an_excluded_sample_says_why(
    opened: Opened, report: Callable[..., Path], make_result: MakeResult
) -> None:
    result = make_result()
    gone = ExcludedSamples("abs(v) < 0.01", 1, False, np.array([20.0]), np.array([11.0]))
    fits = (replace(result.fits[0], excluded=(gone,)), *result.fits[1:])
    with opened(report(replace(result, fits=fits))) as seen:
        chart = seen.chart(1)
        place: list[float] = seen.page.evaluate(
            """() => {
              const roots = Bokeh.documents.flatMap(d => d.roots())
              const has = f => f.renderers.some(r => r.data_source.data.reason)
              const figure = roots.find(f => f.renderers && has(f))
              const view = Bokeh.index.find_one(figure)
              const canvas = view.el.getBoundingClientRect()
              const frame = view.frame
              return [canvas.x + frame.x_scale.compute(20), canvas.y + frame.y_scale.compute(11)]
            }"""
        )
        seen.page.mouse.move(*place)
        seen.page.get_by_text("abs(v) < 0.01", exact=True).first.wait_for()
        toggle = seen.legend(chart).get_by_role("button", name="excluded")
        before = picture(seen, chart)
        toggle.click()
        assert picture(seen, chart) != before
        assert seen.complaints == []


def test_on_paper_pictures_as_wide_as_the_page_take_the_place_of_plots(
    opened: Opened, report: Callable[..., Path], make_result: MakeResult
) -> None:
    shown = "[...document.querySelectorAll('.panel')].filter(p => p.clientWidth)"
    wide = {"width": 1200, "height": 900}
    result = with_everything(make_result())
    with opened(report(result), viewport=wide, color_scheme="dark") as seen:
        for number in range(seen.page.locator("figure.chart").count()):
            if seen.page.locator("figure.chart").nth(number).is_visible():
                seen.chart(number)
        panels = seen.page.evaluate(f"{shown}.length")
        seen.page.emulate_media(media="print", color_scheme="dark")
        seen.page.set_viewport_size({"width": 700, "height": 900})
        seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        pictures = seen.page.locator("svg.printed")
        assert pictures.count() == panels > 10
        boxes = [pictures.nth(k).bounding_box() for k in range(panels)]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 700 for box in boxes)
        assert all(box["height"] > 40 for box in boxes)
        assert seen.page.evaluate(f"{shown}.length") == 0
        assert not seen.page.get_by_role("button", name="show all").first.is_visible()
        assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        # What is measured is a line with as many points as are drawn on the screen.
        lines = seen.page.evaluate(
            "[...document.querySelectorAll('svg.printed path')]"
            ".map(p => (p.getAttribute('d') || '').split('L').length)"
        )
        assert max(lines) > 300
        seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert pictures.count() == 0
        assert seen.complaints == []
        assert seen.violations() == []


def test_each_plot_has_a_picture_or_a_word_on_paper_however_early(
    opened: Opened,
    report: Callable[..., Path],
) -> None:
    visible = "[...document.querySelectorAll('.panel')].filter(p => p.clientWidth).length"
    with opened(report()) as seen:
        seen.chart(0)
        panels, pictures, words = seen.page.evaluate(
            f"""() => {{
              const panels = {visible}
              window.dispatchEvent(new Event('beforeprint'))
              const count = what => document.querySelectorAll(what + '.printed').length
              return [panels, count('svg'), count('p')]
            }}"""
        )
        assert pictures + words == panels
        assert pictures >= 1
