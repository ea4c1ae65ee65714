"""What is compiled for the first time is said, once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fmident import _compiling

CODE = """
def double(x):
    return 2 * x
"""

MakeFunction = Callable[[str], Any]


@pytest.fixture
def make(tmp_path: Path) -> MakeFunction:
    """Return what makes a compiled function, kept on disk, of a module of this name."""
    file = tmp_path / "code.py"
    file.write_text(CODE)

    def made(name: str) -> Any:
        from numba import njit

        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return njit(cache=True)(module.double)

    return made


@pytest.mark.slow
def test_it_is_said_once_and_only_of_what_is_ours(
    make: MakeFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    _compiling.watch_numba()
    told: list[str] = []
    monkeypatch.setattr(_compiling, "listener", told.append)
    assert make("somebody.code")(3) == 6
    assert told == []
    assert make("fmident.code")(3.0) == 6.0
    assert make("fmident.code")(3.0 + 0j) == 6.0
    assert told == [_compiling.TEXT]


@pytest.mark.slow
def test_what_is_on_disk_is_not_compiled(
    make: MakeFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    _compiling.watch_numba()
    make("fmident.code")(3)
    told: list[str] = []
    monkeypatch.setattr(_compiling, "listener", told.append)
    assert make("fmident.code")(3) == 6
    assert told == []
