"""Signals that are not as the problem has them: delays of outputs, and the course of inputs.

A delay between measured and simulated output leaves residuals that resemble the slope
of the output. Parameters compensate for a part of it. Parameters and the delays of
outputs with correlated residuals are therefore fitted together, with the outputs and
derivatives at the estimate, and the result is simulated once. A delay is reported if it
is significant and the remaining residuals are close to white.

A voltage from a D/A converter jumps and stays; as a straight line between samples it
comes half a sample early, which other parameters compensate for. The parameters are
therefore also fitted with the other course, from their present values. Between two
models of equal size the likelihood ratio decides (Vuong, Econometrica 57, 1989): by
chance it exceeds exp(d/2) with a probability of at most exp(-d/2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
    UnmodelledDelay,
    coloured_fits,
)
from fmident.estimation.diagnostics import Fit, recorded_outputs
from fmident.evaluation.setups import without_integration
from fmident.findings import Finding, finding
from fmident.fmu.fmu import read_description
from fmident.problem.residuals import ResidualLayout, residual_layout, whitened_residuals
from fmident.statistics.distributions import f_tail
from fmident.statistics.residuals import residual_statistics

if TYPE_CHECKING:
    from fmident.evaluation import Evaluator
    from fmident.fmu.setup import Interpolation
    from fmident.problem.model import Problem


Place = tuple[int, int]
"""Numbers of an experiment and of an output in it."""

_ENOUGH = 10
"""Least number of samples of an output."""

_ROUNDS = 8
_SETTLED = 1e-3
"""Change of the delays, in samples, that ends a fit; and relative change of the cost."""

_LONGEST = 0.25
"""Longest delay, in parts of the record: with more of it the data say little."""

_SIGNIFICANT = 5.0
"""Standard errors from zero."""

_VISIBLE = 0.05
"""Smallest delay, in samples."""

_MOST = 0.5
"""Part of the squared residuals of an output that may be left ..."""

_WHITER = 1.0 / 3.0
"""... unless their correlation falls to this part of what it was."""


_JUMP, _STILL, _MOSTLY = 0.05, 0.2, 0.7
"""A jump is at least this part of the range; its neighbours are at most this part of it; and jumps
make at least this part of the sum of squared changes of an input that jumps."""

_PROVEN, _ALIKE, _LIKELY = 20.0, 4.0, 10.0
"""Twice the logarithm of the likelihood ratio from which on chance is ruled out; and that by which
delays of the outputs may explain more, which are more to fit: where what jumps is held, by more."""

_STEADY, _ROUNDING = 1e-9, 1e-18
"""Relative change of an input, and of squared residuals, that is rounding."""

_LARGER, _UNLIKELY = 1.5, 1e-6
"""Size of residuals at jumps over that elsewhere that is said, and probability of chance."""

_CORRECTIONS = 6
"""Simulations that correct parameters which were fitted already."""

_GAIN = 0.05
"""Part of the cost that a further step may promise at the end of a fit."""

_CHANGE, _SMALLEST = 1e-3, 0.1
"""Relative change of a parameter in a difference; its least size, in parts of its scale."""

_MOST_INPUTS = 6
"""Inputs that are tried."""


@dataclass(frozen=True)
class _Fit:
    """Delays, s, by output, and parameters, shape (n,), that were fitted together.

    `errors` are the standard errors of the delays for white noise of the size of the
    residuals.
    """

    delays: dict[Place, float]
    errors: dict[Place, float]
    point: F64


def _delayable(problem: Problem, chosen: Collection[Place] | None = None) -> list[Place]:
    """Return the outputs with enough samples whose delay is not a parameter."""
    return [
        o[:2]
        for o in recorded_outputs(problem)
        if not isinstance(o.measurement.delay, str)
        and o.rows.size >= _ENOUGH
        and (chosen is None or o[:2] in chosen)
    ]


def unmodelled_delays(fit: Fit, jacobian: F64) -> tuple[UnmodelledDelay, ...]:
    """Return the delays that explain correlated residuals, simulated if there may be one.

    `jacobian` is that of the whitened residuals, 0 for parameters that stay on a bound.
    """
    problem, evaluator, p = fit.problem, fit.evaluator, fit.p
    coloured = {(f.experiment, f.name) for f, _ in coloured_fits(fit.fits)}
    all_outputs = recorded_outputs(problem)
    places = _delayable(
        problem, {o[:2] for o in all_outputs if (o.experiment.name, o.measurement.name) in coloured}
    )
    layout = residual_layout(problem)
    if not places or jacobian.shape[0] != layout.size:
        return ()
    outputs = [o for o in evaluator.simulate(p) if isinstance(o, np.ndarray)]
    if len(outputs) < len(problem.experiments):
        return ()
    model = _Model(problem, layout, outputs, p, jacobian)
    first = model.fit(places)
    if not any(_significant(model, first, place) for place in places):
        return ()
    point = np.clip(first.point, problem.lower, problem.upper)
    again = [o for o in evaluator.simulate(point) if isinstance(o, np.ndarray)]
    if len(again) < len(outputs):
        return ()
    shifted = replace(model, outputs=again, p=point)
    second = shifted.fit(places, first.delays)
    before, after = model.residuals({}, p), shifted.residuals(second.delays, point)
    delays = []
    for i, k in places:
        rows, e = layout.rows_of(i, k), problem.experiments[i]
        old, new = residual_statistics(before[rows]), residual_statistics(after[rows])
        left = float(np.sum(after[rows] ** 2) / np.sum(before[rows] ** 2))
        whiter = new.white or abs(new.autocorrelation) < _WHITER * abs(old.autocorrelation)
        # Noise with correlated neighbours, as of an autoregression of first order.
        rho = min(max(new.autocorrelation, 0.0), 0.99)
        second.errors[i, k] *= float(np.sqrt((1.0 + rho) / (1.0 - rho)))
        if _significant(model, second, (i, k)) and left < 1.0 and (left < _MOST or whiter):
            numbers = second.delays[i, k], second.errors[i, k], model.step((i, k))
            name = e.measurements[k].name
            delays.append(UnmodelledDelay(e.name, name, *numbers, float(np.sqrt(left))))
    return tuple(delays)


def left_with_delays(problem: Problem, outputs: Sequence[F64], p: F64, jacobian: F64) -> F64:
    """Return the whitened residuals with fitted parameters and delays, shape (m,).

    To first order in the parameters, without a simulation. `outputs` were simulated at `p`;
    `jacobian` is that of the whitened residuals there.
    """
    layout = residual_layout(problem)
    model = _Model(problem, layout, list(outputs), p, jacobian)
    places = _delayable(problem)
    if not places:
        return model.residuals({}, p)
    fit = model.fit(places)
    return model.residuals(fit.delays, fit.point)


def delay_notes(fit: Fit) -> Iterator[Finding]:
    """Note delays in the residuals, and how to estimate them."""
    delays = () if fit.check is None else fit.check.delays
    if not delays:
        return
    each = "; ".join(
        f"the measured '{d.output}' of '{d.experiment}' comes {abs(d.delay):.3g} +- {d.error:.1g} s"
        f" ({abs(d.delay) / d.step:.2g} samples) {'later' if d.delay > 0.0 else 'earlier'} than the"
        f" simulated one, and with that its residuals fall to {100.0 * d.left:.2g} %"
        for d in delays[:3]
    )
    more = f"; and {len(delays) - 3} more outputs" if len(delays) > 3 else ""
    first = delays[0]
    where = f"at the output '{first.output}'" if len(delays) == 1 else "at each of these outputs"
    yield finding(
        "output-delayed",
        f"The residuals show a delay that the problem does not have: {each}{more}",
        f'Estimate it: delay = "shift" {where}, and [parameters.shift] with initial ='
        f" {first.delay:.3g}; or correct the time stamps.",
    )


def with_delays(problem: Problem, delays: Mapping[Place, float]) -> Problem:
    """Return the problem with additional delays, s, of outputs whose delay is not a parameter."""
    experiments = []
    for i, e in enumerate(problem.experiments):
        changed = tuple(
            m
            if isinstance(m.delay, str) or (i, k) not in delays
            else replace(m, delay=float(m.delay) + float(delays[i, k]))
            for k, m in enumerate(e.measurements)
        )
        experiments.append(replace(e, measurements=changed))
    return replace(problem, experiments=tuple(experiments))


@dataclass(frozen=True, eq=False)
class _Model:
    """Residuals as a function of delays, exactly, and of parameters near `p`, linearly."""

    problem: Problem
    layout: ResidualLayout
    outputs: list[F64]
    p: F64
    jacobian: F64

    def residuals(self, delays: Mapping[Place, float], p: F64) -> F64:
        """Return the whitened residuals with delays, shape (m,)."""
        linear = self._shifted(delays) @ (p - self.p)
        plain: F64 = whitened_residuals(with_delays(self.problem, delays), self.outputs, self.p)
        return plain + linear

    def fit(self, places: Sequence[Place], start: Mapping[Place, float] | None = None) -> _Fit:
        """Return the delays and parameters that minimise the squared residuals near `start`."""
        delays = dict.fromkeys(places, 0.0) | dict(start or {})
        point = self.p
        residuals = self.residuals(delays, point)
        for _ in range(_ROUNDS):
            columns = np.column_stack([self._shifted(delays), self._slopes(delays)])
            step = scaled_least_squares(columns, -residuals)
            improved = dict(delays)
            least = float(residuals @ residuals)
            for share in (1.0, 0.5, 0.25, 0.125):
                trial = {
                    q: self._limited(q, delays[q] + share * s)
                    for q, s in zip(places, step[self.p.size :], strict=True)
                }
                further = point + share * step[: self.p.size]
                tried = self.residuals(trial, further)
                if float(tried @ tried) < least:
                    improved, point, residuals = trial, further, tried
                    break
            change = max(abs(improved[q] - delays[q]) / self.step(q) for q in places)
            delays = improved
            if change < _SETTLED:
                break
        return _Fit(delays, self._errors(places, delays, residuals), point)

    def step(self, place: Place) -> float:
        """Return the sampling interval of an output's experiment, s."""
        return float(np.median(np.diff(self.problem.experiments[place[0]].times)))

    def _errors(
        self, places: Sequence[Place], delays: Mapping[Place, float], residuals: F64
    ) -> dict[Place, float]:
        """Return the standard errors of the delays, each by the noise of its own output."""
        slopes = self._slopes(delays)
        everything = np.column_stack([self._shifted(delays), slopes])
        errors = {}
        for number, place in enumerate(places):
            column = everything[:, self.p.size + number]
            others = np.delete(everything, self.p.size + number, axis=1)
            own = column - others @ scaled_least_squares(others, column)
            length = float(np.linalg.norm(own))
            tiny = 1e-8 * float(np.linalg.norm(column))
            noise = float(np.sqrt(np.mean(residuals[self.layout.rows_of(*place)] ** 2)))
            errors[place] = noise / length if length > tiny else float("inf")
        return errors

    def _limited(self, place: Place, delay: float) -> float:
        times = self.problem.experiments[place[0]].times
        longest = _LONGEST * float(times[-1] - times[0])
        return float(np.clip(delay, -longest, longest))

    def _slopes(self, delays: Mapping[Place, float]) -> F64:
        """Return the derivatives of the residuals with respect to the delays, shape (m, delays)."""
        half = {q: 0.5 * self.step(q) for q in delays}
        ends = [
            whitened_residuals(
                with_delays(self.problem, {q: d + side * half[q] for q, d in delays.items()}),
                self.outputs,
                self.p,
            )
            for side in (1.0, -1.0)
        ]
        slopes = np.zeros((self.layout.size, len(delays)))
        for number, q in enumerate(delays):
            rows = self.layout.rows_of(*q)
            slopes[rows, number] = (ends[0][rows] - ends[1][rows]) / (2.0 * half[q])
        return slopes

    def _shifted(self, delays: Mapping[Place, float]) -> F64:
        """Return the Jacobian with the rows of delayed outputs shifted in time."""
        shifted = self.jacobian.copy()
        for q, delay in delays.items():
            rows = self.layout.rows_of(*q)
            times = self.layout.time[rows]
            scale = self.problem.experiments[q[0]].measurements[q[1]].whitening[:, np.newaxis]
            plain = self.jacobian[rows] / np.where(scale > 0.0, scale, 1.0)
            for j in np.flatnonzero(plain.any(axis=0)):
                shifted[rows, j] = scale[:, 0] * np.interp(times - delay, times, plain[:, j])
        return shifted


def _significant(model: _Model, fit: _Fit, place: Place) -> bool:
    delay, error = fit.delays[place], fit.errors[place]
    return abs(delay) > _SIGNIFICANT * error and abs(delay) > _VISIBLE * model.step(place)


def scaled_least_squares(columns: F64, values: F64) -> F64:
    """Return the least-squares solution, regardless of the scaling of the columns."""
    norms = np.linalg.norm(columns, axis=0)
    safe = np.where(norms > 0.0, norms, 1.0)
    solution, *_ = np.linalg.lstsq(columns / safe, values, rcond=1e-8)
    return solution / safe


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
    if change.size < _ENOUGH or not change.any():
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
    """Yield the inputs that move, with the other course."""
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


def course_notes(check: ResidualCheck) -> Iterator[Finding]:
    """Note inputs with another course and its key, or else residuals after jumps."""
    courses = [one for one in check.courses if one.matters]
    for one in courses:
        yield finding("input-course", str(one), f"{one.advice}.")
    for place in () if courses else check.gathered[:3]:
        yield finding(
            "input-course",
            str(place),
            "It may jump between samples: log it at its jumps, with their instants. Or the model"
            " lacks something fast.",
        )


def input_notes(fit: Fit) -> Iterator[Finding]:
    """Note what the check of the residuals says of inputs."""
    yield from () if fit.check is None else course_notes(fit.check)


def with_signals(fit: Fit, check: ResidualCheck) -> ResidualCheck:
    """Return the check of the residuals with delays, or with other courses of inputs."""
    jacobian = fit.statistics.local.data_jacobian
    held = fit.held | fit.statistics.local.tangent.pivots
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
            if not _ENOUGH <= there.size <= others.size or not others.any():
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
        """Evidence for delays of all outputs, fitted together with the parameters."""
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
        """Return the fit from `p`, ``None`` without a simulation, NaN without a minimum."""
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
        """Return derivatives of the whitened residuals, one column for each moving parameter."""
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
            if before > 0.0 and places.size >= _ENOUGH:
                rho = max(residual_statistics(left).autocorrelation, 0.0)
                count = places.size * (1.0 - rho) / (1.0 + rho)
                total += count * float(np.log(before / max(float(left @ left), least)))
        return total
