"""The data stage in a browser: columns dragged to signals, and the preview of what is used."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fmident.cli import main

from ..report.browser import started
from .served import AppPage, Server, opened

pytestmark = [pytest.mark.slow, pytest.mark.nightly]  # a browser for more than 15 s

OSCILLATOR = Path(__file__).parents[2] / "examples" / "oscillator"

SERIES = """name => [...document.querySelectorAll('[role=img]')].filter(
  e => e.getAttribute('aria-label') === name && e.offsetParent !== null).map(
  e => getElement(+e.id.slice(1)).chart.getOption().series)[0] ?? []"""
"""The lines of a chart."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as chromium:
        yield chromium


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    assert main(["build", str(OSCILLATOR / "Oscillator.mo"), "-o", str(tmp_path / "o.fmu")]) == 0
    _, *rows = (OSCILLATOR / "measured.csv").read_text(encoding="utf-8").splitlines()
    text = "\n".join(["time [s],channel 1,channel 2", *rows])  # nothing to assign them by
    (tmp_path / "measured.csv").write_text(text + "\n", encoding="utf-8")
    one = Server(tmp_path, "o.fmu", "measured.csv")
    yield one
    one.close()


def wait_for(app: AppPage, chart: str, condition: str) -> None:
    """Wait until a condition on the `lines` of a chart holds."""
    app.page.wait_for_function(f"(lines => {condition})(({SERIES})({json.dumps(chart)}))")


def test_columns_are_dragged_to_signals_and_shown_as_they_are_used(
    browser: Any, server: Server, tmp_path: Path
) -> None:
    def experiment() -> dict[str, Any]:
        text = (tmp_path / "problem.toml").read_text(encoding="utf-8")
        table: dict[str, Any] = tomllib.loads(text)["experiments"][0]
        return table

    with opened(browser, server) as app:
        app.stage("Data")
        app.sees("501 rows")
        for column, signal in (("channel 1", "F"), ("channel 2", "x")):
            chip = app.page.locator(".q-chip", has_text=column).first
            chip.drag_to(app.page.locator(".drop", has_text=signal).first)
            app.page.get_by_label(f"settings of {signal}").wait_for()
        assert experiment()["inputs"] == {"F": "channel 1"}
        assert experiment()["outputs"] == {"x": "channel 2"}
        wait_for(app, "x [m]", "lines.length === 2 && lines[1].data.length === 501")
        app.page.get_by_label("use every n-th row").fill("5")
        app.page.get_by_label("use every n-th row").press("Tab")
        wait_for(app, "x [m]", "lines[1]?.data.length === 101")
        wait_for(app, "F [N]", "lines[1]?.data.length === 101")
        app.choose("inputs between samples", "held")
        wait_for(app, "F [N]", "lines[1]?.step === 'end'")
        app.page.get_by_label("settings of x").click()
        app.page.get_by_label("delay, s: number or parameter").fill("0.5")
        app.page.get_by_label("delay, s: number or parameter").press("Tab")
        wait_for(app, "x [m]", "lines[2]?.data[0][0] === -0.5 && lines[1].data[0][0] === 0")
        app.page.get_by_label("offset: number or parameter").fill("nothing")
        app.page.get_by_label("offset: number or parameter").press("Tab")
        app.sees("a number, or the name of a parameter of the problem")
        app.page.get_by_label("leave out samples where").locator("visible=true").first.fill(
            "time > 4 s"
        )
        app.page.keyboard.press("Tab")
        wait_for(app, "x [m]", "lines[2]?.name === 'excluded: time > 4 s'")
        assert app.complaints == []
    assert experiment()["outputs"] == {
        "x": {"column": "channel 2", "delay": 0.5, "exclude": "time > 4 s"}
    }
