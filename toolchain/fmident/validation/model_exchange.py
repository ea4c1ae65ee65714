"""Whether the Co-Simulation part agrees with the same FMU as Model Exchange."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fmident._types import F64
from fmident.errors import FmidentError
from fmident.fmu import SimulationSetup, open_fmu, read_description
from fmident.validation.bench import Bench
from fmident.validation.check import Check

ALLOWED = 1e-4
"""Largest deviation over a signal's range, where no reference asks for less."""

TOLERANCE = 1e-8
"""Of the integration as Model Exchange, where nothing else is said."""


def supports_model_exchange(fmu: Path) -> bool:
    """Return whether an FMU has a Model Exchange part beside the other one."""
    try:
        kinds = {interface.kind for interface in read_description(fmu).interfaces}
    except FmidentError:
        return False  # other checks say what is wrong with it
    return kinds == {"co-simulation", "model-exchange"}


def exchange(fmu: Path, setup: SimulationSetup) -> F64:
    """Simulate an FMU as Model Exchange, with CVODE.

    Parameters
    ----------
    fmu
        The file.
    setup
        What to simulate; inputs run on lines between the instants.

    Returns
    -------
    ndarray, shape (n, outputs)

    Raises
    ------
    FmidentError
        The FMU does not fit the setup, or the simulation failed.
    """
    precise = replace(setup, tolerance=setup.tolerance or TOLERANCE, interpolation="linear")
    with open_fmu(fmu) as opened, opened.simulator(interface="model-exchange") as simulator:
        return simulator.simulate(precise)


def check_model_exchange(bench: Bench) -> Check:
    """Integrate the model equations outside of the FMU and compare.

    An exporter's Co-Simulation can be far coarser than its model: one Euler step per
    communication step is the usual trap.
    """
    name = "model exchange"
    experiment = bench.main
    setup = experiment.setup
    if not setup.output_names:
        return Check(name, True, "no output to compare")
    start = {**setup.start_values, **experiment.values}
    try:
        found = bench.simulate(setup, experiment.values)
    except FmidentError as error:
        return Check(name, False, error.message)
    bench.make_room()
    try:
        given = SimulationSetup(
            setup.times, setup.input_names, setup.inputs, setup.output_names, start, setup.tolerance
        )
        expected = exchange(bench.plan.path, given)
    except FmidentError as error:
        return Check(name, False, f"as Model Exchange it fails: {error.message}")
    ranges = np.ptp(expected, axis=0)
    scale = np.where(ranges > 0.0, ranges, np.maximum(np.max(np.abs(expected), axis=0), 1e-300))
    gaps = np.max(np.abs(found - expected), axis=0) / scale
    column = int(np.argmax(gaps))
    detail = (
        f"largest deviation {gaps[column]:.1e} of range ('{setup.output_names[column]}'),"
        f" allowed {ALLOWED:.0e}"
    )
    return Check(name, bool(gaps[column] <= ALLOWED), detail)
