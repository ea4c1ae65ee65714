"""Find the libraries that a user's own file needs, where OpenModelica would find them.

These are, in this order: the folder that holds the file or package, the folders of
``MODELICAPATH`` and ``OPENMODELICALIBRARY``, the user's own ``~/.openmodelica/libraries``
and those of the installed OpenModelica. In each a library ``Lib`` is a folder ``Lib``, a
folder with its version such as ``Lib 1.2`` or ``Lib 1.2+build``, or a file ``Lib.mo`` or
``Lib 1.2.mo``. Last come the folders of OpenModelica and Dymola where these are installed and not
on the path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident.compilers.openmodelica.availability import (
    HOME_LIBRARIES,
    name_of,
    omc_folders,
    plain_version,
    version_key,
    version_of,
)
from fmident.compilers.openmodelica.sources import (
    entry_file,
    read_source,
    top_level_classes,
    used_libraries,
    without_comments,
)
from fmident.compilers.platforms import source_files
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
_HEAD = re.compile(r"(?<![\w.])\.?([A-Za-z_]\w*)\s*\.\s*[A-Za-z_]")


@dataclass(frozen=True)
class OwnSource:
    """A user's file or package and what it needs.

    Parameters
    ----------
    sources
        The package or file itself, then the libraries that it uses.
    classes
        Names of the top-level classes in it.
    notes
        Libraries found in another version than asked for, or not at all.
    """

    sources: tuple[Path, ...]
    classes: tuple[str, ...]
    notes: tuple[Diagnostic, ...]


def own_source(
    path: Path,
    environment: Mapping[str, str] | None = None,
    *,
    more: Sequence[Path] = (),
    library: bool = False,
) -> OwnSource:
    """Find what belongs to a user's file.

    Parameters
    ----------
    path
        A Modelica file (which may lie inside a package), or a folder with ``package.mo``.
    environment
        Variables; those of the process by default.
    more
        Folders to look in when all others have nothing.
    library
        It is a library: what its annotation ``uses`` names is all that it needs.

    Raises
    ------
    fmident.errors.CompilationError
        There is no such file, or it is not Modelica.
    """
    own = _package_of(path)
    variables = os.environ if environment is None else environment
    usual = search_folders(own, variables)
    folders = tuple(dict.fromkeys((*usual, *more)))
    found: dict[str, Path] = {}
    notes: list[Diagnostic] = []
    classes = _classes_of(own)
    there = _names_in(folders)
    waiting = [own]
    while waiting:
        source = waiting.pop(0)
        wanted, mentioned = _wanted(source, library=library or source != own)
        for name, version in {**dict.fromkeys(sorted(mentioned & there)), **wanted}.items():
            if name in classes or name in found:
                continue
            place = find_library(name, version or "", folders)
            if place is None:
                # Whether a class needs more of it than the stand-in has, the compiler says.
                if version is not None and name != "Modelica":
                    notes.append(_not_found(name, version, variables))
                continue
            found[name] = place
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
    return OwnSource((own, *found.values()), classes, tuple(notes))


def buildable_classes(source: Path, file: Path) -> tuple[str, ...]:
    """Return the full names of the models and blocks that can be simulated.

    Parameters
    ----------
    source
        A file, or a folder with ``package.mo``.
    file
        A file inside that folder, of which the classes are wanted; any other path for all.
    """
    # Imported late: it brings all of the embedded compiler with it, which takes a second.
    from fmident.compilers.embedded.frontend.reading.source.sources import read_tree

    found = {
        name: item.file.resolve()
        for name, item in read_tree(source).classes.items()
        if item.keyword in ("model", "block", "class")
        and all(token.text != "partial" for token in item.prefixes)
    }
    one = file.resolve() if file.is_file() and file.name != "package.mo" else None
    return tuple(sorted(n for n, place in found.items() if one is None or place == one))


def search_folders(own: Path | None, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders in which libraries are looked for, those that exist.

    Parameters
    ----------
    own
        The user's top-level file or package; ``None`` without any.
    environment
        Where the variables are.
    """
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
    """Return the folders of libraries of OpenModelica and Dymola, the newest version first."""
    dymola = environment.get(DYMOLA)
    folders = [Path(dymola) / "Modelica" / "Library"] if dymola else []
    roaming = environment.get("APPDATA")
    if roaming:  # OpenModelica's package manager under Windows
        folders.append(Path(roaming) / ".openmodelica" / "libraries")
    for place, pattern, inside in _INSTALLATIONS:
        found = sorted(Path(place).glob(pattern), key=lambda p: version_key(p.name), reverse=True)
        folders += [folder / inside for folder in found]
    return folders


def find_library(name: str, version: str, folders: Sequence[Path]) -> Path | None:
    """Return a library's folder or file; one of the version asked for comes first.

    Without it, one whose version is not said; then the newest of the same major version,
    then the newest. Build metadata does not count: ``4.0.0+maint.om`` is 4.0.0.

    Parameters
    ----------
    name
        Of the library.
    version
        As ``uses`` gives it; empty for any.
    folders
        Searched in order.
    """
    asked = plain_version(version)
    candidates = _candidates(name, folders)
    exact = [p for p in candidates if asked and version_of(p) == asked]
    unnamed = [p for p in candidates if version_of(p) == ""]
    major = version_key(asked)[:1]
    alike = [p for p in candidates if major and version_key(version_of(p))[:1] == major]
    return next(iter((*exact, *unnamed, *alike, *candidates)), None)


def installed_library(name: str, environment: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Return a library as OpenModelica finds it without any source, and what it uses.

    Parameters
    ----------
    name
        Of the library, such as ``Modelica``: the newest that is installed is taken.
    environment
        Variables; those of the process by default.

    Returns
    -------
    tuple of Path
        The library itself first; empty where there is none.
    """
    variables = os.environ if environment is None else environment
    place = find_library(name, "", search_folders(None, variables))
    if place is None:
        return ()
    found = {name: place}
    waiting = [place]
    while waiting:
        source = waiting.pop(0)
        for used, version in declared_uses(source).items():
            folders = (source.parent, *search_folders(None, variables))
            other = None if used in found else find_library(used, version, folders)
            if other is not None:
                found[used] = other
                waiting.append(other)
    return tuple(found.values())


def installed_names(environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the names of the libraries that :func:`installed_library` finds."""
    return _names_in(search_folders(None, os.environ if environment is None else environment))


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
    """Return the top-level file or folder that a path belongs to."""
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
    if entry == path and path.name == "package.mo":
        entry = path
    return entry.parent if entry.name == "package.mo" else entry


def _classes_of(own: Path) -> tuple[str, ...]:
    file = own / "package.mo" if own.is_dir() else own
    names = top_level_classes(read_source(file))
    if not names:
        raise CompilationError(f"'{file}' declares no Modelica class")
    return names


def declared_uses(source: Path) -> dict[str, str]:
    """Return the libraries that the annotation ``uses`` of a package names, with versions."""
    return used_libraries(read_source(source / "package.mo" if source.is_dir() else source))


def _wanted(source: Path, *, library: bool) -> tuple[dict[str, str], set[str]]:
    """Return libraries named by ``uses`` with their versions, and first parts of dotted names.

    Of a library its own ``uses`` is enough: all names of the standard library take 3 s to read.
    """
    wanted = declared_uses(source) if library else {}
    if wanted:
        return wanted, set()
    mentioned: set[str] = set()
    for name, file in source_files([source]):
        if not name.endswith(".mo"):
            continue
        text = read_source(file)
        for used, version in used_libraries(text).items():
            wanted.setdefault(used, version)
        mentioned |= set(_HEAD.findall(without_comments(text)))
    return wanted, mentioned


def _not_found(name: str, version: str, environment: Mapping[str, str]) -> Diagnostic:
    return Diagnostic(
        "warning",
        f"the library {name} {version} is used and not found",
        hint=f"let MODELICAPATH name the folder that holds '{name}'; {modelica_path(environment)}",
        rule="missing-library",
    )


def modelica_path(environment: Mapping[str, str] | None = None) -> str:
    """Return what each entry of ``MODELICAPATH`` holds, in words."""
    variables = os.environ if environment is None else environment
    parts = [part for part in variables.get(VARIABLES[0], "").split(os.pathsep) if part]
    if not parts:
        return f"{VARIABLES[0]} is not set"
    return f"{VARIABLES[0]} names " + ", ".join(f"'{p}', {_contents(p)}" for p in parts)


def _contents(part: str) -> str:
    """Return what an entry of the path holds: libraries, none, or a mistake."""
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
