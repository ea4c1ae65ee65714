"""Setups that were resolved against an FMU, kept for further runs."""

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
    """What one run needs.

    Parameters
    ----------
    plan
        The setup, resolved.
    assignment, values
        What is set before initialisation, and to what.
    """

    plan: Plan
    assignment: Assignment
    values: Mapping[str, Value]


class Plans:
    """The plans of a simulator, and what its runs have set.

    Parameters
    ----------
    driver
        Of the FMU.
    try_inputs
        Called for setups where that is to be found out.
    remark
        Takes what the user should know of a setup.
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
        """Free what plans hold beside the simulator's instance."""
        for plans in self._plans.values():
            for plan in plans.values():
                plan.free()

    def prepare(self, setup: SimulationSetup, values: Mapping[str, Value]) -> Prepared:
        """Return what a run of `setup` with `values` needs.

        Raises
        ------
        FmuError
            Names or values that do not fit the FMU.
        """
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
        found = self._assignments.get(key)
        if found is None:
            found = self._assignments[key] = driver.assignment(key[1])
        if len(values) != len(self._touched):
            # From now on these are set in every run: some FMUs keep values over a reset.
            for name in values:
                variable = driver.description.variable(name)
                if variable.start is not None and driver.may_restore(variable):
                    self._touched.setdefault(name, variable.start)
        return found

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
        said = [text for text in (remark, *driver.remarks(setup, plan)) if text]
        if said:
            self._remark("; ".join(said))
        return plan
