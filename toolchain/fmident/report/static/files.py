"""Pictures as files in the folder ``figures`` of a result folder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from fmident.errors import Code, EstimationError

FORMATS = ("svg", "pdf")
FOLDER = "figures"
_WHAT_NAMES_KEEP = re.compile(r"[^A-Za-z0-9_.-]+")


def write_files(
    folder: Path,
    form: str,
    pictures: Iterable[tuple[str, bytes]],
    figures: Iterable[tuple[str, bytes]] = (),
) -> list[Path]:
    """Write one file for each picture into the folder ``figures`` of a result folder.

    Parameters
    ----------
    folder
        The result folder.
    form
        ``"svg"`` or ``"pdf"``.
    pictures
        Name and content of each, made in that format while it is asked for; what a name of a file
        cannot hold is replaced.
    figures
        Those that are SVG whatever the format is.

    Returns
    -------
    list of Path
        The files; those of the same names are replaced.

    Raises
    ------
    fmident.errors.EstimationError
        The files cannot be written.
    ValueError
        `form` is none of these.
    """
    from fmident.report.plots import style

    if form not in FORMATS:
        raise ValueError(f"the format '{form}' is none of {', '.join(FORMATS)}")
    place = folder / FOLDER
    written: list[Path] = []

    def write(name: str, ending: str, content: bytes) -> None:
        file = place / f"{_WHAT_NAMES_KEEP.sub('-', name).strip('-.')}.{ending}"
        file.write_bytes(content)
        written.append(file)

    try:
        place.mkdir(exist_ok=True)
        with style.written_as(form):
            for name, content in pictures:
                write(name, form, content)
        for name, content in figures:
            write(name, "svg", content)
    except OSError as error:
        raise EstimationError(
            f"the pictures cannot be written to '{place}': {error.strerror or error}",
            hint="make room there, or copy the result folder to a place that may be written to",
            code=Code.UNUSABLE_FILE,
        ) from error
    return written
