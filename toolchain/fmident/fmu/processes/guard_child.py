"""Child process of :mod:`fmident.fmu.processes.guard`; called with a folder's name."""

from __future__ import annotations

import json
import os
import pickle
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fmident.fmu.processes.child import EngineSettings


def main(folder: str, life: str) -> None:
    """Serve one request; every outcome is written to the result file."""
    from fmident.fmu.processes.child import REQUEST, RESULT, prepare

    prepare(life)
    from fmident.errors import FmidentError
    from fmident.fmu.processes.child import ErrorFacts
    from fmident.fmu.processes.guard import TRACE, Trace
    from fmident.operating_system import limit_memory

    place = Path(folder)
    trace = Trace(place / TRACE)
    settings, setup, values, budget = pickle.loads((place / REQUEST).read_bytes())
    if settings.memory_limit is not None:
        limit_memory(settings.memory_limit)
    try:
        outcome = _run(trace, settings, setup, values, budget)
    except FmidentError as error:
        outcome = {"error": ErrorFacts.of(error).as_json()}
    partial = place / (RESULT + ".part")
    partial.write_text(json.dumps(outcome), encoding="utf-8")
    partial.replace(place / RESULT)
    os._exit(0)


class _Enough(Exception):  # noqa: N818 - not an error
    """The budget is used up."""


def _run(
    trace: Any, settings: EngineSettings, setup: Any, values: Any, budget: float
) -> dict[str, Any]:
    from fmident.fmu.fmu import open_fmu
    from fmident.fmu.native_code.log import LogBuffer

    deadline: float | None = None
    reached = float(setup.times[0])

    def progress(stage: str, at: float) -> None:
        nonlocal reached, deadline
        trace.report(stage, at)
        reached = at
        if stage != "step":
            return
        if deadline is None:  # loading the compiled loop of some interfaces takes its time
            deadline = time.monotonic() + budget
        elif time.monotonic() > deadline:
            raise _Enough

    complete = True
    fmu = open_fmu(settings.fmu)
    trace.report("instantiate", reached)
    simulator = fmu.simulator(
        capture_output=False,
        progress=progress,
        log_buffer=LogBuffer(trace.memory),
        interface=settings.interface,
    )
    try:
        simulator.simulate(setup, values)
        reached = float(setup.times[-1])
    except _Enough:
        complete = False
    trace.report("close", reached)
    fmu.close()
    return {"time": reached, "complete": complete}
