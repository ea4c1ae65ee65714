"""Where the Modelica source of a class is: the user's own, fmident's, OpenModelica's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident._known_fmus import known_classes, similar
from fmident.catalog import Catalog, Entry
from fmident.compilers.libraries import (
    declared_uses,
    installed_library,
    installed_names,
    own_source,
)
from fmident.compilers.openmodelica.availability import name_of
from fmident.compilers.platforms import read_record, source_files
from fmident.errors import Code, CompilationError, Location, did_you_mean
from fmident.validation import Check

_OF_THE_CATALOGUE = ("interface",)
"""Checks that hold an FMU against what the catalogue says of it."""


@dataclass(frozen=True)
class Library:
    """Where the source of a class was found.

    Parameters
    ----------
    sources
        Top-level packages: folders with ``package.mo``, or files.
    project
        Folder that holds ``modelica/``; ``None`` for the library that comes with fmident
        and for sources that the user named.
    """

    sources: tuple[Path, ...]
    project: Path | None


def find_library(
    class_name: str,
    starts: Sequence[Path],
    *,
    otherwise: str = "name its folder with --source",
) -> Library:
    """Find the source of a class by its top-level package.

    Parameters
    ----------
    class_name
        Full Modelica name.
    starts
        ``modelica/`` is looked for in these folders and all above them, then in fmident, then
        where OpenModelica keeps libraries.
    otherwise
        For the hint: how the user can say where the source is.

    Raises
    ------
    fmident.errors.CompilationError
        Nowhere; the message says where it was looked for.
    """
    top = class_name.split(".")[0]
    known: set[str] = set()
    looked: list[Path] = []
    for start in starts:
        for folder in (start.resolve(), *start.resolve().parents):
            place = folder / "modelica"
            if place.is_dir() and place not in looked:
                looked.append(place)
                packages = _inside(place)
                known |= {name_of(p) for p in packages}
                if any(name_of(p) == top for p in packages):
                    return Library(_with_installed(_with_shipped(_needed(top, packages))), folder)
    shipped = shipped_library()
    if shipped is not None and shipped not in looked:
        looked.append(shipped)
        packages = expand([shipped])
        known |= {name_of(p) for p in packages}
        if any(name_of(p) == top for p in packages):
            return Library(_with_installed(_needed(top, packages)), None)
    installed = installed_library(top)
    if installed:
        return Library(installed, None)
    known |= installed_names()
    classes = similar(class_name, [c for s in starts for c in known_classes(s)])
    near = (
        "nearest class: " + ", ".join(f"'{c}'" for c in classes)
        if classes
        else did_you_mean(top, known, kind="package")
    )
    places = ", ".join(f"'{p}'" for p in looked) or "any folder 'modelica' here or above"
    raise CompilationError(
        f"there is no Modelica package '{top}' in {places}, nor where OpenModelica keeps libraries",
        hint=f"{near}; or {otherwise}",
        code=Code.UNKNOWN_NAME,
    )


def shipped_library() -> Path | None:
    """Return the folder of the Modelica library that comes with fmident."""
    here = Path(__file__).parents[1]
    # Beside the package when installed; three levels up in a checkout.
    for place in (here / "modelica", here.parents[1] / "modelica"):
        if (place / "Mechanisms" / "package.mo").is_file():
            return place
    return None


def expand(sources: Iterable[Path]) -> tuple[Path, ...]:
    """Return top-level packages: a folder without ``package.mo`` stands for what is in it.

    Raises
    ------
    fmident.errors.CompilationError
        A path does not exist or holds no Modelica.
    """
    found: list[Path] = []
    for source in sources:
        if not source.exists():
            raise CompilationError(f"there is no source '{source}'", code=Code.UNKNOWN_NAME)
        if source.is_file() or (source / "package.mo").is_file():
            found.append(source)
            continue
        inside = _inside(source)
        if not inside:
            raise CompilationError(
                f"'{source}' holds no Modelica package",
                hint="name a .mo file, a folder with package.mo, or the folder above it",
            )
        found.extend(inside)
    return tuple(found)


def _inside(folder: Path) -> tuple[Path, ...]:
    """Return the top-level packages in a folder; a package itself where it is one."""
    if (folder / "package.mo").is_file():
        return (folder,)
    return tuple(
        sorted(p for p in folder.iterdir() if p.suffix == ".mo" or (p / "package.mo").is_file())
    )


def with_libraries(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Return sources that the user named and, behind them, the libraries that they use.

    These are found as OpenModelica finds them; the library that comes with fmident is there
    in any case.

    Raises
    ------
    fmident.errors.CompilationError
        One of the sources is not Modelica.
    """
    shipped = shipped_library()
    more = [] if shipped is None else [shipped]
    found = [own_source(source, more=more).sources for source in sources]
    used = (library for libraries in found for library in libraries[1:])
    by_place = {p.resolve(): p for p in (*(f[0] for f in found), *used)}
    return tuple(by_place.values())


def _needed(top: str, packages: Sequence[Path]) -> tuple[Path, ...]:
    """Return the package called `top` and, behind it, those of `packages` that it needs.

    The others are left out, so that a change in them does not make its FMUs stale.
    """
    (own,) = [p for p in packages if name_of(p) == top]
    return _with_mentioned((own,), packages)


def _with_shipped(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Add the packages of fmident's own library that the sources need and do not hold."""
    shipped = shipped_library()
    return tuple(sources) if shipped is None else _with_mentioned(sources, expand([shipped]))


def _with_installed(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Add the libraries that the sources use, as they are found for a file of the user."""
    names = {name_of(source) for source in sources}
    used = (
        p
        for source in sources
        for p in own_source(source, library=source != sources[0]).sources[1:]
    )
    return (*sources, *{name_of(p): p for p in used if name_of(p) not in names}.values())


def _with_mentioned(sources: Sequence[Path], candidates: Sequence[Path]) -> tuple[Path, ...]:
    """Add the candidates that the sources mention, the own one first, and what these mention."""
    found = list(sources)
    waiting = list(sources)
    while waiting:
        names = {name_of(p) for p in found}
        source = waiting.pop(0)
        # All words of the standard library take seconds; a library names what it needs.
        words = set() if source == found[0] else set(declared_uses(source))
        words = words or _words(source)
        for candidate in candidates:
            if name_of(candidate) in words - names:
                found.append(candidate)
                waiting.append(candidate)
    return tuple(found)


_NO_CODE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")


def _words(source: Path) -> set[str]:
    """Return all words in the code of a source; texts and comments are left out."""
    files = [file for _, file in source_files([source]) if file.suffix == ".mo"]
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return {word for text in texts for word in _WORD.findall(_NO_CODE.sub(" ", text))}


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
