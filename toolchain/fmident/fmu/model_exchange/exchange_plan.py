"""A setup, resolved against the equations of one FMU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from time import perf_counter

import numpy as np

from fmident.arrays import F64
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import BaseInstance
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.integrator import FLAGS, Integrator
from fmident.fmu.model_exchange.sundials import Sundials
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import DISCARD, Library
from fmident.fmu.plan import EventPlan, Runner, Stop
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import I64, prefix_of

DEFAULT_TOLERANCE = 1e-6
"""Relative tolerance where neither the setup nor the FMU has one."""

PAUSE_SECONDS = 0.05
"""The interpreter is asked for a pending Ctrl-C and the time limit about this often."""

_FIRST_BUDGET = 100  # integrator steps until it is asked for the first time

_FUNCTIONS = {
    loop.SET_TIME: ("fmi2SetTime", "fmi3SetTime"),
    loop.SET_STATES: ("fmi2SetContinuousStates", "fmi3SetContinuousStates"),
    loop.GET_DERIVATIVES: ("fmi2GetDerivatives", "fmi3GetContinuousStateDerivatives"),
    loop.GET_INDICATORS: ("fmi2GetEventIndicators", "fmi3GetEventIndicators"),
    loop.GET_STATES: ("fmi2GetContinuousStates", "fmi3GetContinuousStates"),
    loop.GET_NOMINALS: (
        "fmi2GetNominalsOfContinuousStates",
        "fmi3GetNominalsOfContinuousStates",
    ),
    program.ENTER_EVENT: ("fmi2EnterEventMode", "fmi3EnterEventMode"),
    program.UPDATE: ("fmi2NewDiscreteStates", "fmi3UpdateDiscreteStates"),
    loop.ENTER_CONTINUOUS: ("fmi2EnterContinuousTimeMode", "fmi3EnterContinuousTimeMode"),
}
_COMPLETED = ("fmi2CompletedIntegratorStep", "fmi3CompletedIntegratorStep")
_DIRECTIONAL = ("fmi2GetDirectionalDerivative", "fmi3GetDirectionalDerivative")


class ExchangePlan(EventPlan):
    """Everything about a run that does not change from run to run, and the run's tables.

    Parameters
    ----------
    setup
        What to simulate. Inputs that are continuous follow straight lines unless they are
        to be held; all others are held and jump at the instants.
    description, library
        The FMU.
    sundials
        The integrator's library.

    Raises
    ------
    FmuError
        Names or values that do not fit the FMU.
    """

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        library: Library,
        sundials: Sundials,
    ) -> None:
        super().__init__(setup, description, library, lambda _: True, loop=loop)
        self._relative = self.tolerance = self.tolerance or DEFAULT_TOLERANCE
        self._description = description
        self._sundials = sundials
        self._three = prefix_of(description) == "fmi3"
        self._integrator: Integrator | None = None
        self._returned: F64 = np.zeros(2)  # what CVODE says; where it began
        self._states: F64 = np.zeros(0)
        self._allowed: F64 = np.zeros(0)
        self._seed: F64 = np.zeros(0)
        self._state_references = np.array(description.state_references, np.uint32)
        self._derivative_references = np.array(description.derivative_references, np.uint32)
        self._lay_out_functions()

    def why_no_lines(self, description: ModelDescription) -> str:
        """Return nothing: fmident integrates, so inputs can follow straight lines."""
        return ""

    def _lay_out_functions(self) -> None:
        table, find, three = self._table, self.library.address, self._three
        table[program.VERSION] = 3 if three else 2
        for place, names in _FUNCTIONS.items():
            table[place] = find(names[three])
        if self._description.capabilities.needs_completed_step:
            table[loop.COMPLETED] = find(_COMPLETED[three])
        if self._description.capabilities.provides_directional_derivative:
            table[loop.DIRECTIONAL] = find(_DIRECTIONAL[three])
        table[program.TIMES] = self.times.ctypes.data
        table[program.INFO] = self._info.ctypes.data
        table[loop.RETURNED_TIME] = self._returned.ctypes.data
        table[loop.STATE_REFERENCES] = self._state_references.ctypes.data
        table[loop.DERIVATIVE_REFERENCES] = self._derivative_references.ctypes.data
        table[loop.REFERENCE_COUNT] = self._state_references.size
        self._jump = self.inputs.mover.program(self.inputs.groups)
        self._between = self.inputs.mover.program(self.means, 0)

    # ---------------------------------------------------------------- start of a run

    def claim(self, instance: BaseInstance) -> None:
        """Note where inputs jump."""
        held = self.inputs.groups if self.interpolation == "hold" else self.inputs.held
        self._jumps = self.inputs.jumps(held, self.means)

    def settle(self, instance: BaseInstance, begin: float) -> None:
        """Settle initial events and set up the integrator; continuous-time mode begins."""
        table, reals = self._table, self._reals
        self.close()
        table[program.FAILED_FUNCTION : program.SHARED] = table[loop.FLAG :] = 0
        table[program.COMPONENT] = instance.component or 0
        states, indicators = self._sizes(instance)
        if states != self._states.size or table[loop.VECTOR_DATA] == 0:
            self._states, self._allowed = np.zeros(max(states, 1)), np.ones(max(states, 1))
        self._seed = np.zeros(4 * max(states, 1) + 2 * indicators)
        table[loop.STATES], table[loop.INDICATORS] = states, indicators
        self._returned[1] = begin
        table[loop.VECTOR_DATA] = self._states.ctypes.data
        table[loop.TOLERANCE_DATA] = self._allowed.ctypes.data
        table[loop.SEED] = self._seed.ctypes.data
        table[loop.MEMORY] = table[program.INPUT_WIDTH] = 0
        listed = int(table[loop.REFERENCE_COUNT])  # fewer than states where these are arrays
        if listed == 0 or listed > states or (listed < states and not self._three):
            table[loop.DIRECTIONAL] = 0  # the description does not list all states
        reals[:] = (begin, np.inf, -np.inf, np.inf, self._relative)
        # TOLERANCES and REINIT are not called as long as there is no integrator.
        self.settle_events(begin)
        if states or indicators:
            self._integrator = Integrator(
                self._sundials, table, self._states, self._allowed, begin, self._relative
            )
        self.claim_lines()

    def _sizes(self, instance: BaseInstance) -> tuple[int, int]:
        """Return the numbers of continuous states and event indicators."""
        if not self._three:
            return self._description.state_count, self._description.indicator_count
        count = ctypes.c_size_t()
        instance.call("fmi3GetNumberOfContinuousStates", ctypes.byref(count))
        states = count.value
        instance.call("fmi3GetNumberOfEventIndicators", ctypes.byref(count))
        return states, count.value

    # ---------------------------------------------------------------------- the steps

    def runner(
        self,
        instance: BaseInstance,
        *,
        pause: Callable[[float], None],
    ) -> Runner:
        """Return what runs the steps."""
        budget = _FIRST_BUDGET

        def run(begin: int, end: int, state: I64) -> bool:
            nonlocal budget
            while True:
                self._table[loop.BUDGET] = budget
                began = perf_counter()
                if loop.run_steps(
                    self._table, self._reals, self.times, self._between, self._jump,
                    self.outputs.program, self._jumps, begin, end, state,
                ):  # fmt: skip
                    return True
                if state[program.WHY] != loop.PAUSED:
                    return False
                per_step = max(perf_counter() - began, 1e-9) / budget
                budget = max(1, min(int(PAUSE_SECONDS / per_step), 8 * budget))
                begin = int(state[program.FAILED_STEP])
                pause(float(self._reals[program.TIME]))

        return run

    def explain(self, outcome: int, time: float) -> Stop:
        """Say what an outcome of the loop means; raise RunFailed when no call is to blame."""
        table = self._table
        status, flag = int(table[program.CALL_STATUS]), int(table[loop.FLAG])
        # Error and Fatal end the run wherever CVODE was, even within its linear solver.
        grave = status not in (0, DISCARD, loop.NOT_FINITE)
        if outcome == loop.SOLVER and status != 0 and (grave or -12 <= flag <= -8):
            outcome = program.CALL
        if outcome == program.CALL and status == loop.NOT_FINITE:
            raise RunFailed(
                f"derivatives of the states are NaN or infinite at t = {time!r} s",
                time=time,
                hint="the parameters or inputs may be outside what the model can compute",
            )
        return super().explain(outcome, time)

    def explain_more(self, outcome: int, time: float) -> tuple[str, str]:
        """Return message and hint of an outcome that this loop alone has."""
        at, flag = f" at t = {time!r} s", int(self._table[loop.FLAG])
        if outcome == program.ZENO:
            events = int(self._table[program.INTERVAL_EVENTS])
            return (
                f"events follow one another without end{at} (Zeno behaviour or chattering):"
                f" {events} within one communication step, the last"
                f" {self._reals[loop.LAST_GAP]:.1e} s apart",
                "let the model come to rest below a small velocity, or give its switch a"
                " hysteresis; where so many events are meant, take smaller communication steps",
            )
        if outcome == loop.TOO_MANY:
            return (
                f"the integrator took {loop.MOST_STEPS} steps within one communication step"
                f" and reached only t = {time!r} s",
                "the parameters may make the model unstable; or take a larger tolerance",
            )
        words = FLAGS.get(flag, "")
        return (
            f"the integrator CVODE failed{at}: {words or 'an error of its own'} (flag {flag})",
            "the model may have a singularity here, or steps that are not events;"
            " try another tolerance",
        )

    # ----------------------------------------------------------------- end of a run

    def finish(self) -> bool:
        """Free the integrator; return whether the FMU has asked for the end."""
        self.close()
        return super().finish()

    def close(self) -> None:
        """Free the integrator, if there is one."""
        if self._integrator is not None:
            self._integrator.close()
            self._integrator = None
