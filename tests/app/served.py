"""The app as a user has it: a server of its own, and a page in a browser."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

LIMIT = 90_000
"""Milliseconds that the page may take for a step on a busy machine."""


class Server:
    """``fmident app`` in a folder.

    Parameters
    ----------
    folder
        Where it is started.
    arguments
        Of the command.
    environment
        Added to that of the tests.
    """

    def __init__(
        self, folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fmident", "app", *arguments, "--no-browser"],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        told = ""
        for line in self.process.stdout:
            told += line
            if match := re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line):
                self.address = match[0]
                return
        raise AssertionError(told)

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it by Ctrl-C."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


class AppPage:
    """A page of the app, by what a user sees and clicks."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.set_default_timeout(LIMIT)
        self.hosts: set[str] = set()
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(address)
        page.get_by_role("tab", name="Model").wait_for()

    def stage(self, name: str) -> None:
        """Open a stage."""
        self.page.get_by_role("tab", name=name).click()

    def drop(self, *files: Path) -> None:
        """Give files to the area of the stage that is open."""
        area = self.page.locator("input[type=file]:visible, .q-uploader:visible input[type=file]")
        area.first.set_input_files([str(f) for f in files])

    def choose(self, menu: str, entry: str) -> None:
        """Choose an entry of a menu."""
        self.page.get_by_label(menu, exact=True).locator("visible=true").first.click()
        self.page.get_by_role("option", name=entry, exact=True).click()

    def tick(self, label: str) -> None:
        """Tick a box by its label."""
        self.page.get_by_label(label, exact=True).locator("visible=true").first.click()

    def click(self, button: str) -> None:
        """Click a button once it can be."""
        self.page.get_by_role("button", name=button, exact=True).locator(
            "visible=true"
        ).first.click()

    def sees(self, text: str) -> None:
        """Wait until a text is on the page."""
        self.page.get_by_text(text).locator("visible=true").first.wait_for()


@contextmanager
def opened(browser: Any, server: Server, **options: Any) -> Iterator[AppPage]:
    """Open the app in a context of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    try:
        yield AppPage(context.new_page(), server.address)
    finally:
        context.close()
