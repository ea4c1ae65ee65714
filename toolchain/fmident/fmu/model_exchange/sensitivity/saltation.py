"""Jumps of sensitivities at events.

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
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import CallFailed
from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.sensitivity.columns import (
    Columns,
    Simulated,
    not_differentiable,
)
from fmident.fmu.model_exchange.sensitivity.shifted import ShiftedInstances
from fmident.fmu.native_code import program
from fmident.fmu.tables import I64

_FAR = 1e-4
"""Largest relative change of a state by a shift."""


class Saltation:
    """Events of one run, for the simulated instance and the shifted ones, `members`.

    `reduce` decreases the shift of a parameter in the next run by a factor, if possible;
    `restart` is called after sensitivities have jumped.
    """

    def __init__(
        self,
        run: Simulated,
        columns: Columns,
        members: ShiftedInstances,
        reduce: Callable[[int, float], bool],
        restart: Callable[[], None],
    ) -> None:
        self._run, self._columns, self._members = run, columns, members
        self._reduce, self._restart = reduce, restart
        self._n = int(run.table[loop.STATES])
        self._count = int(run.table[loop.INDICATORS])
        self._after: F64 = np.zeros((0, self._n))
        self._delays: F64 = np.zeros(0)
        self._before: F64 = np.zeros(self._n)
        self._slope: F64 = np.zeros(self._n)
        self._text = ""

    # ------------------------------------------------------------------ evaluation

    def _place(self, member: int, t: float, x: F64) -> None:
        table = self._members.tables[member]
        if loop.place(table, t, x.ctypes.data) != 0:
            raise self._failed(member, t)

    def slope(self, member: int, t: float, x: F64) -> F64:
        """Return the state derivatives of one instance, shape (n,)."""
        slope = np.zeros(self._n)
        if self._n:
            self._place(member, t, x)
            what = "ContinuousStateDerivatives" if self._three else "Derivatives"
            self._call(member, t, what, slope)
        return slope

    def indicators(self, member: int, t: float, x: F64) -> F64:
        """Return the event indicators of one instance, shape (indicators,)."""
        values = np.zeros(self._count)
        self._place(member, t, x)
        self._call(member, t, "EventIndicators", values)
        return values

    @property
    def _three(self) -> bool:
        return bool(self._run.table[program.VERSION] == 3)

    def _call(self, member: int, t: float, what: str, found: F64) -> None:
        prefix = "fmi3" if self._three else "fmi2"
        function: Any = self._run.library.functions[f"{prefix}Get{what}"]
        component = ctypes.c_void_p(int(self._members.tables[member][program.COMPONENT]))
        if not 0 <= function(component, found.ctypes.data, found.size) <= 1:
            raise self._failed(member, t)

    def _failed(self, member: int, t: float) -> RunFailed:
        name = self._columns.name_of(member)
        return not_differentiable(f"the FMU fails at t = {t!r} s with {name}", t)

    # ------------------------------------------------------------------ the event

    def before(self, inputs: bool) -> None:
        """Let all shifted instances handle the event, before the simulated one does."""
        columns, n = self._columns, self._n
        t = float(self._run.reals[program.TIME])
        x = self._states()
        self._before, self._slope = x, self.slope(0, t, x)
        root = bool(self._run.table[loop.ROOT]) and not inputs
        due = self._members.reals[: len(columns.offsets), program.NEXT_EVENT].copy()
        timed = not inputs and bool(due[0] <= t)
        self._text = f"the event at t = {t!r} s"
        self._refuse_far()
        delays = np.zeros(len(columns.offsets))
        extra = 0.0
        if root:
            delays, extra = self._of_root(t, x, self._slope)
        if timed:
            waits = self._of_time(t, due)
            if root and np.max(np.abs(waits - delays)) > 1e-3 * np.max(np.abs(waits)) + 1e-12:
                raise not_differentiable(
                    f"a state event and a time event coincide at t = {t!r} s, and their order"
                    " depends on the parameters",
                    t,
                )
            if not root:
                delays = waits
        after = np.zeros((len(delays), n))
        input_program, row = self._run.moved(inputs), int(self._run.table[program.ROW])
        for m, delay in enumerate(delays):
            wait = delay + extra
            self._place(m, t + wait, columns.states_of(m, x) + wait * self._slope)
            self._members.tables[m][program.ROW] = row
            try:
                after[m] = self._members.handle(m, self._run, input_program, row, t + wait)[:n]
            except CallFailed as failed:
                self._members.give_up(m, failed)
                raise self._failed(m, t) from None
        self._after, self._delays = after, delays

    def after(self) -> None:
        """Apply the jump to the sensitivities after the simulated instance handled the event."""
        x = self._states()
        t = float(self._run.reals[program.TIME])
        slope = self.slope(0, t, x)
        at_once = self._after - self._delays[:, np.newaxis] * slope
        jumped = bool(np.any(x != self._before)) or bool(np.any(slope != self._slope))
        if jumped:
            self._columns.check_smooth(at_once, t, self._text)
        self._columns.take(at_once)
        self._restart()
        self.check_slopes(t, x, self._text)

    def _states(self) -> F64:
        return self._run.states()[: self._n].copy()

    def check_slopes(self, t: float, x: F64, where: str) -> None:
        """Refuse state derivatives with a kink, since discrete states may have jumped."""
        members = range(len(self._columns.offsets))
        slopes = [self.slope(m, t, self._columns.states_of(m, x)) for m in members]
        self._columns.check_smooth(np.array(slopes), t, where)

    def _refuse_far(self) -> None:
        """Request smaller shifts if states move too far for first-order terms."""
        columns = self._columns
        again = False
        for j, stencil in enumerate(columns.stencils):
            size = np.where(columns.sizes > 0.0, columns.sizes, columns.nominals)
            far = np.max(np.abs(columns.now[j]) / size, initial=0.0) * max(
                map(abs, stencil.offsets)
            )
            if far > _FAR:
                again |= self._reduce(j, 0.1 * _FAR / far)
        if again:
            raise RunFailed("smaller shifts are needed", time=0.0, again=True)

    # ------------------------------------------------------------------ when it happens

    def _of_time(self, t: float, due: F64) -> F64:
        """Return the delay of the time event in each instance."""
        if not np.isfinite(due).all():
            m = int(np.argmin(np.isfinite(due)))
            raise not_differentiable(
                f"the time event at t = {t!r} s does not happen with {self._columns.name_of(m)}", t
            )
        return due - t

    def _of_root(self, t: float, x: F64, slope: F64) -> tuple[F64, float]:
        """Return the delay of the event in each instance, s, and that until all signs changed."""
        columns = self._columns
        directions = self._run.roots()
        indices = np.flatnonzero(directions)
        base = self.indicators(0, t, x)
        own = np.array(
            [self.indicators(m, t, columns.states_of(m, x)) for m in range(len(columns.offsets))]
        )
        width = self._short(slope, 1e-5)
        later = self.indicators(0, t + width, x + width * slope)
        earlier = self.indicators(0, t - width, x - width * slope)
        rates = (later - earlier) / (2.0 * width)
        nearer = self.indicators(0, t + 0.01 * width, x + 0.01 * width * slope)
        nearer -= self.indicators(0, t - 0.01 * width, x - 0.01 * width * slope)
        if (
            jumping := indices[np.abs(nearer[indices]) > 0.5 * np.abs(later - earlier)[indices]]
        ).size:
            raise not_differentiable(
                f"event indicator {int(jumping[0])} jumps at t = {t!r} s: by how much parameters"
                " move the event cannot be seen from it",
                t,
            )
        delays = np.zeros((len(indices), len(columns.offsets)))
        for k, i in enumerate(indices):
            self._refuse_grazing(int(i), t, x, slope, float(rates[i]), float(directions[i]))
            delays[k] = -(own[:, i] - base[i]) / rates[i]
        first = delays[0]
        span = np.max(np.abs(delays))
        if np.max(np.abs(delays - first)) > 1e-3 * span + 1e-13 * max(abs(t), 1.0):
            which = ", ".join(str(int(i)) for i in indices)
            raise not_differentiable(
                f"the event indicators {which} become zero together at t = {t!r} s, and the order"
                " of their events depends on the parameters",
                t,
            )
        return first, self._beyond(t, x, slope, first, indices, directions, rates, base)

    def _short(self, slope: F64, share: float) -> float:
        """Return a time in which no state changes by more than a fraction of its size, s."""
        size = np.where(self._columns.sizes > 0.0, self._columns.sizes, self._columns.nominals)
        with np.errstate(divide="ignore"):
            return float(min(share * self._run.interval, *(share * size / np.abs(slope)), np.inf))

    def _beyond(
        self,
        t: float,
        x: F64,
        slope: F64,
        delays: F64,
        found: I64,
        directions: npt.NDArray[np.int32],
        rates: F64,
        base: F64,
    ) -> float:
        """Return the additional delay after which all instances have passed the event."""
        extra = 0.0
        others = np.setdiff1d(np.arange(self._count), found)
        for _ in range(12):
            missing = 0.0
            for m, delay in enumerate(delays):
                wait = delay + extra
                z = self.indicators(m, t + wait, self._columns.states_of(m, x) + wait * slope)
                wrong = others[(z[others] > 0.0) != (base[others] > 0.0)]
                wrong = wrong[base[wrong] != 0.0]
                if wrong.size:
                    raise not_differentiable(
                        f"{self._text} is so near to one of indicator {int(wrong[0])} that with"
                        f" {self._columns.name_of(m)} their order is another",
                        t,
                    )
                for i in found:
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
        columns = self._columns
        width = self._short(slope, 0.02)
        bend = (self.slope(0, t + width, x + width * slope) - slope) / width
        there = [
            self.indicators(0, t + w, x + w * slope + 0.5 * w * w * bend)[i]
            for w in (-width, 0.0, width)
        ]
        curvature = (there[0] - 2.0 * there[1] + there[2]) / width**2
        rounding = 1e-14 * max(map(abs, there)) / width**2
        doubt = 0.0
        for k in range(self._n):
            scale = max(columns.sizes[k], columns.nominals[k])
            away = x.copy()
            away[k] += 1e-6 * scale
            doubt += abs(self.indicators(0, t, away)[i] - there[1]) / 1e-6
        doubt *= self._run.relative
        depth = rate * rate / (2.0 * max(abs(curvature), rounding, 1e-300))
        if rate == 0.0 or rate * direction < 0.0 or depth < doubt:
            raise not_differentiable(
                f"event indicator {i} only touches zero at t = {t!r} s (its rate there is"
                f" {rate:.3g} per second): whether there is an event depends on the parameters",
                t,
            )
