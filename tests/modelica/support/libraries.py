"""Classes of this repository's libraries, as their source says; read once."""

from __future__ import annotations

from functools import cache

from drawing.classes import Libraries
from drawing.library import read_library
from machines import LIBRARY

STANDARD = LIBRARY.parent / "MechanismsMSL"


@cache
def libraries() -> Libraries:
    return Libraries([read_library(LIBRARY), read_library(STANDARD)])
