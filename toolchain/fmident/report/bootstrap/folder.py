"""The result folder of a bootstrap: JSON, CSV, pictures and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident._version import __version__
from fmident.prediction import band_table
from fmident.report.bootstrap.text import effort, grade_of, headline, reasons
from fmident.report.charts.ranges import with_unit
from fmident.report.profile_text import percent_text
from fmident.report.result_json import plain_json
from fmident.report.sections.html import document
from fmident.report.sections.run_facts import Entry, run_section
from fmident.report.sections.signals.bands import bands_section
from fmident.report.sections.uncertainty.bootstrap import bootstrap_section, replicates_section
from fmident.report.sections.verdict import verdict_section
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.problem.model import Problem
    from fmident.resampling import BootstrapParameter, BootstrapResult

FILE_NAME = "bootstrap.json"
PAGE, REPLICATES, BANDS = "bootstrap.html", "replicates.csv", "bands.csv"
CORNER, HISTOGRAMS = "corner.png", "replicates.svg"


def write_bootstrap(result: BootstrapResult, problem: Problem, folder: Path) -> None:
    """Write the files of a result.

    Parameters
    ----------
    result
        The bootstrap.
    problem
        Of which it is.
    folder
        Where.

    Raises
    ------
    OSError
        The disk is full.
    """
    from fmident.report.charts.uncertainty.bootstrap import replicates_chart
    from fmident.report.plots.corner import draw_corner
    from fmident.report.static.drawing import drawn
    from fmident.report.static.pictures import write_band_pictures

    model = problem.fmu.stem
    text = json.dumps(bootstrap_json(result, __version__, model), indent=2, allow_nan=False)
    (folder / FILE_NAME).write_text(text + "\n", encoding="utf-8")
    result.table.to_csv(folder / REPLICATES, index=False, float_format="%.12g")
    band_table(result.bands).to_csv(folder / BANDS, index=False, float_format="%.9g")
    labels = [with_unit(p.name, unit_text(p.unit)) for p in result.parameters]
    estimate = [p.value for p in result.parameters]
    draw_corner(labels, result.replicates, estimate, folder / CORNER)
    (folder / HISTOGRAMS).write_bytes(drawn(replicates_chart(result), "replicates"))
    write_band_pictures(result.bands, percent_text(result.level), folder)
    source = "" if problem.source is None else str(problem.source)
    page = render_bootstrap(result, model, __version__, source)
    (folder / PAGE).write_text(page, encoding="utf-8")


def bootstrap_json(result: BootstrapResult, version: str, model: str = "") -> dict[str, Any]:
    """Return the content of ``bootstrap.json``: JSON's own types, no NaN and no infinity.

    A ``null`` end of an interval is one that no replicate reaches, or that of a parameter that the
    data do not determine; the notes say which.

    Parameters
    ----------
    result
        The bootstrap.
    version
        Of fmident.
    model
        What was estimated.
    """
    content = {
        "status": result.status,
        "method": result.method,
        "method_reason": result.reason,
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
        "fmident": version,
        "model": model,
    }
    found: dict[str, Any] = plain_json(content)
    return found


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
        "result_standard_error": parameter.result_error,
        "result_interval_95": list(parameter.result_interval),
    }


def render_bootstrap(result: BootstrapResult, title: str, version: str, source: str = "") -> str:
    """Return the page, which needs nothing beside it.

    Parameters
    ----------
    result
        The bootstrap.
    title
        What was estimated.
    version
        Of fmident, by which it was made.
    source
        The problem file, if there is one.
    """
    words = headline(result)
    facts = [percent_text(result.level), f"{len(result.numbers)} replicates"]
    if source:
        facts.insert(0, source)
    return document(
        kicker="Bootstrap",
        title=title,
        headline=words,
        subtitle=" · ".join(facts),
        sections=[
            verdict_section(grade_of(result), words, reasons(result), result.notes),
            bootstrap_section(result),
            replicates_section(result),
            bands_section(result.bands, result.level),
            run_section(
                [
                    Entry.of("Status", result.status),
                    Entry.of("Method", f"{result.method}: {result.reason}"),
                    Entry.of("Effort", effort(result)),
                    Entry.of("fmident", version),
                ]
            ),
        ],
    )
