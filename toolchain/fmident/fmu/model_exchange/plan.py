"""Plan of Model Exchange of FMI 2.0 and 3.0, with CVODE as integrator.

It uses variable-order backward differentiation formulas, and finds roots of the event
indicators (Hindmarsh et al., SUNDIALS, ACM Trans. Math. Softw. 31(3), 2005).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, FmuError
from fmident.fmu.driver import Driver
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import BaseInstance
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Variable
from fmident.fmu.model_exchange.sundials import Sundials
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import DISCARD
from fmident.fmu.native_code.loops import ModelExchangeRun, loops, zero
from fmident.fmu.native_code.program import Program
from fmident.fmu.plan import LoopPlan, Runner, Stop
from fmident.fmu.sensitivity_table import Sensitivities
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.values import I64, address_of

DEFAULT_TOLERANCE = 1e-6
"""Relative tolerance where neither the setup nor the FMU has one."""

PAUSE_SECONDS = 0.05
"""The interpreter is asked for a pending Ctrl-C and the time limit about this often."""

_FIRST_BUDGET = 100  # integrator steps until it is asked for the first time

_FUNCTIONS = {
    "set_time": "SetTime",
    "set_states": "SetContinuousStates",
    "get_states": "GetContinuousStates",
    "get_nominals": "GetNominalsOfContinuousStates",
    "get_indicators": "GetEventIndicators",
    "enter_continuous": "EnterContinuousTimeMode",
    "enter_event": "EnterEventMode",
}
_OTHER_NAMES = {
    "get_derivatives": ("fmi2GetDerivatives", "fmi3GetContinuousStateDerivatives"),
    "update": ("fmi2NewDiscreteStates", "fmi3UpdateDiscreteStates"),
}

_BDF = 2

_OF_SUNDIALS = {
    "cvode": "CVode",
    "reinit": "CVodeReInit",
    "set_stop_time": "CVodeSetStopTime",
    "set_tolerances": "CVodeSVtolerances",
    "array_of": "N_VGetArrayPointer",
    "column_of": "SUNDenseMatrix_Column",
    "get_dense": "CVodeGetDky",
}
_FREED_BY = {
    "N_VMake_Serial": "N_VDestroy",
    "SUNDenseMatrix": "SUNMatDestroy",
    "SUNLinSol_Dense": "SUNLinSolFree",
    "CVodeCreate": "CVodeFree",
}


class ExchangePlan(LoopPlan):
    """The constant parts of a run, and its tables.

    Continuous inputs are interpolated linearly unless they are to be held; others jump.
    """

    run: ModelExchangeRun

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
        super().__init__(setup, description, library, run=ModelExchangeRun())
        self.relative: float = self.tolerance or DEFAULT_TOLERANCE
        self.tolerance = self.relative
        self._description = description
        self._sundials = sundials
        self._integrator: Integrator | None = None
        self._states: F64 = np.zeros(0)
        self._allowed: F64 = np.zeros(0)
        self._memory: F64 = np.zeros(0)
        self._state_references = np.array(description.state_references, np.uint32)
        self._derivative_references = np.array(description.derivative_references, np.uint32)
        self._programs = {
            "between": self.inputs.mover.program(self.means, 0),
            "jump": self.inputs.mover.program(self.inputs.groups),
            "record": self.outputs.program,
        }

    # ------------------------------------------------------- what sensitivities need of the run

    @property
    def interval(self) -> float:
        """The longest communication step, s."""
        return float(np.diff(self.times).max()) if self.times.size > 1 else 1.0

    @property
    def states(self) -> F64:
        """The present continuous states, shape (n,); not a copy."""
        return self._states[: self.run.states]

    @property
    def nominals(self) -> F64:
        """Nominal values of the states, shape (n,)."""
        return self._allowed[: self.run.states] / self.relative

    def roots(self) -> I64:
        """Return which event indicators have just become zero: 1 upwards, -1 downwards."""
        assert self._integrator is not None
        return self._integrator.roots(self.run.indicators)

    def moved(self, inputs: bool) -> Program:
        """Return the program of the inputs that an event sets, empty for none."""
        if not inputs:
            return self._programs["jump"][:0]
        return self._programs["jump" if self.run.inside else "between"]

    def differentiated(
        self, setup: SimulationSetup, description: ModelDescription
    ) -> Sensitivities | None:
        """Return nothing: derivatives do not come from the FMU, since fmident integrates."""
        return None

    def why_no_line(self, description: ModelDescription, variable: Variable) -> str:
        """Return nothing: fmident integrates, so inputs can be interpolated linearly."""
        return ""

    # ---------------------------------------------------------------- start of a run

    def claim(self, instance: BaseInstance) -> None:
        """Prepare the structure for a run."""
        self.close()
        zero(self.run)
        self.prepare(self.run, self._programs)
        self.begin(instance, self.inputs.jumps(self.means))

    def settle(self, instance: BaseInstance, begin: float) -> None:
        """Settle initial events, set up the integrator, and enter continuous-time mode."""
        run = self.run
        self._find_functions()
        run.states, run.indicators = self._sizes(instance)
        if run.states != self._states.size or not self._memory.size:
            self._states, self._allowed = np.zeros(max(run.states, 1)), np.ones(max(run.states, 1))
        self._memory = np.zeros(4 * max(run.states, 1) + 2 * run.indicators)
        run.x, run.allowed = address_of(self._states), address_of(self._allowed)
        run.work = address_of(self._memory)
        listed = run.reference_count  # fewer than states where these are arrays
        if listed == 0 or listed > run.states or (listed < run.states and not self.three):
            run.directional = 0  # the description does not list all states
        run.began, run.relative = begin, self.relative
        run.last_event, run.last_gap, run.repeat = -np.inf, np.inf, np.inf
        # CVODE is not called as long as there is no memory for it.
        self.settle_events(loops().settle_model_exchange, begin)
        if run.states or run.indicators:
            self._integrator = Integrator(
                self._sundials, run, self._states, self._allowed, begin, self.relative
            )
        self.claim_lines()

    def _find_functions(self) -> None:
        run, find, able = self.run, self.library.address, self._description.capabilities
        for field, name in _FUNCTIONS.items():
            setattr(run, field, find(self.prefix + name))
        for field, names in _OTHER_NAMES.items():
            setattr(run, field, find(names[self.three]))
        if able.needs_completed_step:
            run.completed = find(f"{self.prefix}CompletedIntegratorStep")
        if able.provides_directional_derivative:
            run.directional = find(f"{self.prefix}GetDirectionalDerivative")
        run.state_references = address_of(self._state_references)
        run.derivative_references = address_of(self._derivative_references)
        run.reference_count = self._state_references.size

    def _sizes(self, instance: BaseInstance) -> tuple[int, int]:
        """Return the numbers of continuous states and event indicators."""
        if not self.three:
            return self._description.state_count, self._description.indicator_count
        count = ctypes.c_size_t()
        instance.call("fmi3GetNumberOfContinuousStates", ctypes.byref(count))
        states = count.value
        instance.call("fmi3GetNumberOfEventIndicators", ctypes.byref(count))
        return states, count.value

    # ---------------------------------------------------------------------- the steps

    def runner(self, state: I64, pause: Callable[[float], None]) -> Runner:
        """Return the runner of the steps."""
        budget = _FIRST_BUDGET
        run_steps = partial(loops().run_model_exchange, self.run.address, state.ctypes.data)

        def run(begin: int, end: int) -> bool:
            nonlocal budget
            while True:
                self.run.budget = budget
                began = perf_counter()
                if run_steps(begin, end):
                    return True
                if state[program.WHY] != program.PAUSED:
                    return False
                per_step = max(perf_counter() - began, 1e-9) / budget
                budget = max(1, min(int(PAUSE_SECONDS / per_step), 8 * budget))
                begin = int(state[program.FAILED_STEP])
                pause(self.run.time)

        return run

    def explain(self, outcome: int, time: float) -> Stop:
        """Return the meaning of a loop outcome; raise RunFailed if no call is the cause."""
        status, flag = self.run.call_status, self.run.flag
        # Error and Fatal end the run wherever CVODE was, even within its linear solver.
        grave = status not in (0, DISCARD, program.NOT_FINITE)
        if outcome == program.SOLVER and status != 0 and (grave or -12 <= flag <= -8):
            outcome = program.CALL
        if outcome == program.CALL and status == program.NOT_FINITE:
            raise RunFailed(
                f"derivatives of the states are NaN or infinite at t = {time!r} s",
                time=time,
                hint="the parameters or inputs may be outside what the model can compute",
            )
        return super().explain(outcome, time)

    def explain_more(self, outcome: int, time: float) -> tuple[str, str]:
        """Return message and hint of an outcome specific to this loop."""
        at, flag = f" at t = {time!r} s", self.run.flag
        if outcome == program.ZENO:
            events = self.run.interval_events
            return (
                f"events follow one another without end{at} (Zeno behaviour or chattering):"
                f" {events} within one communication step, the last"
                f" {self.run.last_gap:.1e} s apart",
                "let the model come to rest below a small velocity, or give its switch a"
                " hysteresis; where so many events are meant, take smaller communication steps",
            )
        if outcome == program.CONTRADICTION:
            n, count = self.run.states, self.run.indicators
            before, after = self._memory[4 * n : 4 * n + 2 * count].reshape(2, count) > 0.0
            which = ", ".join(str(k) for k in np.flatnonzero(before != after))
            return (
                f"event indicators contradict the mode of the FMU{at}: after {program.MOST_REPEATS}"
                f" events at this instant another still changes the side of indicator {which}",
                "an error in the FMU or its exporter; where it offers Co-Simulation, too,"
                ' choose that (interface = "co-simulation")',
            )
        if outcome == program.TOO_MANY:
            return (
                f"the integrator took {program.MOST_STEPS} steps within one communication step"
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
        return super().finish()

    @property
    def doubt(self) -> str:
        """Return why the outputs are doubtful: late events; see the base class."""
        run, late = self.run, self.run.late
        if late == 0:
            return ""
        more = f" (and {late - 1} more late events)" if late > 1 else ""
        effect = (
            f"is worth {run.error:.3g} times the tolerance in"
            if np.isfinite(run.error)
            else "resets"
        )
        return (
            "event indicators contradict the FMU's mode: the event at"
            f" t = {run.late_event:.9g} s has its effect only {run.lateness:.2g} s later, which"
            f" {effect} a state{more}"
        )

    def close(self) -> None:
        """Free the integrator, if there is one."""
        if self._integrator is not None:
            self._integrator.close()
            self._integrator = None
        self.run.sensitivities = 0


class Integrator:
    """Memory of CVODE for one run; to be closed.

    `run` has the sizes and the FMU's functions, and gets the integrator's addresses.
    `states` and `allowed`, their absolute tolerances, are used in place, shape (n,);
    `start` is in s, and `relative` is the relative tolerance.
    """

    def __init__(
        self,
        sundials: Sundials,
        run: ModelExchangeRun,
        states: F64,
        allowed: F64,
        start: float,
        relative: float,
    ) -> None:
        self._sundials = sundials
        self._run, self._arrays = run, (states, allowed)
        self._start = start
        call, context, n, find = sundials.call, sundials.context, states.size, loops().address
        self._made: list[tuple[str, Any]] = []
        self._vector = self._make("N_VMake_Serial", n, states.ctypes.data, context)
        self._allowed = self._make("N_VMake_Serial", n, allowed.ctypes.data, context)
        self._matrix = self._make("SUNDenseMatrix", n, n, context)
        self._solver = self._make("SUNLinSol_Dense", self._vector, self._matrix, context)
        memory = self._make("CVodeCreate", _BDF, context)
        if sundials.has("CVodeSetErrFile"):
            call("CVodeSetErrFile", memory, None)
        self._set("CVodeInit", memory, find("derivatives"), start, self._vector)
        self._set("CVodeSVtolerances", memory, relative, self._allowed)
        self._set("CVodeSetUserData", memory, run.address)
        self._set("CVodeSetLinearSolver", memory, self._solver, self._matrix)
        if run.directional:
            self._set("CVodeSetJacFn", memory, find("jacobian"))
        if run.indicators:
            self._set("CVodeRootInit", memory, run.indicators, find("indicators"))
            self._set("CVodeSetNoInactiveRootWarn", memory)
        run.memory, run.state_vector, run.tolerance_vector = memory, self._vector, self._allowed
        for field, name in _OF_SUNDIALS.items():
            setattr(run, field, sundials.address(name))

    def _make(self, name: str, *arguments: Any) -> Any:
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
        n = self._arrays[0].size
        states = "1 state" if n == 1 else f"{n} states"
        return RunFailed(
            f"the integrator CVODE cannot be set up for {states}: {name} returned {said}",
            time=self._start,
            says_time=False,
            hint=f"its Jacobian takes {8e-6 * n * n:.3g} MB: run fewer workers at a time, or"
            " export the FMU with Co-Simulation",
        )

    def roots(self, count: int) -> I64:
        """Return for each event indicator whether it was a root: 1 upwards, -1 downwards."""
        directions = np.zeros(max(count, 1), np.int32)
        self._sundials.call("CVodeGetRootInfo", self._run.memory, directions.ctypes.data)
        return directions[:count].astype(np.int64)

    def close(self) -> None:
        """Free the memory; closing twice does nothing."""
        while self._made:
            freed_by, handle = self._made.pop()
            if freed_by == "CVodeFree":
                self._sundials.call(freed_by, ctypes.byref(ctypes.c_void_p(handle)))
            else:
                self._sundials.call(freed_by, handle)
        self._run.memory = 0

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
