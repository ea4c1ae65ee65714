"""Instances of the same FMU with shifted parameters, next to the simulated one.

They are evaluated at the states and times of the run ("internal differentiation": Bock,
Numerical treatment of inverse problems in chemical reaction kinetics, 1981), so that
their differences are free of the integrator's error. Member 0 is not shifted: the
outputs of the simulated instance are unaffected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed
from fmident.fmu.model_description.variables import Value, Variable
from fmident.fmu.model_exchange.plan import ExchangePlan
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import ERROR, FATAL
from fmident.fmu.native_code.loops import ModelExchangeRun, loops
from fmident.fmu.native_code.program import Program
from fmident.fmu.values import I64, Assignment, address_of, failed_call

RELATIVE_SHIFT = 2e-6
"""Relative shift of a parameter: for smooth models its error is the square, and rounding gives
1e-10."""

_WEIGHTS = {
    (-1.0, 1.0): (-0.5, 0.5),
    (0.0, 1.0, 2.0): (-1.5, 2.0, -0.5),
    (0.0, -1.0, -2.0): (-1.5, 2.0, -0.5),
}
"""Shifts in units and their weights, the first that the parameter's range and the FMU allow:
central differences, and one-sided ones of the same order."""

VECTORS, POINT, FACTORS, SIZES, NOMINALS, DENSE = 14, 0, 10, 11, 12, 13
"""Number of vectors of states in ``c/sensitivities.c``, and the place of some of them."""

NOW, LARGEST, FLOORS, MATRICES = 0, 1, 2, 8
"""Likewise of matrices with a row for each parameter."""

_KINK = 0.02
"""What one-sided derivatives may differ by: shifts of 1e-6 leave 1e-6 of smooth functions."""


@dataclass(frozen=True)
class Stencil:
    """Values of one parameter, and weights of a difference formula.

    `offsets` are relative to the value in the run.
    """

    name: str
    values: tuple[float, ...]
    offsets: tuple[float, ...]
    weights: tuple[float, ...]


def stencils_of(variable: Variable, value: float, factor: float = 1.0) -> list[Stencil]:
    """Return the stencils that the variable's range permits, the best first, by `factor`."""
    start = variable.start if isinstance(variable.start, int | float) else 0.0
    scale = max(abs(value), abs(variable.nominal or 0.0), abs(float(start))) or 1.0
    unit = 2.0 ** round(math.log2(RELATIVE_SHIFT * factor * scale))
    low = -math.inf if variable.minimum is None else variable.minimum
    high = math.inf if variable.maximum is None else variable.maximum
    stencils = []
    for pattern, shares in _WEIGHTS.items():
        values = tuple(value + k * unit for k in pattern)
        width = (values[-1] - values[0]) / (pattern[-1] - pattern[0])
        if width != 0.0 and all(low <= v <= high for v in values):
            offsets, weights = tuple(v - value for v in values), tuple(w / width for w in shares)
            stencils.append(Stencil(variable.name, values, offsets, weights))
    return stencils


class Columns:
    """Sensitivities of the states with respect to each parameter, shape (parameters, n).

    `starts` are the states of each instance, shape (members, n): the unshifted one, then
    those of the first parameter's stencil, and so on; `first` are the first members, and
    the end. `vectors` and `now` are shared with compiled code.
    """

    def __init__(self, stencils: Sequence[Stencil], starts: F64, nominals: F64) -> None:
        self.stencils = tuple(stencils)
        counts = np.array([1, *(len(s.values) for s in stencils)])
        self.first: I64 = np.cumsum(counts).astype(np.int64)
        self.offsets: F64 = np.array([0.0, *(o for s in stencils for o in s.offsets)])
        self.weights: F64 = np.array([0.0, *(w for s in stencils for w in s.weights)])
        self._of = np.repeat(np.arange(-1, len(self.stencils)), counts)
        knowns, n = len(self.stencils), starts.shape[1]
        self.vectors: F64 = np.zeros((VECTORS, n))
        self.vectors[FACTORS] = 1.0
        self.vectors[SIZES], self.vectors[NOMINALS] = np.abs(starts[0]), nominals
        self.blocks: F64 = np.zeros((MATRICES, knowns, n))
        self.now: F64 = self.blocks[NOW]
        self.take(starts)
        self.blocks[LARGEST] = np.abs(self.now)
        units = np.array([abs(s.offsets[-1]) / RELATIVE_SHIFT for s in stencils])
        self.blocks[FLOORS] = 1e-8 * nominals / units[:, np.newaxis]

    @property
    def scale(self) -> F64:
        """The largest values of the states so far, nominal ones where these are zero."""
        sizes, nominals = self.vectors[SIZES], self.vectors[NOMINALS]
        return np.asarray(np.where(sizes > 0.0, sizes, nominals))

    def take(self, results: F64) -> None:
        """Set the sensitivities to differences of states, shape (members, n)."""
        for j in range(len(self.stencils)):
            chosen = slice(int(self.first[j]), int(self.first[j + 1]))
            self.now[j] = self.weights[chosen] @ results[chosen]

    def states(self, x: F64) -> F64:
        """Return the states of all instances on their trajectories, when the run is at `x`."""
        return x + self.offsets[:, np.newaxis] * self.now[self._of]

    def name_of(self, member: int) -> str:
        """Return a description of an instance's shift."""
        if member == 0:
            return "the parameters of the run"
        return f"'{self.stencils[self._of[member]].name}' shifted by {self.offsets[member]:.1e}"

    def check_smooth(self, results: F64, t: float, where: str) -> None:
        """Raise `RunFailed` for a kink or jump in a parameter: different one-sided derivatives.

        `results` are those of the instances, shape (members, n).
        """
        for j, stencil in enumerate(self.stencils):
            low, high = results[self.first[j]], results[self.first[j + 1] - 1]
            one_sided = len(stencil.values) == 3
            middle = results[self.first[j] + 1] if one_sided else results[0]
            bend = np.abs(high + low - 2.0 * middle)
            size = np.max(np.abs(results), axis=0)
            if np.any(bend > _KINK * np.abs(high - low) + 1e-9 * size + 1e-300):
                raise not_differentiable(
                    f"at {where}, derivatives with respect to '{stencil.name}' to the left and to"
                    " the right differ: something happens there at exactly this value",
                    t,
                )


class ShiftedInstances:
    """Instances of a run with sensitivities, reused for all runs."""

    def __init__(self, plan: ExchangePlan, make: Callable[[], BaseInstance]) -> None:
        self._plan, self._make = plan, make
        self._instances: list[BaseInstance] = []
        self._used: list[bool] = []
        self._of: BaseInstance | None = None

    def begin(self, beside: BaseInstance, members: int, states: int) -> None:
        """Prepare for a run of another instance; if that is new, all others are renewed, too."""
        if beside is not self._of:
            self.free()
        self._of = beside
        for instance in self._instances[members:]:
            instance.free()
        del self._instances[members:]
        self._used = [True] * len(self._instances)
        self.runs = (ModelExchangeRun * members)()
        self.states: F64 = np.zeros((members, max(states, 1)))
        self._nominals: F64 = np.ones((members, max(states, 1)))

    def add(self, member: int, assignment: Assignment, values: Mapping[str, Value]) -> None:
        """Initialise a member with its values, up to continuous-time mode."""
        instance, plan = self._fresh(member), self._plan
        plan.enter(instance, lambda: assignment.apply(instance, values), plan.relative)
        self.runs[member] = plan.run
        run = self.runs[member]
        run.component = instance.component or 0
        run.memory = run.sensitivities = 0
        run.x = address_of(self.states[member])
        run.allowed = address_of(self._nominals[member])
        run.next_event = np.inf
        outcome = loops().settle_model_exchange(run.address)
        self._settle(member, outcome, float(plan.times[0]))

    def _fresh(self, member: int) -> BaseInstance:
        """Return an instance in the state after instantiation."""
        while member >= len(self._instances):
            self._instances.append(self._make())
            self._used.append(False)
        if self._used[member]:
            try:
                self._instances[member].reset()
            except CallFailed as failed:
                self._instances[member].free(failed.status)
                self._instances[member] = self._make()
        self._used[member] = True
        return self._instances[member]

    def handle(self, member: int, moved: Program, row: int, time: float) -> F64:
        """Let an instance handle an event at its present position; return its states afterwards."""
        run = self.runs[member]
        run.time = time
        outcome = loops().handle_event(run.address, moved.ctypes.data, moved.size, row)
        self._settle(member, outcome, time)
        after: F64 = self.states[member]
        return after

    def _settle(self, member: int, outcome: int, time: float) -> None:
        if outcome < 0 or outcome == program.TERMINATED:
            return
        if outcome == program.CALL:
            run = self.runs[member]
            raise failed_call(self._plan.library, run.failed_function, run.call_status)
        raise not_differentiable(
            f"an event at t = {time!r} s does not settle with slightly other parameters", time
        )

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
            self._instances[member].free(failed.status)
            self._instances[member] = self._make()
            self._used[member] = False
        return True

    def give_up(self, member: int, failed: CallFailed) -> None:
        """Free all instances after a failure of one of them."""
        if member < len(self._instances):
            self._instances.pop(member).free(failed.status)
        self.free()

    def free(self) -> None:
        """Free all instances."""
        while self._instances:
            self._instances.pop().free()
        self._of = None


def in_words(stencil: Stencil, failed: CallFailed) -> str:
    """Return a description of the shifted instance that failed."""
    near = " or ".join(f"{v!r}" for v in stencil.values if v not in (0.0,))
    return f"{failed} with '{stencil.name}' = {near}"


def not_differentiable(message: str, time: float) -> RunFailed:
    """Return the failure of a run that has outputs, but not their derivatives."""
    return RunFailed(
        f"the outputs cannot be differentiated: {message}",
        time=time,
        says_time=False,
        hint="simulate without sensitivities, and use finite differences",
        code=Code.NOT_DIFFERENTIABLE,
    )
