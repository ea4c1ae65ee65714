"""The Modelica Standard Library, and a stand-in for parts of it where it is not found."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fmident.compilers.embedded.frontend.reading.source.sources import SourceTree, read_tree

STANDARD_LIBRARY = "Modelica"
NAME_OF_STANDARD_LIBRARY = "Modelica Standard Library"

HOW_TO_GET_IT = (
    f"get the {NAME_OF_STANDARD_LIBRARY}: in omc installPackage(Modelica), or unpack a release and "
    "let MODELICAPATH name the folder that holds Modelica, ModelicaServices and Complex.mo"
)

_FOLDER = Path(__file__).parents[3] / "standin" / STANDARD_LIBRARY


@cache
def stand_in() -> SourceTree:
    """Return our own package ``Modelica``.

    It holds types of quantities, conversions, constants, functions, connectors of blocks and icons,
    with the names, units and values of version 4.0.0. What it does not hold is refused.
    """
    return read_tree(_FOLDER)


def is_stand_in(tree: SourceTree) -> bool:
    """Return whether a library is :func:`stand_in`."""
    return tree.entry == _FOLDER / "package.mo"
