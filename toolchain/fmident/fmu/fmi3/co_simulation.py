"""Driver of FMI 3.0 Co-Simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fmident.errors import Code, FmuError
from fmident.fmu.driver import Driver, UpdateChoice
from fmident.fmu.fmi3 import loop
from fmident.fmu.fmi3.instance import Instance3
from fmident.fmu.life_cycle.input_trial import Trial
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value, Variable
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.log import LogBuffer
from fmident.fmu.plan import EventPlan, InputUpdate, Plan, Runner, Stop
from fmident.fmu.sensitivity_table import Sensitivities
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import I64
from fmident.fmu.values import Assignment

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


class CoSimulation3(Driver):
    """Driver of FMI 3.0 Co-Simulation; inputs jump in event mode, if available."""

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
        # The FMU keeps the table's address from its instantiation on.
        self._table: I64 = np.zeros(loop.SIZE, np.int64)

    def instantiate(self, debug: bool, /) -> Instance3:
        """Instantiate the FMU, with callbacks within steps if it offers them."""
        try:
            return self._instantiate(debug)
        except CallFailed:
            able = self.description.capabilities
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

    def _instantiate(self, debug: bool) -> Instance3:
        offered = self.description.capabilities.provides_intermediate_update
        # Kept: the FMU has its address.
        self._within_steps = np.array(
            [
                v.value_reference
                for v in self.description.inputs
                if v.intermediate and v.element == 0 and v.native_type == "Float64"
            ],
            dtype=np.uint32,
        )
        update = self._within_steps, loop.intermediate.address, self._table.ctypes.data
        return Instance3(
            self.library,
            self.description,
            self.resources,
            self.buffer,
            debug=debug,
            intermediate=update if offered else (None, 0, 0),
        )

    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> StepPlan3:
        """Resolve a setup, with inputs set before or after the step."""
        return StepPlan3(setup, self.description, self.library, self._table, update)

    def trial(
        self, plan: Plan, assignment: Assignment, values: Mapping[str, Value]
    ) -> Trial | None:
        """Return the trial that determines when to set inputs; ``None`` if it has no effect.

        Inputs that jump in event mode or are interpolated within the step need none.
        """
        if self.description.capabilities.has_event_mode or plan.inputs.lines:
            return None
        return super().trial(plan, assignment, values)

    def remarks(self, setup: SimulationSetup, plan: Plan) -> list[str]:
        """Return notes on refused event mode, held inputs, and instants too close to each other."""
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


class StepPlan3(EventPlan):
    """A plan whose loop handles early returns, and events in event mode."""

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        library: Library,
        table: I64,
        update: InputUpdate = "after_step",
    ) -> None:
        super().__init__(setup, description, library, update, loop=loop, table=table)
        self.capable = description.capabilities
        self._lay_out()

    def why_no_line(self, description: ModelDescription, variable: Variable) -> str:
        """Return why a continuous input cannot be interpolated linearly; empty if it can."""
        if description.capabilities.provides_intermediate_update and variable.intermediate:
            return ""
        return (
            "does not take inputs within a step"
            " (providesIntermediateUpdate, intermediateUpdate of the inputs)"
        )

    def differentiated(
        self, setup: SimulationSetup, description: ModelDescription
    ) -> Sensitivities | None:
        """Return the sensitivities to record; ``None`` if none are requested."""
        names, known = setup.output_names, setup.sensitivities
        rows = setup.times.size
        return Sensitivities(description, self.library, names, known, rows) if known else None

    def _lay_out(self) -> None:
        self._record = self.outputs.program
        if self.sensitivities is not None:
            self._record = np.concatenate([self.sensitivities.program, self.outputs.program])
            self.sensitivities.program = self._record[:1]
            self.outputs.program = self._record[1:]
        mover, groups = self.inputs.mover, self.inputs.groups
        self._jumps: npt.NDArray[np.bool_] = np.zeros(self.times.size, dtype=np.bool_)
        self._jump = mover.program(())
        if self.update == "before_step":
            discrete = self.inputs.discrete
            self._before = mover.program([g for g in groups if g not in discrete])
            self._after = mover.program(discrete)
            return
        self._before = mover.program(self.means, 0)
        if self.capable.has_event_mode:
            # What jumps is set in event mode: FMI demands it, also of continuous inputs.
            self._after = mover.program(self.inputs.lines)
            self._jump = mover.program([*self.inputs.held, *self.inputs.averaged])
        else:
            self._after = mover.program(groups)

    def claim(self, instance: BaseInstance) -> None:
        """Write to the shared table, which other plans of the simulator use, too."""
        if self.capable.has_event_mode:
            self._jumps = self.inputs.jumps(self.means)
        table, find = self._table, self.library.address
        table[:] = 0
        table[program.VERSION] = 3
        table[program.COMPONENT] = instance.component or 0
        table[loop.DO_STEP] = find("fmi3DoStep")
        table[program.ENTER_EVENT] = find("fmi3EnterEventMode")
        table[program.UPDATE] = find("fmi3UpdateDiscreteStates")
        table[loop.ENTER_STEP] = find("fmi3EnterStepMode")
        table[loop.EVENT_MODE] = self.capable.has_event_mode
        table[loop.VARIABLE_STEP] = self.capable.can_handle_variable_step
        table[program.INFO] = self._info.ctypes.data
        table[program.TIMES] = self.times.ctypes.data
        self._reals[:] = (self.times[0], np.inf, 0.0)

    def settle(self, instance: BaseInstance, begin: float) -> None:
        """Settle initial events if there is event mode; afterwards inputs vary."""
        if self.capable.has_event_mode:
            self.settle_events(begin)
        self.claim_lines()

    def runner(
        self,
        instance: BaseInstance,
        *,
        pause: Callable[[float], None],
    ) -> Runner:
        """Return the runner of the steps."""

        def run(begin: int, end: int, state: I64) -> bool:
            return bool(
                loop.run_steps(
                    self._table, self._reals, self.times, self._before, self._jump,
                    self._after, self._record, self._jumps, begin, end, state,
                )
            )  # fmt: skip

        return run

    def stopped(self, state: I64) -> Stop:
        """Return why the loop stopped; see :class:`fmident.fmu.plan.Plan`."""
        stop = super().stopped(state)
        if stop.failed.function != "fmi3DoStep":
            return stop
        size = float(self.times[int(state[program.FAILED_STEP]) + 1]) - stop.time
        return Stop(stop.failed, stop.time, f"{stop.where} (step of {size:g} s)")

    def explain_more(self, outcome: int, time: float) -> tuple[str, str]:
        """Return message and hint of an outcome specific to this loop."""
        table, at = self._table, f" at t = {time!r} s"
        return {
            program.ZENO: (
                f"events follow one another without end{at} (Zeno behaviour or chattering):"
                f" {int(table[program.INTERVAL_EVENTS])} events within one communication step,"
                f" {int(table[loop.STALLED])} of them without progress",
                "let the model come to rest below a small velocity, or give its switch a"
                " hysteresis",
            ),
            loop.WRONG_TIME: (
                f"fmi3DoStep returned early{at} and claims to have reached"
                f" {float(self._reals[loop.RETURNED])!r} s, which is outside the step",
                "this is an error in the FMU",
            ),
            loop.FIXED_STEP: (
                f"fmi3DoStep returned early{at}, but the FMU cannot take a step of another size"
                " for the rest (canHandleVariableCommunicationStepSize is false)",
                "export the FMU with variable communication steps",
            ),
            loop.UNASKED: (
                f"the FMU wants an event to be handled{at}, which its description does not"
                " offer (hasEventMode is false)",
                "this is an error in the FMU: description and library do not agree",
            ),
        }[outcome]
