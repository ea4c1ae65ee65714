"""All parameters of a result; dependent ones have intervals by the chain rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import UnitError
from fmident.estimation.diagnostics.constraints import dependent_reach
from fmident.estimation.result import BaseParameter, Factor, ParameterEstimate
from fmident.problem.dependent import Dependence
from fmident.statistics import DeterminedCombination, ParameterStatistics
from fmident.statistics.tangent import Region
from fmident.statistics.uncertainty import t_quantile
from fmident.units import in_si, parse_unit

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_LEVEL = 0.95

_CANCELLED = 1e-9
"""Part of the standard errors of what a parameter follows from that is rounding."""

_OPEN = 1e-6
"""Part of a dependent parameter's change along what the data leave open, from which on it is open,
too."""


def parameter_estimates(
    problem: Problem,
    p: F64,
    held: npt.NDArray[np.bool_],
    statistics: ParameterStatistics | None,
    region: Region | None = None,
    base: Sequence[ParameterEstimate] = (),
) -> tuple[ParameterEstimate, ...]:
    """Return all parameters with their values and, given statistics, uncertainty.

    `p` are the free parameters, of which `held` marks those on a bound; `statistics` are
    those at `p`; `region` is the region of the intervals if inequalities limit them; `base`
    is the result of :func:`base_parameters`.
    """
    index = {q.name: j for j, q in enumerate(problem.free)}
    nothing = float("nan")
    values = Dependence.of(problem).values(p)
    followed = {} if statistics is None else dependent_uncertainty(problem, p, statistics)
    reach = dependent_reach(problem, p, region)
    estimates = []
    for q in problem.parameters:
        j = index.get(q.name)
        error, interval = followed.get(q.name, (nothing, (nothing, nothing)))
        if q.name in reach and np.isfinite(error):
            interval = (values[q.name] + reach[q.name][0], values[q.name] + reach[q.name][1])
        if j is not None and statistics is not None:
            error = float(statistics.standard_errors[j])
            low, high = statistics.intervals[j]
            interval = (float(low), float(high))
        merged = tuple(b.name for b in base if q.name in b.members)
        if merged and not np.isfinite(error):
            interval = (nothing, nothing)
        estimates.append(
            ParameterEstimate(
                name=q.name,
                unit=q.unit,
                description=q.description,
                initial=q.initial,
                value=values[q.name],
                standard_error=error,
                interval_95=interval,
                lower=q.lower,
                upper=q.upper,
                at_bound=False if j is None else bool(held[j]),
                fixed=q.fixed,
                variable=q.variable,
                experiments=q.experiments,
                expression="" if q.expression is None else q.expression.text,
                base=merged if not np.isfinite(error) else (),
            )
        )
    return tuple(estimates)


def base_parameters(
    problem: Problem, p: F64, statistics: ParameterStatistics | None
) -> tuple[BaseParameter, ...]:
    """Return the combinations that the data determine instead of their members.

    Each is named after the leading member, ``NAME_base``.
    """
    if statistics is None:
        return ()
    combinations = [c for c in statistics.identifiability.determined if c.everywhere]
    if not combinations:
        return ()
    rows = np.array([c.gradient(p) for c in combinations])
    unknown = _unknown(problem, statistics)
    linear = statistics.linearisation
    noise, freedoms = linear.answer_to_noise(), linear.freedoms(rows)
    names = [q.name for q in problem.free]
    used_names = {q.name for q in problem.parameters}
    estimates = []
    for c, row, freedom in zip(combinations, rows, freedoms, strict=True):
        value, error = c.value(p), float(np.linalg.norm(row @ noise))
        if bool(unknown[list(c.members)].any()):
            error = np.nan
        half = t_quantile(_LEVEL, freedom) * error
        name = f"{names[c.leading]}_base"
        while name in used_names:
            name += "_"
        used_names.add(name)
        with np.errstate(divide="ignore", invalid="ignore"):
            initial = c.value(problem.initial)
        estimates.append(
            BaseParameter(
                name, _unit(problem, c), "", initial, value, error, (value - half, value + half),
                -np.inf, np.inf, at_bound=False, fixed=False, expression=c.text,
                factors=tuple(
                    Factor(power, {names[int(j)]: float(s[j]) for j in _in_order(s, c.leading)})
                    for power, s in zip(c.powers, c.sums, strict=True)
                ),
            )
        )  # fmt: skip
    return tuple(estimates)


def _in_order(coefficients: F64, leading: int) -> list[int]:
    """Return the indices of the terms of a sum, the leading one first."""
    return sorted(map(int, np.flatnonzero(coefficients)), key=lambda j: (j != leading, j))


def _unit(problem: Problem, c: DeterminedCombination) -> str | None:
    """Return the unit of a combination, in base units for a product; ``None`` if unknown."""
    units = [problem.free[_in_order(s, c.leading)[0]].unit for s in c.sums]
    if c.powers == (1,) or any(u is None for u in units):
        return units[0] if c.powers == (1,) else None
    try:
        parsed = [parse_unit(str(u)) ** k for u, k in zip(units, c.powers, strict=True)]
    except UnitError:
        return None
    product = reduce(mul, parsed)
    return product.si if in_si(product) else None


def dependent_uncertainty(
    problem: Problem, p: F64, statistics: ParameterStatistics
) -> dict[str, tuple[float, tuple[float, float]]]:
    """Return standard error and 95 % interval of each dependent parameter, by name.

    To first order, ``g^T C g`` with the gradient g and the covariance C (Seber and Wild,
    Nonlinear Regression, section 5.1). A combination of parameters may be determined even
    if its members are not. Parameters on a bound count as exact, as for the other
    intervals. Intervals are infinite where the data leave the value open, and NaN if the
    uncertainty of a parameter is unknown.
    """
    names = [q.name for q in problem.parameters if q.expression is not None]
    if not names:
        return {}
    dependence = Dependence.of(problem)
    values, rows = dependence.values(p), dependence.derivatives(p)
    linear = statistics.linearisation
    noise = linear.answer_to_noise()
    spread = linear.open_directions
    freedoms = dict(zip(names, linear.freedoms(np.array([rows[n] for n in names])), strict=True))
    doubtful = _unknown(problem, statistics)
    uncertainties = {}
    for name in names:
        row, value = rows[name], values[name]
        moves = np.abs(row[:, np.newaxis] * spread).sum(axis=0)
        error = float(np.linalg.norm(row @ noise))
        if error <= _CANCELLED * float(np.abs(row) @ np.linalg.norm(noise, axis=1)):
            error = 0.0  # constraints determine it
        if bool(row[doubtful].any()) or not np.isfinite(row).all():
            uncertainties[name] = (np.nan, (np.nan, np.nan))
        elif bool((np.abs(row @ spread) > _OPEN * moves).any()):
            uncertainties[name] = (np.nan, (-np.inf, np.inf))
        else:
            half = t_quantile(_LEVEL, freedoms[name]) * error
            uncertainties[name] = (error, (value - half, value + half))
    return uncertainties


def _unknown(problem: Problem, statistics: ParameterStatistics) -> npt.NDArray[np.bool_]:
    """Return which parameters have an unknown uncertainty, shape (n,)."""
    identifiability = statistics.identifiability
    names = {*identifiability.withheld, *identifiability.undecided, *identifiability.jumps}
    return np.array([q.name in names for q in problem.free], dtype=np.bool_)


def dependent_after_stages(
    problem: Problem,
    names: Sequence[str],
    estimates: Sequence[ParameterEstimate],
    covariance: F64,
) -> tuple[ParameterEstimate, ...]:
    """Return the estimates of a run in stages, with values and uncertainty of dependent ones.

    `names` are the n parameters estimated in any stage and `covariance`, shape (n, n), is
    theirs, NaN where unknown; `estimates` are those of all parameters.
    """
    if all(q.expression is None for q in problem.parameters):
        return tuple(estimates)
    known = {e.name: e for e in estimates}
    parameters = tuple(
        q
        if q.expression is not None
        else dataclasses.replace(q, initial=known[q.name].value, fixed=q.name not in names)
        for q in problem.parameters
    )
    order = [q.name for q in parameters if q.searched]
    place = [list(names).index(n) for n in order]
    joint = covariance[np.ix_(place, place)]
    dependence = Dependence(parameters)
    p = np.array([known[n].value for n in order])
    values, rows = dependence.values(p), dependence.derivatives(p)
    last = {e.name: e.stage for e in estimates}

    def completed(e: ParameterEstimate) -> ParameterEstimate:
        if not e.expression:
            return e
        used = np.flatnonzero(rows[e.name])
        row, value = rows[e.name][used], values[e.name]
        if not used.size:
            return dataclasses.replace(e, value=value)
        error = float(np.sqrt(row @ joint[np.ix_(used, used)] @ row))
        half = max(_quantile(known[order[j]]) for j in used) * error
        return dataclasses.replace(
            e,
            value=value,
            standard_error=error,
            interval_95=(value - half, value + half),
            stage=last[order[used[-1]]],
        )

    return tuple(completed(e) for e in estimates)


def _quantile(e: ParameterEstimate) -> float:
    """Return half the width of an interval over the standard error; NaN without interval."""
    low, high = e.interval_95
    return 0.5 * (high - low) / e.standard_error if e.standard_error > 0.0 else np.nan
