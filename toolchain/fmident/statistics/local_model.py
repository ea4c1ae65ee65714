"""The quadratic model of the cost at an estimate, from which all uncertainty follows.

**Start here** to see how an interval comes about. Near the solution of least squares the residuals
are ``r = e + J d``, with the noise e and the change d of n parameters. Everything else is an input
of one algebra, and nothing corrects its results. The steps, in the order of the code below; the
formulas are in docs/explanation/local-model.md:

1. **Noise.** S is the covariance of e: white of one size, or what tests find in the residuals, such
   as an autoregression (:mod:`~fmident.statistics.noise.covariance`).
2. **Rows.** Residuals and Jacobian of the data, weighted. Below them a row for each prior, whose
   noise is known (:mod:`~fmident.statistics.prior`).
3. **What holds.** Of the active inequalities, those hold the estimate that push against it by more
   than the noise may. With the equalities they leave the tangent space T
   (:mod:`~fmident.statistics.feasible_set`).
4. **Rank.** Singular values of ``J T``, against what the errors of the derivatives can produce,
   divide T into what the rows determine and what they leave open
   (:mod:`~fmident.statistics.rank`; in words :mod:`~fmident.statistics.identifiability`).
5. **Covariance.** The estimate answers to noise with ``d = A e``, ``A = -T (J T)^+`` on the
   determined directions: its covariance is ``A S A^T``. Each quantity has degrees of freedom of its
   own.
6. **Intervals** are the range of a quantity over the feasible set, within the quantile t of its
   degrees of freedom: ``estimate +- t * standard error`` where no inequality is within reach
   (:mod:`~fmident.statistics.intervals`).
7. **Errors of the derivatives** that are too large for a standard error, or to decide on the rank,
   withhold it.

Where the model bends more than a quadratic one, the profile likelihood gives the interval in place
of step 6 (:mod:`fmident.estimation.diagnostics.curvature`, :mod:`fmident.profiles.intervals`).
:func:`fmident.estimation.diagnostics.uncertainty.uncertainty` collects the inputs for a problem.

For coloured noise, a prior, and a parameter on its bound: `coloured` is the model of the noise.
`rows` has the prior last. `holds` compares the multiplier of the bound, in which the prior takes
part, with its standard deviation under that noise; if it holds, the parameter leaves `tangent`.
`answer_to_noise` mixes the `response` to the rows by the noise, and `covariance` is its product
with itself. `freedoms` are those of the noise model, more where the prior contributes. `region` is
the ellipsoid of the model *without* the bound, and `intervals` are its range on the allowed side.

Sources: Seber and Wild, Nonlinear Regression, 1989, sections 2.1.2 and 5.1; for constraints
Silvapulle and Sen, Constrained Statistical Inference, 2005, chapter 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64, Flags
from fmident.statistics.distributions import correlation_of, student_quantile, student_quantiles
from fmident.statistics.feasible_set import (
    FeasibleSet,
    Tangent,
    holding_inequalities,
    tangent_of,
)
from fmident.statistics.identifiability import (
    Identifiability,
    describe,
    determined_combinations,
    weakest_directions,
)
from fmident.statistics.intervals import CANCELLED, ROUNDED, Region, moved_by
from fmident.statistics.noise.covariance import NoiseFinding
from fmident.statistics.prior import PriorRows
from fmident.statistics.rank import RankAnalysis, analyse_rank, standard_error_doubts
from fmident.statistics.residuals import ResidualScores

LEVEL = 0.95

ALLOWED = 0.03
"""Relative change of a standard error that the derivatives may leave open."""

_POORLY = 0.25
"""Relative standard error above which a parameter counts as not determined."""

_FINEST = 1e-6
"""Standard deviation of unknown noise at least, over what the parameters contribute to the outputs:
less is rounding of the derivatives, beside which priors would count for nothing."""


@dataclass(frozen=True, eq=False)
class LocalModel:
    """Least squares near its solution, for n free parameters.

    Parameters
    ----------
    names, values, units
        Of the parameters, at the estimate.
    jacobian, residuals
        Of the data, over the standard deviation of the noise where `sigma_known`, shapes (m, n)
        and (m,).
    column_errors, spread
        Lengths of the errors of the Jacobian's columns, ``None`` if exact, or the difference of
        two independent estimates of it.
    scores
        Of a robust loss; the variance follows from them, for known noise, too.
    prior
        Of the parameters, with absolute standard deviations.
    coloured
        Noise other than white noise of one size.
    feasible
        Constraints and bounds; by default none.
    holding
        Which inequalities hold the estimate, shape (l,); by default as their multipliers say.
    kinks
        Parameters whose derivatives are wrong, since the cost jumps or bends, shape (n,).
    """

    names: Sequence[str]
    values: F64
    jacobian: F64
    residuals: F64
    sigma_known: bool
    units: Sequence[str | None] | None = None
    column_errors: F64 | None = None
    spread: F64 | None = None
    scores: ResidualScores | None = None
    prior: PriorRows | None = None
    coloured: NoiseFinding | None = None
    feasible: FeasibleSet | None = None
    holding: Flags | None = None
    kinks: Flags | None = None

    # ---------------------------------------------------------- 1. noise

    @cached_property
    def residual_variance(self) -> float:
        """Variance of the residuals: 1 if the noise is known; from the scores of a robust loss."""
        if self.scores is not None:
            return self.scores.variance(self.analysis.rank)
        if self.sigma_known:
            return 1.0
        right = self.residuals if self.prior is not None else self.right
        return _variance(right, self.degrees_of_freedom)

    @cached_property
    def noise(self) -> float:
        """Standard deviation of the rows' noise."""
        if self.prior is None or self.sigma_known:
            return float(np.sqrt(self.residual_variance))
        jacobian = self.derivatives[0][:, self.moving]
        reach = np.linalg.norm(jacobian, axis=0) * np.abs(self.values[self.moving])
        least = _FINEST * float(np.max(reach, initial=0.0)) / float(np.sqrt(self.samples))
        return max(float(np.sqrt(_variance(self.residuals, self.degrees_of_freedom))), least)

    @property
    def prior_noise(self) -> float:
        """Standard deviation of the noise of the rows of priors, which scales them.

        It is that of the data. Where the noise is known, a robust loss has a smaller curvature than
        squares: beside rows of the data over its root, those of priors have to be larger.
        """
        if self.scores is None or self.prior is None or not self.sigma_known:
            return self.noise
        slope = self.scores.mean_slope
        return 1.0 / float(np.sqrt(slope)) if slope > 0.0 else 1.0

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the noise; infinite if it is known."""
        if self.sigma_known and self.scores is None:
            return np.inf
        return float(self.degrees_of_freedom)

    @property
    def degrees_of_freedom(self) -> int:
        """Samples beyond those that determine the parameters."""
        if self.prior is not None:
            return self.samples - self.moving.size
        return self.samples - int(self.analysis.rank)

    def _mixed(self, responses: F64, *, white: bool = False) -> F64:
        """Return the answers of quantities to noise of variance 1 from those to the rows.

        The noise is `white` of one size, or what the residuals show.
        """
        data, priors = np.hsplit(responses, [self.samples])
        known = None if white else self.coloured
        mixed = self.noise * data if known is None else known.answers_to_innovations(data)
        return np.hstack([mixed, self.prior_noise * priors])

    # ---------------------------------------- 2. rows of data and priors

    @cached_property
    def derivatives(self) -> tuple[F64, F64 | None, F64 | None]:
        """Jacobian of the data along the tangent space, its spread and its columns' errors."""
        basis, spread, errors = self.tangent.basis, self.spread, self.column_errors
        jacobian = self.jacobian
        if self.moving.size < basis.shape[1]:
            jacobian = jacobian @ basis
            spread = None if spread is None else spread @ basis
            errors = None if errors is None else np.sqrt(errors**2 @ basis**2)
        if self.prior is None:
            return jacobian, spread, errors
        return self.prior.along(basis).without_invisible(jacobian, spread, errors)

    @property
    def data_jacobian(self) -> F64:
        """Rows of the data along the tangent space, shape (m, n)."""
        return self.derivatives[0]

    @cached_property
    def _stacked(self) -> tuple[F64, F64, F64 | None]:
        """Rows of data and priors: Jacobian, residuals and spread."""
        jacobian, spread, _ = self.derivatives
        right = self.residuals if self.scores is None else self.scores.as_residuals
        if self.prior is None:
            return jacobian, right, spread
        prior = self.prior.along(self.tangent.basis)
        return prior.below(jacobian, right, spread, self.prior_noise)

    @property
    def rows(self) -> F64:
        """Jacobian of data and priors, in units of the noise, along the tangent space."""
        return self._stacked[0]

    @property
    def right(self) -> F64:
        """Residuals of data and priors; of a robust loss, those with the same step."""
        return self._stacked[1]

    @property
    def samples(self) -> int:
        """Number of rows of data."""
        return self.residuals.size

    @property
    def priors(self) -> int:
        """Number of rows of priors, the last ones."""
        return 0 if self.prior is None else self.prior.deviations.size

    # ------------------------------ 3. what holds, and the tangent space

    @cached_property
    def limits(self) -> FeasibleSet:
        """Bounds and constraints; without any, everything is allowed."""
        return FeasibleSet.everything(self.values.size) if self.feasible is None else self.feasible

    @cached_property
    def holds(self) -> Flags:
        """Which inequalities hold the estimate, shape (l,).

        Without one of these, the estimate would pass it by more than the reach of an interval.
        """
        return self._holding() if self.holding is None else self.holding

    def _holding(self, quantile: float | None = None) -> Flags:
        """Return which inequalities have a multiplier above `quantile` standard deviations."""
        active = self.limits.active
        if not active.any():
            return active
        free = replace(self, holding=np.zeros_like(active), spread=None)
        if quantile is None:
            # Without a measure of the noise, any multiplier above zero holds.
            quantile = float(np.nan_to_num(student_quantile(0.5 * (1.0 + LEVEL), free.freedom)))

        def deviation(weights: F64) -> float:
            return float(np.linalg.norm(free._mixed(weights[np.newaxis])))

        return holding_inequalities(
            self.limits, self._sizes, free.rows, free.right, deviation, quantile
        )

    @cached_property
    def released(self) -> LocalModel:
        """The model in which no inequality holds the estimate; they still cut its intervals."""
        if not self.holds.any():
            return self
        none = np.zeros(self.holds.size, dtype=np.bool_)
        return replace(self, holding=none)

    def releasing(self, parameters: Sequence[int]) -> LocalModel:
        """Return the model in which no bound holds these parameters."""
        own = np.zeros(self.values.size, dtype=np.bool_)
        own[list(parameters)] = True
        theirs = self.holds & ~(self.limits.rows != 0.0)[:, ~own].any(axis=1)
        if not theirs.any():
            return self
        return replace(self, holding=self.holds & ~theirs)

    @cached_property
    def tangent(self) -> Tangent:
        """The directions in which the parameters can move."""
        rows = np.vstack([self.limits.equal, self.limits.rows[self.holds]])
        return tangent_of(rows, self._sizes)

    @property
    def moving(self) -> npt.NDArray[np.intp]:
        """Indices of the parameters that are neither held nor follow from others."""
        return self.tangent.moving

    @property
    def on_bound(self) -> Flags:
        """Whether a parameter is held by a bound or constraints, shape (n,)."""
        return np.asarray(~self.tangent.basis.any(axis=1))

    @cached_property
    def _sizes(self) -> F64:
        """Scales of the parameters, for what depends on units else."""
        norms = np.linalg.norm(self.jacobian, axis=0)
        return 1.0 / np.where(norms > 0.0, norms, 1.0)

    # ----------------------------------------------------------- 4. rank

    @cached_property
    def analysis(self) -> RankAnalysis:
        """Rank of the Jacobian of the `moving` parameters."""
        jacobian, _, spread = self._stacked
        errors = self.derivatives[2]
        return analyse_rank(
            jacobian[:, self.moving],
            None if errors is None else errors[self.moving],
            None if spread is None else spread[:, self.moving],
        )

    @property
    def column_norms(self) -> F64:
        """Lengths of the columns of the rows, shape (n,); 0 for what does not move."""
        norms = np.zeros(self.values.size)
        norms[self.moving] = self.analysis.column_norms
        return norms

    @cached_property
    def open_directions(self) -> F64:
        """Directions of the parameters that the data leave open, as columns, shape (n, d)."""
        analysis, basis = self.analysis, self.tangent.basis[:, self.moving]
        shares = np.where(analysis.involved[:, np.newaxis], analysis.right[:, analysis.rank :], 0.0)
        moves = shares / analysis.lengths[:, np.newaxis]
        directions = basis @ moves
        whole = np.abs(basis) @ np.abs(moves)
        return np.where(np.abs(directions) > CANCELLED * whole, directions, 0.0)

    @property
    def is_open(self) -> Flags:
        """Whether the data leave a parameter open, shape (n,)."""
        flags: Flags = (self.open_directions != 0.0).any(axis=1)
        return flags

    @cached_property
    def identifiability(self) -> Identifiability:
        """Rank, and the combinations that the data determine."""
        analysis, moving = self.analysis, self.moving
        names = [self.names[int(j)] for j in moving]
        units = None if self.units is None else [self.units[int(j)] for j in moving]
        withheld = {
            self.names[int(j)]: float(self.doubts[j]) for j in np.flatnonzero(self._inexact)
        }
        combinations = () if self.undecided else determined_combinations(analysis, names, units)
        determined = []
        for c in combinations:
            if c.text:
                sums = np.zeros((1, self.values.size))
                sums[:, moving] = c.sums
                determined.append(replace(c, sums=sums, leading=int(moving[c.leading])))
        verdict = describe(analysis, names, combinations, self.undecided, withheld)
        return Identifiability(
            analysis.singular_values,
            analysis.rank,
            verdict,
            tuple(determined),
            tuple(self.undecided),
            withheld=tuple(withheld),
            weakest=weakest_directions(analysis, names),
            silent=tuple(names[int(j)] for j in np.flatnonzero(analysis.without_influence)),
        )

    # ----------------------------------------------------- 5. covariance

    @cached_property
    def response(self) -> F64:
        """Changes of the parameters per change of a row, but for the sign, shape (n, m)."""
        analysis, rank, moving = self.analysis, self.analysis.rank, self.moving
        right, singular = analysis.right[:, :rank], analysis.singular_values[:rank]
        left = analysis.scaled(self.rows[:, moving]) @ right / singular
        inverse = (right / singular) @ left.T / analysis.lengths[:, np.newaxis]
        return self.tangent.basis[:, moving] @ inverse

    def answer(self, change: F64) -> F64:
        """Return the change of the estimate by changes of the rows, (m, h) -> (n, h)."""
        answer: F64 = -(self.response @ change)
        return answer

    @cached_property
    def answer_to_noise(self) -> F64:
        """Changes of the estimate by noise of one standard deviation, shape (n, m).

        Its product with its own transpose is the covariance.
        """
        return -self._mixed(self.response)

    @property
    def remaining_step(self) -> F64:
        """Gauss-Newton step within the inequalities that would still lower the cost, shape (n,).

        It is 0 along open directions. Intervals are valid if it is small compared with the standard
        errors.
        """
        model = replace(self, holding=self._holding(0.0))
        return model.answer(model.right)

    @cached_property
    def covariance(self) -> F64:
        """Covariance of the parameters, NaN for what has no standard error, shape (n, n)."""
        one_size = self.coloured is None and self.prior_noise == self.noise
        if one_size and not self.tangent.pivots.any():
            moving, back = self.moving, self.analysis.back
            covariance = np.full((self.values.size,) * 2, np.nan)
            covariance[np.ix_(moving, moving)] = self.noise**2 * (back @ back.T)
        else:
            answers = self.answer_to_noise
            covariance = answers @ answers.T
        lost = self.on_bound | self.unknown | self.is_open
        covariance[lost, :] = covariance[:, lost] = np.nan
        return covariance

    @property
    def standard_errors(self) -> F64:
        """Roots of the variances, shape (n,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlation(self) -> F64:
        """Correlation, shape (n, n)."""
        return correlation_of(self.covariance)

    @property
    def white_errors(self) -> F64:
        """Standard errors for white noise of one size, shape (n,)."""
        errors: F64 = np.linalg.norm(self._mixed(self.response, white=True), axis=1)
        return errors

    @property
    def prior_shares(self) -> F64:
        """Share of the priors in each variance, 0 to 1, shape (n,); NaN without a variance."""
        by_priors = np.sum(self.answer_to_noise[:, self.samples :] ** 2, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares: F64 = np.minimum(by_priors / np.diag(self.covariance), 1.0)
        return shares

    def freedoms(self, rows: F64, known: F64 | None = None) -> F64:
        """Return the degrees of freedom of the variances of quantities, shape (h,).

        `rows` are their derivatives with respect to the parameters, shape (h, n). Priors have
        absolute standard deviations: only the part of a variance that is due to the noise of the
        data is as uncertain as that noise (Satterthwaite, Biometrics Bulletin 2, 1946). `known`
        is the part of each variance that is not noise, by default that of the priors.
        """
        responses = rows @ self.response
        data, rest = responses[:, : self.samples], self.prior_noise * responses[:, self.samples :]
        if self.coloured is None:
            degrees = np.full(len(rows), self.freedom)
        else:
            degrees = self.coloured.freedoms(data)
        if not self.priors:
            return degrees
        from_data = np.sum(self._mixed(responses)[:, : self.samples] ** 2, axis=1)
        certain = np.sum(rest**2, axis=1) if known is None else known
        with np.errstate(invalid="ignore", divide="ignore"):
            shares: F64 = 1.0 + certain / from_data
        return np.where(np.isnan(shares), degrees, degrees * shares**2)

    @property
    def parameter_freedoms(self) -> F64:
        """Degrees of freedom of the parameters' variances, shape (n,)."""
        return self.freedoms(np.eye(self.values.size))

    # ------------------------------------------------------ 6. intervals

    @cached_property
    def region(self) -> Region | None:
        """What bounds and constraints leave of the confidence region; ``None`` without any."""
        return self.released._region(self.released.answer_to_noise)

    def _region(self, answers: F64) -> Region | None:
        """Return the region of estimates with these answers to noise of variance 1, (n, k)."""
        limits = self.limits
        if not limits.slacks.size:
            return None
        errors = np.linalg.norm(answers, axis=1)
        scales = np.where(errors > 0.0, errors, 1.0)
        left, sizes, _ = np.linalg.svd(answers / scales[:, np.newaxis], full_matrices=False)
        rank = int(np.count_nonzero(sizes > 1e-10 * np.max(sizes, initial=0.0)))
        left, sizes = left[:, :rank], sizes[:rank]
        center = np.zeros(rank)
        if limits.active.any():
            center = left.T @ (self.answer(self.right) / scales) / sizes
        root = scales[:, np.newaxis] * left * sizes
        return Region(root, self.open_directions, center, limits.rows, limits.slacks)

    def errors_and_ranges(
        self,
        rows: F64,
        level: float = LEVEL,
        *,
        threshold: float | None = None,
        cancelled: float = CANCELLED,
    ) -> tuple[F64, F64]:
        """Return standard errors, (h,), and ranges of changes, (h, 2), of quantities.

        `rows` are their derivatives with respect to the parameters, shape (h, n). Errors are NaN
        and ranges infinite where the data leave a quantity open; both are NaN where derivatives
        are too inexact. Ranges end at the quantile t of each for `level`, or at one `threshold`.
        Terms that cancel along what is open but for a part `cancelled` are determined.
        """
        errors = np.linalg.norm(self._mixed(rows @ self.response), axis=1)
        terms = np.abs(rows) @ np.linalg.norm(self.answer_to_noise, axis=1)
        errors[errors <= ROUNDED * terms] = 0.0  # constraints determine it
        model = self.released
        own = np.linalg.norm(model._mixed(rows @ model.response), axis=1)
        if threshold is None:
            quantiles = student_quantiles(level, model.freedoms(rows))
        else:
            quantiles = np.full(len(rows), threshold)
        open_directions = np.hstack([model.open_directions, self.open_directions])
        is_open = moved_by(rows, open_directions, cancelled)
        half = quantiles * own
        ranges = np.column_stack([-half, half])
        if np.isfinite(own).all() and self.region is not None:
            ranges[~is_open] = self.region.reach(rows[~is_open], quantiles[~is_open])
        ranges[is_open | ~np.isfinite(own)] = -np.inf, np.inf
        unknown = (rows[:, self.unknown] != 0.0).any(axis=1) | ~np.isfinite(rows).all(axis=1)
        ranges[unknown] = np.nan
        errors[moved_by(rows, self.open_directions, cancelled) | unknown] = np.nan
        return errors, ranges

    @cached_property
    def intervals(self) -> F64:
        """The 95 % intervals of the parameters, shape (n, 2)."""
        return self.intervals_of(LEVEL)

    def intervals_of(self, level: float = LEVEL, *, threshold: float | None = None) -> F64:
        """Return the intervals of the parameters, shape (n, 2), as :meth:`errors_and_ranges`.

        None reaches beyond the parameter's own bounds.
        """
        rows = np.eye(self.values.size)
        _, ranges = self.errors_and_ranges(rows, level, threshold=threshold)
        return self._ended_on_bounds(ranges)

    def intervals_by(self, covariance: F64, quantiles: F64) -> F64:
        """Return the intervals of parameters with errors beside the model's own, shape (n, 2).

        `covariance` counts all errors, of values that were held, too; NaN where a parameter is
        open. `quantiles` are those of Student's t, shape (n,).
        """
        known = np.isfinite(np.diag(covariance))
        values, vectors = np.linalg.eigh(np.nan_to_num(covariance))
        answers = vectors * np.sqrt(np.maximum(values, 0.0))
        half = np.where(known, quantiles * np.sqrt(np.diag(covariance)), np.inf)
        ranges = np.column_stack([-half, half])
        region = self._region(answers)
        if region is not None:
            ranges[known] = region.reach(np.eye(known.size)[known], quantiles[known])
        return self._ended_on_bounds(ranges)

    def _ended_on_bounds(self, ranges: F64) -> F64:
        """Return the intervals with these changes, none beyond a bound, shape (n, 2)."""
        intervals: F64 = self.values[:, np.newaxis] + ranges
        for row, slack in zip(self.limits.rows, self.limits.slacks, strict=True):
            if np.count_nonzero(row) == 1:
                j = int(np.flatnonzero(row)[0])
                end, bound = int(row[j] < 0.0), -slack / row[j]
                if row[j] * (ranges[j, end] - bound) <= ROUNDED * slack:
                    intervals[j, end] = self.values[j] + bound
        if self.limits.bounds is None:
            return intervals
        # They end on a bound, not next to it by rounding.
        rounding = ROUNDED * np.abs(self.values[:, np.newaxis])
        on_bound = np.isclose(intervals, self.limits.bounds, rtol=ROUNDED, atol=rounding)
        return np.where(on_bound, self.limits.bounds, intervals)

    @cached_property
    def cut(self) -> Flags:
        """Whether bounds or constraints change the interval of a parameter, shape (n,)."""
        endless = FeasibleSet.everything(self.values.size, self.limits.equal)
        plain = replace(self.released, feasible=endless, holding=endless.active)
        same = np.isclose(plain.intervals, self.intervals, rtol=1e-9, atol=0.0, equal_nan=True)
        return np.asarray(~same.all(axis=1))

    # -------------------------------------- 7. errors of the derivatives

    @cached_property
    def doubts(self) -> F64:
        """Relative change of the standard errors with the Jacobian, shape (n,).

        Infinite if another estimate of the Jacobian leaves a direction undetermined; 0 if that
        was not measured.
        """
        doubts = np.zeros(self.values.size)
        jacobian, _, spread = self._stacked
        if spread is None:
            return doubts
        moving = self.moving
        doubts[moving] = standard_error_doubts(
            jacobian[:, moving], spread[:, moving], self.analysis
        )
        inherited = np.max(np.where(self.tangent.basis != 0.0, doubts, 0.0), axis=1)
        return np.where(self.tangent.pivots, np.maximum(doubts, inherited), doubts)

    @property
    def _inexact(self) -> Flags:
        flags: Flags = self.doubts > ALLOWED
        return flags

    @cached_property
    def undecided(self) -> dict[str, float]:
        """Parameters that might be well determined if the derivatives were exact.

        A singular value below the errors of the Jacobian is at most the sum of both. If that
        leaves the standard error of a parameter a considerable fraction of its value, the data are
        the cause. Values are the smallest possible standard errors.
        """
        analysis, moving = self.analysis, self.moving
        tangled = np.flatnonzero(analysis.involved & ~analysis.without_influence)
        if self.derivatives[1] is None and self.derivatives[2] is None:
            return {}
        if not tangled.size or analysis.rank == moving.size:
            return {}
        largest = analysis.singular_values + analysis.tolerance
        silent = analysis.right[analysis.without_influence, analysis.rank :]
        hidden = analysis.rank + np.flatnonzero(~(np.abs(silent) > 0.5).any(axis=0))
        if not hidden.size:
            return {}
        shares = analysis.right[np.ix_(tangled, hidden)] / largest[hidden]
        least = np.sqrt(self.noise**2 * np.sum(shares**2, axis=1)) / analysis.column_norms[tangled]
        with np.errstate(divide="ignore"):
            relative = least / np.abs(self.values[moving[tangled]])
        if not float(relative.max()) < _POORLY:
            return {}
        names = [self.names[int(j)] for j in moving[tangled]]
        return dict(zip(names, least.tolist(), strict=True))

    @property
    def is_undecided(self) -> Flags:
        """Whether a parameter is one of the `undecided`, shape (n,)."""
        flags: Flags = np.isin(self.names, list(self.undecided))
        return flags

    @cached_property
    def unknown(self) -> Flags:
        """Whether the derivatives are too inexact for an interval of a parameter, shape (n,).

        A parameter that constraints make follow from others is unknown with them, unless the data
        determine it in spite of them.
        """
        doubtful = self._inexact | self.is_undecided
        if self.kinks is not None:
            doubtful = doubtful | self.kinks
        uses = self.tangent.basis != 0.0
        inherited = (uses & (doubtful & ~self.is_open)).any(axis=1)
        flags: Flags = np.where(self.tangent.pivots, inherited, doubtful)
        return flags


def _variance(residuals: F64, freedom: int) -> float:
    return float(residuals @ residuals) / freedom if freedom > 0 else float("nan")
