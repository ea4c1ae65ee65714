"""Which simulations of a problem have sensitivities, and what is done where they have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code
from fmident.evaluation.setups import output_variables
from fmident.evaluation.tasks import Simulated, SimulationFailure, SimulationTask
from fmident.problem.model import Problem

_IN_VAIN = 4
"""Single points in a row whose sensitivities nobody has asked for, after which others have none."""

_COSTLY = (Code.PROCESS_CRASHED, Code.PROCESS_KILLED, Code.OUT_OF_MEMORY, Code.TIMED_OUT)
"""Failures with sensitivities that would cost too much to be met with at each point."""

_IGNORED = "what runs the simulations returns no sensitivities"


class Sensitive:
    """Decides which simulations have sensitivities.

    Parameters
    ----------
    problem
        Its experiments.

    Attributes
    ----------
    known
        For each experiment the FMU variables with respect to which outputs are differentiated;
        ``None``: not at all.
    refusals
        Why simulations had no sensitivities that were asked for, and how often. A simulation that
        fails without them as well does not count.
    """

    def __init__(self, problem: Problem) -> None:
        self.known: tuple[tuple[str, ...], ...] | None = None
        self.refusals: dict[str, int] = {}
        self._widths = [len(output_variables(e)) for e in problem.experiments]
        self._unused = 0

    @property
    def reason(self) -> str:
        """Why a simulation had none, of the reasons the one given most often."""
        found = self.refusals
        return max(found, key=lambda text: found[text]) if found else "a simulation fails with them"

    @property
    def notes(self) -> tuple[str, ...]:
        """That simulations could not be differentiated, and what was done, in sentences."""
        count = sum(self.refusals.values())
        if not count:
            return ()
        times = "one simulation" if count == 1 else f"{count} simulations"
        return (
            f"{times[0].upper()}{times[1:]} could not be differentiated ({self.reason}); finite"
            " differences were used where a Jacobian was needed there.",
        )

    def branch(self, problem: Problem) -> Sensitive:
        """Return the same for a branch; what is refused there is noted here, too."""
        found = Sensitive(problem)
        found.known, found.refusals, found._unused = self.known, self.refusals, self._unused
        return found

    def of(self, experiment: int) -> tuple[str, ...]:
        """Return the variables for an experiment, by its index."""
        return () if self.known is None else self.known[experiment]

    def carries(self, points: int) -> bool:
        """Return whether so many new points are simulated with sensitivities as a precaution.

        An estimator that takes Jacobians asks for one where it arrives, and sensitivities cost
        little on the way. One that takes none is noticed after a few points, and populations are
        simulated without.
        """
        return self.known is not None and points == 1 and self._unused < _IN_VAIN

    def carried(self, *, used: bool) -> None:
        """Take note of a point that has been simulated with them, or of their being used."""
        self._unused = 0 if used else self._unused + 1

    def has_them(self, task: SimulationTask, outcome: Simulated) -> bool:
        """Return whether an outcome has the sensitivities that its task asks for."""
        if isinstance(outcome, SimulationFailure):
            return False
        width: int = outcome.shape[1]
        return width == self._widths[task.experiment] * (1 + len(task.sensitivities))

    def plain(self, task: SimulationTask, outcome: Simulated) -> Simulated:
        """Return the outputs alone, in memory of their own, as a simulation without gives them."""
        width = self._widths[task.experiment]
        if isinstance(outcome, SimulationFailure) or outcome.shape[1] == width:
            return outcome
        found: F64 = np.ascontiguousarray(outcome[:, :width])
        found.flags.writeable = False
        return found

    def fall_back(
        self,
        tasks: Sequence[SimulationTask],
        outcomes: Sequence[Simulated],
        run: Callable[[Sequence[SimulationTask]], Sequence[Simulated]],
    ) -> list[Simulated]:
        """Return outcomes; what has failed with sensitivities is simulated without.

        Parameters
        ----------
        tasks, outcomes
            As they were run.
        run
            Runs others.
        """
        found = list(outcomes)
        pairs = list(zip(tasks, found, strict=True))
        lacking = [
            i
            for i, (task, y) in enumerate(pairs)
            if task.sensitivities and not self.has_them(*pairs[i])
        ]
        failed = [i for i in lacking if isinstance(found[i], SimulationFailure)]
        if failed:
            for i, outcome in zip(failed, run([tasks[i].plain for i in failed]), strict=True):
                found[i] = self.instead(found[i], outcome)
        if len(failed) < len(lacking):
            self._refuse(_IGNORED)
            self.known = None
        return found

    def instead(self, failure: Simulated, plain: Simulated) -> Simulated:
        """Take note of the outcome without sensitivities of what has failed with them."""
        if isinstance(failure, SimulationFailure) and not isinstance(plain, SimulationFailure):
            self._refuse(failure.message)
            if failure.timed_out or failure.code in _COSTLY:
                self.known = None
        return plain

    def _refuse(self, reason: str) -> None:
        self.refusals[reason] = self.refusals.get(reason, 0) + 1
