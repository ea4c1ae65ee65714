"""The estimator ``extended-kalman``: states and parameters of an FMU, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Code, Location, ProblemError, did_you_mean
from fmident.estimation.contract import Requirement
from fmident.estimation.online.estimator import OnlineEstimator, Tracker
from fmident.estimation.online.series import Flag, OnlineEstimate
from fmident.evaluation.contract import Evaluator
from fmident.problem.model import Problem
from fmident_estimators.extended_kalman.options import ExtendedKalmanOptions
from fmident_estimators.extended_kalman.propagation import Prediction, Propagation

_UNMEASURED = 1e-4
"""Size of a state near zero that is not measured, for finite differences."""


class ExtendedKalmanTracker(Tracker):
    """One sample in, parameters out.

    The joint state holds the FMU's states and its free parameters in the search space. With F
    and H the derivatives of the next states and outputs with respect to the present
    joint state, the covariance P, the drift Q and the noise R, a sample y gives

        S = H P H^T + R,  K = F P H^T S^-1,  z <- f(z) + K (y - h(z)),  P <- F P F^T - K S K^T,

    the extended Kalman filter with prediction and correction in one (the drift is added to P
    before).

    Parameters
    ----------
    propagation
        Simulates intervals.
    evaluator
        For the search space.
    joint
        States and search-space parameters at the start, shape (m + n,).
    deviations
        Their standard deviations at the start.
    drift
        Their changes in one second.
    sigma
        Standard deviations of the outputs, shape (o,).
    every
        Take every n-th sample.
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
        """Present states of the FMU, shape (m,)."""
        return self._joint[: self._m].copy()

    def update(self, time: float, inputs: F64, outputs: F64) -> OnlineEstimate | None:
        """Take one sample: simulate up to it, compare, correct."""
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
        found = self._propagation.predict(times, applied, self._joint[:m], self._joint[m:], spread)
        if found is None:
            # The present state stays; the next sample tries again, over a longer interval.
            self.flag = Flag.SINGULAR
            return None
        self._covariance = prior
        self._correct(found, outputs)
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

    def _correct(self, found: Prediction, outputs: F64) -> None:
        m, size = self._m, self._joint.size
        transition = np.vstack([found.states_jacobian, np.eye(size)[m:]])
        present = np.isfinite(outputs)
        answer = found.outputs_jacobian[present]
        predicted = np.concatenate([found.states, self._joint[m:]])
        spread = transition @ self._covariance @ transition.T
        if present.any():
            cross = transition @ self._covariance @ answer.T
            innovation = answer @ self._covariance @ answer.T + np.diag(self._variance[present])
            gain = np.linalg.solve(innovation, cross.T).T
            predicted = predicted + gain @ (outputs - found.outputs)[present]
            spread = spread - gain @ innovation @ gain.T
        predicted[m:] = np.clip(predicted[m:], self._space.lower, self._space.upper)
        spread = 0.5 * (spread + spread.T)
        # Rounding may leave a variance just below zero.
        floor = np.maximum(np.diag(spread), 0.0)
        np.fill_diagonal(spread, floor)
        self._joint, self._covariance = predicted, spread


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

        Raises
        ------
        fmident.errors.ProblemError
            A name that is neither parameter nor state; states that a parameter of the problem
            sets, or that do not say how the FMU goes on; an output without sigma, with a delay
            or a decimation.
        """
        location = Location(str(problem.source)) if problem.source is not None else None
        sigma = np.array([_noise(m, location) for m in experiment.measurements])
        space = evaluator.space
        start_names, state_names = tuple(options.states), tuple(options.states.values())
        names = (*state_names, *(q.name for q in problem.free))
        for table in (options.initial_error, options.drift):
            for name in table:
                if name not in names:
                    raise ProblemError(
                        f"[estimator]: '{name}' is neither a state nor a free parameter",
                        location=location,
                        hint=did_you_mean(name, names, kind="name"),
                        code=Code.UNKNOWN_NAME,
                    )
        z = space.from_physical(problem.initial)
        # From physical standard deviations to those of the search space.
        factor = np.abs(space.derivative(problem.initial))
        usual = np.where(
            space.log,
            0.5 * factor,
            0.5 * np.where(problem.initial == 0.0, space.scale, np.abs(problem.initial)),
        )
        _check_states(problem, experiment, options.states, location)
        states = np.array([_start_value(problem, experiment, s, evaluator) for s in start_names])
        deviations = np.concatenate(
            [
                [float(options.initial_error.get(v, 0.0)) for v in state_names],
                _given(options.initial_error, problem, usual) / factor,
            ]
        )
        drift = np.concatenate(
            [
                [float(options.drift.get(v, 0.0)) for v in state_names],
                _given(options.drift, problem, np.zeros(z.size)) / factor,
            ]
        )
        measured = {m.variable: s for m, s in zip(experiment.measurements, sigma, strict=True)}
        floor = np.array([10.0 * measured.get(v, 0.1 * _UNMEASURED) for v in state_names])
        floor = np.maximum(floor, deviations[: len(state_names)])
        propagation = Propagation(problem, experiment, evaluator, start_names, state_names, floor)
        wrong = propagation.forgotten(states, z)
        if wrong:
            raise ProblemError(
                f"[estimator]: a simulation that starts from the states in 'states' {wrong}",
                location=location,
                hint="'states' must have a line for each state of the FMU:"
                " what sets it at the start = the variable of the state. What an event has switched"
                " cannot be set: models that remember it need another estimator",
            )
        return ExtendedKalmanTracker(
            propagation,
            evaluator,
            np.concatenate([states, z]),
            deviations,
            drift,
            sigma,
            options.every,
        )


def _check_states(
    problem: Problem,
    experiment: Experiment,
    states: Mapping[str, str],
    location: Location | None,
) -> None:
    """Refuse states that a parameter of the problem sets as well.

    Raises
    ------
    fmident.errors.ProblemError
        Naming the state.
    """
    for q in problem.parameters:
        if q.variable in states and q.acts_on(experiment.name):
            state = states[str(q.variable)]
            raise ProblemError(
                f"[parameters.{q.name}] sets '{q.variable}', which the filter sets itself: it"
                f" estimates the state '{state}' in each interval",
                location=location,
                hint=f"remove [parameters.{q.name}]; write the value in [experiments.start_values]"
                f" and its uncertainty as initial_error.{state}",
            )


def _noise(measurement: Measurement, location: Location | None) -> float:
    """Return the standard deviation of an output's noise.

    Raises
    ------
    fmident.errors.ProblemError
        It is unknown, or the output cannot be used sample by sample.
    """
    lacking = None
    if measurement.delay != 0.0:
        lacking = "a delay"
    elif measurement.decimation is not None:
        lacking = "a decimation"
    elif measurement.sigma is None:
        lacking = "no sigma"
    if lacking is not None or measurement.sigma is None:
        raise ProblemError(
            f"[estimator]: 'extended-kalman' cannot use '{measurement.name}': it has {lacking}",
            location=location,
            hint="give every output a sigma; delays and decimations need least-squares",
        )
    return float(np.sqrt(np.mean(np.square(measurement.sigma))))


def _given(table: Mapping[str, float], problem: Problem, usual: F64) -> F64:
    return np.array([float(table.get(q.name, u)) for q, u in zip(problem.free, usual, strict=True)])


def _start_value(
    problem: Problem, experiment: Experiment, name: str, evaluator: Evaluator
) -> float:
    """Return a state's start value: the experiment's, the problem's, or the FMU's own."""
    given = {**problem.start_values, **experiment.start_values}.get(name)
    if given is not None:
        return float(given)
    first = np.array(experiment.times[:1])
    bare = Experiment(
        experiment.name,
        first,
        {n: np.asarray(v[:1]) for n, v in experiment.inputs.items()},
        (),
        experiment.start_values,
    )
    found = evaluator.simulate_outputs(bare, (name,), problem.initial[np.newaxis])
    value = float(found[0, 0, 0])
    if not np.isfinite(value):
        raise ProblemError(
            f"[estimator]: the start value '{name}' cannot be read: {evaluator.last_failure}",
            hint="give it in start_values of the experiment",
        )
    return value
