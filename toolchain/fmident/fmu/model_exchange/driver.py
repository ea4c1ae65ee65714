"""Model Exchange of FMI 2.0 and 3.0, as the simulator drives it."""

from __future__ import annotations

from fmident.fmu.driver import Driver
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_exchange.exchange_plan import ExchangePlan
from fmident.fmu.model_exchange.sundials import make_sundials
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.log import LogBuffer
from fmident.fmu.plan import InputUpdate
from fmident.fmu.setup import SimulationSetup


class ModelExchange(Driver):
    """Drives Model Exchange; inputs act at once, since fmident integrates.

    Parameters
    ----------
    description, library, resources, buffer
        As for :class:`fmident.fmu.driver.Driver`.

    Raises
    ------
    FmuError
        SUNDIALS is not to be found.
    """

    def __init__(
        self, description: ModelDescription, library: Library, resources: str, buffer: LogBuffer
    ) -> None:
        super().__init__(description, library, resources, buffer, "after_step")
        self._sundials = make_sundials()

    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> ExchangePlan:
        """Resolve a setup."""
        return ExchangePlan(setup, self, self._sundials)
