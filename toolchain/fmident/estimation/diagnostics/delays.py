"""Delays that the residuals of an estimate show but the problem does not have.

A delay between measured and simulated output leaves residuals that resemble the slope
of the output. Parameters compensate for a part of it. Parameters and the delays of
outputs with correlated residuals are therefore fitted together, with the outputs and
derivatives at the estimate, and the result is simulated once. A delay is reported if it
is significant and the remaining residuals are close to white.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.result import OutputFit, UnmodelledDelay
from fmident.findings import Finding, finding
from fmident.problem.residuals import ResidualLayout, residual_layout, whitened_residuals
from fmident.statistics import residual_statistics

if TYPE_CHECKING:
    from fmident.evaluation import Evaluator
    from fmident.problem.model import Problem

Place = tuple[int, int]
"""Numbers of an experiment and of an output in it."""

_ENOUGH = 10
"""Least number of samples of an output."""

_ROUNDS = 8
_SETTLED = 1e-3
"""Change of the delays, in samples, that ends the fit."""

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


def unmodelled_delays(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    held: npt.NDArray[np.bool_],
    jacobian: F64,
    coloured: Sequence[OutputFit],
) -> tuple[UnmodelledDelay, ...]:
    """Return the delays that explain correlated residuals, simulated if there may be one.

    `held` marks parameters that stay on a bound, `jacobian` is that of the whitened
    residuals, and `coloured` are the outputs whose neighbouring residuals are correlated.
    """
    layout = residual_layout(problem)
    names = {(f.experiment, f.name) for f in coloured}
    places = [
        (i, k)
        for i, e in enumerate(problem.experiments)
        for k, m in enumerate(e.measurements)
        if (e.name, m.name) in names
        and not isinstance(m.delay, str)
        and layout.rows_of(i, k).size >= _ENOUGH
    ]
    outputs = [o for o in evaluator.simulate(p) if isinstance(o, np.ndarray)]
    if not places or len(outputs) < len(problem.experiments) or jacobian.shape[0] != layout.size:
        return ()
    model = _Model(problem, layout, outputs, p, np.where(held, 0.0, jacobian))
    first = model.fit(places)
    if not any(_significant(model, first, place) for place in places):
        return ()
    point = np.clip(first.point, problem.lower, problem.upper)
    again = [o for o in evaluator.simulate(point) if isinstance(o, np.ndarray)]
    if len(again) < len(outputs):
        return ()
    second = replace(model, outputs=again, p=point).fit(places, first.delays)
    before = model.residuals({}, p)
    after = replace(model, outputs=again, p=point).residuals(second.delays, point)
    delays = []
    for i, k in places:
        rows = layout.rows_of(i, k)
        e = problem.experiments[i]
        delay, error = second.delays[i, k], second.errors[i, k]
        step = float(np.median(np.diff(e.times)))
        old, new = residual_statistics(before[rows]), residual_statistics(after[rows])
        error *= _inflation(new.autocorrelation)
        left = float(np.sum(after[rows] ** 2) / np.sum(before[rows] ** 2))
        whiter = new.white or abs(new.autocorrelation) < _WHITER * abs(old.autocorrelation)
        significant = abs(delay) > _SIGNIFICANT * error and abs(delay) > _VISIBLE * step
        if significant and left < 1.0 and (left < _MOST or whiter):
            name = e.measurements[k].name
            delays.append(UnmodelledDelay(e.name, name, delay, error, step, float(np.sqrt(left))))
    return tuple(delays)


def left_with_delays(problem: Problem, outputs: Sequence[F64], p: F64, jacobian: F64) -> F64:
    """Return the whitened residuals with fitted parameters and delays, shape (m,).

    To first order in the parameters, without a simulation. `outputs` were simulated at `p`;
    `jacobian` is that of the whitened residuals there.
    """
    layout = residual_layout(problem)
    model = _Model(problem, layout, list(outputs), p, jacobian)
    places = [
        (i, k)
        for i, e in enumerate(problem.experiments)
        for k, m in enumerate(e.measurements)
        if not isinstance(m.delay, str) and layout.rows_of(i, k).size >= _ENOUGH
    ]
    if not places:
        return model.residuals({}, p)
    fit = model.fit(places)
    return model.residuals(fit.delays, fit.point)


def delay_notes(found: Sequence[UnmodelledDelay]) -> list[Finding]:
    """Return notes on delays in the residuals, and how to estimate them."""
    if not found:
        return []
    listed = "; ".join(
        f"the measured '{d.output}' of '{d.experiment}' comes {abs(d.delay):.3g} +- {d.error:.1g} s"
        f" ({abs(d.delay) / d.step:.2g} samples) {'later' if d.delay > 0.0 else 'earlier'} than the"
        f" simulated one, and with that its residuals fall to {100.0 * d.left:.2g} %"
        for d in found[:3]
    )
    more = f"; and {len(found) - 3} more outputs" if len(found) > 3 else ""
    one = len(found) == 1
    where = f"at the output '{found[0].output}'" if one else "at each of these outputs"
    return [
        finding(
            "output-delayed",
            f"The residuals show a delay that the problem does not have: {listed}{more}",
            f'Estimate it: delay = "shift" {where}, and [parameters.shift] with initial ='
            f" {found[0].delay:.3g}; or correct the time stamps.",
        )
    ]


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
            step = _least_squares(columns, -residuals)
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
            own = column - others @ _least_squares(others, column)
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


def _inflation(correlation: float) -> float:
    """Return the factor on a standard error for noise with correlated neighbours (AR(1))."""
    rho = min(max(correlation, 0.0), 0.99)
    return float(np.sqrt((1.0 + rho) / (1.0 - rho)))


def _least_squares(columns: F64, values: F64) -> F64:
    """Return the least-squares solution, regardless of the scaling of the columns."""
    norms = np.linalg.norm(columns, axis=0)
    safe = np.where(norms > 0.0, norms, 1.0)
    solution, *_ = np.linalg.lstsq(columns / safe, values, rcond=1e-8)
    unscaled: F64 = solution / safe
    return unscaled
