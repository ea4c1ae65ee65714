"""Files that contain a class and its dependencies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fmident.compilers.libraries import find_library
from fmident.compilers.scanner import top_level_classes, used_libraries
from fmident.compilers.sources import entry_file, name_of, read_source
from fmident.errors import Code, CompilationError, did_you_mean

CLASS_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class LoadPlan:
    """Files that omc must load, with all dependencies, libraries first.

    `missing` are libraries not among the sources, with the requested version; `has_class` says
    whether the class's top-level package is among them.
    """

    files: tuple[Path, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    has_class: bool = True


def plan_loading(class_name: str, sources: Sequence[Path]) -> LoadPlan:
    """Find the class among the sources (files or folders), and what its top-level class uses."""
    if not CLASS_NAME.fullmatch(class_name):
        raise CompilationError(
            f"'{class_name}' is not the full name of a Modelica class",
            hint="give names with dots between, such as Mechanisms.FMUs.DeltaInverse",
        )
    for source in sources:
        if not source.exists():
            raise CompilationError(
                f"there is no source '{source}'",
                hint="give Modelica files, or folders that hold a 'package.mo'",
                code=Code.UNKNOWN_NAME,
            )
    top = class_name.partition(".")[0]
    files: list[Path] = []
    missing: dict[str, str] = {}
    begun: set[Path] = set()  # Modelica and ModelicaServices use each other

    def add(name: str, version: str) -> None:
        """Add a library, preceded by what it uses."""
        entry = find_top_level(name, sources)
        if entry is None:
            missing.setdefault(name, version)
        elif entry not in begun:
            begun.add(entry)
            for other, asked in used_libraries(read_source(entry)).items():
                add(other, asked)
            files.append(entry)

    add(top, "")
    # A single file that was named is meant, even if nothing 'uses' it by annotation.
    for source in sources:
        entry = entry_file(source) if source.is_file() else None
        if entry is not None and entry not in files:
            files.insert(0, entry)
    return LoadPlan(tuple(files), missing, find_top_level(top, sources) is not None)


def find_top_level(name: str, sources: Sequence[Path]) -> Path | None:
    """Return the file to load for the top-level class `name`, or ``None``."""
    for source in sources:
        if source.is_file():
            entry = entry_file(source)
            if name in top_level_classes(read_source(entry)):
                return entry
            continue
        place = source if name_of(source.resolve()) == name else None
        if place is None or not (place / "package.mo").is_file():
            place = find_library(name, "", [source])
        if place is not None:
            return place / "package.mo" if place.is_dir() else place
    return None


def missing_source(class_name: str, sources: Sequence[Path]) -> str:
    """Return a hint for a top-level class that is in no source and no library."""
    classes: set[str] = set()
    for source in sources:
        if source.is_file():
            classes.update(top_level_classes(read_source(source)))
        elif (source / "package.mo").is_file():
            classes.add(source.resolve().name.partition(" ")[0])
        else:
            classes.update(p.parent.name.partition(" ")[0] for p in source.glob("*/package.mo"))
            classes.update(p.stem for p in source.glob("*.mo"))
    top = class_name.partition(".")[0]
    return "in the sources, " + did_you_mean(top, classes, kind="top-level class")
