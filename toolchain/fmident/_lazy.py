"""Packages whose names are imported when they are first used (PEP 562).

A child process that needs one module of the package, or a command that needs one name, does not
wait for all others.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_face(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package
        Its name.
    homes
        The module of each name of the face, in relation to the package: ``".other"`` stands
        beside it.
    """

    def getattribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        item = getattr(importlib.import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, item)
        return item

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return getattribute, names
