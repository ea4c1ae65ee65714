"""The result in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fmident.statistics.fixing import fixing_sentence
from fmident.words import listed, percent, plain, sentence

if TYPE_CHECKING:
    from fmident.estimation.result import (
        ConstraintCheck,
        DerivativeCheck,
        EstimationResult,
        OutputFit,
        ParameterEstimate,
        ResidualCheck,
    )

Grade = Literal["good", "doubtful", "bad"]

STRONG_CORRELATION = 0.98
"""From here on two parameters can hardly be told apart by the data."""

_EXPLAINED = 2.0
"""Residuals this many times the noise are no matter of a sigma that is slightly wrong."""

_SMALL_ERROR = 1e-3
"""Relative error that no wrong minimum has: the model explains the data but for the noise."""

_MOST_NAMED = 4
"""More formulas than these are counted in a headline, not listed."""

_STRONGLY_COLOURED, _LARGE_ERROR = 0.5, 0.3

_HEADLINES = {
    "converged": "The estimation converged",
    "limit": "The estimation stopped at a limit before it converged: the intervals do not hold",
    "stopped": "The estimation was stopped before it converged: the intervals do not hold",
    "interrupted": "The estimation was interrupted; these are the best parameters so far",
    "failed": "The estimation failed",
}
_ENDINGS = {
    "plateau": "The search ended on a plateau: the intervals do not hold",
    "jump": "The search ended beside a jump of the cost, not at its minimum: the intervals do not"
    " hold",
    "stuck": "The search ended before it converged: the intervals do not hold",
}


@dataclass(frozen=True)
class Verdict:
    """A judgement with its reasons.

    Parameters
    ----------
    grade
        ``"good"``: nothing speaks against the parameters; ``"doubtful"``: read the
        reasons; ``"bad"``: do not use them.
    headline
        One sentence.
    reasons
        One sentence each.
    """

    grade: Grade
    headline: str
    reasons: tuple[str, ...]


def verdict(result: EstimationResult) -> Verdict:
    """Judge a result.

    It is good when the estimator converged, the model explains the data, every free parameter
    is identifiable, none lies on a bound and no two are nearly the same to the data. The headline
    says the worst that speaks against it, the reasons and the result's notes the rest.
    """
    worst = max(
        (f for f in result.fits if math.isfinite(f.relative_error)),
        key=lambda f: f.relative_error,
        default=None,
    )
    misfit = _misfit(result, worst)
    # A wrong prior or an inexact simulation makes large residuals, and is worse than noise whose
    # colour is counted.
    gravest = (_wrong_prior(result), _inexact(result), misfit, _validation(result))
    doubts = [doubt for doubt in (*gravest, *_doubts(result)) if doubt]
    headline = _ENDINGS.get(result.ended_by or "", _HEADLINES[result.status])
    broken = [f"'{c.name}' ({c.text})" for c in result.constraints if c.violated]
    if broken:
        several = "s" * (len(broken) > 1)
        headline = f"The search did not come to keep the constraint{several} {listed(broken)}"
    if not any(math.isfinite(e.standard_error) for e in result.rows):
        headline = headline.partition(":")[0]  # there are no intervals that could hold
    reasons: list[str] = []
    grade: Grade = "good"
    if result.status == "failed" or not math.isfinite(result.cost_final):
        grade = "bad"
    elif broken:
        grade = "bad"
        reasons.append(
            "Neither values nor intervals hold. The constraints may contradict each other inside"
            " the bounds; else begin nearer to values that keep them."
        )
    elif result.status != "converged":
        grade = "doubtful"
        reasons += [sentence(doubt) for doubt in (_inexact(result), misfit) if doubt]
    elif doubts:
        grade = "doubtful"
        headline += f", but {doubts[0]}"
    else:
        by_both = result.priors is not None and bool(result.priors.left_open)
        base = "base " if result.base_parameters else ""
        headline += f" and every {base}parameter is determined by the data"
        headline += " and the priors" if by_both else ""

    if result.identifiability is not None:
        reasons.append(sentence(_which_are_meant(result, result.identifiability.verdict)))
        if _held_together(result):
            rank, free = result.identifiability.rank, sum(e.searched for e in result.estimates)
            which = "this one is" if rank == 1 else "these are"
            reasons[-1] = (
                f"The constraints leave {rank} of {free} parameters free, and {which} identifiable."
            )
    reasons += _what_to_do(result)
    reasons += [sentence(n.summary) for n in [result.noise] if n is not None]
    kept = [f"'{c.name}' ({c.text})" for c in result.constraints if c.active]
    if kept:
        one = len(kept) == 1
        reasons.append(
            f"Active constraint{'' if one else 's'}: {listed(kept)}; the standard errors are those"
            f" of parameters that move along {'it' if one else 'them'}."
        )
    for first, second, value in correlated_pairs(result):
        reasons.append(
            f"{first} and {second} are correlated by {value:+.3f}: "
            "the data fix their combination better than each of them."
        )
    if math.isfinite(result.cost_initial) and math.isfinite(result.cost_final):
        before, after = plain(result.cost_initial, 4), plain(result.cost_final, 4)
        verb = "fell" if result.cost_final <= result.cost_initial else "rose"
        change = f"stayed at {after}" if before == after else f"{verb} from {before} to {after}"
        reasons.append(f"The cost{_kind(result)} {change}.")
    if worst is not None:
        reasons.append(
            f"Largest relative error of an output: {percent(worst.relative_error)} "
            f"({worst.name}, {worst.experiment})."
        )
    return Verdict(grade, headline + ".", tuple(reasons))


def _what_to_do(result: EstimationResult) -> list[str]:
    """Return what to fix where the data do not determine all, and what was held at the start."""
    judged, found = result.identifiability, result.truncation
    said = []
    if judged is not None and judged.fixing and not judged.full_rank:
        said.append(fixing_sentence(judged.fixing))
    return said if found is None else [*said, found.sentence]


def _which_are_meant(result: EstimationResult, words: str) -> str:
    """Return the verdict on the rank, which leaves out parameters on bounds, as one on the rest."""
    judged = result.identifiability
    last = result.stages[-1].name if result.stages else ""
    free = [e for e in result.estimates if e.searched]
    bound = [e.name for e in free if e.at_bound and e.stage == last]
    if judged is None or not judged.full_rank:
        return words
    if not (bound or any(e.stage != last for e in free)):
        return words
    said = words.rstrip(".")
    if bound:
        count = judged.rank
        others = "The other parameter is" if count == 1 else f"The other {count} parameters are"
        held = "its bound" if len(bound) == 1 else "their bounds"
        said = f"{others} identifiable, with {listed(bound)} held at {held}"
    return f"Stage '{last}': {said[0].lower()}{said[1:]}" if last else said


def _doubts(result: EstimationResult) -> list[str]:
    """Return what speaks against the parameters, the worst first, as parts of a sentence."""
    doubts = []
    # The rank is that of the last stage, which may have held what earlier ones found.
    last = result.stages[-1].name if result.stages else ""
    searched = [e for e in result.estimates if e.searched and not e.at_bound]
    inside = [e for e in searched if e.stage == last]
    judged = result.identifiability
    if judged is not None and judged.jumps:
        names = listed(list(judged.jumps))
        doubts.append(
            f"the cost jumps next to the estimate, so that there is no interval for {names}"
        )
    elif judged is not None and judged.undecided:
        names = listed(list(judged.undecided))
        doubts.append(f"the derivatives are too inexact to judge {names}")
    elif judged is not None and judged.withheld:
        names = listed(list(judged.withheld))
        doubts.append(f"the derivatives are too inexact for an interval of {names}")
    elif judged is not None and judged.rank < len(inside) and not _held_together(result):
        doubts += _not_determined(result, inside)
    else:
        doubts += _without_errors(result, inside)
    earlier = [e for e in searched if e.stage != last]
    doubts += [*_without_errors(result, earlier), *_members(result, earlier)]
    if result.derivatives is not None:
        doubts += _moved(result.derivatives)
    given = [n for c in _bounding(result) for n in c.parameters]
    bound = [e.name for e in result.estimates if e.searched and e.at_bound and e.name not in given]
    if bound:
        doubts.append(
            f"{listed(bound)} {'lies on a bound' if len(bound) == 1 else 'lie on bounds'}"
        )
    holding = [f"'{c.name}' ({c.text})" for c in result.constraints if c.active and not c.equality]
    if holding:
        doubts.append(
            f"the constraint{'s' * (len(holding) > 1)} {listed(holding)}"
            f" hold{'s' * (len(holding) == 1)} the estimate back"
        )
    if result.truncation is not None and result.truncation.conflict:
        doubts.insert(0, "the data contradict the start values that truncation held")
    pairs = correlated_pairs(result)
    if pairs:
        doubts.append(f"the data hardly tell {pairs[0][0]} and {pairs[0][1]} apart")
    return doubts


def _moved(found: DerivativeCheck) -> list[str]:
    """Return what moves the estimate: the error of the integration, the communication step."""
    doubts = []
    for shifts, what, advice in (
        (found.shifts, "the error of the integration", found.advice),
        (found.step_shifts, "half the communication step", found.step_advice),
    ):
        if shifts:
            worst = max(shifts, key=shifts.__getitem__)
            doubts.append(f"{what} moves {worst} by {shifts[worst]:.2g} standard errors: {advice}")
    return doubts


def _inexact(result: EstimationResult) -> str:
    """Return that residuals are errors of the simulation, or an empty text."""
    found = result.derivatives
    if found is None:
        return ""
    for shifts, share, what, advice in (
        (found.shifts, found.share, "the error of the integration", found.advice),
        (found.step_shifts, found.step_share, "half the communication step", found.step_advice),
    ):
        if share and not shifts:
            return (
                f"{what} changes outputs by {share:.2g} times the size of the residuals: {advice}"
            )
    return ""


def _not_determined(result: EstimationResult, inside: Sequence[ParameterEstimate]) -> list[str]:
    """Return which parameters the data do not determine, and which act in combinations alone."""
    judged = result.identifiability
    assert judged is not None
    unknown = [e.name for e in result.base_parameters if not math.isfinite(e.standard_error)]
    doubts = [f"there is no uncertainty for {listed(unknown)}"] if unknown else []
    if judged.by_choice:
        return doubts
    members = _members(result, inside)
    lost = [e.name for e in inside if not (math.isfinite(e.standard_error) or (members and e.base))]
    verb = "is" if judged.rank == 1 else "are"
    if lost:
        doubts.append(f"the data do not determine {listed(lost)}")
    elif not members:
        doubts.append(f"only {judged.rank} of {len(inside)} parameters {verb} determined")
    return [*doubts, *members]


def _members(result: EstimationResult, estimates: Sequence[ParameterEstimate]) -> list[str]:
    """Return which parameters act in base parameters alone, unless an estimator chose that."""
    chosen = {s.name for s in result.stages if s.identifiability and s.identifiability.by_choice}
    names = [e.name for e in estimates if e.base and e.stage not in chosen]
    if not names or result.truncation is not None:  # then they come partly from the start
        return []
    base = [e for e in result.base_parameters if {*e.members} & {*names}]
    few = len(base) <= _MOST_NAMED
    only = listed([e.expression for e in base]) if few else f"{len(base)} combinations"
    return [f"{listed(names)} act only in {only}, which the data determine"]


def _wrong_prior(result: EstimationResult) -> str:
    """Return which priors the data contradict, or an empty text."""
    if result.priors is None or not result.priors.conflict:
        return ""
    several = "s" * (len(result.priors.conflict) > 1)
    names = listed([c.name for c in result.priors.conflict])
    return f"the data contradict the prior{several} of {names}"


def _validation(result: EstimationResult) -> str:
    """Return what experiments that were not fitted say against the model, or an empty text."""
    found = result.validation
    if found is None:
        return ""
    if found.failed:
        name, ratio = next(iter(found.failed.items()))
        others = len(found.failed) - 1
        more = f" (and of {others} more too large)" if others else ""
        course = None if found.residuals is None else found.residuals.course
        why = "" if course is None else f"; {_lowered(str(course))}"
        return (
            f"the model fails in validation: the residuals of '{name}' are {ratio:.3g} times the"
            f" noise{more}{why}"
        )
    if found.failures:
        names = listed([f"'{name}'" for name in found.failures])
        return f"{names} for validation cannot be simulated"
    worse = [f for f in found.fits if f.nrmse > 1.0 and f.experiment not in found.noise_ratios]
    if worse:
        return (
            f"the model fails in validation: it predicts '{worse[0].name}' of"
            f" '{worse[0].experiment}' worse than the mean of the measured values would"
        )
    return ""


def _held_together(result: EstimationResult) -> bool:
    """Return whether the data determine all that constraints leave free."""
    judged = result.identifiability
    return (
        judged is not None
        and judged.full_rank
        and judged.rank < sum(e.searched for e in result.estimates)
        and any(c.active for c in result.constraints)
    )


def _without_errors(result: EstimationResult, estimates: Sequence[ParameterEstimate]) -> list[str]:
    """Return what is to be said of parameters without a finite standard error."""
    held = () if result.truncation is None else result.truncation.held
    lost = [
        e.name
        for e in estimates
        if not math.isfinite(e.standard_error) and (e.name in held or not e.base)
    ]
    if partly := [name for name in lost if name in held]:
        lost = [name for name in lost if name not in held]
        verb = "comes" if len(partly) == 1 else "come"
        doubts = [f"{listed(partly)} {verb} partly from the start values"]
    else:
        doubts = []
    # A stage may depend on values that it held and no data determine.
    alone: dict[str, float] = {}
    for stage in result.stages:
        if stage.uncertainty is not None:
            alone |= stage.uncertainty.conditional_errors
    open_ones = [n for n in lost if math.isfinite(alone.get(n, math.nan))]
    unknown = [n for n in lost if n not in open_ones]
    if open_ones:
        doubts.append(f"the data do not determine {listed(open_ones)}")
    if unknown:
        doubts.append(f"there is no uncertainty for {listed(unknown)}")
    return doubts


def _misfit(result: EstimationResult, worst: OutputFit | None) -> str:
    """Return in which way the model does not explain the data, or an empty text."""
    seen = result.residuals
    if seen is None:
        return ""
    size = ""
    if seen.noise_ratio > _EXPLAINED:
        size = f"the residuals are {seen.noise_ratio:.3g} times the noise"
    elif (
        math.isnan(seen.noise_ratio)
        and seen.autocorrelation > _STRONGLY_COLOURED
        and worst is not None
        and worst.relative_error > _LARGE_ERROR
    ):
        size = f"the relative error is up to {percent(worst.relative_error)}"
    # Another cost does not make these residuals small: only large ones count, and say so.
    plain_cost = result.identifiability is not None
    if size:
        where = "" if plain_cost else " in the time domain"
        if worst is not None and worst.relative_error < _SMALL_ERROR:
            return (
                f"{size}, though the largest relative error of an output is only "
                f"{percent(worst.relative_error)}: sigma may be too small, or "
                "evaluation.tolerance too coarse for it"
            )
        return f"the model does not explain the data{where}: {size}; {_advice(result)}"
    if not plain_cost:
        return ""
    if seen.course is not None or seen.hiding_bounds:
        return _explained(result)
    if seen.noise_ratio > 1.0:
        said = f"the residuals are {seen.noise_ratio:.3g} times the noise"
        return "; ".join(filter(None, [said, _disturbed(result)]))
    return _explained(result) or _coloured(result, seen)


def _coloured(result: EstimationResult, seen: ResidualCheck) -> str:
    """Return what the colour of the residuals says against the model, or an empty text."""
    if result.noise is not None and result.noise.contradicted:
        return "a part of the residuals is what the model lacks, not noise"
    if seen.autocorrelation > _STRONGLY_COLOURED:
        if result.noise is not None and result.noise.modelled:
            return "the model of the noise leaves residuals that are strongly correlated"
        if result.noise is not None and result.noise.waves:
            wave = max(result.noise.waves, key=lambda w: 0.0 if math.isnan(w.share) else w.share)
            return f"the residuals are correlated, which the intervals count: they hold {wave}"
        if result.noise is not None and result.noise.coloured:
            return (
                "neighbouring residuals are strongly correlated, which the intervals count: look"
                " for what the model lacks"
            )
        return (
            "neighbouring residuals are strongly correlated, so that the true uncertainty is "
            "larger than the intervals"
        )
    return _disturbed(result) if seen.outliers else ""


def _advice(result: EstimationResult) -> str:
    found = result.settings.get("options")
    options = found if isinstance(found, Mapping) else {}
    if result.status == "interrupted":
        return "the search was not at its end: --resume goes on with it"
    if explained := _explained(result) or _disturbed(result):
        return explained
    generations = options.get("generations")
    if generations is not None:  # a population does not start from the initial values
        if result.status == "limit" and _used_up(result, generations):
            return f"the search was not at its end: allow more generations than {generations}"
        return "try another seed or a larger population, or look for what the model lacks"
    if result.status == "limit" and _used_up(result, options.get("max_iterations")):
        allowed = options["max_iterations"]
        return f"the search was not at its end: allow more iterations than {allowed}"
    free = [e for e in result.estimates if e.searched]
    if free and all(e.at_bound for e in free):
        return "every parameter lies on a bound: widen the bounds first"
    active = [f"'{c.name}' ({c.text})" for c in result.constraints if c.active]
    if active:
        several = len(active) > 1
        return (
            f"the constraint{'s' * several} {listed(active)} may keep it from a better fit: correct"
            f" {'them' if several else 'it'}, or look for what the model lacks"
        )
    starts = options.get("starts")
    if starts == 1:
        return "this may be a local minimum: try starts = 8 with bounds, or other initial values"
    if starts is not None:
        return f"so say {starts} starts: look for what the model lacks, or widen the bounds"
    # The others solve equations of their own or filter: there is no search to begin elsewhere.
    return "look for what the model lacks, such as a delay, an offset or friction"


def _explained(result: EstimationResult) -> str:
    """Return what explains the residuals, the best explanation alone, or an empty text."""
    seen = result.residuals
    if seen is None:
        return ""
    if seen.course is not None:
        return _lowered(str(seen.course))
    if seen.hiding_bounds:
        return _hidden(result, seen)
    if seen.delays:
        return _delayed(seen)
    if seen.repeated:
        return _repeated(seen)
    return _lowered(str(seen.gathered[0])) if seen.gathered else ""


def _hidden(result: EstimationResult, seen: ResidualCheck) -> str:
    """Return that bounds keep parameters from a better fit, as part of a sentence."""
    values = {e.name: e for e in result.estimates}
    given = [c for c in _bounding(result) if {*c.parameters} <= {*seen.hiding_bounds}]
    if len(given) == len(seen.hiding_bounds):
        which = listed([f"'{c.name}' ({c.text})" for c in given])
        several = len(given) > 1
        return (
            f"the constraint{'s' * several} {which} hide{'s' * (not several)} the fit: correct"
            f" {'them' if several else 'it'}, or look for what the model lacks"
        )
    named = [
        f"{n} = {plain(values[n].value, 4)}" + (f" {values[n].unit}" if values[n].unit else "")
        for n in seen.hiding_bounds
    ]
    bound = "a bound" if len(named) == 1 else "bounds"
    verb = "lies on" if len(named) == 1 else "lie on"
    return (
        f"{listed(named)} {verb} {bound} that hide{'s' if len(named) == 1 else ''} the fit: "
        "widen the bounds, or look for what the model lacks"
    )


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _delayed(seen: ResidualCheck) -> str:
    """Return that outputs are delayed, as part of a sentence."""
    worst = min(seen.delays, key=lambda d: d.left)
    late = "later" if worst.delay > 0.0 else "earlier"
    return (
        f"'{worst.output}' is measured {abs(worst.delay):.2g} s {late} than it is simulated: "
        "estimate its delay"
    )


def _repeated(seen: ResidualCheck) -> str:
    """Return that residuals come back, as part of a sentence."""
    names = listed(list(dict.fromkeys(f"'{r.output}'" for r in seen.repeated)))
    return (
        f"the residuals of {names} repeat in several experiments: the model lacks something, and"
        " the intervals are too narrow for it"
    )


def _disturbed(result: EstimationResult) -> str:
    """Return which disturbance of the measurement makes most of the residuals, or nothing."""
    options = result.settings.get("options")
    loss = options.get("loss", "linear") if isinstance(options, Mapping) else "linear"
    outliers = {} if result.residuals is None else result.residuals.outliers
    if outliers and loss == "linear":  # a robust loss has taken care of them
        counts = listed([f"{n} sample{'s' * (n > 1)} of '{o}'" for o, n in outliers.items()])
        one = sum(outliers.values()) == 1
        return (
            f"{counts} {'is an outlier' if one else 'are outliers'}: exclude"
            f" {'it' if one else 'them'} (hampel), or take a robust loss (loss)"
        )
    waves = () if result.noise is None else result.noise.waves
    for wave in sorted(waves, key=lambda w: -w.variance):
        sizes = [f.rms for f in result.fits if f.name == wave.output]
        if wave.variance > 0.5 * max(sizes, default=math.inf) ** 2:
            return f"they are mostly {wave}"
    return ""


def _used_up(result: EstimationResult, allowed: object) -> bool:
    """Return whether the limit of iterations was reached, not another one."""
    if not isinstance(allowed, int) or not result.history:
        return False
    return len(result.history) >= allowed or result.history[-1].number >= allowed


def correlated_pairs(
    result: EstimationResult, threshold: float = STRONG_CORRELATION
) -> list[tuple[str, str, float]]:
    """Return the pairs of free parameters correlated by at least `threshold`, worst first."""
    names = [e.name for e in result.estimates if e.searched]
    matrix = np.asarray(result.correlation, dtype=np.float64)
    if matrix.shape != (len(names), len(names)):
        return []
    tied = _tied(result)
    pairs = [
        (names[i], names[j], float(matrix[i, j]))
        for i in range(len(names))
        for j in range(i + 1, len(names))
        if abs(matrix[i, j]) >= threshold and not any({names[i], names[j]} <= t for t in tied)
    ]
    return sorted(pairs, key=lambda pair: -abs(pair[2]))


def _bounding(result: EstimationResult) -> list[ConstraintCheck]:
    """Return the active inequalities in one parameter, which are bounds of it."""
    return [c for c in result.constraints if c.active and not c.equality and len(c.parameters) == 1]


def _tied(result: EstimationResult) -> list[set[str]]:
    """Return groups of parameters that constraints tie to each other, whatever the data say."""
    groups: list[set[str]] = []
    for c in (c for c in result.constraints if c.active):
        touched = [g for g in groups if g & set(c.parameters)]
        groups = [g for g in groups if g not in touched]
        groups.append(set(c.parameters).union(*touched))
    return groups


def _kind(result: EstimationResult) -> str:
    return "" if result.cost == "time-domain" else f" '{result.cost}'"
