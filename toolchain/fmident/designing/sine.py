"""The sine that shows the parameters of an oscillator best: its frequency and amplitude.

The record ``u = A sin(omega t)`` is simulated from the start values at each of a row of
frequencies, with the largest amplitude that the limits allow; the row is refined around the best.
Without limits on outputs a lightly damped oscillator is best driven near its own frequency
(M. Oueslati and others, "On algebraic approach for MSD parametric estimation", IMAACA 2011,
eq. 13).
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
    """What is designed.

    Parameters
    ----------
    input
        The FMU's input.
    amplitude
        Largest allowed, in the input's unit.
    omega
        Lowest and highest angular frequency, rad/s.
    duration
        Of the record, s.
    rate
        Samples per second.
    criterion
        What is optimised: determinant of the information matrix, condition number of the
        sensitivities, or the variance of one parameter.
    parameter
        The one of the criterion ``variance``.
    natural
        Angular frequency to which the table relates, rad/s.
    limits
        Output variable to the largest absolute value it may have.

    Raises
    ------
    fmident.errors.ProblemError
        A number out of its range.
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
        """First frequencies, rad/s; half as far apart as a record of this length can resolve."""
        low, high = self.omega
        return np.linspace(low, high, max(12, int(np.ceil((high - low) * self.duration / np.pi))))


@dataclass(frozen=True)
class SineCandidate:
    """One frequency and what it promises.

    Parameters
    ----------
    omega
        rad/s.
    amplitude
        Largest inside the limits.
    value
        The criterion; the smallest is best.
    standard_errors
        Predicted, of the free parameters, shape (parameters,).
    condition
        Condition number of the sensitivities, columns scaled to unit length.
    """

    omega: float
    amplitude: float
    value: float
    standard_errors: F64
    condition: float


@dataclass(frozen=True)
class SineDesign:
    """The best sine.

    Parameters
    ----------
    times
        The record, s, shape (n,).
    inputs
        Input variable to values, shape (n,).
    best
        What was chosen.
    candidates
        All usable frequencies, in ascending order; `best` is one of them.
    """

    times: F64
    inputs: Mapping[str, F64]
    best: SineCandidate
    candidates: tuple[SineCandidate, ...]


def design_sine(
    evaluator: Evaluator, sigmas: Mapping[str, float], settings: SineSettings
) -> SineDesign:
    """Return the best sine that was found.

    Parameters
    ----------
    evaluator
        Of a problem with the free parameters at their expected values; its experiments are
        not looked at.
    sigmas
        Output variables that will be measured, with the standard deviation of their noise.
    settings
        Input, limits, criterion.

    Raises
    ------
    fmident.errors.ProblemError
        No sine tells the parameters apart; with the combinations that it does. The parameter
        of the criterion is not free.
    fmident.errors.EstimationError
        No frequency keeps the limits, or the FMU fails at all of them.
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
            found = {o: c for o, c in looked_at.items() if c is not None}
            if not found:
                task.explain()
            best = min(found.values(), key=lambda c: c.value)
            k = int(np.argmin(np.abs(grid - best.omega)))
            grid = np.linspace(grid[max(k - 1, 0)], grid[min(k + 1, grid.size - 1)], _AROUND)
    inputs = task.inputs(best.omega, best.amplitude)
    return SineDesign(task.times, inputs, best, tuple(found[w] for w in sorted(found)))


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
        """Return how far an output is above its limit, relative; NaN where the FMU fails."""
        evaluator = self.information.evaluator
        experiment = self.information.experiment(self.times, self.inputs(omega, amplitude))
        limits = self.settings.limits
        initial = evaluator.problem.initial[np.newaxis]
        found = evaluator.simulate_outputs(experiment, tuple(limits), initial)[0]
        return float(np.max(np.abs(found).max(axis=0) / np.array(list(limits.values())))) - 1.0

    def amplitude(self, omega: float) -> float | None:
        """Return the largest inside the limits, taken to be crossed once; ``None`` for none."""
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
        """Return what a frequency promises; ``None`` where it is of no use."""
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
        """Say why no frequency is of use.

        Raises
        ------
        fmident.errors.ProblemError, fmident.errors.EstimationError
            Always.
        """
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
