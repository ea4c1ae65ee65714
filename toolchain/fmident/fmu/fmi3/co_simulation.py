"""FMI 3.0 Co-Simulation, as the simulator drives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fmident.errors import FmuError
from fmident.fmu.description import ModelDescription
from fmident.fmu.driver import I64, InputUpdate, UpdateChoice
from fmident.fmu.fmi3 import loop
from fmident.fmu.fmi3.configured import Configured
from fmident.fmu.fmi3.instance import Instance3
from fmident.fmu.fmi3.probe import trial_of
from fmident.fmu.fmi3.step_plan import StepPlan
from fmident.fmu.fmi3.values import Assignment3
from fmident.fmu.instance import CallFailed
from fmident.fmu.instances import TrialInstances
from fmident.fmu.library import Library
from fmident.fmu.log import LogBuffer
from fmident.fmu.probe import Trial
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.simulator import Simulator
from fmident.fmu.variables import Value

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


class CoSimulation3(Configured):
    """Drives FMI 3.0 Co-Simulation.

    Parameters
    ----------
    description, library, resources
        The FMU.
    buffer
        Where its messages go.
    update
        When inputs of the end of a step are set; ``"auto"`` finds out, where there is no event
        mode, whether the FMU computes its outputs anew when its inputs change.
    table
        Shared with the FMU's calls back; ``None`` to make one.
    event_mode_refused
        Whether the FMU is known to refuse the event mode that it offers.

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
        table: I64 | None = None,
        event_mode_refused: bool = False,
    ) -> None:
        super().__init__(description)
        if update == "before_step" and description.capabilities.has_event_mode:
            raise FmuError(
                f"the inputs of '{description.name}' cannot be set before the step that leads"
                " to their instant: the FMU has event mode, in which inputs jump",
                hint="leave input_update at 'auto'",
            )
        self._library = library
        self._resources = resources
        self._buffer = buffer
        self._update = update
        self._event_mode_refused = event_mode_refused
        # The FMU keeps the table's address from its instantiation on.
        self._table: I64 = np.zeros(loop.SIZE, np.int64) if table is None else table
        self._intermediate = np.array(
            [
                v.value_reference
                for v in description.inputs
                if v.intermediate and v.element == 0 and v.native_type == "Float64"
            ],
            dtype=np.uint32,
        )

    def with_description(self, description: ModelDescription) -> CoSimulation3:
        """Return the same for another configuration."""
        return CoSimulation3(
            description,
            self._library,
            self._resources,
            self._buffer,
            self._update,
            self._table,
            self._event_mode_refused,
        )

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
        update = self._intermediate, loop.intermediate.address, self._table.ctypes.data
        return Instance3(
            self._library,
            self.description,
            self._resources,
            self._buffer,
            debug=debug,
            intermediate=update if offered else (None, 0, 0),
        )

    def assignment(self, names: Sequence[str]) -> Assignment3:
        """Return what sets `names`."""
        return Assignment3(self.description, self._library, names)

    def plan(
        self,
        simulator: Simulator,
        setup: SimulationSetup,
        values: Mapping[str, Value],
        assignment: Assignment3,
    ) -> tuple[StepPlan, str]:
        """Resolve a setup."""
        plan = self.lay_out(setup, "after_step" if self._update == "auto" else self._update)
        remark = ""
        if self._update == "auto":
            update, remark = simulator.try_inputs(self, setup, plan, assignment, values)
            if update == "before_step":
                plan = self.lay_out(setup, update)
        varies = any(bool(np.any(g.values != g.values[0])) for g in plan.inputs.continuous)
        held = setup.interpolation == "auto" and plan.interpolation == "hold" and varies
        said = [REFUSED] * self._event_mode_refused + [remark] * bool(remark) + [HELD] * held
        fixed = self.description.capabilities.fixed_step
        if fixed is not None and bool(np.any(np.diff(plan.times) < (1.0 - 1e-6) * fixed)):
            said.append(COARSE.format(fixed))
        return plan, "; ".join(said)

    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> StepPlan:
        """Resolve a setup, with inputs that are set before or after the step."""
        return StepPlan(setup, self.description, self._library, self._table, update)

    def trial(
        self, plan: StepPlan, assignment: Assignment3, values: Mapping[str, Value]
    ) -> Trial | None:
        """Return what finds out when inputs are to be set; ``None`` where it does not matter."""
        instances = TrialInstances(lambda: self.instantiate(False))
        return trial_of(plan, self.description, assignment, values, instances)
