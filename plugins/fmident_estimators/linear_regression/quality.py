"""How well outputs are predicted, experiment by experiment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.problem.model import Problem
from fmident.problem.residuals import ResidualLayout, compared_values


def relative_errors(
    problem: Problem, layout: ResidualLayout, residuals: F64
) -> dict[str, dict[str, float]]:
    """Return ``norm(measured - predicted) / norm(measured)`` by experiment and output.

    Parameters
    ----------
    problem
        Its experiments.
    layout
        Of the residuals.
    residuals
        Whitened, shape (m,).
    """
    found: dict[str, dict[str, float]] = {}
    for i, experiment in enumerate(problem.experiments):
        outputs = found.setdefault(experiment.name, {})
        for j, measurement in enumerate(experiment.measurements):
            measured = compared_values(measurement)
            measured = measured[np.isfinite(measured)]
            missed = residuals[layout.rows_of(i, j)] / measurement.whitening
            size = float(np.linalg.norm(measured))
            outputs[measurement.name] = (
                float(np.linalg.norm(missed)) / size if size > 0.0 else float("nan")
            )
    return found


def output_groups(problem: Problem, layout: ResidualLayout) -> list[npt.NDArray[np.intp]]:
    """Return the rows of each output, over all experiments: noise belongs to the sensor."""
    rows: dict[str, list[npt.NDArray[np.intp]]] = {}
    for i, experiment in enumerate(problem.experiments):
        for j, measurement in enumerate(experiment.measurements):
            rows.setdefault(measurement.name, []).append(layout.rows_of(i, j))
    return [np.concatenate(parts) for parts in rows.values()]
