"""The simulations of a global sensitivity analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.checking.global_sensitivity.result import (
    FEWEST,
    GlobalMethod,
    GlobalSensitivity,
    OutputIndices,
)
from fmident.errors import Code, ProblemError
from fmident.estimation.checks import box
from fmident.problem.residuals import compared_sigma, residual_layout

if TYPE_CHECKING:
    import numpy.typing as npt

    from fmident.arrays import F64
    from fmident.evaluation import Evaluator
    from fmident.problem.model import Problem


_BATCH = 256
_INSTANTS = 60


_LEVELS = 4
"""Of each parameter in the design of Morris."""

_SILENT = 1e-20
"""Part of the largest variance below which an output does not move at an instant."""


def global_sensitivity(evaluator: Evaluator, method: GlobalMethod) -> GlobalSensitivity:
    """Vary all free parameters within their bounds and compute the sensitivities.

    Parameters are distributed uniformly over their bounds, or log-uniformly with log
    scaling. If a bound is missing, a parameter stays within a factor of about three of its
    initial value, or within its scale if it starts at zero. The cost of the evaluator's
    problem is in the time domain. Raises `ProblemError` if constraints tie the parameters
    to each other, or SALib is not installed.
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
    outputs = []
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
        outputs.append(
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
    return tuple(outputs)


def _instants(problem: Problem) -> list[npt.NDArray[np.intp]]:
    """Return residual indices of each output at instants spread over its samples."""
    layout = residual_layout(problem)
    instants = []
    for i, experiment in enumerate(problem.experiments):
        for j in range(len(experiment.measurements)):
            rows = layout.rows_of(i, j)
            if rows.size:
                picked = np.linspace(0, rows.size - 1, min(rows.size, _INSTANTS))
                instants.append(rows[np.unique(picked.round().astype(np.intp))])
    return instants


def sample(method: GlobalMethod, parameters: int) -> F64:
    """Return points of the unit cube, shape (k, n), in blocks.

    Raises `ProblemError` if SALib is not installed.
    """
    space = _space(parameters)
    try:
        if method.name == "morris":
            from SALib.sample import morris

            cube_points: F64 = morris.sample(space, method.count, _LEVELS, seed=method.seed)
            return cube_points
        from SALib.sample import sobol
    except ImportError as error:
        raise ProblemError(
            f"a global sensitivity analysis needs the package SALib: {error}",
            hint='pip install "fmident[global]"',
            code=Code.NOT_INSTALLED,
        ) from None
    points: F64 = sobol.sample(space, method.count, calc_second_order=False, seed=method.seed)
    return points


def block_size(method: GlobalMethod, parameters: int) -> int:
    """Return the number of points per block; a failed point invalidates its block."""
    return parameters + (1 if method.name == "morris" else 2)


def indices(
    method: GlobalMethod, points: F64, values: F64
) -> tuple[dict[str, F64], F64, float] | None:
    """Return the indices of one output; ``None`` if it is constant.

    `points` are whole blocks of :func:`sample`, shape (k, n), and `values` the output there
    at some instants, shape (k, t). The result has the indices by name, shape (n,) each, the
    ranking index at each instant, shape (t, n), and the root mean square over time of the
    output's standard deviation.
    """
    variances = values.var(axis=0)
    mean = float(variances.mean())
    moves = variances > _SILENT * variances.max(initial=0.0)
    if not mean > np.finfo(np.float64).tiny or not moves.any():
        return None
    analyses = [_analysed(method, points, column) for column in values[:, moves].T]
    of = {key: np.array([one[key] for one in analyses]) for key in analyses[0]}
    over_time = np.zeros((values.shape[1], points.shape[1]))
    if method.name == "sobol":
        # The part of the sum of the variances: for errors that are the same at all instants, which
        # is the worst, the half widths add up in the same way.
        shares = variances[moves] / mean
        over_time[moves] = of["ST"] * shares[:, np.newaxis]
        return (
            {key: shares @ part / values.shape[1] for key, part in of.items()},
            over_time,
            float(np.sqrt(mean)),
        )
    spread = float(np.sqrt(mean))
    over_time[moves] = of["mu_star"] / spread
    return (
        {
            key: np.sqrt(np.sum(part**2, axis=0) / values.shape[1]) / spread
            for key, part in of.items()
        },
        over_time,
        spread,
    )


def _analysed(method: GlobalMethod, points: F64, values: F64) -> dict[str, F64]:
    """Return the indices of a scalar output."""
    space = _space(points.shape[1])
    seed = method.seed + 1  # zero is none
    result: Mapping[str, Any]
    if method.name == "morris":
        from SALib.analyze import morris

        result = morris.analyze(space, points, values, num_levels=_LEVELS, seed=seed)
        return {k: np.asarray(result[k], dtype=np.float64) for k in _OF_MORRIS}
    from SALib.analyze import sobol

    result = sobol.analyze(space, values, calc_second_order=False, seed=seed)
    return {k: np.asarray(result[k], dtype=np.float64) for k in _OF_SOBOL}


_OF_MORRIS = ("mu_star", "sigma", "mu_star_conf")
_OF_SOBOL = ("S1", "ST", "S1_conf", "ST_conf")


def _space(parameters: int) -> dict[str, Any]:
    return {
        "num_vars": parameters,
        "names": [f"p{k}" for k in range(parameters)],
        "bounds": [[0.0, 1.0]] * parameters,
    }
