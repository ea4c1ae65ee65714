"""The object of a check, and locations in its problem file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Diagnostic, Location, Severity

if TYPE_CHECKING:
    from fmident.fmu import ModelDescription, Variable
    from fmident.problem.model import Problem


@dataclass(frozen=True)
class Subject:
    """A problem to be checked, and its FMU description.

    `description` is ``None`` for a Python function instead of an FMU. `whole` is the whole
    problem if `problem` is a stage; its file contains the experiments.
    """

    problem: Problem
    description: ModelDescription | None = None
    whole: Problem | None = None

    def variable(self, name: str | None) -> Variable | None:
        """Return the FMU's variable of that name, if it is known."""
        if self.description is None or name is None:
            return None
        return self.description.by_name.get(name)

    def unit(self, name: str) -> str | None:
        """Return the FMU's unit of a variable, if it is known."""
        variable = self.variable(name)
        return None if variable is None else variable.unit

    def discrete_inputs(self, experiment: Experiment) -> frozenset[str]:
        """Return the inputs that cannot be interpolated, such as Booleans."""
        known = {name: self.variable(name) for name in experiment.inputs}
        return frozenset(n for n, v in known.items() if v is not None and not v.is_continuous)

    def held_inputs(self, experiment: Experiment) -> frozenset[str]:
        """Return the inputs that are held from one sample to the next."""
        if self.description is None:
            return frozenset()
        about = self.description.with_interface(self.problem.evaluation.interface)
        asked = {n: self.problem.interpolation_of(experiment, n) for n in experiment.inputs}
        return frozenset(n for n, choice in asked.items() if about.holds_input(n, choice))

    def where(self, *keys: str | int) -> Location | None:
        """Return the location of a key in the problem file."""
        return self.problem.where(*keys)

    def measurements(self) -> Iterator[tuple[int, Experiment, Measurement]]:
        """Yield all outputs with the index of their experiment, in order."""
        for i, experiment in enumerate(self.problem.experiments):
            for measurement in experiment.measurements:
                yield i, experiment, measurement

    def finding(
        self,
        severity: Severity,
        rule: str,
        message: str,
        hint: str | None = None,
        *keys: str | int,
    ) -> Diagnostic:
        """Return a finding at a key of the problem file."""
        return Diagnostic(severity, message, self.where(*keys), hint, rule)
