"""Find out when inputs of FMI 3.0 Co-Simulation must be set, where there is no event mode."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import byref, c_bool, c_double
from typing import TYPE_CHECKING

import numpy as np

from fmident._types import F64
from fmident.fmu.description import Value
from fmident.fmu.driver import InputUpdate, ValueSetter
from fmident.fmu.fmi3.plan import StepPlan
from fmident.fmu.instance import CallFailed
from fmident.fmu.library import DISCARD
from fmident.fmu.probe import Trial, farthest, may_depend, try_input_update

if TYPE_CHECKING:
    from fmident.fmu.simulator import Simulator


def find_input_update(
    simulator: Simulator, plan: StepPlan, assignment: ValueSetter, values: Mapping[str, Value]
) -> tuple[InputUpdate, str]:
    """Decide when u(t_(i+1)) must be set so that y(t_(i+1)) belongs to it.

    As :func:`fmident.fmu.probe.find_input_update`. In event mode the question does not arise:
    inputs jump there, and outputs are computed in it.

    Parameters
    ----------
    simulator
        Whose instance is tried.
    plan
        Laid out for ``"after_step"``.
    assignment, values
        What is set before initialisation.

    Returns
    -------
    tuple
        ``"after_step"`` or ``"before_step"``, and a remark for the log, possibly empty.
    """
    floats = [g for g in plan.outputs.groups if g.values.dtype.kind == "f"]
    names = [plan.outputs.names[signal] for group in floats for signal in group.signals]
    varies = any(bool(np.any(g.values != g.values[0])) for g in plan.inputs.continuous)
    if plan.times.size < 2 or plan.interpolation == "linear" or not varies:
        return "after_step", ""
    if not may_depend(simulator.description, names, plan.inputs.names):
        return "after_step", ""
    return try_input_update(simulator, plan, _Trial3(simulator, plan, assignment, values))


class _Trial3(Trial):
    """Steps of FMI 3.0."""

    def __init__(
        self,
        simulator: Simulator,
        plan: StepPlan,
        assignment: ValueSetter,
        values: Mapping[str, Value],
    ) -> None:
        self._simulator = simulator
        self._plan = plan
        self._assignment = assignment
        self._values = values
        self._inputs = plan.inputs.continuous
        super().__init__(
            "fmi3DoStep",
            float(plan.times[1] - plan.times[0]),
            farthest(np.concatenate([g.values for g in self._inputs], axis=1)),
            variable_step=simulator.description.can_handle_variable_step,
        )

    def begin(self) -> None:
        self._simulator.initialise(self._plan, self._assignment, self._values)

    def set_inputs(self, row: int) -> None:
        self._plan.inputs.mover.move(self._simulator.instance, self._inputs, row)

    def step(self, size: float) -> None:
        event, end, early, reached = c_bool(), c_bool(), c_bool(), c_double()
        self._simulator.instance.call(
            "fmi3DoStep", float(self._plan.times[0]), size, True,
            byref(event), byref(end), byref(early), byref(reached),
        )  # fmt: skip
        if end.value:
            raise CallFailed("fmi3DoStep", DISCARD)

    def outputs(self) -> F64:
        table = self._plan.outputs
        table.mover.move(self._simulator.instance, table.groups, 0)
        rows = [g.values[0] for g in table.groups if g.values.dtype.kind == "f"]
        return np.concatenate(rows, dtype=np.float64)

    def interpolates(self) -> bool:
        return False  # plans with lines are not tried: they are set within the step
