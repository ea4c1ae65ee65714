"""Identify the kind of a result path for ``fmident report``, and recreate its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident._json import loads_json
from fmident.errors import Code, EstimationError
from fmident.files import save
from fmident.report.bootstrap import BOOTSTRAP
from fmident.report.codec import Json, checked, read_file, written_by
from fmident.report.contents import Contents
from fmident.report.cross_validation import CROSS_VALIDATION
from fmident.report.page import render
from fmident.report.prediction import PREDICTION
from fmident.report.profiles import PROFILES
from fmident.report.result_json import FILE_NAME as RESULT
from fmident.report.result_json import PAGE, read_result
from fmident.report.sections.estimate import origin_of
from fmident.report.tables import with_signals

if TYPE_CHECKING:
    from fmident.report.sections.html import Section

ANALYSES: tuple[Contents[Any], ...] = (PROFILES, BOOTSTRAP, PREDICTION, CROSS_VALIDATION)
"""What a folder may hold in place of an estimate."""

_MARKERS = (RESULT, *(a.marker for a in ANALYSES))

_MOST_NAMED = 6
_PICTURES = (".png", ".svg", ".pdf")
_WRITTEN_BY = written_by("estimate", *(a.command for a in ANALYSES))


@dataclass(frozen=True)
class StoredFolder:
    """A result folder; `analysis` is ``None`` for an estimation."""

    analysis: Contents[Any] | None
    folder: Path

    @property
    def page(self) -> Path:
        """Path of its page, whether or not it exists."""
        return self.folder / (PAGE if self.analysis is None else self.analysis.page)


def stored_folder(path: Path) -> StoredFolder:
    """Return the result folder at a path, which may also be its JSON file.

    Raises `EstimationError`, saying what is there instead, if there is no result.
    """
    folder = path if path.is_dir() else path.parent
    kinds: dict[str, Contents[Any] | None] = {RESULT: None, **{a.marker: a for a in ANALYSES}}
    if path.is_dir():
        for marker, analysis in kinds.items():
            if (path / marker).is_file():
                return StoredFolder(analysis, folder)
        raise _no_result_in(path)
    if path.is_file():
        if path.name in kinds:
            return StoredFolder(kinds[path.name], folder)
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
    if stored.analysis is None:
        content = _estimation(stored, sections)
    else:
        content = _analysis(stored, stored.analysis, pictures=pictures)
    save(stored.page, content)
    return stored.page


def _estimation(stored: StoredFolder, sections: Sequence[Section]) -> str:
    read = read_result(stored.folder)
    result = with_signals(read.result, stored.folder)
    title = result.fmu_name or stored.folder.resolve().name
    return render(
        result,
        title=title,
        version=read.version,
        source=_problem(stored),
        origin=origin_of(stored.folder / RESULT),
        sections=sections,
    )


def _analysis(stored: StoredFolder, analysis: Contents[Any], *, pictures: bool) -> str:
    result = analysis.read(stored.folder)

    def convert(content: Json) -> tuple[str, str]:
        text = {k: checked(content.get(k, ""), str, k) for k in ("model", "fmident")}
        return text["model"], text["fmident"]

    title, version = read_file(
        stored.folder / analysis.marker, convert, "one of fmident", written_by(analysis.command)
    )
    if pictures:
        analysis.draw_again(result, stored.folder)
    title = title or stored.folder.resolve().name
    return analysis.render(
        result, title, version, _problem(stored), origin_of(stored.folder / analysis.marker)
    )


def _problem(stored: StoredFolder) -> str:
    file = stored.folder / "problem.toml"
    return str(file) if file.is_file() else ""


def _no_result_in(folder: Path) -> EstimationError:
    inside = sorted(p.parent for name in _MARKERS for p in folder.glob(f"*/{name}"))
    if inside:
        named = ", ".join(f"'{p}'" for p in inside[:_MOST_NAMED])
        more = ", ..." if len(inside) > _MOST_NAMED else ""
        hint = f"give one of the folders in it: {named}{more}"
    else:
        hint = _WRITTEN_BY
    return EstimationError(
        f"'{folder}' holds no result: none of {', '.join(_MARKERS)}",
        hint=hint,
        code=Code.UNKNOWN_NAME,
    )


def _another_file(path: Path) -> EstimationError:
    """Return an error that identifies another command's file, and what displays it."""
    beside = [n for n in _MARKERS if (path.parent / n).is_file()]
    if beside:
        return _refused(path, "is one file of a result", f"give its folder, '{path.parent}'")
    if path.suffix == ".json":
        known = {
            "results": (
                "is a comparison by 'fmident compare', which has no page",
                "compare the result folders again: fmident compare RESULT RESULT",
            ),
            "can_be_estimated": (
                "is a check by 'fmident check', which has no page",
                "check the problem again: fmident check PROBLEM",
            ),
        }
        try:
            content = loads_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            content = None
        for key, (what, hint) in known.items():
            if isinstance(content, dict) and key in content:
                return _refused(path, what, hint)
    if path.suffix == ".csv":
        hint = f"see what is in it: fmident data {path}"
        return _refused(path, "is a table, such as 'fmident design' writes, and has no page", hint)
    if path.suffix == ".html":
        hint = "open it in a browser; to make it again, " + _WRITTEN_BY
        return _refused(path, "is a page, such as 'fmident check --report' writes", hint)
    if path.suffix in _PICTURES:
        hint = "open it; for a report, " + _WRITTEN_BY
        return _refused(path, "is a picture, such as 'fmident plot-cost' writes", hint)
    return _refused(path, "is not a result of fmident", _WRITTEN_BY)


def _refused(path: Path, what: str, hint: str) -> EstimationError:
    return EstimationError(f"'{path}' {what}", hint=hint, code=Code.UNUSABLE_FILE)
