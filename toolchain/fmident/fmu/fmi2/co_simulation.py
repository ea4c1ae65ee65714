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
        """Return when inputs are set: ramps are part of the step, their ends are set before it."""
        return "before_step" if self._ramped(setup) else self.update

    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> StepPlan2:
        """Resolve a setup, with inputs that are set before or after the step."""
        ramps = self.description.input_ramps
        resolved = with_ramps(setup, ramps) if ramps is not None and self._ramped(setup) else setup
        return StepPlan2(resolved, self.description, self.library, update)

    def _ramped(self, setup: SimulationSetup) -> bool:
        ramps = self.description.input_ramps
        return ramps is not None and setup.interpolation in ("auto", "linear")
