"""Sensitivities of one setup: control of what the compiled step computes, and events.

Columns of a Jacobian without common rows share one difference (Curtis, Powell and Reid,
On the estimation of sparse Jacobian matrices, 1974).

At a state event, where an indicator g(t, x, p) becomes zero, the time of the event
depends on the parameters: dt/dp = -(g_x*s + g_p)/(g_t + g_x*f). With the states after
the event x+ = R(t, x, p) and the derivatives f before and f+ after it,

    s+ = R_x*(s + f*dt/dp) + R_t*dt/dp + R_p - f+*dt/dp

(Rozenvasser, General sensitivity equations of discontinuous systems, 1967; Hiskens and
Pai, Trajectory sensitivity analysis of hybrid systems, 2000). The first three terms are
differences of the instances with shifted parameters, which handle the event on their
own trajectories and then have their own discrete states.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, FmuError
from fmident.fmu.driver import Driver
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed
from fmident.fmu.model_description.description import output_variable
from fmident.fmu.model_description.variables import Value, native_type
from fmident.fmu.model_exchange.plan import ExchangePlan
from fmident.fmu.model_exchange.shifted_instances import (
    DENSE,
    POINT,
    Columns,
    ShiftedInstances,
    Stencil,
    in_words,
    not_differentiable,
    stencils_of,
)
from fmident.fmu.model_exchange.sundials import Sundials
from fmident.fmu.native_code import program
from fmident.fmu.native_code.loops import SensitivityRun, loops, zero
from fmident.fmu.plan import Runner
from fmident.fmu.sensitivity_table import known_variables
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.values import I64, Assignment, Mover, address_of, make_groups, prefix_of

_EVENT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
(
    CALL_FAILED, NOT_FINITE, TOO_SMALL, CONTRADICTED, TOUCHED, JUMPS, ROUGH, KINK,
) = range(1, 9)  # fmt: skip
"""Why sensitivities cannot be continued, as in ``c/sensitivities.c``."""

_SMALLEST_FACTOR = 1e-4

TIGHTER, TIGHTEST = 1e-3, 1e-13
"""What the tolerance is multiplied by for derivatives, and what it is at least: CVODE keeps the
error of a step below its tolerance, and in derivatives errors of many steps add up."""

_FAR = 1e-4
"""Largest relative change of a state by a shift."""


class SensitivePlan(ExchangePlan):
    """A plan that integrates the sensitivities beside the states, using CVODE's dense output.

    The outputs are those of a run without sensitivities before, to the last bit.
    """

    def __init__(self, setup: SimulationSetup, driver: Driver, sundials: Sundials) -> None:
        self._vector: int | None = None
        self.members = ShiftedInstances(self, lambda: driver.instantiate(False))
        super().__init__(setup, driver, sundials)
        self._plain = ExchangePlan(replace(setup, sensitivities=()), driver, sundials)
        self.relative = max(self.relative * TIGHTER, TIGHTEST)
        self._driver = driver
        self._known = setup.sensitivities
        if driver.description.only_once_per_process:
            raise FmuError(
                f"the FMU of '{driver.description.name}' allows one instance per process, and"
                " derivatives need several",
                hint="leave out the sensitivities: finite differences do without",
                code=Code.NOT_SUPPORTED,
            )
        known_variables(driver.description, self._known)
        self.equation = SensitivityRun()
        self._factors = np.ones(len(self._known))
        self._bent: dict[int, float] = {}
        self._rough: set[int] = set()
        # Errors of differences are about the square of it.
        self._limit = max(3e-5, 0.1 * math.sqrt(min(1e3 * self.relative, 1.0)))
        self._trusts_directions = self._trusts_dependencies = True
        self._raised: BaseException | None = None
        self._said: list[str] = []
        self._event = _EVENT(self._on_event)
        self._lay_out_outputs(setup)

    # ------------------------------------------------------------------ the outputs

    def _lay_out_outputs(self, setup: SimulationSetup) -> None:
        description = self._driver.description
        variables = [output_variable(description, name) for name in setup.output_names]
        self._count = len(variables)
        self._coarse = [v.name for v in variables if native_type(v) == "Float32"]
        places = [k for k, v in enumerate(variables) if native_type(v) in ("Real", "Float64")]
        prefix = prefix_of(description)
        self._groups = make_groups([variables[k] for k in places], 1, prefix, [None] * len(places))
        self._differentiated = [(places[k], c) for g in self._groups for k, c in g.columns]
        width = sum(g.values.shape[1] for g in self._groups)
        self.derivatives: F64 = np.zeros((setup.times.size, len(self._known), width))
        self._of_state: I64 = np.full(max(width, 1), -1, np.int64)
        for group in self._groups:  # one at most: all are of one type
            listed = list(description.state_references)
            for reference, column in group.places.items():
                if reference in listed:
                    self._of_state[column] = listed.index(reference)

    def assemble(self) -> F64:
        """Return the outputs with their derivatives, shape (rows, n * (1 + k))."""
        outputs = self._plain.assemble()
        table = np.zeros((len(outputs), 1 + len(self._known), self._count))
        table[:, 0] = outputs
        for place, column in self._differentiated:
            table[:, 1:, place] = self.derivatives[:, :, column]
        return table.reshape(len(outputs), -1)

    # ------------------------------------------------------------------ start of a run

    @property
    def passes(self) -> Sequence[ExchangePlan]:
        """The plain run, and that for the derivatives."""
        return self._plain, self

    def initialise(
        self, instance: BaseInstance, assignment: Assignment, values: Mapping[str, Value]
    ) -> None:
        """Initialise a new instance, then those with shifted parameters; see the base class."""
        super().initialise(instance, assignment, values)
        if self._plain.run.repeated != 0:
            time = self._plain.run.repeated_event
            raise not_differentiable(
                f"the event at t = {time!r} s has its effect only when it is repeated: by how much"
                " parameters move it cannot be seen from the event indicators",
                time,
            )
        n = self.run.states
        begin, variable = float(self.times[0]), self._driver.description.variable
        self._raised = None
        if self._coarse:
            raise not_differentiable(
                f"output '{self._coarse[0]}' is Float32, too coarse for differences", begin
            )
        self.derivatives[:] = np.nan
        choices = []
        for name, factor in zip(self._known, self._factors, strict=True):
            value = values.get(name, variable(name).start)
            if value is None:
                raise FmuError(
                    f"'{name}' has no start value: there is nothing to differentiate at",
                    hint="give it one in the start values",
                    code=Code.NOT_SUPPORTED,
                )
            choices.append(stencils_of(variable(name), float(value), float(factor)))
        most = 1 + sum(max((len(s.values) for s in c), default=0) for c in choices)
        self.members.begin(instance, most, n)
        self.members.add(0, self._driver.assignment(tuple(values)), values)
        stencils: list[Stencil] = []
        member = 1
        for name, candidates in zip(self._known, choices, strict=True):
            stencils.append(self._first_good(name, candidates, member, values))
            member += len(stencils[-1].values)
        starts = self.members.states[:member, :n]
        self.columns = Columns(stencils, starts, self.nominals)
        self._lay_out_blocks(n)
        self.columns.check_smooth(starts, begin, "the start")
        self._saltation.check_slopes(begin, starts[0].copy(), "the start")

    def _first_good(
        self, name: str, choices: Sequence[Stencil], member: int, values: Mapping[str, Value]
    ) -> Stencil:
        reason = "its range has no room for a difference"
        # Only this one is set beside what the run sets: others may be aliases of it.
        assignment = self._driver.assignment(tuple({**values, name: 0.0}))
        for stencil in choices:
            try:
                for k, value in enumerate(stencil.values):
                    self.members.add(member + k, assignment, {**values, name: value})
            except CallFailed as failed:
                reason = in_words(stencil, failed)
                if not self.members.replace(member + k, failed):
                    break
                continue
            return stencil
        raise not_differentiable(f"with respect to '{name}': {reason}", float(self.times[0]))

    def _lay_out_blocks(self, n: int) -> None:
        run, equation, columns = self.run, self.equation, self.columns
        description, knowns = self._driver.description, len(self._known)
        known = description.derivative_dependencies if self._trusts_dependencies else ()
        colours, pattern = colours_of(known, n)
        places = self._of_state
        if places.max(initial=-1) >= n or len(description.state_references) != n:
            places[:] = -1
        limits = np.full(knowns, self._limit)  # of second differences relative to first ones
        limits[list(self._rough)] = np.inf
        zero(equation)
        equation.states, equation.knowns, equation.count = n, knowns, len(columns.offsets)
        equation.indicators = run.indicators
        equation.directional = run.directional if self._trusts_directions else 0
        equation.main, equation.members = run.address, ctypes.addressof(self.members.runs)
        self._arrays: dict[str, F64 | I64] = {
            "first": columns.first, "offsets": columns.offsets, "weights": columns.weights,
            "vectors": columns.vectors, "columns": columns.blocks, "matrices": np.zeros((5, n, n)),
            "big": np.zeros((3 * n, 3 * n + knowns)), "small": np.zeros((n, n + knowns)),
            "slopes": np.zeros((3, knowns, n)), "zeros": np.zeros((5, run.indicators)),
            "limits": limits, "colours": np.concatenate([colours, np.arange(n)]),
            "pattern": pattern, "places": places, "derivatives": self.derivatives,
        }  # fmt: skip
        for field, array in self._arrays.items():
            setattr(equation, field, address_of(array))
        for group in self._groups:
            mover = Mover(self.library, "Get", self.prefix)
            equation.getter = self.library.address(mover.function(group))
            equation.references = address_of(group.references)
            equation.reference_count = group.references.size
            equation.outputs, equation.width = address_of(group.values), group.values.shape[1]
        # The error of the third-order estimate is about that of the fifth to the power 4/6.
        equation.allowed, equation.relative = self.relative ** (2.0 / 3.0), self.relative
        equation.limit = self._limit
        self.restart()
        self._free_vector()
        if n > 0:
            dense, context = columns.vectors[DENSE], self._sundials.context
            self._vector = self._sundials.call("N_VMake_Serial", n, address_of(dense), context)
        equation.dense_vector = self._vector or 0
        self._saltation = Saltation(self)
        run.sensitivities = equation.address
        run.on_event = ctypes.cast(self._event, ctypes.c_void_p).value or 0

    def _free_vector(self) -> None:
        if self._vector:
            self._sundials.call("N_VDestroy", self._vector)
        self._vector = None

    def restart(self) -> None:
        """Restart the integration after an event."""
        equation = self.equation
        equation.rates_known = equation.tracked = equation.followed = 0
        equation.next_size = np.inf

    def remarks(self) -> list[str]:
        """Return notes for the user, only once."""
        notes, self._said = self._said, []
        return notes

    # ------------------------------------------------------------------ within a run

    def read(self, instance: BaseInstance, row: int) -> None:
        """Read the recorded variables, with the derivatives at the first instant."""
        super().read(instance, row)
        time = float(self.times[row])
        if loops().record_sensitivities(self.equation.address, time, 0) != 0:
            raise self._failure(time)

    def runner(self, state: I64, pause: Callable[[float], None]) -> Runner:
        """Return the runner of the steps, which refuses derivatives that are not finite."""
        run = super().runner(state, pause)

        def run_checked(begin: int, end: int) -> int:
            good = run(begin, end)
            if good:
                self._refuse_not_finite(begin, end + 1)
            elif state[program.WHY] == program.NO_SENSITIVITIES:
                raise self._failure(self.run.time)
            return good

        return run_checked

    def _on_event(self, phase: int, inputs: int) -> int:
        try:
            if phase == 0:
                self._saltation.before(bool(inputs))
            else:
                self._saltation.after()
        except BaseException as error:  # it must not pass through compiled code
            self._raised = error
            return 1
        return 0

    def _failure(self, time: float) -> BaseException:
        error, self._raised = self._raised, None
        if error is not None:
            return error
        equation, at = self.equation, f" at t = {time!r} s"
        why, which, when = equation.why, equation.which, equation.at
        if why == CONTRADICTED:
            directions = bool(equation.directional)
            what = "directional derivatives" if directions else "dependencies"
            self._said.append(
                f"the FMU's {what} differ from differences of its equations: sensitivities are"
                " computed from differences"
            )
            self._trusts_directions &= not directions
            self._trusts_dependencies &= directions
            return RunFailed(f"{what} differ from differences", time=time, again=True)
        if why == ROUGH:
            return self._finer(which, equation.second_difference)
        if why == TOUCHED:
            return not_differentiable(
                f"event indicator {which} only touches zero at t = {when!r} s:"
                " whether there is an event depends on the parameters",
                when,
            )
        if why == JUMPS:
            return not_differentiable(
                f"the derivative of state {which} (counted from 0) jumps at t = {when!r} s, and"
                " the FMU has no event there",
                when,
            )
        said = {
            KINK: f"a derivative of a state has a kink{at}",
            TOO_SMALL: f"the sensitivities change too fast{at}: the step became too small",
        }.get(why)
        if said is None:
            name = self.columns.name_of(which)
            broken = "derivatives of the states are not finite"
            said = f"{broken if why == NOT_FINITE else 'the FMU fails'}{at} with {name}"
        return not_differentiable(said, time)

    def _finer(self, j: int, bent: float) -> RunFailed:
        """Return how to proceed, such as smaller shifts, if derivatives are too curved."""
        last, again = self._bent.get(j, math.inf), RunFailed("other shifts", time=0.0, again=True)
        if bent > 3.0 * last:  # rounding: the shift before was better
            self._factors[j] *= 10.0
            self._rough.add(j)
            return again
        self._bent[j] = bent
        if self.reduce(j, 0.1):
            return again
        if bent > 0.1:
            time = self.equation.at
            return not_differentiable(
                f"there is a kink with respect to '{self._known[j]}' at t = {time!r} s, at exactly"
                " this value",
                time,
            )
        self._rough.add(j)
        return again

    def reduce(self, j: int, factor: float) -> bool:
        """Decrease the shift of a parameter in later runs; return whether that is possible."""
        if self._factors[j] * factor < _SMALLEST_FACTOR:
            return False
        self._factors[j] *= factor
        return True

    def _refuse_not_finite(self, begin: int, end: int) -> None:
        block = self.derivatives[begin:end]
        if np.isfinite(block).all():
            return
        row, j, _ = (int(k) for k in np.argwhere(~np.isfinite(block))[0])
        time = float(self.times[begin + row])
        raise not_differentiable(
            f"a derivative with respect to '{self._known[j]}' is not finite at t = {time!r} s", time
        )

    def finish(self) -> bool:
        """Free the integrator and end the shifted instances; see the base class."""
        self.close()
        self.members.end()
        return super().finish()

    def free(self) -> None:
        """Free everything; repeated calls have no effect."""
        self._free_vector()
        self.members.free()

    def __del__(self) -> None:
        self.free()


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


class Saltation:
    """Events of one run of a plan, for the simulated instance and the shifted ones."""

    def __init__(self, plan: SensitivePlan) -> None:
        self._plan = plan
        self._count = plan.run.indicators

    # ------------------------------------------------------------------ evaluation

    def _slope(self, member: int, t: float, x: F64) -> F64:
        """Return the state derivatives of one instance, shape (n,)."""
        slope = np.zeros(x.size)
        equation = self._plan.equation.address
        if loops().slopes(equation, member, t, x.ctypes.data, slope.ctypes.data) != 0:
            raise self._failed(member, t)
        return slope

    def _indicators(self, member: int, t: float, x: F64) -> F64:
        """Return the event indicators of one instance, shape (indicators,)."""
        values = np.zeros(self._count)
        equation = self._plan.equation.address
        if loops().indicators_of(equation, member, t, x.ctypes.data, values.ctypes.data) != 0:
            raise self._failed(member, t)
        return values

    def _all(self, of: Callable[[int, float, F64], F64], t: float, x: F64) -> F64:
        states = self._plan.columns.states(x)
        return np.array([of(m, t, states[m]) for m in range(len(states))])

    def _failed(self, member: int, t: float) -> RunFailed:
        name = self._plan.columns.name_of(member)
        return not_differentiable(f"the FMU fails at t = {t!r} s with {name}", t)

    # ------------------------------------------------------------------ the event

    def before(self, inputs: bool) -> None:
        """Let all shifted instances handle the event, before the simulated one does."""
        plan, members = self._plan, self._plan.members
        t = plan.run.time
        self._before = x = plan.states.copy()
        self._slope_before = slope = self._slope(0, t, x)
        root = bool(plan.run.root) and not inputs
        count = len(plan.columns.offsets)
        due = np.array([member.next_event for member in members.runs[:count]])
        self._text = f"the event at t = {t!r} s"
        self._refuse_far()
        delays, extra = self._of_root(t, x, slope) if root else (np.zeros(len(due)), 0.0)
        if not inputs and due[0] <= t:
            waits = self._of_time(t, due)
            if root and np.max(np.abs(waits - delays)) > 1e-3 * np.max(np.abs(waits)) + 1e-12:
                raise not_differentiable(
                    f"a state event and a time event coincide at t = {t!r} s, and their order"
                    " depends on the parameters",
                    t,
                )
            if not root:
                delays = waits
        after = np.zeros((len(delays), x.size))
        states, row = self._plan.columns.states(x), plan.run.row
        for m, wait in enumerate(delays + extra):
            there = states[m] + wait * slope
            if loops().place(members.runs[m].address, t + wait, there.ctypes.data) != 0:
                raise self._failed(m, t + wait)
            members.runs[m].row = row
            try:
                after[m] = members.handle(m, plan.moved(inputs), row, t + wait)[: x.size]
            except CallFailed as failed:
                members.give_up(m, failed)
                raise self._failed(m, t) from None
        self._after, self._delays = after, delays

    def after(self) -> None:
        """Apply the jump to the sensitivities after the simulated instance handled the event."""
        t, x = self._plan.run.time, self._plan.states.copy()
        slope = self._slope(0, t, x)
        at_once = self._after - self._delays[:, np.newaxis] * slope
        if np.any(x != self._before) or np.any(slope != self._slope_before):
            self._plan.columns.check_smooth(at_once, t, self._text)
        self._plan.columns.take(at_once)
        self._plan.restart()
        self.check_slopes(t, x, self._text)

    def check_slopes(self, t: float, x: F64, where: str) -> None:
        """Refuse state derivatives with a kink, since discrete states may have jumped."""
        self._plan.columns.check_smooth(self._all(self._slope, t, x), t, where)

    def _refuse_far(self) -> None:
        """Request smaller shifts if states move too far for first-order terms."""
        columns, again = self._plan.columns, False
        for j, stencil in enumerate(columns.stencils):
            far = np.max(np.abs(columns.now[j]) / columns.scale, initial=0.0)
            far *= max(map(abs, stencil.offsets))
            if far > _FAR:
                again |= self._plan.reduce(j, 0.1 * _FAR / far)
        if again:
            raise RunFailed("smaller shifts are needed", time=0.0, again=True)

    # ------------------------------------------------------------------ when it happens

    def _of_time(self, t: float, due: F64) -> F64:
        """Return the delay of the time event in each instance."""
        if not np.isfinite(due).all():
            name = self._plan.columns.name_of(int(np.argmin(np.isfinite(due))))
            raise not_differentiable(
                f"the time event at t = {t!r} s does not happen with {name}", t
            )
        return due - t

    def _of_root(self, t: float, x: F64, slope: F64) -> tuple[F64, float]:
        """Return the delay of the event in each instance, s, and that until all signs changed."""
        directions = self._plan.roots()
        indices = np.flatnonzero(directions)
        own = self._all(self._indicators, t, x)
        width = self._short(slope, 1e-5)

        def change(width: float) -> F64:
            later = self._indicators(0, t + width, x + width * slope)
            return later - self._indicators(0, t - width, x - width * slope)

        moved = change(width)
        rates = moved / (2.0 * width)
        jumping = indices[np.abs(change(0.01 * width)[indices]) > 0.5 * np.abs(moved)[indices]]
        if jumping.size:
            raise not_differentiable(
                f"event indicator {int(jumping[0])} jumps at t = {t!r} s: by how much parameters"
                " move the event cannot be seen from it",
                t,
            )
        for i in indices:
            self._refuse_grazing(int(i), t, x, slope, float(rates[i]), float(directions[i]))
        delays = -(own - own[0])[:, indices] / rates[indices]
        first = delays[:, 0]
        apart = np.max(np.abs(delays - first[:, np.newaxis]))
        if apart > 1e-3 * np.max(np.abs(delays)) + 1e-13 * max(abs(t), 1.0):
            which = ", ".join(str(int(i)) for i in indices)
            raise not_differentiable(
                f"the event indicators {which} become zero together at t = {t!r} s, and the order"
                " of their events depends on the parameters",
                t,
            )
        return first, self._beyond(t, x, slope, first, directions, rates, own[0])

    def _short(self, slope: F64, share: float) -> float:
        """Return a time in which no state changes by more than a fraction of its size, s."""
        with np.errstate(divide="ignore"):
            times = share * self._plan.columns.scale / np.abs(slope)
        return float(min(share * self._plan.interval, *times, np.inf))

    def _beyond(
        self, t: float, x: F64, slope: F64, delays: F64, directions: I64, rates: F64, base: F64
    ) -> float:
        """Return the additional delay after which all instances have passed the event."""
        extra, states = 0.0, self._plan.columns.states(x)
        roots = np.flatnonzero(directions)
        others = np.flatnonzero((directions == 0) & (base != 0.0))
        for _ in range(12):
            missing = 0.0
            for m, wait in enumerate(delays + extra):
                z = self._indicators(m, t + wait, states[m] + wait * slope)
                wrong = others[(z[others] > 0.0) != (base[others] > 0.0)]
                if wrong.size:
                    raise not_differentiable(
                        f"{self._text} is so near to one of indicator {int(wrong[0])} that with"
                        f" {self._plan.columns.name_of(m)} their order is another",
                        t,
                    )
                for i in roots:
                    short = -z[i] * np.sign(directions[i])  # how far it is from crossing
                    if short >= 0.0:
                        missing = max(missing, (short + 1e-300) / abs(rates[i]))
            if missing == 0.0:
                return extra
            extra = max(2.0 * (extra + missing), 4e-16 * max(abs(t), 1e-3))
        raise not_differentiable(f"{self._text} does not happen with slightly other parameters", t)

    def _refuse_grazing(
        self, i: int, t: float, x: F64, slope: F64, rate: float, direction: float
    ) -> None:
        """Refuse an indicator that barely reaches zero, so that the event may as well not happen.

        The extremum of its parabola is then closer to zero than the integrator's error.
        """
        width = self._short(slope, 0.02)
        bend = (self._slope(0, t + width, x + width * slope) - slope) / width
        there = [
            self._indicators(0, t + w, x + w * slope + 0.5 * w * w * bend)[i]
            for w in (-width, 0.0, width)
        ]
        curvature = (there[0] - 2.0 * there[1] + there[2]) / width**2
        rounding = 1e-14 * max(map(abs, there)) / width**2
        self._plan.columns.vectors[POINT] = x
        doubt = loops().doubt(self._plan.equation.address, t, i)
        depth = rate * rate / (2.0 * max(abs(curvature), rounding, 1e-300))
        if rate == 0.0 or rate * direction < 0.0 or depth < doubt:
            raise not_differentiable(
                f"event indicator {i} only touches zero at t = {t!r} s (its rate there is"
                f" {rate:.3g} per second): whether there is an event depends on the parameters",
                t,
            )
