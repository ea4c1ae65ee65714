"""Plugins made on the spot, found through entry points as installed ones are."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest


@pytest.fixture
def make_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], EntryPoint]]:
    """Return a function that writes a module and returns the entry point that names it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written: list[str] = []

    def make(name: str, source: str) -> EntryPoint:
        module = f"fmident_test_{name.replace('-', '_')}"
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        written.append(module)
        return EntryPoint(name, module, "fmident")

    yield make
    for module in written:
        sys.modules.pop(module, None)
