"""Where an FMU comes from: the line of its class in the Modelica source, or of its entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident.api.model_sources import find_library
from fmident.catalog import Catalog, Entry
from fmident.compilers.openmodelica.availability import name_of
from fmident.compilers.platforms import read_record
from fmident.errors import CompilationError, Location
from fmident.validation import Check

_OF_THE_CATALOGUE = ("interface",)
"""Checks that hold an FMU against what the catalogue says of it."""


@dataclass(frozen=True)
class Origin:
    """An FMU and the catalogue that knows it, if any.

    Parameters
    ----------
    fmu
        The file.
    catalog, entry
        Of which it is; ``None`` when no catalogue knows it.
    """

    fmu: Path
    catalog: Catalog | None = None
    entry: Entry | None = None

    def location(self, check: Check | None = None) -> Location:
        """Return where to look when a check has failed, or the FMU cannot be used.

        That is the class in the Modelica source where it is at hand; for what the catalogue
        demands, and without a source, the entry; without either, the FMU.

        Parameters
        ----------
        check
            The check that has failed.
        """
        if check is None or check.name not in _OF_THE_CATALOGUE:
            found = self._class_location()
            if found is not None:
                return found
        return self.entry_location() or Location(str(self.fmu))

    def entry_location(self) -> Location | None:
        """Return the line of the entry in the catalogue."""
        if self.catalog is None or self.entry is None:
            return None
        return Location(str(self.catalog.path), self.entry.line)

    def _class_location(self) -> Location | None:
        if self.entry is not None and not self.entry.foreign:
            return class_location(self.entry.class_name, self.entry.sources)
        class_name = str((read_record(self.fmu) or {}).get("class", ""))
        try:
            library = find_library(class_name, [self.fmu.parent, Path.cwd()])
        except CompilationError:
            return None
        # What comes with fmident, or is installed, is not the user's to change.
        return class_location(class_name, library.sources) if library.project else None


def class_location(class_name: str, sources: Sequence[Path]) -> Location | None:
    """Return where a class is defined in the sources; ``None`` when it is not found there."""
    # Imported late: it brings all of the embedded compiler with it, which takes a second.
    from fmident.compilers.embedded.frontend.reading.source.sources import read_tree

    top = class_name.partition(".")[0]
    for source in sources:
        if name_of(source) == top:
            try:
                return read_tree(source).location(class_name)
            except (CompilationError, OSError):
                return None
    return None
