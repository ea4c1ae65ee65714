"""Comparison of results, from folders or from memory: parameters, fit, model selection, effort."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fmident.errors import Code, EstimationError
from fmident.report.codec import Json
from fmident.report.estimate import remark, uncertain
from fmident.report.information_criteria import (
    Choice,
    Compared,
    Stored,
    choose,
    stored_table,
    table_of,
)
from fmident.report.result_json import CODEC, read_result
from fmident.report.sections import Block, Page, Section, Table, Text
from fmident.report.tables import with_inputs
from fmident.report.terminal import WIDTH, sections_text
from fmident.words import duration, percent, plain, probability, sentence, unit_text

if TYPE_CHECKING:
    from fmident.estimation.comparisons import OutputFit
    from fmident.estimation.result import EstimationResult, ParameterEstimate
    from fmident.report.information_criteria import NestedTest
    from fmident.statistics.model_selection import Criteria

_FOREST = 25
_REASONS = 3


@dataclass(frozen=True, repr=False)
class Comparison:
    """Comparison of results.

    `choice` has the tests of nested problems and the effect of coloured residuals.
    """

    results: tuple[Compared, ...]
    choice: Choice

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(c.name for c in self.results)}>"

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH) -> str:
        """Return the tables of ``fmident compare`` for a terminal of `width` columns."""
        return sections_text(_sections(self.results, self.choice), width)

    def _repr_html_(self) -> str:
        sections = _sections(self.results, self.choice)
        return Page("Comparison", "", None, sections).embedded()

    @property
    def figures(self) -> pd.DataFrame:
        """One row per result: status, cost, NRMSE, criteria, effort; NaN if there is none.

        ``weight`` is the Akaike weight; ``effective_...`` use the effective number of samples.
        """
        rows = [
            {
                "status": c.result.status,
                "cost": c.result.cost_final,
                "nrmse": mean_square(c.result.fits),
                "validation_nrmse": math.nan
                if c.result.validation is None
                else mean_square(c.result.validation.fits),
                "aic": c.criteria.aic,
                "aicc": c.criteria.aicc,
                "bic": c.criteria.bic,
                "weight": c.weight,
                "effective_aicc": c.effective.aicc,
                "effective_bic": c.effective.bic,
                "effective_weight": c.effective_weight,
                "simulations": c.result.simulations,
                "seconds": c.result.seconds,
            }
            for c in self.results
        ]
        return pd.DataFrame(rows, index=pd.Index([c.name for c in self.results], name="result"))

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per parameter or base parameter and result, with standard error and interval."""
        rows = [
            {
                "parameter": e.name,
                "result": c.name,
                "value": e.value,
                "standard_error": e.standard_error,
                "interval_95_low": e.interval_95[0],
                "interval_95_high": e.interval_95[1],
                "interval_kind": e.interval_kind,
                "unit": e.unit,
                "expression": e.expression,
            }
            for name in parameter_names(self.results)
            for c in self.results
            for e in c.result.rows
            if row_key(e) == name
        ]
        return pd.DataFrame(rows).set_index(["parameter", "result"])

    @property
    def tests(self) -> pd.DataFrame:
        """One row per pair of nested problems: the likelihood-ratio test."""
        columns = ["smaller", "larger", "extra", "statistic", "p_value", "effective_p_value"]
        rows = [
            (t.smaller, t.larger, ", ".join(t.nesting.extra), t.ratio.statistic, t.ratio.p_value,
             t.effective.p_value)
            for t in self.choice.tests
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON types; non-finite numbers become ``null``."""
        return _content(self.results, self.choice)


def compare_any(
    results: Sequence[EstimationResult | Path], names: Sequence[str] | None = None
) -> Comparison:
    """Compare results in memory, in folders, or both.

    Their `names` are by default the ends of their paths, or ``"result 1"`` and so on.
    Raises `EstimationError` for fewer than two, another number of names, or one that is not
    a result.
    """
    short = iter(_names([r for r in results if isinstance(r, Path)]))
    default_names = [
        next(short) if isinstance(r, Path) else f"result {k}" for k, r in enumerate(results, 1)
    ]
    chosen = default_names if names is None else list(names)
    if len(results) < 2 or len(chosen) != len(results) or len(set(chosen)) < len(chosen):
        raise EstimationError(
            f"{len(results)} results with the names {', '.join(map(repr, chosen))} cannot be"
            " compared",
            hint="give two or more, each with a name of its own",
        )
    stored = [
        _read(r, name) if isinstance(r, Path) else Stored(name, r, table_of(r))
        for r, name in zip(results, chosen, strict=True)
    ]
    return Comparison(*choose(stored))


def _read(path: Path, name: str) -> Stored:
    folder = path if path.is_dir() else path.parent
    read, table = read_result(path), stored_table(folder)
    if table is not None:
        known = table[table["measured"].notna()]
        there = known.groupby(["experiment", "output"]).size().to_dict()
        for fit in read.result.fits:
            key = (fit.experiment, fit.name)
            if there.get(key, 0) != read.samples.get(key, there.get(key, 0)):
                raise EstimationError(
                    f"'{folder / 'fit.csv'}' has {there.get(key, 0)} samples of '{fit.name}' of"
                    f" experiment '{fit.experiment}', its result was found from"
                    f" {read.samples[key]}",
                    hint="give the folder as 'fmident estimate' wrote it",
                    code=Code.UNUSABLE_FILE,
                )
    return Stored(name, with_inputs(read.result, folder), table, folder / "problem.toml")


def _names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each result: the end of its path that makes it unique."""
    parts = [(p if p.is_dir() else p.parent).resolve().parts for p in paths]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{p[-1]} ({k + 1})" for k, p in enumerate(parts)]


def _content(compared: Sequence[Compared], choice: Choice) -> Json:
    content: Json = {
        "results": [
            {
                "name": c.name,
                "status": c.result.status,
                "estimator": c.result.estimator,
                "cost": c.result.cost_final,
                "parameters": {e.name: _picked(e, _PARAMETER) for e in c.result.estimates},
                "base_parameters": CODEC.dump(c.result)["base_parameters"],
                "fit": _fits(c.result.fits),
                "validation": c.result.validation and _fits(c.result.validation.fits),
                **_picked(c.criteria, _CRITERIA),
                "akaike_weight": c.weight,
                "effective": {
                    **_picked(c.effective, _CRITERIA),
                    "akaike_weight": c.effective_weight,
                },
                "estimated": None if c.fit is None else c.fit.parameters,
                "no_criteria_since": c.criteria.missing,
                "simulations": c.result.simulations,
                "jacobians": c.result.jacobians,
                "wall_time_s": c.result.seconds,
            }
            for c in compared
        ],
        "tests": [_test_json(t) for t in choice.tests],
        "not_tested": [
            {"smaller": one, "larger": other, "since": reason}
            for one, other, reason in choice.untested
        ],
        "coloured_residuals": choice.coloured,
        "samples_per_independent_sample": choice.inflation,
        "noise_modelled_in_some": list(choice.modelled),
        "caution": choice.caution,
    }
    json: Json = CODEC.dump(content)
    return json


_CRITERIA = ("aic", "aicc", "bic")
_PARAMETER = ("value", "unit", "standard_error", "interval_95", "fixed")
_FIT = ("rms", "unit", "relative_error", "nrmse", "vaf")


def _picked(item: object, names: Sequence[str]) -> Json:
    return {name: getattr(item, name) for name in names}


def _fits(fits: Sequence[OutputFit]) -> list[Json]:
    return [{"experiment": f.experiment, "output": f.name, **_picked(f, _FIT)} for f in fits]


def _test_json(test: NestedTest) -> Json:
    return {
        "smaller": test.smaller,
        "larger": test.larger,
        "parameters": list(test.nesting.extra),
        "held_at_a_bound": list(test.nesting.boundary),
        "statistic": test.ratio.statistic,
        "distribution": test.ratio.distribution,
        "p_value": test.ratio.p_value,
        "p_value_is_upper_limit": test.ratio.at_most,
        "effective_p_value": test.effective.p_value,
        "doubts": list(test.nesting.doubts),
    }


def _sections(compared: Sequence[Compared], choice: Choice) -> list[Section]:
    header = ["parameter", "result", "value", "+-", "95 % interval", "unit", "intervals"]
    rows = [row for name in parameter_names(compared) for row in _parameter_rows(compared, name)]
    missing = [
        Text(f"{c.name}: no AIC and BIC, since {c.criteria.missing}")
        for c in compared
        if c.criteria.missing
    ]
    chosen = [*_choice(compared, choice), *missing]
    return [
        Section("Parameters", [Table(header, rows, "<<>>><<", ["+-", "unit"])]),
        Section("Results", [_figures(compared)]),
        *([Section("Which to choose", chosen)] if chosen else []),
    ]


def _figures(compared: Sequence[Compared]) -> Table:
    rows = [
        [
            c.name,
            c.result.status,
            plain(c.result.cost_final, 5),
            percent(max((f.relative_error for f in c.result.fits), default=math.nan)),
            _overall(c.result.fits),
            "" if c.result.validation is None else _overall(c.result.validation.fits),
            str(c.result.simulations),
            duration(c.result.seconds),
        ]
        for c in compared
    ]
    header = ["result", "status", "cost", "relative error", "NRMSE", "validation NRMSE",
              "simulations", "time"]  # fmt: skip
    return Table(header, rows, "<<>>>>>>", ["relative error", "cost", "status"])


def _choice(compared: Sequence[Compared], choice: Choice) -> list[Block]:
    known = [c for c in compared if not c.criteria.missing]
    if not known:
        return []
    blocks: list[Block] = [_criteria([(c, c.criteria, c.weight) for c in known])]
    if choice.coloured:
        count = known[0].fit.count if known[0].fit is not None else 0
        best = next(c for c in known if c.name == choice.reference)
        with_model = best.fit is not None and best.fit.noise
        left = "innovations" if with_model else "residuals"
        blocks += [
            Text(
                f"These numbers take the {left} for white, which they are not: by those of"
                f" {choice.reference}, {choice.inflation:.3g} samples hold as much as one"
                f" independent sample. With {count / choice.inflation:.3g} samples in place of"
                f" {count}:"
            ),
            _criteria([(c, c.effective, c.effective_weight) for c in known]),
        ]
    if choice.modelled:
        have = "has" if len(choice.modelled) == 1 else "have"
        blocks.append(
            Text(
                f"{', '.join(choice.modelled)} {have} a model of the noise, whose unknowns count as"
                " estimated; the likelihood of the others is that of white noise, of the same"
                " samples."
            )
        )
    if choice.caution:
        blocks.append(Text(f"Not to be taken as they are: {choice.caution}."))
    return [*blocks, *_tests(choice)]


def _criteria(rows: Sequence[tuple[Compared, Criteria, float]]) -> Table:
    least = min(c.aicc for _, c, _ in rows)
    cells = [
        [
            c.name,
            str(c.fit.parameters if c.fit is not None else 0),
            plain(criteria.aic, 7),
            plain(criteria.aicc, 7),
            plain(criteria.aicc - least, 4) if math.isfinite(criteria.aicc) else "n/a",
            plain(weight, 2) if weight >= 1e-4 else "< 1e-4",
            plain(criteria.bic, 7),
        ]
        for c, criteria, weight in rows
    ]
    header = ["result", "estimated", "AIC", "AICc", "above the best", "Akaike weight", "BIC"]
    return Table(header, cells, "<>>>>>>", ["AIC", "estimated"])


def _tests(choice: Choice) -> list[Block]:
    if not choice.tests:
        return [
            Text(f"{one} and {other}: no likelihood-ratio test, since {reason}")
            for one, other, reason in choice.untested[:_REASONS]
        ]
    header = ["likelihood ratio", "further", "statistic", "if the smaller is right", "p"]
    header += ["p, independent samples"] if choice.coloured else []
    rows = []
    for t in choice.tests:
        limit = "<= " if t.ratio.at_most else ""
        row = [
            f"{t.smaller} in {t.larger}",
            ", ".join(t.nesting.extra),
            plain(t.ratio.statistic, 4),
            t.ratio.distribution,
            limit + probability(t.ratio.p_value),
            limit + probability(t.effective.p_value),
        ]
        rows.append(row[: len(header)])
    bounds = [
        f"{t.smaller} in {t.larger}: {', '.join(t.nesting.boundary)} held at a bound, where half"
        " of the estimates end by chance alone"
        + ("; with several, p is an upper limit" if t.ratio.at_most else "")
        for t in choice.tests
        if t.nesting.boundary
    ]
    sentences = [
        "the p-value is the probability of such a statistic if the smaller problem is right; below"
        " 0.05 the further parameters are needed",
        "valid for Gaussian noise, many samples, and further parameters that the data would"
        " determine if the smaller problem were right",
        *bounds,
        *(f"{t.smaller} in {t.larger}: {d}" for t in choice.tests for d in t.nesting.doubts),
    ]
    spare = ["if the smaller is right", "statistic"]
    table = Table(header, rows, "<<><>>"[: len(header)], spare)
    return [table, *(Text(sentence(text)) for text in sentences)]


def parameter_names(compared: Sequence[Compared]) -> list[str]:
    """Return the names of the parameters of all results without duplicates."""
    return list(dict.fromkeys(row_key(e) for c in compared for e in c.result.rows))


def row_key(e: ParameterEstimate) -> str:
    """Return the comparison key of a parameter; base parameters are matched by formula."""
    return f"{e.name} = {e.expression}" if e.factors else e.name


def _parameter_rows(compared: Sequence[Compared], name: str) -> list[list[str]]:
    matches = [(c, e) for c in compared for e in c.result.rows if row_key(e) == name]
    own = matches[0][1].name
    if len({row_key(e) for c in compared for e in c.result.rows if e.name == own}) == 1:
        name = own  # the formula is not needed to tell them apart
    same_unit = len({e.unit for _, e in matches}) == 1
    pictures = _forest([e for _, e in matches]) if same_unit else [""] * len(matches)
    rows = []
    for k, ((c, e), picture) in enumerate(zip(matches, pictures, strict=True)):
        cells = uncertain(e)
        if e.fixed or e.base:
            cells[2] = "fixed" if e.fixed else remark(e)  # the column of errors is left out first
        elif e.interval_kind == "profile":
            cells[2] += " by profile"
        rows.append(["" if k else name, c.name, *cells, unit_text(e.unit), picture])
    return rows


def _forest(estimates: Sequence[ParameterEstimate]) -> list[str]:
    ends = [[x for x in (e.value, *e.interval_95) if math.isfinite(x)] for e in estimates]
    points = [x for own in ends for x in own]
    if not points:
        return [""] * len(estimates)
    low, span = min(points), max(points) - min(points)
    if span <= 0.0:
        return ["o".center(_FOREST).rstrip()] * len(estimates)

    def place(x: float) -> int:
        return round((x - low) / span * (_FOREST - 1))

    pictures = []
    for e, own in zip(estimates, ends, strict=True):
        cells = [" "] * _FOREST
        if own:
            begin, end = place(min(own)), place(max(own))
            cells[begin : end + 1] = "-" * (end - begin + 1)
            for bound, at in zip(e.interval_95, (begin, end), strict=True):
                if math.isfinite(bound):
                    cells[at] = "|"
        if math.isfinite(e.value):
            cells[place(e.value)] = "o"
        pictures.append("".join(cells).rstrip())
    return pictures


def _overall(fits: Sequence[OutputFit]) -> str:
    return plain(mean_square(fits), 4)


def mean_square(fits: Sequence[OutputFit]) -> float:
    """Return the root mean square of the NRMSE of all outputs; NaN if none has one."""
    known = [f.nrmse for f in fits if math.isfinite(f.nrmse)]
    return math.sqrt(sum(x * x for x in known) / len(known)) if known else math.nan
