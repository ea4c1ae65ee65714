"""What a run in stages has to say, above all for which values its intervals hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.estimation.stages.propagation import Propagation

if TYPE_CHECKING:
    from fmident.estimation.stages.stage_run import StageRun
    from fmident.problem.model import Problem


def stage_notes(
    problem: Problem, names: Sequence[str], done: Sequence[StageRun], propagation: Propagation
) -> list[str]:
    """Return the notes of a run.

    Parameters
    ----------
    problem
        With stages.
    names
        Of the parameters that any stage searches.
    done
        The stages that were run.
    propagation
        That has followed them.
    """
    notes = [d.message for d in problem.notes]
    followed = {e.name for d in done for e in d.result.estimates if e.expression}
    unused = [q.name for q in problem.free if q.name not in names and q.name not in followed]
    if unused:
        verb = "is" if len(unused) == 1 else "are"
        notes.append(f"{_listed(unused)} {verb} searched in no stage and keeps its initial value.")
    for one in done:
        notes += [f"Stage '{one.stage.name}': {_lowered(n)}" for n in one.result.notes]
    owner = {e.name: k for k, d in enumerate(done) for e in d.result.estimates if e.searched}
    for k, one in enumerate(done):
        own = [n for n in names if owner.get(n) == k]
        if own and bool(np.isfinite(one.result.covariance).any()):
            notes += _counted_notes(one, own)
            notes += _assumed_notes(one, own)
            notes += _lost_notes(one, own, propagation)
        if propagation.wanted[k] and np.isfinite(one.result.covariance).any():
            notes += _initial_notes(k, done, owner)
    return notes


def _counted_notes(one: StageRun, own: Sequence[str]) -> list[str]:
    """Say what of the values held is part of the intervals."""
    found = one.carried.uncertainty
    if found is None or not found.counted:
        return []
    text = (
        f"Stage '{one.stage.name}' held {_listed(found.counted)} at the values of earlier stages:"
        f" the intervals of {_listed(own)} count their uncertainty, to first order"
        f" ({found.simulations} more simulations)."
    )
    if found.shared_experiments:
        text += (
            f" Samples of {_listed(found.shared_experiments)} were used by an earlier stage, too:"
            " that the errors are correlated therefore is counted."
        )
    if found.taken_for_independent:
        text += (
            f" Data of {_listed(found.taken_for_independent)} were used by an earlier stage in"
            " another form: their noise counts as independent."
        )
    if one.carried.blurred:
        text += (
            f" But the simulation is too inexact to tell what {_listed(one.carried.blurred)} would"
            " change: the intervals may be wrong; tighten evaluation.tolerance."
        )
    return [text]


def _assumed_notes(one: StageRun, own: Sequence[str]) -> list[str]:
    """Say what of the values held counts as exactly known."""
    found = one.carried.uncertainty
    if found is None or not found.taken_for_known:
        return []
    names = _listed(found.taken_for_known)
    single = len(found.taken_for_known) == 1
    if one.carried.reason:
        why = f"since {one.carried.reason.rstrip('.')}"
    elif not one.stage.propagate:
        why = "since 'propagate' is false"
    else:
        why = "since the stages that found them gave no uncertainty"
    return [
        f"Stage '{one.stage.name}' held {names} at the values of earlier stages and took"
        f" {'it' if single else 'them'} for exactly known, {why}: the intervals of {_listed(own)}"
        f" are too narrow as far as {names} {'is' if single else 'are'} uncertain. A last stage"
        " that searches all of them gives intervals that count everything."
    ]


def _lost_notes(one: StageRun, own: Sequence[str], propagation: Propagation) -> list[str]:
    """Name parameters whose intervals are wide only because of what was held."""
    found = one.carried.uncertainty
    if found is None:
        return []
    alone = {n: e for n, e in found.conditional_errors.items() if np.isfinite(e)}
    lost = [n for n in propagation.undetermined(own) if n in alone]
    notes = []
    if lost:
        causes = _listed(propagation.undetermined(found.counted))
        notes.append(
            f"Stage '{one.stage.name}' held {causes}, which the data of earlier stages do not"
            f" determine: neither is {_listed(lost)}, which depends on that."
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
    """Name parameters that a stage held at an initial value that a later one has changed."""
    before = {n for d in done[:k] for n in d.found}
    held = [
        q.name
        for q in done[k].problem.parameters
        if q.fixed and q.name not in before and owner.get(q.name, -1) > k
    ]
    if not held:
        return []
    return [
        f"Stage '{done[k].stage.name}' held {_listed(held)} at"
        f" {'its initial value' if len(held) == 1 else 'their initial values'}, which a later stage"
        " changed: as far as its data show them, what it found holds for the former values, and its"
        " intervals do not count the difference."
    ]


def _listed(names: Sequence[str]) -> str:
    quoted = [f"'{n}'" for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def _lowered(note: str) -> str:
    """Return a sentence to follow a colon, names left alone."""
    head = note[:2]
    return note[:1].lower() + note[1:] if head[:1].isupper() and head[1:].islower() else note
