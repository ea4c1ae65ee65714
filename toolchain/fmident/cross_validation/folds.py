"""Folds of samples that are left out in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fmident.data import Experiment
from fmident.errors import Code, ProblemError

Way = Literal["experiments", "blocks"]

BLOCKS = 5
"""By default."""


@dataclass(frozen=True)
class Fold:
    """Samples that are predicted and not fitted.

    `name` is that of the experiment, or ``"block 2"``; `spans` maps experiments to the
    first and the last instant that are left out, s.
    """

    name: str
    spans: Mapping[str, tuple[float, float]]

    def held(self, experiment: Experiment) -> npt.NDArray[np.bool_]:
        """Return the mask of the instants left out, shape (n,)."""
        return self._around(experiment, 0.0)

    def unfitted(self, experiment: Experiment, gap: float) -> npt.NDArray[np.bool_]:
        """Return the mask of unfitted instants, including those closer than `gap`, shape (n,)."""
        return self._around(experiment, gap)

    def _around(self, experiment: Experiment, gap: float) -> npt.NDArray[np.bool_]:
        if experiment.name not in self.spans:
            return np.zeros(experiment.times.size, dtype=np.bool_)
        first, last = self.spans[experiment.name]
        # A gap of two steps leaves out two samples, whatever rounding makes of the instants.
        slack = 1e-6 * gap
        return np.asarray(
            (experiment.times >= first - gap - slack) & (experiment.times <= last + gap + slack)
        )


def make_folds(
    experiments: Sequence[Experiment], way: Way | None, count: int | None
) -> tuple[Way, tuple[Fold, ...]]:
    """Return how samples are left out, and the folds.

    `way` is ``"experiments"``, each left out once as a whole, or ``"blocks"``: each
    experiment is divided into `count` (by default 5) contiguous blocks of equal numbers of
    samples, and a fold is one block of each. ``None`` means experiments if there are
    several. Raises `ProblemError` if there is only one experiment to leave out, or the
    number of blocks is unsuitable.
    """
    if way is None:
        way = "experiments" if len(experiments) > 1 and count is None else "blocks"
    if way == "experiments":
        if count is not None and count != len(experiments):
            raise ProblemError(
                f"{count} folds over {len(experiments)} experiments: each is one fold",
                hint="leave the number out, or cut the experiments into blocks of time",
                code=Code.INVALID_PROBLEM,
            )
        if len(experiments) < 2:
            raise ProblemError(
                "one experiment cannot be left out where there is no other",
                hint="cut it into blocks of time: --by blocks",
                code=Code.INVALID_PROBLEM,
            )
        return way, tuple(
            Fold(e.name, {e.name: (float(e.times[0]), float(e.times[-1]))}) for e in experiments
        )
    number = BLOCKS if count is None else count
    least = min(e.times.size for e in experiments)
    if not 2 <= number <= least:
        raise ProblemError(
            f"{number} blocks cannot be made: at least 2, at most {least}, which is how many"
            " instants the shortest experiment has",
            hint="5 to 10 blocks, each longer than the slowest motion, are usual",
            code=Code.INVALID_PROBLEM,
        )
    parts = {e.name: np.array_split(e.times, number) for e in experiments}
    return way, tuple(
        Fold(
            f"block {k + 1}",
            {name: (float(own[k][0]), float(own[k][-1])) for name, own in parts.items()},
        )
        for k in range(number)
    )
