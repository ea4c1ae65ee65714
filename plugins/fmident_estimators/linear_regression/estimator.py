"""The estimator ``linear-regression``: parameters in which the outputs are linear.

**Base parameters by energy** need the gradient of the total energy at random states of the
mechanism. The FMU of an inverse model takes positions and speeds as inputs and closes the kinematic
loops itself, so that random inputs are random admissible states. Where it iterates from the state
before and a random one is too far away, small steps lead there (eq. 5 of the paper).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy import optimize

from fmident.arrays import F64
from fmident.data.experiment import Experiment
from fmident.errors import EstimationError, ProblemError, unknown_name
from fmident.estimation.contract import Estimate, Estimator, Monitor, Requirement
from fmident.evaluation import Evaluator
from fmident.options import INSIDE_UNIT, NOT_NEGATIVE, Options, Range
from fmident.problem.model import Problem
from fmident.problem.residuals import ResidualLayout, compared_values, residual_layout
from fmident.units import compatible, parse_unit
from fmident.words import listed
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
from fmident_estimators.linear_regression.consistency import (
    Body,
    all_consistent,
    bodies_of,
    consistent_parameters,
)

_RANDOM_POINTS = 3
_ILL_CONDITIONED = 1e3
_MASS_AND_INERTIA = ("kg", "kg.m2")
_ON_BOUND = 1e-9
_MOVED = 1e-8
"""Relative change of a base parameter that is more than rounding."""

_TESTS = 3
"""Points at which linearity is tested; for the expected effort only."""

_CONSISTENCY_HOLDS = (
    "Least squares would leave bodies that no distribution of mass has: 'consistent' holds them."
    " Standard errors and intervals are those of the regression without it, around the consistent"
    " estimate."
)

Dependent = Literal["initial", "zero", "minimum-norm"]

_ITERATIONS = 50
_SETTLED = 1e-8

_PULL = 1e-6
"""Weight that keeps the chosen dependent parameters, relative to the data."""

_STEPS = 100
"""Steps from one random state to the next, where it cannot be reached at once."""

_CONSTANT = 1e-10
"""A column that varies by less than this part of its length is a constant: energies are known
up to a constant, and forces do not depend on it."""


@dataclass(frozen=True)
class LinearRegressionOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    energies
        Variables of the FMU whose sum is the total energy, such as
        ``["kineticEnergy", "potentialEnergy"]``. The base parameters then follow from the
        mechanism, regardless of the data; otherwise from the regressor of the data.
    prefer
        Parameters that should be independent, the most preferred first. The others follow
        in the order of the problem file: of parameters with the same effect, the first
        stays.
    dependent
        Values of the dependent parameters, which do not change the base parameters.
        ``"initial"``: their initial values; ``"zero"``; ``"minimum-norm"``: the least sum
        of squares of all parameters, those without influence at zero or at the nearest
        bound. If a bound holds parameters that have influence, the others stay close to
        that choice.
    weighting
        ``"problem"``: residuals are weighted as in the problem file (sigma, weight).
        ``"residual"``: each output is also weighted by the inverse standard deviation of
        its own residuals, iterated.
    validation
        Names of experiments that are left out of the regression and only predicted.
    physical
        Masses and moments of inertia (recognised by their units kg and kg.m2) are not
        negative. The bounds of the problem hold in any case.
    consistent
        The bodies are distributions of mass: the pseudo-inertia of each is positive
        semidefinite. Bodies are recognised by the names of their parameters, the elements
        Ixx, Ixy, Ixz, Iyy, Iyz, Izz of the inertia tensor about the origin of the body's
        frame, the first moments mx, my, mz and the mass m, followed by what tells them from
        other bodies, such as ``Ixx[2]``. Intervals are those of the regression without it.
    random_states
        Number of random states at which the energies are evaluated.
    seed
        Seed of the random states and of the linearity test.
    linearity_tolerance
        Maximum error of superposition, relative to the change of the outputs.
    rank_tolerance
        A column counts as dependent when its part orthogonal to the preferred ones is
        smaller than this fraction of its length.
    """

    energies: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    dependent: Dependent = "initial"
    weighting: Literal["problem", "residual"] = "problem"
    validation: tuple[str, ...] = ()
    physical: bool = False
    consistent: bool = False
    random_states: Annotated[int, Range(least=2)] = 200
    seed: Annotated[int, NOT_NEGATIVE] = 0
    linearity_tolerance: Annotated[float, INSIDE_UNIT] = 1e-6
    rank_tolerance: Annotated[float, INSIDE_UNIT] = 1e-7


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
        """Return the simulations for differences of data and energies, tests and the result."""
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
        """Compute the regressor, determine the base parameters and solve.

        Raises `ProblemError` if the outputs or energies are not linear in the parameters, for
        unknown names and too few data; `EstimationError` if a required simulation fails.
        """
        layout = residual_layout(problem)
        used = _training_rows(problem, layout, options.validation)
        order = _order(problem, options.prefer)
        box = _box(problem)
        monitor.iteration(problem.initial, evaluator.cost(problem.initial))
        model, missed = regressor(evaluator, box, options)
        base = _base_parameters(evaluator, box, model, used, order, options)
        columns, y = _equations(model, box, base)
        if options.weighting == "residual":
            groups = output_groups(problem, layout)
            regression, weights, iterations = reweighted(columns, y, used, groups)
        else:
            weights, iterations = used.astype(np.float64), 0
            regression = least_squares(columns, y, weights)
        bodies = bodies_of(problem) if options.consistent else ()
        p, bounded = _parameters(problem, base, regression, bodies, options)
        # The model is linear: its Jacobian is the same everywhere, and known.
        evaluator.remember_jacobian(p, model.matrix, missed * np.linalg.norm(model.matrix, axis=0))
        errors = relative_errors(problem, layout, evaluator.residuals(p))
        monitor.iteration(p, evaluator.cost(p))
        held_out = {name: errors.pop(name) for name in dict.fromkeys(options.validation)}
        _note(monitor, base, regression, bounded, held_out, options)
        moved = not _unmoved(base, regression, p)
        if bodies and moved:
            monitor.note(_CONSISTENCY_HOLDS)
        details: dict[str, object] = {
            "dependent_parameters": {base.names[j]: float(p[j]) for j in base.dependent},
            "condition_number": regression.condition,
            "superposition_error": missed,
            "training_relative_error": errors,
        }
        if bodies:
            details["least_eigenvalues"] = {b.name: b.least_eigenvalue(p) for b in bodies}
        if held_out:
            details["validation_relative_error"] = held_out
        message = (
            f"{np.count_nonzero(used)} equations for {len(base.independent)} base parameters,"
            f" condition number {regression.condition:.3g}"
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
            base=base.combinations if bodies or not moved else (),
            constrained=bool(bodies) and moved,
        )


def regressor(
    evaluator: Evaluator, box: Box, options: LinearRegressionOptions
) -> tuple[AffineModel, float]:
    """Return the residuals as an affine model, and the error of superposition.

    Raises `ProblemError` with the names of nonlinear parameters.
    """
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
        names = [q.name for q in evaluator.problem.free]
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
    if not evaluator.differenced:
        base = evaluator.residuals(box.center)
        if not bool(np.isfinite(base).all()):
            raise FailedEvaluationError
        jacobian = evaluator.jacobian(box.center)
        if evaluator.jacobian_is_exact(box.center):
            return affine_from_derivatives(base, jacobian, box)
    return affine_model(evaluator.probe, box)


def _equations(model: AffineModel, box: Box, base: BaseParameters) -> tuple[F64, F64]:
    """Return the columns of the base parameters, shape (m, b), and y, shape (m,)."""
    # r(p) = y - Phi p: fixed parameters and the experiment's own values are in y already.
    phi = -model.matrix
    inert = list(base.inert)
    y = model.base + phi @ box.center - phi[:, inert] @ box.center[inert]
    return phi[:, list(base.independent)], y


def _base_parameters(
    evaluator: Evaluator,
    box: Box,
    model: AffineModel,
    used: npt.NDArray[np.bool_],
    order: Sequence[int],
    options: LinearRegressionOptions,
) -> BaseParameters:
    """Return the base parameters of the mechanism that the data determine."""
    names = [q.name for q in evaluator.problem.free]
    # The triangle stands for all rows: lengths and angles of its columns are the same.
    triangle: F64 = np.asarray(np.linalg.qr(model.matrix[used], mode="r"))
    lengths, samples = np.linalg.norm(triangle, axis=0), int(np.count_nonzero(used))
    if samples <= np.count_nonzero(lengths):
        raise ProblemError(f"{samples} samples are too few for {len(names)} parameters")
    if not bool(np.any(lengths > 0.0)):
        raise ProblemError(
            "no output changes with any of the parameters",
            hint="measure an output that depends on them",
        )
    if not options.energies:
        return find_base(triangle, names, order, options.rank_tolerance, box.size)
    gradient = energy_gradient(evaluator, box, options)
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
    bodies: Sequence[Body],
    options: LinearRegressionOptions,
) -> tuple[F64, list[str]]:
    """Return all parameters, and the names of those at a bound."""
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
    inside = bool(np.all((p >= lower - slack) & (p <= upper + slack)))
    if inside and all_consistent(bodies, p):
        return np.clip(p, lower, upper), []
    if bodies:
        matrix, target = _held(regression, base, p)
        p = consistent_parameters(
            matrix, target, bodies, start, lower, upper,
            lambda q: base.with_dependent(regression.values, q),
        )  # fmt: skip
    else:
        p = within_bounds(regression, base, p, lower, upper)
    active = [*base.independent, *base.dependent]
    return p, [base.names[j] for j in active if p[j] in (lower[j], upper[j])]


def _unmoved(base: BaseParameters, regression: Regression, p: F64) -> bool:
    """Return whether the bounds leave the base parameters at their least-squares values."""
    differences = np.abs(base.values(p) - regression.values)
    return bool((differences <= _MOVED * (np.abs(base.mapping) @ np.abs(p))).all())


def _note(
    monitor: Monitor,
    base: BaseParameters,
    regression: Regression,
    bounded: Sequence[str],
    held_out: Mapping[str, Mapping[str, float]],
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
        left = "left at the initial value"
        if options.dependent == "minimum-norm":
            left = "set to zero, or to the bound next to it"
        monitor.note(f"No output changes with {names}: {left}.")
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
    if held_out:
        parts = [
            f"{error:.2%} for '{output}' of '{experiment}'"
            for experiment, outputs in held_out.items()
            for output, error in outputs.items()
        ]
        monitor.note(
            f"Held out of the regression and predicted with a relative error of {', '.join(parts)}."
        )


def _training_rows(
    problem: Problem, layout: ResidualLayout, validation: Sequence[str]
) -> npt.NDArray[np.bool_]:
    names = [e.name for e in problem.experiments]
    _refuse_unknown(
        validation, names, "'validation' names the experiment", "which does not exist", "experiment"
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
    _refuse_unknown(prefer, names, "'prefer' names", "which is not a free parameter", "parameter")
    first = [names.index(name) for name in dict.fromkeys(prefer)]
    return first + [j for j in range(len(names)) if j not in first]


def _refuse_unknown(
    given: Sequence[str], names: Sequence[str], subject: str, trait: str, kind: str
) -> None:
    for name in given:
        if name not in names:
            raise ProblemError(
                f"[estimator]: {subject} '{name}', {trait}", **unknown_name(name, names, kind)
            )


def _box(problem: Problem) -> Box:
    scale = np.array([q.scale for q in problem.free])
    size = np.maximum(np.abs(problem.initial), np.minimum(scale, problem.upper - problem.lower))
    return Box(problem.initial, problem.lower, problem.upper, size)


def _must_be_positive(problem: Problem) -> npt.NDArray[np.bool_]:
    kinds = [parse_unit(text) for text in _MASS_AND_INERTIA]
    units = [None if q.unit is None else parse_unit(q.unit) for q in problem.free]
    return np.array([u is not None and any(compatible(u, k) for k in kinds) for u in units])


def relative_errors(
    problem: Problem, layout: ResidualLayout, residuals: F64
) -> dict[str, dict[str, float]]:
    """Return ``norm(measured - predicted) / norm(measured)`` by experiment and output."""
    ratios: dict[str, dict[str, float]] = {}
    for i, experiment in enumerate(problem.experiments):
        outputs = ratios.setdefault(experiment.name, {})
        for j, measurement in enumerate(experiment.measurements):
            measured = compared_values(measurement)
            measured = measured[np.isfinite(measured)]
            size = float(np.linalg.norm(measured))
            missed = np.linalg.norm(residuals[layout.rows_of(i, j)] / measurement.whitening)
            outputs[measurement.name] = float(missed) / size if size > 0.0 else float("nan")
    return ratios


def output_groups(problem: Problem, layout: ResidualLayout) -> list[npt.NDArray[np.intp]]:
    """Return the rows of each output over all experiments, which share a sensor's noise."""
    rows: dict[str, list[npt.NDArray[np.intp]]] = {}
    for i, experiment in enumerate(problem.experiments):
        for j, measurement in enumerate(experiment.measurements):
            rows.setdefault(measurement.name, []).append(layout.rows_of(i, j))
    return [np.concatenate(parts) for parts in rows.values()]


@dataclass(frozen=True)
class Regression:
    """Weighted least squares ``min ||w (y - columns b)||``, with b as `values`.

    ``||w (y - columns b)||^2 = ||right - triangle b||^2`` + constant, with the shapes
    (b, b) and (b,). `condition` is the condition number of the weighted columns scaled to
    unit length, 1 at best.
    """

    values: F64
    triangle: F64
    right: F64
    condition: float


def least_squares(columns: F64, y: F64, weights: F64) -> Regression:
    """Solve the weighted problem of full rank by QR of columns scaled to unit length."""
    weighted = columns * weights[:, np.newaxis]
    lengths = np.linalg.norm(weighted, axis=0)
    q, r = np.linalg.qr(weighted / lengths)
    right = q.T @ (weights * y)
    scaled = np.linalg.solve(r, right)
    return Regression(scaled / lengths, r * lengths, right, float(np.linalg.cond(r)))


def reweighted(
    columns: F64, y: F64, used: npt.NDArray[np.bool_], groups: Sequence[npt.NDArray[np.intp]]
) -> tuple[Regression, F64, int]:
    """Weight each output by the inverse standard deviation of its residuals.

    The deviations are iterated from the residuals of the previous solution until they
    settle (feasible generalised least squares). `used` says which rows count, `groups` are
    the rows of each output. Returns the regression, the weights and the number of
    iterations.
    """
    weights = used.astype(np.float64)
    regression = least_squares(columns, y, weights)
    groups = [rows[used[rows]] for rows in groups if used[rows].any()]
    share = regression.values.size / len(groups)  # of the parameters, as if spread evenly
    rounding = float(np.finfo(np.float64).eps * np.abs(y[used]).max()) or 1.0
    before = np.ones(len(groups))
    iteration = 0
    settled = False
    while not settled and iteration < _ITERATIONS:
        iteration += 1
        plain = y - columns @ regression.values
        deviations = np.array(
            [np.linalg.norm(plain[rows]) / np.sqrt(max(rows.size - share, 1.0)) for rows in groups]
        )
        # An output that is met exactly would get all the weight; where all are, rounding counts.
        deviations = np.maximum(deviations, max(1e-9 * float(deviations.max()), rounding))
        for rows, deviation in zip(groups, deviations, strict=True):
            weights[rows] = 1.0 / deviation
        regression = least_squares(columns, y, weights)
        settled = bool(np.all(np.abs(deviations - before) <= _SETTLED * deviations))
        before = deviations
    return regression, weights, iteration


def within_bounds(
    regression: Regression, base: BaseParameters, chosen: F64, lower: F64, upper: F64
) -> F64:
    """Return the least-squares parameters within the bounds, shape (n,).

    All parameters move, including dependent ones, so that a bound increases the cost as
    little as possible; what the data do not determine stays at `chosen`, the solution
    without bounds.
    """
    active = [j for j in (*base.independent, *base.dependent) if lower[j] != upper[j]]
    start = np.clip(chosen, lower, upper)
    matrix = regression.triangle @ base.mapping[:, active]
    lengths = np.linalg.norm(matrix, axis=0)
    rest = [j for j in range(chosen.size) if j not in active]
    target = regression.right - regression.triangle @ (base.mapping[:, rest] @ start[rest])
    pull = _PULL * np.eye(len(active))
    solution = optimize.lsq_linear(
        np.vstack([matrix / lengths, pull]),
        np.concatenate([target, pull @ (start[active] * lengths)]),
        bounds=(lower[active] * lengths, upper[active] * lengths),
        method="bvls",
    )
    bounded = start.copy()
    bounded[active] = np.clip(solution.x / lengths, lower[active], upper[active])
    return bounded


def _held(regression: Regression, base: BaseParameters, chosen: F64) -> tuple[F64, F64]:
    """Return matrix and right side of least squares that hold at `chosen` what data leave open."""
    matrix = regression.triangle @ base.mapping
    lengths = np.linalg.norm(matrix, axis=0)
    pull = _PULL * np.where(lengths > 0.0, lengths, lengths.max())
    return (
        np.vstack([matrix, np.diag(pull)]),
        np.concatenate([regression.right, pull * chosen]),
    )


def random_experiment(
    experiments: Sequence[Experiment], count: int, generator: np.random.Generator, steps: int = 1
) -> Experiment:
    """Return an experiment with random inputs, each within its measured range.

    Start values are those of the first experiment. `count` is the number of random
    instants, with `steps` steps along a straight line from each to the next.
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


def energy_gradient(evaluator: Evaluator, box: Box, options: LinearRegressionOptions) -> F64:
    """Return the centred gradient of the total energy with respect to the parameters.

    Its shape is (states, n), with zero columns for parameters that change the energy not at
    all or only by a constant. Raises `ProblemError` if that is not linear in the parameters
    or no input changes it.
    """
    problem = evaluator.problem
    if not problem.experiments[0].inputs:
        raise ProblemError(
            "'energies' needs an inverse model, whose inputs are the motion; this problem has no"
            " inputs",
            hint="leave 'energies' out: the base parameters then follow from the data",
        )
    tolerance = options.linearity_tolerance
    for steps in (1, _STEPS):
        generator = np.random.default_rng(options.seed)
        experiment = random_experiment(problem.experiments, options.random_states, generator, steps)

        def total(points: F64, experiment: Experiment = experiment, steps: int = steps) -> F64:
            simulated = evaluator.simulate_outputs(experiment, options.energies, points)
            return np.asarray(simulated[:, ::steps].sum(axis=2), dtype=np.float64)

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
        names = [q.name for q in problem.free]
        guilty = nonlinear_parameters(total, model, box, tolerance, names)
        raise ProblemError(
            f"the total energy {' + '.join(options.energies)} is not linear in {guilty}:"
            f" superposition misses by {worst:.2g}",
            hint="'energies' takes the energies of an inverse model whose parameters are the"
            " standard inertial parameters (moments about the joints, not centres of mass)",
        )
    lengths = np.linalg.norm(model.matrix, axis=0)
    gradient: F64 = model.matrix - model.matrix.mean(axis=0)
    gradient[:, np.linalg.norm(gradient, axis=0) <= _CONSTANT * lengths] = 0.0
    return gradient
