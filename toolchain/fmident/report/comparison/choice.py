"""Model selection: information criteria, weights, tests of nested problems."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fmident.report.comparison.samples import Samples, modelled_noise, why_not
from fmident.statistics.choice import (
    Criteria,
    Fit,
    LikelihoodRatio,
    akaike_weights,
    criteria,
    inflation_of,
    likelihood_ratio,
)

if TYPE_CHECKING:
    import pandas as pd

    from fmident.arrays import F64
    from fmident.estimation.result import EstimationResult, InputSignal, ParameterEstimate


_SLACK = 1e-6
"""By which part the larger problem may leave more than the smaller one: the end of a search."""


_Key: TypeAlias = tuple[str, str, str]

_START = "start value of"

_MEASURING = {"gain": 1.0, "offset": 0.0, "delay": 0.0}
"""Keys of outputs that say how they come about from the model's, and their defaults."""

_SAME = 1e-9
"""Relative difference of values that are the same."""

_ROUNDED = 1e-8
"""The same of numbers in tables."""


@dataclass(frozen=True)
class Candidate:
    """Model selection data of one result.

    `criteria` assume independent samples; `effective` ones use their effective number and
    are the same for white residuals. The Akaike weights are from the AICc of either, NaN if
    there is none; `fit` is ``None`` without criteria.
    """

    criteria: Criteria
    effective: Criteria
    weight: float = math.nan
    effective_weight: float = math.nan
    fit: Fit | None = None


@dataclass(frozen=True)
class Compared:
    """A result in a comparison.

    `name` is as short as possible while unique; `found` has criteria and weights.
    """

    name: str
    result: EstimationResult
    found: Candidate


@dataclass(frozen=True)
class NestedTest:
    """A problem against one that contains it.

    Parameters
    ----------
    smaller, larger
        Names of the results.
    extra, boundary, doubts
        As of :class:`fmident.report.comparison.choice.Containment`.
    ratio, effective
        The test with samples taken for independent, and with as many as are independent.
    """

    smaller: str
    larger: str
    extra: tuple[str, ...]
    boundary: tuple[str, ...]
    doubts: tuple[str, ...]
    ratio: LikelihoodRatio
    effective: LikelihoodRatio


@dataclass(frozen=True)
class Choice:
    """Criteria and tests of all results.

    `candidates` are in the order of the results, `tests` has one per nested pair, and
    `untested` the other pairs with the reason. `inflation` is the number of samples
    equivalent to one independent sample, from the residuals of `reference`, the best fit; 1
    for white residuals. `modelled` names results with a noise model, if others have none,
    and `caution` says why criteria are not directly comparable, if so.
    """

    candidates: tuple[Candidate, ...]
    tests: tuple[NestedTest, ...] = ()
    untested: tuple[tuple[str, str, str], ...] = field(default=())
    inflation: float = 1.0
    reference: str = ""
    modelled: tuple[str, ...] = ()
    caution: str = ""

    @property
    def coloured(self) -> bool:
        """Whether the residuals of the reference are not white."""
        return self.inflation > 1.0


def choose(
    names: Sequence[str],
    results: Sequence[EstimationResult],
    tables: Sequence[pd.DataFrame | None],
    files: Sequence[Path | None],
) -> Choice:
    """Return criteria and tests of results.

    All arguments have the same length; `tables` has the ``fit.csv`` and `files` the problem
    file as run of each result.
    """
    reasons, samples = _reasons(results, tables)
    fits = [
        None if s is None or reason else s.fit(r)
        for r, s, reason in zip(results, samples, reasons, strict=True)
    ]
    white = [
        Criteria(missing=reason) if fit is None else criteria(fit)
        for fit, reason in zip(fits, reasons, strict=True)
    ]
    known = [k for k, c in enumerate(white) if not c.missing]
    if not known:
        return Choice(tuple(Candidate(c, c) for c in white))
    best = min(known, key=lambda k: _deviance(fits[k]))
    of_best = samples[best]
    inflation = 1.0 if of_best is None else inflation_of(of_best.series(results[best]))
    modelled = [names[k] for k in known if modelled_noise(results[k]) is not None]
    caution = ""
    if inflation > 1.0 and modelled and names[best] not in modelled:
        # What is right for the others would count their colour twice.
        inflation = 1.0
        caution = (
            f"the residuals of {names[best]} are not white, which its likelihood takes them for:"
            " estimate it with a model of the noise, as the others"
        )
    effective = [
        c if fit is None or c.missing else criteria(fit, inflation)
        for c, fit in zip(white, fits, strict=True)
    ]
    weights = akaike_weights([c.aicc for c in white])
    others = akaike_weights([c.aicc for c in effective])
    candidates = map(Candidate, white, effective, weights, others, fits)
    tests: list[NestedTest] = []
    untested: list[tuple[str, str, str]] = []
    for i, j in permutations(known, 2):
        if _pair_is_asked(results, i, j):
            outcome = _test(names, results, samples, files, (i, j), inflation)
            if isinstance(outcome, str):
                untested.append((names[i], names[j], outcome))
            else:
                tests.append(outcome)
    return Choice(
        tuple(candidates), tuple(tests), tuple(untested), inflation, names[best],
        tuple(modelled) if len(modelled) < len(known) else (), caution,
    )  # fmt: skip


def _deviance(fit: Fit | None) -> float:
    return math.inf if fit is None else fit.deviance


def _reasons(
    results: Sequence[EstimationResult], tables: Sequence[pd.DataFrame | None]
) -> tuple[list[str], list[Samples | None]]:
    """Return why a result has no comparable criteria, and the samples of each."""
    reasons: list[str] = []
    samples: list[Samples | None] = []
    first: Samples | None = None
    for number, (result, table) in enumerate(zip(results, tables, strict=True)):
        own = None if table is None else Samples.of(table)
        reason = why_not(result, table)
        if number == 0:
            first = own
        elif not reason and first is not None and own is not None:
            different = first.difference(own)
            if different:
                reason = f"its samples are not those of the first result: {different}"
        reasons.append(reason)
        samples.append(own)
    return reasons, samples


def _pair_is_asked(results: Sequence[EstimationResult], i: int, j: int) -> bool:
    """Return whether j may contain i; each pair is tested once, the smaller problem first."""
    less, more = len(searched(results[i])), len(searched(results[j]))
    return less < more


def _orders(result: EstimationResult) -> dict[str, int] | None:
    """Return the noise order of each output; ``None`` without a noise model."""
    noise = modelled_noise(result)
    return None if noise is None else {o.name: o.order for o in noise.outputs}


def _test(
    names: Sequence[str],
    results: Sequence[EstimationResult],
    samples: Sequence[Samples | None],
    files: Sequence[Path | None],
    pair: tuple[int, int],
    inflation: float,
) -> NestedTest | str:
    i, j = pair
    nesting = containment(results[i], results[j], (files[i], files[j]))
    if isinstance(nesting, str):
        return nesting
    less, more = samples[i], samples[j]
    assert less is not None
    assert more is not None
    if _orders(results[i]) != _orders(results[j]):
        return "they do not assume the same noise (model of the noise, or its order)"
    larger, own = more.fit(results[j]), less.fit(results[i])
    same = own.sigma_known == larger.sigma_known
    if not larger.noise and not (same and more.same_noise(less, known=own.sigma_known)):
        return "they do not assume the same noise (sigma or weight)"
    smaller = less.fit(results[i], more.sigma)
    worse = smaller.squares < larger.squares * (1.0 - _SLACK)
    if larger.noise:
        smaller = own
        worse = smaller.deviance < larger.deviance - _SLACK * larger.count
    if worse:
        return "the larger one fits worse: it has not reached its minimum"
    return NestedTest(
        names[i],
        names[j],
        nesting.extra,
        nesting.boundary,
        nesting.doubts,
        likelihood_ratio(smaller, larger, boundary=len(nesting.boundary)),
        likelihood_ratio(smaller, larger, boundary=len(nesting.boundary), inflation=inflation),
    )


@dataclass(frozen=True)
class Containment:
    """How a problem contains another.

    `extra` are parameters that it searches and the other does not, `boundary` those of them
    that the other holds at a bound, and `doubts` violated assumptions of the test.
    """

    extra: tuple[str, ...]
    boundary: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def searched(result: EstimationResult) -> set[str]:
    """Return the names of the parameters that were searched."""
    return {e.name for e in result.estimates if e.searched}


def containment(
    smaller: EstimationResult,
    larger: EstimationResult,
    files: tuple[Path | None, Path | None] = (None, None),
) -> Containment | str:
    """Return how one problem contains another, or why it does not.

    The larger one searches all parameters of the smaller one, and more. If the problem
    `files` as run are given, values set without being parameters are compared, and the
    columns of inputs whose values are unknown.
    """
    if (smaller.fmu_name, smaller.fmu_guid) != (larger.fmu_name, larger.fmu_guid):
        return "their FMUs differ"
    if smaller.stages or larger.stages:
        return "an estimate in stages need not be the maximum of the likelihood"
    extra = searched(larger) - searched(smaller)
    if not extra or not searched(smaller) < searched(larger):
        return "neither searches all parameters of the other"
    held = {e.name: e for e in smaller.estimates}
    free = {e.name: e for e in larger.estimates}
    reason = (
        _other_values(held, free, extra)
        or _other_relations(smaller, larger, held, free, extra)
        or _other_inputs(smaller, larger)
        or _other_settings(files, extra, inputs=not _inputs_known(smaller, larger, files))
    )
    if reason:
        return reason
    boundary = tuple(n for n in free if n in extra and _at_bound(held[n].value, free[n]))
    return Containment(
        tuple(n for n in free if n in extra),
        boundary,
        tuple(_doubts(smaller, larger, extra, files)),
    )


def _other_values(
    held: Mapping[str, ParameterEstimate], free: Mapping[str, ParameterEstimate], extra: set[str]
) -> str:
    for name in extra:
        if name not in held:
            return f"'{name}' is not a parameter of the smaller one: let it be 'fixed' there"
        e, bounds = held[name], free[name]
        slack = _SAME * max(abs(e.value), abs(bounds.lower), abs(bounds.upper))
        if not bounds.lower - slack <= e.value <= bounds.upper + slack:
            return f"{name} = {e.value:g} is outside of its bounds in the larger one"
    for name in held.keys() | free.keys():
        if name in extra or (name in held and held[name].searched):
            continue
        if name not in held or name not in free:
            return f"'{name}' is held in one of them, and not a parameter of the other"
        if held[name].expression or free[name].expression:
            continue
        if not _same(held[name].value, free[name].value):
            return f"'{name}' is held at different values"
    return ""


def _other_relations(
    smaller: EstimationResult,
    larger: EstimationResult,
    held: Mapping[str, ParameterEstimate],
    free: Mapping[str, ParameterEstimate],
    extra: set[str],
) -> str:
    for name in free:
        if name in extra:
            continue
        if (held[name].variable, held[name].experiments, held[name].expression) != (
            free[name].variable,
            free[name].experiments,
            free[name].expression,
        ):
            return f"'{name}' means something else in each of them"
    if {c.text for c in smaller.constraints} != {c.text for c in larger.constraints}:
        return "their constraints differ"
    for name, e in held.items():
        inside = free[name].lower <= e.value <= free[name].upper
        if e.searched and not inside:
            return f"{name} = {e.value:g} of the smaller one is outside of its bounds in the larger"
    return ""


def _other_inputs(smaller: EstimationResult, larger: EstimationResult) -> str:
    """Return the input of the fitted experiments that differs; empty if none does."""
    one, other = _inputs_of(smaller), _inputs_of(larger)
    for key in one.keys() | other.keys():
        what = f"the input '{key[1]}' of experiment '{key[0]}'"
        if key not in one or key not in other:
            # What is not stored at all is a doubt, and no difference.
            if one and other:
                return f"{what} is given in one of them only"
            continue
        a, b = one[key], other[key]
        if (a.unit or "") != (b.unit or ""):
            return f"{what} is in '{a.unit or ''}' in one of them, in '{b.unit or ''}' in the other"
        if a.held != b.held:
            return f"{what} is held between samples in one of them, not in the other"
        if (
            a.times.size
            and b.times.size
            and not (_equal(a.times, b.times) and _equal(a.values, b.values))
        ):
            return f"{what} differs"
    return ""


def _inputs_of(result: EstimationResult) -> dict[tuple[str, str], InputSignal]:
    return {(s.experiment, s.name): s for s in result.inputs if s.fitted}


def _equal(one: F64, other: F64) -> bool:
    if one.shape != other.shape:
        return False
    size = max(float(np.max(np.abs(one), initial=0.0)), float(np.max(np.abs(other), initial=0.0)))
    return bool(np.allclose(one, other, _ROUNDED, _ROUNDED * size, equal_nan=True))


def _inputs_known(
    smaller: EstimationResult,
    larger: EstimationResult,
    files: tuple[Path | None, Path | None],
) -> bool:
    """Return whether the values of all inputs were compared."""
    stored = [_inputs_of(r) for r in (smaller, larger)]
    if not all(s.times.size for own in stored for s in own.values()):
        return False
    # Results of earlier versions have no inputs.
    written = [any(key[0] == "input" for key in _settings(f) or {}) for f in files]
    return all(bool(own) or not asked for own, asked in zip(stored, written, strict=True))


def _other_settings(
    files: tuple[Path | None, Path | None], extra: set[str], *, inputs: bool
) -> str:
    """Return the setting that differs, including columns of inputs if `inputs` is true."""
    one, other = (_settings(f) for f in files)
    if one is None or other is None:
        return ""
    for key in one.keys() | other.keys():
        what, _, name = key
        if what == "input" and not inputs:
            continue
        if one.get(key) != other.get(key) and not (what == _START and name in extra):
            return f"the {what} '{name}' differs"
    return ""


def _settings(file: Path | None) -> dict[_Key, Any] | None:
    """Return the settings of a problem file by kind, experiment and name, without parameters."""
    if file is None or not file.exists():
        return None
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    found: dict[_Key, Any] = {}
    for name, value in _table(_table(document, "model"), "start_values").items():
        found[_START, "", name] = value
    experiments = document.get("experiments", [])
    tables = experiments if isinstance(experiments, list) else []
    fitted = [e for e in tables if isinstance(e, dict) and e.get("role") != "validation"]
    for number, table in enumerate(fitted):
        for name, value in _table(table, "start_values").items():
            found[_START, str(number), name] = value
        for name, value in _table(table, "inputs").items():
            found["input", str(number), name] = (
                value if isinstance(value, dict) else {"column": value}
            )
        for name, value in _table(table, "outputs").items():
            entry = value if isinstance(value, dict) else {}
            for key, default in _MEASURING.items():
                found[f"{key} of", str(number), name] = entry.get(key, default)
    return found


def _table(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key, {})
    return value if isinstance(value, dict) else {}


def _doubts(
    smaller: EstimationResult,
    larger: EstimationResult,
    extra: set[str],
    files: tuple[Path | None, Path | None],
) -> list[str]:
    doubts = [
        f"the {which} problem ended with the status '{r.status}'"
        for which, r in (("smaller", smaller), ("larger", larger))
        if r.status != "converged"
    ]
    common = [e.name for e in larger.estimates if e.at_bound and e.name not in extra]
    common += [e.name for e in smaller.estimates if e.at_bound and e.name not in common]
    if common:
        doubts.append(f"{', '.join(common)} at a bound: the test takes the value for known")
    if not _inputs_known(smaller, larger, files):
        doubts.append(
            "that both have the same values of the inputs was not verified: there is no inputs.csv"
        )
    if any(f is None or not f.exists() for f in files):
        doubts.append(
            "that both have the same gains, offsets, delays and start values was not verified:"
            " there is no file"
        )
    return doubts


def _at_bound(value: float, e: ParameterEstimate) -> bool:
    return _same(value, e.lower) or _same(value, e.upper)


def _same(one: float, other: float) -> bool:
    if not (math.isfinite(one) and math.isfinite(other)):
        return one == other
    return abs(one - other) <= _SAME * max(abs(one), abs(other))
