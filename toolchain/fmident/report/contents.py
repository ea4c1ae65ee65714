"""Contents of the result folder of an analysis: JSON, tables, figures and a page.

Analyses are profiles, a bootstrap, a prediction and a cross-validation. Each has a
subclass of :class:`Contents`; writing, redrawing and displaying are common to all.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from fmident._version import __version__
from fmident.errors import Code, EstimationError
from fmident.report.codec import Json, dump
from fmident.report.sections.estimate import Entry, origin_of, run_section, verdict_section
from fmident.report.sections.html import document, embedded
from fmident.report.terminal import wrap

if TYPE_CHECKING:
    import pandas as pd

    from fmident.problem.model import Problem
    from fmident.report.figures.files import NamedChart


class Noted(Protocol):
    """A result with notes."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""


Result = TypeVar("Result", bound=Noted)

_NARROWEST, _WIDEST = 60, 120
WIDTH = 92
"""Columns of a text whose terminal is not known."""


@dataclass(frozen=True)
class Said:
    """Summary of a result in words.

    `grade` is ``"good"``, ``"doubtful"`` or ``"bad"``; `reasons` are sentences.
    """

    headline: str
    grade: str
    reasons: Sequence[str]
    effort: str


class Contents(ABC, Generic[Result]):
    """Contents of the result folder of one kind of analysis.

    `marker` is the JSON file that identifies the folder, `page` its HTML page, `kicker` the
    kind of result shown above the title, and `command` the one that writes the folder.
    """

    marker: ClassVar[str]
    page: ClassVar[str]
    kicker: ClassVar[str]
    command: ClassVar[str]

    @abstractmethod
    def said(self, result: Result) -> Said:
        """Return a summary in words."""

    @abstractmethod
    def blocks(self, result: Result, width: int) -> Sequence[str]:
        """Return the tables for a terminal of `width` columns."""

    def json(self, result: Result) -> Json:
        """Return the content of the JSON file, without version and model."""
        content: Json = dump(result)
        return content

    @abstractmethod
    def tables(self, result: Result) -> Mapping[str, tuple[pd.DataFrame, str]]:
        """Return each CSV file by name, with its number format."""

    @abstractmethod
    def draw(self, result: Result, folder: Path) -> None:
        """Write the figures that every folder has."""

    @abstractmethod
    def charts(self, result: Result) -> Iterator[NamedChart]:
        """Yield each figure for a paper."""

    @abstractmethod
    def sections(self, result: Result) -> Sequence[str]:
        """Return the sections of the page between the verdict and the run information."""

    @abstractmethod
    def shown(self, result: Result) -> Sequence[str]:
        """Return the sections that a notebook shows below the verdict, without charts."""

    @abstractmethod
    def facts(self, result: Result) -> Sequence[str]:
        """Return the items below the title of the page."""

    @abstractmethod
    def entries(self, result: Result) -> Sequence[Entry]:
        """Return information on the run."""

    @abstractmethod
    def read(self, folder: Path) -> Result:
        """Return the result stored in a folder.

        Raises `EstimationError` if a file is missing, broken or was not written by fmident.
        """

    def title(self, result: Result) -> str:
        """Return the title of the page; empty for the model's name."""
        return ""

    def content(self, result: Result, version: str, model: str = "") -> Json:
        """Return the content of the JSON file as JSON types, without NaN and infinity.

        `version` is that of fmident, and `model` the name of the estimated model.
        """
        return {**self.json(result), "fmident": version, "model": model}

    def write(self, result: Result, problem: Problem, folder: Path) -> None:
        """Write all files into a folder; raises `OSError` if the disk is full."""
        model = problem.fmu.stem
        text = json.dumps(self.content(result, __version__, model), indent=2, allow_nan=False)
        (folder / self.marker).write_text(text + "\n", encoding="utf-8")
        for name, (table, form) in self.tables(result).items():
            table.to_csv(folder / name, index=False, float_format=form)
        self.draw(result, folder)
        source = "" if problem.source is None else str(problem.source)
        page = self.render(result, model, __version__, source, origin_of(folder / self.marker))
        (folder / self.page).write_text(page, encoding="utf-8")

    def draw_again(self, result: Result, folder: Path) -> None:
        """Redraw the figures of a folder; raises `EstimationError` if they cannot be written."""
        try:
            self.draw(result, folder)
        except OSError as error:
            raise EstimationError(
                f"the pictures cannot be written to '{folder}': {error.strerror or error}",
                hint="make room there, or copy the result folder to a place that may be written to",
                code=Code.UNUSABLE_FILE,
            ) from error

    def render(
        self, result: Result, title: str, version: str, source: str = "", origin: str = ""
    ) -> str:
        """Return the page, which needs nothing beside it.

        Parameters
        ----------
        result
            What was found.
        title
            What was estimated.
        version
            Of fmident, by which it was found.
        source
            The problem file, if there is one.
        origin
            When the result was made, and of which data.
        """
        summary = self.said(result)
        facts = [source, *self.facts(result)] if source else self.facts(result)
        entries = [*self.entries(result), Entry.of("fmident", version)]
        return document(
            kicker=self.kicker,
            title=self.title(result) or title,
            headline=summary.headline,
            subtitle=" · ".join(facts),
            origin=origin,
            sections=[
                self._verdict(result, summary), *self.sections(result), run_section(entries),
            ],
        )  # fmt: skip

    def view(self, result: Result) -> str:
        """Return the HTML shown by a notebook."""
        return embedded(
            self.kicker, [self._verdict(result, self.said(result)), *self.shown(result)]
        )

    def summary(self, result: Result, width: int = WIDTH) -> str:
        """Return the result as text for a terminal of `width` columns; no trailing newline."""
        width, summary_words = min(max(width, _NARROWEST), _WIDEST), self.said(result)
        blocks = [
            wrap(summary_words.headline, width),
            *self.blocks(result, width),
            "\n".join(wrap(reason, width, "  - ") for reason in summary_words.reasons),
            "\n".join(wrap(f"note: {note}", width) for note in result.notes),
            wrap(summary_words.effort, width),
        ]
        return "\n\n".join(block for block in blocks if block)

    def _verdict(self, result: Result, said: Said) -> str:
        return verdict_section(said.grade, said.headline, said.reasons, result.notes)
