"""FMUs and classes to suggest for a name that has none: those in reach, those of the catalogue."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from fmident.errors import nearest
from fmident.words import listed

FOLDER, CATALOG = "fmus", "catalog.toml"

_MOST = 12


def advice(path: Path, base: Path | None = None) -> str:
    """Return a hint for an FMU that is not there.

    Parameters
    ----------
    path
        What was asked for.
    base
        The folder that names are relative to; the working directory by default. FMUs are looked
        for beside `path`, here, and in ``fmus/`` here or in the nearest folder above.
    """
    base = Path() if base is None else base
    places = (path.parent, base, *_folders(base))
    there = {file.stem: file for place in places for file in _files(place)}
    in_catalog = {Path(file).stem: (name, file) for name, file in _in_catalog(base)}
    known = sorted({*there, *in_catalog})
    if not known:
        return "check the path, or build it with 'fmident build'"

    def shown(stem: str) -> str:
        if stem in there:
            return f"'{_relative(there[stem], base)}'"
        name, file = in_catalog[stem]
        return f"'{Path(file).name}' of the catalogue (fmident build {name})"

    close = similar(path.stem, known)
    if close:
        return "nearest FMU: " + ", ".join(shown(stem) for stem in close)
    return f"there are: {listed(map(shown, known), _MOST)}"


def known_classes(base: Path) -> list[str]:
    """Return the classes of the nearest catalogue, and the names of the FMUs in ``fmus/``."""
    built = (file.stem for place in _folders(base) for file in _files(place))
    return sorted({*built, *(name for name, _ in _in_catalog(base))})


def similar(name: str, known: list[str]) -> list[str]:
    """Return the names most similar to one; a class may be named without its packages."""
    close = nearest(name, known)
    by_end: dict[str, str] = {}
    for candidate in known:
        by_end.setdefault(candidate.rpartition(".")[2], candidate)
    ends = [by_end[end] for end in nearest(name.rpartition(".")[2], by_end, 1)]
    return close or ends


def _folders(base: Path) -> list[Path]:
    """Return ``fmus`` here or in the nearest folder above; none where there is no such folder."""
    start = base.absolute()
    candidates = (folder / FOLDER for folder in (start, *start.parents))
    return [place for place in candidates if place.is_dir()][:1]


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(p for p in folder.iterdir() if p.suffix == ".fmu")
    except OSError:  # nothing that may be read is there
        return


def nearest_catalog(start: Path) -> Path | None:
    """Return the catalogue in a folder, in ``fmus/`` there, or in the nearest folder above."""
    for folder in (start.resolve(), *start.resolve().parents):
        for place in (folder / FOLDER / CATALOG, folder / CATALOG):
            if place.is_file():
                return place
    return None


def _in_catalog(base: Path) -> Iterator[tuple[str, str]]:
    """Yield classes and files of the nearest catalogue; of one that is wrong, what can be read."""
    catalog = nearest_catalog(base)
    if catalog is None:
        return
    try:
        content = tomllib.loads(catalog.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return
    entries = content.get("fmus")
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("class") if isinstance(entry, Mapping) else None
        if isinstance(name, str):
            file = entry.get("file")
            yield name, file if isinstance(file, str) else f"{name}.fmu"


def _relative(path: Path, base: Path) -> str:
    try:
        return os.path.relpath(path, base)
    except ValueError:  # on another drive
        return str(path)
