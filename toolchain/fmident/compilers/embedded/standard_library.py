"""The Modelica Standard Library, and a substitute for parts of it if it is not found."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from fmident.compilers.libraries import find_library, modelica_path, search_folders
from fmident.compilers.scanner import annotation_arguments, tokens
from fmident.compilers.sources import SourceTree, read_source, read_tree

STANDARD_LIBRARY = "Modelica"
NAME_OF_STANDARD_LIBRARY = "Modelica Standard Library"

WORKING_VERSIONS = ("4.0.0", "4.1.0")

_FOLDER = Path(__file__).parent / "standin" / STANDARD_LIBRARY


HOW_TO_GET_IT = (
    f"get the {NAME_OF_STANDARD_LIBRARY} {' or '.join(WORKING_VERSIONS)}: unpack a release of"
    " github.com/modelica/ModelicaStandardLibrary and let MODELICAPATH name the folder that"
    " holds Modelica, ModelicaServices and Complex.mo"
)


def whereabouts() -> str:
    """Return the library's location and version, or the searched locations."""
    place = find_library(STANDARD_LIBRARY, "", search_folders(None, os.environ))
    if place is None:
        return f"not found; {modelica_path()}"
    text = read_source(place / "package.mo") if place.is_dir() else ""
    version = annotation_arguments(tuple(tokens(text)), "version").get("version", "").strip('"')
    return f"{place}, version {version}" if version else str(place)


@cache
def stand_in() -> SourceTree:
    """Return the built-in substitute for the package ``Modelica``.

    Its types, conversions, constants, functions, block connectors and icons are those of
    version 4.0.0. Everything else is refused.
    """
    return read_tree(_FOLDER)


def is_stand_in(tree: SourceTree) -> bool:
    """Return whether a library is :func:`stand_in`."""
    return tree.entry == _FOLDER / "package.mo"
