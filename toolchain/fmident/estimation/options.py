"""Conversion of the ``[estimator]`` table to an estimator's options."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from fmident.errors import Location, PluginError
from fmident.estimation.contract import Estimator
from fmident.toml_file.options import Where, build_dataclass


def build_options(
    estimator: type[Estimator[Any]] | Estimator[Any],
    raw: Mapping[str, Any],
    location: Location | Where | None = None,
    table: str = "[estimator]",
) -> Any:
    """Return an instance of the estimator's ``options_type`` from a table as written.

    See :func:`fmident.toml_file.build_dataclass` for the possible fields.

    Parameters
    ----------
    raw
        Key to value.
    location
        Of the table, or a function that finds the location of a key in it; for messages.
    table
        Name of the table in messages.

    Raises
    ------
    fmident.errors.ProblemError
        Unknown key, wrong type, value that is not allowed, missing key.
    fmident.errors.PluginError
        `options_type` is not a dataclass.
    """
    kind = estimator.options_type
    name = estimator.name
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise PluginError(
            f"options_type of the estimator '{name}' is {kind!r}",
            hint="make it a frozen dataclass",
        )

    def where(key: str | None) -> Location | None:
        return location(key) if callable(location) else location

    return build_dataclass(kind, raw, table=table, name=name, where=where)
