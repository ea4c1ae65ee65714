"""Interface between the simulator and the versions and interfaces of FMI."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal, Self

from fmident.fmu.fmi2.instance import Instance2
from fmident.fmu.fmi3.instance import Instance3
from fmident.fmu.life_cycle.input_trial import Trial, trial_of
from fmident.fmu.life_cycle.instance import BaseInstance, TrialInstances
from fmident.fmu.model_description.arrays import configure, size_parameters
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value, Variable, array_name
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.log import LogBuffer
from fmident.fmu.plan import InputUpdate, Plan
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import prefix_of
from fmident.fmu.values import Assignment

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
    ) -> Trial | None:
        """Return the trial that determines when to set inputs; ``None`` if it has no effect."""
        instances = TrialInstances(lambda: self.instantiate(False))
        return trial_of(plan, self.description, assignment, values, instances)

    def remarks(self, setup: SimulationSetup, plan: Plan) -> list[str]:
        """Return notes for the user on a resolved setup."""
        return []
