"""Variables with respect to which an FMU can be differentiated, from its archive alone.

In Model Exchange fmident integrates the sensitivities; in Co-Simulation the FMU must.
"""

from __future__ import annotations

import os
from pathlib import Path

from fmident.fmu.archive import check_archive
from fmident.fmu.fmu import read_description
from fmident.fmu.model_description.description import InterfaceChoice, ModelDescription
from fmident.fmu.sensitivity_table import known_of, offered_by


def differentiable(
    path: str | os.PathLike[str], interface: InterfaceChoice = "auto"
) -> frozenset[str]:
    """Return the variables with respect to which outputs can be differentiated.

    Empty if the FMU does not support it, and in Model Exchange if a process can have only
    one instance. No native code is loaded. Raises `FmuError` if the FMU cannot be read.
    """
    return frozenset() if why_not(path, interface) else known_of(_description(path, interface))


def why_not(path: str | os.PathLike[str], interface: InterfaceChoice = "auto") -> str:
    """Return why an FMU has no sensitivities; empty if it has."""
    description = _description(path, interface)
    if description.capabilities.kind == "model-exchange":
        if not description.only_once_per_process:
            return ""
        return (
            "the FMU allows one instance per process, and in Model Exchange its derivatives need"
            " several"
        )
    if offered_by(check_archive(Path(path))):
        return ""
    if description.is_own:
        return (
            "the FMU offers no sensitivities: it was built with the option integrator=cvode, or by"
            " an earlier fmident"
        )
    other = [c for c in description.interfaces if c.kind == "model-exchange"]
    if other and not why_not(path, "model-exchange"):
        return (
            "the FMU offers no sensitivities in Co-Simulation, but has them with"
            ' evaluation.interface = "model-exchange"'
        )
    return "the FMU offers no sensitivities"


def _description(path: str | os.PathLike[str], interface: InterfaceChoice) -> ModelDescription:
    return read_description(path).with_interface(interface)
