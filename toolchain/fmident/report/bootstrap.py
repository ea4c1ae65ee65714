"""A bootstrap: its result folder, JSON file, tables, pictures and page, and its text."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.prediction import band_table
from fmident.report.codec import Codec, Json, Layout
from fmident.report.contents import Contents
from fmident.report.figures.draws import (
    replicate_pairs_chart,
    replicates_chart,
    replicates_corner,
)
from fmident.report.prediction import (
    BANDS,
    NAMED_BAND,
    NamedBand,
    band_blocks,
    band_pictures,
    read_bands,
)
from fmident.report.result_json import OPEN, checked_matrices, noted, opened
from fmident.report.sections import Block, Cell, Entry, Part, Plot, Summary, Table, Text
from fmident.report.tables import column, read_table
from fmident.resampling import BootstrapParameter, BootstrapResult
from fmident.resampling.result import FailedReplicate
from fmident.words import duration, interval, percent, percent_text, unit_text, with_error

if TYPE_CHECKING:
    import pandas as pd


CORNER, REPLICATES = "corner.png", "replicates.csv"
_NOTHING = np.empty(0)


_OTHER = 1.1
"""Ratio of two standard errors that is worth saying."""

_BIASED = 0.25
"""Bias, in standard errors, above which it is reported (Efron and Tibshirani 1993, 10.3)."""

_METHODS = {
    "residual": "residuals drawn with replacement",
    "wild": "residuals with random signs",
    "block": "blocks of neighbouring residuals",
    "parametric": "new normal noise",
}


def _parameter(content: Json) -> Json:
    """Return it with the ends that ``null`` stands for.

    What the data do not determine is open, and has no error; else an end is not known.
    """
    no_error = content["standard_error"] is None
    known = {
        "percentile": no_error,
        "bca": no_error,
        "linearised": content.get("linearised_known", no_error),
        "result_interval_95": content.get("result_interval_known", no_error),
    }
    return content | {key: opened(content[key], is_open=known[key]) for key in known}


CODEC = Codec(
    {
        NamedBand: NAMED_BAND,
        BootstrapResult: noted(
            Layout(
                keys={
                    "estimates": "parameters",
                    "reason": "method_reason",
                    "wanted": "replicates_wanted",
                    "seconds": "wall_time_s",
                    "modelled": "noise_modelled",
                },
                omitted={
                    "numbers": np.empty(0, dtype=np.intp),
                    "replicates": np.empty((0, 0)),
                    "costs": _NOTHING,
                    "bands": (),
                },
                by_name={"estimates": "name"},
                computed={
                    "replicates": lambda r: len(r.numbers),
                    "bands": lambda r: [
                        {
                            "experiment": b.experiment,
                            "output": b.name,
                            "samples": b.samples,
                            "inside": b.inside,
                        }
                        for b in r.bands
                    ],
                },
            )
        ),
        BootstrapParameter: Layout(
            keys={
                "linearised_error": "linearised_standard_error",
                "result_error": "result_standard_error",
                "result_interval": "result_interval_95",
            },
            null={"bounds": OPEN},
            computed={
                "linearised_known": lambda p: not math.isnan(p.linearised[0]),
                "result_interval_known": lambda p: not math.isnan(p.result_interval[0]),
            },
            prepare=_parameter,
        ),
        FailedReplicate: Layout(keys={"number": "replicate"}),
    }
)


def _load(content: Json, folder: Path) -> BootstrapResult:
    result: BootstrapResult = CODEC.load(BootstrapResult, content)
    count = CODEC.load(int, content["replicates"], "replicates")
    checked_matrices(result, len(result.names))

    def replicates(table: pd.DataFrame) -> dict[str, Any]:
        if len(table) != count:
            raise ValueError(f"it has {len(table)} replicates, not {count} as the result")
        return {
            "numbers": column(table, "replicate").astype(np.intp),
            "replicates": np.column_stack([column(table, n) for n in result.names]),
            "costs": column(table, "cost"),
        }

    bands = CODEC.load(tuple[NamedBand, ...], content["bands"], "bands")
    return dataclasses.replace(
        result,
        **read_table(folder / REPLICATES, replicates, "bootstrap"),
        bands=read_bands(folder, bands, "bootstrap"),
    )


def _summary(result: BootstrapResult) -> Summary:
    doubtful = "doubtful" if result.failed or result.notes else "good"
    grade = "bad" if any(math.isinf(p.bca[0]) for p in result.estimates) else doubtful
    reasons = [f"{_METHODS[result.method].capitalize()} ({result.reason}){_details(result)}."]
    biased = [
        f"{p.name} by {p.bias / p.standard_error:.2g}"
        for p in result.estimates
        if abs(p.bias) > _BIASED * p.standard_error
    ]
    if biased:
        reasons.append(f"Biased, in standard errors: {', '.join(biased)}.")
    reasons += [
        f"{percent(band.inside / band.samples)} of {band.samples} samples of '{band.name}' of"
        f" '{band.experiment}' are inside the {percent_text(result.level)} band."
        for band in result.bands
        if band.samples
    ]
    return Summary(_headline(result), grade, reasons, result.notes, effort=_effort(result))


def _headline(result: BootstrapResult) -> str:
    count = len(result.numbers)
    begin = f"{count} replicates"
    if result.status == "interrupted":
        begin = f"Interrupted: {count} of {result.wanted} replicates"
    known = [r for p in result.estimates if math.isfinite(r := _ratio(p))]
    if not known:
        return f"{begin}: no parameter has an interval."
    low, high = min(known), max(known)
    noise = "with the model of the noise" if result.modelled else "of independent noise"
    if low >= 1.0 / _OTHER and high <= _OTHER:
        words = f"the standard errors agree with the linearised ones {noise}"
    elif low == high:
        words = f"the standard error is {high:.3g} times the linearised one {noise}"
    else:
        words = f"the standard errors are {low:.3g} to {high:.3g} times the linearised ones {noise}"
    return f"{begin}: {words}."


def _details(result: BootstrapResult) -> str:
    if result.weights:
        return f", weights of {result.weights.capitalize()}"
    if not result.block_lengths:
        return ""
    lengths = sorted(set(result.block_lengths.values()))
    span = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    return f", {span} samples long"


def _effort(result: BootstrapResult) -> str:
    failed = f", {len(result.failed)} failed" if result.failed else ""
    return (
        f"{len(result.numbers)} replicates{failed}, {result.simulations} simulations, "
        f"{result.jacobians} Jacobians, {duration(result.seconds)}; seed {result.seed}"
    )


def _ratio(parameter: BootstrapParameter) -> float:
    """Return the standard error over the linearised one; NaN if one is missing."""
    if not parameter.linearised_error > 0.0:
        return math.nan
    return parameter.standard_error / parameter.linearised_error


def _intervals(result: BootstrapResult) -> list[Block]:
    level, rows = percent_text(result.level), []
    for p in result.estimates:
        error, ratio = p.standard_error, _ratio(p)
        percentile = interval(p.percentile, error)
        rows.append(
            [
                Cell(p.name, "code"),
                *with_error(p.value, error),
                f"{p.bias:.2g}" if math.isfinite(p.bias) else "n/a",
                Cell(interval(p.bca, error), "value", f"percentile {percentile}"),
                interval(p.linearised, error),
                interval(p.result_interval, error),
                unit_text(p.unit),
                f"{ratio:.3g}" if math.isfinite(ratio) else "",
            ]
        )
    about = (
        "BCa and percentile intervals are those of the replicates. The linearised intervals are for"
        " independent noise; those of the estimate treat the noise as described there. Ratio:"
        " standard error over the linearised one."
    )
    header = ["parameter", "value", "std. error", "bias", f"{level} BCa", "linearised",
              "of the estimate", "unit", "ratio"]  # fmt: skip
    # The linearised one takes noise for white unless it is modelled, that of the estimate does not.
    known = all(math.isfinite(p.result_interval[0]) for p in result.estimates)
    beside, less = ("of the estimate", "linearised")[:: 1 if known else -1]
    on_page = ["bias", "ratio", less]
    return [Table(header, rows, "<>>>>>><>", [beside, "unit"], on_page), Text(about, about=True)]


def _replicates(result: BootstrapResult) -> list[Block]:
    return [
        Plot(partial(replicates_chart, result), "Each parameter", "histogram of the replicates",
             "replicates"),
        Plot(partial(replicate_pairs_chart, result), "Pairs", "those of greatest correlation",
             "pairs"),
        Text("All replicates are in replicates.csv; corner.png shows all pairs.", about=True),
    ]  # fmt: skip


BOOTSTRAP: Contents[BootstrapResult] = Contents(
    "Bootstrap", "bootstrap", "bootstrap.json", "bootstrap.html", CODEC, _load, _summary,
    [
        Part("Intervals", _intervals, brief=True),
        Part("Replicates", _replicates),
        Part("Bands", lambda r: band_blocks(r.bands, r.level), rest="bands.csv has them"),
    ],
    lambda r: [percent_text(r.level), f"{len(r.numbers)} replicates"],
    lambda r: [
        Entry("Status", [r.status]),
        Entry("Method", [f"{r.method}: {r.reason}"]),
    ],
    lambda r: {REPLICATES: (r.table, "%.12g"), BANDS: (band_table(r.bands), "%.9g")},
    lambda r: [
        (CORNER, replicates_corner(r)),
        ("replicates.svg", replicates_chart(r)),
        *band_pictures(r.bands, r.level),
    ],
)  # fmt: skip
"""A ``null`` end of an interval was reached by no replicate, or belongs to a parameter that the
data do not determine and that has no standard error either."""
