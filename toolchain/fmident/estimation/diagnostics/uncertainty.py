"""Uncertainty at the final parameters: the local model there, from a Jacobian of measured error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64, root_mean_square
from fmident.estimation.diagnostics.constraints import Active, active_constraints, feasible_set
from fmident.estimation.diagnostics.noise import noise_of
from fmident.estimation.diagnostics.priors import prior_knowledge
from fmident.estimation.result import DerivativeCheck
from fmident.evaluation import Evaluator
from fmident.evaluation.derivatives.verification import Judgement
from fmident.evaluation.solver_error import SolverError, solver_error
from fmident.statistics.identifiability import Identifiability
from fmident.statistics.local_model import LocalModel
from fmident.statistics.prior import PriorRows

if TYPE_CHECKING:
    from fmident.estimation.comparisons import PriorKnowledge
    from fmident.estimation.contract import Estimate
    from fmident.problem.model import Problem


_ACCURATE = 0.01
"""Relative change of a standard error that the derivatives may leave open without more being
done."""

_TIGHTEST = 1e-12
"""Smallest tolerance that is advised."""

_SHIFTED = 0.2
"""Standard errors by which the error of the integration may move an estimate unsaid: intervals
cover 94.6 % in place of 95 %."""

MATTERS = 1e-4
"""Relative change of a value below which it does not matter: data without noise leave nearly no
standard error."""

_VISIBLE, _HIDDEN = 0.5, 0.1
"""Part of the residuals that the error of the integration may cause without a note, and the part
that remains with the tolerance that the note advises."""

_INEXACT = 1e-3
"""Part of the size of the outputs below which the error of the integration may be all of the
residuals."""

_ROUNDING = 1e-9
"""Part of the size of the outputs below which residuals are rounding: the same simulation, with the
same error, has made the data."""

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class VerifiedStatistics:
    """The local model at an estimate, from verified derivatives, with rank and constraints.

    `exact` says that the derivatives are sensitivities, not differences.
    """

    local: LocalModel
    identifiability: Identifiability
    prior: PriorKnowledge | None = None
    active: Active | None = None
    derivatives: DerivativeCheck = field(default_factory=DerivativeCheck)
    exact: bool = False


def uncertainty(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    estimate: Estimate | None = None,
    *,
    verify: bool = True,
    counts_noise: bool = True,
    compare_interfaces: bool = True,
    bounded: bool = True,
) -> VerifiedStatistics:
    """Return covariance, intervals and rank at `p`, from derivatives that are verified there.

    The Jacobian of the search is compared with one from far longer steps. If the difference
    could change a standard error or the rank, the derivatives are computed again along the
    singular directions of the Jacobian, by ladders of central differences, and if no step
    of the ladder suffices, with a tighter tolerance, if the FMU respects it. What remains
    open then is withheld. Exact sensitivities are compared with those at a hundredth of the
    tolerance, which replace them if the difference matters.

    `estimate` has the weights of the residuals (those of weight zero do not count) and the scores
    of a robust loss. Without `verify`, the error of the derivatives is
    only predicted from the measured noise and curvature. `counts_noise` includes noise other
    than white noise of one size; `compare_interfaces` uses Model Exchange to measure the error
    of an FMU that ignores the tolerance; without `bounded`, as away from the minimum, only
    equalities limit the parameters.
    """
    local = _Verification(
        problem, evaluator, p, estimate, counts_noise=counts_noise, bounded=bounded
    )
    if not verify or local.errors is None or evaluator.jacobian_is_given(p):
        statistics = local.completed(local.judge(local.jacobian))
        return replace(statistics, derivatives=DerivativeCheck(evaluator.tolerance))
    integration = evaluator.integration_error(p)
    statistics, tightened = local.verified()
    ignores_tolerance = integration is not None and not integration.any()
    solver = SolverError()
    if ignores_tolerance and compare_interfaces:
        solver = solver_error(problem, local.residuals, p, evaluator.activities)
    error = solver.error if ignores_tolerance else integration
    effect = step = _Effect()
    if error is not None:
        effect = local.effect_of(error, statistics.local, ignores_tolerance=ignores_tolerance)
    if compare_interfaces:
        step = local.step_effect(statistics.local)
    check = DerivativeCheck(
        evaluator.tolerance,
        tightened,
        ignores_tolerance,
        effect.shifts,
        effect.needed,
        solver.interpolation,
        solver.reason,
        step.shifts,
        None if step.needed is None else int(step.needed),
        effect.share,
        step.share,
    )
    return replace(statistics, derivatives=check, exact=evaluator.jacobian_is_exact(p))


@dataclass(frozen=True)
class _Effect:
    """Effect of an error of the simulation on the estimate and on the residuals.

    `shifts` are the changes of parameters, in standard errors, that should be reported.
    `needed` is the tolerance or number of substeps that avoids them, ``None`` if there are
    none or the FMU ignores the tolerance; `enough` is the harmless fraction of the error.
    `share` is its root mean square relative to the residuals, 0 if not worth reporting.
    """

    shifts: Mapping[str, float] = field(default_factory=dict)
    needed: float | None = None
    enough: float | None = None
    share: float = 0.0


def _share_of(error: F64, residuals: F64, outputs: float) -> float:
    """Return the size of an error relative to the residuals, 0 if not worth reporting."""
    size, left = root_mean_square(error), root_mean_square(residuals)
    if left <= _ROUNDING * outputs:
        return 0.0
    return size / left if size > max(_VISIBLE * left, _INEXACT * outputs) else 0.0


def _decade(tolerance: float) -> float:
    """Return the power of ten at or below a tolerance."""
    return float(f"1e{int(np.floor(np.log10(tolerance) + 1e-9))}")


class _Verification:
    """The local model at a point, from a Jacobian that is exact enough for the standard errors.

    The `jacobian` is that of the data along the tangent space, and `errors` are the lengths of the
    errors of its columns.
    """

    def __init__(
        self,
        problem: Problem,
        evaluator: Evaluator,
        p: F64,
        estimate: Estimate | None,
        *,
        counts_noise: bool,
        bounded: bool,
    ) -> None:
        self._problem, self._evaluator, self._p, self._estimate = problem, evaluator, p, estimate
        weights = None if estimate is None else estimate.residual_weights
        jacobian, self.residuals = evaluator.data_jacobian(p), evaluator.data_residuals(p)
        factors = np.ones(self.residuals.size)
        if weights is not None:
            factors = weights[: self.residuals.size]
        self._used = factors != 0.0
        self._factors = factors[self._used]
        model = LocalModel(
            [q.name for q in problem.free],
            p,
            self._weighted(jacobian),
            self._weighted(self.residuals),
            problem.sigma_known,
            [q.unit for q in problem.free],
            self._column_errors(),
            scores=None if estimate is None else estimate.residual_scores,
            prior=PriorRows.at(problem, p),
            feasible=feasible_set(problem, p, estimate, bounded=bounded),
        )
        model = replace(model, holding=model.holds)
        if counts_noise:
            model = _with_noise(problem, model, self._used)
        self._model, self._full = model, jacobian
        self._basis, self._free = model.tangent.basis, model.moving
        self.jacobian = jacobian @ self._basis
        self.errors = model.derivatives[2]

    def _weighted(self, values: F64) -> F64:
        rows: F64 = (values[self._used].T * self._factors).T
        return rows

    def _column_errors(self) -> F64 | None:
        errors = self._evaluator.column_errors(self._p)
        return None if errors is None else errors * root_mean_square(self._factors)

    def judge(self, jacobian: F64, spread: F64 | None = None) -> LocalModel:
        """Return the local model from derivatives along the tangent space."""
        full = self._full.copy()
        full[:, self._free] += (jacobian - self._full @ self._basis)[:, self._free]
        return replace(
            self._model,
            jacobian=self._weighted(full),
            column_errors=self._column_errors(),
            spread=None if spread is None else self._weighted(spread),
        )

    def completed(self, model: LocalModel) -> VerifiedStatistics:
        model = replace(model, holding=replace(model, holding=None).holds)  # as verified
        identifiability, (prior, by) = model.identifiability, prior_knowledge(self._problem, model)
        verdict = f"{identifiability.verdict} {by}".rstrip()
        identifiability = replace(identifiability, verdict=verdict)
        active = active_constraints(self._problem, self._p, model)
        return VerifiedStatistics(model, identifiability, prior, active)

    def effect_of(self, error: F64, model: LocalModel, *, ignores_tolerance: bool) -> _Effect:
        problem, evaluator, p = self._problem, self._evaluator, self._p
        tolerance, error = evaluator.tolerance, self._weighted(error)
        share = _share_of(error, self._weighted(self.residuals), evaluator.output_magnitude(p))
        # Priors are not integrated.
        changes = np.abs(model.answer(np.append(error, np.zeros(model.priors))))
        size = np.maximum(np.abs(p), np.abs(problem.initial))
        # Data that the same simulation has made leave no residuals, and no standard errors.
        least = _EPS * np.where(size > 0.0, size, 1.0)
        shifts = changes / np.maximum(model.standard_errors, least)
        matters = (np.nan_to_num(shifts) > _SHIFTED) & (changes > MATTERS * size)
        if not matters.any() and not share:
            return _Effect()
        parts = np.maximum(_SHIFTED / shifts[matters], MATTERS * size[matters] / changes[matters])
        enough = float(min([*parts, _HIDDEN / share if share else np.inf]))
        needed = None
        if not ignores_tolerance and tolerance is not None:
            order = evaluator.integration_order(p)
            needed = _decade(max(tolerance * (0.5 * enough) ** (1.0 / order), _TIGHTEST))
        named = zip(problem.free, shifts.tolist(), matters, strict=True)
        return _Effect({q.name: x for q, x, m in named if m}, needed, enough, share)

    def step_effect(self, model: LocalModel) -> _Effect:
        """Return the effect of half the communication step."""
        halved = self._evaluator.step_error(self._p)
        integration = self._evaluator.integration_error(self._p)
        # A step of another size gives an integrator other errors, as large as the tolerance allows.
        expected = 0.0 if integration is None else float(np.linalg.norm(integration))
        if halved is None or float(np.linalg.norm(halved)) <= expected:
            return _Effect()
        step = self.effect_of(halved, model, ignores_tolerance=True)
        if step.enough is None:
            return step
        # An error of first order is twice what half the step changes.
        least = 4.0 / step.enough
        power = 10.0 ** np.floor(np.log10(least))
        count = min(k * power for k in (1, 2, 5, 10) if k * power >= least)
        return replace(step, needed=self._problem.evaluation.substeps * count)

    def verified(self) -> tuple[VerifiedStatistics, float | None]:
        """Return the local model, and the tolerance of the derivatives if it was tightened."""
        if not self._free.size:
            return self.completed(self.judge(self.jacobian)), None
        models: list[tuple[F64, LocalModel]] = []

        def judge(jacobian: F64, errors: F64) -> Judgement:
            whole, spread = self.jacobian.copy(), np.zeros_like(self.jacobian)
            whole[:, self._free], spread[:, self._free] = jacobian, errors
            model = self.judge(whole, spread)
            models.append((jacobian, model))
            undecided, doubt = _worth(model)
            return Judgement(
                enough=doubt <= _ACCURATE and not undecided,
                doubt=(undecided, doubt),
                complete=model.analysis.rank == self._free.size,
                noise=model.noise,
                rows=model.data_jacobian[:, self._free],
            )

        weights = np.zeros(self._used.size)
        weights[self._used] = self._factors
        directions = self._basis[:, self._free]
        verified = self._evaluator.verified_jacobian(self._p, judge, directions, weights)
        known = [model for jacobian, model in models if jacobian is verified.jacobian]
        model = known[-1] if known else self.judge(self.jacobian)
        return self.completed(model), verified.tolerance


def _with_noise(problem: Problem, model: LocalModel, used: npt.NDArray[np.bool_]) -> LocalModel:
    """Return the model with the noise of its residuals; `used` are those that count, shape (m,)."""
    for _ in range(2):  # noise that is not white may leave less to hold the estimate
        right = model.right[: model.samples]
        # What a bound takes from the fit is not noise.
        fitted = model.jacobian @ model.released.tangent.basis
        size = 1.0 if model.scores is None else model.noise
        noise = noise_of(problem, right, fitted, used, size=size)
        again = replace(model, coloured=noise, holding=None)
        same = bool((again.holds == model.holds).all())
        model = replace(again, holding=again.holds)
        if same:
            break
    return model


def _worth(model: LocalModel) -> tuple[int, float]:
    """Return a sort key that is lower for a better model."""
    return len(model.undecided), float(model.doubts.max(initial=0.0))
