"""Detect time shifts between measured and simulated outputs.

Wrong parameters shift signals, too. Therefore a Gauss-Newton step of the parameters is
compared with one of the parameters and a delay of each output, both simulated: the data
contain a delay if it reduces the cost of an output far more than the parameters can.
"""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64
from fmident.checking.sensitivities import Sensitivities
from fmident.checking.subject import Subject
from fmident.data.experiment import Measurement
from fmident.errors import Diagnostic
from fmident.estimation.diagnostics.delays import Place, with_delays
from fmident.evaluation import Evaluator
from fmident.problem.residuals import predict, residual_layout, whitened_residuals

_BETTER = 0.25
_EXPLAINED = 0.1
"""Residual with the delay, in parts of the spread of the measurement. Far from the true parameters
one step explains little, and a delay may stand for anything."""

_VISIBLE = 0.2
"""Smallest shift, in samples."""

_LONGEST = 0.1
"""Longest shift, in parts of the record."""


def shift_findings(
    subject: Subject, evaluator: Evaluator, known: Sensitivities
) -> list[Diagnostic]:
    """Return the outputs that a delay would explain; needs two simulations.

    `known` has the sensitivities at the initial point.
    """
    problem = subject.problem
    p = problem.initial
    outputs = [o for o in evaluator.simulate(p) if isinstance(o, np.ndarray)]
    slopes = _slopes(subject, outputs)
    if not slopes or known.residuals.size <= p.size + len(slopes):
        return []
    both = np.column_stack([known.jacobian, *slopes.values()])
    alone = _step(known.jacobian, known.residuals)
    together = _step(both, known.residuals)
    delays = dict(zip(slopes, together[p.size :], strict=True))
    before = known.residuals
    without = evaluator.probe(_inside(subject, p + alone))[0]
    responses = evaluator.simulate(_inside(subject, p + together[: p.size])[0])
    arrays = [o for o in responses if isinstance(o, np.ndarray)]
    if len(arrays) < len(problem.experiments):
        return []
    delayed = with_delays(problem, delays)
    after = whitened_residuals(delayed, arrays, _inside(subject, p + together[: p.size])[0])
    layout = residual_layout(problem)
    findings = []
    for (i, k), delay in delays.items():
        rows = layout.rows_of(i, k)
        e = problem.experiments[i]
        step = float(np.median(np.diff(e.times)))
        best = float(np.nanmin([np.sum(before[rows] ** 2), np.sum(without[rows] ** 2)]))
        longest = _LONGEST * float(e.times[-1] - e.times[0])
        left = float(np.sum(after[rows] ** 2))
        m = e.measurements[k]
        spread = float(np.nanstd(m.compared)) * float(np.sqrt(np.sum(m.whitening**2)))
        visible = _VISIBLE * step < abs(delay) < longest
        if visible and left < _BETTER * best and left < (_EXPLAINED * spread) ** 2:
            findings.append(_finding(subject, i, m, float(delay), step))
    return findings


def _finding(subject: Subject, i: int, m: Measurement, delay: float, step: float) -> Diagnostic:
    name = subject.problem.experiments[i].name
    late = "later" if delay > 0.0 else "earlier"
    return subject.finding(
        "warning",
        "time-shift",
        f"the measured '{m.name}' of experiment '{name}' comes about {abs(delay):.2g} s"
        f" ({abs(delay) / step:.2g} samples) {late} than the simulated one, which no parameter"
        " explains as well",
        'estimate it: delay = "shift" at this output, and [parameters.shift] with initial ='
        f" {delay:.2g}; or correct the time stamps",
        "experiments",
        i,
        "outputs",
        m.name,
    )


def _slopes(subject: Subject, outputs: list[F64]) -> dict[Place, F64]:
    """Return the derivative of all residuals with respect to the delay of each output."""
    problem = subject.problem
    layout = residual_layout(problem)
    slopes = {}
    for i, e in enumerate(problem.experiments):
        for k, m in enumerate(e.measurements):
            rows = layout.rows_of(i, k)
            if isinstance(m.delay, str) or rows.size < 3:
                continue
            predicted = predict(problem, outputs, problem.initial)[i][k]
            compared = predicted[np.isfinite(predicted)]
            if compared.size != rows.size:
                compared = np.interp(layout.time[rows], e.times[: predicted.size], predicted)
            column = np.zeros(layout.size)
            column[rows] = m.whitening * np.gradient(compared, layout.time[rows])
            if column.any():
                slopes[i, k] = column
    return slopes


def _step(jacobian: F64, residuals: F64) -> F64:
    """Return the Gauss-Newton step."""
    norms = np.linalg.norm(jacobian, axis=0)
    safe = np.where(norms > 0.0, norms, 1.0)
    solution, *_ = np.linalg.lstsq(jacobian / safe, -residuals, rcond=1e-8)
    return np.asarray(solution / safe, dtype=np.float64)


def _inside(subject: Subject, p: F64) -> F64:
    """Return the nearest point within the bounds, shape (1, n)."""
    nearest: F64 = np.clip(p, subject.problem.lower, subject.problem.upper)[np.newaxis]
    return nearest
