"""The result folder of a prediction: JSON, CSV, pictures and a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.report.contents import Contents, Said
from fmident.report.prediction.text import (
    effort,
    grade_of,
    headline,
    reasons,
    rows_of,
    table_text,
)
from fmident.report.profile_text import percent_text
from fmident.report.sections.html import fragment
from fmident.report.sections.run_facts import Entry
from fmident.report.sections.signals.bands import bands_section
from fmident.report.stored.prediction import BANDS, FILE_NAME, read_prediction

if TYPE_CHECKING:
    import pandas as pd

    from fmident.prediction import OutputBand, Prediction


class PredictionContents(Contents["Prediction"]):
    """A prediction."""

    marker, page = FILE_NAME, "prediction.html"
    kicker, command = "Prediction", "predict"

    def said(self, result: Prediction) -> Said:
        """Return the prediction in words."""
        return Said(headline(result), grade_of(result), reasons(result), effort(result))

    def blocks(self, result: Prediction, width: int) -> Sequence[str]:
        """Return the outputs."""
        return [table_text(result, width)]

    def json(self, result: Prediction) -> Mapping[str, Any]:
        """Return what ``prediction.json`` holds."""
        return {
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
        }

    def tables(self, result: Prediction) -> Mapping[str, tuple[pd.DataFrame, str]]:
        """Return the bands."""
        return {BANDS: (result.table, "%.9g")}

    def draw(self, result: Prediction, folder: Path) -> None:
        """Write each output with its bands."""
        from fmident.report.static.files import write_files

        write_files(folder, "svg", self.pictures(result))

    def pictures(self, result: Prediction) -> Iterator[tuple[str, bytes]]:
        """Yield each output with its bands."""
        from fmident.report.static.drawing import band_pictures

        return band_pictures([*result.new, *result.fitted], percent_text(result.level))

    def sections(self, result: Prediction) -> Sequence[str]:
        """Return the outputs, and their bands."""
        return [*self.shown(result), bands_section([*result.new, *result.fitted], result.level)]

    def shown(self, result: Prediction) -> Sequence[str]:
        """Return the outputs."""
        rows = rows_of(result.new, "") + rows_of(result.fitted, " (fitted)")
        return [fragment("prediction", level=percent_text(result.level), rows=rows)]

    def facts(self, result: Prediction) -> Sequence[str]:
        """Return level and source."""
        return [f"{percent_text(result.level)} bands", result.source]

    def entries(self, result: Prediction) -> Sequence[Entry]:
        """Return how the run went."""
        return [Entry.of("Effort", effort(result))]

    def read(self, folder: Path) -> Prediction:
        """Return the prediction that a folder holds."""
        return read_prediction(folder)


PREDICTION = PredictionContents()


def _output(band: OutputBand, *, fitted: bool) -> dict[str, Any]:
    return {
        "experiment": band.experiment,
        "output": band.name,
        "unit": band.unit,
        "fitted": fitted,
        "samples": band.samples,
        "inside": band.inside,
    }
