"""Whether the FMU runs at all."""

from __future__ import annotations

from fmident.errors import FmidentError
from fmident.validation.bench import Bench
from fmident.validation.check import Check


def check_simulation(bench: Bench) -> Check:
    """Run the FMU's own experiment, with the inputs that the catalogue gives."""
    name = "simulation"
    try:
        experiment = bench.smoke
        bench.simulate(experiment.setup, experiment.values)
    except FmidentError as error:
        return Check(name, False, error.message)
    how = "with its own start values" if not experiment.setup.input_names else "with moving inputs"
    return Check(name, True, f"{how} to t = {experiment.setup.times[-1]:g} s")
