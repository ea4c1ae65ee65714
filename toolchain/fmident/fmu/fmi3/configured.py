"""Drivers of FMUs whose variables can depend on structural parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from fmident.fmu.description import ModelDescription
from fmident.fmu.fmi3.declarations import configure, size_parameters
from fmident.fmu.variables import Value, Variable


class Configured:
    """One driver per set of sizes, which structural parameters give.

    Parameters
    ----------
    description
        Of the FMU, in this configuration.
    """

    def __init__(self, description: ModelDescription) -> None:
        self.description = description
        self._sizes = size_parameters(description.declarations)
        self._others: dict[tuple[tuple[str, Value], ...], Self] = {}
        self._resizable = frozenset(
            name
            for d in description.declarations
            if any(isinstance(size, str) for size in d.dimensions)
            for name in (d.variable.name, *(a[0] for a in d.aliases))
        )

    def with_description(self, description: ModelDescription) -> Self:
        """Return the same for another configuration."""
        raise NotImplementedError

    def configured(self, values: Mapping[str, Value]) -> Self:
        """Return the driver for the structural parameters among `values`.

        Raises
        ------
        FmuError
            One of them is not a size.
        """
        if not self._sizes:
            return self
        chosen = tuple(
            (name, values[name])
            for name, parameter in self._sizes.items()
            if name in values and values[name] != parameter.start
        )
        if not chosen:
            return self
        if chosen not in self._others:
            description = configure(self.description, dict(chosen))
            self._others[chosen] = self.with_description(description)
        return self._others[chosen]

    def may_restore(self, variable: Variable) -> bool:
        """Whether a value that was set once is set back to its start in later runs.

        Elements of an array that can shrink are not: they may be gone.
        """
        return variable.name.partition("[")[0] not in self._resizable
