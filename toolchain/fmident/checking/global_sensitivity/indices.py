"""Samples and indices by SALib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.checking.global_sensitivity.result import GlobalMethod
from fmident.errors import Code, ProblemError

if TYPE_CHECKING:
    from fmident.arrays import F64

_LEVELS = 4
"""Of each parameter in the design of Morris."""

_SILENT = 1e-20
"""Part of the largest variance below which an output does not move at an instant."""


def sample(method: GlobalMethod, parameters: int) -> F64:
    """Return points of the unit cube, shape (k, n), in blocks that belong together.

    Raises
    ------
    ProblemError
        SALib is not installed.
    """
    space = _space(parameters)
    try:
        if method.name == "morris":
            from SALib.sample import morris

            found: F64 = morris.sample(space, method.count, _LEVELS, seed=method.seed)
            return found
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
    """Return how many points belong together: one that fails spoils its block."""
    return parameters + (1 if method.name == "morris" else 2)


def indices(
    method: GlobalMethod, points: F64, values: F64
) -> tuple[dict[str, F64], F64, float] | None:
    """Return the indices of one output.

    Parameters
    ----------
    method
        How the points were chosen.
    points
        Shape (k, n), whole blocks of :func:`sample`.
    values
        The output there at some instants, shape (k, t).

    Returns
    -------
    tuple
        Indices by name, shape (n,) each; the ranking index at each instant, shape (t, n); root mean
        square over time of the output's standard deviation. ``None`` if it does not move.
    """
    variances = values.var(axis=0)
    mean = float(variances.mean())
    moves = variances > _SILENT * variances.max(initial=0.0)
    if not mean > np.finfo(np.float64).tiny or not moves.any():
        return None
    found = [_analysed(method, points, column) for column in values[:, moves].T]
    of = {key: np.array([one[key] for one in found]) for key in found[0]}
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
    """Return the indices of a number."""
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
