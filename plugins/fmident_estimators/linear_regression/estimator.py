"""The estimator ``linear-regression``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, ProblemError, did_you_mean
from fmident.estimation.contract import Estimate, Estimator, Monitor, Requirement
from fmident.evaluation.contract import Evaluator
from fmident.problem.model import Problem
from fmident.problem.residuals import ResidualLayout, residual_layout
from fmident.statistics.identifiability import listed
from fmident.units import compatible, parse_unit
from fmident_estimators.linear_regression.affine import (
    AffineModel,
    Box,
    FailedEvaluationError,
    affine_from_derivatives,
    affine_model,
    nonlinear_parameters,
    superposition_error,
)
from fmident_estimators.linear_regression.base_parameters import (
    BaseParameters,
    find_base,
    negligible,
)
from fmident_estimators.linear_regression.energy import energy_gradient
from fmident_estimators.linear_regression.options import LinearRegressionOptions
from fmident_estimators.linear_regression.quality import output_groups, relative_errors
from fmident_estimators.linear_regression.solve import (
    Regression,
    least_squares,
    reweighted,
    within_bounds,
)

_RANDOM_POINTS = 3
_ILL_CONDITIONED = 1e3
_MASS_AND_INERTIA = ("kg", "kg.m2")
_ON_BOUND = 1e-9
_MOVED = 1e-8
"""Relative change of a base parameter that is more than rounding."""

_TESTS = 3
"""Points at which linearity is tested; for the expected effort only."""


class LinearRegression(Estimator[LinearRegressionOptions]):
    """Linear least squares for base parameters."""

    name: ClassVar[str] = "linear-regression"
    summary: ClassVar[str] = (
        "outputs linear in the parameters, in one step: base parameters, weights, bounds,"
        " validation"
    )
    any_cost: ClassVar[bool] = False
    needs: ClassVar[str] = "outputs that are linear in the parameters"
    requires: ClassVar[frozenset[Requirement]] = frozenset({"linear-outputs"})
    accepts_inert_parameters: ClassVar[bool] = True
    options_type: ClassVar[type[LinearRegressionOptions]] = LinearRegressionOptions

    def expected_simulations(self, options: LinearRegressionOptions, problem: Problem) -> int:
        """Return the differences of data and energies, their tests, and the result."""
        experiments = len(problem.experiments)
        points = len(problem.free) + 1 + _TESTS
        return points * (experiments + bool(options.energies)) + experiments

    def estimate(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: LinearRegressionOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Make the regressor, find the base parameters, solve.

        Raises
        ------
        fmident.errors.ProblemError
            The outputs or the energies are not linear in the parameters; an option names
            something that is not there; there is too little data.
        fmident.errors.EstimationError
            A simulation fails that is needed.
        """
        layout = residual_layout(problem)
        used = _training_rows(problem, layout, options.validation)
        order = _order(problem, options.prefer)
        box = _box(problem)
        monitor.iteration(problem.initial, evaluator.cost(problem.initial))
        model, missed = regressor(evaluator, box, options)
        base = _base_parameters(evaluator, box, model, used, order, options)
        independent = list(base.independent)
        # r(p) = y - Phi p: fixed parameters and the experiment's own values are in y already.
        phi = -model.matrix
        y = model.base + phi @ box.center
        rest = [j for j in range(len(base.names)) if j not in base.dependent]
        inert = [j for j in rest if j not in independent]
        y = y - phi[:, inert] @ box.center[inert]
        weights = used.astype(np.float64)
        iterations = 0
        if options.weighting == "residual":
            groups = output_groups(problem, layout)
            regression, weights, iterations = reweighted(phi[:, independent], y, used, groups)
        else:
            regression = least_squares(phi[:, independent], y, weights)
        p, bounded = _parameters(problem, base, regression, options)
        # The model is linear: its Jacobian is the same everywhere, and known.
        evaluator.remember_jacobian(p, model.matrix, missed * np.linalg.norm(model.matrix, axis=0))
        residuals = evaluator.residuals(p)
        monitor.iteration(p, evaluator.cost(p))
        errors = relative_errors(problem, layout, residuals)
        _tell(monitor, base, regression, bounded, options)
        details: dict[str, object] = {
            "dependent_parameters": {base.names[j]: float(p[j]) for j in base.dependent},
            "condition_number": regression.condition,
            "superposition_error": missed,
            "training_relative_error": {
                name: found for name, found in errors.items() if name not in options.validation
            },
        }
        if options.validation:
            held_out = {name: errors[name] for name in options.validation}
            details["validation_relative_error"] = held_out
            monitor.note(_validation_note(held_out))
        count = int(np.count_nonzero(used))
        message = (
            f"{count} equations for {len(independent)} base parameters, condition number"
            f" {regression.condition:.3g}"
        )
        if iterations:
            message += f", weights settled after {iterations} iterations"
        plain = not options.validation and options.weighting == "problem"
        return Estimate(
            p,
            "converged",
            message,
            details,
            None if plain else weights,
            base=base.combinations if _unmoved(base, regression, p) else (),
        )


def regressor(
    evaluator: Evaluator, box: Box, options: LinearRegressionOptions
) -> tuple[AffineModel, float]:
    """Return the residuals as an affine model, and by how much superposition misses.

    Parameters
    ----------
    evaluator
        Of the problem.
    box
        Of its free parameters.
    options
        Tolerance and seed.

    Raises
    ------
    fmident.errors.ProblemError
        The outputs are not linear in the parameters; with the name of the guilty ones.
    fmident.errors.EstimationError
        Simulations fail.
    """
    names = [q.name for q in evaluator.problem.free]
    try:
        model = _model(evaluator, box)
    except FailedEvaluationError as failed:
        raise EstimationError(
            f"a simulation that the regressor needs fails: {evaluator.last_failure}",
            hint="narrow the bounds of the parameters: each is moved by about its initial value",
        ) from failed
    generator = np.random.default_rng(options.seed)
    points = box.random(generator, _RANDOM_POINTS)
    worst, _ = superposition_error(evaluator.probe, model, points)
    if np.isnan(worst):
        raise EstimationError(
            "linearity cannot be tested, since all simulations at random parameters fail: "
            f"{evaluator.last_failure}",
            hint="give bounds within which the model can be simulated",
        )
    if worst > options.linearity_tolerance:
        guilty = nonlinear_parameters(
            evaluator.probe, model, box, options.linearity_tolerance, names
        )
        raise ProblemError(
            f"the outputs are not linear in {guilty}: superposition misses by {worst:.2g} where"
            f" {options.linearity_tolerance:g} is allowed",
            hint="hold what is not linear with 'fixed = true', use a parametrisation that is"
            " linear, or take the estimator 'least-squares'; raise 'linearity_tolerance' only"
            " if the error of the FMU's own solver is to blame",
        )
    return model, worst


def _model(evaluator: Evaluator, box: Box) -> AffineModel:
    """Return the residuals as an affine model: from sensitivities, else one step along each.

    Raises
    ------
    FailedEvaluationError
        A simulation fails that is needed.
    """
    if not evaluator.differenced:
        base = evaluator.residuals(box.center)
        if not bool(np.isfinite(base).all()):
            raise FailedEvaluationError
        jacobian = evaluator.jacobian(box.center)
        if evaluator.jacobian_is_exact(box.center):
            return affine_from_derivatives(base, jacobian, box)
    return affine_model(evaluator.probe, box)


def _base_parameters(
    evaluator: Evaluator,
    box: Box,
    model: AffineModel,
    used: npt.NDArray[np.bool_],
    order: Sequence[int],
    options: LinearRegressionOptions,
) -> BaseParameters:
    """Return the base parameters that the mechanism has and the data show."""
    names = [q.name for q in evaluator.problem.free]
    # The triangle stands for all rows: lengths and angles of its columns are the same.
    triangle: F64 = np.asarray(np.linalg.qr(model.matrix[used], mode="r"))
    lengths = np.linalg.norm(triangle, axis=0)
    if int(np.count_nonzero(used)) <= int(np.count_nonzero(lengths)):
        raise ProblemError(
            f"{int(np.count_nonzero(used))} samples are too few for {len(names)} parameters"
        )
    if not bool(np.any(lengths > 0.0)):
        raise ProblemError(
            "no output changes with any of the parameters",
            hint="measure an output that depends on them",
        )
    if not options.energies:
        return find_base(triangle, names, order, options.rank_tolerance, box.size)
    gradient = energy_gradient(
        evaluator,
        box,
        options.energies,
        options.random_states,
        options.seed,
        options.linearity_tolerance,
    )
    without_energy = negligible(gradient, box.size)
    # Friction and the like have no energy: their columns are taken separately.
    gradient = np.where(without_energy, 0.0, gradient)
    others = np.where(without_energy, triangle, 0.0)
    # Energies and residuals have different units; of one size, both are judged alike.
    largest = [np.linalg.norm(part * box.size, axis=0).max() for part in (gradient, others)]
    if all(largest):
        others = others * (largest[0] / largest[1])
    columns = np.vstack([gradient, others])
    mechanism = find_base(columns, names, order, options.rank_tolerance, box.size)
    left = list(mechanism.independent)
    return mechanism.reduced(triangle[:, left], options.rank_tolerance, box.size[left])


def _parameters(
    problem: Problem,
    base: BaseParameters,
    regression: Regression,
    options: LinearRegressionOptions,
) -> tuple[F64, list[str]]:
    """Return all parameters, and the names of those that a bound holds."""
    start = problem.initial
    if options.dependent == "zero":
        start[list(base.dependent)] = 0.0
    if options.dependent == "minimum-norm":
        inert = list(base.inert)
        start[inert] = np.clip(0.0, problem.lower[inert], problem.upper[inert])
        p = base.minimum_norm(regression.values, start)
    else:
        p = base.with_dependent(regression.values, start)
    lower, upper = problem.lower, problem.upper
    if options.physical:
        lower = np.where(_must_be_positive(problem), np.maximum(lower, 0.0), lower)
    slack = _ON_BOUND * np.maximum(np.abs(p), np.finfo(np.float64).tiny)
    if bool(np.all((p >= lower - slack) & (p <= upper + slack))):
        return np.clip(p, lower, upper), []
    p = within_bounds(regression, base, p, lower, upper)
    active = [*base.independent, *base.dependent]
    return p, [base.names[j] for j in active if p[j] in (lower[j], upper[j])]


def _unmoved(base: BaseParameters, regression: Regression, p: F64) -> bool:
    """Return whether bounds leave the base parameters where least squares have them."""
    moved = np.abs(base.values(p) - regression.values)
    return bool((moved <= _MOVED * (np.abs(base.mapping) @ np.abs(p))).all())


def _tell(
    monitor: Monitor,
    base: BaseParameters,
    regression: Regression,
    bounded: Sequence[str],
    options: LinearRegressionOptions,
) -> None:
    if base.dependent and not bounded:
        names = listed([f"'{base.names[j]}'" for j in base.dependent])
        verb, them = ("acts", "it") if len(base.dependent) == 1 else ("act", "them")
        monitor.note(
            f"{names} {verb} only through the base parameters: any value may be chosen for {them},"
            " and the others move along."
        )
    if base.inert:
        names = listed([f"'{base.names[j]}'" for j in base.inert])
        monitor.note(f"No output changes with {names}: {_left_at(options)}.")
    if bounded:
        names = ", ".join(f"'{n}'" for n in bounded)
        monitor.note(
            f"Least squares without bounds would leave them; the best parameters inside hold"
            f" {names} on a bound."
        )
    if regression.condition > _ILL_CONDITIONED:
        monitor.note(
            f"The condition number of the regressor is {regression.condition:.2g}: the motion"
            " hardly tells some of the parameters apart; choose one that excites them."
        )


def _left_at(options: LinearRegressionOptions) -> str:
    if options.dependent == "minimum-norm":
        return "set to zero, or to the bound next to it"
    return "left at the initial value"


def _validation_note(errors: dict[str, dict[str, float]]) -> str:
    parts = [
        f"{error:.2%} for '{output}' of '{experiment}'"
        for experiment, outputs in errors.items()
        for output, error in outputs.items()
    ]
    return "Held out of the regression and predicted with a relative error of " + (
        ", ".join(parts) + "."
    )


def _training_rows(
    problem: Problem, layout: ResidualLayout, validation: Sequence[str]
) -> npt.NDArray[np.bool_]:
    names = [e.name for e in problem.experiments]
    for name in validation:
        if name not in names:
            raise ProblemError(
                f"[estimator]: 'validation' names the experiment '{name}', which does not exist",
                hint=did_you_mean(name, names, kind="experiment"),
                code=Code.UNKNOWN_NAME,
            )
    if set(validation) >= set(names):
        raise ProblemError(
            "[estimator]: all experiments are held out by 'validation'",
            hint="leave at least one for the regression",
        )
    held = np.array([n in validation for n in names])
    used: npt.NDArray[np.bool_] = ~held[layout.experiment]
    return used


def _order(problem: Problem, prefer: Sequence[str]) -> list[int]:
    names = [q.name for q in problem.free]
    for name in prefer:
        if name not in names:
            raise ProblemError(
                f"[estimator]: 'prefer' names '{name}', which is not a free parameter",
                hint=did_you_mean(name, names, kind="parameter"),
                code=Code.UNKNOWN_NAME,
            )
    first = [names.index(name) for name in dict.fromkeys(prefer)]
    return first + [j for j in range(len(names)) if j not in first]


def _box(problem: Problem) -> Box:
    scale = np.array([q.scale for q in problem.free])
    size = np.maximum(np.abs(problem.initial), np.minimum(scale, problem.upper - problem.lower))
    return Box(problem.initial, problem.lower, problem.upper, size)


def _must_be_positive(problem: Problem) -> npt.NDArray[np.bool_]:
    kinds = [parse_unit(text) for text in _MASS_AND_INERTIA]
    units = [None if q.unit is None else parse_unit(q.unit) for q in problem.free]
    return np.array([u is not None and any(compatible(u, k) for k in kinds) for u in units])
