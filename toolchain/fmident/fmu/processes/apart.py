"""Simulation of an FMU in a child process, which contains the effects of native code.

The child leaves its trace in files, as in the module ``guard``. It is killed when no
stage and no communication step begins for a while.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmuError, SimulationError
from fmident.fmu.failure import output_records
from fmident.fmu.processes.child import (
    OUTPUT,
    START_LIMIT,
    Child,
    EngineSettings,
    ErrorFacts,
    ScratchFolder,
)
from fmident.fmu.processes.guard import (
    TRACE,
    Trace,
    end_of_process,
    lost,
    make_trace,
)

if TYPE_CHECKING:
    from pathlib import Path

    from fmident.fmu.model_description.description import InterfaceChoice
    from fmident.fmu.model_description.variables import Value
    from fmident.fmu.setup import SimulationSetup

OUTPUTS = "outputs.npy"
_POLL = 0.02


@dataclass(frozen=True)
class Apart:
    """Result of a simulation in a child process.

    `outputs` has shape (k, outputs), with fewer rows than instants after a `failure`.
    `remark` is a problem after the results were complete, or empty.
    """

    outputs: F64
    log: tuple[str, ...] = ()
    failure: SimulationError | None = None
    remark: str = ""


def simulate_apart(
    path: str | os.PathLike[str],
    setup: SimulationSetup,
    values: Mapping[str, Value] | None = None,
    *,
    patience: float = 60.0,
    interface: InterfaceChoice = "auto",
) -> Apart:
    """Simulate once, with an instance used for nothing else.

    Parameters
    ----------
    path
        The ``.fmu`` file.
    setup, values
        As for :meth:`fmident.fmu.Simulator.simulate`.
    patience
        Wall-clock seconds without progress after which the child is killed; for loading,
        :data:`~fmident.fmu.processes.child.START_LIMIT` if that is longer.
    interface
        As for :class:`fmident.fmu.Simulator`.

    Returns
    -------
    Apart
        All rows, or those before the failure.

    Raises
    ------
    SimulationError
        Native code crashed, hung, or ended the process.
    FmuError
        The FMU cannot be opened or does not fit the setup.
    """
    with ScratchFolder() as scratch:
        place = scratch.path
        settings = EngineSettings(os.path.abspath(path), interface)  # noqa: PTH100
        request = (settings, setup, dict(values or {}))
        make_trace(place)
        with Child("fmident.fmu.processes.apart_child", place, request) as child:
            stood = _stood_still(child, Trace(place / TRACE), patience)
        outcome = child.result
        end = ""
        if stood is not None:
            end = f"did not answer within {stood:g} s"
        elif child.returncode != 0 or outcome is None:
            end = end_of_process(child.returncode)
        if outcome is None:
            raise lost(path, place, end, hung=stood is not None, code=child.returncode)
        return _read(place, outcome, end)


def _stood_still(child: Child, trace: Trace, patience: float) -> float | None:
    """Wait for the child; return the time without progress, or ``None`` when it ended."""
    seen, since = trace.progress, time.monotonic()
    while not child.wait(_POLL):
        now = trace.progress
        if now != seen:
            seen, since = now, time.monotonic()
        limit = max(patience, START_LIMIT) if seen[0] in ("", "instantiate") else patience
        if time.monotonic() - since > limit:
            return limit
    return None


def _read(place: Path, outcome: Mapping[str, Any], end: str) -> Apart:
    printed = (place / OUTPUT).read_text(encoding="utf-8", errors="replace")
    more = tuple(str(record) for record in output_records(printed))
    failure = None
    if "error" not in outcome:
        log = (*outcome["log"], *more)
    else:
        error = ErrorFacts.read(outcome["error"]).error()
        if isinstance(error, FmuError):
            raise error
        failure = error
        failure.log = log = (*error.log, *more)
    remark = f"the native code of the FMU {end}, while it was being freed" if end else ""
    return Apart(np.load(place / OUTPUTS), log, failure, remark)
