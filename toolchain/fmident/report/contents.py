"""What a kind of result is made of, and what its folder holds: JSON, tables, figures and a page.

Each analysis has one :class:`Contents`; writing, redrawing and displaying are common to all.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from fmident._version import __version__
from fmident.report.codec import Codec, Json, read_file, written_by
from fmident.report.sections import Entry, Facts, Page, Part, Section, Summary, Text
from fmident.report.terminal import WIDTH, result_text
from fmident.words import listed

if TYPE_CHECKING:
    import pandas as pd

    from fmident.problem.model import Problem
    from fmident.report.figures.files import NamedChart

Result = TypeVar("Result")
_MOST_FILES = 6


@dataclass(frozen=True, eq=False)
class Contents(Generic[Result]):
    """Contents of one kind of result.

    Parameters
    ----------
    kicker, command
        The kind of result, shown above the title, and the command that writes its folder.
    marker, page
        The JSON file that identifies the folder, and its HTML page.
    codec
        Writes the JSON file.
    load
        Returns the result from the content of the JSON file and the folder with the tables. What
        is wrong with the content is one of :data:`fmident.report.codec.BROKEN`.
    summary
        The result in words.
    parts
        What is shown below the summary.
    facts, entries
        What follows the title of the page, and information on the run beside its effort.
    tables
        Each CSV file by name, with its number format.
    pictures
        The figures that every folder has: names of files, and charts.
    title
        Of the page; empty for the name of the model.
    keeps_model
        Whether the JSON file has the name of the model beside the result.
    read_brief
        As `read`, where a result can be summarised without its tables.
    """

    kicker: str
    command: str
    marker: str
    page: str
    codec: Codec
    load: Callable[[Json, Path], Result]
    summary: Callable[[Result], Summary]
    parts: Sequence[Part]
    facts: Callable[[Result], Sequence[str]]
    entries: Callable[[Result], Sequence[Entry]]
    tables: Callable[[Result], Mapping[str, tuple[pd.DataFrame, str | None]]]
    pictures: Callable[[Result], Iterable[NamedChart]] = lambda _: ()
    title: Callable[[Result], str] = lambda _: ""
    keeps_model: bool = True
    read_brief: Callable[[Path], Result] | None = None

    def glance(self, folder: Path) -> Result:
        """Return the result stored in a folder, for a summary."""
        return (self.read_brief or self.read)(folder)

    def read(self, folder: Path) -> Result:
        """Return the result stored in a folder.

        Raises `EstimationError` if a file is missing, broken or was not written by fmident.
        """
        return read_file(
            folder / self.marker,
            lambda content: self.load(content, folder),
            f"a result of 'fmident {self.command}'",
            written_by(self.command),
        )

    def content(self, result: Result, version: str = __version__, model: str = "") -> Json:
        """Return the content of the JSON file, as a version of fmident writes it."""
        content: Json = {**self.codec.dump(result), "fmident": version}
        return {**content, "model": model} if self.keeps_model else content

    def write(self, result: Result, problem: Problem, folder: Path) -> None:
        """Write all files into a folder; raises `OSError` if the disk is full."""
        self.write_json(result, problem, folder)
        self.write_tables(result, folder)
        self.draw(result, folder)
        self.write_page(result, problem, folder)

    def write_json(self, result: Result, problem: Problem, folder: Path) -> None:
        """Write the JSON file."""
        model = problem.fmu.stem if self.keeps_model else ""
        text = json.dumps(self.content(result, model=model), indent=2, allow_nan=False)
        (folder / self.marker).write_text(text + "\n", encoding="utf-8")

    def write_tables(self, result: Result, folder: Path) -> None:
        """Write the tables."""
        for name, (table, form) in self.tables(result).items():
            table.to_csv(folder / name, index=False, float_format=form)

    def draw(self, result: Result, folder: Path) -> None:
        """Write the figures that every folder has."""
        from fmident.report.figures.files import write_chart

        for name, chart in self.pictures(result):
            if chart is not None:
                (folder / name).parent.mkdir(exist_ok=True)
                write_chart(chart, folder / name)

    def write_page(
        self,
        result: Result,
        problem: Problem,
        folder: Path,
        sections: Sequence[Section] = (),
        failed: dict[str, Exception] | None = None,
    ) -> None:
        """Write the page, with sections of plugins; see :meth:`render` for what failed."""
        source = "" if problem.source is None else str(problem.source)
        origin = origin_of(folder / self.marker)
        model = problem.fmu.stem
        page = self.render(result, model, __version__, source, origin, sections, failed)
        (folder / self.page).write_text(page, encoding="utf-8")

    def render(
        self,
        result: Result,
        title: str,
        version: str,
        source: str = "",
        origin: str = "",
        sections: Sequence[Section] = (),
        failed: dict[str, Exception] | None = None,
    ) -> str:
        """Return the page, which needs nothing beside it.

        Parameters
        ----------
        result
            What was found.
        title
            What was estimated, if the result does not say so.
        version
            Of fmident, by which it was found.
        source
            The problem file, if there is one.
        origin
            When the result was made, and of which data.
        sections
            Those of plugins, before the facts of the run.
        failed
            Takes the exception of each section that could not be made, by its title; the page then
            says so in its place. Without it, the first exception is raised.
        """
        summary = self.summary(result)
        effort = Entry("Effort", [summary.effort])
        entries = [*self.entries(result), effort, Entry("fmident", [version])]
        every = [*self.sections(result, failed), *sections, Section("Run", [Facts(entries)])]
        facts = [source, *self.facts(result)]
        name = self.title(result) or title
        return Page(self.kicker, name, summary, every, facts, origin).html()

    def view(self, result: Result) -> str:
        """Return the HTML shown by a notebook."""
        sections = [*self.sections(result, brief=True)]
        return Page(self.kicker, self.title(result), self.summary(result), sections).embedded()

    def text(self, result: Result, width: int = WIDTH) -> str:
        """Return the result as text for a terminal of `width` columns; no trailing newline."""
        return result_text(self.summary(result), [*self.sections(result, brief=True)], width)

    def charts(self, result: Result) -> Iterator[NamedChart]:
        """Yield each figure for a paper."""
        for section in self.sections(result):
            yield from ((plot.file, plot.chart) for plot in section.plots if plot.file)

    def sections(
        self, result: Result, failed: dict[str, Exception] | None = None, *, brief: bool = False
    ) -> Iterator[Section]:
        """Yield what is shown below the summary; `failed` as of :meth:`render`."""
        for part in self.parts:
            if brief and not part.brief:
                continue
            try:
                section = Section(part.title, part.blocks(result), part.rest)
                if not brief:
                    section.plots  # noqa: B018  draws them
            except Exception as error:
                if failed is None:
                    raise
                failed[part.title] = error
                text = f"This section could not be made: {type(error).__name__}: {error}"
                section = Section(part.title, [Text(text)])
            if section.blocks:
                yield section


def origin_of(result: Path) -> str:
    """Return the date of a result and the data files of the problem beside it, as one line.

    The date is that of the file, or today where the file is still to be written.
    """
    try:
        written = (
            datetime.fromtimestamp(result.stat().st_mtime) if result.exists() else datetime.now()
        )
        problem = tomllib.loads((result.parent / "problem.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    experiments = [e for e in problem.get("experiments", ()) if isinstance(e, Mapping)]
    names = list(dict.fromkeys(Path(str(e["data"])).name for e in experiments if "data" in e))
    files = listed(names, _MOST_FILES)
    return f"{written.day} {written:%B %Y}" + (f" · data: {files}" if files else "")
