"""Driver of Model Exchange of FMI 2.0 and 3.0, with CVODE as integrator.

It uses variable-order backward differentiation formulas, and finds roots of the event
indicators (Hindmarsh et al., SUNDIALS, ACM Trans. Math. Softw. 31(3), 2005).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Code, FmuError
from fmident.fmu.driver import Driver
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import BaseInstance
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value, Variable
from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.sundials import Sundials, make_sundials
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import DISCARD, Library
from fmident.fmu.native_code.log import LogBuffer
from fmident.fmu.plan import EventPlan, InputUpdate, Runner, Stop
from fmident.fmu.sensitivity_table import Sensitivities
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import I64, prefix_of
from fmident.fmu.values import Assignment

if TYPE_CHECKING:
    from fmident.fmu.model_exchange.sensitivity.variations import Variations

DEFAULT_TOLERANCE = 1e-6
"""Relative tolerance where neither the setup nor the FMU has one."""

TIGHTER, TIGHTEST = 1e-3, 1e-13
"""What the tolerance is multiplied by for derivatives, and what it is at least: CVODE keeps the
error of a step below its tolerance, and in derivatives errors of many steps add up."""

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


_BDF = 2

_FREED_BY = {
    "N_VMake_Serial": "N_VDestroy",
    "SUNDenseMatrix": "SUNMatDestroy",
    "SUNLinSol_Dense": "SUNLinSolFree",
    "CVodeCreate": "CVodeFree",
}


class ModelExchange(Driver):
    """Driver of Model Exchange; inputs act at once, since fmident integrates."""

    def __init__(
        self, description: ModelDescription, library: Library, resources: str, buffer: LogBuffer
    ) -> None:
        super().__init__(description, library, resources, buffer, "after_step")
        self._sundials = make_sundials()

    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> ExchangePlan:
        """Resolve a setup."""
        return ExchangePlan(setup, self, self._sundials)


class ExchangePlan(EventPlan):
    """The constant parts of a run, and its tables.

    Continuous inputs are interpolated linearly unless they are to be held; others jump.
    """

    def __init__(
        self,
        setup: SimulationSetup,
        driver: Driver,
        sundials: Sundials,
    ) -> None:
        description, library = driver.description, driver.library
        if setup.substeps > 1:
            raise FmuError(
                "substeps are those of Co-Simulation, not of Model Exchange",
                hint="leave them out: fmident integrates with steps of its own",
                code=Code.NOT_SUPPORTED,
            )
        super().__init__(setup, description, library, loop=loop)
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
        self._variations: Variations | None = None
        self._plain: ExchangePlan | None = None
        if setup.sensitivities:
            # The outputs are those of a run without sensitivities, to the last bit.
            self._plain = ExchangePlan(replace(setup, sensitivities=()), driver, sundials)
            self._relative = max(self._relative * TIGHTER, TIGHTEST)
            self._variations = self._varied(setup, driver)

    @property
    def passes(self) -> Sequence[ExchangePlan]:
        """The plain run, and that for the derivatives if requested."""
        return (self,) if self._plain is None else (self._plain, self)

    def _varied(self, setup: SimulationSetup, driver: Driver) -> Variations:
        # Imported when needed: it compiles more.
        from fmident.fmu.model_exchange.sensitivity.columns import Simulated
        from fmident.fmu.model_exchange.sensitivity.variations import Variations

        def roots() -> npt.NDArray[np.int32]:
            assert self._integrator is not None
            return self._integrator.roots(int(self._table[loop.INDICATORS]))

        def moved(inputs: bool) -> I64:
            if not inputs:
                return self._jump[:0]
            return self._jump if self._table[loop.INSIDE] else self._between

        run = Simulated(
            self.times, self._relative, self.library, self.inputs, self._table, self._reals,
            lambda: self._states, roots, moved, driver.assignment,
        )  # fmt: skip
        make = lambda: driver.instantiate(False)  # noqa: E731
        return Variations(setup, driver.description, self._sundials, run, make)

    def differentiated(
        self, setup: SimulationSetup, description: ModelDescription
    ) -> Sensitivities | None:
        """Return nothing: derivatives do not come from the FMU, since fmident integrates."""
        return None

    def why_no_line(self, description: ModelDescription, variable: Variable) -> str:
        """Return nothing: fmident integrates, so inputs can be interpolated linearly."""
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

    def initialise(
        self, instance: BaseInstance, assignment: Assignment, values: Mapping[str, Value]
    ) -> None:
        """Initialise a new instance, and those for derivatives; see the base class."""
        super().initialise(instance, assignment, values)
        if self._plain is not None:
            self._plain.refuse_repeated()
        if self._variations is not None:
            self._variations.begin(instance, values)

    def refuse_repeated(self) -> None:
        """Raise `RunFailed` if an event took effect only when repeated: derivatives fail then."""
        if self._table[loop.REPEATED] == 0:
            return
        from fmident.fmu.model_exchange.sensitivity.columns import not_differentiable

        time = float(self._reals[loop.REPEATED_EVENT])
        raise not_differentiable(
            f"the event at t = {time!r} s has its effect only when it is repeated: by how much"
            " parameters move it cannot be seen from the event indicators",
            time,
        )

    def read(self, instance: BaseInstance, row: int) -> None:
        """Read the recorded variables; see the base class."""
        super().read(instance, row)
        if self._variations is not None:
            self._variations.record_first(float(self.times[row]))

    def assemble(self) -> F64:
        """Return the recorded values with their derivatives."""
        if self._plain is None or self._variations is None:
            return super().assemble()
        return self._variations.beside(self._plain.assemble())

    def claim(self, instance: BaseInstance) -> None:
        """Record where inputs jump."""
        self._jumps = self.inputs.jumps(self.means)

    def settle(self, instance: BaseInstance, begin: float) -> None:
        """Settle initial events, set up the integrator, and enter continuous-time mode."""
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
        reals[:] = 0.0
        reals[: loop.DOUBTED] = begin, np.inf, -np.inf, np.inf, self._relative
        reals[loop.REPEAT] = np.inf
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
        """Return the runner of the steps."""
        budget = _FIRST_BUDGET

        def run(begin: int, end: int, state: I64) -> bool:
            nonlocal budget
            first = begin
            while True:
                self._table[loop.BUDGET] = budget
                began = perf_counter()
                if loop.run_steps(
                    self._table, self._reals, self.times, self._between, self._jump,
                    self.outputs.program, self._jumps, begin, end, state,
                ):  # fmt: skip
                    if self._variations is not None:
                        self._variations.refuse_not_finite(first, end + 1)
                    return True
                if state[program.WHY] == loop.VARIATION:
                    assert self._variations is not None
                    raise self._variations.failure(float(self._reals[program.TIME]))
                if state[program.WHY] != loop.PAUSED:
                    return False
                per_step = max(perf_counter() - began, 1e-9) / budget
                budget = max(1, min(int(PAUSE_SECONDS / per_step), 8 * budget))
                begin = int(state[program.FAILED_STEP])
                pause(float(self._reals[program.TIME]))

        return run

    def explain(self, outcome: int, time: float) -> Stop:
        """Return the meaning of a loop outcome; raise RunFailed if no call is the cause."""
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
        """Return message and hint of an outcome specific to this loop."""
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
        if outcome == loop.CONTRADICTION:
            n, count = (int(self._table[k]) for k in (loop.STATES, loop.INDICATORS))
            before, after = self._seed[4 * n : 4 * n + 2 * count].reshape(2, count) > 0.0
            which = ", ".join(str(k) for k in np.flatnonzero(before != after))
            return (
                f"event indicators contradict the mode of the FMU{at}: after {loop.MOST_REPEATS}"
                f" events at this instant another still changes the side of indicator {which}",
                "an error in the FMU or its exporter; where it offers Co-Simulation, too,"
                ' choose that (interface = "co-simulation")',
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
        """Free the integrator; return whether the FMU has requested termination."""
        self.close()
        if self._variations is not None:
            self._variations.members.end()
        return super().finish()

    def remarks(self) -> list[str]:
        """Return notes for the user on the derivatives."""
        return [] if self._variations is None else self._variations.remarks()

    @property
    def doubt(self) -> str:
        """Return why the outputs are doubtful: late events; see the base class."""
        late = int(self._table[loop.LATE])
        if late == 0:
            return ""
        at, lateness, error = (
            float(self._reals[k]) for k in (loop.LATE_EVENT, loop.LATENESS, loop.ERROR)
        )
        more = f" (and {late - 1} more late events)" if late > 1 else ""
        effect = f"is worth {error:.3g} times the tolerance in" if np.isfinite(error) else "resets"
        return (
            f"event indicators contradict the FMU's mode: the event at t = {at:.9g} s has its"
            f" effect only {lateness:.2g} s later, which {effect} a state{more}"
        )

    def free(self) -> None:
        """Free the instances for derivatives."""
        if self._variations is not None:
            self._variations.free()

    def close(self) -> None:
        """Free the integrator, if there is one."""
        if self._integrator is not None:
            self._integrator.close()
            self._integrator = None
        self._table[loop.VARIATIONS] = 0


class Integrator:
    """Memory of CVODE for one run; to be closed.

    `table` has the sizes and the FMU's functions, and gets the integrator's addresses.
    `states` and `allowed`, their absolute tolerances, are used in place, shape (n,);
    `start` is in s, and `relative` is the relative tolerance.
    """

    def __init__(
        self,
        sundials: Sundials,
        table: npt.NDArray[np.int64],
        states: F64,
        allowed: F64,
        start: float,
        relative: float,
    ) -> None:
        self._sundials = sundials
        self._kept = (table, states, allowed)
        self._start = start
        call, context, n = sundials.call, sundials.context, states.size
        self._made: list[tuple[str, Any]] = []
        self._vector = self._make("N_VMake_Serial", n, states.ctypes.data, context)
        self._allowed = self._make("N_VMake_Serial", n, allowed.ctypes.data, context)
        self._matrix = self._make("SUNDenseMatrix", n, n, context)
        self._solver = self._make("SUNLinSol_Dense", self._vector, self._matrix, context)
        memory = self._make("CVodeCreate", _BDF, context)
        if sundials.has("CVodeSetErrFile"):
            call("CVodeSetErrFile", memory, None)
        self._set("CVodeInit", memory, loop.derivatives.address, start, self._vector)
        self._set("CVodeSVtolerances", memory, relative, self._allowed)
        self._set("CVodeSetUserData", memory, table.ctypes.data)
        self._set("CVodeSetLinearSolver", memory, self._solver, self._matrix)
        if table[loop.DIRECTIONAL]:
            self._set("CVodeSetJacFn", memory, loop.jacobian.address)
        if table[loop.INDICATORS]:
            count = int(table[loop.INDICATORS])
            self._set("CVodeRootInit", memory, count, loop.indicators.address)
            self._set("CVodeSetNoInactiveRootWarn", memory)
        for place, value in (
            (loop.MEMORY, memory),
            (loop.STATE_VECTOR, self._vector),
            (loop.TOLERANCE_VECTOR, self._allowed),
            (loop.CVODE, sundials.address("CVode")),
            (loop.REINIT, sundials.address("CVodeReInit")),
            (loop.STOP_TIME, sundials.address("CVodeSetStopTime")),
            (loop.TOLERANCES, sundials.address("CVodeSVtolerances")),
            (loop.ARRAY_OF, sundials.address("N_VGetArrayPointer")),
            (loop.COLUMN_OF, sundials.address("SUNDenseMatrix_Column")),
            (loop.DENSE, sundials.address("CVodeGetDky")),
        ):
            table[place] = value

    def _make(self, name: str, *arguments: Any) -> Any:
        """Return an object allocated by SUNDIALS."""
        handle = self._sundials.call(name, *arguments)
        if not handle:
            raise self._failure(name, "no memory")
        self._made.append((_FREED_BY[name], handle))
        return handle

    def _set(self, name: str, *arguments: Any) -> None:
        flag = self._sundials.call(name, *arguments)
        if flag != 0:
            raise self._failure(name, f"flag {flag}")

    def _failure(self, name: str, said: str) -> RunFailed:
        self.close()
        n = self._kept[1].size
        states = "1 state" if n == 1 else f"{n} states"
        return RunFailed(
            f"the integrator CVODE cannot be set up for {states}: {name} returned {said}",
            time=self._start,
            says_time=False,
            hint=f"its Jacobian takes {8e-6 * n * n:.3g} MB: run fewer workers at a time, or"
            " export the FMU with Co-Simulation",
        )

    def roots(self, count: int) -> npt.NDArray[np.int32]:
        """Return for each event indicator whether it was a root: 1 upwards, -1 downwards."""
        directions = np.zeros(max(count, 1), np.int32)
        self._sundials.call(
            "CVodeGetRootInfo", self._kept[0][loop.MEMORY].item(), directions.ctypes.data
        )
        return directions[:count]

    def close(self) -> None:
        """Free the memory; closing twice does nothing."""
        while self._made:
            freed_by, handle = self._made.pop()
            if freed_by == "CVodeFree":
                self._sundials.call(freed_by, ctypes.byref(ctypes.c_void_p(handle)))
            else:
                self._sundials.call(freed_by, handle)
        self._kept[0][loop.MEMORY] = 0

    def __del__(self) -> None:
        self.close()


FLAGS = {
    -1: "it needs too many steps",
    -2: "the tolerance is too small for numbers of this precision",
    -3: "its steps become too small: the solution may have a singularity",
    -4: "its equations do not converge",
    -5: "its linear solver fails",
    -6: "its linear solver fails",
    -7: "its linear solver fails",
    -27: "the communication step is too short for numbers of this precision",
}
"""CVODE's flags in words."""
