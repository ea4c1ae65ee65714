"""Keeps one instance of an FMU over many runs, and replaces it when necessary.

Check, run by run, whether a used instance is equivalent to a new one.

A reset should restore the state after instantiation, but in FMUs of several tools
states, inputs, calculated values or outputs of the last step remain.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmuError
from fmident.fmu.failure import RunFailed, note, output_records, own_words
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed, status_word
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value
from fmident.fmu.native_code.log import Capture, LogRecord
from fmident.fmu.setup import SimulationSetup

Reuse = Literal["checked", "trusted", "never"]
Outcome = F64 | RunFailed


class InstanceHolder:
    """The instance of a simulator, created by `make` with full logging or not.

    `instantiations` is 1 unless another was necessary; `notes` are for the present run's
    log.
    """

    def __init__(
        self,
        description: ModelDescription,
        make: Callable[[bool], BaseInstance],
        *,
        debug_logging: bool,
    ) -> None:
        self._description = description
        self._make = make
        self._debug = debug_logging
        self._instance: BaseInstance | None = None
        self._fresh = True
        self._can_reset = True
        self._reason = ""
        self.instantiations = 0
        self.notes: list[LogRecord] = []

    @property
    def instance(self) -> BaseInstance:
        """The live instance, which exists from :meth:`renew` to the end of a run."""
        assert self._instance is not None, "a run begins by renewing the instance"
        return self._instance

    def make_first(self, capture: Capture, records: Callable[[], list[LogRecord]]) -> None:
        """Instantiate the FMU; raise `FmuError` with its own messages if it refuses."""
        good = capture.around(lambda: self._try(debug=self._debug))
        messages = records()
        if not good and not messages and not self._debug:
            # Many FMUs say why only when logging is on.
            good = capture.around(lambda: self._try(debug=True))
            messages = records()
        if good:
            return
        reason = own_words([*messages, *output_records(capture.text)])
        name, tool = self._description.name, self._description.generation_tool
        raise FmuError(
            f"the FMU of '{name}' refuses to be instantiated"
            + (f": {reason}" if reason else " and does not say why"),
            hint=f"the FMU needs the tool that made it ({tool}): is it installed here?"
            if self._description.needs_execution_tool
            else "a wrong GUID (library and description do not belong together), a missing"
            " licence or resource are the usual reasons",
        )

    def _try(self, *, debug: bool) -> bool:
        try:
            self._instantiate(debug=debug)
        except CallFailed:
            return False
        return True

    def _instantiate(self, *, debug: bool) -> None:
        self._instance = self._make(debug)
        self._fresh = True
        self.instantiations += 1

    def renew(self) -> BaseInstance:
        """Return an instance in the state after instantiation: reset, or new."""
        if self._instance is not None and not self._fresh and not self._reset():
            self.drop()
        if self._instance is None:
            self._instantiate(debug=self._debug)
            if self._reason:
                self.notes.append(note(self._reason))
                self._reason = ""
        self._fresh = False
        return self.instance

    @property
    def is_new(self) -> bool:
        """Whether nothing has run on the instance since its creation."""
        return self._fresh and self._instance is not None

    @property
    def resets(self) -> bool:
        """Whether the next run begins with a reset."""
        return self._instance is not None and not self._fresh and self._can_reset

    def set_aside(self) -> None:
        """Free the instance, used or not; the next run uses a new one."""
        self.instantiations -= self.is_new
        self.drop()
        self._reason = ""

    def never_reset(self) -> None:
        """Use a new instance for each run from now on."""
        self._can_reset = False

    def _reset(self) -> bool:
        if not self._can_reset:
            return False
        try:
            self.instance.reset()
        except CallFailed as failed:
            self._can_reset = False
            self.notes.append(note(f"{failed}; the FMU is instantiated for each run"))
            self.drop(failed.status)
            return False
        return True

    def give_up(self, status: int) -> None:
        """Free an instance that returned Error or Fatal."""
        self.drop(status)
        self._reason = f"instantiated anew, since the last run ended with {status_word(status)}"

    def part(self) -> None:
        """Free an instance that requested termination: not all FMUs revoke that when reset."""
        self.drop()
        self._reason = "instantiated anew, since the FMU itself ended the last run"

    def drop(self, status: int = 0) -> None:
        """Free the instance, if there is one; after Fatal, FMI forbids even that."""
        instance, self._instance = self._instance, None
        if instance is not None:
            instance.free(status)


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

    def comparison(self, setup: SimulationSetup, values: Mapping[str, Value]) -> Comparison | None:
        """Return how to check the run that follows; ``None`` if nothing is to be checked."""
        passed, names = self._passed.setdefault(setup, {}), frozenset(values)
        other = self._before != values
        self._before = values
        known = setup in self._trusted or (names in passed and (passed[names] or not other))
        if not self._checks or not self._holder.resets or known:
            return None
        count = self._holder.instantiations
        return Comparison(self._holder, count, lambda: passed.update({names: other}))


@dataclass(frozen=True)
class Comparison:
    """Comparison of one run on a used instance with the same run on new ones.

    `count` is the number of instantiations before; `accept` notes that the reset is trustworthy.
    """

    holder: InstanceHolder
    count: int
    accept: Callable[[], None]

    def needs_another(self, outcomes: Sequence[Outcome]) -> bool:
        """Return whether to run again, on a new instance; else draw the conclusion.

        The first of the outcomes is that of the used instance. The last one counts.
        """
        if len(outcomes) == 1:
            # An FMU that refuses its reset has been instantiated anew already.
            return self.holder.instantiations == self.count and not _timed_out(outcomes[0])
        same = _same(*outcomes[-2:])
        if len(outcomes) == 3:
            self._give_up_resets(same)
        elif same:
            self.holder.instantiations = self.count  # the new one was not necessary
            if not isinstance(outcomes[1], RunFailed):
                self.accept()
        return len(outcomes) == 2 and not same and not _timed_out(outcomes[1])

    def _give_up_resets(self, repeats_itself: bool) -> None:
        """Instantiate for each run from now on, and note why."""
        self.holder.never_reset()
        if repeats_itself:
            remark = (
                "a reset does not bring the FMU back to its initial state: it is instantiated"
                " anew for each simulation, which takes longer"
            )
        else:
            remark = (
                "the FMU does not repeat itself, not even when it is instantiated anew: results"
                " depend on what was simulated before"
            )
        self.holder.notes.append(note(remark))


def _timed_out(outcome: Outcome) -> bool:
    return isinstance(outcome, RunFailed) and outcome.timed_out


def _same(first: Outcome, second: Outcome) -> bool:
    if isinstance(first, RunFailed) or isinstance(second, RunFailed):
        both = isinstance(first, RunFailed) and isinstance(second, RunFailed)
        return both and first.message == second.message  # type: ignore[union-attr]
    return bool(np.array_equal(first, second, equal_nan=True))
