"""Noise included in the standard errors, in a result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fmident.words import listed

DRIVEN = "What repeats with the motion may be what the model lacks"
_WORTH_SAYING, _MOSTLY = 0.05, 0.6
"""Parts of a variance from which on a wave is said, and from which on intervals are too wide."""

_FEW_TELL = 0.8
"""Standard errors from slow sums of the scores that are smaller than this times those for white
noise: the scores of such a parameter are large at a few instants only, where the fit has made their
sum zero."""

_SHOWN = 3
"""Pairs of outputs that are named."""

_COLOURED = 1e-3
"""Probability below which innovations are not white."""


def _pairs(shared: Sequence[SharedNoise]) -> str:
    return ", ".join(map(str, shared[:_SHOWN])) + (", ..." if len(shared) > _SHOWN else "")


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class OutputNoise:
    """The noise of one output, determined from its residuals.

    The name includes the sampling interval if the output has several. `p_white` is the
    probability of autocorrelations as large in white noise, and `p_innovations` the same
    for the innovations of the autoregression, whose `deviation` is relative to that of
    whitened residuals. An order of 0 means white noise; probabilities and autocorrelation
    are NaN if unknown.
    """

    name: str
    samples: int
    autocorrelation: float
    p_white: float
    order: int
    coefficients: tuple[float, ...]
    deviation: float
    p_innovations: float = float("nan")


@dataclass(frozen=True)
class CountedWave:
    """A part of the noise of one output that is known except for its phase.

    Parameters
    ----------
    kind, size
        ``"tone"`` of a frequency, Hz, or ``"steps"`` of a sensor, in the unit of the
        output.
    amplitude
        In the unit of the output; for steps, that of the strongest wave.
    share, parameter
        Largest fraction of the variance of a parameter that it causes, and its name; NaN
        and empty if the noise was modelled, so that the wave is weighted out.
    driven
        Whether the motion has that frequency, too, so that the tone may be a model error.
    others
        Further outputs with the same tone in the same experiment and one phase, which
        `share` includes.
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
        """Return a description."""
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
        """Return a description."""
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
    def largest_factor(self) -> float:
        """Factor by which a standard error differs most; 1 without any."""
        known = [f for f in self.factors.values() if math.isfinite(f) and f > 0.0]
        return max(known, key=lambda f: abs(math.log(f)), default=1.0)

    @property
    def summary(self) -> str:
        """Noise in standard errors and intervals, and by what factor: a sentence, no full stop."""
        if self.modelled:
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
                text += f"; outputs have noise in common ({_pairs(self.shared)})"
            if left:
                text += f"; what that leaves of {', '.join(left)} is still correlated"
            return text
        kinds = [
            *(["is correlated in time"] if self._smooth else []),
            *(["holds a tone"] if any(w.kind == "tone" for w in self.waves) else []),
            *(
                ["comes from a sensor's steps"]
                if any(w.kind == "steps" for w in self.waves)
                else []
            ),
            *(["differs between outputs"] if self.unequal else []),
            *(["changes its size over time"] if self.uneven else []),
            *([f"outputs have in common ({_pairs(self.shared)})"] if self.shared else []),
        ]
        text = f"the standard errors count noise that {' and '.join(kinds)}"
        known = [f for f in self.factors.values() if math.isfinite(f)]
        if not known:
            return text
        least, most = f"{min(known):.2g}", f"{max(known):.2g}"
        span = least if least == most else f"{least} to {most}"
        times = "the same as" if span == "1" else f"{span} times"
        text = f"{text}: they are {times} those for white noise of one size"
        if self.contradicted:
            text += (
                ". Ordinary and generalised least squares differ by more than any such noise makes"
                " them: a part of the residuals is what the model lacks, and may come back in"
                " other data in another form"
            )
            if few := [n for n, f in self.factors.items() if f < _FEW_TELL]:
                shown = ", ".join(few[:3]) + (", ..." if len(few) > 3 else "")
                text += (
                    f". Few samples show {shown}, and so little of what the model lacks is seen"
                    " there: take the larger standard error, that for white noise, and a profile"
                )
        each = [
            f"{w} makes {w.share:.0%} of the variance of {w.parameter}"
            if w.kind == "tone"
            else f"{w} make {w.share:.0%} of the variance of {w.parameter}"
            for w in self.waves
            if w.share >= _WORTH_SAYING
        ]
        if each:
            text += f". {_begun('; '.join(each))}"
        if any(w.driven for w in self.waves):
            text += f". {DRIVEN}"
        if any(w.share >= _MOSTLY for w in self.waves):
            text += (
                ". What is mostly a wave of unknown phase has no tails: intervals hold the truth"
                " more often than they say"
            )
        return text

    @property
    def _smooth(self) -> bool:
        """Whether there is correlation in time other than waves."""
        return self.coloured and (not self.waves or any(o.order > 0 for o in self.outputs))
