"""What a path is that ``fmident report`` is given, and its page, made anew from the folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fmident._json import JsonTable, loads_json
from fmident.errors import Code, EstimationError
from fmident.report.bootstrap.folder import FILE_NAME as BOOTSTRAP
from fmident.report.bootstrap.folder import PAGE as BOOTSTRAP_PAGE
from fmident.report.page import FILE_NAME as PAGE
from fmident.report.page import render
from fmident.report.prediction.folder import FILE_NAME as PREDICTION
from fmident.report.prediction.folder import PAGE as PREDICTION_PAGE
from fmident.report.profile_folder import FILE_NAME as PROFILES
from fmident.report.profile_folder import PAGE as PROFILE_PAGE
from fmident.report.profile_folder import render_profiles
from fmident.report.result_json import FILE_NAME as RESULT
from fmident.report.stored.estimation import read_result
from fmident.report.stored.profiles import read_profiles
from fmident.report.stored.samples import with_signals

if TYPE_CHECKING:
    from fmident.report.sections.content import Section

Kind = Literal["estimation", "profiles"]

_MOST_NAMED = 6
_PICTURES = (".png", ".svg", ".pdf")
_WRITTEN_BY = "give the folder that 'fmident estimate' or 'fmident profile' wrote"


@dataclass(frozen=True)
class StoredFolder:
    """A result folder.

    Parameters
    ----------
    kind
        What it holds.
    folder
        Its path.
    """

    kind: Kind
    folder: Path

    @property
    def page(self) -> Path:
        """Where its page is, or would be."""
        return self.folder / (PAGE if self.kind == "estimation" else PROFILE_PAGE)


def stored_folder(path: Path) -> StoredFolder:
    """Return which kind of result a path is.

    Parameters
    ----------
    path
        A folder, its ``result.json`` or its ``profiles.json``.

    Raises
    ------
    fmident.errors.EstimationError
        There is no result; the message says what is there instead.
    """
    if path.is_dir():
        if (path / RESULT).is_file():
            return StoredFolder("estimation", path)
        if (path / PROFILES).is_file():
            return StoredFolder("profiles", path)
        raise _no_result_in(path)
    if path.is_file():
        if path.name == PROFILES:
            return StoredFolder("profiles", path.parent)
        if path.name == RESULT:
            return StoredFolder("estimation", path.parent)
        raise _another_file(path)
    raise EstimationError(f"there is no '{path}'", hint=_WRITTEN_BY, code=Code.UNKNOWN_NAME)


def make_page(stored: StoredFolder, sections: Sequence[Section] = ()) -> Path:
    """Write the page of a result folder anew.

    Parameters
    ----------
    stored
        The folder, with its tables.
    sections
        Those of plugins.

    Raises
    ------
    fmident.errors.EstimationError
        A file is missing or broken, or the page cannot be written.
    """
    content = _estimation(stored, sections) if stored.kind == "estimation" else _profiles(stored)
    try:
        stored.page.write_text(content, encoding="utf-8")
    except OSError as error:
        raise EstimationError(
            f"'{stored.page}' cannot be written: {error.strerror or error}",
            hint="make room there, or copy the result folder to a place that may be written to",
            code=Code.UNUSABLE_FILE,
        ) from error
    return stored.page


def _estimation(stored: StoredFolder, sections: Sequence[Section]) -> str:
    read = read_result(stored.folder)
    result = with_signals(read.result, stored.folder)
    title = result.fmu_name or stored.folder.resolve().name
    return render(
        result, title=title, version=read.version, source=_problem(stored), sections=sections
    )


def _profiles(stored: StoredFolder) -> str:
    file = stored.folder / PROFILES
    result = read_profiles(file)
    content = JsonTable(loads_json(file.read_text(encoding="utf-8")))
    title = content.text("model", "") or stored.folder.resolve().name
    return render_profiles(result, title, content.text("fmident", ""), _problem(stored))


def _problem(stored: StoredFolder) -> str:
    file = stored.folder / "problem.toml"
    return str(file) if file.is_file() else ""


def _no_result_in(folder: Path) -> EstimationError:
    for name, what, page in (
        (BOOTSTRAP, "a bootstrap", BOOTSTRAP_PAGE),
        (PREDICTION, "a prediction", PREDICTION_PAGE),
    ):
        if (folder / name).is_file():
            hint = f"open its page, '{folder / page}'"
            return _refused(folder, f"holds {what}, which this command does not show", hint)
    inside = sorted(p.parent for name in (RESULT, PROFILES) for p in folder.glob(f"*/{name}"))
    if inside:
        named = ", ".join(f"'{p}'" for p in inside[:_MOST_NAMED])
        more = ", ..." if len(inside) > _MOST_NAMED else ""
        hint = f"give one of the folders in it: {named}{more}"
    else:
        hint = _WRITTEN_BY
    return EstimationError(
        f"'{folder}' holds neither '{RESULT}' nor '{PROFILES}'", hint=hint, code=Code.UNKNOWN_NAME
    )


def _another_file(path: Path) -> EstimationError:
    """Return what a file is that another command has written, and what shows it."""
    beside = [n for n in (RESULT, PROFILES) if (path.parent / n).is_file()]
    if beside:
        return _refused(path, "is one file of a result", f"give its folder, '{path.parent}'")
    if path.suffix == ".json":
        known: tuple[tuple[Callable[[JsonTable], object], str, str], ...] = (
            (
                lambda c: c.listed("results"),
                "is a comparison by 'fmident compare', which has no page",
                "compare the result folders again: fmident compare RESULT RESULT",
            ),
            (
                lambda c: c.flag("can_be_estimated"),
                "is a check by 'fmident check', which has no page",
                "check the problem again: fmident check PROBLEM",
            ),
        )
        try:
            content = JsonTable(loads_json(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return _refused(path, "is not a result of fmident", _WRITTEN_BY)
        for asks, what, hint in known:
            try:
                asks(content)
            except ValueError:
                continue
            return _refused(path, what, hint)
    if path.suffix == ".csv":
        hint = f"see what is in it: fmident data {path}"
        return _refused(path, "is a table, such as 'fmident design' writes, and has no page", hint)
    if path.suffix in _PICTURES:
        hint = "open it; for a report, " + _WRITTEN_BY
        return _refused(path, "is a picture, such as 'fmident plot-cost' writes", hint)
    return _refused(path, "is not a result of fmident", _WRITTEN_BY)


def _refused(path: Path, what: str, hint: str) -> EstimationError:
    return EstimationError(f"'{path}' {what}", hint=hint, code=Code.UNUSABLE_FILE)
