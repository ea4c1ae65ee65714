"""How far an estimation is, from what it has written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fmident.words import duration, plain

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Progress:
    """The iterations of an estimation.

    Attributes
    ----------
    stage
        That runs; empty without stages.
    names
        Parameters that it searches, n of them.
    numbers, costs, paths
        Of its iterations, shapes (k,), (k,), (k, n).
    best
        The best values so far, with those of earlier stages.
    simulations, seconds
        Of the whole run.
    """

    stage: str
    names: list[str]
    numbers: F64
    costs: F64
    paths: F64
    best: dict[str, float]
    simulations: int
    seconds: float

    @property
    def text(self) -> str:
        """Stage, iteration, cost and effort in words."""
        stage = f"stage {self.stage}, " if self.stage else ""
        return (
            f"{stage}iteration {self.numbers[-1]:.0f}, cost {plain(float(self.costs[-1]))}, "
            f"{self.simulations} simulations in {duration(self.seconds)}"
        )


def progress_of(events: Sequence[Mapping[str, Any]]) -> Progress | None:
    """Return how far a run with these events is, ``None`` before its first iteration."""
    iterations = [e for e in events if e["event"] == "iteration"]
    if not iterations:
        return None
    last = iterations[-1]
    names = next(e for e in events if e["event"] == "start")["parameters"]
    current = [e for e in iterations if e["stage"] == last["stage"]]
    best: dict[str, float] = {}
    for event in {e["stage"]: e for e in iterations}.values():  # the last of each stage
        best |= zip(names[event["stage"]], event["values"], strict=True)
    return Progress(
        last["stage"],
        names[last["stage"]],
        np.array([float(e["number"]) for e in current]),
        np.array([float(e["cost"]) for e in current]),
        np.array([e["values"] for e in current], dtype=float),
        best,
        last["simulations"],
        last["seconds"],
    )


def remaining(progress: Progress, forecast: Mapping[str, Any]) -> str:
    """Return the time left and the workers in words, empty where no check forecast them.

    The rate is that of the simulations so far; their number is the check's forecast, which has a
    least and, for some estimators, a largest value.
    """
    expected, most = forecast.get("simulations"), forecast.get("most")
    if not expected:
        return ""
    workers = forecast["workers"]
    at_once = f"{workers} simulations at a time" if workers > 1 else "one simulation at a time"
    if not progress.simulations:
        return f"about {duration(forecast['seconds'])} in all, {at_once}"
    rate = progress.seconds / progress.simulations
    ends = [max(n - progress.simulations, 0) * rate for n in (expected, most or expected)]
    if ends[1] == 0.0:
        return f"longer than the check expected, {at_once}"
    if ends[0] == 0.0:
        return f"at most about {_rounded(ends[1])} left, {at_once}"
    if most and most > expected:
        return f"about {_rounded(ends[0])} to {_rounded(ends[1])} left, {at_once}"
    return f"about {_rounded(ends[0])} left, {at_once}"


def _rounded(seconds: float) -> str:
    """Return a time to two digits, or to whole minutes."""
    coarse = float(f"{seconds:.2g}") if seconds < 60.0 else 60.0 * round(seconds / 60.0)
    return duration(coarse)
