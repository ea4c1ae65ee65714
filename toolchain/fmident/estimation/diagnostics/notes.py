"""Findings on an estimate: in words what the other modules of this folder have computed.

:mod:`fmident.estimation.assessment` has the tables of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.estimation.comparisons import PriorCheck, ResidualCheck, coloured_fits
from fmident.estimation.diagnostics import Fit, Recorded, recorded_outputs, values_of
from fmident.estimation.diagnostics.distant_influence import DistantInfluence
from fmident.estimation.diagnostics.jumps import Jumps
from fmident.estimation.diagnostics.minima import OtherMinimum
from fmident.estimation.diagnostics.noise import Alternation, placed_waves, step_of
from fmident.estimation.diagnostics.parameters import ENDS
from fmident.estimation.diagnostics.uncertainty import MATTERS
from fmident.estimation.result import CURVED
from fmident.evaluation.derivatives.verification import tightened_note
from fmident.findings import Finding, finding
from fmident.problem.constraints import Constraints
from fmident.problem.residuals import residual_layout
from fmident.statistics.distributions import student_quantile
from fmident.statistics.residuals import residual_statistics
from fmident.words import counted, listed, quoted

if TYPE_CHECKING:
    from fmident.problem.model import Problem
    from fmident.statistics.noise.covariance import NoiseFinding

_FEW = 5.0
"""Degrees of freedom below which intervals are far wider than two standard errors: 2.8 for 4."""

_AWAY = 0.5
"""Standard errors from the minimum above which intervals cover visibly less: 92 %, not 95 %."""

_MOVED = 0.01
"""Part of a standard error by which an estimate may be off without a note."""

_LEAST = 1e-16

_TOO_SMALL = 0.5
"""Chi-square per degree of freedom below which sigma cannot be that of the compared samples."""

_MANY = 50
"""Number of residuals from which their size says something about sigma."""

_UNEQUAL, _ENOUGH = 2.0, 10
"""Ratio of the noise of two outputs from which one variance for both misleads (88 % of intervals
of 95 % hold what the louder one shows), and samples that it takes to see it."""

_SHORT = 60
"""Samples of an output below which a correlation of 0.3 to 0.7 is hardly seen: intervals of 95 %
hold the truth in 79 to 88 % (docs/explanation/uncertainty.md)."""

_COARSE = 1.5
"""Steps of a sensor, in standard deviations of the residuals, above which they matter."""

_SAME = 0.9999
"""Correlation of the residuals of two experiments above which they are one record."""

_SHOWN = 5
"""Experiments that are named."""


def few_samples(fit: Fit) -> Iterator[Finding]:
    """Note that there are too few samples to estimate the noise."""
    rank, left = fit.statistics.identifiability.rank, fit.statistics.local.degrees_of_freedom
    if left <= 0 < rank and not fit.problem.sigma_known:
        yield finding(
            "no-intervals",
            f"There are no intervals: {counted(rank + left, 'sample')} for"
            f" {counted(rank, 'parameter')} are too few to estimate the size of the noise",
            "Give each output its sigma, or more samples.",
        )


def few_degrees_of_freedom(fit: Fit) -> Iterator[Finding]:
    """Warn of intervals that are wide since little is known of the size of the noise."""
    model, names = fit.statistics.local, np.array(fit.names)
    freedoms = model.parameter_freedoms
    few = np.isfinite(model.standard_errors) & (freedoms < _FEW)
    if not few.any() or fit.estimate.draws is not None:
        return
    least = float(freedoms[few].min())
    more = "a longer record" if model.coloured else "more samples, or the sigma of each output"
    yield finding(
        "few-degrees-of-freedom",
        f"the size of the noise is known with {least:.2g} degrees of freedom only: the intervals"
        f" reach as far as {student_quantile(0.975, least):.3g} standard errors to each side"
        f" ({quoted(names[few].tolist(), 3)})",
        f"{more} would make them shorter",
    )


def poorly_determined(fit: Fit) -> Iterator[Finding]:
    """Note parameters that are identifiable in principle but not from these data."""
    for q, value, error in zip(
        fit.problem.free, fit.p, fit.statistics.local.standard_errors, strict=True
    ):
        if np.isfinite(error) and error > max(abs(value), abs(q.initial)) > 0.0:
            text = f"'{q.name}' is poorly determined: {value:.3g} with a standard error of"
            yield finding("interval-poor", f"{text} {error:.3g}")


def away_from_minimum(fit: Fit) -> Iterator[Finding]:
    """Note parameters far from the minimum, compared with their intervals.

    Not every estimator goes to the minimum: some solve other equations, others end early.
    """
    steps, errors = fit.statistics.local.remaining_step, fit.statistics.local.standard_errors
    names = [
        f"'{q.name}' by {abs(step) / error:.2g}"
        for q, value, step, error in zip(fit.problem.free, fit.p, steps, errors, strict=True)
        if np.isfinite(error)
        and abs(step) > _AWAY * error
        and abs(step) > MATTERS * max(abs(value), abs(q.initial))
    ]
    if names and fit.estimate.draws is None and not fit.estimate.constrained:
        yield finding(
            "away-from-minimum",
            "The cost is lower elsewhere, farther away than the intervals allow for, in standard"
            f" errors: {', '.join(names)}. The intervals hold around that minimum, not around these"
            " values",
            "The search ended before it: see why it stopped."
            if fit.searches
            else "A further stage with least-squares goes there.",
        )


def inexact_derivatives(fit: Fit) -> Iterator[Finding]:
    """Note effects of the simulation tolerance on estimate and intervals."""
    check, identifiability = fit.statistics.derivatives, fit.statistics.identifiability
    if check.tightened is not None:
        yield tightened_note(check.tightened, check.tolerance, exact=fit.statistics.exact)

    def effect(shifts: Mapping[str, float], share: float) -> str:
        if not shifts:
            size = f"{share:.2g} times as large as" if share >= 1.0 else f"{share:.0%} of"
            return f"makes an error of the outputs that is {size} the residuals"
        changes = ", ".join(f"'{name}' by {x:.2g} standard errors" for name, x in shifts.items())
        return f"moves the estimate ({changes}), which the intervals do not count"

    if check.step_shifts or check.step_share:
        yield finding(
            "derivatives",
            "The outputs of the FMU depend on the communication step: its length"
            f" {effect(check.step_shifts, check.step_share)}",
            f"{check.step_advice}, and estimate again.",
        )
    if check.shifts or check.share:
        cause = (
            "the FMU's own solver, which ignores the tolerance,"
            if check.needed is None
            else f"the integration at the tolerance {check.tolerance:g}"
        )
        text = f"The error of {cause} {effect(check.shifts, check.share)}"
        yield finding("derivatives", text, f"{check.advice}, and estimate again.")
    if check.unknown:
        yield finding(
            "solver-error-unknown",
            "The FMU ignores the tolerance, and it is not known how far the error of its own"
            f" solver moves the estimate: {check.unknown}",
        )
    # Where the cost jumps, no tolerance makes a derivative.
    if {*identifiability.withheld, *identifiability.undecided} - {*identifiability.jumps}:
        if check.ignores_tolerance:
            text = (
                "The FMU ignores the tolerance, so that more exact derivatives need a finer solver"
                " in the FMU"
            )
            yield finding("derivatives", text)
        elif check.tightened is None and check.tolerance is None:
            text = "The FMU names no tolerance"
            yield finding("derivatives", text, "Give evaluation.tolerance, such as 1e-8.")


def curvature_notes(fit: Fit) -> Iterator[Finding]:
    """Note intervals that the linear model does not reach."""
    curved = {name: k for name, k in fit.curvatures.items() if k > CURVED}
    if curved:
        each = [f"'{name}' ({k:.2g})" for name, k in curved.items()]
        yield finding(
            "interval-curved",
            f"The model is too curved for the linear interval of {listed(each)}: in brackets its"
            f" relative curvature at the end of the interval, at most {CURVED:g} where the interval"
            " holds",
            "'fmident profile' follows the cost itself.",
        )


def bound_notes(fit: Fit) -> Iterator[Finding]:
    """Note parameters on a bound, and whether the data push them there."""
    pushed = (
        fit.at_bound if fit.uncertainty is None else fit.at_bound & fit.statistics.local.on_bound
    )
    for at_bound, effect in (
        (
            pushed,
            ": the data would take {it} farther; the standard errors of the other parameters hold"
            " for {that}",
        ),
        (
            fit.at_bound & ~pushed,
            " that nothing pushes against: the other parameters are as uncertain as without it",
        ),
    ):
        names = [name for name, at in zip(fit.names, at_bound, strict=True) if at]
        if names:
            one = len(names) == 1
            text = f"{quoted(names)} {'lies on a bound' if one else 'lie on bounds'}"
            if fit.uncertainty is not None:
                it, that = ("it", "that value") if one else ("them", "those values")
                text += effect.format(it=it, that=that)
            yield finding("interval-at-bound", text)


def constraint_notes(fit: Fit) -> Iterator[Finding]:
    """Note constraints that hold the estimate, cut intervals short, or are not kept."""
    active = fit.active
    if active is None:
        return
    items, equal = Constraints.of(fit.problem).items, Constraints.of(fit.problem).equalities
    holding = [str(c) for c, h, e in zip(items, active.holding, equal, strict=True) if h and not e]
    if holding:
        yield finding(
            "interval-cut",
            f"The constraint{'s' * (len(holding) > 1)} {listed(holding)}"
            f" hold{'s' * (len(holding) == 1)} the estimate: the standard errors are those of"
            " parameters that move along it; the intervals reach to its other side.",
        )
    elif fit.uncertainty is not None and fit.uncertainty.local.cut.any():
        text = "Inequalities cut the intervals short: they end where a constraint does."
        yield finding("interval-cut", text)
    violated = [str(c) for c, v in zip(items, active.violated, strict=True) if v]
    if violated:
        text = f"Not kept: {listed(violated)}. The parameters and intervals do not hold."
        yield finding("interval-cut", text)


def prior_notes(fit: Fit) -> Iterator[Finding]:
    """Note priors that contradict the data."""
    known = fit.priors
    if known is None or not known.conflict:
        return
    each = "; ".join(conflict_of(c) for c in known.conflict)
    p = ""
    if known.compared:
        p = f" (p = {known.p_value:.2g})" if known.p_value > _LEAST else f" (p < {_LEAST:g})"
    text = (
        f"Prior and data contradict each other{p}: {each}. The estimate lies between the two, and"
        " its intervals hold for neither."
    )
    if not fit.problem.sigma_known:
        text += (
            " The noise is not given: what the model cannot explain because of the prior counts as"
            " noise, and another minimum may be nearer to the data. Give sigma for each output, or"
            " begin elsewhere."
        )
    hint = "Correct the prior, or look for what the model or the data lack."
    yield finding("prior-conflict", text, hint)


def conflict_of(check: PriorCheck) -> str:
    """Return in words how far a prior is from the data."""
    unit = "" if check.unit in (None, "1") else f" {check.unit}"
    text = f"'{check.name}' has the prior {check.prior}{unit}"
    if np.isfinite(check.data_value):
        text += f", but {check.data_value:.4g} +- {check.data_error:.2g}{unit} by the data alone"
    return f"{text}, {abs(check.deviation):.2g} standard deviations apart"


def draw_notes(fit: Fit) -> Iterator[Finding]:
    """Note medians that together fit badly, since the posterior is curved."""
    draws = fit.estimate.draws
    if draws is None or not fit.problem.sigma_known:
        return
    densities = draws.densities.ravel()
    worst, highest = float(np.quantile(densities, 1.0 - ENDS[1])), float(np.max(densities))
    best = draws.flat[int(np.argmax(densities))]
    if -fit.cost < worst - abs(highest) * 1e-9 and not np.array_equal(best, fit.p):
        yield finding(
            "posterior-bends",
            "The medians of the parameters, taken together, fit the data worse than 97.5 % of the"
            " draws do: the posterior distribution is curved. The values of least cost are in"
            " 'settings'",
            "Use the draws themselves for predictions.",
        )


def jump_notes(fit: Fit, jumps: Jumps) -> Iterator[Finding]:
    """Note intervals that the cost around the estimate contradicts, with advice."""
    if jumps.names:
        one = len(jumps.names) == 1
        yield finding(
            "no-intervals",
            f"{'There is no interval' if one else 'There are no intervals'} for"
            f" {quoted(jumps.names)}: near the estimate the cost jumps or bends where events pass"
            " samples, so that derivatives do not show how well the data determine"
            f" {'it' if one else 'them'}",
            "'fmident profile' follows the cost itself.",
        )
    if jumps.lower is not None:
        point, lower = jumps.lower
        yield finding(
            "lower-cost-elsewhere",
            f"The cost is {lower:.6g} at {_moved_to(fit, point)}, on the other side of a jump, but"
            f" {fit.cost:.6g} here: this is not the minimum",
            "Start there, or give several starts.",
        )


def distant_influence_notes(fit: Fit, influence: DistantInfluence) -> Iterator[Finding]:
    """Note where the cost is lower because a silent parameter has influence there."""
    if influence.lower is not None:
        point, lower = influence.lower
        yield finding(
            "lower-cost-elsewhere",
            f"The cost is {lower:.6g} at {_moved_to(fit, point)}, but {fit.cost:.6g} here: this is"
            " not the minimum. Derivatives do not show the effect of a parameter that acts in"
            " steps or has no influence here, or of parameters of which only ratios count",
            "Start there, give several starts, or try values one by one with 'fixed = true'.",
        )


def _moved_to(fit: Fit, point: F64) -> str:
    each = zip(fit.names, point, fit.p, strict=True)
    return ", ".join(f"{name} = {x:.6g}" for name, x, old in each if x != old)


def noise_notes(alternation: Alternation | None, asked: bool, drawn: bool) -> list[Finding]:
    """Return how the noise was modelled, or why not; `drawn` says that draws followed."""
    if alternation is None:
        if not asked:
            return []
        text = "The noise was not modelled, since the search before it did not converge."
        return [finding("noise-model", text)]
    rounds = counted(alternation.rounds, "round")
    if not alternation.settled:
        text = (
            f"Parameters and model of the noise do not agree after {rounds} of both in turn. If"
            " this remains so, a part of the residuals is what the model lacks, not noise"
        )
        hint = "Leave out 'noise', so that the standard errors count the residuals' colour."
        return [finding("noise-model", text, hint)]
    texts = [f"Parameters and model of the noise agree after {rounds} of both in turn."]
    if drawn:
        texts.append("The draws take the model of the noise of the least cost as known.")
    return [finding("noise-model", text) for text in texts]


def disturbance_notes(fit: Fit) -> Iterator[Finding]:
    """Note tones, and the steps of coarse sensors, in the whitened residuals."""
    return disturbances(fit.problem, fit.residuals, fit.statistics.local.coloured)


def disturbances(problem: Problem, residuals: F64, noise: NoiseFinding | None) -> Iterator[Finding]:
    """Yield a finding for the tones of each output, and for the steps of each coarse sensor.

    `residuals` are whitened, shape (m,), and `noise` is what the standard errors count.
    """
    if residual_layout(problem).size != residuals.size:
        return
    waves = [] if noise is None else placed_waves(problem, noise)
    counted = noise is not None and noise.sums is None
    tones: dict[str, dict[str, str]] = {}
    driven = {output.measurement.name for wave, output in waves if wave.driven}
    for wave, output in waves:
        if wave.kind == "tone":
            unit = output.measurement.unit or ""
            size = f"{wave.amplitude / np.mean(output.scales):.2g} {unit}".rstrip()
            tones.setdefault(output.measurement.name, {})[f"{wave.frequency:.3g} Hz"] = size
    for name, heard in tones.items():
        each = ", ".join(f"{frequency} ({size})" for frequency, size in heard.items())
        what, it = ("tones", "them") if len(heard) > 1 else ("a tone", "it")
        text = f"The residuals of '{name}' hold {what} of {each}."
        if counted:
            text += f" The standard errors count {it} with any phase."
        if name in driven:
            text += " The motion has such a frequency, too: it may be what the model lacks."
        yield finding("residuals-waves", text, "Find the source, or filter the measurement.")
    rounded = {o[:2] for wave, o in waves if wave.kind == "steps"} if counted else set()
    steps: dict[str, str] = {}
    for output in recorded_outputs(problem):
        said = _steps(output, residuals[output.rows], counted=output[:2] in rounded)
        if said:
            steps[output.measurement.name] = said
    for text in steps.values():
        yield finding("residuals-waves", text)


def _steps(output: Recorded, residuals: F64, *, counted: bool) -> str:
    """Return a note on the steps of a sensor; empty if they do not matter."""
    step = step_of(output.signal.measured[output.signal.rows])
    if not step > 0.0:
        return ""
    size = float(np.std(residuals / output.scales))
    if not (counted or step > _COARSE * size > 0.0):
        return ""
    label = f"{step:.3g} {output.measurement.unit or ''}".rstrip()
    text = (
        f"The samples of '{output.measurement.name}' come in steps of {label}, {step / size:.2g}"
        " times the standard deviation of the residuals: what is rounded away follows the signal,"
        " and comes back in a record of the same motion."
    )
    if counted:
        return f"{text} The standard errors count it for any zero of the sensor."
    return (
        f"{text} The standard errors take it for noise, and may be too small or too large; a finer"
        " sensor or a faster motion helps."
    )


def kinds_of_noise(fit: Fit) -> Iterator[Finding]:
    """Note noise that changes its size, or that outputs have in common."""
    noise = fit.statistics.local.coloured
    if noise is not None and noise.uneven:
        yield finding(
            "noise-uneven",
            "The noise is not equally large everywhere: residuals are larger or smaller where"
            " the parameters have more influence. The intervals allow for that (HC3).",
        )
    if noise is not None and noise.model.shared:
        yield finding(
            "noise-shared",
            "The residuals of several outputs are correlated with each other: they have a"
            " common disturbance, or the model lacks something. The standard errors allow for"
            " that.",
        )


def correlated_residuals(fit: Fit) -> Iterator[Finding]:
    """Note correlated neighbours, or that there are too few samples to show them."""
    noise = fit.statistics.local.coloured
    if noise is None or not (noise.coloured or noise.whitened):
        counts: dict[str, int] = {}
        for one in fit.fits:
            known = int(np.count_nonzero(np.isfinite(one.measured - one.fitted)))
            counts[one.name] = counts.get(one.name, 0) + (known if one.is_noisy else 0)
        few = [f"{count} of '{name}'" for name, count in counts.items() if 0 < count < _SHORT]
        if few:
            yield finding(
                "residuals-short",
                f"There are too few samples ({listed(few, 3)}) to show whether the noise is white."
                " The intervals assume that it is, and are too narrow if it is coloured.",
            )
    coloured = [f"{c:.2f} for '{f.name}' of '{f.experiment}'" for f, c in coloured_fits(fit.fits)]
    if coloured:
        effect = (
            ". The intervals allow for coloured noise, but not for a wrong model."
            if noise is not None and noise.coloured
            else ", and the true uncertainty is larger than the intervals."
        )
        yield finding(
            "residuals-coloured",
            f"Neighbouring residuals are correlated ({listed(coloured, 3)}): the model misses"
            f" something or the noise is coloured{effect}",
        )


def given_noise(fit: Fit) -> Iterator[Finding]:
    """Note a given noise with which the residuals disagree, and one that is not given."""
    statistics, residuals = fit.statistics, fit.residuals
    measurements = [m for e in fit.problem.experiments for m in e.measurements]
    if fit.problem.sigma_known:
        # A robust loss has intervals that do not count on sigma.
        if np.isfinite(statistics.local.freedom):
            return
        size = residual_statistics(residuals, statistics.identifiability.rank)
        # Noise that is not white is counted as the residuals show it, its size included.
        as_seen = statistics.local.coloured is not None
        counts = " take the size of the residuals in its place."
        if size.exceeds_noise:
            yield finding(
                "sigma-too-small",
                "The residuals are larger than the given sigma allows: the intervals"
                + (counts if as_seen else ", which count on it, are too narrow."),
            )
        if residuals.size > _MANY and size.reduced_chi2 < _TOO_SMALL:
            yield finding(
                "sigma-too-large",
                f"The residuals are only {np.sqrt(size.reduced_chi2):.2g} times as large as the "
                "given sigma: the intervals"
                + (counts if as_seen else ", which count on it, are too wide.")
                + " With 'decimate', sigma is that of the decimated samples.",
            )
        return
    modelled = any(m.noise is not None for m in measurements)
    if np.isfinite(statistics.local.residual_variance) and not modelled:
        yield finding(
            "noise-not-given",
            "The noise is not given for every output; the intervals use the size of the residuals.",
        )
    unknown = [m for m in measurements if m.sigma is None]
    by_spread = sorted({m.variable for m in unknown if not m.weight_given})
    if by_spread and len({m.variable for m in unknown}) > 1:
        yield finding(
            "noise-by-spread",
            f"These outputs have neither sigma nor weight ({quoted(by_spread, 3)}): each counts"
            " relative to the spread of its measured values. Give them a sigma or a weight if they"
            " should count otherwise.",
        )
    if len(unknown) < len(measurements):
        yield finding(
            "noise-not-given",
            "Some outputs have a sigma and others have none: the estimated noise scales both.",
        )


def unequal_noise(fit: Fit) -> Iterator[Finding]:
    """Note outputs without sigma whose noise differs in size.

    The intervals may account for it. The estimate does not: noisier outputs have too much
    weight.
    """
    same = residual_layout(fit.problem).size == fit.residuals.size
    if fit.problem.sigma_known or not same or not fit.fits:
        return
    sizes = {}
    for output, one in zip(recorded_outputs(fit.problem), fit.fits, strict=True):
        own = fit.residuals[output.rows]
        if own.size >= _ENOUGH and one.is_noisy:
            sizes[f"'{one.name}' of '{one.experiment}'"] = float(np.sqrt(np.mean(own**2)))
    if len(sizes) < 2:
        return
    loud, quiet = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    ratio = sizes[loud] / sizes[quiet]
    if ratio >= _UNEQUAL:
        effect = (
            "the intervals allow for that, but the estimate gives the former too much weight"
            if fit.statistics.local.coloured is not None
            else "the intervals assume that they are equally large, and are too narrow where the"
            " former count, too wide where the latter do"
        )
        yield finding(
            "noise-unequal",
            f"The residuals of {loud} are {ratio:.2g} times as large as those of {quiet}, each by"
            f" its weight; {effect}",
            "Give each output its sigma.",
        )


def repetition_notes(fit: Fit) -> Iterator[Finding]:
    """Note residuals that recur in other experiments."""
    for one in () if fit.check is None else fit.check.repeated:
        where = quoted(one.experiments, _SHOWN)
        text = f"The residuals of '{one.output}' repeat in the experiments {where}"
        if one.correlation > _SAME:
            text += (
                ", sample by sample: is this the same record twice? The intervals count it as"
                " independent experiments and are too narrow. Give each record once."
            )
        else:
            text += (
                f" (correlation {one.correlation:.2f}). That is not noise: the model lacks"
                " something, or the sensor errs in the same way each time. The intervals count"
                " experiments as independent and are too narrow."
            )
        yield finding("residuals-repeat", text)


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


def moved_notes(problem: Problem, before: F64, after: F64, errors: F64, what: str) -> list[Finding]:
    """Note an estimate that was not at the least cost: `what` follows is that of the minimum.

    `before` and `after` are the parameters, and `errors` their standard errors, shape (n,).
    """
    with np.errstate(invalid="ignore"):
        off = np.abs(after - before) > _MOVED * errors
    names = [f"{q.name} moved" for q, moved in zip(problem.free, off, strict=True) if moved]
    if not names:
        return []
    text = (
        f"The estimate was not at the least cost of this problem; the {what} are those of the"
        f" minimum next to it ({', '.join(names)})."
    )
    return [finding("estimate-moved", text)]


def second_minimum_notes(problem: Problem, other: OtherMinimum | None) -> list[Finding]:
    """Note another minimum, which priors that contradict the data have."""
    if other is None:
        return []
    text = "priors and data disagree, the noise is not given, and there are two minima"
    hint = "Give each output its sigma to decide between them."
    place, first = values_of(problem, other.p), finding("second-minimum", text, hint)
    if other.noises is None:
        lower = "lower" if other.lower else "not lower"
        text = (
            "According to the model linearised at the estimate, the other minimum is near"
            f" {place}, where the cost is {lower}"
        )
        hint = "A search by least-squares from there shows it."
        return [first, finding("search", text, hint)]
    best, noise = other.noises
    text = (
        f"Of the two minima the better one is returned, with residuals of {best:.3g}; the other"
        f" one is {other.ratio:.2g} times as likely and has residuals of {noise:.3g} (root mean"
        f" square, as they are weighted) at {place}"
    )
    return [first, finding("search", text)]
