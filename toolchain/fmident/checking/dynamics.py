"""Time constants and bandwidth of the model, seen in simulated outputs, against the samples.

Simulated outputs have no noise, so a linear difference equation

``y_k = sum a_i y_(k-i) + sum b_ij u_j,(k-i) + c``

fits them to the accuracy of the solver where the model is nearly linear, and its poles are the
model's. The order rises until the fit no longer improves; where it stays bad, no statement is made.
Fast modes are read from a simulation on a finer grid, slow ones from a coarser one, since a pole
near 1 is poorly determined (Ljung, System Identification, sections 4.2 and 13.7).

Higher orders fit a nonlinear model ever better, but their poles are not modes of it. The deviation
from superposition says how far the outputs are from linear, and no order is raised below that. Such
a model is linearised: the response to a small step of the inputs in the middle of a record in which
they rest at their mean. Poles that a grid of half as many samples does not confirm come from the
noise of the solver, or from none of the modes.

Only continuous inputs are interpolated, halved and stepped. A discrete input keeps its course, or
rests where it is most of the time.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fmident.arrays import F64
from fmident.checking.report import ExperimentCheck
from fmident.checking.subject import Subject
from fmident.data.experiment import Experiment
from fmident.errors import Diagnostic, FmuError
from fmident.evaluation import Evaluator

FINER = 8
_MOST_SAMPLES = 200_000
_COARSE = 400
_ALIASED = 1e-2
_TOO_COARSE = 0.1
_BAND = 0.99
_SLOW_INPUT = 0.1
"""At this part of the corner frequency a mass changes the response of a spring by 1 %."""

_BEFORE_STEP = 50
"""The step of the inputs comes after this part of the record."""

_SMALL = 0.05
"""Size of a small step over the range of an input."""

_CONFIRMED = 0.1
"""Relative difference of a time constant on two grids."""


LINEAR = 1e-3
"""What superposition may miss, over the response, in a model that counts as linear."""

_ORDERS = (1, 2, 3, 4)
_GOOD = 1e-3
"""Part of an output's spread up to which it counts as a function of the inputs."""

_IMPROVES = 0.3
_EXACT = 1e-6
"""An error this small, over that of the change, leaves nothing to improve."""

_FREE_RUN = 0.03
_GONE, _UNSTABLE = 1e-2, 1.05
_INTEGRATOR = 1e-2
"""Poles that change this little over the whole record are integrators."""


@dataclass(frozen=True)
class Fine:
    """Outputs on a grid that is finer than the samples.

    Parameters
    ----------
    experiment
        With the fine instants and inputs.
    outputs
        Shape (instants, outputs).
    factor
        Fine steps per sample.
    discrete
        Names of the inputs that are not continuous.
    """

    experiment: Experiment
    outputs: F64
    factor: int
    discrete: frozenset[str] = frozenset()

    @property
    def moving(self) -> dict[str, F64]:
        """The continuous inputs that move."""
        return _moving(self.experiment, self.discrete)


def _moving(e: Experiment, discrete: Collection[str]) -> dict[str, F64]:
    return {n: x for n, x in e.inputs.items() if n not in discrete and np.ptp(x) > 0.0}


def most_simulations(experiment: Experiment, discrete: Collection[str] = ()) -> int:
    """Return how many fine simulations the dynamics of an experiment take at most.

    Two for superposition, three for the small response; without continuous inputs that move the
    first one is all.
    """
    return 6 if _moving(experiment, discrete) else 1


def simulate_finely(
    evaluator: Evaluator,
    experiment: Experiment,
    finest: int,
    held: Collection[str] = (),
    discrete: Collection[str] = (),
) -> Fine | None:
    """Simulate the initial point on a grid up to `finest` times finer.

    Inputs run straight between the samples, those in `held` keep the value of the last one;
    those in `discrete` are not continuous.

    Returns
    -------
    Fine or None
        ``None`` if the samples are irregular or few, `finest` is 0, or the simulation fails.
    """
    times = experiment.times
    steps = np.diff(times)
    if np.ptp(steps) > 0.01 * steps.mean() or times.size < 10 or finest < 1:
        return None
    factor = int(np.clip(_MOST_SAMPLES // times.size, 1, finest))
    fine = np.linspace(times[0], times[-1], (times.size - 1) * factor + 1)
    last = np.arange(fine.size) // factor
    inputs = {
        name: x[last] if name in held else np.interp(fine, times, x)
        for name, x in experiment.inputs.items()
    }
    refined = replace(experiment, times=fine, inputs=inputs)
    found = _outputs(evaluator, refined, inputs)
    return None if found is None else Fine(refined, found, factor, frozenset(discrete))


def with_bandwidth(check: ExperimentCheck, fine: Fine) -> ExperimentCheck:
    """Return the experiment's check with the bandwidth filled in; costs no simulation."""
    return replace(check, bandwidth=_bandwidth(fine.experiment.times, fine.outputs))


def with_dynamics(evaluator: Evaluator, check: ExperimentCheck, fine: Fine) -> ExperimentCheck:
    """Return the experiment's check with the time constants filled in.

    Costs what :func:`most_simulations` counts, but for the one that is there.
    """
    missed = _superposition_misses(evaluator, fine)
    fastest, slowest = math.nan, math.nan
    if missed <= LINEAR:
        fastest, slowest = _extremes(fine, missed)
        if math.isnan(fastest):
            response = _step_response(evaluator, fine)
            if response is not None:
                fastest, slowest = _extremes(response, missed)
    else:
        small = _small_response(evaluator, fine)
        if small is not None:
            fastest, slowest = _extremes(*small)
    return replace(check, fastest=fastest, slowest=slowest)


def _extremes(fine: Fine, missed: float) -> tuple[float, float]:
    """Return the fastest and the slowest time constant that show, s; NaN without any.

    Parameters
    ----------
    fine
        What was simulated.
    missed
        What superposition misses, over the response.
    """
    times, inputs = fine.experiment.times, fine.experiment.inputs

    def shown(every: int) -> F64:
        thinned = {n: x[::every] for n, x in inputs.items()}
        return time_constants(times[::every], fine.outputs[::every], thinned, missed)

    def confirmed(every: int) -> F64:
        found, again = shown(every), shown(2 * every)
        if not again.size:
            return again
        apart = np.abs(np.log(found[:, np.newaxis] / again)).min(axis=1)
        kept: F64 = found[apart < _CONFIRMED]
        return kept

    fast = confirmed(1)
    every = max(times.size // _COARSE, 1)
    slow = confirmed(every) if every > 1 else fast
    known = np.concatenate([fast, slow])
    if not known.size:
        return math.nan, math.nan
    return float(known.min()), float((slow if slow.size else known).max())


def _superposition_misses(evaluator: Evaluator, fine: Fine) -> float:
    """Return how far the outputs are from linear in continuous inputs; 0 where none moves.

    That is ``y(u) - 2 y(u/2) + y(0)`` over ``y(u) - y(0)``, with ``u`` from its first value on:
    the greatest over the outputs. Infinite where a simulation fails.
    """
    e, moving = fine.experiment, fine.moving
    if not moving:
        return 0.0
    half, none = (
        _outputs(
            evaluator,
            e,
            {**e.inputs, **{n: x[0] + part * (x - x[0]) for n, x in moving.items()}},
        )
        for part in (0.5, 0.0)
    )
    if half is None or none is None:
        return math.inf
    return _bend(fine.outputs, half, none)


def _bend(whole: F64, half: F64, none: F64) -> float:
    """Return the second difference over the response, the greatest over the outputs."""
    missed = np.sqrt(np.mean((whole - 2.0 * half + none) ** 2, axis=0))
    spread = np.std(whole - none, axis=0)
    moves = spread > 1e-9 * np.abs(whole).max(axis=0, initial=0.0)
    return float((missed[moves] / spread[moves]).max(initial=0.0))


def _small_response(evaluator: Evaluator, fine: Fine) -> tuple[Fine, float] | None:
    """Return the response to a small step about the mean of the inputs, and how linear it is."""
    e, moving = fine.experiment, fine.moving
    middle = e.times.size // 2
    after = np.arange(e.times.size) >= middle
    rest = {n: np.full(x.size, _most_common(x)) for n, x in e.inputs.items() if n not in moving}
    none, once, twice = (
        _outputs(
            evaluator,
            e,
            rest
            | {
                n: x.mean() + np.where(after, k * _SMALL * np.ptp(x), 0.0)
                for n, x in moving.items()
            },
        )
        for k in (0, 1, 2)
    )
    if none is None or once is None or twice is None:
        return None
    kept = slice(max(middle - 2, 0), None)
    one = {next(iter(moving)): after[kept].astype(np.float64)}  # they step together
    small = replace(e, times=e.times[kept], inputs=one, measurements=e.measurements)
    return Fine(small, (once - none)[kept], fine.factor), _bend(twice, once, none)


def _most_common(x: F64) -> float:
    values, counts = np.unique(x, return_counts=True)
    return float(values[np.argmax(counts)])


def _outputs(evaluator: Evaluator, e: Experiment, inputs: Mapping[str, F64]) -> F64 | None:
    """Simulate the initial point with other inputs; ``None`` if that fails.

    An FMU that refuses the inputs costs what they would have shown, not the report.
    """
    point = evaluator.problem.initial[np.newaxis]
    changed = replace(e, inputs=inputs)
    try:
        found = evaluator.simulate_outputs(changed, e.output_variables, point)[0]
    except FmuError:
        return None
    return found if bool(np.isfinite(found).all()) else None


def _step_response(evaluator: Evaluator, fine: Fine) -> Fine | None:
    """Simulate a step of all inputs that move: slow inputs do not show what the model could do."""
    e, moving = fine.experiment, fine.moving
    if not moving:
        return None
    after = np.arange(e.times.size) > e.times.size // _BEFORE_STEP
    inputs = {
        n: x[0] + np.where(after, 0.5 * np.ptp(x) if n in moving else 0.0, 0.0)
        for n, x in e.inputs.items()
    }
    found = _outputs(evaluator, e, inputs)
    return (
        None
        if found is None
        else Fine(replace(e, inputs=inputs), found, fine.factor, fine.discrete)
    )


def _bandwidth(times: F64, signals: F64) -> float:
    """Return the frequency below which nearly all power lies, Hz; 0 without any power."""
    frequencies, share = _power(times, signals)
    if not share.any():
        return 0.0
    last = min(int(np.searchsorted(np.cumsum(share), _BAND)), frequencies.size - 1)
    return float(frequencies[last])


def sampling_findings(
    subject: Subject, i: int, check: ExperimentCheck, fine: Fine
) -> list[Diagnostic]:
    """Return whether the samples are too sparse or the record is too short for the model."""
    e = subject.problem.experiments[i]
    keys = ("experiments", i)
    findings = []
    if fine.factor > 1:
        findings += _aliasing(subject, i, e, fine)
    if math.isfinite(check.slowest) and check.slowest > check.duration:
        findings.append(
            subject.finding(
                "warning",
                "record-too-short",
                f"experiment '{e.name}' lasts {check.duration:.3g} s, while the slowest time"
                f" constant of the model is about {check.slowest:.3g} s: what settles that slowly"
                " is hardly in the data",
                "measure for about three time constants, or start from rest",
                *keys,
            )
        )
    if not any(d.rule == "aliasing" for d in findings) and check.fastest < check.step:
        findings.append(
            subject.finding(
                "note",
                "sampling-slow",
                f"the fastest time constant of the model is about {check.fastest:.2g} s, but"
                f" experiment '{e.name}' is sampled every {check.step:.3g} s: parameters of that"
                " mode are hardly seen",
                "sample at least five times per time constant if they matter",
                *keys,
            )
        )
    findings += _slow_inputs(subject, i, e, check)
    return findings


def _aliasing(subject: Subject, i: int, e: Experiment, fine: Fine) -> list[Diagnostic]:
    """Return the outputs with fast parts that the samples fold to lower frequencies."""
    coarse = e.times
    step = float(coarse[1] - coarse[0])
    nyquist = 0.5 / step
    findings = []
    for k, name in enumerate(e.output_variables):
        y = fine.outputs[:, k]
        spread = float(np.std(y))
        if not spread > 1e-9 * float(np.max(np.abs(y), initial=0.0)):
            continue
        frequencies, share = _power(fine.experiment.times, y[:, np.newaxis])
        above = float(share[frequencies > nyquist].sum())
        missed = y - np.interp(fine.experiment.times, coarse, y[:: fine.factor])
        error = float(np.sqrt(np.mean(missed**2))) / spread
        if above > _ALIASED and error > _TOO_COARSE:
            findings.append(
                subject.finding(
                    "warning",
                    "aliasing",
                    f"'{name}' of experiment '{e.name}' moves faster than it is sampled:"
                    f" {100.0 * above:.2g} % of its power lies above half the sampling rate"
                    f" ({nyquist:.3g} Hz)",
                    "sample faster; with fewer samples the fit may lock on a false frequency",
                    "experiments",
                    i,
                )
            )
    return findings


def _slow_inputs(
    subject: Subject, i: int, e: Experiment, check: ExperimentCheck
) -> list[Diagnostic]:
    """Return that inputs move too slowly to excite the model's dynamics."""
    moving = [x for x in e.inputs.values() if np.ptp(x) > 0.0]
    if not moving or not math.isfinite(check.slowest):
        return []
    highest = _bandwidth(e.times, np.column_stack(moving))
    corner = 1.0 / (2.0 * math.pi * check.slowest)
    if highest >= _SLOW_INPUT * corner or check.bandwidth >= 0.5 * corner:
        return []
    return [
        subject.finding(
            "warning",
            "input-too-slow",
            f"the inputs of experiment '{e.name}' move below {highest:.2g} Hz, the model's"
            f" dynamics begin at {corner:.2g} Hz: only what holds at rest is seen",
            "move the inputs faster; 'fmident design' finds a motion",
            "experiments",
            i,
            "inputs",
        )
    ]


def _power(times: F64, outputs: F64) -> tuple[F64, F64]:
    """Return frequencies and shares of the power, over the outputs that move."""
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


def time_constants(times: F64, outputs: F64, inputs: Mapping[str, F64], missed: float = 0.0) -> F64:
    """Return the time constants ``1/|s|`` of the modes in the outputs, s, ascending.

    Parameters
    ----------
    times
        Equidistant, shape (n,).
    outputs
        Shape (n, outputs).
    inputs
        By name, shape (n,).
    missed
        Part of the outputs that is not linear in the inputs: an equation that misses no more
        than that is good enough.

    Returns
    -------
    numpy.ndarray
        Empty where no linear difference equation of low order fits.
    """
    columns = list(inputs.values())
    driving = np.column_stack(columns) if columns else np.empty((times.size, 0))
    found: list[float] = []
    step = float(times[1] - times[0])
    for y in outputs.T:
        scale = float(np.std(y))
        if scale > 1e-12 * float(np.max(np.abs(y), initial=0.0)):
            found += _modes(y / scale, driving, step, missed)
    return np.array(sorted(found))


def _modes(y: F64, driving: F64, step: float, missed: float) -> list[float]:
    """Return the time constants of the difference equation of one output, if one fits."""
    change = float(np.sqrt(np.mean(np.diff(y) ** 2)))
    if change == 0.0 or _fit(y, driving, 0).error <= _GOOD:
        return []  # the inputs alone explain it: no dynamics
    best: _Equation | None = None
    for order in _ORDERS:
        if y.size < 10 * order * (1 + driving.shape[1]):
            break
        equation = _fit(y, driving, order)
        if best is not None and equation.error > _IMPROVES * best.error:
            break
        best = equation
        if equation.error <= _EXACT * change:
            break
        if missed > LINEAR and equation.free_run_error(y, driving) <= min(missed, _FREE_RUN):
            break
    # Any smooth curve is predicted well one step ahead; only the right equation runs freely.
    if best is None or best.free_run_error(y, driving) > _FREE_RUN:
        return []
    return best.time_constants(step, y.size)


@dataclass(frozen=True)
class _Equation:
    """``y_k = sum a_i y_(k-i) + sum b_ij u_j,(k-i) + c``.

    Parameters
    ----------
    past
        Coefficients a, shape (order,).
    driving
        Coefficients b by lag, shape (order + 1, inputs).
    constant
        Coefficient c.
    error
        Root mean square of what it misses one step ahead.
    """

    past: F64
    driving: F64
    constant: float
    error: float

    def free_run_error(self, y: F64, inputs: F64) -> float:
        """Return the error of the whole curve, run from its first values, over its spread."""
        order = self.past.size
        force = np.full(y.size, self.constant)
        for lag in range(order + 1):
            force[order:] += inputs[order - lag : y.size - lag] @ self.driving[lag]
        free = _run(self.past, y[:order], force[order:])
        with np.errstate(all="ignore"):
            error = float(np.sqrt(np.mean((free - y[order:]) ** 2)))
        return error / float(np.std(y)) if math.isfinite(error) else math.inf

    def time_constants(self, step: float, count: int) -> list[float]:
        """Return ``1/|s|`` of the poles that mean something."""
        constants = []
        for pole in np.roots(np.concatenate([[1.0], -self.past])):
            size = abs(pole)
            if size < _GONE or size > _UNSTABLE or (pole.real < 0.0 and abs(pole.imag) < 1e-9):
                continue
            rate = abs(np.log(pole + 0j))  # per step
            if rate * count > _INTEGRATOR:
                constants.append(step / rate)
        return constants


def _run(past: F64, first: F64, force: F64) -> F64:
    """Return what follows `first` under y_i = sum_k past_k y_{i-k} + force_i.

    For the orders there are, and in plain Python: a library with a filter takes longer to import.
    """
    coefficients, before = np.zeros(4), np.zeros(4)
    coefficients[: past.size], before[: past.size] = past, first[::-1]
    a, b, c, d = map(float, coefficients)
    w, x, y, z = map(float, before)
    found: list[float] = []
    for value in force.tolist():
        w, x, y, z = value + a * w + b * x + c * y + d * z, w, x, y
        found.append(w)
    return np.array(found)


def _fit(y: F64, inputs: F64, order: int) -> _Equation:
    count = y.size
    target = y[order:]
    past = [y[order - k : count - k] for k in range(1, order + 1)]
    moved = [inputs[order - k : count - k] for k in range(order + 1)]
    regressors = np.column_stack([*past, *moved, np.ones(target.size)])
    solution, *_ = np.linalg.lstsq(regressors, target, rcond=1e-12)
    error = float(np.sqrt(np.mean((target - regressors @ solution) ** 2)))
    driving = np.asarray(solution[order:-1], dtype=np.float64).reshape(order + 1, inputs.shape[1])
    return _Equation(
        np.asarray(solution[:order], dtype=np.float64), driving, float(solution[-1]), error
    )
