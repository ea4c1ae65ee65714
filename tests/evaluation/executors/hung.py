"""Limits that pass as soon as an FMU hangs, and not before: however long they are, however busy
the machine is.

A fixture of :mod:`tests.fmu.build` that hangs notes its process. While such a process lives, an
hour passes at each look at the clock.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .faults import lives

VARIABLE = "FMIDENT_TEST_HANGS"
"""Names the file to which fixtures write the numbers of processes that hang."""


class Clock:
    """Stands for the module :mod:`time`.

    Parameters
    ----------
    file
        Where the processes that hang are noted.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._ahead = 0.0

    def monotonic(self) -> float:
        """Return the time, s; an hour more at each look while an FMU hangs."""
        noted = self._file.read_text().split() if self._file.exists() else ()
        if any(lives(int(pid)) for pid in noted):
            self._ahead += 3600.0
        return time.monotonic() + self._ahead

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def hurry(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    *,
    clocks: tuple[ModuleType, ...] = (),
) -> None:
    """Let modules go by this clock, and have fixtures note what hangs."""
    file = folder / "hangs"
    monkeypatch.setenv(VARIABLE, str(file))
    clock = Clock(file)
    for module in clocks:
        monkeypatch.setattr(module, "time", clock)
