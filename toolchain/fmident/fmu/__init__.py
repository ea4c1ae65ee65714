"""An FMU as an object: its description, what can be set, and fast simulation.

FMI 2.0 and 3.0, Co-Simulation and Model Exchange. The package knows nothing of estimation.
Reading order:
``fmu`` (open a file), ``description``, ``setup`` (what to simulate), ``simulator`` (life
cycle and failures), ``driver`` and ``plan`` (what all versions and interfaces of FMI do),
``values`` and ``tables`` (how values move), ``program`` (what happens in a step), ``fmi2.loop``
(a compiled loop).
"""

from fmident.fmu.archive import ArchiveLimits
from fmident.fmu.description import ModelDescription
from fmident.fmu.fmi3.declarations import resized
from fmident.fmu.fmu import Fmu, open_fmu, read_description
from fmident.fmu.guard import Survival, check_survives
from fmident.fmu.log import LogRecord
from fmident.fmu.probe import Influence, influence, interpolates_inputs
from fmident.fmu.ramps import InputRamps, with_ramps
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.simulator import Simulator
from fmident.fmu.statistics import Statistics
from fmident.fmu.variables import Value, Variable

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
