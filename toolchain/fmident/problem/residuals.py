"""Residuals from simulated outputs: the measurement model, then the cost.

The prediction of a data column is ``gain * y(t - delay) + offset``, filtered and
downsampled like the measurement if decimation is requested. A whitened residual is
``weight * (measured - predicted) / sigma``; missing samples have none. The cost
computes the residuals of a problem from measured and predicted signals: by default the
whitened ones.

Derivatives follow from those of the FMU's outputs by the chain rule; those with respect to gain,
offset and delay need no simulation. Filters and the interpolation of a delay are linear in the
signal, so that applied to its derivative they give the derivative of their result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement, NumberOrParameter
from fmident.data.prepare import kept_samples
from fmident.errors import FmidentError, Location, PluginError, ProblemError
from fmident.options import OptionError
from fmident.plugin_code import PLUGIN_BUG, plugin_failed
from fmident.problem.cost import Cost, MeasuredSignal, TimeDomain
from fmident.problem.dependent import Dependence, parameter_derivatives_for
from fmident.problem.model import Problem, made_once

_ROUNDING = 1e-12
"""Part of the record by which two instants that are meant to be equal may differ."""


Rows = Mapping[str, F64]
"""Derivatives of values with respect to the free parameters, by name, shape (n,) each."""


OriginKind = Literal["sensitivities", "measurement-model", "differences"]

_WORDS: Mapping[OriginKind, str] = {
    "sensitivities": "exact sensitivities of the FMU",
    "measurement-model": "exact derivatives of the measurement model",
    "differences": "finite differences",
}


@dataclass(frozen=True)
class ResidualLayout:
    """The experiment, measurement and sample of each residual, each of shape (m,).

    `experiment` and `measurement` are indices into ``problem.experiments`` and into its
    ``measurements``, `sample` is an index into the experiment's ``times``, and `time` its
    time, s.
    """

    experiment: npt.NDArray[np.intp]
    measurement: npt.NDArray[np.intp]
    sample: npt.NDArray[np.intp]
    time: F64

    @property
    def size(self) -> int:
        """Number of residuals, m."""
        return self.time.size

    def rows_of(self, experiment: int, measurement: int) -> npt.NDArray[np.intp]:
        """Return the residual indices of a measurement in order of time."""
        return np.flatnonzero((self.experiment == experiment) & (self.measurement == measurement))


def parameter_values(problem: Problem, p: F64) -> dict[str, float]:
    """Return the values of all parameters by name, fixed and dependent ones included.

    `p` are the free parameters in the order of ``problem.free``, shape (n,), physical
    units.
    """
    return Dependence.of(problem).values(p)


def parameter_values_for(problem: Problem, experiment: Experiment, p: F64) -> dict[str, float]:
    """Return the values of the FMU variables set by the parameters in one experiment.

    They are in the order of ``problem.parameters``; `p` are the free parameters, shape
    (n,).
    """
    values = parameter_values(problem, p)
    return {
        q.variable: values[q.name]
        for q in problem.parameters
        if q.variable is not None and q.acts_on(experiment.name)
    }


def measurement_values(problem: Problem, p: F64) -> dict[str, float]:
    """Return the values of the parameters used by the measurement model, by name.

    `p` are the free parameters, shape (n,).
    """
    used = {name for e in problem.experiments for m in e.measurements for name in m.references}
    return {name: x for name, x in parameter_values(problem, p).items() if name in used}


def compared_times(measurement: Measurement, times: F64) -> F64:
    """Return the instants at which measurement and prediction are compared, shape (k,)."""
    return times[compared_samples(measurement)]


def compared_values(measurement: Measurement) -> F64:
    """Return the measured signal at the compared instants, shape (k,), decimated if requested."""
    return measurement.compared[compared_samples(measurement)]


def compared_sigma(measurement: Measurement) -> F64 | None:
    """Return the standard deviation at the compared instants, shape () or (k,)."""
    sigma = measurement.sigma
    return sigma if sigma is None or sigma.ndim == 0 else sigma[compared_samples(measurement)]


def compared_samples(measurement: Measurement) -> slice | npt.NDArray[np.intp]:
    """Return the samples kept by a decimation."""
    if measurement.decimation is None:
        return slice(None)
    return kept_samples(measurement.values.size, measurement.decimation.factor)


def predict_measurement(
    measurement: Measurement, times: F64, y: F64, values: Mapping[str, float]
) -> F64:
    """Return the predicted column of a measurement, given the simulated output.

    `times`, s, and `y` have shape (n,); `values` has at least the parameters used by the
    measurement. The result is at the compared instants: shape (n,), or (k,) after a
    decimation.
    """
    delay = number_of(measurement.delay, values)
    gain = number_of(measurement.gain, values)
    offset = number_of(measurement.offset, values)
    shifted = delayed(times, y, delay) if delay != 0.0 else y
    return measurement.as_compared(gain * shifted + offset)[compared_samples(measurement)]


def measured_output(
    measurement: Measurement, times: F64, values: Mapping[str, float]
) -> tuple[F64, F64]:
    """Return what the measured column says of the FMU's output: instants, s, and values.

    It inverts the measurement model at the compared samples, both of shape (k,). `times`, s, has
    shape (n,); `values` has at least the parameters used by the measurement. With a gain of
    zero the values are not finite.
    """
    rows = measurement.rows
    with np.errstate(divide="ignore", invalid="ignore"):
        output = measurement.compared[rows] - number_of(measurement.offset, values)
        output = output / number_of(measurement.gain, values)
    return times[rows] - number_of(measurement.delay, values), output


def predict(problem: Problem, outputs: Sequence[F64], p: F64) -> tuple[tuple[F64, ...], ...]:
    """Return the predictions of all measured columns, per experiment and measurement.

    `outputs` has the simulated outputs of each experiment, shape (n, output variables),
    with columns in the order of :attr:`Experiment.output_variables`; `p` are the free
    parameters, shape (n,).
    """
    values = parameter_values(problem, p)
    return tuple(
        tuple(
            predict_measurement(m, experiment.times, y[:, column], values)
            for m, column in measured_columns(experiment)
        )
        for experiment, y in zip(problem.experiments, outputs, strict=True)
    )


def whitened_residuals(problem: Problem, outputs: Sequence[F64], p: F64) -> F64:
    """Return ``weight * (measured - predicted) / sigma`` of all available samples, shape (m,).

    They are in the order of :func:`residual_layout`; the arguments are as for
    :func:`predict`.
    """
    return TimeDomain().residuals(measured_signals(problem), _signals(problem, outputs, p))


def cost_residuals(problem: Problem, outputs: Sequence[F64], p: F64) -> F64:
    """Return the residuals r of the problem's cost ``1/2 sum r^2``, shape (m,).

    For the cost ``time-domain`` they are those of :func:`whitened_residuals`. The arguments
    are as for :func:`predict`. Raises `PluginError` if the cost is broken.
    """
    cost = problem.cost
    predicted = _signals(problem, outputs, p)
    # A cost is a stranger's code, which may raise anything.
    try:
        residuals = np.asarray(
            cost.residuals(measured_signals(problem), predicted), dtype=np.float64
        )
    except (Exception, SystemExit) as error:
        raise broken_cost(cost, error) from error
    if residuals.ndim != 1 or residuals.size == 0:
        raise PluginError(
            f"the cost '{cost.name}' ({type(cost).__module__}) returned residuals of shape "
            f"{residuals.shape}, not (m,)",
            hint=PLUGIN_BUG,
        )
    return residuals


def refuse_other_count(problem: Problem, residuals: F64, count: int) -> None:
    """Raise `PluginError` if the number of residuals has changed."""
    if residuals.size != count:
        cost = problem.cost
        raise PluginError(
            f"the cost '{cost.name}' ({type(cost).__module__}) returned {residuals.size} "
            f"residuals after {count}: their number must not depend on what is predicted",
            hint=PLUGIN_BUG,
        )


def broken_cost(cost: Cost, error: BaseException) -> FmidentError:
    """Return an exception raised by a cost as an fmident error."""
    return plugin_failed(f"the cost '{cost.name}'", type(cost).__module__, error)


def measured_signals(problem: Problem) -> tuple[MeasuredSignal, ...]:
    """Return the measured outputs as used by the cost, by experiment, then measurement."""
    return made_once(problem, _measured_signals)


def _measured_signals(problem: Problem) -> tuple[MeasuredSignal, ...]:
    return tuple(_measured_signal(e, m) for e in problem.experiments for m in e.measurements)


def check_cost(problem: Problem, location: Location | None = None) -> None:
    """Check that the problem's data suit its cost.

    Raises `ProblemError` at `location` with the message of the cost, or `PluginError` if it
    is broken.
    """
    try:
        problem.cost.check(measured_signals(problem))
    except ValueError as error:
        raise ProblemError(
            f"the cost '{problem.cost.name}' cannot be used here: {error}",
            location=location,
            code=error.code if isinstance(error, OptionError) else None,
        ) from error
    except (Exception, SystemExit) as error:
        raise broken_cost(problem.cost, error) from error


def _measured_signal(experiment: Experiment, m: Measurement) -> MeasuredSignal:
    sigma = compared_sigma(m)
    times = compared_times(m, experiment.times)
    scale = m.weight / (np.ones(()) if sigma is None else np.asarray(sigma, dtype=np.float64))
    # The data are the problem's: a cost that writes into them would change them for everyone.
    return MeasuredSignal(
        experiment.name,
        m.name,
        _read_only(times),
        _read_only(compared_values(m)),
        _read_only(np.broadcast_to(scale, times.shape)),
    )


def _read_only(values: F64) -> F64:
    view = values.view()
    view.flags.writeable = False
    return view


def _signals(problem: Problem, outputs: Sequence[F64], p: F64) -> list[F64]:
    return [y for columns in predict(problem, outputs, p) for y in columns]


def residual_layout(problem: Problem) -> ResidualLayout:
    """Return the layout of the residuals of :func:`whitened_residuals`.

    They are ordered by experiment, then measurement, then time.
    """
    places = [
        (i, j, m.rows, e.times[m.rows])
        for i, e in enumerate(problem.experiments)
        for j, m in enumerate(e.measurements)
    ]
    empty = np.empty(0, dtype=np.intp)
    return ResidualLayout(
        experiment=np.concatenate([empty, *(np.full(r.size, i) for i, _, r, _ in places)]),
        measurement=np.concatenate([empty, *(np.full(r.size, j) for _, j, r, _ in places)]),
        sample=np.concatenate([empty, *(r for _, _, r, _ in places)]),
        time=np.concatenate([np.empty(0), *(t for _, _, _, t in places)]),
    )


def measured_columns(experiment: Experiment) -> list[tuple[Measurement, int]]:
    """Return the measurements, each with the column index of its simulated output."""
    place = {name: k for k, name in enumerate(experiment.output_variables)}
    return [(m, place[m.variable]) for m in experiment.measurements]


def number_of(given: NumberOrParameter, values: Mapping[str, float]) -> float:
    """Return a number of the measurement model, or the value of the parameter it names."""
    return values[given] if isinstance(given, str) else float(given)


def delayed(times: F64, y: F64, delay: float) -> F64:
    """Return ``y(t - delay)``, delay in s, at the instants of the samples, shape of `y`.

    Between samples the signal is a cubic Hermite polynomial whose slopes are second-order
    central differences. It passes through the samples, is exact for parabolas and
    continuously differentiable, and a jump affects at most the two intervals on either
    side. The result is therefore differentiable with respect to `delay` and linear in `y`.
    The first value is held before the first instant, the last value after the last one
    (negative delay). `times` are strictly increasing, shape (n,), s, with possibly uneven
    steps; `y` has shape (n,) or, for several signals, (n, k).
    """
    if delay == 0.0 or times.size < 2:
        return y
    at = np.clip(times - delay, times[0], times[-1])
    slope = _slopes(times, y)
    k, h, s = _places(times, at, y.ndim)
    return (
        y[k] * (1.0 + 2.0 * s) * (1.0 - s) ** 2
        + h * slope[k] * s * (1.0 - s) ** 2
        + y[k + 1] * s**2 * (3.0 - 2.0 * s)
        + h * slope[k + 1] * s**2 * (s - 1.0)
    )


def delay_derivative(times: F64, y: F64, delay: float, *, towards_smaller: bool = False) -> F64:
    """Return the derivative of :func:`delayed` with respect to the delay, shape (n,).

    It is the derivative of the interpolating polynomials, which is continuous, and zero
    where the first or last value is held. At the kink where holding begins, it is the
    derivative towards larger delays or, with `towards_smaller`, smaller ones (for a delay
    at its upper bound).
    """
    if times.size < 2:
        return np.zeros_like(y)
    wanted = times - delay
    first, last = times[0], times[-1]
    near = _ROUNDING * (last - first)  # a delay of whole steps meets the ends but for rounding
    if towards_smaller:
        moves = (wanted >= first - near) & (wanted < last - near)
    else:
        moves = (wanted > first + near) & (wanted <= last + near)
    slope = _slopes(times, y)
    k, h, s = _places(times, np.clip(wanted, first, last), 1)
    rise = (
        6.0 * s * (1.0 - s) * (y[k + 1] - y[k]) / h
        + slope[k] * (1.0 - s) * (1.0 - 3.0 * s)
        + slope[k + 1] * s * (3.0 * s - 2.0)
    )
    return np.where(moves, -rise, 0.0)


def _slopes(times: F64, y: F64) -> F64:
    """Return the slopes at the samples, same shape as `y`."""
    order = 2 if times.size > 2 else 1
    slopes: F64 = np.gradient(y, times, axis=0, edge_order=order)  # type: ignore[call-overload]
    return slopes


def _places(times: F64, at: F64, dimensions: int) -> tuple[npt.NDArray[np.intp], F64, F64]:
    """Return the interval index, its length, and the relative position in it of each instant."""
    k = np.clip(np.searchsorted(times, at, side="right") - 1, 0, times.size - 2)
    h = times[k + 1] - times[k]
    s = (at - times[k]) / h
    return (k, h, s) if dimensions == 1 else (k, h[:, np.newaxis], s[:, np.newaxis])


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
    return any(
        q.name == m.delay and value >= q.upper for q, value in zip(problem.free, p, strict=True)
    )


def _cost_derivatives(
    problem: Problem, outputs: Sequence[F64], p: F64, changes: Sequence[F64], count: int
) -> F64:
    cost, signals = problem.cost, measured_signals(problem)
    predicted = _signals(problem, outputs, p)
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
class DerivativeOrigin:
    """Origin of the derivative with respect to a parameter.

    The kind is ``"sensitivities"`` of the FMU, ``"measurement-model"`` for a parameter of
    that model only, or ``"differences"`` of simulations, with the reason in words.
    """

    kind: OriginKind
    reason: str = ""

    def __str__(self) -> str:
        return _WORDS[self.kind] + (f": {self.reason}" if self.reason else "")


def summary_of(origins: Mapping[str, DerivativeOrigin]) -> str:
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
