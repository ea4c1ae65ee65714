"""Delays of outputs that the problem does not have.

A delay between measured and simulated output leaves residuals that resemble the slope
of the output. Parameters compensate for a part of it. Parameters and the delays of
outputs with correlated residuals are therefore fitted together, with the outputs and
derivatives at the estimate, and the result is simulated once. A delay is reported if it
is significant and the remaining residuals are close to white.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64, scaled_least_squares
from fmident.estimation.comparisons import UnmodelledDelay, coloured_fits
from fmident.estimation.diagnostics import Fit, recorded_outputs
from fmident.problem.residuals import ResidualLayout, residual_layout, whitened_residuals
from fmident.statistics.residuals import residual_statistics

if TYPE_CHECKING:
    from fmident.problem.model import Problem


Place = tuple[int, int]
"""Numbers of an experiment and of an output in it."""

ENOUGH = 10
"""Least number of samples of an output."""

_ROUNDS = 8
_SETTLED = 1e-3
"""Change of the delays, in samples, that ends a fit."""

_LONGEST = 0.25
"""Longest delay, in parts of the record: with more of it the data say little."""

_SIGNIFICANT = 5.0
"""Standard errors from zero."""

_VISIBLE = 0.05
"""Smallest delay, in samples."""

_MOST = 0.5
"""Part of the squared residuals of an output that may be left ..."""

_WHITER = 1.0 / 3.0
"""... unless their correlation falls to this part of what it was."""


@dataclass(frozen=True)
class _Fit:
    """Delays, s, by output, and parameters, shape (n,), that were fitted together.

    `errors` are the standard errors of the delays for white noise of the size of the
    residuals.
    """

    delays: dict[Place, float]
    errors: dict[Place, float]
    point: F64


def _delayable(problem: Problem, chosen: Collection[Place] | None = None) -> list[Place]:
    """Return the outputs with enough samples whose delay is not a parameter."""
    return [
        o[:2]
        for o in recorded_outputs(problem)
        if not isinstance(o.measurement.delay, str)
        and o.rows.size >= ENOUGH
        and (chosen is None or o[:2] in chosen)
    ]


def unmodelled_delays(fit: Fit, jacobian: F64) -> tuple[UnmodelledDelay, ...]:
    """Return the delays that explain correlated residuals, simulated if there may be one.

    `jacobian` is that of the whitened residuals, 0 for parameters that stay on a bound.
    """
    problem, evaluator, p = fit.problem, fit.evaluator, fit.p
    coloured = {(f.experiment, f.name) for f, _ in coloured_fits(fit.fits)}
    all_outputs = recorded_outputs(problem)
    places = _delayable(
        problem, {o[:2] for o in all_outputs if (o.experiment.name, o.measurement.name) in coloured}
    )
    layout = residual_layout(problem)
    if not places or jacobian.shape[0] != layout.size:
        return ()
    outputs = [o for o in evaluator.simulate(p) if isinstance(o, np.ndarray)]
    if len(outputs) < len(problem.experiments):
        return ()
    model = _Model(problem, layout, outputs, p, jacobian)
    first = model.fit(places)
    if not any(_significant(model, first, place) for place in places):
        return ()
    point = np.clip(first.point, problem.lower, problem.upper)
    again = [o for o in evaluator.simulate(point) if isinstance(o, np.ndarray)]
    if len(again) < len(outputs):
        return ()
    shifted = replace(model, outputs=again, p=point)
    second = shifted.fit(places, first.delays)
    before, after = model.residuals({}, p), shifted.residuals(second.delays, point)
    delays = []
    for i, k in places:
        rows, e = layout.rows_of(i, k), problem.experiments[i]
        old, new = residual_statistics(before[rows]), residual_statistics(after[rows])
        left = float(np.sum(after[rows] ** 2) / np.sum(before[rows] ** 2))
        whiter = new.white or abs(new.autocorrelation) < _WHITER * abs(old.autocorrelation)
        # Noise with correlated neighbours, as of an autoregression of first order.
        rho = min(max(new.autocorrelation, 0.0), 0.99)
        second.errors[i, k] *= float(np.sqrt((1.0 + rho) / (1.0 - rho)))
        if _significant(model, second, (i, k)) and left < 1.0 and (left < _MOST or whiter):
            numbers = second.delays[i, k], second.errors[i, k], model.step((i, k))
            name = e.measurements[k].name
            delays.append(UnmodelledDelay(e.name, name, *numbers, float(np.sqrt(left))))
    return tuple(delays)


def left_with_delays(problem: Problem, outputs: Sequence[F64], p: F64, jacobian: F64) -> F64:
    """Return the whitened residuals with fitted parameters and delays, shape (m,).

    To first order in the parameters, without a simulation. `outputs` were simulated at `p`;
    `jacobian` is that of the whitened residuals there.
    """
    layout = residual_layout(problem)
    model = _Model(problem, layout, list(outputs), p, jacobian)
    places = _delayable(problem)
    if not places:
        return model.residuals({}, p)
    fit = model.fit(places)
    return model.residuals(fit.delays, fit.point)


def with_delays(problem: Problem, delays: Mapping[Place, float]) -> Problem:
    """Return the problem with additional delays, s, of outputs whose delay is not a parameter."""
    experiments = []
    for i, e in enumerate(problem.experiments):
        changed = tuple(
            m
            if isinstance(m.delay, str) or (i, k) not in delays
            else replace(m, delay=float(m.delay) + float(delays[i, k]))
            for k, m in enumerate(e.measurements)
        )
        experiments.append(replace(e, measurements=changed))
    return replace(problem, experiments=tuple(experiments))


@dataclass(frozen=True, eq=False)
class _Model:
    """Residuals as a function of delays, exactly, and of parameters near `p`, linearly."""

    problem: Problem
    layout: ResidualLayout
    outputs: list[F64]
    p: F64
    jacobian: F64

    def residuals(self, delays: Mapping[Place, float], p: F64) -> F64:
        """Return the whitened residuals with delays, shape (m,)."""
        linear = self._shifted(delays) @ (p - self.p)
        plain: F64 = whitened_residuals(with_delays(self.problem, delays), self.outputs, self.p)
        return plain + linear

    def fit(self, places: Sequence[Place], start: Mapping[Place, float] | None = None) -> _Fit:
        """Return the delays and parameters that minimise the squared residuals near `start`."""
        delays = dict.fromkeys(places, 0.0) | dict(start or {})
        point = self.p
        residuals = self.residuals(delays, point)
        for _ in range(_ROUNDS):
            columns = np.column_stack([self._shifted(delays), self._slopes(delays)])
            step = scaled_least_squares(columns, -residuals)
            improved = dict(delays)
            least = float(residuals @ residuals)
            for share in (1.0, 0.5, 0.25, 0.125):
                trial = {
                    q: self._limited(q, delays[q] + share * s)
                    for q, s in zip(places, step[self.p.size :], strict=True)
                }
                further = point + share * step[: self.p.size]
                tried = self.residuals(trial, further)
                if float(tried @ tried) < least:
                    improved, point, residuals = trial, further, tried
                    break
            change = max(abs(improved[q] - delays[q]) / self.step(q) for q in places)
            delays = improved
            if change < _SETTLED:
                break
        return _Fit(delays, self._errors(places, delays, residuals), point)

    def step(self, place: Place) -> float:
        """Return the sampling interval of an output's experiment, s."""
        return float(np.median(np.diff(self.problem.experiments[place[0]].times)))

    def _errors(
        self, places: Sequence[Place], delays: Mapping[Place, float], residuals: F64
    ) -> dict[Place, float]:
        """Return the standard errors of the delays, each by the noise of its own output."""
        slopes = self._slopes(delays)
        everything = np.column_stack([self._shifted(delays), slopes])
        errors = {}
        for number, place in enumerate(places):
            column = everything[:, self.p.size + number]
            others = np.delete(everything, self.p.size + number, axis=1)
            own = column - others @ scaled_least_squares(others, column)
            length = float(np.linalg.norm(own))
            tiny = 1e-8 * float(np.linalg.norm(column))
            noise = float(np.sqrt(np.mean(residuals[self.layout.rows_of(*place)] ** 2)))
            errors[place] = noise / length if length > tiny else float("inf")
        return errors

    def _limited(self, place: Place, delay: float) -> float:
        times = self.problem.experiments[place[0]].times
        longest = _LONGEST * float(times[-1] - times[0])
        return float(np.clip(delay, -longest, longest))

    def _slopes(self, delays: Mapping[Place, float]) -> F64:
        """Return the derivatives of the residuals with respect to the delays, shape (m, delays)."""
        half = {q: 0.5 * self.step(q) for q in delays}
        ends = [
            whitened_residuals(
                with_delays(self.problem, {q: d + side * half[q] for q, d in delays.items()}),
                self.outputs,
                self.p,
            )
            for side in (1.0, -1.0)
        ]
        slopes = np.zeros((self.layout.size, len(delays)))
        for number, q in enumerate(delays):
            rows = self.layout.rows_of(*q)
            slopes[rows, number] = (ends[0][rows] - ends[1][rows]) / (2.0 * half[q])
        return slopes

    def _shifted(self, delays: Mapping[Place, float]) -> F64:
        """Return the Jacobian with the rows of delayed outputs shifted in time."""
        shifted = self.jacobian.copy()
        for q, delay in delays.items():
            rows = self.layout.rows_of(*q)
            times = self.layout.time[rows]
            scale = self.problem.experiments[q[0]].measurements[q[1]].whitening[:, np.newaxis]
            plain = self.jacobian[rows] / np.where(scale > 0.0, scale, 1.0)
            for j in np.flatnonzero(plain.any(axis=0)):
                shifted[rows, j] = scale[:, 0] * np.interp(times - delay, times, plain[:, j])
        return shifted


def _significant(model: _Model, fit: _Fit, place: Place) -> bool:
    delay, error = fit.delays[place], fit.errors[place]
    return abs(delay) > _SIGNIFICANT * error and abs(delay) > _VISIBLE * model.step(place)
