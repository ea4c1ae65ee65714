"""One simulation of an FMU, for tests that compare it with a closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fmident.arrays import F64
from fmident.fmu import SimulationSetup, open_fmu
from fmident.fmu.model_description.description import InterfaceChoice


def table_of(
    path: Path,
    times: F64,
    outputs: Sequence[str],
    values: Mapping[str, float] | None = None,
    *,
    known: Sequence[str] = (),
    inputs: Mapping[str, F64] | None = None,
    tolerance: float = 1e-8,
    interface: InterfaceChoice = "auto",
) -> F64:
    """Return a column for each output, then for their derivatives with respect to each known."""
    given = dict(inputs or {})
    setup = SimulationSetup(
        times,
        input_names=tuple(given),
        inputs=np.column_stack(list(given.values())) if given else None,
        output_names=tuple(outputs),
        tolerance=tolerance,
        sensitivities=tuple(known),
    )
    with open_fmu(path) as fmu, fmu.simulator(interface=interface) as simulator:
        return simulator.simulate(setup, values or {})
