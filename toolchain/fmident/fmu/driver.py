"""Interface between the simulator and the versions and interfaces of FMI."""

from __future__ import annotations

import copy
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from fmident.fmu.life_cycle.input_trial import InputTrial, may_depend
from fmident.fmu.life_cycle.instance import BaseInstance, Instance2, Instance3
from fmident.fmu.model_description.description import ModelDescription, configure, size_parameters
from fmident.fmu.model_description.variables import Value, Variable, array_name
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.log import LogBuffer
from fmident.fmu.plan import InputUpdate, Plan
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.values import Assignment, prefix_of

UpdateChoice = Literal["auto", "after_step", "before_step"]


class Driver(ABC):
    """One version and interface of one FMU, for one set of array sizes.

    With ``"auto"``, `update` determines whether the FMU recomputes its outputs when its
    inputs change, which decides when to set inputs of the end of a step.
    """

    def __init__(
        self,
        description: ModelDescription,
        library: Library,
        resources: str,
        buffer: LogBuffer,
        update: UpdateChoice = "auto",
    ) -> None:
        self.description = description
        self.library = library
        self.resources = resources
        self.buffer = buffer
        self.update: UpdateChoice = update
        self._sizes = size_parameters(description.declarations)
        self._configurations: dict[tuple[tuple[str, Value], ...], Self] = {}
        self._resizable = frozenset(
            name
            for d in description.declarations
            if any(isinstance(size, str) for size in d.dimensions)
            for name in (d.variable.name, *(a[0] for a in d.aliases))
        )

    def configured(self, values: Mapping[str, Value]) -> Self:
        """Return the driver for the structural parameters among `values`."""
        chosen = tuple(
            (name, values[name])
            for name, parameter in self._sizes.items()
            if name in values and values[name] != parameter.start
        )
        if not chosen:
            return self
        if chosen not in self._configurations:
            other = copy.copy(self)  # what it shares with the FMU stays the same
            other.description = configure(self.description, dict(chosen))
            self._configurations[chosen] = other
        return self._configurations[chosen]

    def may_restore(self, variable: Variable) -> bool:
        """Return whether a value once set is reset to its start in later runs.

        Elements of an array that can shrink are not, as they may no longer exist.
        """
        return array_name(variable.name) not in self._resizable

    def instantiate(self, debug: bool, /) -> BaseInstance:
        """Instantiate the FMU, with all its messages or only those on problems."""
        make = Instance3 if prefix_of(self.description) == "fmi3" else Instance2
        return make(self.library, self.description, self.resources, self.buffer, debug=debug)

    def assignment(self, names: Sequence[str]) -> Assignment:
        """Return the assignment that sets `names`."""
        return Assignment(self.description, self.library, names)

    def update_of(self, setup: SimulationSetup) -> UpdateChoice:
        """Return when inputs of the end of a step are set, as far as known."""
        return self.update

    @abstractmethod
    def lay_out(self, setup: SimulationSetup, update: InputUpdate = "after_step") -> Plan:
        """Resolve a setup, with inputs set before or after the step."""

    def trial(
        self, plan: Plan, assignment: Assignment, values: Mapping[str, Value]
    ) -> InputTrial | None:
        """Return the trial that determines when to set inputs; ``None`` if it has no effect.

        `plan` is laid out for ``"after_step"``.
        """
        description, outputs = self.description, plan.outputs
        moves = any(bool(np.any(g.values != g.values[0])) for g in plan.inputs.floats)
        recorded = [outputs.names[signal] for g in outputs.floats for signal in g.signals]
        if plan.times.size < 2 or not moves:
            return None
        if not may_depend(description, recorded, plan.inputs.names):
            return None
        variable_step = description.can_handle_variable_step
        make = lambda: self.instantiate(False)  # noqa: E731
        return InputTrial(plan, assignment, values, make, variable_step=variable_step)

    def remarks(self, setup: SimulationSetup, plan: Plan) -> list[str]:
        """Return notes for the user on a resolved setup."""
        return []


TryInputs = Callable[
    [Driver, SimulationSetup, Plan, Assignment, Mapping[str, Value]], tuple[InputUpdate, str]
]
"""Finds out when inputs must be set; also returns a remark, possibly empty."""


@dataclass(frozen=True)
class PlannedRun:
    """A resolved setup, with the variables to set before initialisation and their values."""

    plan: Plan
    assignment: Assignment
    values: Mapping[str, Value]


class Plans:
    """Plans of a simulator, with the values set in its runs.

    `try_inputs` determines when inputs of a setup must be set; `remark` receives notes.
    """

    def __init__(
        self, driver: Driver, try_inputs: TryInputs, remark: Callable[[str], None]
    ) -> None:
        self._driver = driver
        self._try_inputs = try_inputs
        self._remark = remark
        self._plans: weakref.WeakKeyDictionary[SimulationSetup, dict[Driver, Plan]]
        self._plans = weakref.WeakKeyDictionary()
        self._assignments: dict[tuple[Driver, tuple[str, ...]], Assignment] = {}
        self._touched: dict[str, Value] = {}

    def close(self) -> None:
        """Free what plans own besides the simulator's instance."""
        for plans in self._plans.values():
            for plan in plans.values():
                plan.free()

    def prepare(self, setup: SimulationSetup, values: Mapping[str, Value]) -> PlannedRun:
        """Return the plan and assignment for a run of `setup` with `values`."""
        merged = {**self._touched, **setup.start_values, **values}
        driver = self._driver.configured(merged)
        assignment = self._assignment(driver, merged)
        plans = self._plans.get(setup)
        plan = None if plans is None else plans.get(driver)
        if plan is None:
            plan = self._lay_out(driver, setup, assignment, merged)
            self._plans.setdefault(setup, {})[driver] = plan
        return PlannedRun(plan, assignment, merged)

    def _assignment(self, driver: Driver, values: Mapping[str, Value]) -> Assignment:
        key = (driver, tuple(values))
        assignment = self._assignments.get(key)
        if assignment is None:
            assignment = self._assignments[key] = driver.assignment(key[1])
        if len(values) != len(self._touched):
            # From now on these are set in every run: some FMUs keep values over a reset.
            for name in values:
                variable = driver.description.variable(name)
                if variable.start is not None and driver.may_restore(variable):
                    self._touched.setdefault(name, variable.start)
        return assignment

    def _lay_out(
        self,
        driver: Driver,
        setup: SimulationSetup,
        assignment: Assignment,
        values: Mapping[str, Value],
    ) -> Plan:
        update, remark = driver.update_of(setup), ""
        plan = driver.lay_out(setup, "after_step" if update == "auto" else update)
        if update == "auto":
            update, remark = self._try_inputs(driver, setup, plan, assignment, values)
            if update != plan.update:
                plan = driver.lay_out(setup, update)
        if setup.substeps > 1 and driver.description.capabilities.kind == "co-simulation":
            inputs = plan.inputs
            moving = [
                inputs.names[signal]
                for group in (*inputs.lines, *inputs.ramps, *inputs.averaged)
                for signal in group.signals
            ]
            plan = driver.lay_out(setup.with_substeps(moving), plan.update)
            plan.substeps = setup.substeps
        remarks = [text for text in (remark, *driver.remarks(setup, plan)) if text]
        if remarks:
            self._remark("; ".join(remarks))
        return plan
