"""The fits of a run in stages: all experiments, from the first values to the last."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.errors import EstimationError
from fmident.estimation.fits import output_fits
from fmident.estimation.result import OutputFit
from fmident.estimation.stages.stage_run import StageRun
from fmident.evaluation import Executor, Simulated, SimulationTask
from fmident.problem.residuals import parameter_values_for

if TYPE_CHECKING:
    from fmident.problem.model import Problem


def all_fits(
    problem: Problem,
    whole: Executor | None,
    first: Sequence[Simulated],
    values: Mapping[str, float],
    done: Sequence[StageRun],
) -> tuple[tuple[OutputFit, ...], int]:
    """Return the fits of all experiments at the first and the last values.

    Each stage saw its own experiments only, and started where another had ended. After an
    interrupt nothing is simulated: the fits are those of the last stage.

    Returns
    -------
    fits
        One per output and experiment; those of stages with an FMU of their own behind.
    simulations
        How many it took.
    """
    if not done:
        raise EstimationError("no stage was run", hint="add [[stages]], or none at all")
    last = done[-1]
    others = _own_fits(problem, done)
    if whole is None or last.result.status == "interrupted":
        own = () if last.stage.separate else last.result.fits
        return (*own, *others), 0
    final = dataclasses.replace(
        problem,
        parameters=tuple(
            dataclasses.replace(q, initial=values[q.name], fixed=True) for q in problem.parameters
        ),
    )
    nothing = np.empty(0)
    tasks = [
        SimulationTask(k, parameter_values_for(final, e, nothing))
        for k, e in enumerate(problem.experiments)
    ]
    try:
        outcomes = whole.run(tasks)
    except KeyboardInterrupt:  # all has been found: it must not be lost for want of a plot
        return (*last.result.fits, *(() if last.stage.separate else others)), 0
    scale = _residual_scale(final, last.result.fits)
    found = output_fits(final, first, outcomes, nothing, scale)
    return (*(found or last.result.fits), *others), len(tasks)


def _own_fits(problem: Problem, done: Sequence[StageRun]) -> tuple[OutputFit, ...]:
    """Return the fits of stages with an FMU of their own, each experiment with its own name."""
    known = {e.name for e in problem.experiments}
    fits: list[OutputFit] = []
    for one in (d for d in done if d.stage.separate):
        for fit in one.result.fits:
            taken = fit.experiment in known
            name = f"{fit.experiment} (stage {one.stage.name})" if taken else fit.experiment
            fits.append(dataclasses.replace(fit, experiment=name))
        known |= {e.name for e in one.problem.experiments}
    return tuple(fits)


def _residual_scale(problem: Problem, fits: Sequence[OutputFit]) -> float:
    """Return the standard deviation that the last stage found for outputs without one."""
    known = {(e.name, m.name): m for e in problem.experiments for m in e.measurements}
    for fit in fits:
        m = known.get((fit.experiment, fit.name))
        if m is not None and m.sigma is None:
            return float(fit.sigma[0]) * m.weight
    return 1.0
