"""Search for the libraries that a user's file needs, in OpenModelica's places.

In order: the folder of the file or package, ``MODELICAPATH``, ``OPENMODELICALIBRARY``,
``~/.openmodelica/libraries``, the installed OpenModelica, and finally OpenModelica and
Dymola installations that are not on the path. A library is a folder or file named
``Lib``, ``Lib 1.2`` or ``Lib 1.2+build``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident.compilers.openmodelica.availability import HOME_LIBRARIES, omc_folders
from fmident.compilers.platforms import source_files
from fmident.compilers.scanner import NAMES, Token, has, tokens, top_level_classes, used_libraries
from fmident.compilers.sources import (
    entry_file,
    name_of,
    plain_version,
    read_source,
    read_tree,
    version_key,
    version_of,
)
from fmident.errors import Code, CompilationError, Diagnostic

VARIABLES = ("MODELICAPATH", "OPENMODELICALIBRARY")

DYMOLA = "DYMOLA"
"""The variable that names the folder of Dymola's installation."""
_INSTALLATIONS: Sequence[tuple[str, str, str]] = (
    ("/usr/lib", "omlibrary", ""),
    ("/opt", "openmodelica*", "lib/omlibrary"),
    ("/opt", "dymola*", "Modelica/Library"),
    ("C:/Program Files", "OpenModelica*", "lib/omlibrary"),
    ("C:/Program Files", "Dymola*", "Modelica/Library"),
)
"""Folder, what is in it, and where the libraries are in that."""

_MOST_NAMED = 6


@dataclass(frozen=True)
class OwnSource:
    """A user's file or package, the libraries it uses, and its top-level classes.

    `notes` name libraries that are missing or found in another version.
    """

    sources: tuple[Path, ...]
    classes: tuple[str, ...]
    notes: tuple[Diagnostic, ...]


def own_source(
    path: Path,
    environment: Mapping[str, str] = os.environ,
    *,
    more: Sequence[Path] = (),
    library: bool = False,
) -> OwnSource:
    """Find what a user's file needs.

    `path` is a Modelica file, possibly inside a package, or a folder with ``package.mo``;
    `more` are folders to search last. For a `library`, only ``uses`` counts. Raises
    `CompilationError` if the file does not exist or is not Modelica.
    """
    own = _package_of(path)
    usual = search_folders(own, environment)
    folders = tuple(dict.fromkeys((*usual, *more)))
    libraries: dict[str, Path] = {}
    notes: list[Diagnostic] = []
    classes = _classes_of(own)
    there = _names_in(folders)
    waiting = [own]
    while waiting:
        source = waiting.pop(0)
        wanted = _wanted(source, there - {*classes}, library=library or source != own)
        for name, version in wanted.items():
            if name in classes or name in libraries:
                continue
            place = find_library(name, version or "", folders)
            if place is None:
                # Whether a class needs more of it than the stand-in has, the compiler says.
                if version is not None and name != "Modelica":
                    notes.append(_not_found(name, version, environment))
                continue
            libraries[name] = place
            waiting.append(place)
            if version and version_of(place) not in ("", plain_version(version)):
                notes.append(
                    Diagnostic(
                        "warning",
                        f"{name} {version} is asked for; {name} {version_of(place)} in"
                        f" '{place.parent}' is the nearest there is",
                        hint=f'in omc: installPackage({name}, "{version}", exactMatch=true);'
                        f" or name {version_of(place)} in the uses annotation",
                        rule="library-version",
                    )
                )
    return OwnSource((own, *libraries.values()), classes, tuple(notes))


def buildable_classes(source: Path, file: Path) -> tuple[str, ...]:
    """Return the models and blocks in `source` that can be simulated, or those in its `file`."""
    places = {
        name: item.file.resolve()
        for name, item in read_tree(source).classes.items()
        if item.keyword in ("model", "block", "class")
        and all(token.text != "partial" for token in item.prefixes)
    }
    one = file.resolve() if file.is_file() and file.name != "package.mo" else None
    return tuple(sorted(n for n, place in places.items() if one is None or place == one))


def search_folders(own: Path | None, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the existing folders in which to search for libraries of the package `own`."""
    named = [
        Path(part).expanduser()
        for variable in VARIABLES
        for part in environment.get(variable, "").split(os.pathsep)
        if part
    ]
    beside = [] if own is None else [own.resolve().parent]
    home = HOME_LIBRARIES.expanduser()
    candidates = [*beside, *named, home, *omc_folders(environment), *_installed(environment)]
    return tuple(dict.fromkeys(folder for folder in candidates if folder.is_dir()))


def _installed(environment: Mapping[str, str]) -> list[Path]:
    """Return the library folders of OpenModelica and Dymola, newest version first."""
    dymola = environment.get(DYMOLA)
    folders = [Path(dymola) / "Modelica" / "Library"] if dymola else []
    roaming = environment.get("APPDATA")
    if roaming:  # OpenModelica's package manager under Windows
        folders.append(Path(roaming) / ".openmodelica" / "libraries")
    for place, pattern, inside in _INSTALLATIONS:
        versions = sorted(
            Path(place).glob(pattern), key=lambda p: version_key(p.name), reverse=True
        )
        folders += [folder / inside for folder in versions]
    return folders


def find_library(name: str, version: str, folders: Sequence[Path]) -> Path | None:
    """Return a library's folder or file, preferably in the requested version.

    Next come one without version, the newest of the same major version, and the newest.
    Build metadata is ignored: ``4.0.0+maint.om`` is 4.0.0.
    """
    asked = plain_version(version)
    candidates = _candidates(name, folders)
    exact = [p for p in candidates if asked and version_of(p) == asked]
    unnamed = [p for p in candidates if version_of(p) == ""]
    major = version_key(asked)[:1]
    alike = [p for p in candidates if major and version_key(version_of(p))[:1] == major]
    return next(iter((*exact, *unnamed, *alike, *candidates)), None)


def shipped_library() -> Path | None:
    """Return the folder of the Modelica library that ships with fmident."""
    here = Path(__file__).parents[1]
    # Beside the package when installed; three levels up in a checkout.
    for place in (here / "modelica", here.parents[1] / "modelica"):
        if (place / "Mechanisms" / "package.mo").is_file():
            return place
    return None


def installed_library(name: str, environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return an installed library, in the newest version, and the libraries it uses."""
    place = find_library(name, "", search_folders(None, environment))
    return own_source(place, environment, library=True).sources if place else ()


def installed_libraries(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the libraries that :func:`installed_library` finds."""
    folders = search_folders(None, environment)
    places = (find_library(name, "", folders) for name in sorted(_names_in(folders)))
    return tuple(place for place in places if place is not None)


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
        inside = packages_in(source)
        if not inside:
            raise CompilationError(
                f"'{source}' holds no Modelica package",
                hint="name a .mo file, a folder with package.mo, or the folder above it",
            )
        packages.extend(inside)
    return tuple(packages)


def packages_in(folder: Path) -> tuple[Path, ...]:
    """Return the packages in a folder, or itself if it is one."""
    if (folder / "package.mo").is_file():
        return (folder,)
    return tuple(
        sorted(p for p in folder.iterdir() if p.suffix == ".mo" or (p / "package.mo").is_file())
    )


def _names_in(folders: Iterable[Path]) -> frozenset[str]:
    return frozenset(
        name_of(place)
        for folder in folders
        for place in folder.iterdir()
        if place.suffix == ".mo" or (place / "package.mo").is_file()
    )


def _candidates(name: str, folders: Sequence[Path]) -> list[Path]:
    candidates: list[Path] = []
    for folder in folders:
        plain = folder / name
        if (plain / "package.mo").is_file():
            candidates.append(plain)
        candidates += sorted(
            (p for p in folder.glob(f"{name} *") if (p / "package.mo").is_file()),
            key=lambda p: version_key(version_of(p)),
            reverse=True,
        )
        candidates += [
            f for f in (folder / f"{name}.mo", *folder.glob(f"{name} *.mo")) if f.is_file()
        ]
    return candidates


def _package_of(path: Path) -> Path:
    if path.is_dir():
        if not (path / "package.mo").is_file():
            raise CompilationError(
                f"'{path}' is not a Modelica package: it has no package.mo",
                hint="name a .mo file, or a folder with package.mo",
            )
        path = path / "package.mo"
    elif not path.is_file():
        near = sorted(path.parent.glob("*.mo")) if path.parent.is_dir() else []
        raise CompilationError(
            f"there is no file '{path}'",
            hint="there is: " + ", ".join(f"'{p}'" for p in near[:5]) if near else "check the path",
            code=Code.UNKNOWN_NAME,
        )
    entry = entry_file(path)
    return entry.parent if entry.name == "package.mo" else entry


def _classes_of(own: Path) -> tuple[str, ...]:
    file = own / "package.mo" if own.is_dir() else own
    names = top_level_classes(read_source(file))
    if not names:
        raise CompilationError(f"'{file}' declares no Modelica class")
    return names


def declared_uses(source: Path) -> dict[str, str]:
    """Return the libraries in the annotation ``uses`` of a package, with versions."""
    return used_libraries(read_source(source / "package.mo" if source.is_dir() else source))


def _wanted(source: Path, there: frozenset[str], *, library: bool) -> dict[str, str | None]:
    """Return the libraries named by ``uses``, with versions, and those `there` that are mentioned.

    For a library only ``uses`` is read: scanning the standard library takes 3 s. For the same
    reason a text is scanned only if it contains one of the names.
    """
    if library and (declared := declared_uses(source)):
        return {**declared}
    texts = [read_source(file) for name, file in source_files([source]) if name.endswith(".mo")]
    wanted: dict[str, str] = {}
    for text in (text for text in texts if "uses" in text):
        wanted = {**used_libraries(text), **wanted}
    sought = there - wanted.keys()
    mentioned: set[str] = set()
    for text in texts:
        if any(name in text for name in sought):
            mentioned |= _heads(tuple(tokens(text)))
    return {**dict.fromkeys(sorted(mentioned & sought)), **wanted}


def _heads(stream: Sequence[Token]) -> set[str]:
    """Return the first parts of dotted names, with or without a dot before them."""
    return {
        token.text
        for i, token in enumerate(stream)
        if token.kind == "word"
        and has(stream, i + 1, ".")
        and not (has(stream, i - 1, ".") and i > 1 and stream[i - 2].kind in NAMES)
    }


def _not_found(name: str, version: str, environment: Mapping[str, str]) -> Diagnostic:
    return Diagnostic(
        "warning",
        f"the library {name} {version} is used and not found",
        hint=f"let MODELICAPATH name the folder that holds '{name}'; {modelica_path(environment)}",
        rule="missing-library",
    )


def modelica_path(environment: Mapping[str, str] = os.environ) -> str:
    """Return a description of the contents of each entry of ``MODELICAPATH``."""
    parts = [part for part in environment.get(VARIABLES[0], "").split(os.pathsep) if part]
    if not parts:
        return f"{VARIABLES[0]} is not set"
    return f"{VARIABLES[0]} names " + ", ".join(f"'{p}', {_contents(p)}" for p in parts)


def _contents(part: str) -> str:
    """Return a description of a path entry: its libraries, none, or an error."""
    folder = Path(part).expanduser()
    if not folder.exists():
        return "which is not there"
    if folder.is_file() and folder.suffix != ".mo":
        return "which is a file, not a folder"
    if folder.is_file() or (folder / "package.mo").is_file():
        return f"which is a library itself: name '{folder.absolute().parent}'"
    if names := sorted(_names_in([folder])):
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f"which holds {', '.join(names[:_MOST_NAMED])}{more}"
    below = next((p for p in sorted(folder.iterdir()) if p.is_dir() and _names_in([p])), None)
    instead = f": name '{below}' below it" if below else ""
    return f"which holds no library{instead}"
