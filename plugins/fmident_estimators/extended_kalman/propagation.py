"""One sampling interval of the FMU: what comes out, and how it answers to state and parameters.

Each interval is a simulation of its own that starts from the filter's state. That asks of
the FMU only that its states can be set at the start, as parameters; no saved FMU states.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement, NumberOrParameter
from fmident.evaluation import differentiated_outputs
from fmident.evaluation.contract import Evaluator
from fmident.problem import measurement_derivatives
from fmident.problem.model import Problem
from fmident.problem.residuals import measurement_values

_SMALLEST, _LARGEST = 1e-3, 0.1
"""Steps of the finite differences relative to the size of what is changed. Over one sampling
interval the outputs are nearly linear, so that steps may be large against the solver's noise."""


_GOES_ON, _AT_REST = 0.02, 1e-3
"""Part of the range of a variable by which a simulation from given states may differ, and what the
range is at least, as a part of the largest value."""


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """What the FMU says about the next instant.

    Parameters
    ----------
    states, outputs
        At the next instant, shapes (m,) and (o,); outputs with gain and offset.
    states_jacobian, outputs_jacobian
        With respect to present states and search-space parameters, shapes (m, m + n) and
        (o, m + n).
    """

    states: F64
    outputs: F64
    states_jacobian: F64
    outputs_jacobian: F64


class Propagation:
    """Simulates intervals of an experiment from any state.

    Parameters
    ----------
    problem, experiment, evaluator
        What is estimated.
    start_names, state_names
        Parameters that set the states, and the states' variables; m of each.
    floor
        Smallest size of each state for finite differences, shape (m,).
    """

    def __init__(
        self,
        problem: Problem,
        experiment: Experiment,
        evaluator: Evaluator,
        start_names: Sequence[str],
        state_names: Sequence[str],
        floor: F64,
    ) -> None:
        self._problem = problem
        self._experiment = experiment
        self._evaluator = evaluator
        self._space = evaluator.space
        self._start_names = tuple(start_names)
        self._m = len(self._start_names)
        wanted = (*state_names, *(m.variable for m in experiment.measurements))
        self._variables = tuple(dict.fromkeys(wanted))
        self._places = [self._variables.index(name) for name in wanted]
        self._sizes = floor.copy()
        self._least = np.zeros(len(self._variables))
        for m in experiment.measurements:
            noise = 0.0 if m.sigma is None else 10.0 * float(np.sqrt(np.mean(np.square(m.sigma))))
            self._least[self._variables.index(m.variable)] = noise
        for name, size in zip(state_names, floor, strict=True):
            self._least[self._variables.index(name)] = size

    def predict(
        self, times: F64, inputs: F64, states: F64, parameters: F64, spread: F64
    ) -> Prediction | None:
        """Simulate from the first to the last of `times`.

        Parameters
        ----------
        times
            One instant, for the outputs at the start itself, or several: the inputs between the
            first and the last count, outputs are those at the last.
        inputs
            At `times`, shape (len(times), inputs).
        states
            At the first instant, shape (m,).
        parameters
            In the search space, shape (n,).
        spread
            Their present standard deviations, shape (m + n,), for the steps.

        Returns
        -------
        Prediction or None
            ``None`` if the simulation fails.
        """
        exact = self._differentiated(times, inputs, states, parameters)
        if exact is not None:
            return exact
        np.maximum(self._sizes, np.abs(states), out=self._sizes)
        n = parameters.size
        sizes = np.concatenate([self._sizes, np.maximum(np.abs(parameters), 1e-3)])
        sizes[self._m :][self._space.log] = 1.0
        steps = np.clip(spread, _SMALLEST * sizes, _LARGEST * sizes)
        # Inside the bounds: a parameter near its upper one moves down.
        down = parameters + steps[self._m :] > self._space.upper
        steps[self._m :][down] *= -1.0
        points = np.vstack([parameters, parameters + np.diag(steps[self._m :])])
        found = self._simulate(times, inputs, states, points)
        if not np.isfinite(found[0]).all():
            return None
        columns = []
        for i in range(self._m):
            moved = states.copy()
            moved[i] += steps[i]
            columns.append(self._simulate(times, inputs, moved, parameters[np.newaxis])[0])
        columns += [found[1 + j] for j in range(n)]
        jacobian = np.empty((found.shape[1], self._m + n))
        for k, column in enumerate(columns):
            # Where only the changed simulation fails, nothing is learnt of this direction.
            change = (column - found[0]) / steps[k]
            jacobian[:, k] = change if np.isfinite(change).all() else 0.0
        return Prediction(
            found[0, : self._m], found[0, self._m :], jacobian[: self._m], jacobian[self._m :]
        )

    def forgotten(self, states: F64, parameters: F64) -> str:
        """Return what a simulation does not know that starts in the middle of the experiment.

        It has to go on as one that has come there from the start; one that lacks a state does not.

        Parameters
        ----------
        states
            At the start of the experiment, shape (m,).
        parameters
            In the search space, shape (n,).

        Returns
        -------
        str
            The end of a sentence; empty where nothing is missing, or it cannot be simulated.
        """
        times = self._experiment.times
        middle = times.size // 2
        end = middle + max(1, times.size // 20)
        if middle < 1 or end >= times.size:
            return ""
        inputs = np.array([v[: end + 1] for v in self._experiment.inputs.values()]).T
        inputs = inputs.reshape(end + 1, -1)
        points = self._physical(parameters)[np.newaxis]
        whole = self._evaluator.simulate_outputs(
            self._interval(times[: end + 1], inputs, states), self._variables, points
        )[0]
        there = whole[middle, self._places[: self._m]]
        if not np.isfinite(whole).all():
            return ""
        rest = self._evaluator.simulate_outputs(
            self._interval(times[middle : end + 1], inputs[middle:], there), self._variables, points
        )[0]
        # At rest there is nothing but the errors of the integrator.
        small = np.maximum(self._least, _AT_REST * np.abs(whole).max(axis=0))
        ranges = np.maximum(np.ptp(whole, axis=0), small)
        if not np.isfinite(rest).all():
            return ""
        away = np.abs(rest[-1] - whole[-1]) / np.where(ranges > 0.0, ranges, 1.0)
        worst = int(np.argmax(away))
        if away[worst] <= _GOES_ON:
            return ""
        return (
            f"at {times[middle]:.6g} s does not go on as one from the beginning does: at"
            f" {times[end]:.6g} s '{self._variables[worst]}' is {rest[-1, worst]:.4g} in place of"
            f" {whole[-1, worst]:.4g}"
        )

    def _differentiated(
        self, times: F64, inputs: F64, states: F64, parameters: F64
    ) -> Prediction | None:
        """Return the prediction from one simulation with sensitivities; ``None`` without them."""
        p = self._physical(parameters)
        interval = self._interval(times, inputs, states)
        found = differentiated_outputs(
            self._evaluator, interval, self._variables, p, self._start_names
        )
        if found is None:
            return None
        m, n = self._m, p.size
        values = found[0][-1, self._places]
        # With respect to states, then parameters of the search space.
        slopes = np.roll(found[1][-1, self._places], m, axis=1)
        numbers = measurement_values(self._problem, p)
        rows = measurement_derivatives(self._problem, p)
        for j, measurement in enumerate(self._experiment.measurements):
            place, y = m + j, float(values[m + j])
            slopes[place] *= _number(measurement.gain, numbers)
            if isinstance(measurement.gain, str):
                slopes[place, m:] += y * rows[measurement.gain]
            if isinstance(measurement.offset, str):
                slopes[place, m:] += rows[measurement.offset]
            values[place] = _measured(measurement, y, numbers)
        slopes[:, m:] *= self._space.derivative(p)
        assert slopes.shape[1] == m + n
        return Prediction(values[:m], values[m:], slopes[:m], slopes[m:])

    def _physical(self, points: F64) -> F64:
        """Return physical parameters inside the bounds."""
        return np.clip(self._space.to_physical(points), self._problem.lower, self._problem.upper)

    def _interval(self, times: F64, inputs: F64, states: F64) -> Experiment:
        """Return one interval as an experiment that starts from states."""
        starts = dict(zip(self._start_names, states.tolist(), strict=True))
        return dataclasses.replace(
            self._experiment,
            times=times,
            inputs={name: inputs[:, k] for k, name in enumerate(self._experiment.inputs)},
            measurements=(),
            start_values={**self._experiment.start_values, **starts},
        )

    def _simulate(self, times: F64, inputs: F64, states: F64, points: F64) -> F64:
        """Return states and measured outputs at the last instant, shape (k, m + o)."""
        interval, physical = self._interval(times, inputs, states), self._physical(points)
        found = self._evaluator.simulate_outputs(interval, self._variables, physical)
        outcome = found[:, -1, self._places]
        for k, p in enumerate(physical):
            values = measurement_values(self._problem, p)
            for j, m in enumerate(self._experiment.measurements):
                place = self._m + j
                outcome[k, place] = _measured(m, outcome[k, place], values)
        return outcome


def _measured(measurement: Measurement, y: float, values: dict[str, float]) -> float:
    return _number(measurement.gain, values) * y + _number(measurement.offset, values)


def _number(given: NumberOrParameter, values: dict[str, float]) -> float:
    return values[given] if isinstance(given, str) else float(given)
