"""Locate the Modelica source of a class: the user's, fmident's or OpenModelica's."""

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
    """Location of the source of a class.

    `sources` are top-level packages: folders with ``package.mo``, or files. `project` is
    the folder that holds ``modelica/``; ``None`` for the library that ships with fmident
    and for sources named by the user.
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

    ``modelica/`` is searched for in the folders `starts` and their parents, then in
    fmident, then where OpenModelica keeps libraries. `otherwise` is a hint on how the user
    can name the source. Raises `CompilationError`, listing the searched folders, if there
    is none.
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
    """Return the folder of the Modelica library that ships with fmident."""
    here = Path(__file__).parents[1]
    # Beside the package when installed; three levels up in a checkout.
    for place in (here / "modelica", here.parents[1] / "modelica"):
        if (place / "Mechanisms" / "package.mo").is_file():
            return place
    return None


def expand(sources: Iterable[Path]) -> tuple[Path, ...]:
    """Return top-level packages; a folder without ``package.mo`` is replaced by its contents.

    Raises `CompilationError` if a path does not exist or contains no Modelica.
    """
    packages: list[Path] = []
    for source in sources:
        if not source.exists():
            raise CompilationError(f"there is no source '{source}'", code=Code.UNKNOWN_NAME)
        if source.is_file() or (source / "package.mo").is_file():
            packages.append(source)
            continue
        inside = _inside(source)
        if not inside:
            raise CompilationError(
                f"'{source}' holds no Modelica package",
                hint="name a .mo file, a folder with package.mo, or the folder above it",
            )
        packages.extend(inside)
    return tuple(packages)


def _inside(folder: Path) -> tuple[Path, ...]:
    """Return the top-level packages in a folder, or the folder itself if it is a package."""
    if (folder / "package.mo").is_file():
        return (folder,)
    return tuple(
        sorted(p for p in folder.iterdir() if p.suffix == ".mo" or (p / "package.mo").is_file())
    )


def with_libraries(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Return the user's sources followed by the libraries that they use.

    Libraries are located as OpenModelica does; the one that ships with fmident is always
    available. Raises `CompilationError` if a source is not Modelica.
    """
    shipped = shipped_library()
    more = [] if shipped is None else [shipped]
    libraries_by_source = [own_source(source, more=more).sources for source in sources]
    used = (library for libraries in libraries_by_source for library in libraries[1:])
    by_place = {p.resolve(): p for p in (*(f[0] for f in libraries_by_source), *used)}
    return tuple(by_place.values())


def _needed(top: str, packages: Sequence[Path]) -> tuple[Path, ...]:
    """Return the package `top` followed by those of `packages` that it needs.

    The others are left out, so that a change in them does not make its FMUs stale.
    """
    (own,) = [p for p in packages if name_of(p) == top]
    return _with_mentioned((own,), packages)


def _with_shipped(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Add the packages of fmident's library that the sources need but do not contain."""
    shipped = shipped_library()
    return tuple(sources) if shipped is None else _with_mentioned(sources, expand([shipped]))


def _with_installed(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Add the installed libraries that the sources use."""
    names = {name_of(source) for source in sources}
    used = (
        p
        for source in sources
        for p in own_source(source, library=source != sources[0]).sources[1:]
    )
    return (*sources, *{name_of(p): p for p in used if name_of(p) not in names}.values())


def _with_mentioned(sources: Sequence[Path], candidates: Sequence[Path]) -> tuple[Path, ...]:
    """Add the candidates that the sources mention, and transitively what those mention."""
    selected = list(sources)
    waiting = list(sources)
    while waiting:
        names = {name_of(p) for p in selected}
        source = waiting.pop(0)
        # All words of the standard library take seconds; a library names what it needs.
        words = set() if source == selected[0] else set(declared_uses(source))
        words = words or _words(source)
        for candidate in candidates:
            if name_of(candidate) in words - names:
                selected.append(candidate)
                waiting.append(candidate)
    return tuple(selected)


_NO_CODE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")


def _words(source: Path) -> set[str]:
    """Return all words in the code of a source, without strings and comments."""
    files = [file for _, file in source_files([source]) if file.suffix == ".mo"]
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return {word for text in texts for word in _WORD.findall(_NO_CODE.sub(" ", text))}


@dataclass(frozen=True)
class Origin:
    """An FMU with its catalogue and entry; both are ``None`` if no catalogue lists it."""

    fmu: Path
    catalog: Catalog | None = None
    entry: Entry | None = None

    def location(self, check: Check | None = None) -> Location:
        """Return the location to show when `check` has failed, or the FMU cannot be used.

        This is the class in the Modelica source if available. It is the catalogue entry for a
        check against the catalogue or without a source, and the FMU if there is neither.
        """
        if check is None or check.name not in _OF_THE_CATALOGUE:
            class_place = self._class_location()
            if class_place is not None:
                return class_place
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
    """Return where a class is defined in the sources; ``None`` if it is not there."""
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
