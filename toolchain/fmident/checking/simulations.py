"""Checks by simulations: failures within the bounds, sampling, noise, and the effort.

An FMU must work wherever an estimator may go.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.checking.result import BoundsCheck, EffortCheck
from fmident.checking.subject import SimulatedSubject
from fmident.data.experiment import Experiment
from fmident.errors import FmuError
from fmident.estimation.checks import points_inside
from fmident.evaluation import EventMatching, SimulationFailure
from fmident.evaluation.solver_error import interfaces_disagree
from fmident.findings import Finding
from fmident.words import counted

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_INSIDE, _CORNERS = 8, 4
_MANY = 0.5
_NOISY = 0.1
"""Noise of the simulation, in units of sigma, above which a tighter tolerance is advised."""

_FINER, _MOST_SAMPLES = 8, 200_000
"""Steps of a finer grid per sample, and samples of it, at most."""

_ALIASED, _TOO_COARSE = 1e-2, 0.1
"""The sampling is too coarse above this part of the power beyond half the sampling rate and this
part of the spread that lines between samples miss."""

_BAND = 0.99

_VERIFIED = 5
"""Simulations per parameter that verified derivatives take where the first two steps disagree."""


@dataclass(frozen=True)
class FineGrid:
    """Outputs at the initial point, shape (instants, outputs), `factor` steps per sample."""

    times: F64
    outputs: F64
    factor: int


def fine_grids(subject: SimulatedSubject) -> tuple[FineGrid | None, ...]:
    """Simulate each experiment on a finer grid, where its samples are regular and many."""
    finest = 0 if subject.quick else subject.affordable(_FINER, 1)
    if not finest:
        return (None,) * len(subject.problem.experiments)
    return tuple(_simulated_finely(subject, e, finest) for e in subject.problem.experiments)


def _simulated_finely(subject: SimulatedSubject, e: Experiment, finest: int) -> FineGrid | None:
    """Simulate an experiment; inputs that the FMU holds, such as Booleans, are held."""
    steps = np.diff(e.times)
    if np.ptp(steps) > 0.01 * steps.mean() or e.times.size < 10:
        return None
    factor = int(np.clip(_MOST_SAMPLES // e.times.size, 1, finest))
    times = np.linspace(e.times[0], e.times[-1], (e.times.size - 1) * factor + 1)
    last = np.arange(times.size) // factor
    held = subject.held_inputs(e)
    inputs = {
        name: x[last] if name in held else np.interp(times, e.times, x)
        for name, x in e.inputs.items()
    }
    point = subject.problem.initial[np.newaxis]
    fine = replace(e, times=times, inputs=inputs)
    try:
        outputs = subject.evaluator.simulate_outputs(fine, e.output_variables, point)[0]
    except FmuError:
        return None  # an FMU that rejects the inputs only loses the findings on its sampling
    return FineGrid(times, outputs, factor) if bool(np.isfinite(outputs).all()) else None


def bandwidths(subject: SimulatedSubject) -> list[float]:
    """Return the bandwidth of the simulated outputs of each experiment, Hz; NaN if unknown."""
    return [math.nan if f is None else _bandwidth(f) for f in subject.once(fine_grids)]


def _bandwidth(fine: FineGrid) -> float:
    """Return the frequency below which nearly all power lies, Hz; 0 without any power."""
    frequencies, share = _power(fine.times, fine.outputs)
    if not share.any():
        return 0.0
    last = min(int(np.searchsorted(np.cumsum(share), _BAND)), frequencies.size - 1)
    return float(frequencies[last])


def _power(times: F64, outputs: F64) -> tuple[F64, F64]:
    """Return frequencies and relative power, averaged over the varying outputs."""
    straight = np.linspace(0.0, 1.0, times.size)[:, np.newaxis]
    window = np.hanning(times.size)[:, np.newaxis]
    trend = outputs[0] + straight * (outputs[-1] - outputs[0])
    spectrum = np.abs(np.fft.rfft((outputs - trend) * window, axis=0)) ** 2
    spectrum[0] = 0.0
    sums = spectrum.sum(axis=0)
    shares = spectrum[:, sums > 0.0] / sums[sums > 0.0]
    total = shares.mean(axis=1) if shares.size else np.zeros(spectrum.shape[0])
    step = float(times[-1] - times[0]) / (times.size - 1)
    frequencies = np.asarray(np.fft.rfftfreq(times.size, step), dtype=np.float64)
    return frequencies, np.asarray(total, dtype=np.float64)


def sampling_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the outputs with fast components that are aliased by the sampling."""
    grids = subject.once(fine_grids)
    for i, (e, fine) in enumerate(zip(subject.problem.experiments, grids, strict=True)):
        if fine is None or fine.factor == 1:
            continue
        nyquist = 0.5 / float(e.times[1] - e.times[0])
        for name, y in zip(e.output_variables, fine.outputs.T, strict=True):
            spread = float(np.std(y))
            if not spread > 1e-9 * float(np.max(np.abs(y), initial=0.0)):
                continue
            frequencies, share = _power(fine.times, y[:, np.newaxis])
            above = float(share[frequencies > nyquist].sum())
            missed = y - np.interp(fine.times, e.times, y[:: fine.factor])
            error = float(np.sqrt(np.mean(missed**2))) / spread
            if above > _ALIASED and error > _TOO_COARSE:
                yield subject.warning(
                    "aliasing",
                    ("experiments", i),
                    f"'{name}' of experiment '{e.name}' moves faster than it is sampled:"
                    f" {100.0 * above:.2g} % of its power lies above half the sampling rate"
                    f" ({nyquist:.3g} Hz)",
                    "sample faster; with fewer samples the fit may lock on a false frequency",
                )


def bounds_check(subject: SimulatedSubject) -> BoundsCheck | None:
    """Simulate at points inside the bounds and at some of their corners; count the failures."""
    if subject.quick:
        return None
    problem, evaluator = subject.problem, subject.evaluator
    points = points_inside(evaluator, subject.affordable(_INSIDE, 1))
    bounded = np.isfinite(problem.lower) & np.isfinite(problem.upper)
    if bounded.any():
        signs = np.random.default_rng(0).random((_CORNERS - 2, bounded.size)) < 0.5
        signs = np.vstack([np.zeros_like(bounded), np.ones_like(bounded), signs])
        corners = np.where(signs, problem.upper, problem.lower)
        corners = np.where(bounded, corners, problem.initial)
        points = np.unique(np.vstack([points, corners]), axis=0)
    works = np.isfinite(evaluator.residuals_many(points)).all(axis=1)
    reasons: Counter[str] = Counter()
    for p in points[~works]:
        failure = next((x for x in evaluator.simulate(p) if isinstance(x, SimulationFailure)), None)
        message = "the residuals are not finite" if failure is None else failure.message
        reasons[message.splitlines()[0].rstrip(".")] += 1
    failed = int(np.count_nonzero(~works))
    return BoundsCheck(len(points), failed, tuple(r for r, _ in reasons.most_common(5)))


def bounds_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield a finding if simulations fail within the bounds."""
    check = subject.once(bounds_check)
    if check is not None and check.failed:
        more = f" (and {len(check.reasons) - 1} other reasons)" if len(check.reasons) > 1 else ""
        yield subject.finding(
            "warning" if check.failed >= _MANY * check.points else "note",
            "fails-in-bounds",
            ("parameters",),
            f"{check.failed} of {check.points} simulations inside the bounds fail:"
            f" {check.reasons[0]}{more}",
            "narrow the bounds to where the model makes sense; a failed simulation costs a step,"
            " not the run",
        )


def simulation_noise(subject: SimulatedSubject) -> float:
    """Return the noise of the simulation, root mean square per whitened residual, or NaN."""
    sizes = subject.evaluator.step_sizes
    return math.nan if sizes is None else sizes.noise


def noise_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield a finding if simulation noise is significant beside that of the data."""
    noise, tolerance = simulation_noise(subject), subject.problem.evaluation.tolerance
    if subject.problem.sigma_known and noise > _NOISY:
        now = "the FMU's own" if tolerance is None else f"{tolerance:g}"
        yield subject.warning(
            "simulation-noise",
            ("evaluation", "tolerance"),
            f"the noise of the simulation is {noise:.2g} times sigma: it, not the data, limits"
            " the estimate",
            f"tighten evaluation.tolerance (now {now})"
            + (f" to about {tolerance * _NOISY / noise:.0e}" if tolerance else ""),
        )


def engine_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield what the executor reports: incomplete resets, crashes, timeouts."""
    done = subject.evaluator.executor.report()
    ended = {"crashed": done.crashes, "took too long": done.timeouts}
    lost = [
        f"{counted(n, 'simulation')} {what} inside the bounds" for what, n in ended.items() if n
    ]
    yield from (Finding("engine", "warning", text.rstrip(".")) for text in (*done.doubts, *lost))
    yield from (Finding("engine", "note", text.rstrip(".")) for text in done.notes)


def interface_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the outputs that differ between Co-Simulation and Model Exchange of the FMU."""
    for text in interfaces_disagree(subject.problem):
        yield subject.warning(
            "interfaces-disagree",
            ("evaluation", "interface"),
            text,
            "compare both with fmident simulate --interface, and set evaluation.interface to"
            " the right one",
        )


def effort(subject: SimulatedSubject) -> EffortCheck:
    """Return the expected effort of the estimation, extrapolated from that of the check."""
    evaluator, estimator, problem = subject.evaluator, subject.estimator, subject.problem
    each, experiments = subject.watch.seconds_each, len(problem.experiments)
    variable_count = sum(problem.free[j].variable is not None for j in evaluator.differenced)
    # Exact sensitivities come with the simulation at the point itself.
    columns = variable_count * (2 if problem.evaluation.difference == "central" else 1)
    simulations = most = None
    events = False
    if estimator is not None:
        names = {problem.free[j].name for j in evaluator.differenced}
        differenced = _as_differenced(problem, names)
        simulations = estimator.expected_simulations(subject.options, differenced)
        most = estimator.most_simulations(subject.options, differenced)
        if simulations is not None and estimator.descends:
            # Derivatives behind the intervals are verified: one more of each, and one tolerance.
            simulations += experiments * (variable_count + 1)
            events = EventMatching(problem).may_move(evaluator, problem.initial)
        if most is not None:  # a ladder of steps where the first two differ
            most += experiments * _VERIFIED * (variable_count + 1)
    return EffortCheck(
        seconds_per_simulation=experiments * each,
        seconds_per_jacobian=experiments * columns * each,
        simulations=simulations,
        seconds=None if simulations is None else simulations * each,
        workers=subject.evaluator.executor.simultaneous,
        most=None if events else most,
        events=events,
        descends=estimator is not None and estimator.descends,
    )


def _as_differenced(problem: Problem, names: set[str]) -> Problem:
    """Return a problem that treats parameters with sensitivities as measurement parameters.

    The derivatives with respect to either need no extra simulation.
    """
    parameters = tuple(
        replace(q, variable=None) if q.searched and q.name not in names else q
        for q in problem.parameters
    )
    return replace(problem, parameters=parameters)
