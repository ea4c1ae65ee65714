"""Whether an FMU differentiates its outputs itself, from its archive alone."""

from __future__ import annotations

import os
from pathlib import Path

from fmident.fmu.archive import check_archive
from fmident.fmu.fmu import read_description
from fmident.fmu.model_description.interfaces import InterfaceChoice
from fmident.fmu.sensitivity_table import is_known

MEMBER = "extra/fmident/sensitivities.json"
"""The file in the archive that says that the FMU has the functions."""


def differentiable(
    path: str | os.PathLike[str], interface: InterfaceChoice = "auto"
) -> frozenset[str]:
    """Return the variables with respect to which outputs can be differentiated.

    No native code is loaded for it.

    Parameters
    ----------
    path
        The ``.fmu`` file.
    interface
        The one that is going to be used.

    Returns
    -------
    frozenset of str
        What :attr:`fmident.fmu.setup.SimulationSetup.sensitivities` may name; empty where the
        FMU does not offer it.

    Raises
    ------
    FmuError
        As :func:`fmident.fmu.fmu.read_description`.
    """
    description = read_description(path).with_interface(interface)
    if description.capabilities.kind != "co-simulation":
        return frozenset()
    members = check_archive(Path(path)).members
    if not any(str(member) == MEMBER for member in members):
        return frozenset()
    return frozenset(v.name for v in description.variables if is_known(v))
