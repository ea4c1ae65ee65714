"""Derivatives of a stage's residuals with respect to what it held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.evaluation import Evaluator, Executor
from fmident.evaluation.activity import Listener
from fmident.evaluation.derivatives.steps import StepSizes
from fmident.problem.priors.rows import Priors
from fmident.problem.relations.dependent import Dependence
from fmident.statistics import HeldValues

if TYPE_CHECKING:
    from fmident.problem.model import Derivation, Parameter, Problem

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class HeldDerivatives:
    """What was found, and what it took.

    Parameters
    ----------
    values
        For the statistics.
    simulations, jacobians
        Counted.
    """

    values: HeldValues
    simulations: int
    jacobians: int


def held_derivatives(
    problem: Problem,
    executor: Executor,
    values: F64,
    names: Sequence[str],
    *,
    starts: Mapping[str, float] | None = None,
    sizes: StepSizes | None = None,
    weights: F64 | None = None,
    noise_level: float = 1.0,
    listener: Listener | None = None,
) -> HeldDerivatives:
    """Return the derivatives of the residuals with respect to parameters that were held.

    One simulation per parameter and experiment, and one more per experiment at the solution,
    with steps from the noise that is known; more where it has to be measured first.

    Parameters
    ----------
    problem
        Of the stage, with the values that it held.
    executor
        Of the stage's experiments.
    values
        Of its free parameters at the solution, shape (n,).
    names
        Fixed parameters, h of them.
    starts
        From where they were searched: the size of a value that was found near zero.
    sizes
        Of the finite differences of the stage, for the noise of the simulation.
    weights
        Of the whitened residuals, shape (m,); those of weight zero are left out.
    noise_level
        Standard deviation of these, in which the rows of the stage's priors are scaled.
    listener
        Receives how far the simulations are.

    Raises
    ------
    fmident.evaluation.JacobianError
        The simulation fails around the solution.
    """
    noise, relative = _noise_and_step(sizes)
    released, point = _released(problem, values, names, starts or {})
    if relative is not None and problem.evaluation.relative_step is None:
        exact = problem.evaluation.takes_sensitivities
        difference: Derivation | None = None if exact else "forward"
        settings = replace(problem.evaluation, relative_step=relative, difference=difference)
        released = replace(released, evaluation=settings)
    order = [q.name for q in released.free]
    with Evaluator(released, executor) as evaluator:
        evaluator.activities.listener = listener
        text = "carrying over the uncertainty of earlier stages"
        with evaluator.activities.during(text, 1 + len(order)):
            jacobian = evaluator.data_jacobian(point)
        errors = evaluator.column_errors(point)
        found = evaluator.step_sizes
        simulations, jacobians = evaluator.simulations, evaluator.jacobians
    errors = np.zeros(len(order)) if errors is None else errors
    if found is not None and not np.isfinite(found.noise) and noise > found.rounding > 0.0:
        errors = errors * (noise / found.rounding)
    if weights is not None:
        weights = weights[: jacobian.shape[0]]
        jacobian = jacobian[weights != 0.0] * weights[weights != 0.0, np.newaxis]
        errors = errors * float(np.sqrt(np.mean(weights[weights != 0.0] ** 2)))
    # What was held is part of parameters that follow from others, which may have priors.
    own = replace(Priors.of(problem), dependence=Dependence.of(released))
    jacobian = np.vstack([jacobian, noise_level * own.slopes(point)])
    columns = [order.index(name) for name in names]
    return HeldDerivatives(
        HeldValues(tuple(names), jacobian[:, columns], errors[columns]), simulations, jacobians
    )


def _noise_and_step(sizes: StepSizes | None) -> tuple[float, float | None]:
    """Return the noise per residual and the relative step that suits it, ``None`` if unknown.

    As for the stage's own parameters (More and Wild 2012, theorem 3.2), with the size of the
    outputs over the square of that of the parameter for the curvature, which is not measured.
    """
    if sizes is None or not np.isfinite(sizes.noise) or sizes.rounding <= 0.0:
        return 0.0, None
    noise = max(sizes.noise, sizes.rounding)
    return noise, float(min(0.1, 8.0**0.25 * np.sqrt(noise * _EPS / sizes.rounding)))


def _released(
    problem: Problem, values: F64, names: Sequence[str], starts: Mapping[str, float]
) -> tuple[Problem, F64]:
    """Return the problem with the held parameters free, the others fixed at the solution.

    Returns
    -------
    released
        Its initial values are those from where the held parameters were searched.
    point
        What they were held at, in the order of the free ones, shape (h,).
    """
    found = dict(zip((q.name for q in problem.free), (float(v) for v in values), strict=True))

    def turned(q: Parameter) -> Parameter:
        if q.name in names:
            # In logarithms the size of a parameter does not matter.
            start = q.initial if q.scaling == "log" else starts.get(q.name, q.initial)
            # Another stage may have searched it within other bounds.
            lower, upper = min(q.lower, q.initial, start), max(q.upper, q.initial, start)
            return replace(q, fixed=False, initial=start, lower=lower, upper=upper)
        return replace(q, fixed=True, initial=found.get(q.name, q.initial))

    point = np.array([q.initial for q in problem.parameters if q.name in names])
    parameters = tuple(turned(q) for q in problem.parameters)
    return replace(problem, parameters=parameters, stages=()), point
