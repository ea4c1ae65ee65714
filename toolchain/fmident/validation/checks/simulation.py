"""Whether the FMU runs at all."""

from __future__ import annotations

from fmident.errors import FmidentError, SimulationError
from fmident.validation.bench import Bench
from fmident.validation.check import Check


def check_simulation(bench: Bench) -> Check:
    """Run the FMU's own experiment, with the inputs that the catalogue gives."""
    name = "simulation"
    end = ""
    try:
        experiment = bench.smoke
        try:
            bench.simulate(experiment.setup, experiment.values)
        except SimulationError as error:
            if error.ended is None or not bench.end_before(error.ended):
                raise
            end = f"; at t = {error.ended:g} s the FMU itself ends the simulation"
            experiment = bench.smoke
            bench.simulate(experiment.setup, experiment.values)
    except FmidentError as error:
        return Check(name, "failed", error.message)
    how = "with its own start values" if not experiment.setup.input_names else "with moving inputs"
    return Check(name, "ok", f"{how} to t = {experiment.setup.times[-1]:g} s{end}")
