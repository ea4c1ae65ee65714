"""Sensitivities of one setup: data shared by the compiled step and Python, and control.

Columns of a Jacobian without common rows share one difference (Curtis, Powell and Reid,
On the estimation of sparse Jacobian matrices, 1974).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, FmuError
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.signals import output_variable
from fmident.fmu.model_description.variables import Value, native_type
from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.sensitivity import layout as step
from fmident.fmu.model_exchange.sensitivity import variation_step
from fmident.fmu.model_exchange.sensitivity.columns import (
    Columns,
    Simulated,
    not_differentiable,
)
from fmident.fmu.model_exchange.sensitivity.saltation import Saltation
from fmident.fmu.model_exchange.sensitivity.shifted import Maker, ShiftedInstances, in_words
from fmident.fmu.model_exchange.sensitivity.stencils import RELATIVE_SHIFT, Stencil, stencils_of
from fmident.fmu.model_exchange.sundials import Sundials
from fmident.fmu.sensitivity_table import is_known
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import I64, Mover, address_of, make_groups, prefix_of

_EVENT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
_SMALLEST_FACTOR = 1e-4


class Variations:
    """Integrates the sensitivities in addition to the states, using CVODE's dense output."""

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        sundials: Sundials,
        run: Simulated,
        make: Maker,
    ) -> None:
        self._vector: int | None = None
        self.members = ShiftedInstances(make)
        self._description, self._sundials, self._run = description, sundials, run
        self._known = setup.sensitivities
        refuse_unknown(description, self._known)
        self.head: I64 = np.zeros(step.SIZE, np.int64)
        self._reals: F64 = np.zeros(step.REALS_SIZE)
        self._kept: list[object] = []
        self._factors = np.ones(len(self._known))
        self._bent: dict[int, float] = {}
        self._rough: set[int] = set()
        # Errors of differences are about the square of it.
        self._limit = max(3e-5, 0.1 * math.sqrt(min(1e3 * run.relative, 1.0)))
        self._trusts_directions = self._trusts_dependencies = True
        self.raised: BaseException | None = None
        self._said: list[str] = []
        self._event = _EVENT(self._on_event)
        self._outputs(setup)

    # ------------------------------------------------------------------ the outputs

    def _outputs(self, setup: SimulationSetup) -> None:
        """Lay out the variables to read at each instant."""
        names, rows = setup.output_names, setup.times.size
        variables = [output_variable(self._description, name) for name in names]
        self._coarse = [v.name for v in variables if native_type(v) == "Float32"]
        places = [k for k, v in enumerate(variables) if native_type(v) in ("Real", "Float64")]
        prefix = prefix_of(self._description)
        chosen = [variables[k] for k in places]
        groups = make_groups(chosen, 1, prefix, [None] * len(chosen))
        self._count = len(names)
        self._read = [(places[k], c) for g in groups for k, c in g.columns]
        width = groups[0].values.shape[1] if groups else 0
        self.derivatives: F64 = np.zeros((rows, len(self._known), width))
        self._of_state: I64 = np.full(max(width, 1), -1, np.int64)
        head = self.head
        if groups:
            (group,) = groups
            self._group = group
            mover = Mover(self._run.library, "Get", prefix)
            head[step.GETTER] = self._run.library.address(mover.function(group))
            head[step.REFERENCES] = group.references.ctypes.data
            head[step.REFERENCE_COUNT] = group.references.size
            head[step.OUTPUTS] = address_of(group.values)
            listed = list(self._description.state_references)
            for reference, column in group.places.items():
                if reference in listed:
                    self._of_state[column] = listed.index(reference)
        head[step.WIDTH] = width

    def beside(self, outputs: F64) -> F64:
        """Return outputs of shape (rows, n) with their derivatives, (rows, n * (1 + k))."""
        table = np.zeros((len(outputs), 1 + len(self._known), self._count))
        table[:, 0] = outputs
        for place, column in self._read:
            table[:, 1:, place] = self.derivatives[:, :, column]
        return table.reshape(len(outputs), -1)

    # ------------------------------------------------------------------ start of a run

    def begin(
        self,
        instance: BaseInstance,
        values: Mapping[str, Value],
    ) -> None:
        """Initialise the shifted instances, after the simulated one."""
        run, n = self._run, int(self._run.table[loop.STATES])
        self.raised = None
        if self._coarse:
            raise not_differentiable(
                f"output '{self._coarse[0]}' is Float32, too coarse for differences",
                float(self._run.times[0]),
            )
        self.derivatives[:] = np.nan
        choices = [
            stencils_of(self._description.variable(k), self._value(k, values), float(f))
            for k, f in zip(self._known, self._factors, strict=True)
        ]
        self.members.begin(instance)
        self.members.resize(1 + sum(max((len(s.values) for s in c), default=0) for c in choices), n)
        self.members.add(0, run, run.assignment(tuple(values)), values)
        stencils: list[Stencil] = []
        member = 1
        for name, candidates in zip(self._known, choices, strict=True):
            stencils.append(self._first_good(name, candidates, member, values))
            member += len(stencils[-1].values)
        starts = self.members.starts[:member, :n]
        self._columns = Columns(stencils, starts, self._nominals(n))
        self._lay_out(n)
        begin = float(run.times[0])
        self._columns.check_smooth(starts, begin, "the start")
        self._saltation.check_slopes(begin, starts[0].copy(), "the start")

    def _value(self, name: str, values: Mapping[str, Value]) -> float:
        value = values.get(name, self._description.variable(name).start)
        if value is None:
            raise FmuError(
                f"'{name}' has no start value: there is nothing to differentiate at",
                hint="give it one in the start values",
                code=Code.NOT_SUPPORTED,
            )
        return float(value)

    def _first_good(
        self,
        name: str,
        choices: Sequence[Stencil],
        member: int,
        values: Mapping[str, Value],
    ) -> Stencil:
        """Return the first stencil with which the FMU can be initialised."""
        reason = "its range has no room for a difference"
        # Only this one is set beside what the run sets: others may be aliases of it.
        assignment = self._run.assignment(tuple({**values, name: 0.0}))
        for stencil in choices:
            try:
                for k, value in enumerate(stencil.values):
                    shifted = {**values, name: value}
                    self.members.add(member + k, self._run, assignment, shifted)
            except CallFailed as failed:
                reason = in_words(stencil, failed)
                if not self.members.replace(member + k, failed):
                    break
                continue
            return stencil
        raise not_differentiable(f"with respect to '{name}': {reason}", float(self._run.times[0]))

    def _lay_out(self, n: int) -> None:
        """Fill the table of the compiled step."""
        table, head, columns, knowns = self._run.table, self.head, self._columns, len(self._known)
        members = columns.offsets.size
        units = np.array([abs(s.offsets[-1]) / RELATIVE_SHIFT for s in columns.stencils])
        floors = 1e-8 * columns.nominals[np.newaxis] / units[:, np.newaxis]
        known = self._description.derivative_dependencies if self._trusts_dependencies else ()
        colours, pattern = colours_of(known, n)
        wide, m = 3 * n, max(n, 1)
        blocks: dict[int, F64 | I64] = {
            step.FIRST: columns.first, step.OFFSETS: columns.offsets,
            step.WEIGHTS: columns.weights, step.SENSITIVITIES: columns.now,
            step.LARGEST: np.abs(columns.now), step.FLOORS: floors, step.SIZES: columns.sizes,
            step.NOMINALS: columns.nominals,
            step.POINT: np.zeros(m), step.SHIFTED: np.zeros(m), step.VALUES: np.zeros(m),
            step.OTHER: np.zeros(m), step.AWAY: np.zeros(m), step.BEFORE: np.zeros(m),
            step.MIDDLE: np.zeros(m), step.AFTER: np.zeros(m), step.SWING: np.zeros(m),
            step.BASE: np.zeros(m), step.FACTORS: np.ones(m),
            step.LIMITS: self._limits(),
            step.MATRICES: np.zeros(4 * m * m),
            step.FORCES: np.zeros(4 * knowns * m), step.RATES: np.zeros(knowns * m),
            step.BIG: np.zeros(wide * (wide + knowns) + 1), step.SMALL: np.zeros(m * (m + knowns)),
            step.RIGHT: np.zeros(knowns * wide + 1), step.VECTOR_DATA: np.zeros(m),
            step.COLOURS: colours, step.PATTERN: pattern, step.PLACES: self._of_state,
            step.OLD: np.zeros(5 * max(int(table[loop.INDICATORS]), 1)),
            step.REALS: self._reals, step.DERIVATIVES: self.derivatives,
        }  # fmt: skip
        for place, block in blocks.items():
            head[place] = address_of(block)
        self._kept = [blocks]
        if self._of_state.max(initial=-1) >= n or len(self._description.state_references) != n:
            self._of_state[:] = -1
        head[step.STATES], head[step.KNOWNS], head[step.MEMBERS] = n, knowns, members
        head[step.TABLES] = address_of(self.members.tables)
        head[step.MAIN] = address_of(table)
        head[step.DIRECTIONAL] = table[loop.DIRECTIONAL] if self._trusts_directions else 0
        head[step.COLOUR_COUNT] = int(colours.max(initial=-1)) + 1
        head[step.KEPT] = head[step.SUBSTEPS] = head[step.WHY] = head[step.STEPS_SEEN] = 0
        head[step.UNRESOLVED] = 0
        head[step.FAILED_MEMBER] = head[step.TRACKED] = head[step.FOLLOWED] = 0
        head[step.INDICATORS] = table[loop.INDICATORS]
        # The error of the third-order estimate is about that of the fifth to the power 4/6.
        relative = self._run.relative
        self._reals[:] = np.inf, relative ** (2.0 / 3.0), relative, 0.0, self._limit, 0.0
        self._make_vector(n, blocks[step.VECTOR_DATA])
        self._saltation = Saltation(self._run, columns, self.members, self._reduce, self._restart)
        table[loop.VARIATIONS] = address_of(head)
        table[loop.VARY_STEP] = variation_step.step.address
        table[loop.VARY_ROW] = variation_step.record.address
        table[loop.VARY_EVENT] = ctypes.cast(self._event, ctypes.c_void_p).value or 0

    def _limits(self) -> F64:
        """Return for each parameter the limit of second differences relative to first ones."""
        limits = np.full(len(self._known), self._limit)
        limits[list(self._rough)] = np.inf
        return limits

    def _nominals(self, n: int) -> F64:
        allowed = np.ctypeslib.as_array(
            ctypes.cast(int(self._run.table[loop.TOLERANCE_DATA]), ctypes.POINTER(ctypes.c_double)),
            (max(n, 1),),
        )
        nominals: F64 = allowed[:n] / self._run.relative
        return nominals

    def _make_vector(self, n: int, block: F64 | I64) -> None:
        self._free_vector()
        call = self._sundials.call
        if n > 0:
            self._vector = call("N_VMake_Serial", n, address_of(block), self._sundials.context)
        self.head[step.VECTOR] = self._vector or 0

    def _free_vector(self) -> None:
        if self._vector:
            self._sundials.call("N_VDestroy", self._vector)
        self._vector = None

    def _restart(self) -> None:
        """Restart the integration after an event."""
        head = self.head
        head[step.KEPT] = head[step.TRACKED] = head[step.FOLLOWED] = 0
        self._reals[step.NEXT_SIZE] = np.inf

    def remarks(self) -> list[str]:
        """Return notes for the user, only once."""
        notes, self._said = self._said, []
        return notes

    # ------------------------------------------------------------------ within a run

    def record_first(self, time: float) -> None:
        """Write the derivatives at the first instant."""
        record = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_double, ctypes.c_int64)
        if record(variation_step.record.address)(address_of(self.head), time, 0) != 0:
            raise self.failure(time)

    def _on_event(self, phase: int, inputs: int) -> int:
        try:
            if phase == 0:
                self._saltation.before(bool(inputs))
            else:
                self._saltation.after()
        except BaseException as error:  # it must not pass through compiled code
            self.raised = error
            return 1
        return 0

    def failure(self, time: float) -> BaseException:
        """Return why the loop stopped because of sensitivities."""
        error, self.raised = self.raised, None
        if error is not None:
            return error
        head, at = self.head, f" at t = {time!r} s"
        why, member = int(head[step.WHY]), int(head[step.FAILED_MEMBER])
        if why == step.LIES:
            what = "directional derivatives" if head[step.DIRECTIONAL] else "dependencies"
            self._said.append(
                f"the FMU's {what} differ from differences of its equations: sensitivities are"
                " computed from differences"
            )
            if head[step.DIRECTIONAL]:
                self._trusts_directions = False
            else:
                self._trusts_dependencies = False
            return RunFailed(
                "directional derivatives differ from differences", time=time, again=True
            )
        name = self._columns.name_of(member)
        if why == step.TOUCHED:
            when = float(self._reals[step.AT])
            return not_differentiable(
                f"event indicator {int(head[step.WHICH])} only touches zero at t = {when!r} s:"
                " whether there is an event depends on the parameters",
                when,
            )
        if why == step.ROUGH:
            return self._finer(int(head[step.WHICH]), float(self._reals[step.BENT]))
        if why == step.KINK:
            return not_differentiable(f"a derivative of a state has a kink{at}", time)
        if why == step.JUMPS:
            when = float(self._reals[step.AT])
            return not_differentiable(
                f"the derivative of state {int(head[step.WHICH])} (counted from 0) jumps at"
                f" t = {when!r} s, and the FMU has no event there",
                when,
            )
        if why == step.TOO_SMALL:
            return not_differentiable(
                f"the sensitivities change too fast{at}: the step became too small", time
            )
        if why == step.NOT_FINITE:
            return not_differentiable(
                f"derivatives of the states are not finite{at} with {name}", time
            )
        return not_differentiable(f"the FMU fails{at} with {name}", time)

    def _finer(self, j: int, bent: float) -> RunFailed:
        """Return how to proceed, such as smaller shifts, if derivatives are too curved."""
        last, again = self._bent.get(j, math.inf), RunFailed("other shifts", time=0.0, again=True)
        if bent > 3.0 * last:  # rounding: the shift before was better
            self._factors[j] *= 10.0
            self._rough.add(j)
            return again
        self._bent[j] = bent
        if self._reduce(j, 0.1):
            return again
        if bent > 0.1:
            time = float(self._reals[step.AT])
            return not_differentiable(
                f"there is a kink with respect to '{self._known[j]}' at t = {time!r} s, at exactly"
                " this value",
                time,
            )
        self._rough.add(j)
        return again

    def _reduce(self, j: int, factor: float) -> bool:
        """Decrease the shift of a parameter in later runs; return whether that is possible."""
        if self._factors[j] * factor < _SMALLEST_FACTOR:
            return False
        self._factors[j] *= factor
        return True

    def refuse_not_finite(self, begin: int, end: int) -> None:
        """Raise RunFailed if a derivative in these rows is NaN or infinite."""
        block = self.derivatives[begin:end]
        if np.isfinite(block).all():
            return
        row, j, _ = (int(k) for k in np.argwhere(~np.isfinite(block))[0])
        time = float(self._run.times[begin + row])
        raise not_differentiable(
            f"a derivative with respect to '{self._known[j]}' is not finite at t = {time!r} s", time
        )

    def close(self) -> None:
        """End a run; keep the instances."""
        self._free_vector()

    def free(self) -> None:
        """Free everything; repeated calls have no effect."""
        self.close()
        self.members.free()

    def __del__(self) -> None:
        self.free()


def refuse_unknown(description: ModelDescription, known: Sequence[str]) -> None:
    """Raise `FmuError` for variables that cannot be differentiated, or not with respect to."""
    if description.only_once_per_process:
        raise FmuError(
            f"the FMU of '{description.name}' allows one instance per process, and derivatives need"
            " several",
            hint="leave out the sensitivities: finite differences do without",
            code=Code.NOT_SUPPORTED,
        )
    for name in known:
        if not is_known(description.variable(name)):
            raise FmuError(
                f"outputs cannot be differentiated with respect to '{name}'",
                hint="Real parameters and start values of states can be named",
                code=Code.NOT_SUPPORTED,
            )


def colours_of(known: Sequence[Sequence[int] | None], n: int) -> tuple[I64, I64]:
    """Return a colour for each of n states, and the pattern of df/dx, shape (n, n).

    `known` are the states on which each derivative depends, ``None`` for possibly all.
    States of the same colour have no derivative in common.
    """
    pattern = np.ones((n, n), np.int64)
    if len(known) == n:
        for i, states in enumerate(known):
            if states is not None:
                pattern[i] = 0
                pattern[i, list(states)] = 1
    colours = np.full(n, -1, np.int64)
    for j in range(n):
        rows = pattern[:, j] == 1
        used = {int(colours[k]) for k in range(j) if np.any(pattern[rows, k])}
        colours[j] = next(c for c in range(n) if c not in used)
    return colours, pattern
