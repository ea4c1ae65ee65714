"""FMI 2.0 Co-Simulation, as the simulator drives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fmident.fmu.description import ModelDescription
from fmident.fmu.driver import InputUpdate, UpdateChoice
from fmident.fmu.instance import Instance
from fmident.fmu.instances import TrialInstances
from fmident.fmu.library import Library
from fmident.fmu.log import LogBuffer
from fmident.fmu.plan import Plan
from fmident.fmu.probe import Trial, trial_of
from fmident.fmu.ramps import with_ramps
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.simulator import Simulator
from fmident.fmu.values import Assignment
from fmident.fmu.variables import Value, Variable


class CoSimulation2:
    """Drives FMI 2.0 Co-Simulation.

    Parameters
    ----------
    description, library, resources
        The FMU.
    buffer
        Where its messages go.
    update
        When inputs of the end of a step are set.
    """

    def __init__(
        self,
        description: ModelDescription,
        library: Library,
        resources: str,
        buffer: LogBuffer,
        update: UpdateChoice,
    ) -> None:
        self.description = description
        self._library = library
        self._resources = resources
        self._buffer = buffer
        self._update = update

    def configured(self, values: Mapping[str, Value]) -> CoSimulation2:
        """Return itself: FMI 2.0 has no structural parameters."""
        return self

    def may_restore(self, variable: Variable) -> bool:
        """Return True: values can be set back in any run."""
        return True

    def instantiate(self, debug: bool, /) -> Instance:
        """Instantiate the FMU."""
        return Instance(
            self._library,
            self.description,
            self._resources,
            self._buffer.logger_address,
            debug_logging=debug,
        )

    def assignment(self, names: Sequence[str]) -> Assignment:
        """Return what sets `names`."""
        return Assignment(self.description, names)

    def plan(
        self,
        simulator: Simulator,
        setup: SimulationSetup,
        values: Mapping[str, Value],
        assignment: Assignment,
    ) -> tuple[Plan, str]:
        """Resolve a setup and find out when inputs must be set."""
        plan = self.lay_out(setup)
        # Ramps are part of the step: their ends are set before it.
        ramped = self._ramped(setup)
        update: UpdateChoice = "before_step" if ramped else self._update
        remark = ""
        chosen: InputUpdate
        if update == "auto":
            chosen, remark = simulator.try_inputs(self, setup, plan, assignment, values)
        else:
            chosen = update
        plan.compose(chosen)
        return plan, remark

    def lay_out(self, setup: SimulationSetup) -> Plan:
        """Resolve a setup, with inputs that are set after the step."""
        ramps = self.description.input_ramps
        resolved = with_ramps(setup, ramps) if ramps is not None and self._ramped(setup) else setup
        return Plan(resolved, self.description, self._library)

    def trial(
        self, plan: Plan, assignment: Assignment, values: Mapping[str, Value]
    ) -> Trial | None:
        """Return what finds out when inputs are to be set; ``None`` where it does not matter."""
        instances = TrialInstances(lambda: self.instantiate(False))
        return trial_of(plan, self.description, assignment, values, instances)

    def _ramped(self, setup: SimulationSetup) -> bool:
        ramps = self.description.input_ramps
        return ramps is not None and setup.interpolation in ("auto", "linear")
