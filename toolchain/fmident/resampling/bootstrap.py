"""Replicates of a problem's data, their estimates, and the summary of these.

If the noise is modelled, residuals are innovations of the noise model at the estimate.
A replicate is fitted with that model first; its residuals give the noise model of the
replicate, with which it is fitted again, as the estimate itself was (Davison and
Hinkley, Bootstrap Methods and their Application, 1997, section 8.2).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import EstimationError, ProblemError
from fmident.estimation.checks import fails_at_the_estimate
from fmident.estimation.diagnostics.constraints import parameters_at_bound
from fmident.estimation.diagnostics.noise import (
    NoiseAsked,
    Prewhitened,
    check_noise,
    noise_of,
    with_noise_at,
)
from fmident.estimation.diagnostics.notes import moved_notes
from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.evaluation import Evaluator, JacobianError
from fmident.findings import Finding, finding, in_order
from fmident.prediction.predict import noise_sizes
from fmident.problem.model import Problem
from fmident.problem.priors import Priors
from fmident.resampling.refits import Refit, StartingPoint, refined, refit, starting_point
from fmident.resampling.result import (
    BootstrapResult,
    FailedReplicate,
    Fitted,
    bands_of,
    parameters_of,
)
from fmident.resampling.schemes import (
    METHODS,
    WEIGHTS,
    Blocks,
    Method,
    Modelled,
    Panel,
    Parametric,
    Residual,
    Scheme,
    Weights,
    Wild,
    panels_of,
)
from fmident.statistics.distributions import correlation_of
from fmident.statistics.local_model import LocalModel
from fmident.statistics.noise.covariance import NoiseFinding
from fmident.statistics.noise.processes import NoiseModel, fit_noise, spanned
from fmident.statistics.noise.series import colour_level
from fmident.statistics.noise.waves import with_amplitudes

FEWEST = 20
"""Replicates below which there is no interval to speak of."""

_REFINED = 1e-3
"""Length of the step that the estimate may leave, in standard errors."""

_VANISHING = 10.0
"""Size of residuals, over the noise of the simulation, below which they do not show the data's."""

_MANY_FAILED = 0.02
_FULL_LEVERAGE = 1.0 - 1e-6
_MODELLED = finding(
    "noise-model",
    "The noise is modelled: replicates have new innovations, coloured by the model of the noise,"
    " and each is fitted with a noise model of its own, of the same order.",
)
_BAND_INSTANTS = 2000
"""Instants of an output at which there are bands, at most."""


@dataclass(frozen=True)
class BootstrapOptions:
    """What is asked for; options as of :func:`fmident.bootstrap`."""

    replicates: int = 500
    method: Method | None = None
    weights: Weights = "rademacher"
    block_length: int | None = None
    level: float = 0.95
    seed: int = 0


Listener = Callable[[int, int], None]
"""Receives the number of replicates that have ended, and that of all."""


def run_bootstrap(
    problem: Problem,
    evaluator: Evaluator,
    start: F64,
    options: BootstrapOptions,
    listener: Listener = lambda _, __: None,
    orders: Mapping[str, int] | None = None,
) -> BootstrapResult:
    """Fit replicates of the data in parallel, each from the estimate.

    The results do not depend on the executor, and a resumed run requests the same
    simulations in the same order. `start` is the estimate of the free parameters, shape
    (n,), refined first if it is not a minimum; `orders` are those of the noise models
    requested for outputs, if known. After Ctrl-C the replicates so far are returned.

    Raises `ProblemError` if the cost is not a sum over samples, the noise is unknown, or
    options are invalid, `EstimationError` if the simulation fails at the estimate, and
    `KeyboardInterrupt` before two replicates were fitted.
    """
    began = time.monotonic()
    check_bootstrap(problem, options)
    before = evaluator.simulations, evaluator.jacobians
    p = np.clip(np.asarray(start, dtype=np.float64), problem.lower, problem.upper)
    plain, (problem, evaluator) = problem, with_noise_at(problem, evaluator, p, orders)
    modelled = ModelledNoise.of(problem)
    p, statistics, notes = _estimate(problem, evaluator, start)
    origin = _origin(evaluator, p, statistics.residual_variance)
    panels = panels_of(problem)
    leverages = _leverages(evaluator, origin)
    noise = noise_of(problem, origin.residuals, origin.jacobian)
    left = noise if modelled is None else None  # innovations are white
    scheme, reason = _scheme(problem, panels, origin, leverages, left, options)
    notes += _scheme_notes(problem, origin, leverages, left, scheme)
    if modelled is not None:
        notes.append(_MODELLED)
    fit = refit if modelled is None else modelled.refit
    replicates = _Replicates(origin, scheme, statistics, fit, _band_rows(panels))
    interrupted = not replicates.run(evaluator, options, listener)
    fitted, failed = replicates.fitted(interrupted=interrupted)
    notes += _failure_notes(failed, len(failed) + fitted.numbers.size)
    estimates, covariance, more = parameters_of(
        problem, p, statistics, scheme, fitted, options.level
    )
    residuals = origin.residuals if modelled is None else modelled.model.colour(origin.residuals)
    sizes = noise_sizes(plain, residuals, leverages, noise)
    return BootstrapResult(
        status="interrupted" if interrupted else "complete",
        method=scheme.name,
        reason=reason,
        level=options.level,
        wanted=options.replicates,
        seed=options.seed,
        estimates=estimates,
        covariance=covariance,
        correlation=correlation_of(covariance),
        numbers=fitted.numbers,
        replicates=fitted.values,
        costs=fitted.costs,
        failed=tuple(failed),
        bands=bands_of(problem, fitted, residuals, sizes, options.level),
        weights=options.weights if scheme.name == "wild" else None,
        block_lengths=_block_lengths(scheme),
        simulations=evaluator.simulations - before[0],
        jacobians=evaluator.jacobians - before[1],
        seconds=time.monotonic() - began,
        findings=in_order([*notes, *more]),
        modelled=modelled is not None,
    )


class _Replicates:
    """Draws replicates and fits each of them from the estimate."""

    def __init__(
        self,
        origin: StartingPoint,
        scheme: Scheme,
        linearisation: LocalModel,
        fit: Callable[[Evaluator, StartingPoint, F64, Priors], Refit],
        band_rows: npt.NDArray[np.intp],
    ) -> None:
        self._origin, self._scheme, self._fit = origin, scheme, fit
        self._noise = linearisation.noise
        self._answers = linearisation.answer_to_noise / self._noise
        self._band_rows = band_rows
        self._refits: dict[int, Refit] = {}
        self._linear: dict[int, F64] = {}

    def run(self, evaluator: Evaluator, options: BootstrapOptions, listener: Listener) -> bool:
        """Fit all replicates; return whether it was not interrupted."""

        def search(number: int, generator: np.random.Generator, branch: Evaluator) -> None:
            self._search(number, generator, branch)
            listener(len(self._refits), options.replicates)

        seeds = np.random.SeedSequence(options.seed).spawn(options.replicates)
        searches = [partial(search, k, np.random.default_rng(s)) for k, s in enumerate(seeds)]
        try:
            evaluator.side_by_side(searches)
        except KeyboardInterrupt:
            return False
        return True

    def _search(self, number: int, generator: np.random.Generator, branch: Evaluator) -> None:
        origin = self._origin
        drawn = self._scheme.draw(generator)
        priors = _moved_priors(branch.problem, origin.p, generator)
        fitted = self._fit(branch, origin, drawn - origin.residuals, priors)
        simulated = fitted.simulated[self._band_rows]
        self._refits[number] = dataclasses.replace(fitted, simulated=simulated)
        # Not by BLAS, whose threads cost more than they save.
        change = np.append(drawn, self._noise * priors.deviations(origin.p))
        self._linear[number] = np.einsum("ij,j->i", self._answers, change)

    def fitted(self, *, interrupted: bool) -> tuple[Fitted, list[FailedReplicate]]:
        refits = dict(sorted(self._refits.items()))
        good = [k for k, f in refits.items() if not f.failure]
        failed = [FailedReplicate(k, f.failure) for k, f in refits.items() if f.failure]
        if interrupted and len(good) < FEWEST:
            raise KeyboardInterrupt
        if len(good) < FEWEST:
            why = f"; the first: {failed[0].reason}" if failed else ""
            raise EstimationError(
                f"only {len(good)} of {len(refits)} replicates could be fitted{why}",
                hint="'fmident check' shows where simulations fail; narrower bounds keep them away",
            )
        fitted = Fitted(
            np.array(good, dtype=np.intp),
            np.array([refits[k].p for k in good]),
            np.array([refits[k].cost for k in good]),
            np.array([refits[k].simulated for k in good]),
            self._band_rows,
            np.array([self._linear[k] for k in good]),
            self._answers,
        )
        return fitted, failed


def check_bootstrap(problem: Problem, options: BootstrapOptions) -> None:
    """Raise `ProblemError` if the problem cannot be bootstrapped or options are invalid.

    The cost must be a sum over samples, and there must be free parameters.
    """
    location = problem.where()
    if not problem.free:
        raise ProblemError("no parameter is free: there is nothing to bootstrap", location=location)
    check_noise(problem)
    if not (problem.cost.gives_intervals and problem.cost.by_sample):
        raise ProblemError(
            f"the cost '{problem.cost.name}' is not a sum over samples with equal weights, so that "
            "its residuals cannot be resampled",
            location=location,
            hint="bootstrap with the time-domain cost as it is by default: --set "
            "cost.name=time-domain",
        )
    if options.replicates < FEWEST:
        raise ProblemError(
            f"{options.replicates} replicates are too few for an interval",
            hint=f"take at least {FEWEST}; 500 are usual, 2000 for the ends of intervals",
        )
    known_method = options.method is None or options.method in METHODS
    length, weights = options.block_length, options.weights
    for allowed, message in (
        (0.0 < options.level < 1.0, f"a level lies between 0 and 1, not {options.level:g}"),
        (known_method, f"there is no method '{options.method}': {', '.join(METHODS)}"),
        (weights in WEIGHTS, f"there are no weights '{weights}': {', '.join(WEIGHTS)}"),
        (length is None or length >= 1, f"a block has at least 1 sample, not {length}"),
        (options.seed >= 0, f"a seed is not negative, as {options.seed} is"),
    ):
        if not allowed:
            raise ProblemError(message)


def _estimate(
    problem: Problem, evaluator: Evaluator, start: F64
) -> tuple[F64, LocalModel, list[Finding]]:
    """Return the minimum of the cost near a point, its statistics, and notes."""
    p = np.clip(np.asarray(start, dtype=np.float64), problem.lower, problem.upper)
    residuals = evaluator.data_residuals(p)
    if not bool(np.isfinite(residuals).all()):
        raise fails_at_the_estimate(evaluator)
    if residuals.size <= p.size:
        raise ProblemError(
            f"there are {residuals.size} samples for {p.size} parameters: no residuals are left to"
            " resample"
        )
    freedom = residuals.size - p.size
    variance = 1.0 if problem.sigma_known else float(residuals @ residuals) / freedom
    before, refit_result = p, refined(evaluator, _origin(evaluator, p, variance), _REFINED)
    if refit_result.failure:
        raise EstimationError(
            f"there is no minimum of the cost next to the estimate: {refit_result.failure}",
            hint="estimate again",
        )
    p = refit_result.p
    statistics = uncertainty(
        problem, evaluator, p, counts_noise=False, compare_interfaces=False
    ).local
    names = [q.name for q in problem.free]
    notes = moved_notes(problem, before, p, statistics.standard_errors, "replicates")
    if on := ", ".join(compress(names, parameters_at_bound(problem, p))):
        notes.append(
            finding(
                "at-bound",
                f"On a bound: {on}. Percentiles of such a parameter, and of those that "
                "depend on it, need not hold the truth as often as they say (Andrews, "
                "Econometrica 68, 2000).",
            )
        )
    return p, statistics, notes


def _origin(evaluator: Evaluator, p: F64, variance: float) -> StartingPoint:
    noise = evaluator.noise(p)
    residuals = evaluator.data_residuals(p)
    if not variance > 0.0 or float(np.mean(residuals**2)) <= (_VANISHING * noise) ** 2:
        raise ProblemError(
            "the residuals vanish: there is no noise that replicates of the data could have",
            hint="a bootstrap needs measured data, or data with noise",
        )
    try:
        return starting_point(evaluator, p, float(np.sqrt(variance)))
    except JacobianError as error:
        raise EstimationError(
            f"there are no derivatives at the estimate: {error.message}", hint=error.hint
        ) from error


def _leverages(evaluator: Evaluator, origin: StartingPoint) -> F64:
    """Return the diagonal of the hat matrix for the rows of the data, shape (m,)."""
    scale = evaluator.space.derivative(origin.p)[:, np.newaxis]
    effects = origin.jacobian @ (scale * origin.directions) / origin.spread
    leverages: F64 = np.clip(np.einsum("ij,ij->i", effects, effects), 0.0, 1.0)
    return leverages


def _scheme(
    problem: Problem,
    panels: Sequence[Panel],
    origin: StartingPoint,
    leverages: F64,
    noise: NoiseFinding | None,
    options: BootstrapOptions,
) -> tuple[Scheme, str]:
    """Return the resampling scheme and the reason for it."""
    residuals = origin.residuals
    method, reason = options.method, "as asked for"
    if method is None:
        method, reason = _chosen(noise)
        if isinstance(problem.cost, Prewhitened):
            method, reason = "parametric", "the outputs ask for a model of the noise"
    if method == "wild":
        if float(leverages.max()) >= _FULL_LEVERAGE:
            raise ProblemError(
                "a single sample decides about a parameter: its residual is zero and tells nothing "
                "of its noise",
                hint="take --method residual or parametric",
            )
        # Unbiased for noise of equal size (HC2; MacKinnon and White 1985).
        return Wild(panels, residuals / np.sqrt(1.0 - leverages), options.weights), reason
    # The fit has taken part of the noise: sqrt(m / (m - n)).
    scaled = residuals * np.sqrt(residuals.size / (residuals.size - float(leverages.sum())))
    if method == "block":
        return Blocks(panels, scaled, options.block_length), reason
    if method == "residual":
        return Residual(panels, scaled), reason
    if noise is not None:
        return Modelled(panels, scaled, noise.model), reason
    sizes = np.ones(residuals.size)
    if not problem.sigma_known:
        noise_levels = noise_sizes(problem, residuals, leverages)
        for panel in panels:
            for k, label in enumerate(panel.labels):
                sizes[panel.rows[:, k]] = noise_levels[label].size
    return Parametric(panels, scaled, sizes), reason


def _chosen(noise: NoiseFinding | None) -> tuple[Method, str]:
    """Return the method suitable for the noise in the residuals, and the reason."""
    if noise is None:
        return "residual", "the residuals are white"
    if noise.coloured:
        correlated = f"neighbouring residuals are correlated ({_correlations(noise)})"
        if noise.sums is None:
            waves = " and waves say" if noise.model.waves else " says"
            return "parametric", f"{correlated} as an autoregression{waves}"
        return "block", f"{correlated}, otherwise than any autoregression says"
    if noise.uneven:
        return "wild", "the noise changes its size along the record"
    return "residual", "the residuals are white, those of one instant are drawn together"


def _correlations(noise: NoiseFinding) -> str:
    seen = [o for o in noise.outputs if o.order > 0 or o.p_white < colour_level(o.samples)]
    texts = [f"{o.autocorrelation:.2f} for '{o.name}'" for o in seen]
    return ", ".join(texts[:3]) + (", ..." if len(texts) > 3 else "")


def _scheme_notes(
    problem: Problem,
    origin: StartingPoint,
    leverages: F64,
    noise: NoiseFinding | None,
    scheme: Scheme,
) -> Iterator[Finding]:
    size = origin.residuals.size - float(leverages.sum())
    ratio = float(np.sqrt(origin.residuals @ origin.residuals / size))
    spread = 5.0 / np.sqrt(2.0 * size)
    if problem.sigma_known and abs(ratio - 1.0) > max(spread, 0.05):
        noise_source = "given" if isinstance(scheme, Parametric) else "seen in the residuals"
        yield finding(
            "replicates-noise",
            f"The residuals are {ratio:.3g} times as large as the given sigma; the "
            f"replicates have the noise that is {noise_source}.",
        )
    if isinstance(scheme, Blocks):
        shortest = min(
            panel.size / length for panel, length in zip(scheme.panels, scheme.lengths, strict=True)
        )
        if shortest < 20.0:
            yield finding(
                "replicates-few",
                f"The record has only {shortest:.3g} blocks of the length that the "
                "correlation of the residuals asks for: the bootstrap then finds too little "
                "uncertainty. A longer record, or a model of the noise, is what helps.",
            )
    elif noise is not None and noise.coloured:
        if not isinstance(scheme, Modelled):
            yield finding(
                "replicates-noise",
                f"Neighbouring residuals are correlated ({_correlations(noise)}), which the "
                f"method '{scheme.name}' does not keep: the intervals are too narrow. "
                "'--method block' and '--method parametric' keep it.",
            )
        elif noise.sums is not None:
            yield finding(
                "replicates-noise",
                "The residuals contradict the autoregression whose noise the replicates "
                "have: a part of them is what the model lacks. '--method block' keeps it.",
            )
    if Priors.of(problem).count:
        yield finding(
            "replicates-prior",
            "The centre of each prior is drawn anew for each replicate, around the estimate "
            "and with the prior's standard deviation, as a measurement would be.",
        )


def _moved_priors(problem: Problem, p: F64, generator: np.random.Generator) -> Priors:
    """Return the priors with random centres, as if each were a new measurement."""
    priors = Priors.of(problem)
    if not priors.count:
        return priors
    values = priors.dependence.values(p)
    terms = []
    for name, prior in priors.terms:
        deviation = prior.deviation(values[name]) - float(generator.standard_normal())
        # The centre moves by that many standard deviations, on the scale on which it is normal.
        if prior.distribution == "lognormal":
            factor = float(np.exp(prior.log_sd * deviation))
            shifted = dataclasses.replace(prior, mean=prior.mean * factor, sd=prior.sd * factor)
        else:
            shifted = dataclasses.replace(prior, mean=prior.mean + prior.sd * deviation)
        terms.append((name, shifted))
    return dataclasses.replace(priors, terms=tuple(terms))


def _band_rows(panels: Sequence[Panel]) -> npt.NDArray[np.intp]:
    chosen = [p.rows[:: -(-p.size // _BAND_INSTANTS)].ravel() for p in panels]
    return np.sort(np.concatenate(chosen))


def _block_lengths(scheme: Scheme) -> dict[str, int]:
    if not isinstance(scheme, Blocks):
        return {}
    return {
        f"{experiment}: {name}": length
        for panel, length in zip(scheme.panels, scheme.lengths, strict=True)
        for experiment, name in panel.labels
    }


def _failure_notes(failed: Sequence[FailedReplicate], count: int) -> list[Finding]:
    if not failed:
        return []
    share = len(failed) / count
    text = (
        f"{len(failed)} of {count} replicates could not be fitted and are left out; the first: "
        f"{failed[0].reason}."
    )
    if share > _MANY_FAILED:
        text += (
            f" That is {100.0 * share:.2g} %: those that are left are a selection, and the "
            "intervals may be too narrow."
        )
    return [finding("replicates-failed", text)]


@dataclass(frozen=True, eq=False)
class ModelledNoise:
    """Noise model of a problem with whitened residuals, refitted for each replicate.

    `asked` are the requested noise models, and `model` is that at the estimate.
    """

    asked: NoiseAsked
    model: NoiseModel

    @classmethod
    def of(cls, problem: Problem) -> ModelledNoise | None:
        """Return that of a problem; ``None`` if the noise is not modelled."""
        if not isinstance(problem.cost, Prewhitened):
            return None
        return cls(NoiseAsked.of(problem), problem.cost.model)

    def refit(
        self, evaluator: Evaluator, origin: StartingPoint, shift: F64, priors: Priors
    ) -> Refit:
        """Return the estimate of a replicate with its own noise model.

        The arguments are those of :func:`~fmident.resampling.refits.refit`, in innovations. The
        residuals of the result are plain ones, not innovations.
        """
        first = refit(evaluator, origin, shift, priors)
        if first.failure:
            return first
        orders = [f.order for f in self.model.fits]
        left = self.model.colour(first.simulated + shift)
        jacobian = self.model.colour(origin.jacobian)
        waves = with_amplitudes(self.model.waves, left, spanned(jacobian))
        own = fit_noise(self.asked.outputs, left, jacobian, orders, waves=waves)

        def change(values: F64) -> F64:
            return own.whiten(self.model.colour(values))

        begin = dataclasses.replace(
            origin, residuals=change(origin.residuals), jacobian=change(origin.jacobian)
        )
        second = refit(evaluator, begin, change(shift), priors, change)
        return dataclasses.replace(
            second, simulated=own.colour(second.simulated), steps=first.steps + second.steps
        )
