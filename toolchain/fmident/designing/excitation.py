"""Motions that minimise the parameter uncertainty.

The information matrix of the planned measurement, ``F = J^T J`` with the whitened
sensitivities ``J`` at the initial parameters, predicts the covariance ``F^-1``. Either
its determinant is maximised (D-optimal: the smallest volume of the confidence
ellipsoid), or the condition number of the columns of ``J``, scaled to unit length, is
minimised.

Motions are finite Fourier series, which can be differentiated exactly and averaged over
periods, and have no content above their highest harmonic, so that a low-pass filter can
be chosen without loss (Swevers, Ganseman, Tukel, De Schutter and Van Brussel, "Optimal
robot excitation and identification", IEEE Transactions on Robotics and Automation 13,
1997).

A sine that identifies an oscillator, ``u = A sin(omega t)``, is simulated from the start
values at a grid of frequencies, each with the largest amplitude within the limits; the
grid is refined around the best one. Without limits on outputs a lightly damped oscillator
is best excited near its natural frequency (M. Oueslati and others, "On algebraic approach
for MSD parametric estimation", IMAACA 2011, eq. 13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, NoReturn

import numpy as np
from scipy import optimize, special

from fmident.arrays import F64
from fmident.data.experiment import Experiment
from fmident.errors import EstimationError, ProblemError, unknown_name
from fmident.evaluation import Evaluator, differentiated_outputs
from fmident.options import POSITIVE, OptionError, Options, Range
from fmident.statistics.identifiability import describe, determined_combinations
from fmident.statistics.rank import analyse_rank

Positive = Annotated[float, Range(above=0.0, below=np.inf)]
Count = Annotated[int, Range(least=1)]

_FINE = 4
"""Instants at which limits are checked, per instant of the sensitivities."""


SineCriterion = Literal["determinant", "condition", "variance"]

_ROUNDS = 3
_AROUND = 9
"""Frequencies per round between the two neighbours of the best."""
_INSIDE = 1e-3
"""Relative distance kept from limits of outputs, which are checked in the samples only."""


Criterion = Literal["determinant", "condition"]

USELESS = 1e6
"""Criterion of a motion for which parameters cannot be told apart, or the FMU fails."""

_STEP = 1e-3


@dataclass(frozen=True)
class DesignSettings(Options):
    """Settings of a design.

    The motion has a `period`, s, and a number of `harmonics`; `rate` is that of the samples
    of the measurement and of the result, 1/s. The best of `starts` local searches from
    random motions is used, each with at most `iterations`. Raises `ProblemError` for
    harmonics that are too fast.
    """

    period: Positive
    harmonics: Count = 5
    rate: Positive = 1000.0
    criterion: Criterion = "determinant"
    starts: Count = 4
    iterations: Count = 40
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.harmonics / self.period >= 0.1 * self.rate:
            raise ProblemError(
                f"the highest harmonic, {self.harmonics / self.period:g} Hz, is too fast for"
                f" {self.rate:g} samples per second",
                hint="fewer harmonics, a longer period, or a higher rate",
            )

    @property
    def coarse(self) -> F64:
        """Instants of one period at which sensitivities are evaluated, s."""
        count = max(60, 16 * self.harmonics)
        return np.arange(count, dtype=np.float64) * (self.period / count)

    @property
    def fine(self) -> F64:
        """Instants of one period at which limits are checked, s."""
        count = _FINE * self.coarse.size
        return np.arange(count, dtype=np.float64) * (self.period / count)

    @property
    def times(self) -> F64:
        """Instants of the result, one period including its end, s."""
        return np.arange(round(self.period * self.rate) + 1, dtype=np.float64) / self.rate


@dataclass(frozen=True)
class Design:
    """A motion and the accuracy expected from it.

    `times` is one period, s, and `inputs` has the values by variable, shape (n,); there is
    one of `motions` per axis. `standard_errors` are predicted for the free parameters and
    one period, shape (parameters,), and `condition` is that of the sensitivities with
    columns scaled to unit length; `first` has both for the best random start motion.
    `peaks` are the maximum absolute position, velocity and acceleration per axis, shape
    (axes, 3).
    """

    times: F64
    inputs: Mapping[str, F64]
    motions: tuple[FourierMotion, ...]
    standard_errors: F64
    condition: float
    first: tuple[F64, float]
    peaks: F64


def design_excitation(
    evaluator: Evaluator,
    axes: Sequence[Axis],
    sigmas: Mapping[str, float],
    settings: DesignSettings,
) -> Design:
    """Return the best motion found.

    The evaluator's problem has the free parameters at their expected values; its
    experiments are ignored. `sigmas` are the standard deviations of the noise of the output
    variables to be measured. Raises `ProblemError`, with the combinations that are
    determined, if no such motion distinguishes the parameters, and `EstimationError` if the
    FMU fails for all random motions.
    """
    task = _Task(Information(evaluator, sigmas), tuple(axes), settings)
    generator = np.random.default_rng(settings.seed)
    starts = [task.random(generator) for _ in range(8 * settings.starts)]
    during = evaluator.activities.during
    before = evaluator.simulations
    values = np.array([task.objective(starts[0])])
    each = evaluator.simulations - before
    with during("random motions", simulations=each * (len(starts) - 1)):
        values = np.append(values, [task.objective(x) for x in starts[1:]])
    if not bool(np.any(values < USELESS)):
        task.explain(starts)
    order = np.argsort(values)[: settings.starts]
    best = starts[int(order[0])]
    first = task.promise(best)
    optimum, lowest = best, float(values[order[0]])
    for number, k in enumerate(order, 1):
        if values[k] >= USELESS:
            continue
        most = settings.iterations * (best.size + 1) * each
        with during(f"search {number} of {order.size}", simulations=most):
            solution = optimize.minimize(
                task.objective,
                starts[int(k)],
                method="L-BFGS-B",
                options={"maxiter": settings.iterations, "eps": 1e-5, "ftol": 1e-6},
            )
        if solution.fun < lowest:
            optimum, lowest = np.asarray(solution.x), float(solution.fun)
    return task.design(optimum, first)


class _Task:
    """The search space: start, amplitude and Fourier coefficients of each axis."""

    def __init__(
        self, information: Information, axes: tuple[Axis, ...], settings: DesignSettings
    ) -> None:
        self.information = information
        self.axes = axes
        self.settings = settings

    @property
    def width(self) -> int:
        """Number of unknowns per axis."""
        return 2 + 2 * self.settings.harmonics

    def random(self, generator: np.random.Generator) -> F64:
        """Return a random point of the search space, nearly as large as the limits allow."""
        rows = generator.normal(size=(len(self.axes), self.width))
        rows[:, 1] = 3.0
        return rows.ravel()

    def motions(self, x: F64) -> tuple[FourierMotion, ...]:
        """Return the motions of a point, scaled to the limits."""
        series = []
        harmonic = np.arange(1, self.settings.harmonics + 1)
        for axis, row in zip(self.axes, x.reshape(len(self.axes), self.width), strict=True):
            low, high = axis.position_limits
            start = float(row[0])
            if np.isfinite(low) and np.isfinite(high):
                start = low + (high - low) * special.expit(start)
            elif np.isfinite(low) or np.isfinite(high):
                start = low + abs(start) if np.isfinite(low) else high - abs(start)
            # Coefficients of the speed: none of the harmonics dominates by itself.
            sine, cosine = (part / harmonic for part in np.split(row[2:], 2))
            shape = FourierMotion(self.settings.period, start, axis.turns, sine, cosine)
            factor = largest_inside(axis, shape, self.settings.fine) * special.expit(float(row[1]))
            series.append(replace(shape, sine=factor * sine, cosine=factor * cosine))
        return tuple(series)

    def inputs(self, motions: Sequence[FourierMotion], times: F64) -> dict[str, F64]:
        return {
            name: motion(times, order)
            for axis, motion in zip(self.axes, motions, strict=True)
            for order, name in enumerate(axis.inputs)
            if name is not None
        }

    def sensitivities(self, motions: Sequence[FourierMotion], times: F64) -> F64:
        """Return the whitened sensitivities to scaled parameters, shape (m, parameters)."""
        return self.information.sensitivities(times, self.inputs(motions, times))

    def objective(self, x: F64) -> float:
        """Return the objective; large if the motion is useless."""
        columns = self.sensitivities(self.motions(x), self.settings.coarse)
        return criterion_value(columns, self.settings.criterion)

    def promise(self, x: F64) -> tuple[F64, float]:
        """Return predicted standard errors for one period, and the condition number."""
        columns = self.sensitivities(self.motions(x), self.settings.times[:-1])
        return self.information.standard_errors(columns)

    def design(self, x: F64, first: tuple[F64, float]) -> Design:
        motions = self.motions(x)
        times = self.settings.times
        errors, condition = self.promise(x)
        peaks = np.array([[np.abs(m(times, k)).max() for k in range(3)] for m in motions])
        return Design(times, self.inputs(motions, times), motions, errors, condition, first, peaks)

    def explain(self, points: Sequence[F64]) -> NoReturn:
        for x in points:
            columns = self.sensitivities(self.motions(x), self.settings.coarse)
            if bool(np.isfinite(columns).all()):
                self.information.refuse(columns, "motion of these axes")
        failure = self.information.evaluator.last_failure
        raise EstimationError(
            f"the FMU cannot follow any of the random motions: {failure}",
            hint="narrow 'position_limits' to what the mechanism can reach",
        )


@dataclass(frozen=True)
class Axis(Options):
    """One axis of a machine: the inputs that define its motion, and its limits.

    `position`, `speed` and `acceleration` are input variables of the FMU; ``None`` for one
    that the model lacks. `turns` are revolutions (2 pi) per period. The limits are in the
    FMU's units, infinite if there is none; those of speed and acceleration apply to the
    absolute value. Raises `ProblemError` without an input or any limit, or if limits
    contradict the turns.
    """

    position: str | None = None
    speed: str | None = None
    acceleration: str | None = None
    turns: float = 0.0
    position_limits: tuple[float, float] = (-np.inf, np.inf)
    speed_limit: Annotated[float, POSITIVE] = np.inf
    acceleration_limit: Annotated[float, POSITIVE] = np.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.position is None and self.speed is None and self.acceleration is None:
            raise ProblemError("an axis needs an input: 'position', 'speed' or 'acceleration'")
        if not self.position_limits[0] < self.position_limits[1]:
            raise ProblemError(
                f"the position limits {list(self.position_limits)} must be [lowest, highest]"
            )
        bounded = bool(np.isfinite(self.position_limits).any())
        if self.turns and bounded:
            raise ProblemError(
                "an axis that turns on has no position limits",
                hint="leave out 'turns' or 'position_limits'",
            )
        limits = (*self.position_limits, self.speed_limit, self.acceleration_limit)
        if not np.isfinite(limits).any():
            raise ProblemError(
                "an axis without any limit has no best motion",
                hint="give 'position_limits', 'speed_limit' or 'acceleration_limit'",
            )

    @property
    def inputs(self) -> tuple[str | None, str | None, str | None]:
        """Position, velocity, acceleration."""
        return self.position, self.speed, self.acceleration


@dataclass(frozen=True)
class FourierMotion:
    """``q0 + 2 pi turns t/T + sum_k a_k sin(k w t) + b_k cos(k w t)`` with ``w = 2 pi/T``.

    `period` is T, s, `start` is q0, and `sine` and `cosine` are a_k and b_k, k = 1, 2, ...,
    shape (harmonics,).
    """

    period: float
    start: float
    turns: float
    sine: F64
    cosine: F64

    def __call__(self, times: F64, order: int = 0) -> F64:
        """Return the position, or its derivative of the given order, shape (n,)."""
        base = 2.0 * np.pi / self.period
        drift = base * self.turns
        steady = {0: self.start + drift * times, 1: drift + 0.0 * times}.get(order, 0.0 * times)
        w = base * np.arange(1, self.sine.size + 1)
        angle = np.outer(times, w) + order * np.pi / 2.0
        values: F64 = steady + np.sin(angle) @ (w**order * self.sine)
        values += np.cos(angle) @ (w**order * self.cosine)
        return values


def largest_inside(axis: Axis, shape: FourierMotion, times: F64) -> float:
    """Return the largest factor on the series of `shape` that satisfies an axis's limits.

    `shape` provides start, turns and series; the limits are checked at `times` of one
    period, shape (n,). Raises `ProblemError` if the turns alone are too fast.
    """
    drift = 2.0 * np.pi * shape.turns / shape.period
    if abs(drift) >= axis.speed_limit:
        raise ProblemError(
            f"{shape.turns:g} turns in {shape.period:g} s are {abs(drift):.4g} rad/s, which is no"
            f" less than the speed limit {axis.speed_limit:g}",
            hint="fewer turns, or a longer period",
        )
    series = replace(shape, start=0.0, turns=0.0)
    low, high = axis.position_limits
    factors = [
        _factor(series(times), low - shape.start, high - shape.start),
        _factor(series(times, 1), -axis.speed_limit - drift, axis.speed_limit - drift),
        _factor(series(times, 2), -axis.acceleration_limit, axis.acceleration_limit),
    ]
    return min(factors)


def _factor(values: F64, low: float, high: float) -> float:
    """Return the largest factor with ``low <= factor * values <= high``."""
    up, down = float(values.max(initial=0.0)), float(values.min(initial=0.0))
    tiny = 1e-300
    return min(high / max(up, tiny), low / min(down, -tiny))


@dataclass(frozen=True)
class Sine(Options):
    """Table ``[sine]`` of a design file.

    `amplitude` is the maximum, in the unit of `input`, and `omega` the lowest and highest
    angular frequency, rad/s. `natural` is the reference angular frequency of the table, rad/s,
    and `limits` are maximum absolute values of output variables.
    """

    input: str
    amplitude: Positive
    omega: tuple[Positive, Positive]
    natural: Positive | None = field(default=None, kw_only=True)
    limits: Mapping[str, Positive] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.omega[0] < self.omega[1]:
            raise OptionError(f"omega must be [lowest, highest], not {list(self.omega)}", "omega")


@dataclass(frozen=True)
class SineRecord(Options):
    """Table ``[design]`` of a sine.

    The record has a `duration`, s, and a `rate` of samples per second. The criterion is the
    determinant of the information matrix, the condition number of the sensitivities, or the
    variance of one `parameter`.
    """

    duration: Positive
    rate: Positive = 1000.0
    criterion: SineCriterion = "determinant"
    parameter: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.criterion == "variance") != (self.parameter is not None):
            raise ProblemError(
                "'parameter' and the criterion \"variance\" belong together",
                hint='criterion = "variance" and parameter = "NAME", or neither',
            )


@dataclass(frozen=True)
class SineSettings(SineRecord, Sine):
    """Settings of a sine design; raises `ProblemError` for frequencies beyond the rate."""

    def __post_init__(self) -> None:
        Sine.__post_init__(self)
        SineRecord.__post_init__(self)
        if self.omega[1] >= 0.2 * np.pi * self.rate:
            raise ProblemError(
                f"{self.omega[1]:g} rad/s is too fast for {self.rate:g} samples per second",
                hint="a lower highest 'omega', or a higher rate",
            )

    @property
    def times(self) -> F64:
        """Instants of the record, s."""
        return np.arange(round(self.duration * self.rate) + 1, dtype=np.float64) / self.rate

    @property
    def grid(self) -> F64:
        """Initial frequencies, rad/s, spaced by half the resolution of a record of this length."""
        low, high = self.omega
        return np.linspace(low, high, max(12, int(np.ceil((high - low) * self.duration / np.pi))))


@dataclass(frozen=True)
class SineCandidate:
    """One frequency, rad/s, and the accuracy expected from it.

    `amplitude` is the maximum within the limits, and the smallest `value` of the criterion
    is best. `standard_errors` are predicted for the free parameters, shape (parameters,);
    `condition` is that of the sensitivities with columns scaled to unit length.
    """

    omega: float
    amplitude: float
    value: float
    standard_errors: F64
    condition: float


@dataclass(frozen=True)
class SineDesign:
    """The best sine.

    `times` is the record, s, shape (n,), and `inputs` its values by variable. `candidates`
    are all usable frequencies in ascending order, including `best`.
    """

    times: F64
    inputs: Mapping[str, F64]
    best: SineCandidate
    candidates: tuple[SineCandidate, ...]


def design_sine(
    evaluator: Evaluator, sigmas: Mapping[str, float], settings: SineSettings
) -> SineDesign:
    """Return the best sine found.

    The arguments are as for :func:`~fmident.designing.excitation.design_excitation`. Raises
    `ProblemError`, with the combinations that are determined, if no sine distinguishes the
    parameters, or if the parameter of the criterion is not free; and `EstimationError` if
    no frequency satisfies the limits, or the FMU fails at all of them.
    """
    names = [q.name for q in evaluator.problem.free]
    if settings.parameter is not None and settings.parameter not in names:
        raise ProblemError(
            f"'{settings.parameter}' is not a free parameter",
            **unknown_name(settings.parameter, names, "parameter"),
        )
    if settings.criterion == "condition" and len(names) == 1:
        raise ProblemError(
            "the condition number of one parameter is always 1", hint='criterion = "determinant"'
        )
    task = _SineTask(Information(evaluator, sigmas), settings)
    grid = settings.grid
    before, lowest = evaluator.simulations, float(grid[0])
    looked_at = {lowest: task.candidate(lowest)}
    count = (grid.size + _ROUNDS * _AROUND - 1) * (evaluator.simulations - before)
    with evaluator.activities.during("frequencies", simulations=count):
        for _ in range(1 + _ROUNDS):
            for omega in map(float, grid):
                if omega not in looked_at:
                    looked_at[omega] = task.candidate(omega)
            usable = {o: c for o, c in looked_at.items() if c is not None}
            if not usable:
                task.explain()
            best = min(usable.values(), key=lambda c: c.value)
            k = int(np.argmin(np.abs(grid - best.omega)))
            grid = np.linspace(grid[max(k - 1, 0)], grid[min(k + 1, grid.size - 1)], _AROUND)
    inputs = task.inputs(best.omega, best.amplitude)
    return SineDesign(task.times, inputs, best, tuple(usable[w] for w in sorted(usable)))


class _SineTask:
    def __init__(self, information: Information, settings: SineSettings) -> None:
        self.information = information
        self.settings = settings
        self.times = settings.times
        self.names = [q.name for q in information.evaluator.problem.free]
        self.last: F64 | None = None
        """Finite sensitivities that were of no use."""

    def inputs(self, omega: float, amplitude: float) -> dict[str, F64]:
        return {self.settings.input: amplitude * np.sin(omega * self.times)}

    def excess(self, omega: float, amplitude: float) -> float:
        """Return the relative excess of an output over its limit; NaN if the FMU fails."""
        evaluator = self.information.evaluator
        experiment = self.information.experiment(self.times, self.inputs(omega, amplitude))
        limits = self.settings.limits
        initial = evaluator.problem.initial[np.newaxis]
        outputs = evaluator.simulate_outputs(experiment, tuple(limits), initial)[0]
        return float(np.max(np.abs(outputs).max(axis=0) / np.array(list(limits.values())))) - 1.0

    def amplitude(self, omega: float) -> float | None:
        """Return the maximum amplitude within the limits, assuming one crossing, or ``None``."""
        largest = self.settings.amplitude
        if not self.settings.limits:
            return largest
        top = self.excess(omega, largest)
        if top <= 0.0:
            return largest
        if not (np.isfinite(top) and self.excess(omega, 0.0) < 0.0):
            return None
        crossing = optimize.brentq(
            lambda a: self.excess(omega, a), 0.0, largest, xtol=0.1 * _INSIDE * largest / (1 + top)
        )
        return (1.0 - _INSIDE) * float(crossing)

    def candidate(self, omega: float) -> SineCandidate | None:
        """Return the candidate of a frequency; ``None`` if it is useless."""
        amplitude = self.amplitude(omega)
        if amplitude is None:
            return None
        columns = self.information.sensitivities(self.times, self.inputs(omega, amplitude))
        criterion = self.settings.criterion
        value = criterion_value(columns, "condition" if criterion == "condition" else "determinant")
        if value >= USELESS:
            self.last = columns if bool(np.isfinite(columns).all()) else self.last
            return None
        errors, condition = self.information.standard_errors(columns)
        if self.settings.parameter is not None:
            value = 2.0 * float(np.log(errors[self.names.index(self.settings.parameter)]))
        return SineCandidate(omega, amplitude, value, errors, condition)

    def explain(self) -> NoReturn:
        if self.last is not None:
            self.information.refuse(self.last, "sine of this input")
        failure = self.information.evaluator.last_failure
        if failure is not None:
            raise EstimationError(
                f"the FMU fails at all frequencies: {failure}",
                hint="a lower 'amplitude', or other frequencies in 'omega'",
            )
        raise EstimationError(
            "the outputs are beyond their limits even without input",
            hint="larger values in [sine.limits], or other start values",
        )


class Information:
    """Sensitivities of planned measurements, and derived statistics.

    The evaluator's problem has the free parameters at their expected values; `sigmas` are
    the standard deviations of the noise of the output variables to be measured.
    """

    def __init__(self, evaluator: Evaluator, sigmas: Mapping[str, float]) -> None:
        self.evaluator = evaluator
        self.outputs = tuple(sigmas)
        self.sigmas = np.array(list(sigmas.values()))
        problem = evaluator.problem
        self.scale: F64 = np.array([q.scale for q in problem.free])
        step = _STEP * np.maximum(np.abs(problem.initial), self.scale)
        self.high = np.clip(problem.initial + step, problem.lower, problem.upper)
        self.low = np.clip(problem.initial - step, problem.lower, problem.upper)

    def experiment(self, times: F64, inputs: Mapping[str, F64]) -> Experiment:
        """Return the planned measurement."""
        return Experiment("design", times, inputs, (), {}, "design")

    def sensitivities(self, times: F64, inputs: Mapping[str, F64]) -> F64:
        """Return the whitened sensitivities to scaled parameters, shape (m, parameters)."""
        initial = self.evaluator.problem.initial
        count = initial.size
        experiment = self.experiment(times, inputs)
        exact = differentiated_outputs(self.evaluator, experiment, self.outputs, initial)
        if exact is not None:
            slopes = exact[1] / self.sigmas[:, np.newaxis]
            exactly: F64 = slopes.reshape(-1, count) * self.scale
            return exactly
        points = np.tile(initial, (2 * count, 1))
        points[np.arange(count), np.arange(count)] = self.high
        points[count + np.arange(count), np.arange(count)] = self.low
        outputs = self.evaluator.simulate_outputs(experiment, self.outputs, points) / self.sigmas
        change = (outputs[:count] - outputs[count:]).reshape(count, -1)
        columns: F64 = (change * (self.scale / (self.high - self.low))[:, np.newaxis]).T
        return columns

    def standard_errors(self, columns: F64) -> tuple[F64, float]:
        """Return predicted standard errors, and the condition number of the unit columns."""
        lengths = np.linalg.norm(columns, axis=0)
        triangle = np.asarray(np.linalg.qr(columns / lengths, mode="r"))
        inverse = np.linalg.inv(triangle) / lengths[:, np.newaxis]
        errors: F64 = np.linalg.norm(inverse, axis=1) * self.scale
        return errors, float(np.linalg.cond(triangle))

    def refuse(self, columns: F64, motion: str) -> NoReturn:
        """Raise `ProblemError` naming the parameters that no motion distinguishes.

        `columns` are finite sensitivities of a motion that was tried, and `motion` describes
        it, such as ``"sine of this input"``.
        """
        names = [q.name for q in self.evaluator.problem.free]
        errors = 1e-8 * np.linalg.norm(columns, axis=0)
        analysis = analyse_rank(columns / self.scale, errors / self.scale)
        verdict = describe(analysis, names, determined_combinations(analysis, names))
        raise ProblemError(
            f"no {motion} tells all parameters apart. {verdict}",
            hint="hold parameters with 'fixed = true' until all are identifiable",
        )


def criterion_value(columns: F64, criterion: Criterion) -> float:
    """Return the objective; :data:`USELESS` if the parameters are indistinguishable."""
    if not bool(np.isfinite(columns).all()):
        return USELESS
    lengths = np.linalg.norm(columns, axis=0)
    if not bool(np.all(lengths > 0.0)):
        return USELESS
    singular = np.linalg.svd(columns / lengths, compute_uv=False)
    if singular[-1] <= 1e-9 * singular[0]:
        return USELESS
    if criterion == "condition":
        return float(np.log(singular[0] / singular[-1]))
    # Of F per parameter, so that the value does not grow with their number.
    volume = float(np.sum(np.log(singular)) + np.sum(np.log(lengths)))
    return -2.0 * volume / int(lengths.size)
