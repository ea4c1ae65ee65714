"""The estimator ``extended-kalman``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Location, ProblemError, unknown_name
from fmident.estimation.contract import Flag, OnlineEstimate, Requirement
from fmident.estimation.online import OnlineEstimator, Tracker
from fmident.evaluation import Evaluator, differentiated_outputs
from fmident.options import FINITE, Options, Range
from fmident.problem import measurement_derivatives
from fmident.problem.model import Problem
from fmident.problem.residuals import measurement_values, number_of

_UNMEASURED = 1e-4
"""Size of a state near zero that is not measured, for finite differences."""

_SMALLEST, _LARGEST = 1e-3, 0.1
"""Steps of the finite differences relative to the size of what is changed. Over one sampling
interval the outputs are nearly linear, so that steps may be large against the solver's noise."""

_GOES_ON, _AT_REST = 0.02, 1e-3
"""Part of the range of a variable by which a simulation from given states may differ, and what the
range is at least, as a part of the largest value."""


@dataclass(frozen=True)
class ExtendedKalmanOptions(Options):
    """States, initial uncertainty and drift.

    Parameters
    ----------
    states
        FMU parameter that sets a state at the start, to the variable that holds the state:
        ``{ x_start = "x", v_start = "v" }``. Empty for a model without states.
    initial_error
        Standard deviation of a parameter or of a state's start value before the first
        sample, by name of the parameter or of the state's variable. Default: half the
        initial value for parameters (half a unit of the logarithm with log scaling), 0 for
        states, whose start values are then exact.
    drift
        Standard deviation of the change of a parameter or state in one second, by the same
        names; 0 by default: parameters are constant, states follow the model exactly.
    every
        Use only every n-th sample; the inputs of all samples are applied.
    """

    states: dict[str, str] = field(default_factory=dict)
    initial_error: dict[str, Annotated[float, FINITE]] = field(default_factory=dict)
    drift: dict[str, Annotated[float, FINITE]] = field(default_factory=dict)
    every: Annotated[int, Range(least=1)] = 1


class ExtendedKalmanTracker(Tracker):
    """Estimates parameters sample by sample.

    The joint state holds the FMU's m states and n free parameters in the search space. With
    F and H the derivatives of the next states and outputs with respect to the present joint
    state, the covariance P, the drift Q and the noise R, a sample y gives

        S = H P H^T + R,  K = F P H^T S^-1,  z <- f(z) + K (y - h(z)),  P <- F P F^T - K S K^T,

    the extended Kalman filter with prediction and correction combined (the drift is added
    to P before). `joint`, `deviations` and `drift`, shape (m + n,), are the joint state at
    the start, its standard deviations, and those of its changes in one second; `sigma` are
    those of the outputs. Every `every`-th sample is used.
    """

    def __init__(
        self,
        propagation: Propagation,
        evaluator: Evaluator,
        joint: F64,
        deviations: F64,
        drift: F64,
        sigma: F64,
        every: int,
    ) -> None:
        self._propagation = propagation
        self._space = evaluator.space
        self._joint = joint
        self._covariance = np.diag(deviations**2)
        self._drift = np.diag(drift**2)
        self._variance = sigma**2
        self._m = joint.size - self._space.scale.size
        self._every = every
        self._count = 0
        # Instants and inputs since the last correction, that one first: the simulation up to
        # the next one needs the inputs of skipped samples too.
        self._times: list[float] = []
        self._inputs: list[F64] = []

    @property
    def states(self) -> F64:
        """Current states of the FMU, shape (m,)."""
        return self._joint[: self._m].copy()

    def update(self, time: float, inputs: F64, outputs: F64) -> OnlineEstimate | None:
        """Process one sample: simulate up to it, compare, correct."""
        self._count += 1
        skipped = (self._count - 1) % self._every != 0
        if not np.isfinite(inputs).all():
            self.flag = Flag.SKIPPED if skipped else Flag.MISSING
            return None
        if skipped:
            # Before the first correction there is nothing to simulate from.
            if self._times:
                self._keep(time, inputs)
            self.flag = Flag.SKIPPED
            return None
        self._keep(time, inputs)
        times, applied = np.array(self._times), np.array(self._inputs)
        prior = self._covariance + (time - times[0]) * self._drift
        spread = np.sqrt(np.diag(prior))
        m = self._m
        prediction = self._propagation.predict(
            times, applied, self._joint[:m], self._joint[m:], spread
        )
        if prediction is None:
            # The present state stays; the next sample tries again, over a longer interval.
            self.flag = Flag.SINGULAR
            return None
        self._covariance = prior
        self._correct(prediction, outputs)
        self._times, self._inputs = self._times[-1:], self._inputs[-1:]
        self.flag = Flag.GOOD if np.isfinite(outputs).any() else Flag.MISSING
        p = self._space.to_physical(self._joint[m:])
        spread = np.sqrt(np.maximum(np.diag(self._covariance)[m:], 0.0))
        if self.flag is not Flag.GOOD:
            return None
        return OnlineEstimate(time, p, np.abs(self._space.derivative(p)) * spread)

    def _keep(self, time: float, inputs: F64) -> None:
        self._times.append(time)
        self._inputs.append(inputs.copy())

    def _correct(self, prediction: Prediction, outputs: F64) -> None:
        m, size = self._m, self._joint.size
        transition = np.vstack([prediction.jacobian[:m], np.eye(size)[m:]])
        present = np.isfinite(outputs)
        observation = prediction.jacobian[m:][present]
        predicted = np.concatenate([prediction.values[:m], self._joint[m:]])
        covariance = transition @ self._covariance @ transition.T
        if present.any():
            cross = transition @ self._covariance @ observation.T
            innovation = observation @ self._covariance @ observation.T + np.diag(
                self._variance[present]
            )
            gain = np.linalg.solve(innovation, cross.T).T
            predicted = predicted + gain @ (outputs - prediction.values[m:])[present]
            covariance = covariance - gain @ innovation @ gain.T
        predicted[m:] = np.clip(predicted[m:], self._space.lower, self._space.upper)
        covariance = 0.5 * (covariance + covariance.T)
        # Rounding may leave a variance just below zero.
        np.fill_diagonal(covariance, np.maximum(np.diag(covariance), 0.0))
        self._joint, self._covariance = predicted, covariance


class ExtendedKalman(OnlineEstimator[ExtendedKalmanOptions]):
    """Extended Kalman filter of states and parameters of any FMU."""

    name: ClassVar[str] = "extended-kalman"
    summary: ClassVar[str] = "extended Kalman filter of an FMU's states and parameters, online"
    any_cost: ClassVar[bool] = False
    needs: ClassVar[str] = "states that can be set at the start, or a model without states"
    requires: ClassVar[frozenset[Requirement]] = frozenset({"settable-states"})
    options_type: ClassVar[type[ExtendedKalmanOptions]] = ExtendedKalmanOptions

    def start(
        self,
        problem: Problem,
        experiment: Experiment,
        evaluator: Evaluator,
        options: ExtendedKalmanOptions,
    ) -> ExtendedKalmanTracker:
        """Begin an estimation.

        Raises `ProblemError` for unknown names; states that a parameter of the problem sets, or
        that do not determine how the FMU continues; an output without sigma, or with a delay or
        decimation.
        """
        _check_names(problem, experiment, options)
        sigma = np.array([_noise(m, problem.where()) for m in experiment.measurements])
        space = evaluator.space
        start_names, state_names = tuple(options.states), tuple(options.states.values())
        z = space.from_physical(problem.initial)
        states = np.array([_start_value(problem, experiment, s, evaluator) for s in start_names])
        # From physical standard deviations to those of the search space.
        factor = np.abs(space.derivative(problem.initial))
        size = np.where(problem.initial == 0.0, space.scale, np.abs(problem.initial))
        usual = 0.5 * np.where(space.log, factor, size)

        def joint(table: Mapping[str, float], usual: F64) -> F64:
            states = [table.get(v, 0.0) for v in state_names]
            parameters = [table.get(q.name, u) for q, u in zip(problem.free, usual, strict=True)]
            return np.concatenate([states, np.array(parameters) / factor])

        deviations = joint(options.initial_error, usual)
        measured = {m.variable: s for m, s in zip(experiment.measurements, sigma, strict=True)}
        floor = np.array([10.0 * measured.get(v, 0.1 * _UNMEASURED) for v in state_names])
        floor = np.maximum(floor, deviations[: len(state_names)])
        propagation = Propagation(problem, experiment, evaluator, start_names, state_names, floor)
        lost = propagation.forgotten(states, z)
        if lost:
            raise ProblemError(
                f"[estimator]: a simulation that starts from the states in 'states' {lost}",
                location=problem.where(),
                hint="'states' must have a line for each state of the FMU:"
                " what sets it at the start = the variable of the state. What an event has switched"
                " cannot be set: models that remember it need another estimator",
            )
        return ExtendedKalmanTracker(
            propagation,
            evaluator,
            np.concatenate([states, z]),
            deviations,
            joint(options.drift, np.zeros(z.size)),
            sigma,
            options.every,
        )


def _check_names(problem: Problem, experiment: Experiment, options: ExtendedKalmanOptions) -> None:
    """Reject deviations of unknown quantities, and states that a parameter sets."""
    names = (*options.states.values(), *(q.name for q in problem.free))
    for name in (*options.initial_error, *options.drift):
        if name not in names:
            raise ProblemError(
                f"[estimator]: '{name}' is neither a state nor a free parameter",
                location=problem.where(),
                **unknown_name(name, names, "name"),
            )
    for q in problem.parameters:
        if q.variable in options.states and q.acts_on(experiment.name):
            state = options.states[str(q.variable)]
            raise ProblemError(
                f"[parameters.{q.name}] sets '{q.variable}', which the filter sets itself: it"
                f" estimates the state '{state}' in each interval",
                location=problem.where(),
                hint=f"remove [parameters.{q.name}]; write the value in"
                f" [experiments.start_values] and its uncertainty as initial_error.{state}",
            )


def _noise(measurement: Measurement, location: Location | None) -> float:
    """Return the standard deviation of an output's noise, or reject the output."""
    if measurement.sigma is None or measurement.delay or measurement.decimation is not None:
        trait = "a decimation" if measurement.decimation is not None else "no sigma"
        if measurement.delay:
            trait = "a delay"
        raise ProblemError(
            f"[estimator]: 'extended-kalman' cannot use '{measurement.name}': it has {trait}",
            location=location,
            hint="give every output a sigma; delays and decimations need least-squares",
        )
    return _root_mean_square(measurement.sigma)


def _root_mean_square(sigma: float | F64) -> float:
    return float(np.sqrt(np.mean(np.square(sigma))))


def _start_value(
    problem: Problem, experiment: Experiment, name: str, evaluator: Evaluator
) -> float:
    """Return a state's start value: the experiment's, the problem's, or the FMU's own."""
    given = {**problem.start_values, **experiment.start_values}.get(name)
    if given is not None:
        return float(given)
    bare = dataclasses.replace(
        experiment,
        times=experiment.times[:1],
        inputs={n: v[:1] for n, v in experiment.inputs.items()},
        measurements=(),
    )
    simulated = evaluator.simulate_outputs(bare, (name,), problem.initial[np.newaxis])
    value = float(simulated[0, 0, 0])
    if not np.isfinite(value):
        raise ProblemError(
            f"[estimator]: the start value '{name}' cannot be read: {evaluator.last_failure}",
            hint="give it in start_values of the experiment",
        )
    return value


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """States and outputs at the next instant, and their derivatives.

    `values` are the states, followed by the outputs with gain and offset, shape (m + o,);
    `jacobian` is with respect to the present states and search-space parameters, shape
    (m + o, m + n).
    """

    values: F64
    jacobian: F64


class Propagation:
    """Simulates intervals of an experiment from any state.

    `start_names` are the parameters that set the states, `state_names` the states'
    variables, m of each; `floor` is the smallest size of each state for finite differences,
    shape (m,).
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
        self._problem, self._experiment = problem, experiment
        self._evaluator, self._space = evaluator, evaluator.space
        self._start_names = tuple(start_names)
        self._m = len(self._start_names)
        wanted = (*state_names, *(m.variable for m in experiment.measurements))
        self._variables = tuple(dict.fromkeys(wanted))
        self._places = [self._variables.index(name) for name in wanted]
        self._sizes = floor.copy()
        self._least = np.zeros(len(self._variables))
        for m in experiment.measurements:
            noise = 0.0 if m.sigma is None else 10.0 * _root_mean_square(m.sigma)
            self._least[self._variables.index(m.variable)] = noise
        for name, size in zip(state_names, floor, strict=True):
            self._least[self._variables.index(name)] = size

    def predict(
        self, times: F64, inputs: F64, states: F64, parameters: F64, spread: F64
    ) -> Prediction | None:
        """Simulate from the first to the last of `times`; ``None`` if the simulation fails.

        For a single instant the outputs are those at the start itself; otherwise the inputs
        between the first and the last are applied, and the outputs are those at the last.
        `inputs` has the shape (len(times), inputs), `states` are those at the first instant,
        and `parameters` are in the search space. `spread`, the standard deviations of both,
        shape (m + n,), determines the difference steps.
        """
        exact = self._differentiated(times, inputs, states, parameters)
        if exact is not None:
            return exact
        np.maximum(self._sizes, np.abs(states), out=self._sizes)
        sizes = np.concatenate([self._sizes, np.maximum(np.abs(parameters), 1e-3)])
        sizes[self._m :][self._space.log] = 1.0
        steps = np.clip(spread, _SMALLEST * sizes, _LARGEST * sizes)
        # Inside the bounds: a parameter near its upper one moves down.
        down = parameters + steps[self._m :] > self._space.upper
        steps[self._m :][down] *= -1.0
        points = np.vstack([parameters, parameters + np.diag(steps[self._m :])])
        simulated = self._simulate(times, inputs, states, points)
        if not np.isfinite(simulated[0]).all():
            return None
        moved = [
            self._simulate(times, inputs, disturbed, parameters[np.newaxis])[0]
            for disturbed in states + np.diag(steps[: self._m])
        ]
        changes = (np.array([*moved, *simulated[1:]]) - simulated[0]) / steps[:, np.newaxis]
        # Where only the changed simulation fails, nothing is learnt of this direction.
        changes[~np.isfinite(changes).all(axis=1)] = 0.0
        return Prediction(simulated[0], np.ascontiguousarray(changes.T))

    def forgotten(self, states: F64, parameters: F64) -> str:
        """Return what a simulation started in the middle of the experiment loses.

        It must continue like one from the start, which it cannot if `states` are incomplete.
        The result is the end of a sentence, empty if nothing is lost or the simulation fails.
        """
        times = self._experiment.times
        middle = times.size // 2
        end = middle + max(1, times.size // 20)
        if middle < 1 or end >= times.size:
            return ""
        inputs = np.array([v[: end + 1] for v in self._experiment.inputs.values()]).T
        inputs = inputs.reshape(end + 1, -1)
        points = self._space.bounded(parameters)[np.newaxis]

        def simulated(begin: int, states: F64) -> F64:
            interval = self._interval(times[begin : end + 1], inputs[begin:], states)
            outputs: F64 = self._evaluator.simulate_outputs(interval, self._variables, points)[0]
            return outputs

        whole = simulated(0, states)
        if not np.isfinite(whole).all():
            return ""
        rest = simulated(middle, whole[middle, self._places[: self._m]])
        if not np.isfinite(rest).all():
            return ""
        # At rest there is nothing but the errors of the integrator.
        small = np.maximum(self._least, _AT_REST * np.abs(whole).max(axis=0))
        ranges = np.maximum(np.ptp(whole, axis=0), small)
        away = np.abs(rest[-1] - whole[-1]) / np.where(ranges > 0.0, ranges, 1.0)
        worst = int(np.argmax(away))
        if away[worst] <= _GOES_ON:
            return ""
        return (
            f"at {times[middle]:.6g} s does not continue as one from the beginning does: at"
            f" {times[end]:.6g} s '{self._variables[worst]}' is {rest[-1, worst]:.4g} in place of"
            f" {whole[-1, worst]:.4g}"
        )

    def _differentiated(
        self, times: F64, inputs: F64, states: F64, parameters: F64
    ) -> Prediction | None:
        """Return the prediction from one simulation with sensitivities; ``None`` without them."""
        p = self._space.bounded(parameters)
        interval = self._interval(times, inputs, states)
        sensitivities = differentiated_outputs(
            self._evaluator, interval, self._variables, p, self._start_names
        )
        if sensitivities is None:
            return None
        m = self._m
        values = sensitivities[0][-1, self._places]
        # With respect to states, then parameters of the search space.
        slopes = np.roll(sensitivities[1][-1, self._places], m, axis=1)
        numbers = measurement_values(self._problem, p)
        rows = measurement_derivatives(self._problem, p)
        for j, measurement in enumerate(self._experiment.measurements):
            place, y = m + j, float(values[m + j])
            slopes[place] *= number_of(measurement.gain, numbers)
            if isinstance(measurement.gain, str):
                slopes[place, m:] += y * rows[measurement.gain]
            if isinstance(measurement.offset, str):
                slopes[place, m:] += rows[measurement.offset]
            values[place] = _measured(measurement, y, numbers)
        slopes[:, m:] *= self._space.derivative(p)
        return Prediction(values, slopes)

    def _interval(self, times: F64, inputs: F64, states: F64) -> Experiment:
        """Return one interval as an experiment that starts from given states."""
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
        interval, physical = self._interval(times, inputs, states), self._space.bounded(points)
        simulated = self._evaluator.simulate_outputs(interval, self._variables, physical)
        outcome = simulated[:, -1, self._places]
        for k, p in enumerate(physical):
            values = measurement_values(self._problem, p)
            for j, m in enumerate(self._experiment.measurements):
                place = self._m + j
                outcome[k, place] = _measured(m, outcome[k, place], values)
        return outcome


def _measured(measurement: Measurement, y: float, values: dict[str, float]) -> float:
    return number_of(measurement.gain, values) * y + number_of(measurement.offset, values)
