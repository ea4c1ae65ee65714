"""Comparison of results from folders or from memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fmident.errors import Code, EstimationError
from fmident.report.codec import Json, dump
from fmident.report.comparison.choice import Choice, Compared, choose
from fmident.report.comparison.samples import stored_table, table_of
from fmident.report.comparison.text import (
    comparison_text,
    mean_square,
    parameter_names,
    row_key,
)
from fmident.report.result_json import read_result
from fmident.report.sections.html import Section, Table, embedded
from fmident.report.tables import with_inputs
from fmident.words import plain

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, OutputFit
    from fmident.report.comparison.choice import NestedTest
    from fmident.statistics.choice import Criteria


_TEXT = 92
"""Columns of the text of a comparison in Python."""


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
        """Return the tables of ``fmident compare``."""
        return comparison_text(self.results, self.choice, _TEXT)

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks."""
        fit, values = self.figures.reset_index(), self.parameters.reset_index()
        return embedded(
            "Comparison",
            [
                Section(title, [Table([str(c) for c in table], _cells(table))]).html()
                for title, table in (("Results", fit), ("Parameters", values))
            ],
        )

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
                "aic": c.found.criteria.aic,
                "aicc": c.found.criteria.aicc,
                "bic": c.found.criteria.bic,
                "weight": c.found.weight,
                "effective_aicc": c.found.effective.aicc,
                "effective_bic": c.found.effective.bic,
                "effective_weight": c.found.effective_weight,
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
            (t.smaller, t.larger, ", ".join(t.extra), t.ratio.statistic, t.ratio.p_value,
             t.effective.p_value)
            for t in self.choice.tests
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON types; non-finite numbers become ``null``."""
        return comparison_json(self.results, self.choice)


def _cells(table: pd.DataFrame) -> list[list[str]]:
    """Return the rows of a table as strings."""
    return [
        [plain(v) if isinstance(v, float) else "" if v is None else str(v) for v in row]
        for row in table.itertuples(index=False)
    ]


def compare_results(paths: Sequence[Path]) -> Comparison:
    """Compare results given as result folders or their ``result.json``.

    Raises `EstimationError` if one of them is not a result.
    """
    return _compared(_names(paths), [_read(p) for p in paths])


def compare_any(
    results: Sequence[EstimationResult | Path], names: Sequence[str] | None = None
) -> Comparison:
    """Compare results in memory, in folders, or both.

    Their `names` are by default the ends of their paths, or ``"result 1"`` and so on.
    Raises `EstimationError` for fewer than two, another number of names, or one that is not
    a result.
    """
    paths = [r for r in results if isinstance(r, Path)]
    short = dict(zip(paths, _names(paths), strict=True)) if paths else {}
    default_names = [
        short[r] if isinstance(r, Path) else f"result {k}" for k, r in enumerate(results, 1)
    ]
    chosen = default_names if names is None else list(names)
    if len(results) < 2 or len(chosen) != len(results) or len(set(chosen)) < len(chosen):
        raise EstimationError(
            f"{len(results)} results with the names {', '.join(map(repr, chosen))} cannot be"
            " compared",
            hint="give two or more, each with a name of its own",
        )
    pairs = [_read(r) if isinstance(r, Path) else (r, table_of(r), None) for r in results]
    return _compared(chosen, pairs)


_Stored = tuple["EstimationResult", "pd.DataFrame | None", Path | None]
"""A result, its samples, and its problem file as it was run."""


def _read(path: Path) -> _Stored:
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
    return with_inputs(read.result, folder), table, folder / "problem.toml"


def _compared(names: Sequence[str], stored: Sequence[_Stored]) -> Comparison:
    results = [s[0] for s in stored]
    choice = choose(names, results, [s[1] for s in stored], [s[2] for s in stored])
    together = zip(names, results, choice.candidates, strict=True)
    return Comparison(tuple(Compared(*one) for one in together), choice)


def _names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each result: the end of its path that makes it unique."""
    parts = [(p if p.is_dir() else p.parent).resolve().parts for p in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{p[-1]} ({k + 1})" for k, p in enumerate(parts)]


def comparison_json(compared: Sequence[Compared], choice: Choice) -> Json:
    """Return the comparison as JSON types."""
    content = {
        "results": [
            {
                "name": c.name,
                "status": c.result.status,
                "estimator": c.result.estimator,
                "cost": c.result.cost_final,
                "parameters": {
                    e.name: {
                        "value": e.value,
                        "unit": e.unit,
                        "standard_error": e.standard_error,
                        "interval_95": list(e.interval_95),
                        "fixed": e.fixed,
                    }
                    for e in c.result.estimates
                },
                "base_parameters": _base_parameters(c.result),
                "fit": [_fit_json(f) for f in c.result.fits],
                "validation": None
                if c.result.validation is None
                else [_fit_json(f) for f in c.result.validation.fits],
                **_criteria_json(c.found.criteria),
                "akaike_weight": c.found.weight,
                "effective": {
                    **_criteria_json(c.found.effective),
                    "akaike_weight": c.found.effective_weight,
                },
                "estimated": None if c.found.fit is None else c.found.fit.parameters,
                "no_criteria_since": c.found.criteria.missing,
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
    json: Json = dump(content)
    return json


def _base_parameters(result: EstimationResult) -> Json:
    """Return them as ``result.json`` has them."""
    content: Json = dump(result)["base_parameters"]
    return content


def _fit_json(fit: OutputFit) -> Json:
    return {
        "experiment": fit.experiment,
        "output": fit.name,
        "rms": fit.rms,
        "unit": fit.unit,
        "relative_error": fit.relative_error,
        "nrmse": fit.nrmse,
        "vaf": fit.vaf,
    }


def _criteria_json(criteria: Criteria) -> Json:
    return {"aic": criteria.aic, "aicc": criteria.aicc, "bic": criteria.bic}


def _test_json(test: NestedTest) -> Json:
    return {
        "smaller": test.smaller,
        "larger": test.larger,
        "parameters": list(test.extra),
        "held_at_a_bound": list(test.boundary),
        "statistic": test.ratio.statistic,
        "distribution": test.ratio.distribution,
        "p_value": test.ratio.p_value,
        "p_value_is_upper_limit": test.ratio.at_most,
        "effective_p_value": test.effective.p_value,
        "doubts": list(test.doubts),
    }
