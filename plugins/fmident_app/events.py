"""A plugin that writes down how far a run is, for the page that started it.

It does so where the environment variable :data:`VARIABLE` names a file: one line of JSON for the
start, for each iteration and for the end of a run.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.plugins import hookimpl

if TYPE_CHECKING:
    from fmident.estimation import EstimationResult, Iteration
    from fmident.plugins.hookspecs import Run

VARIABLE = "FMIDENT_APP_EVENTS"


def _write(**event: Any) -> None:
    if file := os.environ.get(VARIABLE):
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(event) + "\n")


@hookimpl
def fmident_run_started(run: Run) -> None:
    """Write the names of the parameters, by stage."""
    stages = {s.name: [q.name for q in s.problem.free] for s in run.problem.stages}
    names = stages or {"": [q.name for q in run.problem.free]}
    _write(event="start", estimator=run.estimator, parameters=names)


@hookimpl
def fmident_iteration(run: Run, state: Iteration) -> None:
    """Write the best parameters so far."""
    _write(
        event="iteration",
        stage=state.stage,
        number=state.number,
        values=[float(x) for x in state.parameters],
        cost=float(state.cost),
        simulations=state.simulations,
        seconds=state.seconds,
    )


@hookimpl
def fmident_run_finished(run: Run, result: EstimationResult) -> None:
    """Write how the run ended."""
    _write(event="end", status=result.status)
