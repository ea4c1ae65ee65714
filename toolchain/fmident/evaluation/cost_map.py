"""Cost over a pair of parameters, all others fixed, and its minima."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from fmident.arrays import F64
from fmident.errors import ProblemError, unknown_name
from fmident.problem.model import SearchSpace

if TYPE_CHECKING:
    from fmident.evaluation import Evaluator
    from fmident.problem.model import Parameter, Problem

_BATCH = 256
"""Points that are simulated as one batch: their residuals are in memory at once."""


@dataclass(frozen=True)
class Axis:
    """Increasing values of one parameter, shape (k,), with equal steps, or ratios if `log`."""

    name: str
    unit: str | None
    values: F64
    log: bool


@dataclass(frozen=True)
class Minimum:
    """A local minimum on the grid; `at_edge` if it is on the grid's boundary."""

    first: float
    second: float
    cost: float
    at_edge: bool


@dataclass(frozen=True)
class CostMap:
    """The cost on a grid with a values of `first` and b of `second`.

    `costs` has shape (b, a), infinite where the simulation failed. `start` and `held` are
    values of the free parameters: the initial point, and the point through which the map
    goes. `minima` are local ones, lowest first.
    """

    first: Axis
    second: Axis
    costs: F64
    start: Mapping[str, float]
    held: Mapping[str, float]
    minima: tuple[Minimum, ...]


def cost_map(
    evaluator: Evaluator,
    names: tuple[str, str],
    *,
    grid: int = 41,
    through: Mapping[str, float] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> CostMap:
    """Evaluate the problem's cost on a grid of `grid` values of each of two free parameters.

    `through` are values of the other free parameters, by default their initial ones; `ranges`
    replace bounds. Raises `ProblemError` if a name is not that of a free parameter, or a
    parameter has no finite range.
    """
    problem = evaluator.problem
    known = [q.name for q in problem.free]
    for name in names:
        if name not in known:
            raise ProblemError(
                f"there is no free parameter '{name}'", **unknown_name(name, known, "parameter")
            )
    if names[0] == names[1]:
        raise ProblemError(f"'{names[0]}' is given twice", hint="name two different parameters")
    first, second = (_axis(problem, name, grid, dict(ranges or {})) for name in names)
    held = dict(zip(known, problem.initial.tolist(), strict=True))
    held.update({k: float(v) for k, v in (through or {}).items() if k in held})
    points = np.tile([held[name] for name in known], (grid * grid, 1)).astype(np.float64)
    one, two = np.meshgrid(first.values, second.values)
    points[:, known.index(names[0])] = one.ravel()
    points[:, known.index(names[1])] = two.ravel()
    with evaluator.activities.during(f"cost over {names[0]} and {names[1]}", len(points)):
        parts = [evaluator.costs(points[k : k + _BATCH]) for k in range(0, len(points), _BATCH)]
    costs = np.concatenate(parts).reshape(grid, grid)
    costs = np.where(np.isnan(costs), np.inf, costs)
    start = dict(zip(known, problem.initial.tolist(), strict=True))
    return CostMap(first, second, costs, start, held, _minima(first, second, costs))


def local_minima(values: F64) -> list[tuple[int, int]]:
    """Return row and column of each local minimum of a grid, shape (b, a), lowest first.

    All eight neighbours must be higher, as points beyond the boundary are. A plateau counts
    once, at its first point.
    """
    around = np.ones((3, 3), dtype=np.bool_)
    lowest = ndimage.minimum_filter(values, footprint=around, mode="constant", cval=np.inf)
    candidates = np.isfinite(values) & (values <= lowest)
    labels, count = ndimage.label(candidates, structure=around)
    minima: list[tuple[int, int]] = []
    for label in range(1, count + 1):
        region: npt.NDArray[np.bool_] = labels == label
        rim = ndimage.binary_dilation(region, structure=around) & ~region
        row, column = (int(k) for k in np.argwhere(region)[0])
        # A neighbour of the same height that is not a candidate itself leads further down.
        if not bool(np.any(values[rim] <= values[row, column])):
            minima.append((row, column))
    return sorted(minima, key=lambda place: float(values[place]))


def _minima(first: Axis, second: Axis, costs: F64) -> tuple[Minimum, ...]:
    last = (len(second.values) - 1, len(first.values) - 1)
    return tuple(
        Minimum(
            float(first.values[column]),
            float(second.values[row]),
            float(costs[row, column]),
            row in (0, last[0]) or column in (0, last[1]),
        )
        for row, column in local_minima(costs)
    )


def _axis(
    problem: Problem, name: str, grid: int, ranges: Mapping[str, tuple[float, float]]
) -> Axis:
    index = [q.name for q in problem.free].index(name)
    parameter: Parameter = problem.free[index]
    low, high = ranges.get(name, (parameter.lower, parameter.upper))
    space = SearchSpace.of(problem)
    log = bool(space.log[index])
    if not (np.isfinite(low) and np.isfinite(high) and low < high) or (log and low <= 0.0):
        raise ProblemError(
            f"'{name}' has the range [{low}, {high}]"
            + (" and log scaling" if log else "")
            + ", over which no grid can be laid",
            hint=f"give it bounds = [low, high] in the problem file, or --range {name}=LOW:HIGH",
        )
    outside = low < parameter.lower or high > parameter.upper
    if outside:
        raise ProblemError(
            f"the range [{low}, {high}] of '{name}' leaves its bounds "
            f"[{parameter.lower}, {parameter.upper}]",
            hint="choose a range inside, or widen the bounds in the problem file",
        )
    values = np.geomspace(low, high, grid) if log else np.linspace(low, high, grid)
    return Axis(name, parameter.unit, np.clip(values, low, high), log)


def pairs_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return every pair, in the order of a lower triangle."""
    return [(names[i], names[j]) for j in range(1, len(names)) for i in range(j)]
