"""Data that are in memory, in the place of data files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    _Reader = Callable[[Path, dict[str, Any]], pd.DataFrame | None]


class InMemory:
    """Reads frames by the names of files; other files go to another reader.

    Parameters
    ----------
    frames
        Name of a file, relative to the working directory, to its content. The files themselves need
        not exist.
    otherwise
        Reads formats of files; a plugin's.
    """

    def __init__(
        self, frames: Mapping[str, pd.DataFrame], otherwise: _Reader | None = None
    ) -> None:
        self._frames = {Path(name): frame for name, frame in frames.items()}
        self._otherwise = otherwise

    def holds(self, path: Path) -> bool:
        """Return whether a file is in memory."""
        return path in self._frames

    def __call__(self, path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
        """Return the content of a file, or ``None`` where nobody reads it."""
        if path in self._frames:
            return self._frames[path]
        return None if self._otherwise is None else self._otherwise(path, spec)


def shown_name(path: Path) -> Path:
    """Return how messages call a frame: ``data.NAME``, or ``data`` for the only one."""
    return Path(path.stem if path.stem == "data" else f"data.{path.stem}")
