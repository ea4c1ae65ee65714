"""How the classes of results show and draw themselves: functions of layers above theirs.

:mod:`fmident` says where they are; they are imported when they are first called, since templates
and Matplotlib take long.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

homes: dict[str, str] = {}
"""The module of each name."""


def register(names: Mapping[str, Sequence[str]]) -> None:
    """Take the names of functions by the modules in which they are."""
    homes.update({name: module for module, inside in names.items() for name in inside})


def view(name: str) -> Any:
    """Return what is registered under a name."""
    return getattr(importlib.import_module(homes[name]), name)
