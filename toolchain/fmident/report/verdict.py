"""Whether to trust a result: its findings, the gravest first, and the verdict that they make."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fmident.findings import Finding, finding, in_order
from fmident.statistics.identifiability import fixing_sentence
from fmident.words import listed, percent, plain, sentence

if TYPE_CHECKING:
    from fmident.estimation.comparisons import OutputFit, ResidualCheck
    from fmident.estimation.result import ConstraintCheck, EstimationResult, ParameterEstimate
    from fmident.statistics.identifiability import Identifiability

Grade = Literal["good", "doubtful", "bad"]

STRONG_CORRELATION = 0.98
"""Correlation above which the data can hardly tell two parameters apart."""

_EXPLAINED = 2.0
"""Residuals this many times the noise are no matter of a sigma that is slightly wrong."""

_SMALL_ERROR = 1e-3
"""Relative error that no wrong minimum has: the model explains the data but for the noise."""

_MOST_NAMED = 4
"""More formulas than these are counted in a headline, not listed."""

_FEW_FORMULAS = 2
"""Formulas that have room in a sentence."""

_STRONGLY_COLOURED, _LARGE_ERROR = 0.5, 0.3

_LINES, _WIDTH = 6, 88
"""Lines of a verdict, and columns of a line beside its bullet."""

_ENDINGS = {
    "limit": "The estimation stopped at a limit before it converged: the intervals do not hold",
    "stopped": "The estimation was stopped before it converged: the intervals do not hold",
    "interrupted": "The estimation was interrupted; these are the best parameters so far",
    "failed": "The estimation failed",
    "plateau": "The search ended on a plateau: the intervals do not hold",
    "jump": "The search ended beside a jump of the cost, not at its minimum: the intervals do not"
    " hold",
    "stuck": "The search ended before it converged: the intervals do not hold",
}
_ENDING_CODES = ("failed", "constraint-not-kept", "interrupted", "not-converged")

_SHOWN = ("identifiability", "constraint-kept", "largest-error")
"""Notes that a verdict has room for."""


@dataclass(frozen=True)
class Verdict:
    """Whether to trust a result, why, and what to do next.

    Parameters
    ----------
    grade
        ``"good"``: nothing speaks against the parameters; ``"doubtful"``: read the
        reasons; ``"bad"``: do not use them.
    headline
        The gravest finding, in one sentence.
    reasons
        What to do about it, and other findings: as many as leave the verdict six lines long.
    more
        What did not fit, and what to do about the other findings.
    findings
        All of the result, the gravest first.
    """

    grade: Grade
    headline: str
    reasons: tuple[str, ...]
    more: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    def of(self, code: str) -> Finding | None:
        """Return the finding of a code, if there is one."""
        return next((f for f in self.findings if f.code == code), None)


def verdict(result: EstimationResult) -> Verdict:
    """Judge a result by its findings.

    It is good when the estimator converged, the model explains the data, every free parameter
    is identifiable, none lies on a bound and no two are nearly the same to the data.
    """
    findings = findings_of(result)
    doubts = [f for f in findings if f.severity != "note"]
    notes = [f for f in findings if f.severity == "note"]
    if not doubts:
        by_both = result.priors is not None and bool(result.priors.left_open)
        base = "base " if result.base_parameters else ""
        grade: Grade = "good"
        headline = f"The estimation converged and every {base}parameter is determined by the data"
        headline += " and the priors" if by_both else ""
    elif doubts[0].code in _ENDING_CODES:
        grade = "bad" if doubts[0].severity == "error" else "doubtful"
        headline = doubts[0].text
    else:
        grade = "doubtful"
        headline = f"The estimation converged, but {doubts[0].text}"
    headline = sentence(headline)
    advice = [sentence(doubts[0].hint)] if doubts and doubts[0].hint else []
    facts = [f.sentence for f in notes if f.code in _SHOWN]
    reasons, more = _in_lines(headline, advice, [f.sentence for f in doubts[1:]], facts)
    more += [sentence(f"{f.text}: {f.hint}") for f in doubts[1:] if f.hint]
    more += [f.sentence for f in notes if f.code in ("fix-first", "noise-counted", "cost")]
    return Verdict(grade, headline, tuple(reasons), tuple(more), findings)


def _in_lines(
    headline: str, advice: Sequence[str], doubts: Sequence[str], facts: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the sentences that fit below a headline, and those that do not."""
    room = _LINES - _lines(headline)
    reasons: list[str] = []
    more: list[str] = []
    hidden = 0
    for text in [*advice, *doubts, *facts]:
        # Where doubts are left over, a line says how many.
        spare = int(text in doubts[:-1])
        if not more and _lines(text) + spare <= room:
            reasons.append(text)
            room -= _lines(text)
        else:
            more.append(text)
            hidden += text in doubts
    if hidden:
        reasons.append(f"{hidden} more warning{'s' * (hidden > 1)} below.")
    return reasons, more


def _lines(text: str) -> int:
    return len(textwrap.wrap(text, _WIDTH))


def findings_of(result: EstimationResult) -> tuple[Finding, ...]:
    """Return everything that there is to say about a result, the gravest first."""
    return in_order([*(f for check in _CHECKS for f in check(result)), *result.findings])


def _named(constraints: Sequence[ConstraintCheck]) -> str:
    names = listed([f"'{c.name}' ({c.text})" for c in constraints])
    return f"constraint{'s' * (len(constraints) > 1)} {names}"


def _parameters(names: Sequence[str]) -> str:
    """Return names with the noun: at the beginning of a sentence a name stays as it is."""
    return f"parameter{'s' * (len(names) > 1)} {listed(names)}"


def _it(items: Sequence[object]) -> str:
    return "it" if len(items) == 1 else "them"


def _ending(result: EstimationResult) -> Iterator[Finding]:
    """Yield that a search failed, did not converge, or did not keep the constraints."""
    broken = [c for c in result.constraints if c.violated]
    known = any(math.isfinite(e.standard_error) for e in result.rows)
    ending = _ENDINGS.get(result.ended_by or result.status, _ENDINGS["limit"])
    if not known:  # there are no intervals that could hold
        ending = ending.partition(":")[0]
    if result.status == "failed" or not math.isfinite(result.cost_final):
        text = "The estimation ended at parameters whose cost is not finite"
        yield finding("failed", _ENDINGS["failed"] if result.status == "failed" else text)
    elif broken:
        yield finding(
            "constraint-not-kept",
            f"The search did not come to keep the {_named(broken)}",
            "Neither values nor intervals hold. The constraints may contradict each other inside"
            " the bounds; if not, begin nearer to values that keep them",
        )
    elif result.status == "interrupted":
        yield finding("interrupted", ending, "--resume goes on with the search")
    elif result.status != "converged":
        yield finding("not-converged", ending, _more_of_the_search(result))


def _more_of_the_search(result: EstimationResult) -> str:
    """Return what lets a search that was cut short go on, or an empty text."""
    options = _options(result)
    if result.status != "limit":
        return ""
    generations = options.get("generations")
    if generations is not None:
        used = _used_up(result, generations)
        return f"allow more generations than {generations}" if used else ""
    if _used_up(result, options.get("max_iterations")):
        return f"allow more iterations than {options['max_iterations']}"
    return ""


def _prior(result: EstimationResult) -> Iterator[Finding]:
    if result.priors is not None and result.priors.conflict:
        several = "s" * (len(result.priors.conflict) > 1)
        names = listed([c.name for c in result.priors.conflict])
        yield finding(
            "prior-contradicted",
            f"the data contradict the prior{several} of {names}",
            f"correct the prior{several}, or look for what the model or the data lack",
        )


def _integration(result: EstimationResult) -> Iterator[Finding]:
    """Yield what the error of the integration and the communication step do."""
    check = result.derivatives
    if check is None:
        return
    for code, shifts, share, what, advice in (
        ("integration-error", check.shifts, check.share, "the error of the integration",
         check.advice),
        ("communication-step", check.step_shifts, check.step_share,
         "the length of the communication step", check.step_advice),
    ):  # fmt: skip
        if shifts:
            worst = max(shifts, key=shifts.__getitem__)
            yield finding(
                "estimate-moved",
                f"{what} moves {worst} by {shifts[worst]:.2g} standard errors",
                advice,
            )
        elif share:
            size = f"{share:.2g} times as large as" if share >= 1.0 else f"{percent(share)} of"
            yield finding(code, f"{what} makes an error {size} the residuals", advice)


def _misfit(result: EstimationResult) -> Iterator[Finding]:
    residuals, worst = result.residuals, _worst(result)
    if residuals is None:
        return
    error = 0.0 if worst is None else worst.relative_error
    strongly = math.isnan(residuals.noise_ratio) and residuals.autocorrelation > _STRONGLY_COLOURED
    size, noisy = "", f"the residuals are {residuals.noise_ratio:.3g} times the noise"
    if residuals.noise_ratio > _EXPLAINED:
        size = noisy
    elif strongly and error > _LARGE_ERROR:
        size = f"the relative error is up to {percent(error)}"
    # Another cost does not make these residuals small: only large ones count, and say so.
    plain_cost = result.identifiability is not None
    if size and worst is not None and error < _SMALL_ERROR:
        yield finding(
            "model-misfit",
            f"{size}, though the largest relative error of an output is only {percent(error)}",
            "sigma may be too small, or evaluation.tolerance too coarse for it",
        )
    elif size:
        where = "" if plain_cost else " in the time domain"
        advice = _advice(result)
        yield finding("model-misfit", f"the model does not explain the data{where}: {size}", advice)
    elif not plain_cost:
        return
    elif residuals.course is not None or residuals.hiding_bounds:
        yield finding("model-lacks-something", *_explained(result))
    elif residuals.noise_ratio > 1.0:
        yield finding("model-lacks-something", noisy, ": ".join(filter(None, _disturbed(result))))
    elif (misfit := _explained(result))[0]:
        yield finding("model-lacks-something", *misfit)
    else:
        yield from _coloured(result, residuals)


def _coloured(result: EstimationResult, residuals: ResidualCheck) -> Iterator[Finding]:
    noise, text = result.noise, ""
    if noise is not None and noise.contradicted:
        yield finding(
            "model-lacks-something", "a part of the residuals is what the model lacks, not noise"
        )
    elif residuals.autocorrelation > _STRONGLY_COLOURED:
        hint = "look for what the model lacks"
        if noise is not None and noise.modelled:
            text = "the model of the noise leaves residuals that are strongly correlated"
        elif noise is not None and noise.waves:
            wave = max(noise.waves, key=lambda w: 0.0 if math.isnan(w.share) else w.share)
            text = f"the residuals are correlated, and the intervals allow for it: they hold {wave}"
            hint = ""
        elif noise is not None and noise.coloured:
            text = "neighbouring residuals are strongly correlated; the intervals allow for it"
        else:
            text = (
                "neighbouring residuals are strongly correlated, so that the true uncertainty is"
                " larger than the intervals"
            )
        yield finding("residuals-correlated", text, hint)
    elif residuals.outliers and (disturbance := _disturbed(result))[0]:
        yield finding("model-lacks-something", *disturbance)


def _validation(result: EstimationResult) -> Iterator[Finding]:
    """Yield what experiments that were not fitted say against the model."""
    validation = result.validation
    if validation is None:
        return
    worse = [
        f for f in validation.fits if f.nrmse > 1.0 and f.experiment not in validation.noise_ratios
    ]
    if validation.failed:
        name, ratio = next(iter(validation.failed.items()))
        others = len(validation.failed) - 1
        more = f" (and of {others} more too large)" if others else ""
        course = None if validation.residuals is None else validation.residuals.course
        yield finding(
            "validation-failed",
            f"the model fails in validation: the residuals of '{name}' are {ratio:.3g} times the"
            f" noise{more}",
            "" if course is None else str(course),
        )
    elif validation.failures:
        names = listed([f"'{name}'" for name in validation.failures])
        yield finding("validation-failed", f"{names} for validation cannot be simulated")
    elif worse:
        yield finding(
            "validation-failed",
            f"the model fails in validation: it predicts '{worse[0].name}' of"
            f" '{worse[0].experiment}' worse than the mean of the measured values would",
        )


def _identifiability(result: EstimationResult) -> Iterator[Finding]:
    # The rank is that of the last stage, which may have held what earlier ones found.
    last = result.stages[-1].name if result.stages else ""
    held = _held_on_bounds(result)
    searched = [e for e in result.estimates if e.searched and e.name not in held]
    inside = [e for e in searched if e.stage == last]
    judged = result.identifiability
    if judged is not None and judged.jumps:
        names = listed(list(judged.jumps))
        yield finding(
            "cost-jumps",
            f"the cost jumps next to the estimate, so that there is no interval for {names}",
            "'fmident profile' follows the cost itself",
        )
    elif judged is not None and judged.undecided:
        names = listed(list(judged.undecided))
        yield finding("rank-undecided", f"the derivatives are too inexact to judge {names}")
    elif judged is not None and judged.withheld:
        names = listed(list(judged.withheld))
        text = f"the derivatives are too inexact for an interval of {names}"
        yield finding("derivatives-inexact", text)
    elif judged is not None and judged.rank < len(inside) and not _held_together(result):
        yield from _not_determined(result, inside)
    else:
        yield from _without_errors(result, inside)
    earlier = [e for e in searched if e.stage != last]
    yield from _without_errors(result, earlier)
    yield from _members(result, earlier)


def _not_determined(
    result: EstimationResult, inside: Sequence[ParameterEstimate]
) -> Iterator[Finding]:
    """Yield which parameters the data do not determine, and which act in combinations alone."""
    identifiability = result.identifiability
    assert identifiability is not None
    unknown = [e.name for e in result.base_parameters if not math.isfinite(e.standard_error)]
    if unknown:
        yield _without_interval(unknown)
    if identifiability.by_choice:
        return
    members = list(_members(result, inside))
    lost = [e.name for e in inside if not (math.isfinite(e.standard_error) or (members and e.base))]
    if lost:
        yield finding(
            "not-identifiable", f"the data do not determine {listed(lost)}", _to_fix(result)
        )
    elif not members:
        verb = "is" if identifiability.rank == 1 else "are"
        text = f"only {identifiability.rank} of {len(inside)} parameters {verb} determined"
        yield finding("not-identifiable", text, _to_fix(result))
    yield from members


def _members(result: EstimationResult, estimates: Sequence[ParameterEstimate]) -> Iterator[Finding]:
    """Yield which parameters act in base parameters alone, unless an estimator chose that."""
    chosen = {s.name for s in result.stages if s.identifiability and s.identifiability.by_choice}
    names = [e.name for e in estimates if e.base and e.stage not in chosen]
    if not names:
        return
    base = [e for e in result.base_parameters if {*e.members} & {*names}]
    few = len(base) <= _MOST_NAMED
    only = listed([e.expression for e in base]) if few else f"{len(base)} combinations"
    text = f"{_parameters(names)} act only in {only}, which the data determine"
    judged, known = result.identifiability, [e for e in estimates if e.standard_error > 0.0]
    if judged is not None and (more := judged.rank - len(base) - len(known)) > 0:
        others = "another combination" if more == 1 else f"{more} other combinations"
        text = f"of {_parameters(names)} the data determine only {only}, and {others}"
    yield finding("not-identifiable", text, _to_fix(result))


def _to_fix(result: EstimationResult) -> str:
    judged = result.identifiability
    if judged is not None and judged.fixing and not judged.full_rank:
        first = judged.fixing[0].name
        return f"fix what is known from elsewhere, best {first}, or measure what tells them apart"
    return "fix what is known from elsewhere, or measure what tells them apart"


def _without_errors(
    result: EstimationResult, estimates: Sequence[ParameterEstimate]
) -> Iterator[Finding]:
    lost = [e.name for e in estimates if not math.isfinite(e.standard_error) and not e.base]
    # A stage may depend on values that it held and no data determine.
    alone: dict[str, float] = {}
    for stage in result.stages:
        if stage.uncertainty is not None:
            alone |= stage.uncertainty.conditional_errors
    open_ones = [n for n in lost if math.isfinite(alone.get(n, math.nan))]
    unknown = [n for n in lost if n not in open_ones]
    if open_ones:
        yield finding("not-identifiable", f"the data do not determine {listed(open_ones)}")
    if unknown:
        yield _without_interval(unknown)


def _without_interval(names: Sequence[str]) -> Finding:
    text = f"there is no standard error and no interval for {listed(names)}"
    return finding("no-uncertainty", text)


def _bounds(result: EstimationResult) -> Iterator[Finding]:
    """Yield which parameters lie on bounds, and which constraints hold the estimate back."""
    given = [n for c in _bounding(result) for n in c.parameters]
    bound = [e.name for e in result.estimates if e.searched and e.at_bound and e.name not in given]
    if bound:
        one = len(bound) == 1
        yield finding(
            "at-bound",
            f"{_parameters(bound)} {'lies on a bound' if one else 'lie on bounds'}",
            f"widen the bound{'' if one else 's'} if other values are possible, or look for what"
            " the model lacks",
        )
    holding = [c for c in result.constraints if c.active and not c.equality]
    if holding:
        verb = "hold" if len(holding) > 1 else "holds"
        yield finding("constraint-active", f"the {_named(holding)} {verb} the estimate back")


def _correlation(result: EstimationResult) -> Iterator[Finding]:
    for first, second, value in correlated_pairs(result):
        yield finding(
            "nearly-collinear",
            f"the data hardly tell {first} and {second} apart (correlation {value:+.3f})",
            "fix one of them, or add an experiment in which they act differently",
        )


def _facts(result: EstimationResult) -> Iterator[Finding]:
    """Yield the findings that every result has."""
    judged, worst = result.identifiability, _worst(result)
    if judged is not None:
        words = _which_are_meant(result, judged.verdict)
        poor = [e.name for e in result.estimates if e.searched and e.poorly_determined]
        if judged.full_rank and poor:
            than = "its value" if len(poor) == 1 else "their values"
            words = f"{words.rstrip('.')}; but {listed(poor)} only to worse than {than}"
        yield finding("identifiability", words)
        if judged.fixing and not judged.full_rank:
            yield finding("fix-first", fixing_sentence(judged.fixing))
    if result.noise is not None:
        yield finding("noise-counted", result.noise.summary)
    active = [c for c in result.constraints if c.active]
    if active:
        yield finding(
            "constraint-kept",
            f"Active {_named(active)}; the standard errors are those of parameters that move"
            f" along {_it(active)}",
        )
    if math.isfinite(result.cost_initial) and math.isfinite(result.cost_final):
        before, after = plain(result.cost_initial, 4), plain(result.cost_final, 4)
        verb = "fell" if result.cost_final <= result.cost_initial else "rose"
        change = f"stayed at {after}" if before == after else f"{verb} from {before} to {after}"
        kind = "" if result.cost == "time-domain" else f" '{result.cost}'"
        yield finding("cost", f"The cost{kind} {change}")
    if worst is not None:
        yield finding(
            "largest-error",
            f"Largest relative error of an output: {percent(worst.relative_error)} "
            f"({worst.name}, {worst.experiment})",
        )


_CHECKS: tuple[Callable[[EstimationResult], Iterator[Finding]], ...] = (
    _ending,
    _prior,
    _integration,
    _misfit,
    _validation,
    _identifiability,
    _bounds,
    _correlation,
    _facts,
)


def _which_are_meant(result: EstimationResult, words: str) -> str:
    """Return the verdict on the rank, restricted to the parameters that are not on bounds."""
    identifiability = result.identifiability
    if identifiability is not None and result.base_parameters and not result.stages:
        return _by_base_parameters(result, identifiability)
    if identifiability is not None and _held_together(result):
        free = sum(e.searched for e in result.estimates)
        which = "this one is" if identifiability.rank == 1 else "these are"
        return (
            f"The constraints leave {identifiability.rank} of {free} parameters free, and {which}"
            " identifiable"
        )
    last = result.stages[-1].name if result.stages else ""
    free_ones = [e for e in result.estimates if e.searched]
    pushed = _held_on_bounds(result)
    bound = [e.name for e in free_ones if e.name in pushed and e.stage == last]
    if identifiability is None or not identifiability.full_rank:
        return words
    if not (bound or any(e.stage != last for e in free_ones)):
        return words
    text = words.rstrip(".")
    if bound:
        count = identifiability.rank
        others = "The other parameter is" if count == 1 else f"The other {count} parameters are"
        held = "its bound" if len(bound) == 1 else "their bounds"
        text = f"{others} identifiable, with {listed(bound)} held at {held}"
    return f"Stage '{last}': {_lowered(text)}" if last else text


def _by_base_parameters(result: EstimationResult, judged: Identifiability) -> str:
    """Return which parameters the data determine alone, and which in base parameters only."""
    searched = [e for e in result.estimates if e.searched]
    alone = [e.name for e in searched if not e.base and math.isfinite(e.standard_error)]
    members = [e.name for e in searched if e.base]
    count = len(result.base_parameters)
    formulas = listed([f"{e.name} = {e.expression}" for e in result.base_parameters])
    base = formulas if count <= _FEW_FORMULAS else f"{count} base parameters"
    text = f"The data determine {listed([*alone, base])}, in which {listed(members)} act together"
    if judged.silent:
        verb = "has" if len(judged.silent) == 1 else "have"
        text += f". {listed(judged.silent)} {verb} no influence on the outputs"
    return text


def _held_on_bounds(result: EstimationResult) -> frozenset[str]:
    """Return the parameters that the data push onto their bounds."""
    each = [result.identifiability, *(s.identifiability for s in result.stages)]
    # What is on a bound and takes part in the analysis of the rank is open.
    judged = {name for one in each if one for weak in one.weakest for name in weak.shares}
    return frozenset(e.name for e in result.estimates if e.held and e.name not in judged)


def _held_together(result: EstimationResult) -> bool:
    """Return whether the data determine everything that the constraints leave free."""
    identifiability = result.identifiability
    return (
        identifiability is not None
        and identifiability.full_rank
        and identifiability.rank < sum(e.searched for e in result.estimates)
        and any(c.active for c in result.constraints)
    )


def _worst(result: EstimationResult) -> OutputFit | None:
    return max(
        (f for f in result.fits if math.isfinite(f.relative_error)),
        key=lambda f: f.relative_error,
        default=None,
    )


def _options(result: EstimationResult) -> Mapping[str, object]:
    options = result.settings.get("options")
    return options if isinstance(options, Mapping) else {}


def _advice(result: EstimationResult) -> str:
    if result.status == "interrupted":
        return "the search was not at its end: --resume goes on with it"
    for text, hint in (_explained(result), _disturbed(result)):
        if text:
            return f"{text}: {hint}" if hint else text
    if more := _more_of_the_search(result):
        return f"the search was not at its end: {more}"
    options = _options(result)
    if options.get("generations") is not None:
        # A population does not start from the initial values.
        return "try another seed or a larger population, or look for what the model lacks"
    free = [e for e in result.estimates if e.searched]
    if free and all(e.at_bound for e in free):
        return "every parameter lies on a bound: widen the bounds first"
    active = [c for c in result.constraints if c.active]
    if active:
        return (
            f"the {_named(active)} may keep it from a better fit: correct {_it(active)}, or look"
            " for what the model lacks"
        )
    starts = options.get("starts")
    if starts == 1:
        return "this may be a local minimum: try starts = 8 with bounds, or other initial values"
    if starts is not None:
        return f"{starts} starts agree: look for what the model lacks, or widen the bounds"
    # The others solve equations of their own or filter: there is no search to begin elsewhere.
    return "look for what the model lacks, such as a delay, an offset or friction"


def _explained(result: EstimationResult) -> tuple[str, str]:
    """Return the best explanation of the residuals, and what to do about it; or empty texts."""
    residuals = result.residuals
    if residuals is None:
        return "", ""
    if residuals.course is not None:
        return _lowered(str(residuals.course)), ""
    if residuals.hiding_bounds:
        return _hidden(result, residuals)
    if residuals.delays:
        worst = min(residuals.delays, key=lambda d: d.left)
        late = "later" if worst.delay > 0.0 else "earlier"
        text = f"'{worst.output}' is measured {abs(worst.delay):.2g} s {late} than it is simulated"
        return text, "estimate its delay"
    if residuals.repeated:
        names = listed(list(dict.fromkeys(f"'{r.output}'" for r in residuals.repeated)))
        text = (
            f"the residuals of {names} repeat in several experiments: the model lacks something,"
            " and the intervals are too narrow for it"
        )
        return text, ""
    return (_lowered(str(residuals.gathered[0])), "") if residuals.gathered else ("", "")


def _hidden(result: EstimationResult, residuals: ResidualCheck) -> tuple[str, str]:
    """Return that bounds keep parameters from a better fit, and what to do about it."""
    values = {e.name: e for e in result.estimates}
    given = [c for c in _bounding(result) if {*c.parameters} <= {*residuals.hiding_bounds}]
    if len(given) == len(residuals.hiding_bounds):
        return (
            f"the {_named(given)} {'hides' if len(given) == 1 else 'hide'} the fit",
            f"correct {_it(given)}, or look for what the model lacks",
        )
    named = [
        f"{n} = {plain(values[n].value, 4)}" + (f" {values[n].unit}" if values[n].unit else "")
        for n in residuals.hiding_bounds
    ]
    text = f"the bounds hide the fit ({listed(named)})"
    return text, "widen the bounds, or look for what the model lacks"


def _disturbed(result: EstimationResult) -> tuple[str, str]:
    """Return which disturbance makes most of the residuals, and what to do; or empty texts."""
    loss = _options(result).get("loss", "linear")
    outliers = {} if result.residuals is None else result.residuals.outliers
    if outliers and loss == "linear":  # a robust loss has taken care of them
        counts = listed([f"{n} sample{'s' * (n > 1)} of '{o}'" for o, n in outliers.items()])
        one = sum(outliers.values()) == 1
        return (
            f"{counts} {'is an outlier' if one else 'are outliers'}",
            f"exclude {'it' if one else 'them'} (hampel), or take a robust loss (loss)",
        )
    waves = () if result.noise is None else result.noise.waves
    for wave in sorted(waves, key=lambda w: -w.variance):
        sizes = [f.rms for f in result.fits if f.name == wave.output]
        if wave.variance > 0.5 * max(sizes, default=math.inf) ** 2:
            return f"they are mostly {wave}", ""
    return "", ""


def _used_up(result: EstimationResult, allowed: object) -> bool:
    if not isinstance(allowed, int) or not result.history:
        return False
    return len(result.history) >= allowed or result.history[-1].number >= allowed


def correlated_pairs(result: EstimationResult) -> list[tuple[str, str, float]]:
    """Return the pairs of free parameters that the data hardly tell apart, worst first."""
    names = [e.name for e in result.estimates if e.searched]
    matrix = np.asarray(result.correlation, dtype=np.float64)
    if matrix.shape != (len(names), len(names)):
        return []
    tied = _tied(result)
    pairs = [
        (names[i], names[j], float(matrix[i, j]))
        for i in range(len(names))
        for j in range(i + 1, len(names))
        if abs(matrix[i, j]) >= STRONG_CORRELATION
        and not any({names[i], names[j]} <= t for t in tied)
    ]
    return sorted(pairs, key=lambda pair: -abs(pair[2]))


def _bounding(result: EstimationResult) -> list[ConstraintCheck]:
    """Return the active inequalities in one parameter, which act as its bounds."""
    return [c for c in result.constraints if c.active and not c.equality and len(c.parameters) == 1]


def _tied(result: EstimationResult) -> list[set[str]]:
    """Return groups of parameters tied together by constraints, regardless of the data."""
    groups: list[set[str]] = []
    for c in (c for c in result.constraints if c.active):
        touched = [g for g in groups if g & set(c.parameters)]
        groups = [g for g in groups if g not in touched]
        groups.append(set(c.parameters).union(*touched))
    return groups


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
