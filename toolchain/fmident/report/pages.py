"""Identify the kind of a result path for ``fmident report``, and make its page and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmident._json import checked, read_object
from fmident.errors import Code, EstimationError
from fmident.files import save
from fmident.report.bootstrap import BOOTSTRAP
from fmident.report.codec import Json, read_file, written_by
from fmident.report.contents import Contents, origin_of
from fmident.report.cross_validation import CROSS_VALIDATION
from fmident.report.estimate import ESTIMATE
from fmident.report.figures.files import drawable, write_files
from fmident.report.prediction import PREDICTION
from fmident.report.profiles import PROFILES
from fmident.report.sections import Figure, Section
from fmident.words import quoted

ANALYSES: tuple[Contents[Any], ...] = (ESTIMATE, PROFILES, BOOTSTRAP, PREDICTION, CROSS_VALIDATION)
"""Contents that a result folder may have."""

_KINDS = {analysis.marker: analysis for analysis in ANALYSES}
_MOST_NAMED = 6
_WRITTEN_BY = written_by(*(a.command for a in ANALYSES))


@dataclass(frozen=True)
class StoredFolder:
    """A result folder."""

    analysis: Contents[Any]
    folder: Path

    @property
    def page(self) -> Path:
        """Path of its page, whether or not it exists."""
        return self.folder / self.analysis.page


def stored_folder(path: Path) -> StoredFolder:
    """Return the result folder at a path, which may also be its JSON file.

    Raises `EstimationError`, saying what is there instead, if there is no result.
    """
    if path.is_dir():
        for marker, analysis in _KINDS.items():
            if (path / marker).is_file():
                return StoredFolder(analysis, path)
        raise _no_result_in(path)
    if path.is_file():
        if path.name in _KINDS:
            return StoredFolder(_KINDS[path.name], path.parent)
        raise _another_file(path)
    raise EstimationError(f"there is no '{path}'", hint=_WRITTEN_BY, code=Code.UNKNOWN_NAME)


def make_page(
    stored: StoredFolder, sections: Sequence[Section] = (), *, pictures: bool = False
) -> Path:
    """Recreate the page of a result folder that has its tables.

    `sections` are those of plugins; with `pictures`, the figures beside the page of an
    analysis are recreated, too. Raises `EstimationError` if a file is missing or broken, or
    the page cannot be written.
    """
    analysis, folder = stored.analysis, stored.folder
    result = analysis.read(folder)

    def convert(content: Json) -> tuple[str, str]:
        text = {k: checked(content.get(k, ""), str, k) for k in ("model", "fmident")}
        return text["model"], text["fmident"]

    marker, problem = folder / analysis.marker, folder / "problem.toml"
    title, version = read_file(marker, convert, "one of fmident", written_by(analysis.command))
    if pictures:
        with drawable(folder):
            analysis.draw(result, folder)
    title = title or folder.resolve().name
    source = str(problem) if problem.is_file() else ""
    page = analysis.render(result, title, version, source, origin_of(marker), sections)
    save(stored.page, page)
    return stored.page


def make_pictures(stored: StoredFolder, form: str, sections: Sequence[Section] = ()) -> list[Path]:
    """Write each figure of a result folder for a paper.

    `form` is ``"svg"`` or ``"pdf"``; figures of plugins' `sections` are SVG files anyway. Raises
    `EstimationError` if a table is missing or broken, or the files cannot be written.
    """
    figures = [
        (f"section-{section.title}-{number}", figure.svg)
        for section in sections
        for number, figure in enumerate(
            (block for block in section.blocks if isinstance(block, Figure)), 1
        )
    ]
    charts = stored.analysis.charts(stored.analysis.read(stored.folder))
    return write_files(stored.folder, form, charts, figures)


def _no_result_in(folder: Path) -> EstimationError:
    inside = sorted(p.parent for name in _KINDS for p in folder.glob(f"*/{name}"))
    if inside:
        hint = f"give one of the folders in it: {quoted(map(str, inside), _MOST_NAMED)}"
    else:
        hint = _WRITTEN_BY
    return EstimationError(
        f"'{folder}' holds no result: none of {', '.join(_KINDS)}",
        hint=hint,
        code=Code.UNKNOWN_NAME,
    )


_OTHERS = {
    ".csv": ("is a table, such as 'fmident design' writes, and has no page",
             "see what is in it: fmident data {path}"),
    ".html": ("is a page, such as 'fmident check --report' writes",
              f"open it in a browser; to make it again, {_WRITTEN_BY}"),
    **dict.fromkeys((".png", ".svg", ".pdf"), (
        "is a picture, such as 'fmident plot-cost' writes", f"open it; for a report, {_WRITTEN_BY}"
    )),
    "results": ("is a comparison by 'fmident compare', which has no page",
                "compare the result folders again: fmident compare RESULT RESULT"),
    "can_be_estimated": ("is a check by 'fmident check', which has no page",
                         "check the problem again: fmident check PROBLEM"),
}  # fmt: skip
"""What a file is, by its ending or by a key of its JSON, and what shows it."""


def _another_file(path: Path) -> EstimationError:
    what, hint = _OTHERS.get(path.suffix, ("is not a result of fmident", _WRITTEN_BY))
    if any((path.parent / name).is_file() for name in _KINDS):
        what, hint = "is one file of a result", f"give its folder, '{path.parent}'"
    elif path.suffix == ".json":
        try:
            content = read_object(path)
        except (OSError, ValueError):
            content = {}
        keys = [key for key in _OTHERS if key in content]
        what, hint = _OTHERS[keys[0]] if keys else (what, hint)
    hint = hint.replace("{path}", str(path))
    return EstimationError(f"'{path}' {what}", hint=hint, code=Code.UNUSABLE_FILE)
