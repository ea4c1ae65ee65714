"""Compact history of a number over a run, and its sparkline."""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = "_.-=+*%#"
"""Where there are no blocks."""

_MOST = 128


class Course:
    """Values in order of arrival; for many values only every second, fourth, ... is stored."""

    def __init__(self) -> None:
        self.last = math.nan
        self._kept: list[float] = []
        self._every = 1
        self._count = 0

    def add(self, value: float) -> None:
        """Add the next value."""
        self.last = value
        if self._count % self._every == 0:
            self._kept.append(value)
            if len(self._kept) > _MOST:
                self._kept = self._kept[::2]
                self._every *= 2
        self._count += 1

    def values(self) -> list[float]:
        """Return the stored values and the last one."""
        ends = self._count and (self._count - 1) % self._every == 0
        return self._kept if ends or not self._count else [*self._kept, self.last]


def spark(values: Sequence[float], width: int, blocks: str = BLOCKS) -> str:
    """Return a sparkline of values, at most `width` characters.

    Non-finite values are omitted. If there are more values than characters, each character
    shows the last value of its part. `blocks` are ordered from low to high.
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
    """Return costs on a scale that shows their decrease: log scale if all are positive."""
    if all(v > 0.0 for v in values):
        return [math.log(v) if math.isfinite(v) else v for v in values]
    return list(values)
