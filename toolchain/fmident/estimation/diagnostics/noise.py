"""The noise of the residuals: its groups, tones, sensor steps, and the fit of its model.

**A model of the noise** is estimated in turn with the parameters. For a given noise model the
parameters minimise the squares of the innovations; for given parameters the noise model maximises
the restricted likelihood of the residuals. Alternating both leads to the maximum of the joint
likelihood (Oberhofer and Kmenta, Econometrica 42, 1974; Ljung, System Identification, 2nd ed.,
section 10.1).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Code, Location, ProblemError
from fmident.estimation.checks import fails_at_the_estimate
from fmident.estimation.comparisons import (
    CountedNoise,
    CountedWave,
    OutputFit,
    RepeatedResiduals,
    SharedNoise,
)
from fmident.estimation.contract import Estimate, Estimator
from fmident.estimation.diagnostics import (
    Fit,
    Recorded,
    beginning_at,
    recorded_outputs,
)
from fmident.evaluation import Evaluator
from fmident.problem.cost import Cost, MeasuredSignal, TimeDomain
from fmident.problem.residuals import measured_signals, residual_layout
from fmident.statistics.noise.covariance import (
    NoiseFinding,
    noise_found,
    repetitions,
    waves_found,
    whitened_finding,
)
from fmident.statistics.noise.processes import (
    NoiseModel,
    NoisyOutput,
    Order,
    fit_noise,
    outputs_of,
    spanned,
)
from fmident.statistics.noise.waves import Steps, Wave, factor_of, with_amplitudes

if TYPE_CHECKING:
    from fmident.problem.model import Problem
    from fmident.statistics.local_model import LocalModel


_FINE = 1.0
"""Steps of a sensor in standard deviations of the residuals, below which they leave no wave: other
noise mixes it up."""

_COMMON = 0.5
"""Least number of samples of an output that is compared, over those of the output with most."""

_ROUNDING = 1e-9
"""Residuals smaller than this part of the measured range are rounding, or the solver's error."""


_FEWEST = 100
"""Samples below which nothing is looked for."""


_MOST = 12
"""Rounds of a fit and a noise model."""

_LOOKED = 2
"""Rounds in which tones and the steps of sensors are looked for; then only their sizes change."""

_SETTLED = 0.01
"""Standard errors by which parameters may move in the last round."""


def _that_count(
    problem: Problem, used: npt.NDArray[np.bool_] | None
) -> Iterator[tuple[Recorded, npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Yield each output with its rows that count, and their numbers among all that count.

    `used` marks these, shape (m,); all by default.
    """
    numbers = np.arange(residual_layout(problem).size) if used is None else np.cumsum(used) - 1
    for output in recorded_outputs(problem):
        rows = output.rows if used is None else output.rows[used[output.rows]]
        yield output, rows, numbers[rows]


def noisy_outputs(
    problem: Problem, used: npt.NDArray[np.bool_] | None = None
) -> tuple[NoisyOutput, ...]:
    """Return the residuals of each noise: those of one output at one sampling rate.

    Rows are numbered among the residuals that count, marked by `used`; all by default.
    """
    times, outputs = residual_layout(problem).time, list(_that_count(problem, used))
    return outputs_of(
        ((output.measurement.name, numbers, times[rows]) for output, rows, numbers in outputs),
        [output.i for output, *_ in outputs],
    )


def sampled_together(
    problem: Problem, used: npt.NDArray[np.bool_] | None = None
) -> list[npt.NDArray[np.intp]]:
    """Return rows of samples of several outputs at the same instants, by experiment.

    Each item has the shape (k, outputs); there is none for experiments with a single
    output. Outputs with far fewer samples than others are left out. `used` marks residuals
    that count, shape (m,), all by default; rows are numbered among them.
    """
    sample, together = residual_layout(problem).sample, []
    for _, outputs in groupby(_that_count(problem, used), key=lambda each: each[0].i):
        each = [(sample[rows], numbers) for _, rows, numbers in outputs]
        most = max(numbers.size for _, numbers in each)
        each = [e for e in each if e[1].size >= max(_COMMON * most, 1)]
        if len(each) > 1:
            common = reduce(np.intersect1d, [samples for samples, _ in each])
            if common.size:
                columns = [numbers[np.isin(samples, common)] for samples, numbers in each]
                together.append(np.column_stack(columns))
    return together


def coarse_sensors(
    problem: Problem, residuals: F64, used: npt.NDArray[np.bool_] | None = None
) -> list[Steps]:
    """Return the outputs whose measured values come in steps; `used` marks residuals."""
    sensors = []
    for output, rows, own in _that_count(problem, used):
        measured, there = output.signal.measured[output.signal.rows], np.isin(output.rows, rows)
        step = step_of(measured)
        if step > 0.0 and own.size:
            left = residuals[own] / output.scales[there]
            if step > _FINE * float(np.std(left)):
                sensors.append(Steps(own, measured[there] - left, step))
    return sensors


def repeated_residuals(
    problem: Problem, residuals: F64, model: LocalModel
) -> tuple[RepeatedResiduals, ...]:
    """Return the outputs whose residuals recur in other experiments."""
    layout = residual_layout(problem)
    jacobian, noise = model.data_jacobian, model.coloured
    if (
        len(problem.experiments) < 2
        or not problem.cost.gives_intervals
        or not layout.size == residuals.size == len(jacobian)
        or not np.isfinite(jacobian).all()
        or (noise is None and not isinstance(problem.cost, TimeDomain))
        or _rounding(problem, residuals, None)
    ):
        return ()
    outputs = noisy_outputs(problem)
    innovations = residuals
    if noise is None:  # a colour too weak for a test is still there
        fitted = fit_noise(outputs, residuals, jacobian, ["auto"] * len(outputs))
        innovations = fitted.whiten(residuals)
    elif not noise.whitened:
        innovations = noise.model.whiten(residuals)
    each = []
    for output, series, correlation in repetitions(outputs, innovations):
        where = tuple(problem.experiments[layout.experiment[s.rows[0]]].name for s in series)
        each.append(RepeatedResiduals(output.measurement, where, correlation))
    return tuple(each)


def noise_of(
    problem: Problem,
    residuals: F64,
    jacobian: F64,
    used: npt.NDArray[np.bool_] | None = None,
    *,
    counts: bool = True,
    size: float = 1.0,
) -> NoiseFinding | None:
    """Return the noise of residuals if it is not white noise of one size.

    ``None`` also if residuals do not belong to samples, or are only rounding errors.
    `residuals` and `jacobian` have only rows that count, marked by `used`; `counts` says
    whether the noise is requested at all. `size` is the standard deviation of innovations whose
    model was estimated with the parameters.
    """
    if not counts or not problem.cost.gives_intervals:
        return None
    if isinstance(problem.cost, Prewhitened):
        together = sampled_together(problem, used)
        return whitened_finding(problem.cost.model, residuals, jacobian, together, size)
    if (
        not isinstance(problem.cost, TimeDomain)
        or (used is not None and used.size != residual_layout(problem).size)
        or not np.isfinite(jacobian).all()
        or _rounding(problem, residuals, used)
    ):
        return None
    return noise_found(
        noisy_outputs(problem, used),
        residuals,
        jacobian,
        sigma_known=problem.sigma_known,
        steps=coarse_sensors(problem, residuals, used),
        together=sampled_together(problem, used),
    )


def counted_noise(fit: Fit) -> CountedNoise | None:
    """Return the noise that the standard errors include; ``None`` if that is white noise."""
    statistics = fit.uncertainty
    if statistics is None or statistics.local.coloured is None:
        return None
    model, noise = statistics.local, statistics.local.coloured
    modelled = noise.whitened
    known = np.isfinite(model.standard_errors)
    white = model.white_errors

    def by_name(values: F64) -> dict[str, float]:
        each = zip(fit.names, values, known, strict=True)
        return {name: float(value) for name, value, k in each if k}

    with np.errstate(divide="ignore", invalid="ignore"):
        factors = by_name(model.standard_errors / white)
    return CountedNoise(
        noise.coloured,
        noise.unequal,
        noise.uneven,
        noise.outputs,
        noise.sums is not None,
        {} if modelled else by_name(white),
        {} if modelled else factors,
        by_name(model.parameter_freedoms),
        modelled,
        _counted_waves(fit, noise),
        _shared_noise(noise),
    )


def _counted_waves(fit: Fit, noise: NoiseFinding) -> tuple[CountedWave, ...]:
    if noise.sums is not None:
        return ()
    model, names = fit.statistics.local, fit.names
    groups: dict[tuple[tuple[str, ...], str, str], list[tuple[tuple[Wave, ...], CountedWave]]] = {}
    placed = {id(wave): output for wave, output in placed_waves(fit.problem, noise)}
    for together in noise.model.groups:
        wave = max(together, key=lambda w: w.amplitude)
        place = placed[id(wave)]
        output, unit = place.measurement.name, place.measurement.unit or ""
        others = tuple(sorted(placed[id(w)].measurement.name for w in together if w is not wave))
        size = wave.frequency if wave.kind == "tone" else wave.step
        amplitude = wave.amplitude / float(np.mean(place.scales))
        counted = CountedWave(output, wave.kind, size, amplitude, unit, others=others)
        outputs = tuple(sorted([output, *others]))
        groups.setdefault((outputs, wave.kind, f"{size:.3g}"), []).append((together, counted))
    waves = []
    for group in groups.values():
        strongest = max((c for _, c in group), key=lambda c: c.amplitude)
        strongest = replace(strongest, driven=any(w.driven for g, _ in group for w in g))
        if not noise.whitened:
            variances = np.zeros(len(names))
            for together, _ in group:
                columns = factor_of(together, model.right.size)
                variances += np.sum(model.answer(columns) ** 2, axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.nan_to_num(variances / model.standard_errors**2)
            most = int(np.argmax(shares))
            strongest = replace(strongest, share=float(shares[most]), parameter=names[most])
        waves.append(strongest)
    return tuple(waves)


def _shared_noise(noise: NoiseFinding) -> tuple[SharedNoise, ...]:
    """Return which outputs have noise in common, each pair where it is strongest."""
    pairs: dict[tuple[str, str], float] = {}
    for shared in noise.model.shared:
        names = [_output_of(noise, int(row)) for row in shared.rows[0]]
        for i, j in shared.pairs:
            value, pair = float(shared.correlation[i, j]), (names[i], names[j])
            pairs[pair] = max(value, pairs.get(pair, 0.0), key=abs)
    each = sorted(pairs.items(), key=lambda item: -abs(item[1]))
    return tuple(SharedNoise(*names, value) for names, value in each)


def _output_of(noise: NoiseFinding, row: int) -> str:
    outputs = noise.model.outputs
    own = next(o for o in outputs if any(bool((s.rows == row).any()) for s in o.series))
    return own.measurement


def _rounding(problem: Problem, residuals: F64, used: npt.NDArray[np.bool_] | None) -> bool:
    scaled = [s.scaled(s.measured) for s in measured_signals(problem)]
    ranges = np.concatenate([np.full(x.size, np.ptp(x) if x.size else 0.0) for x in scaled])
    small = np.abs(residuals) <= _ROUNDING * (ranges if used is None else ranges[used])
    return bool(np.mean(small) > 0.5)


@dataclass(frozen=True, eq=False)
class Prewhitened(Cost):
    """Squares of the innovations: differences that earlier samples do not predict.

    For autoregressions they are the errors of predicting each sample from the model and all
    earlier samples (Ljung, System Identification, 2nd ed., sections 3.2 and 7.2), here with
    the exact beginning of each record. Whitening is linear, so that derivatives are
    filtered likewise.
    """

    name: ClassVar[str] = TimeDomain.name
    summary: ClassVar[str] = "squares of the differences, whitened by a model of the noise"

    model: NoiseModel

    @property
    def gives_intervals(self) -> bool:
        """True: the innovations are white, of variance 1."""
        return True

    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        """Return the innovations, by experiment, then output, then time."""
        return self.model.whiten(TimeDomain().residuals(signals, predicted))

    def derivatives(
        self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64], changes: Sequence[F64]
    ) -> F64:
        """Return the derivatives of the innovations along directions."""
        return self.model.whiten(TimeDomain().derivatives(signals, predicted, changes))

    def options(self) -> dict[str, object]:
        """Return no options: the result has the noise separately from the cost."""
        return {}


def prewhitened(problem: Problem, model: NoiseModel, p: F64) -> Problem:
    """Return the problem with whitened residuals and the initial values `p`."""
    return replace(beginning_at(problem, p), cost=Prewhitened(model))


def whitened_fits(
    problem: Problem, fits: Sequence[OutputFit], residuals: F64
) -> tuple[OutputFit, ...]:
    """Return fits with innovations as differences; the given ones without a noise model."""
    if not isinstance(problem.cost, Prewhitened):
        return tuple(fits)
    whitened = []
    for output, fit in zip(recorded_outputs(problem), fits, strict=True):
        own, there = residuals[output.rows], np.flatnonzero(np.isfinite(fit.measured))
        if own.size != there.size:
            continue
        values, nothing = np.full(fit.times.size, np.nan), np.zeros(fit.times.size)
        values[there] = own
        rms = float(np.sqrt(np.mean(own**2))) if own.size else float("nan")
        whitened.append(
            replace(
                fit,
                unit=None,
                measured=values,
                initial=nothing,
                fitted=nothing,
                sigma=np.ones(fit.times.size),
                rms=rms,
            )
        )
    return tuple(whitened)


def placed_waves(problem: Problem, noise: NoiseFinding) -> list[tuple[Wave, Recorded]]:
    """Return each wave with its output."""
    return [
        (wave, output)
        for output in recorded_outputs(problem)
        for wave in noise.model.waves
        if np.isin(wave.rows[0], output.rows)
    ]


def step_of(values: F64) -> float:
    """Return the step of which all differences of samples are multiples; 0 if there is none."""
    if values.size < _FEWEST:
        return 0.0
    levels = np.unique(values)
    # What was computed from one level may differ by rounding.
    levels = levels[np.r_[True, np.diff(levels) > _ROUNDING * np.ptp(levels)]]
    if levels.size <= 2:
        return 0.0
    apart = np.diff(levels)
    step = float(np.median(apart[apart < 1.5 * apart.min()]))
    whole = apart / step
    return step if float(np.max(np.abs(whole - np.round(whole)))) < 0.05 else 0.0


@dataclass(frozen=True, eq=False)
class Alternation:
    """An estimate with a noise model, after a number of rounds.

    `settled` says whether parameters and noise model have converged.
    """

    problem: Problem
    evaluator: Evaluator
    estimate: Estimate
    rounds: int
    settled: bool


def asks_for_noise(problem: Problem) -> bool:
    """Return whether a noise model is requested."""
    return any(m.noise is not None for e in problem.experiments for m in e.measurements)


def refuse_noise(
    problem: Problem, estimator: Estimator[Any] | type[Estimator[Any]], location: Location | None
) -> None:
    """Reject a noise model that would not be used; raises `ProblemError` at `location`."""
    if not asks_for_noise(problem):
        return
    if problem.stages:
        reason = "stages do not hand on what is known of the noise"
        hint = "estimate in stages without 'noise', then all parameters from these values"
        raise _refused(reason, hint, location)
    if not estimator.descends:
        reason = f"the estimator '{estimator.name}' does not search again from where it ended"
        hint = "estimate without 'noise' first, then from these values by least-squares"
        raise _refused(reason, hint, location)
    check_noise(problem, location)


def check_noise(problem: Problem, location: Location | None = None) -> None:
    """Reject a noise model with a cost that does not compare samples."""
    if asks_for_noise(problem) and problem.cost != TimeDomain():
        raise _refused(
            f"it is the noise of samples, not of what the cost '{problem.cost.name}' compares",
            "leave the cost out, or leave out 'noise'",
            location or problem.where("cost"),
        )


def _refused(reason: str, hint: str, location: Location | None) -> ProblemError:
    text = f"the noise of an output cannot be modelled here: {reason}"
    return ProblemError(text, location=location, hint=hint, code=Code.NOT_SUPPORTED)


def with_noise_at(
    problem: Problem, evaluator: Evaluator, p: F64, orders: Mapping[str, int] | None = None
) -> tuple[Problem, Evaluator]:
    """Return a problem whose residuals are innovations, for the noise at a point.

    A problem without a noise model is returned unchanged. `orders` are those of the
    autoregressions, by output, if known; otherwise as in the problem. Raises `ProblemError`
    if the order does not fit the samples, `EstimationError` if the simulation fails.
    """
    if not asks_for_noise(problem) or isinstance(problem.cost, Prewhitened):
        return problem, evaluator
    asked = NoiseAsked.of(problem)
    residuals = evaluator.data_residuals(p)
    if not bool(np.isfinite(residuals).all()):
        raise fails_at_the_estimate(evaluator)
    known = orders or {}
    chosen = [known.get(o.name, w) for o, w in zip(asked.outputs, asked.orders, strict=True)]
    jacobian = evaluator.data_jacobian(p)
    waves = asked.waves(problem, residuals, jacobian)
    noise = fit_noise(asked.outputs, residuals, jacobian, chosen, asked.criterion, waves)
    current = prewhitened(problem, noise, np.clip(p, problem.lower, problem.upper))
    return current, evaluator.for_problem(current)


@dataclass(frozen=True)
class NoiseAsked:
    """Noise models that a problem requests.

    `outputs` are groups of residuals with a common noise, with one order of autoregression
    each, which `criterion` selects if it is automatic. Only the noise of `coloured` outputs
    may be coloured.
    """

    outputs: tuple[NoisyOutput, ...]
    orders: tuple[Order, ...]
    criterion: str
    coloured: tuple[NoisyOutput, ...]

    @classmethod
    def of(cls, problem: Problem) -> NoiseAsked:
        """Return the request of a problem."""
        outputs = noisy_outputs(problem)
        asked = {m.name: m.noise for e in problem.experiments for m in e.measurements}
        orders: list[Order] = []
        coloured: list[NoisyOutput] = []
        criterion = "aicc"
        for output in outputs:
            choice = asked[output.measurement]
            assert choice is not None
            chosen: Order = "auto" if choice.order is None else choice.order
            orders.append(0 if choice.model == "white" else chosen)
            coloured += [output] if choice.model != "white" else []
            criterion = choice.criterion
            if not output.even and chosen not in ("auto", 0, 1):
                raise ProblemError(
                    f"the samples of '{output.name}' are not equidistant: the noise model there is"
                    f" an autoregression of first order in continuous time, not one of order"
                    f" {chosen}",
                    location=problem.where(),
                    hint='write order = 1 or "auto", or resample the data',
                    code=Code.NOT_SUPPORTED,
                )
        return cls(outputs, tuple(orders), criterion, tuple(coloured))

    def waves(self, problem: Problem, residuals: F64, jacobian: F64) -> tuple[Wave, ...]:
        """Return the waves in the outputs whose noise may be coloured."""
        steps = coarse_sensors(problem, residuals)
        return waves_found(self.coloured, residuals, spanned(jacobian), steps)


def alternation_with_noise(
    problem: Problem,
    evaluator: Evaluator,
    estimate: Estimate,
    search: Callable[[Problem, Evaluator], Estimate],
) -> Alternation:
    """Return the estimate with the noise model that the problem requests.

    `estimate` is that of ordinary least squares, with plain residuals; `search` estimates
    from the initial values of a problem. Raises `ProblemError` if the estimator has
    weighted the residuals differently, `JacobianError` if the simulation fails around the
    estimate.
    """
    if estimate.residual_weights is not None:
        raise ProblemError(
            "the noise of an output cannot be modelled together with weights of the estimator",
            location=problem.where("estimator"),
            hint="leave out 'noise': the standard errors count its colour",
            code=Code.NOT_SUPPORTED,
        )
    asked = NoiseAsked.of(problem)
    orders: Sequence[Order] = asked.orders
    current, at, result = problem, evaluator, estimate
    settled, number = False, 0
    waves: tuple[Wave, ...] = ()
    for number in range(1, _MOST + 1):
        p = result.parameters
        residuals, jacobian = evaluator.data_residuals(p), evaluator.data_jacobian(p)
        if number <= _LOOKED:
            waves = asked.waves(problem, residuals, jacobian)
        else:
            waves = with_amplitudes(waves, residuals, spanned(jacobian))
        noise = fit_noise(asked.outputs, residuals, jacobian, orders, asked.criterion, waves)
        orders = [f.order for f in noise.fits]  # once chosen, an order stays
        current = prewhitened(problem, noise, np.clip(p, problem.lower, problem.upper))
        at = evaluator.for_problem(current)
        result = search(current, at)
        if result.status != "converged":
            break
        if _moved(noise.whiten(jacobian), result.parameters - p) <= _SETTLED:
            settled = True
            break
    if not settled and result.status == "converged":
        message = f"{result.message}; but the model of the noise still changes"
        result = dataclasses.replace(result, status="limit", message=message, ended_by="stuck")
    return Alternation(current, at, result, number, settled)


def _moved(jacobian: F64, step: F64) -> float:
    """Return the largest change of a parameter by a step, in standard errors."""
    norms = np.linalg.norm(jacobian, axis=0)
    seen = norms > 0.0
    if not seen.any():
        return 0.0
    inverse = np.linalg.pinv(jacobian[:, seen] / norms[seen], rcond=1e-10)
    errors = np.linalg.norm(inverse, axis=1) / norms[seen]
    return float(np.max(np.abs(step[seen]) / np.maximum(errors, 1e-300)))
