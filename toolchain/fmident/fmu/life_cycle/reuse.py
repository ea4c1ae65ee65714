"""Check, run by run, whether a used instance is equivalent to a new one.

A reset should restore the state after instantiation, but in FMUs of several tools
states, inputs, calculated values or outputs of the last step remain.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.fmu.failure import RunFailed, note
from fmident.fmu.life_cycle.holder import InstanceHolder
from fmident.fmu.model_description.variables import Value
from fmident.fmu.setup import SimulationSetup

Reuse = Literal["checked", "trusted", "never"]
Outcome = F64 | RunFailed


class ReuseCheck:
    """Compares the first run of each setup on a used instance with a run on a new one.

    A run that repeats the previous values is also compared, but shows nothing for others.
    """

    def __init__(self, holder: InstanceHolder, policy: Reuse) -> None:
        self._holder = holder
        self._checks = policy == "checked"
        self._trusted: weakref.WeakSet[SimulationSetup] = weakref.WeakSet()
        # By setup, the names of values with which a reset has proven itself, and whether with
        # other values than those of the run before.
        self._passed: weakref.WeakKeyDictionary[SimulationSetup, dict[frozenset[str], bool]]
        self._passed = weakref.WeakKeyDictionary()
        self._before: Mapping[str, Value] = {}
        if policy == "never":
            holder.never_reset()

    def trust(self, setup: SimulationSetup | None = None, *, trusted: bool = True) -> None:
        """Stop checking in one setup or in all, or resume it in one."""
        if setup is not None and not trusted:
            self._trusted.discard(setup)
        elif setup is None:
            self._checks = False
        else:
            self._trusted.add(setup)

    def run(
        self,
        setup: SimulationSetup,
        values: Mapping[str, Value],
        once: Callable[[], Outcome],
        forget: Callable[[], None],
    ) -> Outcome:
        """Run a simulation, and again on a new instance if a comparison is due.

        `once` runs it, and `forget` undoes its counts and log. Returns a new instance's result.
        """
        passed, names = self._passed.setdefault(setup, {}), frozenset(values)
        other = self._before != values
        self._before = values
        known = setup in self._trusted or (names in passed and (passed[names] or not other))
        checks = self._checks and self._holder.resets and not known
        count = self._holder.instantiations
        outcome = once()
        # An FMU that refuses its reset has been instantiated anew already.
        if not checks or self._holder.instantiations != count:
            return outcome
        if isinstance(outcome, RunFailed) and outcome.timed_out:
            return outcome
        fresh = self._anew(once, forget)
        if _same(outcome, fresh):
            self._holder.instantiations = count  # that for the comparison was not necessary
            if not isinstance(fresh, RunFailed):
                passed[names] = other
            return fresh
        if isinstance(fresh, RunFailed) and fresh.timed_out:
            return fresh
        again = self._anew(once, forget)
        self._holder.never_reset()
        if _same(fresh, again):
            remark = (
                "a reset does not bring the FMU back to its initial state: it is instantiated"
                " anew for each simulation, which takes longer"
            )
        else:
            remark = (
                "the FMU does not repeat itself, not even when it is instantiated anew: results"
                " depend on what was simulated before"
            )
        self._holder.notes.append(note(remark))
        return again

    def _anew(self, once: Callable[[], Outcome], forget: Callable[[], None]) -> Outcome:
        forget()
        self._holder.set_aside()
        return once()


def _same(first: Outcome, second: Outcome) -> bool:
    if isinstance(first, RunFailed) or isinstance(second, RunFailed):
        both = isinstance(first, RunFailed) and isinstance(second, RunFailed)
        return both and first.message == second.message  # type: ignore[union-attr]
    return bool(np.array_equal(first, second, equal_nan=True))
