"""Compare time constants and bandwidth of the model's outputs with the sampling.

Simulated outputs are free of noise. If the model is nearly linear, the linear
difference equation

``y_k = sum a_i y_(k-i) + sum b_ij u_j,(k-i) + c``

fits them to the accuracy of the solver, and its poles are those of the model. The order
is raised until the fit no longer improves; if the fit stays poor, no statement is made.
Fast modes are identified from a simulation on a finer grid, slow ones on a coarser
grid, since a pole near 1 is poorly determined (Ljung, System Identification, sections
4.2 and 13.7).

Higher orders fit a nonlinear model ever better, but their poles are not modes of it.
Therefore the deviation from superposition measures the nonlinearity of the outputs, and
the order is not raised below that error. Such a model is linearised: the response to a
small step of the inputs in the middle of a record in which they stay at their mean.
Poles that are not confirmed on a grid of half as many samples are artefacts of solver
noise, or not modes.

Only continuous inputs are interpolated, halved and stepped. A discrete input is
unchanged, or held at its most frequent value.
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
    """Outputs, shape (instants, outputs), on a grid with `factor` steps per sample.

    `experiment` has the fine instants and inputs; `discrete` names the inputs that are not
    continuous.
    """

    experiment: Experiment
    outputs: F64
    factor: int
    discrete: frozenset[str] = frozenset()

    @property
    def moving(self) -> dict[str, F64]:
        """The continuous inputs that vary."""
        return _moving(self.experiment, self.discrete)


def _moving(e: Experiment, discrete: Collection[str]) -> dict[str, F64]:
    return {n: x for n, x in e.inputs.items() if n not in discrete and np.ptp(x) > 0.0}


def most_simulations(experiment: Experiment, discrete: Collection[str] = ()) -> int:
    """Return the maximum number of fine simulations for the dynamics of an experiment.

    Superposition needs two and the small response three; without varying continuous inputs,
    the first simulation is sufficient.
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

    Inputs are interpolated linearly, those in `held` are held, and those in `discrete` are
    not continuous. It is ``None`` if the samples are irregular or few, `finest` is 0, or
    the simulation fails.
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
    outputs = _outputs(evaluator, refined, inputs)
    return None if outputs is None else Fine(refined, outputs, factor, frozenset(discrete))


def with_bandwidth(check: ExperimentCheck, fine: Fine) -> ExperimentCheck:
    """Return the experiment's check with the bandwidth added; needs no simulation."""
    return replace(check, bandwidth=_bandwidth(fine.experiment.times, fine.outputs))


def with_dynamics(evaluator: Evaluator, check: ExperimentCheck, fine: Fine) -> ExperimentCheck:
    """Return the experiment's check with the time constants added.

    It needs the simulations counted by :func:`most_simulations`, except the one given.
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
    """Return the smallest and the largest observable time constant, s; NaN without any.

    `missed` is the deviation from superposition relative to the response.
    """
    times, inputs = fine.experiment.times, fine.experiment.inputs

    def shown(every: int) -> F64:
        thinned = {n: x[::every] for n, x in inputs.items()}
        return time_constants(times[::every], fine.outputs[::every], thinned, missed)

    def confirmed(every: int) -> F64:
        constants, again = shown(every), shown(2 * every)
        if not again.size:
            return again
        apart = np.abs(np.log(constants[:, np.newaxis] / again)).min(axis=1)
        stable: F64 = constants[apart < _CONFIRMED]
        return stable

    fast = confirmed(1)
    every = max(times.size // _COARSE, 1)
    slow = confirmed(every) if every > 1 else fast
    known = np.concatenate([fast, slow])
    if not known.size:
        return math.nan, math.nan
    return float(known.min()), float((slow if slow.size else known).max())


def _superposition_misses(evaluator: Evaluator, fine: Fine) -> float:
    """Return the nonlinearity of the outputs in continuous inputs; 0 if none varies.

    It is the maximum over the outputs of ``y(u) - 2 y(u/2) + y(0)`` over ``y(u) - y(0)``,
    where ``u`` is counted from its first value. It is infinite if a simulation fails.
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
    """Return the second difference over the response, maximised over the outputs."""
    missed = np.sqrt(np.mean((whole - 2.0 * half + none) ** 2, axis=0))
    spread = np.std(whole - none, axis=0)
    moves = spread > 1e-9 * np.abs(whole).max(axis=0, initial=0.0)
    return float((missed[moves] / spread[moves]).max(initial=0.0))


def _small_response(evaluator: Evaluator, fine: Fine) -> tuple[Fine, float] | None:
    """Return the response to a small step about the mean inputs, and its nonlinearity."""
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
    window = slice(max(middle - 2, 0), None)
    one = {next(iter(moving)): after[window].astype(np.float64)}  # they step together
    small = replace(e, times=e.times[window], inputs=one, measurements=e.measurements)
    return Fine(small, (once - none)[window], fine.factor), _bend(twice, once, none)


def _most_common(x: F64) -> float:
    values, counts = np.unique(x, return_counts=True)
    return float(values[np.argmax(counts)])


def _outputs(evaluator: Evaluator, e: Experiment, inputs: Mapping[str, F64]) -> F64 | None:
    """Simulate the initial point with other inputs; ``None`` if that fails.

    An FMU that rejects the inputs only loses the statements based on them.
    """
    point = evaluator.problem.initial[np.newaxis]
    changed = replace(e, inputs=inputs)
    try:
        outputs = evaluator.simulate_outputs(changed, e.output_variables, point)[0]
    except FmuError:
        return None
    return outputs if bool(np.isfinite(outputs).all()) else None


def _step_response(evaluator: Evaluator, fine: Fine) -> Fine | None:
    """Simulate a step of all varying inputs, since slow inputs do not reveal fast dynamics."""
    e, moving = fine.experiment, fine.moving
    if not moving:
        return None
    after = np.arange(e.times.size) > e.times.size // _BEFORE_STEP
    inputs = {
        n: x[0] + np.where(after, 0.5 * np.ptp(x) if n in moving else 0.0, 0.0)
        for n, x in e.inputs.items()
    }
    outputs = _outputs(evaluator, e, inputs)
    return (
        None
        if outputs is None
        else Fine(replace(e, inputs=inputs), outputs, fine.factor, fine.discrete)
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
    """Return findings if the sampling is too coarse or the record too short for the model."""
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
    """Return the outputs with fast components that are aliased by the sampling."""
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
    """Return a finding if inputs vary too slowly to excite the model's dynamics."""
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


def time_constants(times: F64, outputs: F64, inputs: Mapping[str, F64], missed: float = 0.0) -> F64:
    """Return the time constants ``1/|s|`` of the modes in the outputs, s, ascending.

    `times` are equidistant, shape (n,), `outputs` have shape (n, outputs) and each of
    `inputs` shape (n,). An equation is accepted if its error does not exceed the nonlinear
    fraction `missed`. The result is empty if no linear difference equation of low order
    fits.
    """
    columns = list(inputs.values())
    driving = np.column_stack(columns) if columns else np.empty((times.size, 0))
    constants: list[float] = []
    step = float(times[1] - times[0])
    for y in outputs.T:
        scale = float(np.std(y))
        if scale > 1e-12 * float(np.max(np.abs(y), initial=0.0)):
            constants += _modes(y / scale, driving, step, missed)
    return np.array(sorted(constants))


def _modes(y: F64, driving: F64, step: float, missed: float) -> list[float]:
    """Return the time constants of one output's difference equation, if one fits."""
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

    `past` are the coefficients a, shape (order,), `driving` are b by lag, shape (order + 1,
    inputs), and `constant` is c. `error` is the root mean square one-step prediction error.
    """

    past: F64
    driving: F64
    constant: float
    error: float

    def free_run_error(self, y: F64, inputs: F64) -> float:
        """Return the free-run simulation error relative to the spread of the output."""
        order = self.past.size
        force = np.full(y.size, self.constant)
        for lag in range(order + 1):
            force[order:] += inputs[order - lag : y.size - lag] @ self.driving[lag]
        free = _run(self.past, y[:order], force[order:])
        with np.errstate(all="ignore"):
            error = float(np.sqrt(np.mean((free - y[order:]) ** 2)))
        return error / float(np.std(y)) if math.isfinite(error) else math.inf

    def time_constants(self, step: float, count: int) -> list[float]:
        """Return ``1/|s|`` of the significant poles."""
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
    """Return the continuation of `first` under y_i = sum_k past_k y_{i-k} + force_i.

    For these orders plain Python is sufficient; importing a filter library takes longer.
    """
    coefficients, before = np.zeros(4), np.zeros(4)
    coefficients[: past.size], before[: past.size] = past, first[::-1]
    a, b, c, d = map(float, coefficients)
    w, x, y, z = map(float, before)
    values: list[float] = []
    for value in force.tolist():
        w, x, y, z = value + a * w + b * x + c * y + d * z, w, x, y
        values.append(w)
    return np.array(values)


def _fit(y: F64, inputs: F64, order: int) -> _Equation:
    count = y.size
    target = y[order:]
    past = [y[order - k : count - k] for k in range(1, order + 1)]
    lagged_inputs = [inputs[order - k : count - k] for k in range(order + 1)]
    regressors = np.column_stack([*past, *lagged_inputs, np.ones(target.size)])
    solution, *_ = np.linalg.lstsq(regressors, target, rcond=1e-12)
    error = float(np.sqrt(np.mean((target - regressors @ solution) ** 2)))
    driving = np.asarray(solution[order:-1], dtype=np.float64).reshape(order + 1, inputs.shape[1])
    return _Equation(
        np.asarray(solution[:order], dtype=np.float64), driving, float(solution[-1]), error
    )
