"""Check that Co-Simulation agrees with Model Exchange of the same FMU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.fmu import SimulationSetup, open_fmu, read_description
from fmident.fmu.setup import between, resampled
from fmident.validation.bench import Bench
from fmident.validation.checks.accuracy import Limits, limits, magnitudes
from fmident.validation.result import Check

USUAL_TOLERANCE = 1e-6
"""Tolerance of a Co-Simulation that declares none."""

PRECISE = 1e-11
"""Tolerance of the integration that is taken for right."""

STEP_TUBE = 1e-4
"""How much results may differ between communication steps or tolerances, over range, by
default."""

PARTS = 4
"""Steps of the integrator within one communication step at least: an input that starts at
rest lets it jump over a whole one, and with it over whatever the input does in there."""

_MOST_ROWS = 40_000


def supports_model_exchange(fmu: Path) -> bool:
    """Return whether an FMU has a Model Exchange interface besides the other one."""
    try:
        kinds = {interface.kind for interface in read_description(fmu).interfaces}
    except FmidentError:
        return False  # other checks say what is wrong with it
    return kinds == {"co-simulation", "model-exchange"}


def exchange(fmu: Path, setup: SimulationSetup, tolerance: float = PRECISE) -> F64:
    """Simulate an FMU as Model Exchange with CVODE; return outputs of shape (n, outputs).

    Inputs are interpolated linearly between the instants, or held if the setup says so.
    `tolerance` applies instead of that of the setup. Raises `FmidentError` if the FMU does
    not fit the setup, or the simulation failed.
    """
    parts = int(np.clip(_MOST_ROWS // max(setup.times.size, 1), 1, PARTS))
    finer = resampled(setup, between(setup.times, parts))
    held = setup.interpolation == "hold"
    precise = replace(finer, tolerance=tolerance, interpolation="hold" if held else "linear")
    with open_fmu(fmu) as opened, opened.simulator(interface="model-exchange") as simulator:
        return simulator.simulate(precise)[::parts]


def exchange_limits(fmu: Path, setup: SimulationSetup, expected: F64, tolerance: float) -> Limits:
    """Return the permissible deviation of a Co-Simulation from an exact solution.

    `expected` is the result of :func:`exchange`, and `tolerance` that of the
    Co-Simulation's integration. Raises `FmidentError` if the simulation failed.
    """
    rough = exchange(fmu, setup, max(tolerance, 10.0 * PRECISE))
    return limits(expected, rough, tolerance, setup.output_names, read_description(fmu))


def own_tolerance(fmu: Path, setup: SimulationSetup) -> float:
    """Return the tolerance with which an FMU's Co-Simulation, if any, integrates a setup."""
    description = read_description(fmu)
    if any(interface.kind == "co-simulation" for interface in description.interfaces):
        description = description.with_interface("co-simulation")
    given = description.fixed_tolerance or setup.tolerance or description.default_tolerance
    return given or USUAL_TOLERANCE


def check_model_exchange(bench: Bench) -> Check:
    """Integrate the model equations outside the FMU and compare.

    An exporter's Co-Simulation can be far less accurate than its model; one Euler step per
    communication step is common. The permissible deviation is derived from its integration
    tolerance, see :mod:`fmident.validation.checks.accuracy`.
    """
    name = "model exchange"
    experiment = bench.main
    setup = experiment.setup
    if not setup.output_names:
        return Check(name, "skipped", "there is no output to compare")
    fmu = bench.plan.path
    # Both integrate under the same inputs: lines, or steps where the FMU cannot follow lines.
    lines = bench.follows_lines(setup) or not setup.input_names
    given = replace(
        setup,
        start_values={**setup.start_values, **experiment.values},
        interpolation=setup.interpolation if lines else "hold",
    )
    late = bench.description.sees_events_late
    try:
        with bench.beside("co-simulation") as simulator:
            outputs = simulator.simulate(given)
    except FmidentError:
        if not late:
            raise
        outputs = None  # Model Exchange is what is simulated
    try:
        expected = exchange(fmu, given)
        tolerance = own_tolerance(fmu, setup)
        derived = exchange_limits(fmu, given, expected, tolerance)
    except FmidentError as error:
        return Check(name, "failed", f"as Model Exchange it fails: {error.message}")
    if late:
        return _exchange_alone(bench, setup, derived, outputs, expected)
    assert outputs is not None  # else it has failed above
    tube = bench.plan.exchange_tube
    if tube is not None:
        derived = replace(derived, allowed=tube * derived.scale)
    column, gap, allowed = derived.worst(outputs, expected)
    whose = "its" if bench.states_tolerance else "a usual"
    detail = (
        f"largest deviation {gap:.1e} of range ('{setup.output_names[column]}'), allowed"
        f" {allowed:.1e}: at {whose} tolerance of {tolerance:.0e} an integration of the equations"
        f" is off by {derived.error[column]:.1e}"
    )
    if gap <= allowed:
        return Check(name, "ok", detail, gap)
    outcome, why = bench.too_coarse("exchange_tube", tube)
    return Check(name, outcome, detail + why, gap)


def _exchange_alone(
    bench: Bench, setup: SimulationSetup, derived: Limits, outputs: F64 | None, expected: F64
) -> Check:
    known = magnitudes(expected, setup.output_names, bench.description)
    rough = max(derived.tolerance, 10.0 * PRECISE)
    limit = (bench.plan.exchange_tube or STEP_TUBE) + known.noise(rough) / known.scale
    column = int(np.argmax(derived.error / limit))
    error, names = float(derived.error[column]), setup.output_names
    allowed = float(limit[column])
    detail = (
        f"simulated as Model Exchange: tolerances of {rough:.0e} and {PRECISE:.0e} agree within"
        f" {error:.1e} of range ('{names[column]}'), allowed {allowed:.0e}"
    )
    if outputs is None:
        detail += "; its Co-Simulation, which sees events at communication points only, fails"
    else:
        worst, gap, _ = replace(derived, allowed=derived.scale).worst(outputs, expected)
        detail += (
            "; its Co-Simulation, which sees events at communication points only, is off by"
            f" {gap:.1e} ('{names[worst]}')"
        )
    return Check("model exchange", "ok" if error <= allowed else "failed", detail, error)
