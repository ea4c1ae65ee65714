"""Instances of the same FMU with shifted parameters, next to the simulated one.

They are evaluated at the states and times of the run ("internal differentiation": Bock,
Numerical treatment of inverse problems in chemical reaction kinetics, 1981), so that
their differences are free of the integrator's error. Member 0 is not shifted: the
outputs of the simulated instance are unaffected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fmident.arrays import F64
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed, status_word
from fmident.fmu.model_description.variables import Value
from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.sensitivity.columns import Simulated, not_differentiable
from fmident.fmu.model_exchange.sensitivity.stencils import Stencil
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import ERROR, FATAL
from fmident.fmu.tables import I64, failed_call
from fmident.fmu.values import Assignment

Maker = Callable[[], BaseInstance]


class ShiftedInstances:
    """Instances of a plan with sensitivities, reused for all runs."""

    def __init__(self, make: Maker) -> None:
        self._make = make
        self._instances: list[BaseInstance] = []
        self._used: list[bool] = []
        self._of: BaseInstance | None = None
        self.tables: I64 = np.zeros((0, loop.SIZE), np.int64)
        self.reals: F64 = np.zeros((0, loop.REALS))
        self._states: F64 = np.zeros((0, 1))
        self._nominals: F64 = np.zeros((0, 1))

    def begin(self, beside: BaseInstance) -> None:
        """Prepare for a run of another instance; if that is new, all others are renewed, too."""
        if beside is not self._of:
            self.free()
        self._of = beside
        self._used = [True] * len(self._instances)

    def add(
        self,
        member: int,
        run: Simulated,
        assignment: Assignment,
        values: Mapping[str, Value],
    ) -> None:
        """Initialise a member with its values, up to continuous-time mode."""
        instance = self._fresh(member)
        begin, end = float(run.times[0]), float(run.times[-1])
        instance.enter_initialisation(
            begin, end, run.relative, lambda: assignment.apply(instance, values)
        )
        run.inputs.mover.move(instance, run.inputs.groups, 0)
        instance.call(f"{instance.prefix}ExitInitializationMode")
        table, reals = self.tables[member], self.reals[member]
        table[:], reals[:] = run.table, run.reals
        table[program.COMPONENT] = instance.component or 0
        table[loop.MEMORY] = table[loop.VARIATIONS] = 0
        table[loop.VECTOR_DATA] = self._states[member].ctypes.data
        table[loop.TOLERANCE_DATA] = self._nominals[member].ctypes.data
        reals[program.NEXT_EVENT] = np.inf
        self._settle(member, loop.start(table, reals), run, begin)

    def resize(self, members: int, states: int) -> None:
        """Allocate space for the given numbers of instances and states."""
        for instance in self._instances[members:]:
            _free(instance)
        del self._instances[members:]
        self.tables = np.zeros((members, loop.SIZE), np.int64)
        self.reals = np.zeros((members, loop.REALS))
        self._states = np.zeros((members, max(states, 1)))
        self._nominals = np.ones((members, max(states, 1)))

    def _fresh(self, member: int) -> BaseInstance:
        """Return an instance in the state after instantiation."""
        while member >= len(self._instances):
            self._instances.append(self._make())
            self._used.append(False)
        if self._used[member]:
            try:
                self._instances[member].reset()
            except CallFailed as failed:
                _free(self._instances[member], failed.status)
                self._instances[member] = self._make()
        self._used[member] = True
        return self._instances[member]

    def handle(self, member: int, run: Simulated, moved: I64, row: int, time: float) -> F64:
        """Let an instance handle an event at its present position; return its states afterwards."""
        table, reals = self.tables[member], self.reals[member]
        reals[program.TIME] = time
        self._settle(member, loop.handle(table, reals, moved, row), run, time)
        after: F64 = self._states[member]
        return after

    def _settle(self, member: int, outcome: int, run: Simulated, time: float) -> None:
        if outcome < 0 or outcome == program.TERMINATED:
            return
        if outcome == program.CALL:
            table = self.tables[member]
            function, status = int(table[program.FAILED_FUNCTION]), int(table[program.CALL_STATUS])
            raise failed_call(run.library, function, status)
        raise not_differentiable(
            f"an event at t = {time!r} s does not settle with slightly other parameters", time
        )

    @property
    def starts(self) -> F64:
        """States after initialisation, shape (members, states)."""
        return self._states

    def end(self) -> None:
        """End a complete run."""
        for k, instance in enumerate(self._instances):
            if self._used[k]:
                try:
                    instance.terminate()
                except CallFailed as failed:
                    self.give_up(k, failed)
                    return

    def replace(self, member: int, failed: CallFailed) -> bool:
        """Replace a failed instance; return False if FMI forbids further use of any."""
        if failed.status == FATAL:
            self.give_up(member, failed)
            return False
        if failed.status >= ERROR and member < len(self._instances):
            _free(self._instances[member], failed.status)
            self._instances[member] = self._make()
            self._used[member] = False
        return True

    def give_up(self, member: int, failed: CallFailed) -> None:
        """Free all instances after a failure of one of them."""
        if member < len(self._instances):
            _free(self._instances.pop(member), failed.status)
        self.free()

    def free(self) -> None:
        """Free all instances."""
        while self._instances:
            _free(self._instances.pop())
        self._of = None


def _free(instance: BaseInstance, status: int = 0) -> None:
    if status == FATAL or not instance.library.functions:
        instance.abandon()
    else:
        instance.free()


def in_words(stencil: Stencil, failed: CallFailed) -> str:
    """Return a description of the shifted instance that failed."""
    near = " or ".join(f"{v!r}" for v in stencil.values if v not in (0.0,))
    return f"{failed.function} returned {status_word(failed.status)} with '{stencil.name}' = {near}"
