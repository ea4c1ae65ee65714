"""Setups resolved for an FMU, kept for further runs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fmident.fmu.driver import Driver
from fmident.fmu.model_description.variables import Value
from fmident.fmu.plan import InputUpdate, Plan
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.values import Assignment

TryInputs = Callable[
    [Driver, SimulationSetup, Plan, Assignment, Mapping[str, Value]], tuple[InputUpdate, str]
]
"""Finds out when inputs must be set; also returns a remark, possibly empty."""


@dataclass(frozen=True)
class Prepared:
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

    def of(self, setup: SimulationSetup) -> list[Plan]:
        """Return the plans of a setup, one for each set of sizes."""
        return list(self._plans.get(setup, {}).values())

    def close(self) -> None:
        """Free what plans own besides the simulator's instance."""
        for plans in self._plans.values():
            for plan in plans.values():
                plan.free()

    def prepare(self, setup: SimulationSetup, values: Mapping[str, Value]) -> Prepared:
        """Return the plan and assignment for a run of `setup` with `values`."""
        merged = {**self._touched, **setup.start_values, **values}
        driver = self._driver.configured(merged)
        assignment = self._assignment(driver, merged)
        plans = self._plans.get(setup)
        plan = None if plans is None else plans.get(driver)
        if plan is None:
            plan = self._lay_out(driver, setup, assignment, merged)
            self._plans.setdefault(setup, {})[driver] = plan
        return Prepared(plan, assignment, merged)

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
