"""Base classes of reporters, which write a result in some format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Problem
    from fmident.report.sections import Section


class Reporter(ABC):
    """Base class of all reporters.

    Class attributes
    ----------------
    summary
        One line for ``fmident plugins``.

    A reporter that displays the sections of plugins is a :class:`TakesSections`, too.
    """

    summary: ClassVar[str] = ""

    @abstractmethod
    def write(self, result: EstimationResult, problem: Problem, folder: Path) -> None:
        """Write files.

        Parameters
        ----------
        result
            Result of the run.
        problem
            The estimated problem.
        folder
            An existing folder for the files. It is moved to its final location when all
            reporters have returned, so do not store its path in a file.
        """


class TakesSections(ABC):
    """Base class of reporters that display sections of plugins (``fmident_report_sections``)."""

    @abstractmethod
    def take_sections(self, sections: Sequence[Section]) -> None:
        """Receive the sections of all plugins; called once, before :meth:`Reporter.write`."""
