"""FMI 2.0 Co-Simulation, as the simulator drives it."""

from __future__ import annotations

from fmident.fmu.driver import Driver, UpdateChoice
from fmident.fmu.fmi2.step_plan import StepPlan2
from fmident.fmu.plan import InputUpdate
from fmident.fmu.ramps import with_ramps
from fmident.fmu.setup import SimulationSetup


class CoSimulation2(Driver):
    """Drives FMI 2.0 Co-Simulation."""

    def update_of(self, setup: SimulationSetup) -> UpdateChoice:
        """Return when inputs are set that are not part of a ramp, as far as that is known."""
        ramps = self.description.input_ramps
        return self.update if ramps is None or not ramps.driven(setup) else "after_step"

    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> StepPlan2:
        """Resolve a setup, with inputs that are set before or after the step."""
        ramps = self.description.input_ramps
        if ramps is None or not (driven := ramps.driven(setup)):
            return StepPlan2(setup, self.description, self.library, update)
        ramped = ramps.names.union(driven)
        return StepPlan2(with_ramps(setup, ramps), self.description, self.library, update, ramped)
