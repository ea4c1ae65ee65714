"""What outputs of an FMU can be differentiated with respect to, from its archive alone.

In Model Exchange fmident integrates the sensitivities, see :mod:`fmident.fmu.model_exchange`; in
Co-Simulation the FMU must do it.
"""

from __future__ import annotations

import os
from pathlib import Path

from fmident.fmu.archive import check_archive
from fmident.fmu.fmu import read_description
from fmident.fmu.model_description.interfaces import InterfaceChoice
from fmident.fmu.sensitivity_table import known_of

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
        FMU does not offer it, and in Model Exchange where a process may hold one instance only.

    Raises
    ------
    FmuError
        As :func:`fmident.fmu.fmu.read_description`.
    """
    description = read_description(path).with_interface(interface)
    if description.capabilities.kind == "model-exchange":
        return frozenset() if description.only_once_per_process else known_of(description)
    members = check_archive(Path(path)).members
    if not any(str(member) == MEMBER for member in members):
        return frozenset()
    return known_of(description)
