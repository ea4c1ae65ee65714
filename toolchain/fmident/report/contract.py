"""What a reporter is: it writes a result in a form of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Problem
    from fmident.report.sections.content import Section


class Reporter(ABC):
    """Base class of all reporters.

    Class attributes
    ----------------
    summary
        One line for ``fmident plugins``.

    Attributes
    ----------
    sections
        What plugins add to a report (hook ``fmident_report_sections``); set before
        :meth:`write` is called.
    """

    summary: ClassVar[str] = ""
    sections: Sequence[Section] = ()

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
