"""The result folder of a bootstrap: JSON, CSV, pictures and a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.prediction import band_table
from fmident.report.bootstrap.text import effort, grade_of, headline, reasons, table_text, texts_of
from fmident.report.contents import Contents, Said
from fmident.report.figures.draws import (
    replicate_pairs_chart,
    replicates_chart,
    replicates_corner,
)
from fmident.report.figures.files import NamedChart, band_charts, write_chart, write_files
from fmident.report.profile_text import percent_text
from fmident.report.sections.html import fragment
from fmident.report.sections.run_facts import Entry
from fmident.report.sections.signals import bands_section
from fmident.report.stored.bootstrap import BANDS, FILE_NAME, REPLICATES, read_bootstrap

if TYPE_CHECKING:
    import pandas as pd

    from fmident.resampling import BootstrapParameter, BootstrapResult


CORNER, HISTOGRAMS = "corner.png", "replicates.svg"


class BootstrapContents(Contents["BootstrapResult"]):
    """A bootstrap.

    In the JSON file a ``null`` end of an interval is one that no replicate reaches, or that of a
    parameter that the data do not determine: that one has no standard error either.
    """

    marker, page = FILE_NAME, "bootstrap.html"
    kicker, command = "Bootstrap", "bootstrap"

    def said(self, result: BootstrapResult) -> Said:
        """Return the bootstrap in words."""
        return Said(headline(result), grade_of(result), reasons(result), effort(result))

    def blocks(self, result: BootstrapResult, width: int) -> Sequence[str]:
        """Return the intervals."""
        return [table_text(result, width)]

    def json(self, result: BootstrapResult) -> Mapping[str, Any]:
        """Return what ``bootstrap.json`` holds."""
        return {
            "status": result.status,
            "method": result.method,
            "method_reason": result.reason,
            "noise_modelled": result.modelled,
            "weights": result.weights,
            "block_lengths": dict(result.block_lengths),
            "level": result.level,
            "seed": result.seed,
            "replicates_wanted": result.wanted,
            "replicates": len(result.numbers),
            "failed": [{"replicate": f.number, "reason": f.reason} for f in result.failed],
            "parameters": {p.name: _parameter(p) for p in result.parameters},
            "covariance": result.covariance,
            "correlation": result.correlation,
            "bands": [
                {
                    "experiment": b.experiment,
                    "output": b.name,
                    "samples": b.samples,
                    "inside": b.inside,
                }
                for b in result.bands
            ],
            "simulations": result.simulations,
            "jacobians": result.jacobians,
            "wall_time_s": result.seconds,
            "notes": list(result.notes),
            "settings": result.settings,
        }

    def tables(self, result: BootstrapResult) -> Mapping[str, tuple[pd.DataFrame, str]]:
        """Return replicates and bands."""
        return {REPLICATES: (result.table, "%.12g"), BANDS: (band_table(result.bands), "%.9g")}

    def draw(self, result: BootstrapResult, folder: Path) -> None:
        """Write the replicates in pairs and one by one, and each output with its bands."""
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
        """Return how the run went."""
        return [
            Entry.of("Status", result.status),
            Entry.of("Method", f"{result.method}: {result.reason}"),
            Entry.of("Effort", effort(result)),
        ]

    def read(self, folder: Path) -> BootstrapResult:
        """Return the bootstrap that a folder holds."""
        return read_bootstrap(folder)


BOOTSTRAP = BootstrapContents()


def _parameter(parameter: BootstrapParameter) -> dict[str, Any]:
    return {
        "value": parameter.value,
        "unit": parameter.unit,
        "bounds": list(parameter.bounds),
        "standard_error": parameter.standard_error,
        "bias": parameter.bias,
        "bca": list(parameter.bca),
        "percentile": list(parameter.percentile),
        "acceleration": parameter.acceleration,
        "linearised_standard_error": parameter.linearised_error,
        "linearised": list(parameter.linearised),
        "linearised_known": not math.isnan(parameter.linearised[0]),
        "result_standard_error": parameter.result_error,
        "result_interval_95": list(parameter.result_interval),
        "result_interval_known": not math.isnan(parameter.result_interval[0]),
    }


def bootstrap_section(result: BootstrapResult) -> str:
    """Return the table of the intervals."""
    rows = [texts_of(p) for p in result.parameters]
    return fragment("bootstrap", level=percent_text(result.level), rows=rows)


def replicates_section(result: BootstrapResult) -> str:
    """Return the pictures of the replicates."""
    pairs = replicate_pairs_chart(result)
    return fragment(
        "replicates",
        histograms=replicates_chart(result).html(),
        pairs="" if pairs is None else pairs.html(),
    )
