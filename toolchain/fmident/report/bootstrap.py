"""A bootstrap: its result folder, JSON file, tables, pictures and page, and its text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.prediction import band_table
from fmident.report.codec import LAYOUTS, Json, Layout, load, read_file, written_by
from fmident.report.contents import Contents, Said
from fmident.report.figures.draws import (
    replicate_pairs_chart,
    replicates_chart,
    replicates_corner,
)
from fmident.report.figures.files import NamedChart, band_charts, write_chart, write_files
from fmident.report.prediction import BANDS, NamedBand, read_bands
from fmident.report.result_json import OPEN, checked_matrices, opened
from fmident.report.sections.estimate import Entry
from fmident.report.sections.html import fragment
from fmident.report.sections.signals import bands_section
from fmident.report.tables import column, whole_table
from fmident.report.terminal import narrow_table, unit_text
from fmident.resampling import BootstrapParameter, BootstrapResult
from fmident.resampling.result import FailedReplicate
from fmident.words import duration, interval_text, percent, percent_text, with_error

if TYPE_CHECKING:
    import pandas as pd

    from fmident.prediction import OutputBand


CORNER, HISTOGRAMS = "corner.png", "replicates.svg"


FILE_NAME, REPLICATES = "bootstrap.json", "replicates.csv"
_COMMAND = "bootstrap"
_NOTHING = np.empty(0)


_OTHER = 1.1
"""Ratio of two standard errors that is worth saying."""

_BIASED = 0.25
"""Part of the standard error from which on a bias is (Efron and Tibshirani 1993, section 10.3)."""

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


LAYOUTS.update(
    {
        BootstrapResult: Layout(
            keys={
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
            by_name={"parameters": "name"},
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


def read_bootstrap(folder: Path) -> BootstrapResult:
    """Read the folder of a bootstrap, with all of its tables.

    Raises
    ------
    fmident.errors.EstimationError
        A file is missing, broken or was not written by fmident.
    """

    def convert(content: Json) -> BootstrapResult:
        result: BootstrapResult = load(BootstrapResult, content)
        count = load(int, content["replicates"], "replicates")
        checked_matrices(result, len(result.names))

        def replicates(table: pd.DataFrame) -> dict[str, Any]:
            if len(table) != count:
                raise ValueError(f"it has {len(table)} replicates, not {count} as the result")
            return {
                "numbers": column(table, "replicate").astype(np.intp),
                "replicates": np.column_stack([column(table, n) for n in result.names]),
                "costs": column(table, "cost"),
            }

        bands = load(tuple[NamedBand, ...], content["bands"], "bands")
        return dataclasses.replace(
            result,
            **whole_table(folder / REPLICATES, replicates, _COMMAND),
            bands=read_bands(folder, bands, _COMMAND),
        )

    what = "a bootstrap of fmident"
    return read_file(folder / FILE_NAME, convert, what, written_by(_COMMAND))


class BootstrapContents(Contents["BootstrapResult"]):
    """Contents of the result folder of a bootstrap.

    In the JSON file a ``null`` end of an interval was reached by no replicate, or belongs
    to a parameter that the data do not determine and that has no standard error either.
    """

    marker, page = FILE_NAME, "bootstrap.html"
    kicker, command = "Bootstrap", "bootstrap"

    def said(self, result: BootstrapResult) -> Said:
        """Return a summary in words."""
        return Said(headline(result), grade_of(result), reasons(result), effort(result))

    def blocks(self, result: BootstrapResult, width: int) -> Sequence[str]:
        """Return the intervals."""
        return [table_text(result, width)]

    def tables(self, result: BootstrapResult) -> Mapping[str, tuple[pd.DataFrame, str]]:
        """Return replicates and bands."""
        return {REPLICATES: (result.table, "%.12g"), BANDS: (band_table(result.bands), "%.9g")}

    def draw(self, result: BootstrapResult, folder: Path) -> None:
        """Write scatter plots and histograms of the replicates, and each output with its bands."""
        write_chart(replicates_corner(result), folder / CORNER)
        write_chart(replicates_chart(result), folder / HISTOGRAMS)
        write_files(folder, "svg", band_charts(result.bands, percent_text(result.level)))

    def charts(self, result: BootstrapResult) -> Iterator[NamedChart]:
        """Yield histograms, pairs, and each output with its bands."""
        yield "replicates", replicates_chart(result)
        yield "pairs", replicate_pairs_chart(result)
        yield from band_charts(result.bands, percent_text(result.level))

    def sections(self, result: BootstrapResult) -> Sequence[str]:
        """Return intervals, replicates and bands."""
        return [
            bootstrap_section(result),
            replicates_section(result),
            bands_section(result.bands, result.level),
        ]

    def shown(self, result: BootstrapResult) -> Sequence[str]:
        """Return the intervals."""
        return [bootstrap_section(result)]

    def facts(self, result: BootstrapResult) -> Sequence[str]:
        """Return level and number of replicates."""
        return [percent_text(result.level), f"{len(result.numbers)} replicates"]

    def entries(self, result: BootstrapResult) -> Sequence[Entry]:
        """Return information on the run."""
        return [
            Entry.of("Status", result.status),
            Entry.of("Method", f"{result.method}: {result.reason}"),
            Entry.of("Effort", effort(result)),
        ]

    def read(self, folder: Path) -> BootstrapResult:
        """Return the bootstrap stored in a folder."""
        return read_bootstrap(folder)


BOOTSTRAP = BootstrapContents()


def bootstrap_section(result: BootstrapResult) -> str:
    """Return the table of the intervals."""
    rows = [texts_of(p) for p in result.parameters]
    return fragment("bootstrap", level=percent_text(result.level), rows=rows)


def replicates_section(result: BootstrapResult) -> str:
    """Return the charts of the replicates."""
    pairs = replicate_pairs_chart(result)
    return fragment(
        "replicates",
        histograms=replicates_chart(result).html(),
        pairs="" if pairs is None else pairs.html(),
    )


def table_text(result: BootstrapResult, width: int) -> str:
    """Return the table of the intervals, at most `width` columns wide."""
    rows = []
    known = all(math.isfinite(p.result_interval[0]) for p in result.parameters)
    # The linearised one takes noise for white unless it is modelled, that of the estimate does not.
    beside, title = ("result", "of the estimate") if known else ("linearised", "linearised")
    for p in result.parameters:
        texts = texts_of(p)
        rows.append([texts[k] for k in ("name", "value", "error", "bca", beside, "unit")])
    header = [
        "parameter", "value", "std. error", f"{percent_text(result.level)} BCa", title, "unit",
    ]  # fmt: skip
    return narrow_table(header, rows, ["<", ">", ">", ">", ">", "<"], width, [title, "unit"])


def headline(result: BootstrapResult) -> str:
    """Return the comparison with the linearised standard errors in one sentence."""
    count = len(result.numbers)
    begin = f"{count} replicates"
    if result.status == "interrupted":
        begin = f"Interrupted: {count} of {result.wanted} replicates"
    known = [r for p in result.parameters if math.isfinite(r := ratio_of(p))]
    if not known:
        return f"{begin}: no parameter has an interval."
    low, high = min(known), max(known)
    noise = "with the model of the noise" if result.modelled else "of independent noise"
    if low >= 1.0 / _OTHER and high <= _OTHER:
        said = f"the standard errors agree with the linearised ones {noise}"
    elif low == high:
        said = f"the standard error is {high:.3g} times the linearised one {noise}"
    else:
        said = f"the standard errors are {low:.3g} to {high:.3g} times the linearised ones {noise}"
    return f"{begin}: {said}."


def grade_of(result: BootstrapResult) -> str:
    """Return the reliability of the bootstrap: ``"good"``, ``"doubtful"`` or ``"bad"``."""
    if any(math.isinf(p.bca[0]) for p in result.parameters):
        return "bad"
    return "doubtful" if result.failed or result.notes else "good"


def reasons(result: BootstrapResult) -> list[str]:
    """Return method, bias and coverage of the bands, a sentence each."""
    found = [f"{_METHODS[result.method].capitalize()} ({result.reason}){_details(result)}."]
    biased = [
        f"{p.name} by {p.bias / p.standard_error:.2g}"
        for p in result.parameters
        if abs(p.bias) > _BIASED * p.standard_error
    ]
    if biased:
        found.append(f"Biased, in standard errors: {', '.join(biased)}.")
    found += [band_text(band, result.level) for band in result.bands if band.samples]
    return found


def band_text(band: OutputBand, level: float) -> str:
    """Return how many samples lie inside a band."""
    return (
        f"{percent(band.inside / band.samples)} of {band.samples} samples of '{band.name}' of "
        f"'{band.experiment}' are inside the {percent_text(level)} band."
    )


def _details(result: BootstrapResult) -> str:
    if result.weights:
        return f", weights of {result.weights.capitalize()}"
    if not result.block_lengths:
        return ""
    lengths = sorted(set(result.block_lengths.values()))
    span = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    return f", {span} samples long"


def effort(result: BootstrapResult) -> str:
    """Return the computational effort."""
    failed = f", {len(result.failed)} failed" if result.failed else ""
    return (
        f"{len(result.numbers)} replicates{failed}, {result.simulations} simulations, "
        f"{result.jacobians} Jacobians, {duration(result.seconds)}; seed {result.seed}"
    )


def ratio_of(parameter: BootstrapParameter) -> float:
    """Return the standard error over the linearised one; NaN if one is missing."""
    if not parameter.linearised_error > 0.0:
        return math.nan
    return parameter.standard_error / parameter.linearised_error


def texts_of(parameter: BootstrapParameter) -> dict[str, str]:
    """Return value, error, bias, intervals, unit and ratio of a parameter as text."""
    error = parameter.standard_error
    ratio = ratio_of(parameter)
    return {
        "name": parameter.name,
        "value": with_error(parameter.value, error)[0],
        "error": with_error(parameter.value, error)[1],
        "bias": f"{parameter.bias:.2g}" if math.isfinite(parameter.bias) else "n/a",
        "bca": interval_text(parameter.bca, error),
        "percentile": interval_text(parameter.percentile, error),
        "linearised": interval_text(parameter.linearised, error),
        "result": interval_text(parameter.result_interval, error),
        "unit": unit_text(parameter.unit),
        "ratio": f"{ratio:.3g}" if math.isfinite(ratio) else "",
    }
