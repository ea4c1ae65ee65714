"""Which simulations of an evaluator request sensitivities, and what happens where these fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code
from fmident.evaluation.counts import Counts
from fmident.evaluation.setups import output_variables
from fmident.evaluation.tasks import Outcomes, Simulated, SimulationFailure, SimulationTask
from fmident.problem.model import Problem

_IN_VAIN = 4
"""Single points in a row whose sensitivities nobody has asked for, after which others have none."""

_COSTLY = (Code.PROCESS_CRASHED, Code.PROCESS_KILLED, Code.OUT_OF_MEMORY, Code.TIMED_OUT)
"""Failures with sensitivities that would cost too much if they occurred at each point."""

_IGNORED = "what runs the simulations returns no sensitivities"


class SensitivityRequests:
    """Decides which simulations have sensitivities.

    `known` are the FMU variables to differentiate with respect to, for each experiment, or
    ``None``. `refusals` counts why simulations had none, unless they also fail without
    them.
    """

    def __init__(self, problem: Problem) -> None:
        self.known: tuple[tuple[str, ...], ...] | None = None
        self.refusals: dict[str, int] = {}
        self._widths = [len(output_variables(e)) for e in problem.experiments]
        self._unused = 0

    @property
    def reason(self) -> str:
        """The most frequent reason why a simulation had none."""
        counts = self.refusals
        return (
            max(counts, key=lambda text: counts[text]) if counts else "a simulation fails with them"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on simulations that could not be differentiated, in sentences."""
        count = sum(self.refusals.values())
        if not count:
            return ()
        times = "one simulation" if count == 1 else f"{count} simulations"
        return (
            f"{times[0].upper()}{times[1:]} could not be differentiated ({self.reason}); finite"
            " differences were used where a Jacobian was needed there.",
        )

    def branch(self, problem: Problem) -> SensitivityRequests:
        """Return a copy for a branch; refusals there are recorded here, too."""
        branch = SensitivityRequests(problem)
        branch.known, branch.refusals, branch._unused = self.known, self.refusals, self._unused
        return branch

    def of(self, experiment: int) -> tuple[str, ...]:
        """Return the variables for an experiment, by its index."""
        return () if self.known is None else self.known[experiment]

    def carries(self, points: int) -> bool:
        """Return whether this number of new points is simulated with sensitivities in advance.

        An estimator that uses Jacobians requests one at its next point. One that uses none is
        detected after a few points, and populations are simulated without.
        """
        return self.known is not None and points == 1 and self._unused < _IN_VAIN

    def carried(self, *, used: bool) -> None:
        """Record a point simulated with sensitivities, or their use."""
        self._unused = 0 if used else self._unused + 1

    def has_them(self, task: SimulationTask, outcome: Simulated) -> bool:
        """Return whether an outcome has the sensitivities that its task requests."""
        if isinstance(outcome, SimulationFailure):
            return False
        width: int = outcome.shape[1]
        return width == self._widths[task.experiment] * (1 + len(task.sensitivities))

    def plain(self, task: SimulationTask, outcome: Simulated) -> Simulated:
        """Return a copy of the outputs only, as from a simulation without sensitivities."""
        width = self._widths[task.experiment]
        if isinstance(outcome, SimulationFailure) or outcome.shape[1] == width:
            return outcome
        outputs: F64 = np.ascontiguousarray(outcome[:, :width])
        outputs.flags.writeable = False
        return outputs

    def fall_back(
        self,
        tasks: Sequence[SimulationTask],
        outcomes: dict[int, Simulated],
        run: Callable[[Sequence[SimulationTask]], Outcomes],
        counts: Counts,
    ) -> None:
        """Repeat simulations that failed with sensitivities by `run` without them."""
        lacking = [
            i
            for i, task in enumerate(tasks)
            if task.sensitivities and not self.has_them(task, outcomes[i])
        ]
        failed = [i for i in lacking if isinstance(outcomes[i], SimulationFailure)]
        if failed:
            counts.add(simulations=len(failed))
            repeated = dict(run([tasks[i].plain for i in failed]))
            for k, i in enumerate(failed):
                outcomes[i] = self.instead(outcomes[i], repeated[k])
        if len(failed) < len(lacking):
            self._refuse(_IGNORED)
            self.known = None

    def instead(self, failure: Simulated, plain: Simulated) -> Simulated:
        """Record the outcome without sensitivities of a simulation that failed with them."""
        if isinstance(failure, SimulationFailure) and not isinstance(plain, SimulationFailure):
            self._refuse(failure.message)
            if failure.timed_out or failure.code in _COSTLY:
                self.known = None
        return plain

    def _refuse(self, reason: str) -> None:
        self.refusals[reason] = self.refusals.get(reason, 0) + 1
