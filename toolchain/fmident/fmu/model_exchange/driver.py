"""Driver of Model Exchange of FMI 2.0 and 3.0."""

from __future__ import annotations

from fmident.fmu.driver import Driver, UpdateChoice
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_exchange.plan import ExchangePlan
from fmident.fmu.model_exchange.sensitivities import SensitivePlan
from fmident.fmu.model_exchange.sundials import make_sundials
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.log import LogBuffer
from fmident.fmu.plan import InputUpdate
from fmident.fmu.setup import SimulationSetup


class ModelExchange(Driver):
    """Driver of Model Exchange; inputs act at once, since fmident integrates."""

    def __init__(
        self,
        description: ModelDescription,
        library: Library,
        resources: str,
        buffer: LogBuffer,
        update: UpdateChoice = "auto",
    ) -> None:
        super().__init__(description, library, resources, buffer, "after_step")
        self._sundials = make_sundials()

    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> ExchangePlan:
        """Resolve a setup."""
        if not setup.sensitivities:
            return ExchangePlan(setup, self, self._sundials)
        return SensitivePlan(setup, self, self._sundials)
