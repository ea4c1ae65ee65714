"""What the experiments of a problem file are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fmident.errors import Code, ProblemError, did_you_mean

ROLES = ("estimation", "validation")
"""Values of ``role``, the default first."""


def held_out(document: Mapping[str, Any], names: Sequence[str], file: str) -> dict[str, object]:
    """Return the overrides that leave experiments out of the fit.

    Parameters
    ----------
    document
        The problem file.
    names
        Of the experiments.
    file
        For messages.

    Raises
    ------
    ProblemError
        There is no experiment of such a name.
    """
    tables = document.get("experiments")
    known = [_name(t) for t in tables] if isinstance(tables, list) else []
    found: dict[str, object] = {}
    for name in names:
        if name not in known:
            raise ProblemError(
                f"--hold-out: '{file}' has no experiment '{name}'",
                hint=did_you_mean(name, [k for k in known if k], kind="experiment"),
                code=Code.UNKNOWN_NAME,
            )
        found[f"experiments.{known.index(name)}.role"] = ROLES[1]
    return found


def _name(table: object) -> str:
    """Return the name of an experiment as it is read; empty for what is none."""
    if not isinstance(table, Mapping):
        return ""
    return str(table.get("name", Path(str(table.get("data", ""))).stem))
