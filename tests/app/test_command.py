"""The command ``fmident app``."""

from __future__ import annotations

import argparse
import re
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from fmident_app import command, server


def test_the_command_line_of_the_browser_has_no_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    opened: list[Path] = []

    def open_page(url: str) -> bool:
        opened.append(Path(unquote(urlsplit(url).path)))
        assert "token" not in url
        return True

    def serve(bench: Any, listening: Any, token: str) -> None:
        (page,) = opened
        assert token in page.read_text(encoding="utf-8")
        assert page.parent.stat().st_mode & 0o077 == 0  # the folder of this user alone

    monkeypatch.setattr(webbrowser, "open", open_page)
    monkeypatch.setattr(server, "serve", serve)
    assert command.run(argparse.Namespace(files=[], port=0, no_browser=False)) == 0
    assert not opened[0].parent.exists()
    assert re.search(r"http://127\.0\.0\.1:\d+/\?token=", capsys.readouterr().out)
