"""The checks by name, in the order of execution."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fmident.errors import FmidentError, SimulationError
from fmident.validation.bench import Bench
from fmident.validation.check import Check
from fmident.validation.checks.contents import check_contents, check_identity
from fmident.validation.checks.interface import check_interface, check_parameters
from fmident.validation.checks.model_exchange import check_model_exchange, supports_model_exchange
from fmident.validation.checks.reference import check_reference
from fmident.validation.checks.repeatability import check_memory, check_repeatability
from fmident.validation.checks.step_sizes import check_step_sizes
from fmident.validation.fmu_plan import FmuPlan

CheckFunction = Callable[[Bench], Check]

SIMULATION = "simulation"
"""When native code dies in this check, those behind it are not tried."""

FOLLOWING = ("parameters", "repeatability", "memory", "step sizes")
"""They run the same experiment: where it fails, they would give the same cause once more."""


def checks_of(plan: FmuPlan) -> dict[str, CheckFunction]:
    """Return the checks required by a plan, by name.

    ``model description`` and ``FMI rules`` are not included: they run no code of the FMU,
    and the first needs a library that is slow to load, so the parent process runs them.
    """
    checks: dict[str, CheckFunction] = {"identity": check_identity, "contents": check_contents}
    if plan.interface is not None:
        checks["interface"] = check_interface
    checks[SIMULATION] = check_simulation
    for reference in plan.references:
        name = f"reference {reference.trajectory.name}"
        checks[name] = partial(check_reference, reference=reference, name=name)
    if plan.interface is not None and plan.interface.identifiable:
        checks["parameters"] = check_parameters
    if supports_model_exchange(plan.path):
        checks["model exchange"] = check_model_exchange
    checks["repeatability"] = check_repeatability
    checks["memory"] = check_memory
    checks["step sizes"] = check_step_sizes
    return checks if plan.only is None else {n: c for n, c in checks.items() if n in plan.only}


def check_simulation(bench: Bench) -> Check:
    """Run the FMU's own experiment with the inputs from the catalogue."""
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
