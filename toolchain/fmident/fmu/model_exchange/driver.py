"""Model Exchange of FMI 2.0 and 3.0, as the simulator drives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fmident.fmu.description import ModelDescription
from fmident.fmu.driver import ValueSetter
from fmident.fmu.fmi3.configured import Configured
from fmident.fmu.fmi3.instance import Instance3
from fmident.fmu.fmi3.values import Assignment3
from fmident.fmu.instance import BaseInstance, Instance
from fmident.fmu.library import Library
from fmident.fmu.log import LogBuffer
from fmident.fmu.model_exchange.exchange_plan import ExchangePlan
from fmident.fmu.model_exchange.sundials import Sundials, make_sundials
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.simulator import Simulator
from fmident.fmu.tables import prefix_of
from fmident.fmu.values import Assignment
from fmident.fmu.variables import Value


class ModelExchange(Configured):
    """Drives Model Exchange.

    Parameters
    ----------
    description, library, resources
        The FMU.
    buffer
        Where its messages go.
    sundials
        The integrator's library, ``None`` to look for it.

    Raises
    ------
    FmuError
        SUNDIALS is not to be found.
    """

    def __init__(
        self,
        description: ModelDescription,
        library: Library,
        resources: str,
        buffer: LogBuffer,
        sundials: Sundials | None = None,
    ) -> None:
        super().__init__(description)
        self._library = library
        self._resources = resources
        self._buffer = buffer
        self._sundials = make_sundials() if sundials is None else sundials
        self._three = prefix_of(description) == "fmi3"

    def with_description(self, description: ModelDescription) -> ModelExchange:
        """Return the same for another configuration."""
        return ModelExchange(
            description, self._library, self._resources, self._buffer, self._sundials
        )

    def instantiate(self, debug: bool, /) -> BaseInstance:
        """Instantiate the FMU."""
        if self._three:
            return Instance3(
                self._library, self.description, self._resources, self._buffer, debug=debug
            )
        return Instance(
            self._library,
            self.description,
            self._resources,
            self._buffer.logger_address,
            debug_logging=debug,
        )

    def assignment(self, names: Sequence[str]) -> ValueSetter:
        """Return what sets `names`."""
        if self._three:
            return Assignment3(self.description, self._library, names)
        return Assignment(self.description, names)

    def plan(
        self,
        simulator: Simulator,
        setup: SimulationSetup,
        values: Mapping[str, Value],
        assignment: ValueSetter,
    ) -> tuple[ExchangePlan, str]:
        """Resolve a setup."""
        return ExchangePlan(setup, self.description, self._library, self._sundials), ""
