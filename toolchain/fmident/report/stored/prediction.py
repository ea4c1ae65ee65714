"""A prediction, from its ``prediction.json`` and the table beside it."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

from fmident._json import JsonTable
from fmident.prediction import Prediction, Source
from fmident.report.stored.bands import FILE_NAME as BANDS
from fmident.report.stored.bands import NamedBand, read_bands
from fmident.report.stored.json_file import read_json, word, written_by

__all__ = ["BANDS", "FILE_NAME", "read_prediction"]

FILE_NAME = "prediction.json"
_COMMAND = "predict"


def read_prediction(folder: Path) -> Prediction:
    """Read the folder of a prediction.

    Parameters
    ----------
    folder
        With its table.

    Raises
    ------
    fmident.errors.EstimationError
        A file is missing, broken or was not written by fmident.
    """

    def convert(content: JsonTable) -> Prediction:
        named = content.each("outputs", NamedBand.of)
        bands = read_bands(folder, named, _COMMAND)
        pairs = list(zip(named, bands, strict=True))
        return Prediction(
            source=cast(Source, word(content, "source", get_args(Source))),
            level=content.number("level"),
            new=tuple(band for known, band in pairs if not known.fitted),
            fitted=tuple(band for known, band in pairs if known.fitted),
            draws=content.count("draws"),
            failures=content.count("failed_draws"),
            simulations=content.count("simulations"),
            seconds=content.number("wall_time_s"),
            notes=content.texts("notes"),
            settings=content.table("settings").values(),
        )

    return read_json(folder / FILE_NAME, convert, "a prediction of fmident", written_by(_COMMAND))
