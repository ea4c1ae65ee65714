"""Check that the result does not depend on the communication step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fmident.arrays import F64
from fmident.fmu.setup import resampled
from fmident.validation.bench import Bench, Experiment
from fmident.validation.checks.accuracy import magnitudes
from fmident.validation.checks.model_exchange import STEP_TUBE, own_tolerance
from fmident.validation.result import Check

_MOST_ROWS = 4001


def check_step_sizes(bench: Bench) -> Check:
    """Run with the communication steps h, 2h and h/2 and exactly the same input signals.

    A signal that is a difference of large terms may differ by the error that the FMU's
    tolerance leaves in these. The inputs are those that the coarsest step can represent:
    straight lines if the FMU interpolates, else steps.
    """
    name = "step sizes"
    if not bench.description.can_handle_variable_step and bench.description.default_step:
        return Check(name, "skipped", "the FMU does not accept other communication steps")
    experiment = bench.main
    grids = _grids(experiment)
    if grids is None:
        return Check(name, "skipped", "the experiment has too few instants")
    if not experiment.setup.output_names:
        return Check(name, "skipped", "there is no output to compare")
    results = [_run(bench, experiment, grids[0], grid) for grid in grids]
    coarse, middle, fine = results
    outputs = experiment.setup.output_names
    if not any(bool(np.ptp(result, axis=0).any()) for result in results):
        return Check(name, "skipped", "no output moves: there is nothing to compare")
    known = magnitudes(fine, outputs, bench.description)
    allowed = (bench.plan.step_tube or STEP_TUBE) * known.scale + known.noise(
        own_tolerance(bench.plan.path, experiment.setup)
    )
    gaps = np.abs(np.stack([middle, coarse]) - fine)
    gaps = np.where(np.isfinite(gaps), gaps, np.inf)
    which, row, column = np.unravel_index(int(np.argmax(gaps / allowed)), gaps.shape)
    figure, limit = (float(x[column] / known.scale[column]) for x in (gaps[which, row], allowed))
    detail = (
        f"h/2, h and 2h agree within {figure:.1e} of range ('{outputs[column]}',"
        f" {('h', '2h')[which]} against h/2, at t = {grids[0][row]:g} s), allowed {limit:.0e};"
        f" h = {_step(grids[1]):g} s"
    )
    if figure <= limit:
        return Check(name, "ok", detail, figure)
    outcome, why = bench.too_coarse("step_tube", bench.plan.step_tube)
    return Check(name, outcome, detail + why, figure)


def _grids(experiment: Experiment) -> tuple[F64, F64, F64] | None:
    """Return the instants with steps of 2h, h and h/2, with a common end."""
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
    known = replace(
        setup,
        times=coarse,
        inputs=setup.inputs[np.searchsorted(setup.times, coarse)],
        tolerance=None,
        interpolation=setup.interpolation if bench.follows_lines(setup) else "hold",
    )
    own = resampled(known, grid)
    stride = (grid.size - 1) // (coarse.size - 1)
    result: F64 = bench.simulate(own, experiment.values)[::stride]
    return result


def _step(grid: F64) -> float:
    return float(np.median(np.diff(grid)))
