"""Parts of a result as data: fits of outputs, residuals, noise, priors, draws, inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from fmident.arrays import F64
from fmident.statistics.noise.covariance import OutputNoise
from fmident.statistics.residuals import residual_statistics
from fmident.words import listed, sentence

CONFLICT = 0.01
"""Probability below which prior and data are said to contradict each other."""


DRIVEN = "What repeats with the motion may be what the model lacks"
_WORTH_SAYING, _MOSTLY = 0.05, 0.6
"""Parts of a variance above which a wave is mentioned, and above which intervals are too wide."""

_FEW_TELL = 0.8
"""Standard errors from slow sums of the scores that are smaller than this times those for white
noise: the scores of such a parameter are large at a few instants only, where the fit has made their
sum zero."""

_SHOWN = 3
"""Pairs of outputs that are named."""

_ROUNDING = 1e-9
"""Residuals smaller than this part of the measured range are rounding, or the solver's error."""

_COLOURED = 1e-3
"""Probability below which innovations are not white."""


@dataclass(frozen=True)
class ExcludedSamples:
    """Samples of an output that were measured but do not count.

    The reason is a condition or filter, in words; `replaced` ones have medians instead,
    which do count. Times and values are empty if only the number is known.
    """

    reason: str
    count: int
    replaced: bool = False
    times: F64 = field(default_factory=lambda: np.empty(0))
    values: F64 = field(default_factory=lambda: np.empty(0))

    def __str__(self) -> str:
        how = "replaced by the median" if self.replaced else "excluded"
        return f"{self.count} {how} ({self.reason})"


@dataclass(frozen=True)
class OutputFit:
    """Measured and simulated values for one output of one experiment.

    Parameters
    ----------
    times, measured, initial, fitted
        Shape (n,): as measured (NaN where missing), simulated at the initial and at the
        final parameters, with the measurement model. With decimation, the decimated
        signals.
    sigma
        Standard deviation used, shape (n,).
    rms_initial, rms
        Root mean square of the residual at the initial and at the final parameters.
    relative_error
        ``norm(measured - fitted) / norm(measured)``.
    nrmse
        Root mean square of the residual over the standard deviation of the measured values;
        1 for a model that returns their mean. NaN if they are constant.
    vaf
        Variance accounted for: ``1 - var(measured - fitted) / var(measured)``; NaN if they
        are constant.
    excluded
        Samples that do not count, one item for each reason.
    """

    experiment: str
    name: str
    unit: str | None
    times: F64
    measured: F64
    initial: F64
    fitted: F64
    sigma: F64
    rms_initial: float
    rms: float
    relative_error: float
    nrmse: float = float("nan")
    vaf: float = float("nan")
    excluded: tuple[ExcludedSamples, ...] = ()

    @property
    def is_noisy(self) -> bool:
        """Whether the residuals are more than rounding, or the error of a solver."""
        known = self.measured[np.isfinite(self.measured)]
        return bool(known.size) and self.rms > _ROUNDING * float(np.ptp(known))


def coloured_fits(fits: Iterable[OutputFit]) -> list[tuple[OutputFit, float]]:
    """Return the fits whose neighbouring residuals are correlated, with the correlation.

    Residuals of the size of rounding errors, all that noise-free data leave, are left out.
    """
    seen = ((fit, residual_statistics(fit.measured - fit.fitted)) for fit in fits if fit.is_noisy)
    return [(f, s.autocorrelation) for f, s in seen if not s.white and s.autocorrelation > 0.0]


@dataclass(frozen=True)
class UnmodelledDelay:
    """A delay that the residuals show but the problem does not have.

    The measured output lags behind the simulated one by `delay`, s, with the standard error
    `error`; `step` is the sampling interval, s, and `left` the ratio of the root mean
    square residual with the delay to that without it.
    """

    experiment: str
    output: str
    delay: float
    error: float
    step: float
    left: float


@dataclass(frozen=True)
class OtherCourse:
    """An input that may have another course between samples than the simulated one.

    `interpolation` is the other course as in the problem file; `jumps` is 0 for a
    continuous input. `cost_ratio` is the cost with the other course over the present one,
    parameters corrected, and `evidence` twice the logarithm of the likelihood ratio.
    `moves` are the changes of parameters in standard errors. It is `proven` if it explains
    the data better than chance or a delay would; `left` is then the size of the residuals
    relative to the spread of the measured values.
    """

    input: str
    experiments: tuple[str, ...]
    interpolation: str
    jumps: int
    cost_ratio: float
    evidence: float
    moves: Mapping[str, float] = field(default_factory=dict)
    proven: bool = False
    left: float = float("nan")

    @property
    def matters(self) -> bool:
        """Whether the user should check the input.

        An input with jumps is probably held, and need not prove it if the intervals depend on
        it.
        """
        largest = max((abs(x) for x in self.moves.values()), default=0.0)
        likely = self.jumps > 0 and self.interpolation == "hold"
        alike = self.evidence > -_CHANCE and self.cost_ratio < _ALIKE
        return self.proven or (likely and alike and largest > _NOTICED)

    def __str__(self) -> str:
        """Return the effect of the other course, as a sentence without full stop."""
        if self.interpolation != "hold":
            now = "is held between samples"
        else:
            times = "once" if self.jumps == 1 else f"{self.jumps} times"
            now = f"jumps {times} and is" if self.jumps else "is"
            now += " simulated on straight lines between samples"
        sentence = f"The input '{self.input}' {now}"
        if math.isnan(self.cost_ratio):
            return sentence
        large = sorted(self.moves.items(), key=lambda item: -abs(item[1]))
        sizes = [(name, abs(x)) for name, x in large[:3] if abs(x) > _NOTICED]
        shifts = [f"'{name}' by {x:.{0 if x >= 10.0 else 1}f}" for name, x in sizes]
        and_moves = f", which moves {listed(shifts)} standard errors" if shifts else ""
        verb = "falls" if self.cost_ratio < 1.0 else "rises"
        cost = f"the cost {verb} to {100.0 * self.cost_ratio:.3g} %"
        return f'{sentence}: with interpolation = "{self.interpolation}" {cost}{and_moves}'

    @property
    def advice(self) -> str:
        """Return which key to write, as a sentence without full stop."""
        key = f'{self.input} = {{ column = ..., interpolation = "{self.interpolation}" }}'
        where = f"[experiments.inputs] of {', '.join(map(repr, self.experiments[:3]))}"
        if self.interpolation == "hold":
            return f"If it is held, as by a D/A converter or a switch, write {key} in {where}"
        return f"If it runs straight between samples, write {key} in {where}"


@dataclass(frozen=True)
class GatheredResiduals:
    """Residuals of an output that are larger just after jumps of an input.

    `ratio` is their size within three samples from a jump relative to that elsewhere.
    """

    output: str
    input: str
    experiment: str
    ratio: float

    def __str__(self) -> str:
        """Return where the residuals are, as a sentence without full stop."""
        return (
            f"The residuals of '{self.output}' gather at the jumps of '{self.input}'"
            f" ('{self.experiment}'): just after one they are {self.ratio:.2g} times as large as"
            " elsewhere"
        )


_NOTICED = 0.5
"""Change of a parameter, in standard errors, above which intervals cover visibly less."""

_CHANCE = 10.0
"""Evidence that chance may make."""

_ALIKE = 1.1
"""Ratio of two costs below which they count as equal; where neighbouring residuals are correlated,
evidence alone would let the cost rise by far more."""


@dataclass(frozen=True)
class RepeatedResiduals:
    """Residuals of an output that recur in other experiments, sample by sample.

    `correlation` is that of the residuals after whitening: the mean over pairs of
    experiments, or that of the strongest pair if some change sign.
    """

    output: str
    experiments: tuple[str, ...]
    correlation: float


@dataclass(frozen=True)
class ResidualCheck:
    """Checks whether the model explains the data.

    Parameters
    ----------
    noise_ratio
        Size of the residuals relative to the given noise, 1 for a correct model; NaN if the
        noise is not given.
    autocorrelation
        Largest correlation of neighbouring residuals of an output, 0 for white noise.
    delays
        Delays that the residuals show but the problem does not have.
    hiding_bounds
        Parameters on bounds beyond which most of the residuals would be explained,
        according to the derivatives at the estimate.
    repeated
        Outputs whose residuals recur in other experiments, unlike noise.
    outliers
        Number of outliers by output: residuals far larger than all others, including their
        neighbours, that together make up more than half of the sum of squares.
    courses
        Inputs that were simulated with another course between samples.
    gathered
        Outputs whose residuals are larger just after an input jumps.
    """

    noise_ratio: float
    autocorrelation: float
    delays: tuple[UnmodelledDelay, ...] = ()
    hiding_bounds: tuple[str, ...] = ()
    repeated: tuple[RepeatedResiduals, ...] = ()
    outliers: Mapping[str, int] = field(default_factory=dict)
    courses: tuple[OtherCourse, ...] = ()
    gathered: tuple[GatheredResiduals, ...] = ()

    @property
    def course(self) -> OtherCourse | None:
        """Input that most likely has another course between samples; ``None`` without one."""
        seen = [one for one in self.courses if one.matters]
        return max(seen, key=lambda one: (one.proven, one.evidence), default=None)


@dataclass(frozen=True)
class Validation:
    """Predictions of the estimate for experiments that were not fitted.

    `failures` are experiments that could not be simulated, with the reason. `noise_ratios`
    are the sizes of the residuals of each experiment relative to the noise, or to the
    fitted residuals without sigma: at most 1 if noise and parameter uncertainty can explain
    them, missing if the noise is unknown.
    """

    fits: tuple[OutputFit, ...]
    residuals: ResidualCheck | None = None
    failures: Mapping[str, str] = field(default_factory=dict)
    noise_ratios: Mapping[str, float] = field(default_factory=dict)

    @property
    def failed(self) -> dict[str, float]:
        """Ratios of the experiments that the model does not explain, the worst first."""
        above = {name: ratio for name, ratio in self.noise_ratios.items() if ratio > 1.0}
        return dict(sorted(above.items(), key=lambda item: -item[1]))


@dataclass(frozen=True, eq=False)
class InputSignal:
    """An input of one experiment.

    `times`, s, and `values` have the shape (n,). `held` says whether the FMU received each
    value until the next one, otherwise straight lines; `fitted` whether the experiment was
    fitted, not only compared.
    """

    experiment: str
    name: str
    unit: str | None
    times: F64
    values: F64
    held: bool = False
    fitted: bool = True


@dataclass(frozen=True)
class Influence:
    """What one output of one experiment says of one parameter.

    `share` is the part of the information about the parameter: the sum of the squares of its column
    of `OutputSensitivity.values` over all samples of this output. `move` is the standard error that
    the parameter would have if all others were known; infinite where it is invisible, NaN where the
    size of the noise is not known.
    """

    share: float
    move: float


@dataclass(frozen=True, eq=False)
class OutputSensitivity:
    """How one output of one experiment answers to n parameters, at the estimate.

    `times` are those of the samples, s, shape (k,); of many, two for each part of the time.
    `values`, shape (k, n), say by how much of its noise the output changes when a parameter moves
    by its `move`; in parts of the time, the smallest and the largest. The squares of a parameter
    over all samples of all outputs add up to 1, unless it is invisible. `stage` is the one in which
    these parameters were found; empty without stages.
    """

    experiment: str
    name: str
    influences: Mapping[str, Influence]
    times: F64
    values: F64
    stage: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names."""
        return tuple(self.influences)

    @property
    def shares(self) -> F64:
        """Of all parameters, shape (n,)."""
        return np.array([one.share for one in self.influences.values()])

    @property
    def moves(self) -> F64:
        """Of all parameters, shape (n,)."""
        return np.array([one.move for one in self.influences.values()])


@dataclass(frozen=True)
class PriorCheck:
    """Contribution of one prior, which is in words, such as ``"normal, 2 +- 0.05"``.

    `share` is that of all priors in the variance of the estimate, 0 to 1. The data alone give
    `data_value`, to first order, with the standard error `data_error`. `deviation` is the distance
    of the prior from the estimate by data and other priors, in standard deviations of the
    difference, positive if the prior is lower, and `p_value` the probability of a larger one. With
    `alone` the prior alone determines the parameter. Unknown values are NaN.
    """

    name: str
    unit: str | None
    prior: str
    share: float
    data_value: float
    data_error: float
    deviation: float
    p_value: float
    alone: bool = False


@dataclass(frozen=True)
class PriorKnowledge:
    """Contribution of the priors to an estimate, and whether they fit the data.

    There is one check per prior that counts; uniform ones are bounds. `shares` are those of the
    priors in the variance of each free parameter. `distance` is the squared Mahalanobis distance
    between the priors and the estimate by the data alone, with `compared` degrees of freedom, and
    `p_value` the probability of a larger one. The data alone do not determine `left_open`.
    """

    checks: tuple[PriorCheck, ...]
    shares: Mapping[str, float] = field(default_factory=dict)
    distance: float = float("nan")
    compared: int = 0
    p_value: float = float("nan")
    left_open: tuple[str, ...] = ()

    @property
    def conflict(self) -> tuple[PriorCheck, ...]:
        """Priors that contradict the data, the worst first."""
        known = [c for c in self.checks if c.p_value == c.p_value]
        if not known:
            return ()
        by_size = sorted(known, key=lambda c: c.p_value)
        # Without a joint test, as many comparisons as there are priors.
        joint = self.p_value if self.compared else len(known) * by_size[0].p_value
        if not joint < CONFLICT:
            return ()
        contradicting = tuple(c for c in by_size if c.p_value < CONFLICT)
        return contradicting or (by_size[0],)


@dataclass(frozen=True)
class DrawnParameter:
    """Statistics of the draws of one parameter.

    `bulk` and `tail` are the effective numbers of draws for the middle and for the ends of
    intervals; `r_hat` is the rank-normalised split R-hat, 1 if chains agree.
    """

    median: float
    mean: float
    sd: float
    bulk: float
    tail: float
    r_hat: float

    @property
    def error(self) -> float:
        """Monte Carlo standard error of the mean."""
        return self.sd / self.bulk**0.5 if self.bulk > 0.0 else float("nan")


@dataclass(frozen=True, eq=False)
class DrawnPosterior:
    """Draws from the posterior distribution of the free parameters, with statistics by name.

    `count` is the number of draws in the diagnostics; `values`, shape (chains, draws, n),
    in physical units, are possibly thinned, and empty if only the statistics are known.
    `densities` are logarithms of the posterior density, up to a constant.
    """

    parameters: Mapping[str, DrawnParameter]
    count: int
    values: F64 = field(default_factory=lambda: np.empty((0, 0, 0)))
    densities: F64 = field(default_factory=lambda: np.empty((0, 0)))


@dataclass(frozen=True)
class CountedWave:
    """A part of the noise of one output that is known except for its phase.

    It is a ``"tone"`` whose `size` is its frequency, Hz, or the ``"steps"`` of a sensor, whose size
    and `amplitude` (of the strongest wave) are in the unit of the output. It causes at most the
    `share` of the variance of a `parameter`; NaN and empty if the noise was modelled, so that the
    wave is weighted out. With `driven` the motion has that frequency, too, so that the tone may be
    a model error. `others` are further outputs with the same tone in the same experiment and one
    phase, which `share` includes.
    """

    output: str
    kind: str
    size: float
    amplitude: float
    unit: str = ""
    share: float = float("nan")
    parameter: str = ""
    driven: bool = False
    others: tuple[str, ...] = ()

    @property
    def variance(self) -> float:
        """Contribution to the variance of the output's residuals."""
        return 0.5 * self.amplitude**2 if self.kind == "tone" else self.size**2 / 12.0

    def __str__(self) -> str:
        if self.kind == "tone":
            size = f"{self.amplitude:.2g} {self.unit}".rstrip()
            places = [f"'{self.output}' ({size})", *(f"'{name}'" for name in self.others)]
            return f"a tone of {self.size:.3g} Hz in {listed(places)}"
        step = f"{self.size:.3g} {self.unit}".rstrip()
        return f"the sensor's steps of {step} in '{self.output}'"


@dataclass(frozen=True)
class SharedNoise:
    """Two outputs whose noise is correlated; the value is the largest of any experiment."""

    first: str
    second: str
    correlation: float

    def __str__(self) -> str:
        return f"{self.correlation:.2f} for '{self.first}' and '{self.second}'"


@dataclass(frozen=True)
class CountedNoise:
    """Noise other than white noise of one size, as included in standard errors and intervals.

    An output may be `coloured` in time, outputs may have `unequal` sizes, and the size may
    be `uneven` along a record.

    Parameters
    ----------
    contradicted
        Whether the residuals contradict any such noise, so that a part of them is a model
        error: the covariance then follows from slow sums of them, not from the
        autoregressions.
    white_errors, factors
        Standard errors for white noise of one size, and ratios to these, by parameter.
    degrees_of_freedom
        Effective ones of Student's t for the intervals, by parameter.
    modelled
        Whether the noise was modelled and estimated with the parameters, which then belong
        to whitened residuals.
    waves, shared
        Tones and steps of any phase, and outputs with correlated noise.
    """

    coloured: bool
    unequal: bool
    uneven: bool
    outputs: tuple[OutputNoise, ...]
    contradicted: bool = False
    white_errors: Mapping[str, float] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    degrees_of_freedom: Mapping[str, float] = field(default_factory=dict)
    modelled: bool = False
    waves: tuple[CountedWave, ...] = ()
    shared: tuple[SharedNoise, ...] = ()

    @property
    def model_orders(self) -> dict[str, int]:
        """Orders of the autoregressions that were estimated with the parameters, by output."""
        return {o.name: o.order for o in self.outputs} if self.modelled else {}

    @property
    def summary(self) -> str:
        """Noise in standard errors and intervals, and by what factor: a sentence, no full stop."""
        if self.modelled:
            return self._modelled_summary
        shared = listed(map(str, self.shared), _SHOWN)
        waves = {w.kind for w in self.waves}
        kinds = [
            *(["is correlated in time"] if self._smooth else []),
            *(["holds a tone"] if "tone" in waves else []),
            *(["comes from a sensor's steps"] if "steps" in waves else []),
            *(["differs between outputs"] if self.unequal else []),
            *(["changes its size over time"] if self.uneven else []),
            *([f"outputs have in common ({shared})"] if self.shared else []),
        ]
        text = f"the standard errors count noise that {' and '.join(kinds)}"
        known = [f for f in self.factors.values() if math.isfinite(f)]
        if not known:
            return text
        least, most = f"{min(known):.2g}", f"{max(known):.2g}"
        span = least if least == most else f"{least} to {most}"
        times = "the same as" if span == "1" else f"{span} times"
        text = f"{text}: they are {times} those for white noise of one size"
        return text + self._contradiction + self._waves_counted

    @property
    def _modelled_summary(self) -> str:
        """Noise that was estimated with the parameters."""
        each = [
            f"'{o.name}' an autoregression of order {o.order}"
            if o.order
            else f"'{o.name}' white noise"
            for o in self.outputs
        ]
        left = [f"'{o.name}'" for o in self.outputs if o.p_innovations < _COLOURED]
        each += [str(w) for w in self.waves]
        text = f"the noise is estimated with the parameters: {', '.join(each)}"
        if self.shared:
            text += f"; outputs have noise in common ({listed(map(str, self.shared), _SHOWN)})"
        if left:
            text += f"; what that leaves of {', '.join(left)} is still correlated"
        return text

    @property
    def _contradiction(self) -> str:
        """That the residuals contradict any such noise; empty if they do not."""
        text = ""
        if self.contradicted:
            text += (
                ". Ordinary and generalised least squares differ by more than any such noise makes"
                " them: a part of the residuals is what the model lacks, and may come back in"
                " other data in another form"
            )
            if few := [n for n, f in self.factors.items() if f < _FEW_TELL]:
                text += (
                    f". Few samples show {listed(few, 3)}, and so little of what the model lacks is"
                    " seen there: take the larger standard error, that for white noise, and a"
                    " profile"
                )
        return text

    @property
    def _waves_counted(self) -> str:
        """Tones and steps that matter; empty without."""
        text = ""
        each = [
            f"{w} make{'s' * (w.kind == 'tone')} {w.share:.0%} of the variance of {w.parameter}"
            for w in self.waves
            if w.share >= _WORTH_SAYING
        ]
        if each:
            text += ". " + sentence("; ".join(each)).removesuffix(".")
        if any(w.driven for w in self.waves):
            text += f". {DRIVEN}"
        if any(w.share >= _MOSTLY for w in self.waves):
            text += (
                ". An error that is mostly a wave of unknown phase is bounded: intervals contain"
                " the true value more often than their level says"
            )
        return text

    @property
    def _smooth(self) -> bool:
        return self.coloured and (not self.waves or any(o.order > 0 for o in self.outputs))
