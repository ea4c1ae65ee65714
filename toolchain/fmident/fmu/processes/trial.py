"""Trial for inputs of an FMU that a process can instantiate only once.

A child process loads the FMU and makes a copy of itself for each part of the trial.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fmident.fmu.life_cycle.input_trial import UNKNOWN
from fmident.fmu.processes.child import START_LIMIT, Child, EngineSettings, ScratchFolder
from fmident.operating_system import COPIES_PROCESSES

if TYPE_CHECKING:
    from fmident.fmu.model_description.description import InterfaceChoice
    from fmident.fmu.model_description.variables import Value
    from fmident.fmu.plan import InputUpdate
    from fmident.fmu.setup import SimulationSetup


def decide_in_child(
    path: str | os.PathLike[str],
    setup: SimulationSetup,
    values: Mapping[str, Value],
    interface: InterfaceChoice,
) -> tuple[InputUpdate, str]:
    """Return when inputs must be set, and a remark, like :meth:`.input_trial.Trial.decide`."""
    if not COPIES_PROCESSES:
        return "after_step", UNKNOWN
    with ScratchFolder() as scratch:
        request = (EngineSettings(os.fspath(path), interface), setup, dict(values))
        with Child("fmident.fmu.processes.trial_child", scratch.path, request) as child:
            child.wait(START_LIMIT)
        if (answer := child.result) is None:
            # The run itself will tell if the FMU crashes or hangs.
            return "after_step", UNKNOWN
    update, remark = answer
    return update, remark
