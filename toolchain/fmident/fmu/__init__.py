"""FMUs (2.0 and 3.0): model description and fast simulation, independent of estimation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.fmu.archive import ArchiveLimits
    from fmident.fmu.fmu import Fmu, open_fmu, read_description
    from fmident.fmu.life_cycle.probe import Influence, influence, interpolates_inputs
    from fmident.fmu.model_description.description import ModelDescription, resized
    from fmident.fmu.model_description.variables import Value, Variable
    from fmident.fmu.native_code.log import LogRecord
    from fmident.fmu.processes.guard import Survival, check_survives
    from fmident.fmu.setup import InputRamps, SimulationSetup, with_ramps
    from fmident.fmu.simulator import Simulator
    from fmident.fmu.values import Statistics

__all__ = [
    "ArchiveLimits",
    "Fmu",
    "Influence",
    "InputRamps",
    "LogRecord",
    "ModelDescription",
    "SimulationSetup",
    "Simulator",
    "Statistics",
    "Survival",
    "Value",
    "Variable",
    "check_survives",
    "influence",
    "interpolates_inputs",
    "open_fmu",
    "read_description",
    "resized",
    "with_ramps",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "ArchiveLimits": "archive",
        "Fmu": "fmu",
        "Influence": "life_cycle.probe",
        "InputRamps": "setup",
        "LogRecord": "native_code.log",
        "ModelDescription": "model_description.description",
        "SimulationSetup": "setup",
        "Simulator": "simulator",
        "Statistics": "values",
        "Survival": "processes.guard",
        "Value": "model_description.variables",
        "Variable": "model_description.variables",
        "check_survives": "processes.guard",
        "influence": "life_cycle.probe",
        "interpolates_inputs": "life_cycle.probe",
        "open_fmu": "fmu",
        "read_description": "fmu",
        "resized": "model_description.description",
        "with_ramps": "setup",
    },
)
