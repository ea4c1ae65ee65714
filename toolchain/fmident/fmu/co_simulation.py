"""FMI 2.0 Co-Simulation, as the simulator drives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fmident.fmu.capture import Capture
from fmident.fmu.description import ModelDescription, Value, Variable
from fmident.fmu.driver import InputUpdate, UpdateChoice
from fmident.fmu.instance import Instance
from fmident.fmu.library import Library
from fmident.fmu.log import LogBuffer
from fmident.fmu.plan import Plan
from fmident.fmu.probe import find_input_update
from fmident.fmu.ramps import with_ramps
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.simulator import Simulator
from fmident.fmu.values import Assignment


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
        ramps = self.description.input_ramps
        ramped = ramps is not None and setup.interpolation in ("auto", "linear")
        resolved = with_ramps(setup, ramps) if ramps is not None and ramped else setup
        plan = Plan(resolved, self.description, self._library)
        update: UpdateChoice = "before_step" if ramped else self._update
        remark = ""
        chosen: InputUpdate
        if update == "auto":
            chosen, remark = Capture(simulator.captures_output).around(
                lambda: find_input_update(simulator, plan, assignment, values)
            )
            self._buffer.clear()
        else:
            chosen = update
        plan.compose(chosen)
        return plan, remark
