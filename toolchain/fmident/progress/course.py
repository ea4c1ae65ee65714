"""The course of a number over a run, in little memory and in a few letters."""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = "_.-=+*%#"
"""Where there are no blocks."""

_MOST = 128


class Course:
    """Values in the order in which they came; of many, every second, fourth, ... is kept."""

    def __init__(self) -> None:
        self.last = math.nan
        self._kept: list[float] = []
        self._every = 1
        self._count = 0

    def add(self, value: float) -> None:
        """Take the next value."""
        self.last = value
        if self._count % self._every == 0:
            self._kept.append(value)
            if len(self._kept) > _MOST:
                self._kept = self._kept[::2]
                self._every *= 2
        self._count += 1

    def values(self) -> list[float]:
        """Return what is kept, and the last value."""
        ends = self._count and (self._count - 1) % self._every == 0
        return self._kept if ends or not self._count else [*self._kept, self.last]


def spark(values: Sequence[float], width: int, blocks: str = BLOCKS) -> str:
    """Return the course of values as letters of different heights.

    Parameters
    ----------
    values
        Those that are not finite are left out.
    width
        Letters at most; of more values, each letter shows the last of its share.
    blocks
        From low to high.
    """
    finite = [v for v in values if math.isfinite(v)]
    if len(finite) > width > 0:
        step = len(finite) / width
        finite = [finite[max(math.ceil((k + 1) * step) - 1, 0)] for k in range(width)]
    if not finite or width <= 0:
        return ""
    low, high = min(finite), max(finite)
    top = len(blocks) - 1
    if not high > low:
        return blocks[0] * len(finite)
    half = high / 2 - low / 2  # the difference itself may overflow
    return "".join(blocks[min(round((v / 2 - low / 2) / half * top), top)] for v in finite)


def falling(values: Sequence[float]) -> list[float]:
    """Return costs on a scale on which their fall is seen: logarithms, where all are positive."""
    if all(v > 0.0 for v in values):
        return [math.log(v) if math.isfinite(v) else v for v in values]
    return list(values)
