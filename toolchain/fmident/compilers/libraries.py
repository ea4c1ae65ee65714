"""Find the libraries that a user's own file needs, where OpenModelica would find them.

These are, in this order: the folder that holds the file or package, the folders of
``MODELICAPATH`` and ``OPENMODELICALIBRARY``, and the user's own
``~/.openmodelica/libraries``. In each a library ``Lib`` is a folder ``Lib``, a folder with
its version such as ``Lib 1.2``, or a file ``Lib.mo``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident.compilers.openmodelica.sources import (
    entry_file,
    read_source,
    top_level_classes,
    used_libraries,
    without_comments,
)
from fmident.compilers.staleness import source_files
from fmident.errors import CompilationError, Diagnostic

VARIABLES = ("MODELICAPATH", "OPENMODELICALIBRARY")
HOME_LIBRARIES = Path("~/.openmodelica/libraries")

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

    Raises
    ------
    fmident.errors.CompilationError
        There is no such file, or it is no Modelica.
    """
    own = _package_of(path)
    usual = search_folders(own, os.environ if environment is None else environment)
    folders = tuple(dict.fromkeys((*usual, *more)))
    found: dict[str, Path] = {}
    notes: list[Diagnostic] = []
    classes = _classes_of(own)
    waiting = [own]
    while waiting:
        source = waiting.pop(0)
        wanted, mentioned = _wanted(source)
        for name, version in {**dict.fromkeys(mentioned, None), **wanted}.items():
            if name in classes or name in found:
                continue
            place = find_library(name, version or "", folders)
            if place is None:
                if version is not None:
                    notes.append(_not_found(name, version, folders))
                continue
            found[name] = place
            waiting.append(place)
            if version and _version_of(place) not in ("", version):
                notes.append(
                    Diagnostic(
                        "warning",
                        f"{name} {version} is asked for; '{place}' is the nearest there is",
                        rule="library-version",
                    )
                )
    return OwnSource((own, *found.values()), classes, tuple(notes))


def search_folders(own: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders in which libraries are looked for, those that exist.

    Parameters
    ----------
    own
        The user's top-level file or package.
    environment
        Where the variables are.
    """
    named = [
        Path(part).expanduser()
        for variable in VARIABLES
        for part in environment.get(variable, "").split(os.pathsep)
        if part
    ]
    candidates = [own.resolve().parent, *named, HOME_LIBRARIES.expanduser()]
    return tuple(dict.fromkeys(folder for folder in candidates if folder.is_dir()))


def find_library(name: str, version: str, folders: Sequence[Path]) -> Path | None:
    """Return a library's folder or file; one of the version asked for comes first.

    Parameters
    ----------
    name
        Of the library.
    version
        As ``uses`` gives it; empty for any.
    folders
        Searched in order.
    """
    candidates: list[Path] = []
    for folder in folders:
        plain = folder / name
        if (plain / "package.mo").is_file():
            candidates.append(plain)
        candidates += sorted(
            (p for p in folder.glob(f"{name} *") if (p / "package.mo").is_file()),
            key=lambda p: _version_key(_version_of(p)),
            reverse=True,
        )
        if (file := folder / f"{name}.mo").is_file():
            candidates.append(file)
    exact = [p for p in candidates if version and _version_of(p) == version]
    unnamed = [p for p in candidates if _version_of(p) == ""]
    return next(iter((*exact, *unnamed, *candidates)), None)


def _package_of(path: Path) -> Path:
    """Return the top-level file or folder that a path belongs to."""
    if path.is_dir():
        if not (path / "package.mo").is_file():
            raise CompilationError(
                f"'{path}' is no Modelica package: it has no package.mo",
                hint="name a .mo file, or a folder with package.mo",
            )
        path = path / "package.mo"
    elif not path.is_file():
        near = sorted(path.parent.glob("*.mo")) if path.parent.is_dir() else []
        raise CompilationError(
            f"there is no file '{path}'",
            hint="there is: " + ", ".join(f"'{p}'" for p in near[:5]) if near else "check the path",
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


def _wanted(source: Path) -> tuple[dict[str, str], set[str]]:
    """Return libraries named by ``uses`` with their versions, and first parts of dotted names."""
    wanted: dict[str, str] = {}
    mentioned: set[str] = set()
    for name, file in source_files([source]):
        if not name.endswith(".mo"):
            continue
        text = read_source(file)
        for library, version in used_libraries(text).items():
            wanted.setdefault(library, version)
        mentioned |= set(_HEAD.findall(without_comments(text)))
    return wanted, mentioned


def _version_of(place: Path) -> str:
    return place.name.partition(" ")[2] if place.is_dir() else ""


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _not_found(name: str, version: str, folders: Sequence[Path]) -> Diagnostic:
    return Diagnostic(
        "warning",
        f"the library {name} {version} is used, but not in "
        + ", ".join(f"'{folder}'" for folder in folders),
        hint=f"let MODELICAPATH name the folder that holds '{name}'",
        rule="missing-library",
    )
