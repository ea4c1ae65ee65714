"""Whether the result depends on the communication step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.validation.bench import Bench, Experiment
from fmident.validation.check import Check
from fmident.validation.checks.tube import largest_excess

_MOST_ROWS = 4001


def check_step_sizes(bench: Bench) -> Check:
    """Run with the communication steps h, 2h and h/2 under the very same input signals.

    The inputs are what the coarsest step can express: straight lines where the FMU follows
    these, else steps.
    """
    name = "step sizes"
    if not bench.description.can_handle_variable_step and bench.description.default_step:
        return Check(name, True, "the FMU does not accept other communication steps", skipped=True)
    try:
        experiment = bench.main
        grids = _grids(experiment)
        if grids is None:
            return Check(name, True, "the experiment has too few instants", skipped=True)
        if not experiment.setup.output_names:
            return Check(name, True, "there is no output to compare", skipped=True)
        results = [_run(bench, experiment, grids[0], grid) for grid in grids]
    except FmidentError as error:
        return Check(name, False, error.message)
    coarse, middle, fine = results
    outputs = experiment.setup.output_names
    if not any(bool(np.ptp(found, axis=0).any()) for found in results):
        return Check(name, True, "no output moves: there is nothing to compare", skipped=True)
    found = [
        (largest_excess(grids[0], fine[:, k], grids[0], other[:, k]), outputs[k], step)
        for k in range(len(outputs))
        for other, step in ((middle, "h"), (coarse, "2h"))
    ]
    worst, signal, step = max(found, key=lambda item: item[0].deviation)
    allowed = bench.plan.step_tube
    return Check(
        name,
        worst.deviation <= allowed,
        f"h/2, h and 2h agree within {worst.deviation:.1e} of range ('{signal}', {step} against "
        f"h/2, at t = {worst.time:g} s), allowed {allowed:.0e}; h = {_step(grids[1]):g} s",
        worst.deviation,
    )


def _grids(experiment: Experiment) -> tuple[F64, F64, F64] | None:
    """Return the instants with steps of 2h, h and h/2; all end together."""
    middle = experiment.setup.times[:_MOST_ROWS]
    if middle.size % 2 == 0:
        middle = middle[:-1]
    if middle.size < 5:
        return None
    fine = np.sort(np.concatenate([middle, 0.5 * (middle[:-1] + middle[1:])]))
    return middle[::2], middle, fine


def _run(bench: Bench, experiment: Experiment, coarse: F64, grid: F64) -> F64:
    """Return outputs at the coarse instants, simulated on `grid`."""
    setup = experiment.setup
    assert setup.inputs is not None  # set by SimulationSetup itself
    lines = bench.follows_lines(setup)
    rows = np.searchsorted(setup.times, coarse)
    columns = []
    for values in setup.inputs[rows].T:
        if lines:
            columns.append(np.interp(grid, coarse, values))
        else:
            columns.append(values[np.searchsorted(coarse, grid, side="right") - 1])
    inputs = np.column_stack(columns) if columns else None
    own = replace(
        setup,
        times=grid,
        inputs=inputs,
        tolerance=None,
        interpolation=setup.interpolation if lines else "hold",
    )
    stride = (grid.size - 1) // (coarse.size - 1)
    result: F64 = bench.simulate(own, experiment.values)[::stride]
    return result


def _step(grid: F64) -> float:
    return float(np.median(np.diff(grid)))
