"""Find out when inputs of FMI 3.0 Co-Simulation must be set, where there is no event mode."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import byref, c_bool, c_double
from typing import cast

import numpy as np

from fmident.arrays import F64
from fmident.fmu.description import ModelDescription
from fmident.fmu.driver import ValueSetter
from fmident.fmu.fmi3.instance import Instance3
from fmident.fmu.fmi3.step_plan import StepPlan
from fmident.fmu.instance import CallFailed
from fmident.fmu.instances import TrialInstances
from fmident.fmu.library import DISCARD
from fmident.fmu.probe import Trial, farthest, may_depend
from fmident.fmu.variables import Value


def trial_of(
    plan: StepPlan,
    description: ModelDescription,
    assignment: ValueSetter,
    values: Mapping[str, Value],
    instances: TrialInstances,
) -> Trial | None:
    """Return what finds out when inputs are to be set; ``None`` where it makes no difference.

    As :func:`fmident.fmu.probe.trial_of`. In event mode the question does not arise:
    inputs jump there, and outputs are computed in it.
    """
    if description.capabilities.has_event_mode:
        return None
    floats = [g for g in plan.outputs.groups if g.values.dtype.kind == "f"]
    names = [plan.outputs.names[signal] for group in floats for signal in group.signals]
    varies = any(bool(np.any(g.values != g.values[0])) for g in plan.inputs.continuous)
    if plan.times.size < 2 or plan.interpolation == "linear" or not varies:
        return None
    if not may_depend(description, names, plan.inputs.names):
        return None
    return _Trial3(plan, description, assignment, values, instances)


class _Trial3(Trial):
    """Steps of FMI 3.0."""

    def __init__(
        self,
        plan: StepPlan,
        description: ModelDescription,
        assignment: ValueSetter,
        values: Mapping[str, Value],
        instances: TrialInstances,
    ) -> None:
        self._plan = plan
        self._assignment = assignment
        self._values = values
        self._inputs = plan.inputs.continuous
        super().__init__(
            "fmi3DoStep",
            float(plan.times[1] - plan.times[0]),
            farthest(np.concatenate([g.values for g in self._inputs], axis=1)),
            instances,
            variable_step=description.can_handle_variable_step,
        )

    def begin(self) -> None:
        instance = cast(Instance3, self.instances.renew())
        self._plan.initialise(instance, self._assignment, self._values)

    def set_inputs(self, row: int) -> None:
        self._plan.inputs.mover.move(self.instances.instance, self._inputs, row)

    def step(self, size: float) -> None:
        event, end, early, reached = c_bool(), c_bool(), c_bool(), c_double()
        self.instances.instance.call(
            "fmi3DoStep", float(self._plan.times[0]), size, True,
            byref(event), byref(end), byref(early), byref(reached),
        )  # fmt: skip
        if end.value:
            raise CallFailed("fmi3DoStep", DISCARD)

    def outputs(self) -> F64:
        table = self._plan.outputs
        table.mover.move(self.instances.instance, table.groups, 0)
        rows = [g.values[0] for g in table.groups if g.values.dtype.kind == "f"]
        return np.concatenate(rows, dtype=np.float64)
