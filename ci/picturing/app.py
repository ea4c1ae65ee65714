"""Pictures of the page of ``fmident app``, as a browser shows it."""

from __future__ import annotations

import functools
import io
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import matplotlib.image as mpimg
from matplotlib.figure import Figure
from playwright.sync_api import Page, sync_playwright

from picturing.drawing import DARK, ROOT, Palette, picture

_WIDTH, _HEIGHT = 1280, 860


@functools.cache
def _screens() -> dict[tuple[str, bool], bytes]:
    """Return PNG files of each stage, light and dark, after a run on the oscillator."""
    screens: dict[tuple[str, bool], bytes] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name in ("Oscillator.mo", "measured.csv", "problem.toml"):
            shutil.copy(ROOT / "examples" / "oscillator" / name, folder)
        server = subprocess.Popen(
            [sys.executable, "-m", "fmident", "app", "problem.toml", "--no-browser"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        own = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=own, args=["--no-sandbox"])
        try:
            assert server.stdout is not None
            address = next(m[0] for line in server.stdout if (m := re.search(r"http\S+", line)))
            page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
            page.set_default_timeout(300_000)
            page.goto(address)
            _work(page)
            for dark in (False, True):
                page.emulate_media(color_scheme="dark" if dark else "light")
                for stage in ("Model", "Data", "Parameters", "Estimate"):
                    page.get_by_role("tab", name=stage).click()
                    page.wait_for_timeout(3000)  # until the curves are drawn
                    screens[stage.lower(), dark] = page.screenshot()
        finally:
            browser.close()
            server.terminate()
            server.wait()
    return screens


def _work(page: Page) -> None:
    page.get_by_role("tab", name="Model").click()
    page.get_by_role("button", name="Build", exact=True).click()
    page.get_by_text("FMI 2.0").wait_for()
    page.get_by_role("tab", name="Estimate").click()
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("run-1: done").wait_for()


def _draw(stage: str, figure: Figure, palette: Palette) -> None:
    pixels: Any = mpimg.imread(io.BytesIO(_screens()[stage, palette is DARK]), format="png")
    figure.set_layout_engine("none")  # to the edges
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.imshow(pixels, interpolation="none")
    axes.set_axis_off()


_HIGH = 7.6 * _HEIGHT / _WIDTH


@picture("app-model", height=_HIGH)
def _model(figure: Figure, palette: Palette) -> None:
    _draw("model", figure, palette)


@picture("app-data", height=_HIGH)
def _data(figure: Figure, palette: Palette) -> None:
    _draw("data", figure, palette)


@picture("app-parameters", height=_HIGH)
def _parameters(figure: Figure, palette: Palette) -> None:
    _draw("parameters", figure, palette)


@picture("app-estimate", height=_HIGH)
def _estimate(figure: Figure, palette: Palette) -> None:
    _draw("estimate", figure, palette)
