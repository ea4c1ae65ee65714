"""Driver of FMI 2.0 Co-Simulation."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from fmident.fmu.driver import Driver, UpdateChoice
from fmident.fmu.fmi2.loop import run_steps
from fmident.fmu.life_cycle.instance import BaseInstance
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Variable
from fmident.fmu.native_code.library import DISCARD, Library
from fmident.fmu.native_code.program import (
    COLUMNS,
    DERIVATIVES,
    FAILED_CALL,
    FAILED_STATUS,
    FAILED_STEP,
    FUNCTION,
    KIND,
    ORDERS,
    STEP,
)
from fmident.fmu.plan import InputUpdate, Plan, Runner, Stop
from fmident.fmu.sensitivity_table import Sensitivities
from fmident.fmu.setup import SimulationSetup, with_ramps
from fmident.fmu.tables import I64, Course, Group, failed_call


class CoSimulation2(Driver):
    """Driver of FMI 2.0 Co-Simulation."""

    def update_of(self, setup: SimulationSetup) -> UpdateChoice:
        """Return when inputs other than ramps are set, as far as known."""
        ramps = self.description.input_ramps
        return self.update if ramps is None or not ramps.driven(setup) else "after_step"

    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> StepPlan2:
        """Resolve a setup, with inputs set before or after the step."""
        ramps = self.description.input_ramps
        if ramps is None or not (driven := ramps.driven(setup)):
            return StepPlan2(setup, self.description, self.library, update)
        ramped = ramps.names.union(driven)
        return StepPlan2(with_ramps(setup, ramps), self.description, self.library, update, ramped)


class StepPlan2(Plan):
    """A plan whose loop makes the same calls in each step.

    The FMU itself interpolates `ramped` inputs, which are set before the step.
    """

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        library: Library,
        update: InputUpdate = "after_step",
        ramped: Collection[str] = (),
    ) -> None:
        self._ramped = ramped
        super().__init__(setup, description, library, update)
        self._orders = np.zeros(0, np.int32)
        self._slopes: list[Group] = []
        self._ended = False
        self.program = self._compose()

    def why_no_line(self, description: ModelDescription, variable: Variable) -> str:
        """Return why a continuous input cannot be interpolated linearly; empty if it can."""
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

    def differentiated(
        self, setup: SimulationSetup, description: ModelDescription
    ) -> Sensitivities | None:
        """Return the sensitivities to record; ``None`` if none are requested."""
        names, known = setup.output_names, setup.sensitivities
        rows = setup.times.size
        return Sensitivities(description, self.library, names, known, rows) if known else None

    def _compose(self) -> I64:
        """Compose the calls of one communication step."""
        mover = self.inputs.mover
        ramps = mover.program(self.inputs.ramps)
        at_once = [g for g in self.inputs.groups if g not in self.inputs.ramps]
        setting = mover.program(at_once)
        step: I64 = np.zeros((1, COLUMNS), np.int64)
        step[0, KIND], step[0, FUNCTION] = STEP, self.library.address("fmi2DoStep")
        if self.update == "before_step":
            discrete = self.inputs.discrete
            early = mover.program([g for g in at_once if g not in discrete])
            parts = [ramps, early, step, mover.program(discrete)]
        else:
            parts = [ramps, self._lines(), mover.program(self.means, 0), step, setting]
        parts += [] if self.sensitivities is None else [self.sensitivities.program]
        program = np.concatenate([*parts, self.outputs.program])
        self.outputs.program = program[len(program) - len(self.outputs.program) :]
        if self.sensitivities is not None:
            before = len(program) - len(self.outputs.program) - 1
            self.sensitivities.program = program[before : before + 1]
        return program

    def _lines(self) -> I64:
        """Return the call that makes inputs ramps."""
        intervals = np.diff(self.times)[:, np.newaxis]
        self._slopes = [
            replace(line, values=np.ascontiguousarray(np.diff(line.values, axis=0) / intervals))
            for line in self.inputs.lines
        ]
        program = self.inputs.mover.program(self._slopes, 0)
        if self._slopes:
            self._orders = np.ones(self._slopes[0].references.size, np.int32)
            program[:, KIND] = DERIVATIVES
            program[:, FUNCTION] = self.library.address("fmi2SetRealInputDerivatives")
            program[:, ORDERS] = self._orders.ctypes.data
        return program

    def runner(
        self,
        instance: BaseInstance,
        *,
        pause: Callable[[float], None] | None = None,
    ) -> Runner:
        """Return the runner that executes the steps and records outputs, without pauses."""
        component, program, times = instance.component, self.program, self.times
        self._ended = False

        def run(begin: int, end: int, state: I64) -> bool:
            good = bool(run_steps(component, program, times, begin, end, state))
            return good or self._ends_here(instance, state)

        return run

    def stopped(self, state: I64) -> Stop:
        """Return which call stopped the loop."""
        step, status = int(state[FAILED_STEP]), int(state[FAILED_STATUS])
        call = int(state[FAILED_CALL])
        failed = failed_call(self.library, int(self.program[call, FUNCTION]), status)
        stepped = int(np.argmax(self.program[:, KIND] == STEP))
        time, after = float(self.times[step]), float(self.times[step + 1])
        if call > stepped:
            return Stop(failed, after, f" at t = {after!r} s")
        size = f" (step of {after - time:g} s)" if call == stepped else ""
        return Stop(failed, time, f" at t = {time!r} s{size}")

    def _ends_here(self, instance: BaseInstance, state: I64) -> bool:
        """Return whether the FMU discarded the last step to request termination at the stop time.

        The outputs of the last instant are still read, but inputs not set, which FMI 2.0
        forbids after a discarded step (section 4.2.4).
        """
        last = self.times.size - 2
        if state[FAILED_STATUS] != DISCARD or state[FAILED_STEP] != last:
            return False
        if self.program[int(state[FAILED_CALL]), KIND] != STEP:
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
        return self._ended
