"""Parameters of a result, and what data, draws and the start contribute to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.errors import UnitError
from fmident.estimation.comparisons import (
    DrawnParameter,
    DrawnPosterior,
    Influence,
    OutputSensitivity,
)
from fmident.estimation.contract import Draws
from fmident.estimation.diagnostics import Fit, recorded_outputs
from fmident.estimation.result import BaseParameter, Factor, ParameterEstimate
from fmident.problem.dependent import Dependence
from fmident.problem.residuals import residual_layout
from fmident.statistics.identifiability import DeterminedCombination
from fmident.statistics.local_model import LocalModel
from fmident.units import in_si, parse_unit

if TYPE_CHECKING:
    from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics
    from fmident.problem.model import Problem


_NO_PART = 0.1
"""Part of a determined combination's terms that may be left along what is open: coefficients are
rounded."""


ENDS = (0.025, 0.975)
"""Ends of an interval of draws, as shares of them."""


_MOST_ROWS, _LEAST_ROWS = 1000, 100
_MOST_NUMBERS = 120_000
"""Sensitivities of all outputs together; their file stays below about a megabyte."""


def parameter_estimates(
    fit: Fit, base: Sequence[ParameterEstimate] = ()
) -> tuple[ParameterEstimate, ...]:
    """Return all parameters with their values and, given statistics, uncertainty.

    Dependent ones have intervals by the chain rule; `base` is the result of
    :func:`base_parameters`.
    """
    problem, p, statistics = fit.problem, fit.p, fit.uncertainty
    index = {name: j for j, name in enumerate(fit.names)}
    values = Dependence.of(problem).values(p)
    followed = {} if statistics is None else dependent_uncertainty(problem, p, statistics.local)
    holds = fit.at_bound if statistics is None else fit.at_bound & statistics.local.on_bound
    estimates = []
    for q in problem.parameters:
        j, value = index.get(q.name), values[q.name]
        error, interval = followed.get(q.name, (np.nan, (np.nan, np.nan)))
        if j is not None and statistics is not None:
            error = float(statistics.local.standard_errors[j])
            low, high = statistics.local.intervals[j]
            interval = (float(low), float(high))
        merged = tuple(b.name for b in base if q.name in b.members)
        if np.isfinite(error):
            merged = ()
        elif merged:
            interval = (np.nan, np.nan)
        estimates.append(
            dataclasses.replace(
                ParameterEstimate.of(q, value),
                standard_error=error,
                interval_95=interval,
                at_bound=j is not None and bool(fit.at_bound[j]),
                held=j is not None and bool(holds[j]),
                base=merged,
                curvature=fit.curvatures.get(q.name),
            )
        )
    return tuple(estimates)


def base_parameters(
    problem: Problem, p: F64, statistics: VerifiedStatistics | None
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
    values = np.array([c.value(p) for c in combinations])
    errors, ranges = statistics.local.errors_and_ranges(rows, cancelled=_NO_PART)
    intervals = values[:, np.newaxis] + ranges
    names = [q.name for q in problem.free]
    used_names = {q.name for q in problem.parameters}
    estimates = []
    for c, value, error, (low, high) in zip(
        combinations, values.tolist(), errors.tolist(), intervals.tolist(), strict=True
    ):
        name = f"{names[c.leading]}_base"
        while name in used_names:
            name += "_"
        used_names.add(name)
        with np.errstate(divide="ignore", invalid="ignore"):
            initial = c.value(problem.initial)
        estimates.append(
            BaseParameter(
                name, _unit(problem, c), "", initial, value, error, (low, high),
                -np.inf, np.inf, at_bound=False, fixed=False, expression=c.text,
                factors=tuple(
                    Factor(power, {names[int(j)]: float(s[j]) for j in _in_order(s, c.leading)})
                    for power, s in zip(c.powers, c.sums, strict=True)
                ),
            )
        )  # fmt: skip
    return tuple(estimates)


def _in_order(coefficients: F64, leading: int) -> list[int]:
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
    problem: Problem, p: F64, model: LocalModel
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
    values, derivatives = dependence.values(p), dependence.derivatives(p)
    rows = np.array([derivatives[n] for n in names])
    errors, ranges = model.errors_and_ranges(rows)
    intervals = np.array([values[n] for n in names])[:, np.newaxis] + ranges
    each = zip(names, errors.tolist(), intervals.tolist(), strict=True)
    return {name: (error, (low, high)) for name, error, (low, high) in each}


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


def drawn(
    fit: Fit, estimates: Sequence[ParameterEstimate], draws: Draws
) -> tuple[tuple[ParameterEstimate, ...], F64]:
    """Return parameters with statistics of draws, and their covariance."""
    values = drawn_values(fit.problem, draws)

    def of(e: ParameterEstimate) -> ParameterEstimate:
        if e.name not in values:
            return e
        low, high = np.quantile(values[e.name], ENDS)
        error = float(np.std(values[e.name], ddof=1))
        interval = (float(low), float(high))
        plain = dataclasses.replace(e, at_bound=False, held=False)
        return dataclasses.replace(plain, standard_error=error, interval_95=interval)

    covariance = np.atleast_2d(np.cov(draws.flat, rowvar=False))
    return tuple(of(e) for e in estimates), covariance


def drawn_values(problem: Problem, draws: Draws) -> dict[str, F64]:
    """Return the draws of each free or dependent parameter, shape (k,)."""
    flat = draws.flat
    columns = {q.name: flat[:, j] for j, q in enumerate(problem.free)}
    followed = [q.name for q in problem.parameters if q.expression is not None]
    if followed:
        dependence = Dependence.of(problem)
        rows = [dependence.values(p) for p in flat]
        columns |= {name: np.array([row[name] for row in rows]) for name in followed}
    return columns


def drawn_posterior(fit: Fit) -> DrawnPosterior | None:
    """Return the part of the draws that a result keeps; ``None`` without draws."""
    draws = fit.estimate.draws
    if draws is None:
        return None
    columns = [draws.bulk.tolist(), draws.tail.tolist(), draws.r_hat.tolist()]
    parameters = {
        name: DrawnParameter(
            float(np.median(own)), float(np.mean(own)), float(np.std(own, ddof=1)), *efficiency
        )
        for name, own, *efficiency in zip(fit.names, draws.flat.T, *columns, strict=True)
    }
    return DrawnPosterior(parameters, draws.count, draws.values, draws.densities)


def output_sensitivities(fit: Fit) -> tuple[OutputSensitivity, ...]:
    """Return one item for each output of each experiment.

    The columns of the whitened Jacobian are scaled to unit length, as for the rank. With
    constraints, dependent parameters move with a parameter. Residuals of weight zero are left
    out. Empty without statistics, or if the rows of the Jacobian are not samples.
    """
    if fit.uncertainty is None:
        return ()
    model, jacobian = fit.statistics.local, fit.statistics.local.released.data_jacobian
    weights, times = fit.estimate.residual_weights, residual_layout(fit.problem).time
    used = np.ones(times.size, np.bool_) if weights is None else weights[: times.size] != 0.0
    if not jacobian.shape[0] == np.count_nonzero(used) > 0:
        return ()
    norms: F64 = np.linalg.norm(jacobian, axis=0)
    norms[model.moving[model.analysis.column_norms == 0.0]] = 0.0  # no more than their error
    # A residual is measured minus predicted.
    scale = -np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    with np.errstate(divide="ignore"):
        moves = model.noise / norms
    outputs = recorded_outputs(fit.problem)
    most = _MOST_NUMBERS // max(len(outputs) * len(fit.names), 1)
    most = min(max(most, _LEAST_ROWS), _MOST_ROWS)
    numbers, sensitivities = np.cumsum(used) - 1, []
    for output in outputs:
        rows = output.rows[used[output.rows]]
        if not rows.size:
            continue
        values = jacobian[numbers[rows]] * scale
        shares = np.sum(values**2, axis=0).tolist()
        sensitivities.append(
            OutputSensitivity(
                output.experiment.name,
                output.measurement.name,
                dict(zip(fit.names, map(Influence, shares, moves.tolist()), strict=True)),
                *thinned(times[rows], values, most),
            )
        )
    return tuple(sensitivities)


def thinned(times: F64, values: F64, most: int) -> tuple[F64, F64]:
    """Return signals unchanged, or the extremes of equal parts of the time axis.

    At most `most` rows are returned. `values` has the signals as columns, shape (k, n),
    finite. Each part has two rows, at its first and its middle sample, with the smallest
    and the largest value of each column in the order in which they occur.
    """
    count = times.size
    if count <= most:
        return times, values
    size = -(-count // (most // 2))
    begins = np.arange(0, count, size)
    index = np.minimum(begins[:, np.newaxis] + np.arange(size), count - 1)
    parts = values[index]  # the last one may end with the same sample several times
    least, largest = np.argmin(parts, axis=1), np.argmax(parts, axis=1)
    pairs = np.stack([np.minimum(least, largest), np.maximum(least, largest)], axis=1)
    rows = np.take_along_axis(parts, pairs, axis=1).reshape(-1, values.shape[1])
    middles = np.minimum(begins + size // 2, count - 1)
    return times[np.column_stack([begins, middles]).ravel()], rows
