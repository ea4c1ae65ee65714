"""What a reporter is: it writes a result in a form of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Problem
    from fmident.report.sections.html import Section


class Reporter(ABC):
    """Base class of all reporters.

    Class attributes
    ----------------
    summary
        One line for ``fmident plugins``.

    A reporter that shows the sections that plugins add is a :class:`TakesSections` as well.
    """

    summary: ClassVar[str] = ""

    @abstractmethod
    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write files.

        Parameters
        ----------
        result
            What the run found.
        problem
            What was asked.
        folder
            An existing folder that takes the files. It is moved to its final place only
            when all reporters have returned, so do not keep its path in a file.
        """


class TakesSections(ABC):
    """Base class of reporters that show what plugins add (hook ``fmident_report_sections``)."""

    @abstractmethod
    def take_sections(self, sections: Sequence[Section]) -> None:
        """Take the sections of all plugins; called once, before :meth:`Reporter.write`."""
