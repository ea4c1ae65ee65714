"""Try whether an FMU comes back to its initial state when it is reset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fmident._types import F64
from fmident.errors import SimulationError
from fmident.fmu.description import Value
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.simulator import Simulator

LONGEST = 1000
"""Instants that a trial has at most, so that it costs little."""


@dataclass(frozen=True)
class ResetVerdict:
    """What the trial showed.

    Parameters
    ----------
    reinstantiate
        Whether the FMU must be instantiated for each run, since its reset is not clean.
    note
        What the user should know; empty when all is well or nothing could be found out.
    """

    reinstantiate: bool = False
    note: str = ""


def try_reset(
    simulator: Simulator,
    setup: SimulationSetup,
    values: Mapping[str, Value],
    *,
    time_limit: float | None = None,
    at_run: Callable[[bool], None] = lambda _: None,
) -> ResetVerdict:
    """Run, reset, run again, and tell whether the outputs are the same to the last bit.

    Where they are not, two fresh instances are compared, too: if these agree, the reset is to
    blame, and `simulator` instantiates for each run from now on. An FMU that does not even
    then repeat itself is only reported: nothing can be done about it.

    Parameters
    ----------
    simulator
        One that has run nothing yet.
    setup, values
        What to run; of a long setup the first :data:`LONGEST` instants.
    time_limit
        Wall-clock seconds for one run.
    at_run
        Told ``True`` when a run begins, ``False`` when it has ended.

    Returns
    -------
    ResetVerdict
        Without a complaint if the first run fails: that is for others to tell.
    """
    trial = _shortened(setup, LONGEST)

    def outputs() -> F64 | None:
        at_run(True)
        try:
            return simulator.simulate(trial, values, time_limit=time_limit)
        except SimulationError:
            return None
        finally:
            at_run(False)

    def twice() -> tuple[F64 | None, F64 | None, bool]:
        simulator.prepare(trial, values)
        simulator.renew_instance()
        first = outputs()
        if first is None:
            return None, None, False
        made = simulator.statistics.instantiations
        again = outputs()
        return first, again, simulator.statistics.instantiations == made

    first, again, reset = twice()
    if first is not None and not reset and trial.times.size > 2:
        # The FMU itself ended the first run, at its last instant: that does without a reset.
        trial = _shortened(trial, trial.times.size - 1)
        first, again, _ = twice()
    if first is None:
        return ResetVerdict()
    if again is not None and np.array_equal(first, again):
        return ResetVerdict()
    simulator.renew_instance()
    fresh = outputs()
    after = "the run after fails" if again is None else _largest(first, again, setup)
    if fresh is not None and np.array_equal(first, fresh):
        simulator.instantiate_for_each_run()
        return ResetVerdict(
            True,
            f"fmi2Reset does not bring the FMU back to its initial state ({after}):"
            " it is instantiated anew for each simulation, which takes longer",
        )
    return ResetVerdict(
        False,
        f"the FMU does not repeat itself ({after}), not even when it is instantiated anew:"
        " results depend on what was simulated before",
    )


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
