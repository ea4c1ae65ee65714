"""Child process of :mod:`fmident.fmu.processes.apart`; called with a folder's name."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any


def main(folder: str, life: str) -> None:
    """Serve one request; every outcome is written to the result file."""
    from fmident.fmu.processes.child import REQUEST, RESULT, prepare

    prepare(life)
    from fmident.errors import FmidentError
    from fmident.fmu.processes.child import ErrorFacts
    from fmident.fmu.processes.guard import TRACE, Trace

    place = Path(folder)
    trace = Trace(place / TRACE)
    opened: list[Any] = []
    try:
        outcome = _run(trace, place, pickle.loads((place / REQUEST).read_bytes()), opened)
    except FmidentError as error:
        outcome = {"error": ErrorFacts.of(error).as_json()}
        _save(place, getattr(error, "outputs", None))
    partial = place / (RESULT + ".part")
    partial.write_text(json.dumps(outcome), encoding="utf-8")
    partial.replace(place / RESULT)
    trace.report("close", trace.progress[1])
    for fmu in opened:
        fmu.close()
    os._exit(0)


def _run(trace: Any, place: Path, request: Any, opened: list[Any]) -> dict[str, Any]:
    from fmident.fmu.fmu import open_fmu
    from fmident.fmu.native_code.log import LogBuffer

    settings, setup, values = request
    fmu = open_fmu(settings.fmu)
    opened.append(fmu)
    trace.report("instantiate", float(setup.times[0]))
    simulator = fmu.simulator(
        capture_output=False,
        progress=trace.report,
        single_steps=False,
        log_buffer=LogBuffer(trace.memory),
        loop_state=trace.loop_state,
        interface=settings.interface,
        reuse="never",
    )
    outputs = simulator.simulate(setup, values)
    _save(place, outputs)
    return {"log": [str(record) for record in simulator.log]}


def _save(place: Path, outputs: Any) -> None:
    import numpy as np

    from fmident.fmu.processes.apart import OUTPUTS

    np.save(place / OUTPUTS, np.empty((0, 0)) if outputs is None else outputs)
