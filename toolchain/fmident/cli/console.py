"""Writing to the terminal: results to standard output, all else to standard error."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from fmident.errors import Diagnostic

_WITHOUT_TERMINAL = 92


def width() -> int:
    """Return the columns of the terminal, or a number that suits a file."""
    return shutil.get_terminal_size((_WITHOUT_TERMINAL, 24)).columns


def out(text: str = "") -> None:
    """Write a line of the result."""
    sys.stdout.write(text + "\n")


def tell(text: str) -> None:
    """Write a line about what is going on."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def tell_all(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics, one per line or two."""
    for diagnostic in diagnostics:
        tell(str(diagnostic))
