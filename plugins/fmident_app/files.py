"""Files of the problem's folder: those that can be chosen, and those dropped on the page."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from fmident.errors import Code, Location, ProblemError

DATA = (
    ".csv",
    ".txt",
    ".dat",
    ".tsv",
    ".parquet",
    ".h5",
    ".hdf5",
    ".mat",
    ".xlsx",
    ".mf4",
    ".tdms",
)
MODELS = (".fmu", ".mo")

TOUR = "fmident-tour"
"""Folder of the tour on the delta robot."""

_DEPTH = 3
"""Folders below that of the problem in which files are looked for."""


class Files:
    """The files of a folder and of those below it; none outside is read or written.

    Parameters
    ----------
    folder
        That of the problem file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def with_suffix(self, suffixes: Sequence[str]) -> list[str]:
        """Return the files with these suffixes, as paths relative to the folder."""
        paths = []
        for place, folders, names in os.walk(self._folder):
            relative = Path(place).relative_to(self._folder)
            deep = len(relative.parts) >= _DEPTH
            folders[:] = (
                []
                if deep
                else sorted(f for f in folders if not f.startswith((".", "results", "__", TOUR)))
            )
            paths += [relative / n for n in names if Path(n).suffix.lower() in suffixes]
        return sorted(path.as_posix() for path in paths)

    def inside(self, name: str) -> Path:
        """Return the path of a file in the folder.

        Raises
        ------
        fmident.errors.ProblemError
            It is outside.
        """
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder):
            raise ProblemError(
                f"'{name}' is outside of '{self._folder}'",
                location=Location(str(self._folder)),
                hint="copy it into the folder",
                code=Code.UNUSABLE_FILE,
            )
        return path

    def store(self, name: str, source: Path, *, move: bool = False) -> str:
        """Copy or move a file into the folder; return its name.

        A file of this name that is there already stays: the new one gets a number.
        """
        plain = re.sub(r"[^\w.+ -]", "_", Path(name.replace("\\", "/")).name).lstrip(".") or "file"
        path, number = self.inside(plain), 1
        while path.exists() and not filecmp.cmp(source, path, shallow=False):  # sizes first
            number += 1
            path = self.inside(f"{Path(plain).stem}-{number}{Path(plain).suffix}")
        if not path.exists():
            (shutil.move if move else shutil.copyfile)(source, path)
        return path.name
