"""How the classes of results show and draw themselves: functions of layers above theirs.

:mod:`fmident` says where they are; they are imported when they are first called, since templates
and Matplotlib take long.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

Panels: TypeAlias = "npt.NDArray[np.object_]"
"""Axes of Matplotlib."""

homes: dict[str, str] = {}
"""The module of each name."""


def register(names: Mapping[str, Sequence[str]]) -> None:
    """Take the names of functions by the modules in which they are."""
    homes.update({name: module for module, inside in names.items() for name in inside})


def view(name: str) -> Any:
    """Return what is registered under a name."""
    return getattr(importlib.import_module(homes[name]), name)


def plot(name: str, *arguments: Any) -> Panels:
    """Return the axes on which a registered function has drawn."""
    drawn: Panels = view(name)(*arguments)
    return drawn


def frame(rows: Any, columns: list[str] | None = None, index: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table of rows or columns; pandas is imported with the first one.

    `index` are the names of its rows.
    """
    import pandas as pd

    names = pd.Index(index, name="name") if index else None
    return pd.DataFrame(rows, columns=columns, index=names)


def stacked(parts: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table of parts, one below the other; without any it has the given columns.

    A value that is not an array is that of all rows of its part.
    """
    import pandas as pd

    tables = [pd.DataFrame(part) for part in parts]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=[*columns])
