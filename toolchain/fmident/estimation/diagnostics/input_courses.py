"""Courses of inputs between samples: held, or straight lines; and jumps that make residuals.

A voltage from a D/A converter jumps and stays; as a straight line between samples it
comes half a sample early, which other parameters compensate for. The parameters are
therefore fitted with the other course, from their present values. Between two
models of equal size the likelihood ratio decides (Vuong, Econometrica 57, 1989): by
chance it exceeds exp(d/2) with a probability of at most exp(-d/2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from zipfile import is_zipfile

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult, least_squares

from fmident.arrays import F64
from fmident.errors import Code, FmidentError
from fmident.estimation.comparisons import (
    GatheredResiduals,
    OtherCourse,
    ResidualCheck,
)
from fmident.estimation.diagnostics import Fit, recorded_outputs
from fmident.estimation.diagnostics.delays import ENOUGH, left_with_delays, unmodelled_delays
from fmident.evaluation.setups import without_integration
from fmident.fmu.fmu import read_description
from fmident.problem.residuals import residual_layout, whitened_residuals
from fmident.statistics.distributions import f_tail
from fmident.statistics.residuals import residual_statistics

if TYPE_CHECKING:
    from fmident.evaluation import Evaluator
    from fmident.fmu.setup import Interpolation
    from fmident.problem.model import Problem


_SETTLED = 1e-3
"""Relative change of the cost that ends a fit."""


_JUMP, _STILL, _MOSTLY = 0.05, 0.2, 0.7
"""A jump is at least this part of the range; its neighbours are at most this part of it; and jumps
make at least this part of the sum of squared changes of an input that jumps."""

_PROVEN, _ALIKE, _LIKELY = 20.0, 4.0, 10.0
"""Twice the logarithm of the likelihood ratio above which chance is ruled out; and that by which
delays of the outputs may explain more, which are more to fit: where what jumps is held, by more."""

_STEADY, _ROUNDING = 1e-9, 1e-18
"""Relative change of an input, and of squared residuals, that is rounding."""

_LARGER, _UNLIKELY = 1.5, 1e-6
"""Size of residuals at jumps over that elsewhere that is noted, and probability of chance."""

_CORRECTIONS = 6
"""Simulations that correct parameters which were fitted already."""

_GAIN = 0.05
"""Part of the cost that a further step may promise at the end of a fit."""

_CHANGE, _SMALLEST = 1e-3, 0.1
"""Relative change of a parameter in a difference; its least size, in parts of its scale."""

_MOST_INPUTS = 6
"""Inputs that are tried."""


@dataclass(frozen=True)
class _Candidate:
    """An input to test with another course, in experiments given by their numbers."""

    name: str
    other: Interpolation
    experiments: tuple[int, ...]
    jumps: int


def jumps(values: F64) -> npt.NDArray[np.bool_]:
    """Return for each sample whether an input has jumped to it, shape (n,).

    A jump is isolated: the input hardly moves before and after it. Continuous inputs have
    none.
    """
    change = np.abs(np.diff(values))
    none = np.zeros(values.size, np.bool_)
    if change.size < ENOUGH or not change.any():
        return none
    around = np.maximum(np.r_[0.0, change[:-1]], np.r_[change[1:], 0.0])
    isolated = (change > _JUMP * np.ptp(values)) & (around < _STILL * change)
    if np.sum(change[isolated] ** 2) < _MOSTLY * np.sum(change**2):
        return none
    none[1:] = isolated
    return none


def other_courses(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    jacobian: F64 | None = None,
    errors: F64 | None = None,
    *,
    iterations: int | None = None,
) -> tuple[OtherCourse, ...]:
    """Return the effect of other courses of inputs between samples.

    At an estimate a fit takes two to seven simulations of all experiments. There is one for
    the present course, one for each input that jumps, and one for all continuous inputs
    together; if these explain more, one for each of them. The `jacobian` of the whitened
    residuals at `p` is zero for fixed parameters, and ``None`` if none are to be corrected.
    `iterations` limits those that fit the parameters; ``None`` if the derivatives at `p`,
    near the minimum, suffice. Figures are NaN if the iterations do not suffice.
    """
    size = residual_layout(problem).size
    jacobian = np.zeros((size, p.size)) if jacobian is None else jacobian
    if jacobian.shape[0] != size or not is_zipfile(problem.fmu) or without_integration(problem):
        return ()  # a function of Python knows the course of its inputs
    if not (candidates := list(_candidates(problem))):
        return ()
    trials = _Trials(problem, evaluator, p, jacobian, errors, np.full(size, np.nan), iterations)
    if iterations != 0:
        fit = trials.fitted(problem)
        if fit is None:
            return ()
        trials = replace(trials, residuals=fit.residuals, p=fit.p, jacobian=fit.jacobian)
    running = [c for c in candidates if not c.jumps]
    groups = [[c] for c in candidates if c.jumps][:_MOST_INPUTS] + ([running] if running else [])
    tried = [(group, trials.other(group)) for group in groups]
    if len(running) > 1 and trials.proves(*tried[-1]):
        single = [([c], trials.other([c])) for c in running[:_MOST_INPUTS]]
        tried[-1:] = [t for t in single if trials.proves(*t)] or tried[-1:]
    proven = [group for group, trial in tried if trials.proves(group, trial)]
    if len(proven) > 1:
        together = trials.other([c for group in proven for c in group])
        best = max((t for g, t in tried if t and g in proven), key=lambda trial: trial.evidence)
        if together is not None and together.evidence > best.evidence:
            tried = [(g, together if g in proven else t) for g, t in tried]
        else:
            tried = [(g, t) for g, t in tried if t is best or g not in proven]
    return tuple(
        OtherCourse(
            c.name,
            tuple(problem.experiments[i].name for i in c.experiments),
            c.other,
            c.jumps,
            trial.ratio,
            trial.evidence,
            trial.moves,
            trials.proves(group, trial),
            trial.left,
        )
        for group, trial in tried
        if trial is not None
        for c in group
    )


def _candidates(problem: Problem) -> Iterator[_Candidate]:
    about = read_description(problem.fmu).with_interface(problem.evaluation.interface)
    groups: dict[tuple[str, Interpolation, bool], list[tuple[int, int]]] = {}
    for i, e in enumerate(problem.experiments):
        for name, values in e.inputs.items():
            variable = about.by_name.get(name)
            if variable is None or not variable.is_continuous or not moves(values):
                continue
            held = about.holds_input(name, problem.interpolation_of(e, name))
            count = int(np.count_nonzero(jumps(values)))
            other: Interpolation = "hold"
            if held:
                other = "mean" if about.holds_input(name, "auto") else "linear"
            groups.setdefault((name, other, count > 0), []).append((i, count))
    for (name, other, _), members in groups.items():
        numbers = tuple(i for i, _ in members)
        yield _Candidate(name, other, numbers, sum(count for _, count in members))


def with_signals(fit: Fit, check: ResidualCheck) -> ResidualCheck:
    """Return the check of the residuals with delays, or with other courses of inputs."""
    jacobian = fit.statistics.local.data_jacobian
    held = fit.at_bound | fit.statistics.local.tangent.pivots
    jacobian = np.where(held, 0.0, jacobian)
    check = replace(check, delays=unmodelled_delays(fit, jacobian))
    errors = fit.statistics.local.standard_errors
    courses = other_courses(fit.problem, fit.evaluator, fit.p, jacobian, errors)
    if any(one.proven for one in courses):
        check = replace(check, delays=())
    if check.delays:
        return check
    gathered = gathered_residuals(fit.problem, fit.residuals)
    return replace(check, courses=courses, gathered=gathered)


def gathered_residuals(problem: Problem, residuals: F64) -> tuple[GatheredResiduals, ...]:
    """Return the outputs whose residuals, whitened, are larger just after an input has jumped."""
    gathered = []
    for output in recorded_outputs(problem):
        left = residuals[output.rows]
        rho = residual_statistics(left).autocorrelation
        part = (1.0 - max(rho, 0.0)) / (1.0 + max(rho, 0.0)) if np.isfinite(rho) else 1.0
        for name, values in output.experiment.inputs.items():
            near = _after_jumps(values)[output.measurement.rows]
            there, others = left[near], left[~near]
            if not ENOUGH <= there.size <= others.size or not others.any():
                continue
            ratio = float(np.mean(there**2) / np.mean(others**2))
            chance = f_tail(part * there.size, part * others.size, ratio)
            if ratio > _LARGER**2 and chance < _UNLIKELY:
                where = output.measurement.name, name, output.experiment.name
                gathered.append(GatheredResiduals(*where, float(np.sqrt(ratio))))
    return tuple(sorted(gathered, key=lambda one: -one.ratio))


def _after_jumps(values: F64) -> npt.NDArray[np.bool_]:
    """Return the samples at a jump and the two after it, shape (n,)."""
    jumped = jumps(values)
    near = jumped.copy()
    near[1:] |= jumped[:-1]
    near[2:] |= jumped[:-2]
    return near


def moves(values: F64) -> bool:
    """Return whether an input changes by more than rounding."""
    return bool(np.ptp(values) > _STEADY * np.max(np.abs(values), initial=0.0))


@dataclass(frozen=True)
class _Trial:
    """Effect of another course; as for :class:`fmident.estimation.comparisons.OtherCourse`."""

    evidence: float
    ratio: float
    left: float
    moves: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class _Refit:
    """Parameters `p`, their whitened residuals, and the Jacobian."""

    residuals: F64
    p: F64
    jacobian: F64


@dataclass(frozen=True, eq=False)
class _Trials:
    """Simulations with other courses of the inputs, compared with whitened `residuals`."""

    problem: Problem
    evaluator: Evaluator
    p: F64
    jacobian: F64
    errors: F64 | None
    residuals: F64
    iterations: int | None

    def proves(self, group: Sequence[_Candidate], trial: _Trial | None) -> bool:
        """Return whether neither chance nor delays of the outputs explain as much."""
        if trial is None or not trial.evidence > _PROVEN:
            return False
        likely = all(c.jumps and c.other == "hold" for c in group)
        return trial.evidence > self.evidence_of_delays - (_LIKELY if likely else _ALIKE)

    @cached_property
    def evidence_of_delays(self) -> float:
        outputs = self._outputs(self.problem, self.p)
        if len(outputs) < len(self.problem.experiments):
            return 0.0
        return self._evidence(left_with_delays(self.problem, outputs, self.p, self.jacobian))

    def other(self, candidates: Sequence[_Candidate]) -> _Trial | None:
        """Return the effect of other courses.

        ``None`` if nothing changes, simulations fail, or the FMU or the executor does not
        support it; NaN if a fit did not converge.
        """
        unknown = _Trial(np.nan, np.nan, np.nan, {})
        if not np.isfinite(self.residuals).all():
            return unknown
        experiments = list(self.problem.experiments)
        for c in candidates:
            for i in c.experiments:
                courses = {**experiments[i].interpolation, c.name: c.other}
                experiments[i] = replace(experiments[i], interpolation=courses)
        try:
            fit = self.fitted(replace(self.problem, experiments=tuple(experiments)))
        except FmidentError as error:
            if error.code != Code.NOT_SUPPORTED:
                raise
            return None
        if fit is None:
            return None
        after, step = fit.residuals, fit.p - self.p
        if not np.isfinite(after).all():
            return unknown
        before = float(self.residuals @ self.residuals)
        if np.array_equal(after, self.residuals) or not before > 0:
            return None
        moves = {}
        if self.errors is not None:
            known = np.isfinite(self.errors) & (self.errors > 0.0)
            parts = np.where(known, step / np.where(known, self.errors, 1.0), 0.0)
            moves = {q.name: float(x) for q, x in zip(self.problem.free, parts, strict=True)}
        spreads = [
            float(np.sum((m.whitening * (m.compared[m.rows] - m.compared[m.rows].mean())) ** 2))
            for e in self.problem.experiments
            for m in e.measurements
            if m.rows.size
        ]
        square = float(after @ after)
        left = float(np.sqrt(square / sum(spreads))) if sum(spreads) > 0.0 else np.nan
        return _Trial(self._evidence(after), square / before, left, moves)

    def fitted(self, problem: Problem) -> _Refit | None:
        moving = self.jacobian.any(axis=0) & (problem.lower < problem.upper)
        simulated: dict[bytes, F64] = {}

        def point(values: F64) -> F64:
            p = self.p.copy()
            p[moving] = values
            return p

        def residuals(values: F64) -> F64:
            key = values.tobytes()
            if key not in simulated:
                simulated.clear()
                simulated[key] = self._simulated(problem, point(values))
            return simulated[key]

        first, present = self.p[moving], self.jacobian[:, moving]
        latest, slopes = (first, residuals(first)), present
        if not np.isfinite(latest[1]).all():
            return None
        if not moving.any():
            return _Refit(latest[1], self.p, self.jacobian)

        def jacobian(values: F64) -> F64:
            nonlocal latest, slopes
            here = residuals(values)
            if self.iterations is not None:
                return self._differences(problem, point(values), here, moving)
            step = values - latest[0]
            if step.any():  # Broyden (1965), from the derivatives with the present course
                sizes = np.linalg.norm(present, axis=0)
                missing = here - latest[1] - slopes @ step
                slopes = slopes + np.outer(missing, sizes**2 * step / np.sum((sizes * step) ** 2))
                latest = values.copy(), here
            return slopes

        fit: OptimizeResult = least_squares(
            residuals,
            first,
            jac=jacobian,
            bounds=(problem.lower[moving], problem.upper[moving]),
            x_scale="jac",
            ftol=_SETTLED,
            gtol=None,
            max_nfev=_CORRECTIONS if self.iterations is None else self.iterations,
        )
        inside = fit.jac[:, fit.active_mask == 0]
        further, *_ = np.linalg.lstsq(inside, fit.fun, rcond=1e-8)
        gain = np.sum((inside @ further) ** 2) / np.sum(fit.fun**2) if fit.fun.any() else 0.0
        if gain > _GAIN:
            return _Refit(np.full_like(fit.fun, np.nan), self.p, self.jacobian)
        slopes = np.zeros_like(self.jacobian)
        slopes[:, moving] = fit.jac
        return _Refit(fit.fun, point(fit.x), slopes)

    def _differences(
        self, problem: Problem, p: F64, here: F64, moving: npt.NDArray[np.bool_]
    ) -> F64:
        sizes = np.maximum(np.abs(p), _SMALLEST * np.array([q.scale for q in problem.free]))
        upwards = problem.upper - p > p - problem.lower
        room = np.where(upwards, problem.upper - p, p - problem.lower)
        steps = np.where(upwards, 1.0, -1.0) * np.minimum(_CHANGE * sizes, room)
        columns = np.zeros((here.size, p.size))
        for j in np.flatnonzero(moving):
            other = p.copy()
            other[j] += steps[j]
            columns[:, j] = (self._simulated(problem, other) - here) / (other[j] - p[j])
        return np.nan_to_num(columns[:, moving])

    def _simulated(self, problem: Problem, p: F64) -> F64:
        """Return the whitened residuals, shape (m,); NaN where a simulation fails."""
        outputs = self._outputs(problem, p)
        if len(outputs) < len(problem.experiments):
            return np.full(self.residuals.size, np.nan)
        return whitened_residuals(problem, outputs, p)

    def _outputs(self, problem: Problem, p: F64) -> list[F64]:
        """Return the outputs of the successful simulations."""
        if problem is self.evaluator.problem:
            return [o for o in self.evaluator.simulate(p) if isinstance(o, np.ndarray)]
        simulated = (
            self.evaluator.simulate_outputs(e, e.output_variables, p[np.newaxis])[0]
            for e in problem.experiments
        )
        return [outputs for outputs in simulated if np.isfinite(outputs).all()]

    def _evidence(self, after: F64) -> float:
        """Return twice the logarithm of the likelihood ratio, with noise estimated per output.

        Correlated neighbours reduce the effective number of samples.
        """
        rows: dict[str, list[npt.NDArray[np.intp]]] = {}
        for output in recorded_outputs(self.problem):
            rows.setdefault(output.measurement.name, []).append(output.rows)
        total = 0.0
        for places in map(np.concatenate, rows.values()):
            before, left = float(np.sum(self.residuals[places] ** 2)), after[places]
            least = _ROUNDING * before
            if before > 0.0 and places.size >= ENOUGH:
                rho = max(residual_statistics(left).autocorrelation, 0.0)
                count = places.size * (1.0 - rho) / (1.0 + rho)
                total += count * float(np.log(before / max(float(left @ left), least)))
        return total
