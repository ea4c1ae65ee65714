"""Run a module of the parent's own installation of fmident in a child process."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line that calls ``main(*arguments)`` of a module."""
    return [sys.executable, "-P", __file__, module, *arguments]


if __name__ == "__main__":
    root = str(Path(__file__).parents[1])
    if root not in sys.path:
        sys.path.insert(0, root)
    importlib.import_module(sys.argv[1]).main(*sys.argv[2:])
