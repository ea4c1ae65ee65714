"""Classes of this repository's library, as their source says; read once.

Those of the standard library are the stand-in's of the embedded compiler.
"""

from __future__ import annotations

from functools import cache

from drawing.classes import Libraries
from drawing.library import read_library
from drawing.tree import Class
from machines import LIBRARY

from fmident.compilers.embedded.standard_library import stand_in


@cache
def libraries() -> Libraries:
    return Libraries([read_library(LIBRARY), read_library(stand_in().entry.parent)])


def own_classes() -> list[Class]:
    """Return the classes of the library itself."""
    return [*libraries().roots[LIBRARY.name].walk()]
