"""Registry of the drivers for versions and interfaces of FMI."""

from __future__ import annotations

from collections.abc import Callable

from fmident.fmu.driver import Driver, UpdateChoice
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.log import LogBuffer


def make_driver(
    description: ModelDescription,
    library: Library,
    resources: str,
    buffer: LogBuffer,
    update: UpdateChoice,
) -> Driver:
    """Return the driver for the interface of `description`."""
    return load_driver(description)(description, library, resources, buffer, update)


def load_driver(description: ModelDescription) -> Callable[..., Driver]:
    """Import the driver for the interface of `description`, with its compiled code."""
    # Imported when needed: some load Numba.
    if description.capabilities.kind == "model-exchange":
        from fmident.fmu.model_exchange.driver import ModelExchange

        return lambda *arguments: ModelExchange(*arguments[:-1])
    if description.fmi_version.startswith("3."):
        from fmident.fmu.fmi3.co_simulation import CoSimulation3

        return CoSimulation3
    from fmident.fmu.fmi2.co_simulation import CoSimulation2

    return CoSimulation2
