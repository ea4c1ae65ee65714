"""The result folder of a prediction: JSON, CSV, pictures and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident._version import __version__
from fmident.report.prediction.text import effort, grade_of, headline, reasons, rows_of
from fmident.report.profile_text import percent_text
from fmident.report.result_json import plain_json
from fmident.report.sections.html import document, fragment
from fmident.report.sections.run_facts import Entry, run_section
from fmident.report.sections.signals.bands import bands_section
from fmident.report.sections.verdict import verdict_section

if TYPE_CHECKING:
    from fmident.prediction import OutputBand, Prediction
    from fmident.problem.model import Problem

FILE_NAME = "prediction.json"
PAGE, BANDS = "prediction.html", "bands.csv"


def write_prediction(result: Prediction, problem: Problem, folder: Path) -> None:
    """Write the files of a result.

    Parameters
    ----------
    result
        The prediction.
    problem
        Of which it is.
    folder
        Where.

    Raises
    ------
    OSError
        The disk is full.
    """
    from fmident.report.static.pictures import write_band_pictures

    model = problem.fmu.stem
    text = json.dumps(prediction_json(result, __version__, model), indent=2, allow_nan=False)
    (folder / FILE_NAME).write_text(text + "\n", encoding="utf-8")
    result.table.to_csv(folder / BANDS, index=False, float_format="%.9g")
    write_band_pictures([*result.new, *result.fitted], percent_text(result.level), folder)
    source = "" if problem.source is None else str(problem.source)
    page = render_prediction(result, model, __version__, source)
    (folder / PAGE).write_text(page, encoding="utf-8")


def prediction_json(result: Prediction, version: str, model: str = "") -> dict[str, Any]:
    """Return the content of ``prediction.json``: JSON's own types, no NaN and no infinity.

    Parameters
    ----------
    result
        The prediction.
    version
        Of fmident.
    model
        What was estimated.
    """
    content = {
        "source": result.source,
        "level": result.level,
        "new_samples": result.samples,
        "new_samples_inside": result.inside,
        "outputs": [
            *(_output(b, fitted=False) for b in result.new),
            *(_output(b, fitted=True) for b in result.fitted),
        ],
        "draws": result.draws,
        "failed_draws": result.failures,
        "simulations": result.simulations,
        "wall_time_s": result.seconds,
        "notes": list(result.notes),
        "settings": result.settings,
        "fmident": version,
        "model": model,
    }
    found: dict[str, Any] = plain_json(content)
    return found


def _output(band: OutputBand, *, fitted: bool) -> dict[str, Any]:
    return {
        "experiment": band.experiment,
        "output": band.name,
        "unit": band.unit,
        "fitted": fitted,
        "samples": band.samples,
        "inside": band.inside,
    }


def render_prediction(result: Prediction, title: str, version: str, source: str = "") -> str:
    """Return the page, which needs nothing beside it.

    Parameters
    ----------
    result
        The prediction.
    title
        What was estimated.
    version
        Of fmident, by which it was made.
    source
        The problem file, if there is one.
    """
    words = headline(result)
    facts = [f"{percent_text(result.level)} bands", result.source]
    if source:
        facts.insert(0, source)
    rows = rows_of(result.new, "") + rows_of(result.fitted, " (fitted)")
    return document(
        kicker="Prediction",
        title=title,
        headline=words,
        subtitle=" · ".join(facts),
        sections=[
            verdict_section(grade_of(result), words, reasons(result), result.notes),
            fragment("prediction", level=percent_text(result.level), rows=rows),
            bands_section([*result.new, *result.fitted], result.level),
            run_section(
                [
                    Entry.of("Effort", effort(result)),
                    Entry.of("fmident", version),
                ]
            ),
        ],
    )
