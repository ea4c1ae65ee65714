"""The uncertainty around the estimate that thresholds of profiles follow from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.evaluation import Evaluator
from fmident.profiles.thresholds import Counted, counted_from_noise
from fmident.statistics import ParameterStatistics

if TYPE_CHECKING:
    from fmident.problem.model import Problem


@dataclass(frozen=True, eq=False)
class UncertaintyAround:
    """Of the parameters at the estimate; one that is profiled may leave its bound."""

    problem: Problem
    evaluator: Evaluator
    p: F64
    held: npt.NDArray[np.bool_]
    white: ParameterStatistics
    counted: Counted | None
    coloured: bool
    _known: dict[bytes, Counted] = field(default_factory=dict)

    def white_around(self, profiled: Sequence[int]) -> ParameterStatistics:
        """Return it for white noise."""
        released = self._released(profiled)
        if released is None:
            return self.white
        return uncertainty(
            self.problem, self.evaluator, self.p, released, counts_noise=False,
            compare_interfaces=False,
        )  # fmt: skip

    def counted_around(self, profiled: Sequence[int]) -> Counted | None:
        """Return what counts beyond that; ``None``: nothing."""
        if self.counted is not None or not self.coloured:
            return self.counted
        released = self._released(profiled)
        held = self.held if released is None else released
        key = held.tobytes()
        if key not in self._known:
            noisy = uncertainty(
                self.problem, self.evaluator, self.p, held, compare_interfaces=False
            )
            self._known[key] = counted_from_noise(noisy)
        return self._known[key]

    def _released(self, profiled: Sequence[int]) -> npt.NDArray[np.bool_] | None:
        """Return what is held then; ``None`` where nothing that is profiled was held."""
        if not self.held[list(profiled)].any():
            return None
        found = self.held.copy()
        found[list(profiled)] = False
        return found
