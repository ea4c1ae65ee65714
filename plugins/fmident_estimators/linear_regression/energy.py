"""The gradient of the total energy at random states of the mechanism.

The FMU of an inverse model takes positions and speeds as inputs and closes the kinematic
loops itself, so that random inputs are random admissible states. Where it iterates from the state
before and a random one is too far away, small steps lead there (eq. 5 of the paper).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment
from fmident.errors import EstimationError, ProblemError
from fmident.evaluation.contract import Evaluator
from fmident_estimators.linear_regression.affine import (
    Box,
    FailedEvaluationError,
    affine_model,
    nonlinear_parameters,
    superposition_error,
)

_STEPS = 100
"""From one random state to the next, where it cannot be reached at once."""

_CONSTANT = 1e-10
"""A column that varies by less than this part of its length is a constant: energies are known
up to a constant, and forces do not depend on it."""


def random_experiment(
    experiments: Sequence[Experiment], count: int, generator: np.random.Generator, steps: int = 1
) -> Experiment:
    """Return an experiment whose inputs are random, each within its measured range.

    Parameters
    ----------
    experiments
        Where the ranges are taken from; start values from the first one.
    count
        Number of instants.
    generator
        Of the random numbers.
    steps
        From one random instant to the next, along a straight line.
    """
    inputs = {}
    instants = np.arange((count - 1) * steps + 1) / steps
    for name in experiments[0].inputs:
        values = np.concatenate([e.inputs[name] for e in experiments if name in e.inputs])
        low, high = float(values.min()), float(values.max())
        if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
            # An input that never moved would hide everything that depends on it.
            reach = max(abs(low), 1.0)
            low, high = low - reach, high + reach
        inputs[name] = np.interp(instants, np.arange(count), generator.uniform(low, high, count))
    step = float(np.median(np.diff(experiments[0].times)))
    times = experiments[0].times[0] + step * np.arange(instants.size)
    return Experiment(
        "random states", times, inputs, (), experiments[0].start_values, "random inputs"
    )


def energy_gradient(
    evaluator: Evaluator,
    box: Box,
    energies: Sequence[str],
    states: int,
    seed: int,
    tolerance: float,
) -> F64:
    """Return the gradient of the total energy with respect to the parameters, centred.

    Parameters
    ----------
    evaluator
        Of the problem.
    box
        Of the parameters.
    energies
        Variables of the FMU whose sum is the total energy.
    states
        Number of random states.
    seed
        Of the random numbers.
    tolerance
        Of the test of linearity.

    Returns
    -------
    numpy.ndarray
        Shape (states, n); zero columns for parameters on which the energy does not depend, or
        only by a constant.

    Raises
    ------
    fmident.errors.ProblemError
        The energy is not linear in the parameters, or there is no input that moves it.
    fmident.errors.EstimationError
        Simulations fail at random states.
    fmident.errors.FmuError
        There is no variable of that name.
    """
    problem = evaluator.problem
    if not problem.experiments[0].inputs:
        raise ProblemError(
            "'energies' needs an inverse model, whose inputs are the motion; this problem has no"
            " inputs",
            hint="leave 'energies' out: the base parameters then follow from the data",
        )
    names = [q.name for q in problem.free]
    for steps in (1, _STEPS):
        generator = np.random.default_rng(seed)
        experiment = random_experiment(problem.experiments, states, generator, steps)

        def total(points: F64, experiment: Experiment = experiment, steps: int = steps) -> F64:
            found = evaluator.simulate_outputs(experiment, energies, points)
            return np.asarray(found[:, ::steps].sum(axis=2), dtype=np.float64)

        try:
            model = affine_model(total, box)
            break
        except FailedEvaluationError as failed:
            if steps > 1:
                raise EstimationError(
                    f"the energies cannot be evaluated at random states: {evaluator.last_failure}",
                    hint="the inputs are drawn from their measured ranges, each on its own; leave"
                    " 'energies' out if the mechanism cannot reach all of these states",
                ) from failed
    worst, _ = superposition_error(total, model, box.random(generator, 3))
    if not worst <= tolerance:
        guilty = nonlinear_parameters(total, model, box, tolerance, names)
        raise ProblemError(
            f"the total energy {' + '.join(energies)} is not linear in {guilty}: superposition"
            f" misses by {worst:.2g}",
            hint="'energies' takes the energies of an inverse model whose parameters are the"
            " standard inertial parameters (moments about the joints, not centres of mass)",
        )
    lengths = np.linalg.norm(model.matrix, axis=0)
    gradient: F64 = model.matrix - model.matrix.mean(axis=0)
    gradient[:, np.linalg.norm(gradient, axis=0) <= _CONSTANT * lengths] = 0.0
    return gradient
