"""A page in a real browser: Chromium or Chrome of the system, or the one of Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@dataclass
class Seen:
    """A page, with all that it asked for and complained about."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def chart(self, number: int) -> Any:
        """Return a chart once it is drawn."""
        return self._drawn(self.page.locator("figure.chart").nth(number))

    def chart_of(self, label: str) -> Any:
        """Return the chart whose label begins with a text, once it is drawn."""
        return self._drawn(self.page.locator(f'figure.chart[aria-label^="{label}"]'))

    def _drawn(self, figure: Any) -> Any:
        figure.evaluate("e => e.scrollIntoView()")
        self.page.wait_for_function("e => e.dataset.drawn", arg=figure.element_handle())
        return figure

    def legend(self, figure: Any) -> Any:
        """Return the legend of the section in which a chart is."""
        return figure.locator("xpath=ancestor::section").locator(".legend")

    def violations(self) -> list[str]:
        """Return what was against the policy of the page."""
        found: list[str] = self.page.evaluate("window.violations")
        return found


@contextmanager
def started() -> Iterator[Any]:
    """Start a browser; the test is skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with api.sync_playwright() as playwright:
        own = next((path for name in _NAMES if (path := shutil.which(name))), None)
        if own is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("there is no Chromium: apt-get install chromium, or playwright install")
        alone = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=own, args=alone)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_page(browser: Any, file: Path, **options: Any) -> Iterator[Seen]:
    """Open a file in a context of its own.

    Parameters
    ----------
    browser
        One that is started.
    file
        HTML.
    options
        Of Playwright's `new_context`, such as `color_scheme`.
    """
    context = browser.new_context(**options)
    try:
        page = context.new_page()
        page.set_default_timeout(30_000)
        seen = Seen(page)
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on("console", lambda said: _note(seen, said))
        page.add_init_script(
            "window.violations = []; document.addEventListener('securitypolicyviolation',"
            " e => violations.push(e.violatedDirective + ' ' + e.blockedURI))"
        )
        page.goto(file.resolve().as_uri())
        yield seen
    finally:
        context.close()


def _note(seen: Seen, said: Any) -> None:
    if said.type in ("error", "warning"):
        seen.complaints.append(said.text)
