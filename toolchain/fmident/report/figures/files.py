"""Figures as files in the folder ``figures`` of a result folder."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from fmident.errors import Code, EstimationError
from fmident.report.figures.chart import Chart

FIGURES = "figures"
_FOREIGN = re.compile(r"[^A-Za-z0-9_.-]+")
"""Characters that the name of a file cannot have on every system."""

NamedChart: TypeAlias = tuple[str, Chart | None]
"""Name of the file, and what it shows; without a chart there is no file."""


def file_name(name: str) -> str:
    """Return a name of which foreign letters are replaced."""
    return _FOREIGN.sub("-", name).strip("-.")


@contextlib.contextmanager
def drawable(place: Path) -> Iterator[None]:
    """Raise `EstimationError` for pictures that cannot be written."""
    try:
        yield
    except OSError as error:
        raise EstimationError(
            f"the pictures cannot be written to '{place}': {error.strerror or error}",
            hint="make room there, or copy the result folder to a place that may be written to",
            code=Code.UNUSABLE_FILE,
        ) from error


def write_files(
    folder: Path,
    form: str,
    charts: Iterable[NamedChart],
    figures: Iterable[tuple[str, bytes]] = (),
) -> list[Path]:
    """Write one file for each chart into the folder ``figures`` of a result folder.

    Parameters
    ----------
    folder
        The result folder.
    form
        ``"svg"`` or ``"pdf"``.
    charts
        With the names of their files, without endings.
    figures
        Names and contents of those that are SVG whatever the format is.

    Returns
    -------
    list of Path
        The files; those of the same names are replaced.

    Raises
    ------
    fmident.errors.EstimationError
        The files cannot be written.
    """
    from fmident.report.figures.drawing import picture  # loads Matplotlib

    place = folder / FIGURES
    contents = {
        **{f"{file_name(name)}.{form}": picture(chart, form) for name, chart in charts if chart},
        **{f"{file_name(name)}.svg": content for name, content in figures},
    }
    with drawable(place):
        place.mkdir(exist_ok=True)
        for name, content in contents.items():
            (place / name).write_bytes(content)
    return [place / name for name in contents]


def write_chart(chart: Chart, path: Path) -> None:
    """Write a chart as SVG, PDF or PNG, by the suffix of the file's name."""
    from fmident.report.figures.drawing import picture  # loads Matplotlib

    path.write_bytes(picture(chart, path.suffix[1:].lower()))
