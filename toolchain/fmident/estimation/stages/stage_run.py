"""One stage that was run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.estimation.stages.propagation import Carried
    from fmident.problem.model import Problem, Stage


@dataclass(frozen=True)
class StageRun:
    """One stage that was run.

    Parameters
    ----------
    stage
        As in the problem.
    problem
        What was solved: with the values that the stages before it have found.
    result
        Of this stage alone.
    carried
        What its intervals count of the values that it held.
    """

    stage: Stage
    problem: Problem
    result: EstimationResult
    carried: Carried

    @property
    def found(self) -> dict[str, float]:
        """Values of the parameters that the stage searched, and of those that follow from them."""
        return {e.name: e.value for e in self.result.estimates if e.searched or e.expression}
