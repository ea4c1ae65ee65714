"""Trials of an FMU's behaviour, where its description is unreliable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmuError, SimulationError
from fmident.fmu.model_description.variables import Value
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.simulator import Simulator


@dataclass(frozen=True)
class Influence:
    """Effect of a change of one parameter by `step` on the outputs.

    `changed` is whether any output changed in any bit; `largest` is the largest absolute
    change over time of each output. `failure` is the message if the simulation failed.
    """

    name: str
    changed: bool
    largest: dict[str, float]
    step: float
    failure: str | None = None


def influence(
    simulator: Simulator,
    setup: SimulationSetup,
    name: str,
    *,
    values: Mapping[str, Value] | None = None,
    step: float | None = None,
    reference: F64 | None = None,
) -> Influence:
    """Change a parameter, simulate, and check whether the outputs change.

    Parameters
    ----------
    simulator, setup
        The simulation; `setup` names the outputs.
    name
        A settable Real, Integer or Boolean variable.
    values
        Values of the other parameters, and of this one if it is not at its start value.
    step
        Change of the parameter; by default 1 % of its value, or of its nominal value when
        it is zero; 1 for an Integer. A Boolean is inverted.
    reference
        Outputs without the change, if known: saves a simulation.

    Returns
    -------
    Influence
        A failed simulation counts as a change, since the FMU used the value.

    Raises
    ------
    FmuError
        The variable cannot be set, or has no initial value.
    SimulationError
        The simulation without the change failed.
    """
    variable = simulator.description.variable(name)
    base = dict(values or {})
    current = base.get(name, setup.start_values.get(name, variable.start))
    if current is None or isinstance(current, str):
        raise FmuError(
            f"variable '{name}' has no start value to change",
            hint="give its value: influence(..., values={name: value})",
        )
    if variable.type == "Boolean":
        changed: Value = not current
    elif variable.type == "Real":
        scale = abs(float(current)) or abs(variable.nominal or 0.0) or 1.0
        changed = float(current) + (0.01 * scale if step is None else step)
        if step is None and variable.maximum is not None and changed > variable.maximum:
            changed = float(current) - 0.01 * scale
    else:
        changed = int(current) + (1 if step is None else round(step))
    difference = float(changed) - float(current)
    before = simulator.simulate(setup, base) if reference is None else reference
    try:
        after = simulator.simulate(setup, {**base, name: changed})
    except SimulationError as error:
        return Influence(name, True, {}, difference, error.message)
    largest = np.max(np.abs(after - before), axis=0, initial=0.0)
    by_output = dict(zip(setup.output_names, (float(x) for x in largest), strict=True))
    return Influence(name, bool(np.any(after != before)), by_output, difference)


def interpolates_inputs(
    simulator: Simulator, setup: SimulationSetup, *, values: Mapping[str, Value] | None = None
) -> bool:
    """Return whether input derivatives have an effect, as ``canInterpolateInputs`` promises.

    OpenModelica's FMUs declare it but hold the inputs; for these, ``interpolation="mean"``
    is closer to linear interpolation. True if any bit of the outputs differs between linear
    and held inputs; `setup` needs varying Real inputs and outputs that they affect through
    states. Raises `SimulationError` if the simulation fails.
    """
    if not simulator.description.can_interpolate_inputs:
        return False
    held = simulator.simulate(replace(setup, interpolation="hold"), values)
    linear = simulator.simulate(replace(setup, interpolation="linear"), values)
    return not np.array_equal(held, linear, equal_nan=True)
