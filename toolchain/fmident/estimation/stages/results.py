"""Combined results of the stages of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.estimation.contract import Iteration
from fmident.estimation.diagnostics.dependent import dependent_after_stages
from fmident.estimation.diagnostics.priors import after_stages
from fmident.estimation.population import Generation
from fmident.estimation.result import (
    CountedNoise,
    EstimationResult,
    OutputFit,
    OutputSensitivity,
    ParameterEstimate,
    StageResult,
)
from fmident.estimation.stages.progress import translation, widening
from fmident.estimation.stages.propagation import Propagation, correlation_of
from fmident.estimation.stages.stage_run import StageRun
from fmident.findings import Finding, finding, in_order, reading_notes
from fmident.words import quoted

if TYPE_CHECKING:
    from fmident.problem.model import Problem


def combined(
    problem: Problem,
    names: Sequence[str],
    done: Sequence[StageRun],
    propagation: Propagation,
    fits: tuple[OutputFit, ...],
    seconds: float,
) -> EstimationResult:
    """Return the combined result of all completed stages, with the fits of all experiments."""
    last = done[-1]
    history: list[Iteration] = []
    generations: list[Generation] = []
    held = {q.name: q.initial for q in problem.parameters}
    for k, one in enumerate(done):
        before = [d.result for d in done[:k]]
        translate = translation(names, one.stage.name, one.problem, held, before)
        widen = widening(names, one.problem, held)
        history += [translate(state) for state in one.result.history]
        generations += [
            Generation.of(widen(g.points), g.costs, one.stage.name) for g in one.result.generations
        ]
        held |= one.found
    # A constraint may let a parameter follow from others in one stage alone.
    always = {q.name for q in problem.parameters if q.expression is not None}
    final = {
        e.name: (d, e)
        for d in done
        for e in d.result.estimates
        if e.searched or (e.expression and e.name not in always)
    }
    covariance = propagation.covariance(names)
    base = [
        dataclasses.replace(b, stage=d.stage.name)
        for d in done
        for b in d.result.base_parameters
        if all(final[n][0] is d for n in b.members)  # no later stage has searched a member
    ]
    joined = [_estimate(q.name, problem, names, final, base) for q in problem.parameters]
    values = {e.name: e.value for e in joined}
    estimates = tuple(propagation.applied(e, values) for e in joined)
    return dataclasses.replace(
        last.result,
        message=_message(problem, done),
        estimator=", ".join(dict.fromkeys(d.result.estimator for d in done)),
        estimates=dependent_after_stages(problem, names, estimates, covariance),
        covariance=covariance,
        correlation=correlation_of(covariance),
        simulations=sum(d.result.simulations for d in done),
        jacobians=sum(d.result.jacobians for d in done),
        seconds=seconds,
        history=tuple(history),
        generations=tuple(generations),
        fits=fits,
        findings=in_order(stage_notes(problem, names, done, propagation)),
        settings={
            **last.result.settings,
            "stages": {d.stage.name: d.result.settings.get("options", {}) for d in done},
        },
        stages=tuple(_stage_result(d) for d in done),
        sensitivities=_sensitivities(done),
        priors=after_stages([d.result.priors for d in done]),
        noise=_noise(done, {name: one for name, (one, _) in final.items()}),
        base_parameters=tuple(propagation.applied(b, values) for b in base),
    )


def _noise(done: Sequence[StageRun], last: Mapping[str, StageRun]) -> CountedNoise | None:
    """Return the noise in the intervals, for each parameter from its last stage."""
    noises = [
        (d, d.result.noise) for d in done if d.result.noise is not None and d.carried.counts_noise
    ]
    if not noises:
        return None

    def joined(key: str) -> dict[str, float]:
        each = ((d, name, x) for d, noise in noises for name, x in getattr(noise, key).items())
        return {name: x for d, name, x in each if last.get(name) is d}

    return CountedNoise(
        any(n.coloured for _, n in noises),
        any(n.unequal for _, n in noises),
        any(n.uneven for _, n in noises),
        noises[-1][1].outputs,
        any(n.contradicted for _, n in noises),
        joined("white_errors"),
        joined("factors"),
        joined("degrees_of_freedom"),
        waves=noises[-1][1].waves,
        shared=noises[-1][1].shared,
    )


def _sensitivities(done: Sequence[StageRun]) -> tuple[OutputSensitivity, ...]:
    """Return the sensitivities of each parameter in the last stage that estimated it."""
    last = {name: k for k, one in enumerate(done) for name in one.found}
    sensitivities = []
    for k, one in enumerate(done):
        for each in one.result.sensitivities:
            columns = [j for j, name in enumerate(each.parameters) if last.get(name) == k]
            names = [each.parameters[j] for j in columns]
            if columns:
                sensitivities.append(
                    dataclasses.replace(
                        each,
                        influences={n: each.influences[n] for n in names},
                        values=np.ascontiguousarray(each.values[:, columns]),
                        stage=one.stage.name,
                    )
                )
    return tuple(sensitivities)


def _stage_result(one: StageRun) -> StageResult:
    result = one.result
    return StageResult(
        name=one.stage.name,
        estimator=result.estimator,
        cost=result.cost,
        cost_options=result.cost_options,
        cost_initial=result.cost_initial,
        cost_final=result.cost_final,
        status=result.status,
        message=result.message,
        parameters={e.name: e.value for e in result.estimates if e.searched},
        experiments=tuple(e.name for e in one.problem.experiments),
        simulations=result.simulations,
        jacobians=result.jacobians,
        seconds=result.seconds,
        identifiability=result.identifiability,
        uncertainty=one.carried.uncertainty,
    )


def _message(problem: Problem, done: Sequence[StageRun]) -> str:
    last = done[-1]
    return f"stage {len(done)} of {len(problem.stages)}, '{last.stage.name}': {last.result.message}"


def _estimate(
    name: str,
    problem: Problem,
    names: Sequence[str],
    final: Mapping[str, tuple[StageRun, ParameterEstimate]],
    base: Sequence[ParameterEstimate],
) -> ParameterEstimate:
    """Return a parameter as estimated by its last stage."""
    (q,) = (q for q in problem.parameters if q.name == name)
    if name in final:
        one, estimate = final[name]
        return dataclasses.replace(
            estimate,
            initial=q.initial,
            unit=q.unit,
            description=q.description,
            variable=q.variable,
            experiments=q.experiments,
            stage=one.stage.name,
            # One that an earlier stage has searched counts as such.
            expression="" if name in names else estimate.expression,
            base=tuple(b.name for b in base if name in b.members),
        )
    nothing = float("nan")
    return ParameterEstimate(
        name=name,
        unit=q.unit,
        description=q.description,
        initial=q.initial,
        value=q.initial,
        standard_error=nothing,
        interval_95=(nothing, nothing),
        lower=q.lower,
        upper=q.upper,
        at_bound=False,
        fixed=name not in names and q.expression is None,
        variable=q.variable,
        experiments=q.experiments,
        expression="" if q.expression is None else q.expression.text,
    )


def stage_notes(
    problem: Problem, names: Sequence[str], done: Sequence[StageRun], propagation: Propagation
) -> list[Finding]:
    """Return the notes of a run in stages."""
    findings = list(reading_notes(problem.notes))
    notes = []
    followed = {e.name for d in done for e in d.result.estimates if e.expression}
    unused = [q.name for q in problem.free if q.name not in names and q.name not in followed]
    if unused:
        verb = "is" if len(unused) == 1 else "are"
        notes.append(f"{quoted(unused)} {verb} searched in no stage and keeps its initial value.")
    for one in done:
        findings += [
            dataclasses.replace(f, text=f"Stage '{one.stage.name}': {_lowered(f.text)}")
            for f in one.result.findings
        ]
    owner = {e.name: k for k, d in enumerate(done) for e in d.result.estimates if e.searched}
    for k, one in enumerate(done):
        own = [n for n in names if owner.get(n) == k]
        if own and bool(np.isfinite(one.result.covariance).any()):
            notes += _counted_notes(one, own)
            notes += _assumed_notes(one, own)
            notes += _lost_notes(one, own, propagation)
        if propagation.wanted[k] and np.isfinite(one.result.covariance).any():
            notes += _initial_notes(k, done, owner)
    return [*findings, *(finding("stage", text) for text in notes)]


def _counted_notes(one: StageRun, own: Sequence[str]) -> list[str]:
    """Return notes on held values that are part of the intervals."""
    effect = one.carried.uncertainty
    if effect is None or not effect.counted:
        return []
    text = (
        f"Stage '{one.stage.name}' held {quoted(effect.counted)} at the values of earlier stages:"
        f" the intervals of {quoted(own)} count their uncertainty, to first order"
        f" ({effect.simulations} more simulations)."
    )
    if effect.shared_experiments:
        text += (
            f" Samples of {quoted(effect.shared_experiments)} were used by an earlier stage, too:"
            " that the errors are correlated therefore is counted."
        )
    if effect.taken_for_independent:
        text += (
            f" Data of {quoted(effect.taken_for_independent)} were used by an earlier stage in"
            " another form: their noise counts as independent."
        )
    if one.carried.blurred:
        text += (
            f" But the simulation is too inexact to tell what {quoted(one.carried.blurred)} would"
            " change: the intervals may be wrong; tighten evaluation.tolerance."
        )
    return [text]


def _assumed_notes(one: StageRun, own: Sequence[str]) -> list[str]:
    """Return notes on held values that are treated as exact."""
    effect = one.carried.uncertainty
    if effect is None or not effect.taken_for_known:
        return []
    names = quoted(effect.taken_for_known)
    single = len(effect.taken_for_known) == 1
    if one.carried.reason:
        why = f"since {one.carried.reason.rstrip('.')}"
    elif not one.stage.propagate:
        why = "since 'propagate' is false"
    else:
        why = "since the stages that found them gave no uncertainty"
    return [
        f"Stage '{one.stage.name}' held {names} at the values of earlier stages and took"
        f" {'it' if single else 'them'} for exactly known, {why}: the intervals of {quoted(own)}"
        f" are too narrow as far as {names} {'is' if single else 'are'} uncertain. A last stage"
        " that searches all of them gives intervals that count everything."
    ]


def _lost_notes(one: StageRun, own: Sequence[str], propagation: Propagation) -> list[str]:
    """Return notes on parameters whose intervals are wide only because of held values."""
    effect = one.carried.uncertainty
    if effect is None:
        return []
    alone = {n: e for n, e in effect.conditional_errors.items() if np.isfinite(e)}
    lost = [n for n in propagation.undetermined(own) if n in alone]
    notes = []
    if lost:
        causes = quoted(propagation.undetermined(effect.counted))
        notes.append(
            f"Stage '{one.stage.name}' held {causes}, which the data of earlier stages do not"
            f" determine: neither is {quoted(lost)}, which depends on that."
        )
    estimates = {e.name: e for e in one.result.estimates}
    for name in (n for n in own if n in alone and n not in lost):
        estimate = propagation.applied(estimates[name], one.result.values)
        size = max(abs(estimate.value), abs(estimate.initial))
        if estimate.standard_error > size >= alone[name]:
            notes.append(
                f"'{name}' is poorly determined because of what stage '{one.stage.name}' held:"
                f" {estimate.value:.3g} with a standard error of {estimate.standard_error:.3g}."
            )
    return notes


def _initial_notes(k: int, done: Sequence[StageRun], owner: Mapping[str, int]) -> list[str]:
    """Return notes on parameters that a stage held at initial values changed by a later one."""
    before = {n for d in done[:k] for n in d.found}
    held = [
        q.name
        for q in done[k].problem.parameters
        if q.fixed and q.name not in before and owner.get(q.name, -1) > k
    ]
    if not held:
        return []
    return [
        f"Stage '{done[k].stage.name}' held {quoted(held)} at"
        f" {'its initial value' if len(held) == 1 else 'their initial values'}, which a later stage"
        " changed: as far as its data show them, what it found holds for the former values, and its"
        " intervals do not count the difference."
    ]


def _lowered(note: str) -> str:
    """Return a sentence for use after a colon, with names unchanged."""
    head = note[:2]
    return note[:1].lower() + note[1:] if head[:1].isupper() and head[1:].islower() else note
