"""The simulations of a global sensitivity analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.checking.global_sensitivity.indices import block_size, indices, sample
from fmident.checking.global_sensitivity.result import (
    FEWEST,
    GlobalMethod,
    GlobalSensitivity,
    OutputIndices,
)
from fmident.errors import ProblemError
from fmident.estimation.checks import box
from fmident.problem.residuals import compared_sigma, residual_layout

if TYPE_CHECKING:
    import numpy.typing as npt

    from fmident.arrays import F64
    from fmident.evaluation import Evaluator
    from fmident.problem.model import Problem

_BATCH = 256
_INSTANTS = 60


def global_sensitivity(evaluator: Evaluator, method: GlobalMethod) -> GlobalSensitivity:
    """Move all free parameters through their bounds and see what moves the outputs.

    Parameters are spread evenly over their bounds, those with log scaling over the logarithm. Where
    a bound is missing, a parameter stays within a factor of about three of its initial value, or
    within its scale if it starts at zero.

    Parameters
    ----------
    evaluator
        Of the problem, whose cost compares in the time domain.
    method
        Which method, with how many samples.

    Raises
    ------
    fmident.errors.ProblemError
        Constraints tie the parameters to each other; SALib is not installed.
    """
    problem = evaluator.problem
    if problem.constraints:
        raise ProblemError(
            "a global sensitivity analysis needs parameters that move independently, but there "
            "are constraints",
            location=problem.where("constraints"),
            hint="leave the constraints out for this check",
        )
    n = len(problem.free)
    shares = sample(method, n)
    lower, upper = box(evaluator)
    points = evaluator.space.to_physical(lower + shares * (upper - lower))
    points = np.clip(points, problem.lower, problem.upper)
    chosen = _instants(problem)
    with evaluator.activities.during("global sensitivities", len(points)):
        values = np.vstack(
            [
                evaluator.probe(points[k : k + _BATCH])[:, np.concatenate(chosen)]
                for k in range(0, len(points), _BATCH)
            ]
        )
    works = np.isfinite(values).all(axis=1)
    whole = np.repeat(works.reshape(-1, block_size(method, n)).all(axis=1), block_size(method, n))
    used = int(np.count_nonzero(whole)) // block_size(method, n)
    ends = evaluator.space.to_physical(np.stack([lower, upper]))
    return GlobalSensitivity(
        method,
        tuple(q.name for q in problem.free),
        np.maximum(ends[0], problem.lower),
        np.minimum(ends[1], problem.upper),
        points=len(points),
        failed=int(np.count_nonzero(~works)),
        used=used,
        outputs=_outputs(problem, method, shares[whole], values[whole], chosen)
        if used >= FEWEST
        else (),
    )


def _outputs(
    problem: Problem,
    method: GlobalMethod,
    shares: F64,
    values: F64,
    chosen: list[npt.NDArray[np.intp]],
) -> tuple[OutputIndices, ...]:
    layout = residual_layout(problem)
    found = []
    begin = 0
    for rows in chosen:
        part = values[:, begin : begin + rows.size]
        begin += rows.size
        known = indices(method, shares, part)
        if known is None:
            continue
        i, j = int(layout.experiment[rows[0]]), int(layout.measurement[rows[0]])
        experiment = problem.experiments[i]
        measurement = experiment.measurements[j]
        sigma = compared_sigma(measurement)
        size = 1.0 if sigma is None else float(np.sqrt(np.mean(np.square(sigma))))
        by_name, over_time, spread = known
        found.append(
            OutputIndices(
                experiment.name,
                measurement.name,
                measurement.unit,
                spread * size / measurement.weight,
                by_name,
                layout.time[rows],
                over_time,
            )
        )
    return tuple(found)


def _instants(problem: Problem) -> list[npt.NDArray[np.intp]]:
    """Return residuals of each output at instants that are spread over its samples."""
    layout = residual_layout(problem)
    found = []
    for i, experiment in enumerate(problem.experiments):
        for j in range(len(experiment.measurements)):
            rows = layout.rows_of(i, j)
            if rows.size:
                picked = np.linspace(0, rows.size - 1, min(rows.size, _INSTANTS))
                found.append(rows[np.unique(picked.round().astype(np.intp))])
    return found
