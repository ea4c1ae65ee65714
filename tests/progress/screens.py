"""A terminal in memory, whose screen can be read, and a run that can be shown."""

from __future__ import annotations

import io

import numpy as np
import pyte

from fmident.estimation.contract import Iteration
from fmident.estimation.monitor import RunPlan
from fmident.progress.watch import Watch


class Screen(io.StringIO):
    """A terminal."""

    encoding = "utf-8"  # type: ignore[assignment]

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        super().__init__()
        self._screen = pyte.Screen(columns, lines)
        self._reader = pyte.Stream(self._screen)
        self._screen.set_mode(pyte.modes.LNM)  # as the terminal's driver: a new line returns

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self._reader.feed(text)
        return super().write(text)

    @property
    def shown(self) -> list[str]:
        """Lines that are not empty."""
        return [line.rstrip() for line in self._screen.display if line.strip()]

    @property
    def hides_cursor(self) -> bool:
        return bool(self._screen.cursor.hidden)

    @property
    def column(self) -> int:
        return int(self._screen.cursor.x)


class Clock:
    """Stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


NAMES = ("lowerArmMass", "gear.ratio", "k")


def plan(**changed: object) -> RunPlan:
    known: dict[str, object] = {"simulations": 400}
    return RunPlan("cma-es", NAMES, np.array([2.0, 4.0, 1e-4]), **(known | changed))  # type: ignore[arg-type]


def iteration(number: int, stage: str = "", **details: float) -> Iteration:
    values = np.array([2.0 + 0.1 * number, 4.0 - 0.1 * number, 1e-4])
    cost = 10.0 / (number + 1)
    return Iteration(number, values, cost, 10 * number, number, 0.5 * number, details, stage)


def run(watch: Watch, clock: Clock, iterations: int = 12) -> None:
    """Tell of a run with generations of ten."""
    watch.planned(plan())
    for number in range(iterations):
        for done in range(11):
            clock.now += 0.11
            watch.activity("simulations", done, 10)
        watch.generation(10, number % 10)
        watch.iteration(iteration(number))
