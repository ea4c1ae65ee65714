"""Model selection: information criteria, weights, tests of nested problems."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from fmident.arrays import F64
from fmident.errors import EstimationError
from fmident.report.tables import column, fit_table, read_table
from fmident.statistics.model_selection import (
    Criteria,
    Fit,
    LikelihoodRatio,
    ModelledLikelihood,
    akaike_weights,
    criteria,
    inflation_of,
    likelihood_ratio,
    modelled_likelihood,
)
from fmident.statistics.noise.processes import NoisyOutput, outputs_of

if TYPE_CHECKING:
    from fmident.estimation.comparisons import CountedNoise, InputSignal
    from fmident.estimation.result import EstimationResult, ParameterEstimate

_SLACK = 1e-6
"""Part by which the cost of the larger problem may exceed that of the smaller: searches end
inexactly."""


_Key: TypeAlias = tuple[str, str, str]

_START = "start value of"

_MEASURING = {"gain": 1.0, "offset": 0.0, "delay": 0.0}
"""Keys of outputs that say how they come about from the model's, and their defaults."""

_SAME = 1e-9
"""Relative difference of values that are the same."""

_ROUNDED = 1e-8
"""The same of numbers in tables, which are rounded."""

_KEYS = ["experiment", "output", "time"]
_WANTED = {*_KEYS, "measured", "fitted", "sigma"}


@dataclass(frozen=True, eq=False)
class Samples:
    """Compared samples, sorted by experiment, output and time.

    `outputs` has the experiment and output of each, shape (m, 2); the other fields have
    shape (m,).
    """

    outputs: npt.NDArray[np.object_]
    times: F64
    measured: F64
    fitted: F64
    sigma: F64

    @classmethod
    def of(cls, table: pd.DataFrame) -> Samples:
        """Return the samples of the table ``fit.csv``."""
        known = table[table["measured"].notna()].sort_values(_KEYS, kind="stable")
        keys = known[_KEYS[:2]].astype(str).to_numpy(dtype=np.object_)
        return cls(keys, *(column(known, name) for name in ("time", "measured", "fitted", "sigma")))

    def fit(self, result: EstimationResult, sigma: F64 | None = None) -> Fit:
        """Return the data for criteria; with another `sigma`, shape (m,), if given."""
        assert result.residuals is not None
        chosen = self.sigma if sigma is None else sigma
        residuals = (self.measured - self.fitted) / chosen
        constant = float(np.sum(np.log(2.0 * np.pi * chosen**2)))
        searched = sum(e.searched for e in result.estimates)
        likelihood = self._modelled(result)
        if likelihood is not None:
            rest = likelihood.deviance - residuals.size * (1.0 + math.log(2.0 * math.pi))
            return Fit(
                residuals.size, float(residuals.size), constant + rest, searched, False,
                likelihood.unknowns,
            )  # fmt: skip
        known = not math.isnan(result.residuals.noise_ratio)
        return Fit(residuals.size, float(np.sum(residuals**2)), constant, searched, known)

    def series(self, result: EstimationResult) -> list[F64]:
        """Return the series of each output that should be white, in order of time.

        These are the residuals over sigma, or the innovations of a noise model.
        """
        likelihood = self._modelled(result)
        changes = (self.outputs[1:] != self.outputs[:-1]).any(axis=1)
        white = self._residuals if likelihood is None else likelihood.innovations
        return np.split(white, np.flatnonzero(changes) + 1)

    @property
    def _residuals(self) -> F64:
        return (self.measured - self.fitted) / self.sigma

    def _modelled(self, result: EstimationResult) -> ModelledLikelihood | None:
        noise = modelled_noise(result)
        if noise is None:
            return None
        outputs = self.noisy_outputs(result)
        own = {o.name: np.array(o.coefficients) for o in noise.outputs}
        return modelled_likelihood(outputs, [own[o.name] for o in outputs], self._residuals)

    def noisy_outputs(self, result: EstimationResult) -> tuple[NoisyOutput, ...]:
        """Return which residuals share one noise, in the order of the result."""

        def signals() -> Iterator[tuple[str, npt.NDArray[np.intp], F64]]:
            for fit in result.fits:
                same = (self.outputs == [fit.experiment, fit.name]).all(axis=1)
                rows = np.flatnonzero(same)
                yield fit.name, rows, self.times[rows]

        return outputs_of(signals())

    def difference(self, other: Samples) -> str:
        """Return how the samples differ from those of another result; empty if they do not."""
        if len(self.outputs) != len(other.outputs):
            return f"there are {len(other.outputs)} of them, not {len(self.outputs)}"
        if (self.outputs != other.outputs).any():
            return "they are of other experiments or outputs"
        for what, mine, theirs in (
            ("instants", self.times, other.times),
            ("measured values", self.measured, other.measured),
        ):
            if not _alike(mine, theirs).all():
                return f"their {what} differ"
        return ""

    def same_noise(self, other: Samples, *, known: bool) -> bool:
        """Return whether both assume the same sigma, up to a factor if it is unknown."""
        if known:
            return bool(_alike(self.sigma, other.sigma).all())
        ratio = other.sigma / self.sigma
        return bool(np.ptp(ratio) <= 10.0 * _ROUNDED * ratio[0])


def _alike(one: F64, other: F64) -> npt.NDArray[np.bool_]:
    same: npt.NDArray[np.bool_] = np.abs(one - other) <= _ROUNDED * np.maximum(
        np.abs(one), np.abs(other)
    )
    return same


def stored_table(folder: Path) -> pd.DataFrame | None:
    """Return ``fit.csv``, or ``None`` if there is no readable one."""
    try:
        table = read_table(folder / "fit.csv", lambda table: table)
    except EstimationError:
        return None
    return table if set(table.columns) >= _WANTED else None


def table_of(result: EstimationResult) -> pd.DataFrame | None:
    """Return the table ``fit.csv`` of a result in memory."""
    return fit_table(result.fits) if any(f.times.size for f in result.fits) else None


def modelled_noise(result: EstimationResult) -> CountedNoise | None:
    """Return the noise estimated with the parameters; ``None`` if it was not."""
    noise = result.noise
    return noise if noise is not None and noise.modelled else None


def why_not(result: EstimationResult, table: pd.DataFrame | None) -> str:
    """Return why a result has no maximum likelihood; empty if it has."""
    options = result.settings.get("options", {})
    loss = options.get("loss", "linear") if isinstance(options, dict) else "linear"
    if result.cost != "time-domain" or result.cost_options.get("normalisation", "none") != "none":
        return f"the cost '{result.cost}' is not a likelihood"
    if loss != "linear":
        return f"the loss '{loss}' is not the likelihood of Gaussian noise"
    if result.priors is not None:
        return "with priors its estimate is not the maximum of the likelihood"
    if result.draws is not None:
        return "its values are medians of draws, not the maximum of the likelihood"
    if result.residuals is None:
        return "the run ended before its residuals were judged"
    if table is None:
        return "there is no fit.csv beside its result.json"
    known = np.isfinite(table["measured"].to_numpy(dtype=np.float64))
    values = table.loc[known, ["fitted", "sigma"]].to_numpy(dtype=np.float64)
    if not values.size or not np.isfinite(values).all() or not (values[:, 1] > 0.0).all():
        return "its fit.csv lacks fitted values or sigma"
    noise = modelled_noise(result)
    if noise is not None and noise.waves:
        held = ", ".join(map(str, noise.waves))
        return f"its model of the noise holds {held}, of which comparison knows no likelihood"
    if noise is not None:
        there = {o.name: o.size for o in Samples.of(table).noisy_outputs(result)}
        if there != {o.name: o.samples for o in noise.outputs}:
            return "its model of the noise is not one of the samples in its fit.csv"
    return ""


@dataclass(frozen=True, eq=False)
class Stored:
    """A result to be compared: its name, its ``fit.csv`` and its problem file as it was run."""

    name: str
    result: EstimationResult
    table: pd.DataFrame | None = None
    file: Path | None = None

    @cached_property
    def samples(self) -> Samples | None:
        """The compared samples."""
        return None if self.table is None else Samples.of(self.table)

    @cached_property
    def settings(self) -> dict[_Key, Any] | None:
        """The settings of the problem file by kind, experiment and name, without parameters."""
        return None if self.file is None else _settings(self.file)


@dataclass(frozen=True)
class Compared:
    """A result in a comparison.

    `name` is as short as possible while unique. `criteria` assume independent samples;
    `effective` ones use their effective number and are the same for white residuals. The
    Akaike weights are from the AICc of either, NaN if there is none; `fit` is ``None``
    without criteria.
    """

    name: str
    result: EstimationResult
    criteria: Criteria
    effective: Criteria
    weight: float = math.nan
    effective_weight: float = math.nan
    fit: Fit | None = None


@dataclass(frozen=True)
class Containment:
    """How a problem contains another.

    `extra` are parameters that it searches and the other does not, `boundary` those of them
    that the other holds at a bound, and `doubts` violated assumptions of the test.
    """

    extra: tuple[str, ...]
    boundary: tuple[str, ...]
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class NestedTest:
    """A problem against one that contains it, by the names of their results.

    `ratio` is the test with samples taken for independent, `effective` with as many as are
    independent.
    """

    smaller: str
    larger: str
    nesting: Containment
    ratio: LikelihoodRatio
    effective: LikelihoodRatio


@dataclass(frozen=True)
class Choice:
    """Tests of all results, and what the criteria mean.

    `tests` has one per nested pair, and `untested` the other pairs with the reason.
    `inflation` is the number of samples equivalent to one independent sample, from the
    residuals of `reference`, the best fit; 1 for white residuals. `modelled` names results
    with a noise model, if others have none, and `caution` says why criteria are not directly
    comparable, if so.
    """

    tests: tuple[NestedTest, ...] = ()
    untested: tuple[tuple[str, str, str], ...] = ()
    inflation: float = 1.0
    reference: str = ""
    modelled: tuple[str, ...] = ()
    caution: str = ""

    @property
    def coloured(self) -> bool:
        """Whether the residuals of the reference are not white."""
        return self.inflation > 1.0


def choose(stored: Sequence[Stored]) -> tuple[tuple[Compared, ...], Choice]:
    """Return each result with its criteria, and the tests of all."""
    reasons = [_why_not_comparable(one, stored[0]) for one in stored]
    fits = [
        None if one.samples is None or reason else one.samples.fit(one.result)
        for one, reason in zip(stored, reasons, strict=True)
    ]
    white = [
        Criteria(missing=reason) if fit is None else criteria(fit)
        for fit, reason in zip(fits, reasons, strict=True)
    ]
    known = [k for k, c in enumerate(white) if not c.missing]
    if not known:
        return tuple(
            Compared(s.name, s.result, c, c) for s, c in zip(stored, white, strict=True)
        ), Choice()
    best = stored[min(known, key=lambda k: math.inf if (fit := fits[k]) is None else fit.deviance)]
    inflation = 1.0 if best.samples is None else inflation_of(best.samples.series(best.result))
    modelled = [stored[k].name for k in known if modelled_noise(stored[k].result) is not None]
    caution = ""
    if inflation > 1.0 and modelled and best.name not in modelled:
        # What is right for the others would count their colour twice.
        inflation = 1.0
        caution = (
            f"the residuals of {best.name} are not white, which its likelihood takes them for:"
            " estimate it with a model of the noise, as the others"
        )
    effective = [
        c if fit is None or c.missing else criteria(fit, inflation)
        for c, fit in zip(white, fits, strict=True)
    ]
    weights, others = (akaike_weights([c.aicc for c in each]) for each in (white, effective))
    names, results = [s.name for s in stored], [s.result for s in stored]
    tests: list[NestedTest] = []
    untested: list[tuple[str, str, str]] = []
    for i, j in permutations(known, 2):
        if len(searched(results[i])) < len(searched(results[j])):  # each pair once
            outcome = _test(stored[i], stored[j], inflation)
            if isinstance(outcome, str):
                untested.append((names[i], names[j], outcome))
            else:
                tests.append(outcome)
    some = tuple(modelled) if len(modelled) < len(known) else ()
    return (
        tuple(map(Compared, names, results, white, effective, weights, others, fits)),
        Choice(tuple(tests), tuple(untested), inflation, best.name, some, caution),
    )


def _why_not_comparable(one: Stored, first: Stored) -> str:
    """Return why a result has no criteria comparable to those of the first; empty if it has."""
    reason = why_not(one.result, one.table)
    if reason or one is first or first.samples is None or one.samples is None:
        return reason
    different = first.samples.difference(one.samples)
    return different and f"its samples are not those of the first result: {different}"


def _orders(result: EstimationResult) -> dict[str, int] | None:
    noise = modelled_noise(result)
    return None if noise is None else {o.name: o.order for o in noise.outputs}


def _test(smaller: Stored, larger: Stored, inflation: float) -> NestedTest | str:
    nesting = containment(smaller, larger)
    if isinstance(nesting, str):
        return nesting
    less, more = smaller.samples, larger.samples
    assert less is not None
    assert more is not None
    if _orders(smaller.result) != _orders(larger.result):
        return "they do not assume the same noise (model of the noise, or its order)"
    own, other = less.fit(smaller.result), more.fit(larger.result)
    same = own.sigma_known == other.sigma_known
    if other.noise:
        worse = own.deviance < other.deviance - _SLACK * other.count
    elif same and more.same_noise(less, known=own.sigma_known):
        own = less.fit(smaller.result, more.sigma)
        worse = own.squares < other.squares * (1.0 - _SLACK)
    else:
        return "they do not assume the same noise (sigma or weight)"
    if worse:
        return "the larger one fits worse: it has not reached its minimum"
    held = len(nesting.boundary)
    return NestedTest(
        smaller.name,
        larger.name,
        nesting,
        likelihood_ratio(own, other, boundary=held),
        likelihood_ratio(own, other, boundary=held, inflation=inflation),
    )


def searched(result: EstimationResult) -> set[str]:
    """Return the names of the parameters that were searched."""
    return {e.name for e in result.estimates if e.searched}


def containment(less: Stored, more: Stored) -> Containment | str:
    """Return how one problem contains another, or why it does not.

    The larger one searches all parameters of the smaller one, and more. Where the problem
    files are known, values set without being parameters are compared, and the columns of
    inputs whose values are unknown.
    """
    smaller, larger = less.result, more.result
    if (smaller.fmu_name, smaller.fmu_guid) != (larger.fmu_name, larger.fmu_guid):
        return "their FMUs differ"
    if smaller.stages or larger.stages:
        return "an estimate in stages need not be the maximum of the likelihood"
    extra = searched(larger) - searched(smaller)
    if not extra or not searched(smaller) < searched(larger):
        return "neither searches all parameters of the other"
    held = {e.name: e for e in smaller.estimates}
    free = {e.name: e for e in larger.estimates}
    inputs_known = _inputs_known(less, more)
    reason = (
        _other_values(held, free, extra)
        or _other_relations(smaller, larger, held, free, extra)
        or _other_inputs(smaller, larger)
        or _other_settings(less.settings, more.settings, extra, inputs=not inputs_known)
    )
    if reason:
        return reason
    named = tuple(n for n in free if n in extra)
    boundary = tuple(
        n for n in named if any(_same(held[n].value, b) for b in (free[n].lower, free[n].upper))
    )
    return Containment(named, boundary, tuple(_doubts(less, more, extra, inputs_known)))


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


def _inputs_known(less: Stored, more: Stored) -> bool:
    inputs = [_inputs_of(one.result) for one in (less, more)]
    if not all(s.times.size for own in inputs for s in own.values()):
        return False
    # Results of earlier versions have no inputs.
    asked = [any(key[0] == "input" for key in one.settings or {}) for one in (less, more)]
    return all(bool(own) or not wanted for own, wanted in zip(inputs, asked, strict=True))


def _other_settings(
    one: dict[_Key, Any] | None, other: dict[_Key, Any] | None, extra: set[str], *, inputs: bool
) -> str:
    """Return the setting that differs, including columns of inputs if `inputs` is true."""
    if one is None or other is None:
        return ""
    for key in one.keys() | other.keys():
        what, _, name = key
        if what == "input" and not inputs:
            continue
        if one.get(key) != other.get(key) and not (what == _START and name in extra):
            return f"the {what} '{name}' differs"
    return ""


def _settings(file: Path) -> dict[_Key, Any] | None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    settings: dict[_Key, Any] = {}
    for name, value in _table(_table(document, "model"), "start_values").items():
        settings[_START, "", name] = value
    experiments = document.get("experiments", [])
    tables = experiments if isinstance(experiments, list) else []
    fitted = [e for e in tables if isinstance(e, dict) and e.get("role") != "validation"]
    for number, table in enumerate(fitted):
        for name, value in _table(table, "start_values").items():
            settings[_START, str(number), name] = value
        for name, value in _table(table, "inputs").items():
            settings["input", str(number), name] = (
                value if isinstance(value, dict) else {"column": value}
            )
        for name, value in _table(table, "outputs").items():
            entry = value if isinstance(value, dict) else {}
            for key, default in _MEASURING.items():
                settings[f"{key} of", str(number), name] = entry.get(key, default)
    return settings


def _table(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = content.get(key, {})
    return value if isinstance(value, dict) else {}


def _doubts(less: Stored, more: Stored, extra: set[str], inputs_known: bool) -> list[str]:
    smaller, larger = less.result, more.result
    doubts = [
        f"the {which} problem ended with the status '{r.status}'"
        for which, r in (("smaller", smaller), ("larger", larger))
        if r.status != "converged"
    ]
    common = [e.name for e in larger.estimates if e.at_bound and e.name not in extra]
    common += [e.name for e in smaller.estimates if e.at_bound and e.name not in common]
    if common:
        doubts.append(f"{', '.join(common)} at a bound: the test takes the value for known")
    if not inputs_known:
        doubts.append(
            "that both have the same values of the inputs was not verified: there is no inputs.csv"
        )
    if any(s.file is None or not s.file.exists() for s in (less, more)):
        doubts.append(
            "that both have the same gains, offsets, delays and start values was not verified:"
            " there is no file"
        )
    return doubts


def _same(one: float, other: float) -> bool:
    if not (math.isfinite(one) and math.isfinite(other)):
        return one == other
    return abs(one - other) <= _SAME * max(abs(one), abs(other))
