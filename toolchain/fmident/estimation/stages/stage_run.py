"""A completed stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.estimation.stages.propagation import Carried
    from fmident.problem.model import Problem, Stage


@dataclass(frozen=True)
class StageRun:
    """A completed stage, with the problem it solved and the effect of held values."""

    stage: Stage
    problem: Problem
    result: EstimationResult
    carried: Carried

    @property
    def found(self) -> dict[str, float]:
        """Values of the parameters that the stage estimated, and of those that depend on them."""
        return {e.name: e.value for e in self.result.estimates if e.searched or e.expression}
