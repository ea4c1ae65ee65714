"""Try whether an FMU comes back to its initial state when it is reset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fmident.arrays import F64
from fmident.errors import SimulationError
from fmident.fmu.model_description.variables import Value
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.simulator import Simulator

LONGEST = 1000
"""Instants that a trial has at most, so that it costs little."""


Trial = tuple[SimulationSetup, Mapping[str, Value]]
"""What is simulated, and with what values."""

_ASIDE = 1.01
"""By this factor parameters differ in a run between two equal ones."""


@dataclass(frozen=True)
class ResetVerdict:
    """What the trial showed.

    Parameters
    ----------
    reinstantiate
        Whether the FMU must be instantiated for each run, since its reset is not clean.
    note
        What the user should know; empty when all is well or nothing could be found out.
    new_process
        Whether each run needs a process of its own, since a new instance is not clean either.
    doubt
        Why the outputs of a run are doubtful; empty where they are not.
    """

    reinstantiate: bool = False
    note: str = ""
    new_process: bool = False
    doubt: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The note as one of an executor, if there is one and the outcomes are not doubtful."""
        return (self.note,) if self.note and not self.new_process else ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """The note as one of an executor whose outcomes are doubtful, and why runs are."""
        unclean = self.note if self.new_process else ""
        return tuple(text for text in (unclean, self.doubt) if text)


def try_reset(
    simulator: Simulator,
    trials: Sequence[Trial],
    *,
    time_limit: float | None = None,
    at_run: Callable[[bool], None] = lambda _: None,
) -> ResetVerdict:
    """Run, reset, run again, and return whether the outputs are the same to the last bit.

    The first trial is run on a new instance, then with other parameters; all others follow; then
    the first is run again and compared, and the others are compared with runs on new instances.
    Where outputs differ, two fresh instances are compared, too: if these agree, the reset is to
    blame, and `simulator` instantiates for each run from now on. Else a new instance is not
    clean either, and only a new process can be.

    Parameters
    ----------
    simulator
        One that has run nothing yet. It does not check itself any more what has passed here.
    trials
        What is going to be run, at least one; of long setups the first :data:`LONGEST` instants.
    time_limit
        Wall-clock seconds for one run.
    at_run
        Called with ``True`` when a run begins, ``False`` when it has ended.

    Returns
    -------
    ResetVerdict
        Without a complaint if the first run fails: that is for others to report.
    """
    attempt = _Attempt(simulator, trials, time_limit, at_run)
    verdict = attempt.verdict()
    for setup, _ in trials:
        simulator.trust_reset(setup, trusted=attempt.compared)
    return replace(verdict, doubt=simulator.doubt)


class _Attempt:
    def __init__(
        self,
        simulator: Simulator,
        trials: Sequence[Trial],
        time_limit: float | None,
        at_run: Callable[[bool], None],
    ) -> None:
        self._simulator = simulator
        self._trials = [(_shortened(setup, LONGEST), values) for setup, values in trials]
        self._time_limit = time_limit
        self._at_run = at_run
        self.compared = False

    def outputs(self, setup: SimulationSetup, values: Mapping[str, Value]) -> F64 | None:
        """Run; return ``None`` when that fails."""
        self._simulator.trust_reset(setup)
        self._at_run(True)
        try:
            return self._simulator.simulate(setup, values, time_limit=self._time_limit)
        except SimulationError:
            return None
        finally:
            self._at_run(False)

    def anew(self, setup: SimulationSetup, values: Mapping[str, Value]) -> F64 | None:
        """Run on a new instance."""
        self._simulator.prepare(setup, values)
        self._simulator.renew_instance()
        return self.outputs(setup, values)

    def verdict(self) -> ResetVerdict:
        """Return what comes out."""
        for trial in self._trials:
            self._simulator.prepare(*trial)
        setup, values = self._trials[0]
        first, reset = self._first(setup, values)
        if first is not None and not reset and setup.times.size > 2:
            # The FMU itself ended the first run, at its last instant: that does without a reset.
            setup = _shortened(setup, setup.times.size - 1)
            first, _ = self._first(setup, values)
        if first is None:
            return ResetVerdict()
        self.compared = True
        moved = _moved(values)
        aside = [(setup, moved)] if moved else []
        others = [(s, v, self._after_reset(s, v)) for s, v in (*aside, *self._trials[1:])]
        again = self._after_reset(setup, values)
        if again is None or not np.array_equal(first, again):
            return self._blame(setup, values, first, again)
        for other, given, found in others:
            fresh = self.anew(other, given)
            if fresh is not None and (found is None or not np.array_equal(fresh, found)):
                return self._blame(other, given, fresh, found)
        return ResetVerdict()

    def _first(
        self, setup: SimulationSetup, values: Mapping[str, Value]
    ) -> tuple[F64 | None, bool]:
        """Return the outputs of a new instance, and whether it is reset after such a run."""
        first = self.anew(setup, values)
        return first, self._simulator.would_reset

    def _after_reset(self, setup: SimulationSetup, values: Mapping[str, Value]) -> F64 | None:
        """Return the outputs on an instance that has run something before."""
        # A run that has failed may have taken the instance with it.
        if not self._simulator.would_reset:
            self.outputs(setup, values)
        return self.outputs(setup, values)

    def _blame(
        self, setup: SimulationSetup, values: Mapping[str, Value], first: F64, again: F64 | None
    ) -> ResetVerdict:
        fresh = self.anew(setup, values)
        prefix = "fmi3" if self._simulator.description.fmi_version.startswith("3.") else "fmi2"
        after = "the run after fails" if again is None else _largest(first, again, setup)
        if fresh is not None and np.array_equal(first, fresh):
            self._simulator.instantiate_for_each_run()
            return ResetVerdict(
                True,
                f"{prefix}Reset does not bring the FMU back to its initial state ({after}):"
                " it is instantiated anew for each simulation, which takes longer",
            )
        return ResetVerdict(
            False,
            f"the FMU does not repeat itself ({after}), not even when it is instantiated anew:"
            " results depend on what was simulated before in the same process",
            new_process=True,
        )


def _moved(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values with all floats moved; empty where there are none."""
    moved = {n: _ASIDE * v for n, v in values.items() if isinstance(v, float) and v != 0.0}
    return {**values, **moved} if moved else {}


def _shortened(setup: SimulationSetup, count: int) -> SimulationSetup:
    inputs = setup.inputs
    if setup.times.size <= count or inputs is None:
        return setup
    return replace(setup, times=setup.times[:count], inputs=inputs[:count])


def _largest(first: F64, again: F64, setup: SimulationSetup) -> str:
    """Say which output differs most, relative to its own size."""
    difference = np.abs(again - first).max(axis=0)
    size = np.abs(first).max(axis=0)
    worst = int(np.argmax(difference / np.where(size > 0.0, size, 1.0)))
    return (
        f"output '{setup.output_names[worst]}' differs by {difference[worst]:.3g} in a second run"
    )
