"""Test whether an FMU returns to its initial state on a reset."""

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
    """Result of the reset test.

    With `reinstantiate`, the FMU must be instantiated for each run; with `new_process`,
    each run even needs its own process. `note` is for the user, or empty; `doubt` says why
    the outputs of a run are doubtful.
    """

    reinstantiate: bool = False
    note: str = ""
    new_process: bool = False
    doubt: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The note, as those of an executor, unless outcomes are doubtful."""
        return (self.note,) if self.note and not self.new_process else ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """The note, as one of an executor with doubtful outcomes, and why runs are."""
        unclean = self.note if self.new_process else ""
        return tuple(text for text in (unclean, self.doubt) if text)


def try_reset(
    simulator: Simulator,
    trials: Sequence[Trial],
    *,
    time_limit: float | None = None,
    at_run: Callable[[bool], None] = lambda _: None,
) -> ResetVerdict:
    """Run, reset, run again, and check whether the outputs are equal to the last bit.

    The first trial is run on a new instance, then with other parameters, followed by all
    others; then the first is repeated and compared, and the others are compared with runs
    on new instances. If outputs differ, two new instances are compared: if they agree, the
    reset is the cause, and `simulator` instantiates for each run from now on. Otherwise
    only a new process is clean.

    `simulator` must not have run anything. `trials` are the intended runs, at least one; of
    long ones the first :data:`LONGEST` instants are used. `time_limit` is per run,
    wall-clock s. `at_run` is called with ``True`` at the beginning of a run, ``False`` at
    its end. There is no finding if the first run fails.
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
        """Run and return the outputs; ``None`` if that fails."""
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
        """Return the result of the test."""
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
        shifted_values = _moved(values)
        aside = [(setup, shifted_values)] if shifted_values else []
        others = [(s, v, self._after_reset(s, v)) for s, v in (*aside, *self._trials[1:])]
        again = self._after_reset(setup, values)
        if again is None or not np.array_equal(first, again):
            return self._blame(setup, values, first, again)
        for other, given, outputs in others:
            fresh = self.anew(other, given)
            if fresh is not None and (outputs is None or not np.array_equal(fresh, outputs)):
                return self._blame(other, given, fresh, outputs)
        return ResetVerdict()

    def _first(
        self, setup: SimulationSetup, values: Mapping[str, Value]
    ) -> tuple[F64 | None, bool]:
        """Return the outputs of a new instance, and whether it is reset after such a run."""
        first = self.anew(setup, values)
        return first, self._simulator.would_reset

    def _after_reset(self, setup: SimulationSetup, values: Mapping[str, Value]) -> F64 | None:
        """Return the outputs of an instance that was used before."""
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
    """Return the values with all floats changed; empty if there are none."""
    shifted_values = {n: _ASIDE * v for n, v in values.items() if isinstance(v, float) and v != 0.0}
    return {**values, **shifted_values} if shifted_values else {}


def _shortened(setup: SimulationSetup, count: int) -> SimulationSetup:
    inputs = setup.inputs
    if setup.times.size <= count or inputs is None:
        return setup
    return replace(setup, times=setup.times[:count], inputs=inputs[:count])


def _largest(first: F64, again: F64, setup: SimulationSetup) -> str:
    """Return which output differs most, relative to its own size, as text."""
    difference = np.abs(again - first).max(axis=0)
    size = np.abs(first).max(axis=0)
    worst = int(np.argmax(difference / np.where(size > 0.0, size, 1.0)))
    return (
        f"output '{setup.output_names[worst]}' differs by {difference[worst]:.3g} in a second run"
    )
