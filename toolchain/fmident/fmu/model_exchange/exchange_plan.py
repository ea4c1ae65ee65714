"""A setup, resolved against the equations of one FMU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.fmu.description import ModelDescription
from fmident.fmu.driver import I64, InputUpdate, Runner, Stop, ValueSetter
from fmident.fmu.failure import RunFailed
from fmident.fmu.instance import BaseInstance, Instance
from fmident.fmu.library import DISCARD, Library
from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.integrator import FLAGS, Integrator
from fmident.fmu.model_exchange.sundials import Sundials
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import Group, InputTable, OutputTable, failed_call, prefix_of
from fmident.fmu.variables import Value

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
    loop.ENTER_EVENT: ("fmi2EnterEventMode", "fmi3EnterEventMode"),
    loop.UPDATE: ("fmi2NewDiscreteStates", "fmi3UpdateDiscreteStates"),
    loop.ENTER_CONTINUOUS: ("fmi2EnterContinuousTimeMode", "fmi3EnterContinuousTimeMode"),
}
_COMPLETED = ("fmi2CompletedIntegratorStep", "fmi3CompletedIntegratorStep")
_DIRECTIONAL = ("fmi2GetDirectionalDerivative", "fmi3GetDirectionalDerivative")


class ExchangePlan:
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
        assert setup.inputs is not None  # set by SimulationSetup itself
        self.update: InputUpdate = "after_step"
        self.times: F64 = setup.times.copy()
        self.tolerance = setup.tolerance or description.default_tolerance or DEFAULT_TOLERANCE
        self._description = description
        self._library = library
        self._sundials = sundials
        self._three = prefix_of(description) == "fmi3"
        self._inputs = InputTable(
            description, library, setup.input_names, setup.inputs, lambda _: True
        )
        self._outputs = OutputTable(description, library, setup.output_names, self.times.size)
        self._interpolation = "linear" if setup.interpolation == "auto" else setup.interpolation
        self._integrator: Integrator | None = None
        self._table: I64 = np.zeros(loop.SIZE, np.int64)
        self._reals: F64 = np.zeros(loop.REALS)
        self._info: F64 = np.zeros(4)
        self._returned: F64 = np.zeros(2)  # what CVODE says; where it began
        self._states: F64 = np.zeros(0)
        self._allowed: F64 = np.zeros(0)
        self._seed: F64 = np.zeros(0)
        self._work: F64 = np.zeros(0)
        self._means: list[Group] = []
        self._state_references = np.array(description.state_references, np.uint32)
        self._derivative_references = np.array(description.derivative_references, np.uint32)
        self._lay_out_functions()

    def _lay_out_functions(self) -> None:
        table, find, three = self._table, self._library.address, self._three
        table[loop.VERSION] = 3 if three else 2
        for place, names in _FUNCTIONS.items():
            table[place] = find(names[three])
        if self._description.capabilities.needs_completed_step:
            table[loop.COMPLETED] = find(_COMPLETED[three])
        if self._description.capabilities.provides_directional_derivative:
            table[loop.DIRECTIONAL] = find(_DIRECTIONAL[three])
        table[loop.TIMES] = self.times.ctypes.data
        table[loop.INFO] = self._info.ctypes.data
        table[loop.RETURNED_TIME] = self._returned.ctypes.data
        table[loop.STATE_REFERENCES] = self._state_references.ctypes.data
        table[loop.DERIVATIVE_REFERENCES] = self._derivative_references.ctypes.data
        table[loop.REFERENCE_COUNT] = self._state_references.size
        mover = self._inputs.mover
        self._record = self._outputs.mover.program(self._outputs.groups)
        self._jump = mover.program(self._inputs.groups)
        self._between = mover.program(())
        if self._interpolation == "linear" and self._inputs.continuous:
            (line,) = self._inputs.lines  # one type has 64 bits: one group at most
            row = mover.program([line], 0)[0]
            self._work = np.zeros(line.values.shape[1])
            table[loop.SET_INPUTS] = find(mover.function(line))
            table[loop.INPUT_REFERENCES] = line.references.ctypes.data
            table[loop.INPUT_COUNT] = line.references.size
            table[loop.INPUT_VALUES] = row[4]
            table[loop.INPUT_WORK] = self._work.ctypes.data
            self._line_width = self._work.size
        else:
            self._line_width = 0
        if self._interpolation == "mean":
            self._means = self._inputs.means()
            self._between = mover.program(self._means, 0)

    # ---------------------------------------------------------------- start of a run

    def initialise(
        self, instance: Any, assignment: ValueSetter, values: Mapping[str, Value]
    ) -> None:
        """Bring a fresh instance to continuous-time mode at the first instant.

        Raises
        ------
        CallFailed
            The FMU refuses.
        RunFailed
            Its initial events do not settle.
        """
        begin, end = float(self.times[0]), float(self.times[-1])
        self._inputs.fill_others(values)
        held = self._inputs.groups if self._interpolation == "hold" else self._inputs.held
        self._jumps = self._inputs.jumps(held, self._means)
        if isinstance(instance, Instance):
            instance.setup_experiment(begin, end, self.tolerance)
            assignment.apply(instance, values)
            instance.call("fmi2EnterInitializationMode")
        else:
            assignment.apply(instance, values)
            instance.enter_initialisation(begin, end, self.tolerance)
        self._inputs.mover.move(instance, self._inputs.groups, 0)
        instance.call(f"{instance.prefix}ExitInitializationMode")
        self._prepare(instance, begin)

    def _prepare(self, instance: BaseInstance, begin: float) -> None:
        """Settle initial events and set up the integrator."""
        table, reals = self._table, self._reals
        self.close()
        table[loop.FAILED_FUNCTION :] = 0
        table[loop.COMPONENT] = instance.component or 0
        states, indicators = self._sizes(instance)
        if states != self._states.size or table[loop.VECTOR_DATA] == 0:
            self._states, self._allowed = np.zeros(max(states, 1)), np.ones(max(states, 1))
        self._seed = np.zeros(4 * max(states, 1) + 2 * indicators)
        table[loop.STATES], table[loop.INDICATORS] = states, indicators
        self._returned[1] = begin
        table[loop.VECTOR_DATA] = self._states.ctypes.data
        table[loop.TOLERANCE_DATA] = self._allowed.ctypes.data
        table[loop.SEED] = self._seed.ctypes.data
        table[loop.MEMORY] = table[loop.INPUT_WIDTH] = 0
        told = int(table[loop.REFERENCE_COUNT])  # fewer than states where these are arrays
        if told == 0 or told > states or (told < states and not self._three):
            table[loop.DIRECTIONAL] = 0  # the description does not tell all states
        reals[:] = (begin, np.inf, -np.inf, np.inf, self.tolerance)
        # TOLERANCES and REINIT are not called as long as there is no integrator.
        outcome = loop.start(table, reals)
        if outcome >= 0:
            failed = self._refuse(outcome, begin).failed
            failed.detail = "the events of initialisation"
            raise failed
        if states or indicators:
            self._integrator = Integrator(
                self._sundials, table, self._states, self._allowed, begin, self.tolerance
            )
        table[loop.INPUT_WIDTH] = self._line_width

    def _sizes(self, instance: BaseInstance) -> tuple[int, int]:
        """Return the numbers of continuous states and event indicators."""
        if not self._three:
            return self._description.state_count, self._description.indicator_count
        count = ctypes.c_size_t()
        instance.call("fmi3GetNumberOfContinuousStates", ctypes.byref(count))
        states = count.value
        instance.call("fmi3GetNumberOfEventIndicators", ctypes.byref(count))
        return states, count.value

    def read_first(self, instance: BaseInstance, reals: F64) -> None:
        """Read all outputs into row 0."""
        self._outputs.mover.move(instance, self._outputs.groups, 0)

    def refuse_not_finite(self, reals: F64) -> None:
        """Look through the first row; raises RunFailed."""
        self._outputs.refuse_not_finite(self.times, 0, 1)

    # ---------------------------------------------------------------------- the steps

    def runner(
        self,
        instance: BaseInstance,
        reals: F64,
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
                    self._record, self._jumps, begin, end, state,
                ):  # fmt: skip
                    return True
                if state[0] != loop.PAUSED:
                    return False
                per_step = max(perf_counter() - began, 1e-9) / budget
                budget = max(1, min(int(PAUSE_SECONDS / per_step), 8 * budget))
                begin = int(state[1])
                pause(float(self._reals[loop.TIME]))

        return run

    def stopped(self, state: I64, reals: F64) -> Stop:
        """Say why the loop stopped.

        Raises
        ------
        RunFailed
            No call is to blame.
        """
        step, time = int(state[1]), float(self._reals[loop.TIME])
        self._outputs.refuse_not_finite(self.times, 1, step + 1)
        return self._refuse(int(state[0]), time)

    def _refuse(self, outcome: int, time: float) -> Stop:
        table = self._table
        status, flag = int(table[loop.FAILED_STATUS]), int(table[loop.FLAG])
        # Error and Fatal end the run wherever CVODE was, even within its linear solver.
        grave = status not in (0, DISCARD, loop.NOT_FINITE)
        blamed = outcome == loop.CALL or (outcome == loop.SOLVER and (grave or -12 <= flag <= -8))
        if blamed and status not in (0, loop.NOT_FINITE):
            failed = failed_call(self._library, int(table[loop.FAILED_FUNCTION]), status)
            return Stop(failed, time, f" at t = {time!r} s")
        if blamed and status == loop.NOT_FINITE:
            raise RunFailed(
                f"derivatives of the states are NaN or infinite at t = {time!r} s",
                time=time,
                hint="the parameters or inputs may be outside what the model can compute",
            )
        raise self._failure(outcome, flag, time)

    def _failure(self, outcome: int, flag: int, time: float) -> RunFailed:
        at = f" at t = {time!r} s"
        if outcome == loop.TERMINATED:
            return RunFailed(
                f"the FMU requested termination{at}",
                time=time,
                hint="a terminate() or an assertion in the model was reached",
                ended=time,
            )
        if outcome == loop.UNSETTLED:
            return RunFailed(
                f"an event never settles{at}: after {loop.MOST_ITERATIONS} updates the FMU"
                " still wants another",
                time=time,
                hint="discrete equations of the model depend on each other in a circle",
            )
        if outcome == loop.ZENO:
            events = int(self._table[loop.INTERVAL_EVENTS])
            return RunFailed(
                f"events follow one another without end{at} (Zeno behaviour or chattering):"
                f" {events} within one communication step, the last"
                f" {self._reals[loop.LAST_GAP]:.1e} s apart",
                time=time,
                hint="let the model come to rest below a small velocity, or give its switch"
                " a hysteresis; where so many events are meant, take smaller communication"
                " steps",
            )
        if outcome == loop.TOO_MANY:
            return RunFailed(
                f"the integrator took {loop.MOST_STEPS} steps within one communication step"
                f" and reached only t = {time!r} s",
                time=time,
                hint="the parameters may make the model unstable; or take a larger tolerance",
            )
        words = FLAGS.get(flag, "")
        return RunFailed(
            f"the integrator CVODE failed{at}: {words or 'an error of its own'} (flag {flag})",
            time=time,
            hint="the model may have a singularity here, or steps that are not events;"
            " try another tolerance",
        )

    # ----------------------------------------------------------------- end of a run

    def new_results(self) -> F64:
        """Return nothing much: the tables hold the results."""
        return np.empty((0, 0))

    def finish(self, reals: F64) -> bool:
        """Look through the results, free the integrator; see :class:`.driver.RunPlan`."""
        self.close()
        self._outputs.refuse_not_finite(self.times, 1, self.times.size)
        return bool(self._table[loop.ENDED])

    def assemble(self, reals: F64) -> F64:
        """Return all outputs in the order asked for, shape (n, outputs)."""
        return self._outputs.assemble()

    def close(self) -> None:
        """Free the integrator, if there is one."""
        if self._integrator is not None:
            self._integrator.close()
            self._integrator = None
