"""Derivatives of the residuals from those of an FMU's outputs, by the chain rule.

The measurement model is ``gain * y(t - delay) + offset``, filtered and downsampled if
decimation is requested; the cost comes last. Derivatives with respect to gain, offset
and delay need no simulation; those with respect to a parameter of the FMU need the
derivatives of the outputs. The filters and the interpolation of a delay are linear in
the signal, so applying them to a derivative of the signal gives the derivative of their
result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import PluginError
from fmident.plugin_code import PLUGIN_BUG
from fmident.problem.dependent import Dependence, parameter_derivatives_for
from fmident.problem.model import Problem
from fmident.problem.residuals import (
    broken_cost,
    compared_samples,
    delay_derivative,
    delayed,
    measured_columns,
    measured_signals,
    number_of,
    parameter_values,
    predict,
)

Rows = Mapping[str, F64]
"""Derivatives of values with respect to the free parameters, by name, shape (n,) each."""


OriginKind = Literal["sensitivities", "measurement-model", "differences"]

_WORDS: Mapping[OriginKind, str] = {
    "sensitivities": "exact sensitivities of the FMU",
    "measurement-model": "exact derivatives of the measurement model",
    "differences": "finite differences",
}


def moved_variables(problem: Problem, experiment: Experiment) -> list[tuple[str, ...]]:
    """Return for each free parameter the FMU variables it can change in `experiment`.

    The experiment need not belong to the problem.
    """
    dependence = Dependence.of(problem)
    sources = {
        q.variable: {q.name} if q.expression is None else dependence.sources(q.expression.tree)
        for q in problem.parameters
        if q.variable is not None and q.acts_on(experiment.name)
    }
    return [tuple(v for v, names in sources.items() if q.name in names) for q in problem.free]


def residual_jacobian(
    problem: Problem,
    outputs: Sequence[F64],
    sensitivities: Sequence[Mapping[str, F64]],
    p: F64,
    columns: Sequence[int],
) -> F64:
    """Return the Jacobian of :func:`~fmident.problem.residuals.cost_residuals`.

    `outputs` has the simulated outputs per experiment, shape (n, output variables), and
    `sensitivities` their derivatives, of the same shape, by FMU variable; at least of the
    variables that `columns` can change. `p` are the free parameters, shape (n,), and
    `columns` the indices of those to differentiate with respect to. The result has shape
    (m, len(columns)).
    """
    chosen = list(columns)
    values = parameter_values(problem, p)
    rows = {name: row[chosen] for name, row in Dependence.of(problem).derivatives(p).items()}
    changes = []
    for experiment, y, known in zip(problem.experiments, outputs, sensitivities, strict=True):
        derivatives = parameter_derivatives_for(problem, experiment, p)
        derivatives = {name: row[chosen] for name, row in derivatives.items() if row[chosen].any()}
        for m, column in measured_columns(experiment):
            slope = np.zeros((experiment.times.size, len(chosen)))
            for name, row in derivatives.items():
                for j in np.flatnonzero(row):
                    slope[:, j] += row[j] * known[name][:, column]
            aside = _on_upper_bound(problem, m, p)
            changes.append(
                _predicted_change(m, experiment.times, y[:, column], slope, values, rows, aside)
            )
    return _cost_derivatives(problem, outputs, p, changes, len(chosen))


def _predicted_change(
    m: Measurement,
    times: F64,
    y: F64,
    slope: F64,
    values: Mapping[str, float],
    rows: Rows,
    towards_smaller: bool,
) -> F64:
    """Return the derivatives of ``predict_measurement``, shape (k, columns).

    `slope` has the derivatives of `y`, shape (n, columns), and `rows` those of `values`.
    `towards_smaller` is passed to :func:`delay_derivative`.
    """
    delay, gain = number_of(m.delay, values), number_of(m.gain, values)
    change = gain * delayed(times, slope, delay)
    if isinstance(m.gain, str) and rows[m.gain].any():
        change += np.outer(delayed(times, y, delay), rows[m.gain])
    if isinstance(m.offset, str):
        change += rows[m.offset]
    if isinstance(m.delay, str) and rows[m.delay].any():
        later = delay_derivative(times, y, delay, towards_smaller=towards_smaller)
        change += np.outer(gain * later, rows[m.delay])
    if m.decimation is not None:
        # Filters are linear; a column of zeros stays one.
        filtered = [m.as_compared(c) if c.any() else c for c in change.T]
        change = np.column_stack(filtered) if filtered else change
    derivatives: F64 = change[compared_samples(m)]
    return derivatives


def _on_upper_bound(problem: Problem, m: Measurement, p: F64) -> bool:
    """Return whether the delay is at its upper bound."""
    return any(
        q.name == m.delay and value >= q.upper for q, value in zip(problem.free, p, strict=True)
    )


def _cost_derivatives(
    problem: Problem, outputs: Sequence[F64], p: F64, changes: Sequence[F64], count: int
) -> F64:
    cost, signals = problem.cost, measured_signals(problem)
    predicted = [y for columns in predict(problem, outputs, p) for y in columns]
    # A cost is a stranger's code, which may raise anything.
    try:
        derivatives = np.asarray(cost.derivatives(signals, predicted, changes), dtype=np.float64)
    except (Exception, SystemExit) as error:
        raise broken_cost(cost, error) from error
    if derivatives.ndim != 2 or derivatives.shape[1] != count:
        raise PluginError(
            f"the cost '{cost.name}' ({type(cost).__module__}) returned derivatives of shape "
            f"{derivatives.shape}, not (m, {count})",
            hint=PLUGIN_BUG,
        )
    return derivatives


@dataclass(frozen=True)
class Origin:
    """Origin of the derivative with respect to a parameter.

    The kind is ``"sensitivities"`` of the FMU, ``"measurement-model"`` for a parameter of
    that model only, or ``"differences"`` of simulations, with the reason in words.
    """

    kind: OriginKind
    reason: str = ""

    def __str__(self) -> str:
        return _WORDS[self.kind] + (f": {self.reason}" if self.reason else "")


def summary_of(origins: Mapping[str, Origin]) -> str:
    """Describe the origin of a Jacobian from that of each parameter; empty if unknown."""
    groups: dict[OriginKind, list[str]] = {}
    for name, origin in origins.items():
        groups.setdefault(origin.kind, []).append(name)
    if len(groups) > 1:
        # These are exact in any case.
        groups.pop("measurement-model", None)
    reasons = {o.reason for o in origins.values() if o.kind == "differences"}
    why = f": {reasons.pop()}" if len(reasons) == 1 else ""
    if len(groups) < 2:
        return "".join(_WORDS[kind] + (why if kind == "differences" else "") for kind in groups)
    return "; ".join(
        f"{_WORDS[kind]} for {', '.join(names)}" + (why if kind == "differences" else "")
        for kind, names in groups.items()
    )
