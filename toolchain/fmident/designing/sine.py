"""Optimal sine for identifying an oscillator: frequency and amplitude.

The record ``u = A sin(omega t)`` is simulated from the start values at a grid of
frequencies, each with the largest amplitude within the limits; the grid is refined
around the best one. Without limits on outputs a lightly damped oscillator is best
excited near its natural frequency (M. Oueslati and others, "On algebraic approach for
MSD parametric estimation", IMAACA 2011, eq. 13).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NoReturn

import numpy as np
from scipy import optimize

from fmident.arrays import F64
from fmident.designing.information import USELESS, Information, criterion_value, refuse_not_positive
from fmident.errors import Code, EstimationError, ProblemError, did_you_mean
from fmident.evaluation import Evaluator

SineCriterion = Literal["determinant", "condition", "variance"]

_ROUNDS = 3
_AROUND = 9
"""Frequencies per round between the two neighbours of the best."""
_INSIDE = 1e-3
"""Relative distance kept from limits of outputs, which are looked at in the samples only."""


@dataclass(frozen=True)
class SineSettings:
    """Settings of a sine design.

    `amplitude` is the maximum, in the unit of `input`, and `omega` the lowest and highest
    angular frequency, rad/s; the record has a `duration`, s, and a `rate` of samples per
    second. The criterion is the determinant of the information matrix, the condition number
    of the sensitivities, or the variance of one `parameter`. `natural` is the reference
    angular frequency of the table, rad/s, and `limits` are maximum absolute values of
    output variables. Raises `ProblemError` for a number out of range.
    """

    input: str
    amplitude: float
    omega: tuple[float, float]
    duration: float
    rate: float = 1000.0
    criterion: SineCriterion = "determinant"
    parameter: str | None = None
    natural: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = {key: getattr(self, key) for key in ("amplitude", "duration", "rate")}
        if self.natural is not None:
            named["natural"] = self.natural
        refuse_not_positive(named | dict(self.limits))
        low, high = self.omega
        if not 0.0 < low < high:
            raise ProblemError(f"'omega' must be [lowest, highest], positive, not {[low, high]}")
        if high >= 0.2 * np.pi * self.rate:
            raise ProblemError(
                f"{high:g} rad/s is too fast for {self.rate:g} samples per second",
                hint="a lower highest 'omega', or a higher rate",
            )
        if (self.criterion == "variance") != (self.parameter is not None):
            raise ProblemError(
                "'parameter' and the criterion \"variance\" belong together",
                hint='criterion = "variance" and parameter = "NAME", or neither',
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
            hint=did_you_mean(settings.parameter, names, kind="parameter"),
            code=Code.UNKNOWN_NAME,
        )
    if settings.criterion == "condition" and len(names) == 1:
        raise ProblemError(
            "the condition number of one parameter is always 1", hint='criterion = "determinant"'
        )
    task = _Task(Information(evaluator, sigmas), settings)
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


class _Task:
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
        """Raise an error that explains why no frequency is useful."""
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
