"""Co-Simulation of FMI 2.0 and 3.0."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from fmident.errors import Code, FmuError
from fmident.fmu.driver import Driver, UpdateChoice
from fmident.fmu.life_cycle.input_trial import InputTrial
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed, Instance3
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value, Variable
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import DISCARD, Library
from fmident.fmu.native_code.log import LogBuffer
from fmident.fmu.native_code.loops import CoSimulationRun, assign, loops
from fmident.fmu.native_code.program import Program
from fmident.fmu.plan import InputUpdate, LoopPlan, Plan, Runner, Stop
from fmident.fmu.setup import SimulationSetup, with_ramps
from fmident.fmu.values import I64, Assignment, Course, Group, prefix_of

HELD = (
    "inputs are held from instant to instant: FMI 3.0 can have them on straight lines only"
    " where the FMU takes inputs within a step, which this one does not;"
    " interpolation='mean' halves the delay"
)
COARSE = (
    "the FMU integrates in fixed steps of {:g} s (fixedInternalStepSize), and some instants are"
    " nearer to each other: what it computes may not change from one to the next"
)
REFUSED = (
    "the FMU offers event mode (hasEventMode), but refuses to be instantiated with it: it is"
    " simulated without, and handles its events within its steps"
)


class CoSimulation(Driver):
    """Driver of Co-Simulation; in FMI 3.0 inputs jump in event mode, if available."""

    def __init__(
        self,
        description: ModelDescription,
        library: Library,
        resources: str,
        buffer: LogBuffer,
        update: UpdateChoice,
    ) -> None:
        super().__init__(description, library, resources, buffer, update)
        if update == "before_step" and description.capabilities.has_event_mode:
            raise FmuError(
                f"the inputs of '{description.name}' cannot be set before the step that leads"
                " to their instant: the FMU has event mode, in which inputs jump",
                hint="leave input_update at 'auto'",
                code=Code.NOT_SUPPORTED,
            )
        self._event_mode_refused = False
        # An FMU of FMI 3.0 keeps the address from its instantiation on.
        self._run = CoSimulationRun()

    def instantiate(self, debug: bool, /) -> BaseInstance:
        """Instantiate the FMU, without event mode if it refuses that."""
        able = self.description.capabilities
        try:
            return self._instantiate(debug)
        except CallFailed:
            if not able.has_event_mode:
                raise
            # Event mode is at the importer's choice: some FMUs offer and then refuse it.
            offered = self.description
            self.description = replace(offered, capabilities=replace(able, has_event_mode=False))
            try:
                instance = self._instantiate(debug)
            except CallFailed:
                self.description = offered
                raise
            self._event_mode_refused = True
            return instance

    def _instantiate(self, debug: bool) -> BaseInstance:
        """Instantiate the FMU, with callbacks within steps if it offers them."""
        if not self.description.capabilities.provides_intermediate_update:
            return super().instantiate(debug)
        # Kept: the FMU has its address.
        self._within_steps = np.array(
            [
                v.value_reference
                for v in self.description.inputs
                if v.intermediate and v.element == 0 and v.native_type == "Float64"
            ],
            dtype=np.uint32,
        )
        update = loops().address("intermediate_update")
        return Instance3(
            self.library,
            self.description,
            self.resources,
            self.buffer,
            debug=debug,
            intermediate=(self._within_steps, update, self._run.address),
        )

    def update_of(self, setup: SimulationSetup) -> UpdateChoice:
        """Return when inputs other than ramps are set, as far as known."""
        ramps = self.description.input_ramps
        return self.update if ramps is None or not ramps.driven(setup) else "after_step"

    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> StepPlan:
        """Resolve a setup, with inputs set before or after the step."""
        ramps = self.description.input_ramps
        ramped: Collection[str] = ()
        if ramps is not None and (driven := ramps.driven(setup)):
            ramped = ramps.names.union(driven)
            setup = with_ramps(setup, ramps)
        return StepPlan(setup, self.description, self.library, self._run, update, ramped)

    def trial(
        self, plan: Plan, assignment: Assignment, values: Mapping[str, Value]
    ) -> InputTrial | None:
        """Return the trial that determines when to set inputs; ``None`` if it has no effect.

        In FMI 3.0 inputs that jump in event mode or are interpolated within the step need none.
        """
        three = prefix_of(self.description) == "fmi3"
        if self.description.capabilities.has_event_mode or (three and plan.inputs.lines):
            return None
        return super().trial(plan, assignment, values)

    def remarks(self, setup: SimulationSetup, plan: Plan) -> list[str]:
        """Return notes on refused event mode, held inputs, and instants too close to each other."""
        if prefix_of(self.description) != "fmi3":
            return []
        held = any(
            setup.interpolation_of(plan.inputs.names[signal]) == "auto"
            and bool(np.ptp(group.values[:, column]) > 0.0)
            for group in plan.inputs.held
            if group in plan.inputs.continuous
            for signal, column in group.columns
        )
        notes = [REFUSED] * self._event_mode_refused + [HELD] * held
        fixed = self.description.capabilities.fixed_step
        if fixed is not None and bool(np.any(np.diff(plan.times) < (1.0 - 1e-6) * fixed)):
            notes.append(COARSE.format(fixed))
        return notes


class StepPlan(LoopPlan):
    """A plan of communication steps; in FMI 3.0 with early returns, and events in event mode.

    The FMU itself interpolates `ramped` inputs, which are set before the step. The plans of a
    simulator share `run`.
    """

    run: CoSimulationRun

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        library: Library,
        run: CoSimulationRun,
        update: InputUpdate = "after_step",
        ramped: Collection[str] = (),
    ) -> None:
        self._ramped = ramped
        super().__init__(setup, description, library, update, run=run)
        self._capable = description.capabilities
        self._ended = False
        self._programs = self._lay_out()
        self._prepared = self._prepare()
        self._no_jumps = np.zeros(self.times.size, np.bool_)

    def why_no_line(self, description: ModelDescription, variable: Variable) -> str:
        """Return why a continuous input cannot be interpolated linearly; empty if it can."""
        if self.three:
            if description.capabilities.provides_intermediate_update and variable.intermediate:
                return ""
            return (
                "does not take inputs within a step"
                " (providesIntermediateUpdate, intermediateUpdate of the inputs)"
            )
        derivatives = self.library.address("fmi2SetRealInputDerivatives")
        if description.can_interpolate_inputs and derivatives:
            return ""
        return "does not interpolate its inputs (canInterpolateInputs is false)"

    def course(
        self, setup: SimulationSetup, description: ModelDescription, variable: Variable
    ) -> Course:
        """Return the course of an input between the instants."""
        if variable.name in self._ramped:
            return "ramp"
        return super().course(setup, description, variable)

    def _lay_out(self) -> dict[str, Program]:
        """Return what is transferred before a step, after it, in event mode, and recorded."""
        inputs, make = self.inputs, self.inputs.mover.program
        ramps, jump = inputs.ramps, make(())
        others = [g for g in inputs.groups if g not in ramps]
        if self.update == "before_step":
            before = make([*ramps, *(g for g in others if g not in inputs.discrete)])
            after = make(inputs.discrete)
        else:
            slopes = make(()) if self.three else self._slopes()
            before = np.concatenate([make(ramps), slopes, make(self.means, 0)])
            after = make(others)
            if self._capable.has_event_mode:
                # What jumps is set in event mode: FMI demands it, also of continuous inputs.
                after = make(inputs.lines)
                jump = make([*inputs.held, *inputs.averaged])
        record = self.outputs.program
        if self.sensitivities is not None:
            record = np.concatenate([self.sensitivities.program, record])
            self.sensitivities.program = record[:1]
            self.outputs.program = record[1:]
        return {"before": before, "after": after, "jump": jump, "record": record}

    def _slopes(self) -> Program:
        """Return the call that makes inputs of FMI 2.0 straight lines."""
        intervals = np.diff(self.times)[:, np.newaxis]
        self._lines: list[Group] = [
            replace(line, values=np.ascontiguousarray(np.diff(line.values, axis=0) / intervals))
            for line in self.inputs.lines
        ]
        slopes = self.inputs.mover.program(self._lines, 0)
        if self._lines:
            self._orders = np.ones(self._lines[0].references.size, np.int32)
            slopes["kind"] = program.SLOPES
            slopes["function"] = self.library.address("fmi2SetRealInputDerivatives")
            slopes["orders"] = self._orders.ctypes.data
        return slopes

    def _prepare(self) -> CoSimulationRun:
        """Return what is the same in all runs."""
        run, find = CoSimulationRun(), self.library.address
        self.prepare(run, self._programs)
        run.do_step = find(f"{self.prefix}DoStep")
        run.enter_event = find("fmi3EnterEventMode")
        run.update = find("fmi3UpdateDiscreteStates")
        run.enter_step = find("fmi3EnterStepMode")
        run.event_mode = self._capable.has_event_mode
        run.variable_step = self._capable.can_handle_variable_step
        return run

    def claim(self, instance: BaseInstance) -> None:
        """Write to the shared structure, which other plans of the simulator use, too."""
        assign(self.run, self._prepared)
        jumps = self.inputs.jumps(self.means) if self._capable.has_event_mode else self._no_jumps
        self.begin(instance, jumps)
        self._ended = False

    def settle(self, instance: BaseInstance, begin: float) -> None:
        """Settle initial events if there is event mode; afterwards inputs vary."""
        if self._capable.has_event_mode:
            self.settle_events(loops().settle_co_simulation, begin)
        if self.three:
            self.claim_lines()

    def runner(self, state: I64, pause: Callable[[float], None]) -> Runner:
        """Return the compiled loop, which makes no pauses."""
        return partial(loops().run_co_simulation, self.run.address, state.ctypes.data)

    def ends_in_last_step(self, instance: BaseInstance, state: I64) -> bool:
        """Return whether the FMU discarded the last step to request termination at the stop time.

        The outputs of the last instant are still read, but inputs not set, which FMI 2.0
        forbids after a discarded step (section 4.2.4).
        """
        last = self.times.size - 2
        if state[program.FAILED_STATUS] != DISCARD or state[program.FAILED_STEP] != last:
            return False
        if self.three or self.run.failed_function != self.run.do_step:
            return False
        begin, end = float(self.times[-2]), float(self.times[-1])
        ended = instance.end_of_simulation(begin)
        if ended is None or abs(ended - end) > 1e-6 * (end - begin):
            return False
        self.read(instance, last + 1)
        self._ended = True
        return True

    def finish(self) -> bool:
        """Return whether the FMU has requested termination at the last instant."""
        return self._ended or super().finish()

    def stopped(self, state: I64) -> Stop:
        """Return why the loop stopped; see :class:`fmident.fmu.plan.Plan`."""
        stop = super().stopped(state)
        if stop.failed.function != f"{self.prefix}DoStep":
            return stop
        size = float(self.times[int(state[program.FAILED_STEP]) + 1]) - stop.time
        return Stop(stop.failed, stop.time, f"{stop.where} (step of {size:g} s)")

    def explain_more(self, outcome: int, time: float) -> tuple[str, str]:
        """Return message and hint of an outcome specific to this loop."""
        run, at = self.run, f" at t = {time!r} s"
        return {
            program.ZENO: (
                f"events follow one another without end{at} (Zeno behaviour or chattering):"
                f" {run.interval_events} events within one communication step,"
                f" {run.stalled} of them without progress",
                "let the model come to rest below a small velocity, or give its switch a"
                " hysteresis",
            ),
            program.WRONG_TIME: (
                f"fmi3DoStep returned early{at} and claims to have reached"
                f" {run.returned!r} s, which is outside the step",
                "this is an error in the FMU",
            ),
            program.FIXED_STEP: (
                f"fmi3DoStep returned early{at}, but the FMU cannot take a step of another size"
                " for the rest (canHandleVariableCommunicationStepSize is false)",
                "export the FMU with variable communication steps",
            ),
            program.UNASKED: (
                f"the FMU wants an event to be handled{at}, which its description does not"
                " offer (hasEventMode is false)",
                "this is an error in the FMU: description and library do not agree",
            ),
        }[outcome]
