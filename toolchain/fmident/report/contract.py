"""What a reporter is: it writes a result in a form of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.problem.model import Problem


class Reporter(ABC):
    """Base class of all reporters.

    Class attributes
    ----------------
    summary
        One line for ``fmident plugins``.
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
