"""FMI 3.0 Co-Simulation, as the simulator drives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fmident.errors import Code, FmuError
from fmident.fmu.driver import Driver, UpdateChoice
from fmident.fmu.fmi3 import loop
from fmident.fmu.fmi3.instance import Instance3
from fmident.fmu.fmi3.step_plan import StepPlan3
from fmident.fmu.life_cycle.input_trial import Trial
from fmident.fmu.life_cycle.instance import CallFailed
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.log import LogBuffer
from fmident.fmu.plan import InputUpdate, Plan
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
    """Drives FMI 3.0 Co-Simulation; where there is event mode, inputs jump in it.

    Parameters
    ----------
    description, library, resources, buffer, update
        As for :class:`fmident.fmu.driver.Driver`.

    Raises
    ------
    FmuError
        `update` is ``"before_step"`` and the FMU has event mode.
    """

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
        """Instantiate the FMU, with calls back within steps where it offers them."""
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
        """Resolve a setup, with inputs that are set before or after the step."""
        return StepPlan3(setup, self.description, self.library, self._table, update)

    def trial(
        self, plan: Plan, assignment: Assignment, values: Mapping[str, Value]
    ) -> Trial | None:
        """Return what finds out when inputs are to be set; ``None`` where it does not matter.

        In event mode inputs jump, and outputs are computed in it. Inputs on straight lines arrive
        within the step.
        """
        if self.description.capabilities.has_event_mode or plan.inputs.lines:
            return None
        return super().trial(plan, assignment, values)

    def remarks(self, setup: SimulationSetup, plan: Plan) -> list[str]:
        """Say where event mode is refused, inputs are held, instants are too near."""
        held = any(
            setup.interpolation_of(plan.inputs.names[signal]) == "auto"
            and bool(np.ptp(group.values[:, column]) > 0.0)
            for group in plan.inputs.held
            if group in plan.inputs.continuous
            for signal, column in group.columns
        )
        said = [REFUSED] * self._event_mode_refused + [HELD] * held
        fixed = self.description.capabilities.fixed_step
        if fixed is not None and bool(np.any(np.diff(plan.times) < (1.0 - 1e-6) * fixed)):
            said.append(COARSE.format(fixed))
        return said
