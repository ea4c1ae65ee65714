"""Which columns of the data have no unit in their header, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fmident.problem.model import Problem


def assumed_units(problem: Problem) -> tuple[str, ...]:
    """Return what was assumed for columns without a unit: one sentence for equal experiments."""
    found: dict[str, list[str]] = {}
    for e in problem.experiments:
        said = []
        for column, unit in e.assumed_units.items():
            if column == e.time_column:
                said.append(f"time: column '{column}', no unit in its header: seconds assumed")
            else:
                said.append(f"column '{column}', no unit in its header: {unit} assumed")
        if said:
            found.setdefault("; ".join(said), []).append(f"'{e.name}'")
    return tuple(f"{', '.join(names)}: {text}" for text, names in found.items())
