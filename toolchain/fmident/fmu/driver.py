"""What the simulator asks of each version and interface of FMI.

The simulator knows the life of an instance and what to say when it fails; a driver knows
one version and interface: how to instantiate, how to set values, how to run the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.fmu.description import ModelDescription
from fmident.fmu.instance import BaseInstance, CallFailed
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.variables import Value, Variable

if TYPE_CHECKING:
    from fmident.fmu.library import Library
    from fmident.fmu.log import LogBuffer
    from fmident.fmu.probe import Trial
    from fmident.fmu.simulator import Simulator

I64 = npt.NDArray[np.int64]
InputUpdate = Literal["after_step", "before_step"]
UpdateChoice = Literal["auto", "after_step", "before_step"]


class Runner(Protocol):
    """Runs communication steps `begin` to `end`; False when it was stopped."""

    def __call__(self, begin: int, end: int, state: I64, /) -> bool:
        """Run them; `state` tells what stopped the run, see :mod:`fmident.fmu.program`."""


@dataclass(frozen=True)
class Stop:
    """Which call of the FMU stopped a run.

    Parameters
    ----------
    failed
        The call.
    time
        Up to where the simulation came, s.
    where
        That in words, for the end of the message.
    """

    failed: CallFailed
    time: float
    where: str


class ValueSetter(Protocol):
    """Sets the same names again and again."""

    def apply(self, instance: Any, values: Mapping[str, Value]) -> None:
        """Set the variables to `values`, which has an element for each name."""


class RunPlan(Protocol):
    """A setup, resolved against one FMU."""

    times: F64
    update: InputUpdate

    def initialise(self, instance: Any, assignment: Any, values: Mapping[str, Value]) -> None:
        """Bring a fresh instance to its initial state."""

    def new_results(self) -> F64:
        """Return an array for the results of one run."""

    def read_first(self, instance: Any, reals: F64) -> None:
        """Read all outputs at the first instant."""

    def refuse_not_finite(self, reals: F64) -> None:
        """Raise RunFailed when an output is not finite at the first instant."""

    def runner(self, instance: Any, reals: F64, *, pause: Callable[[float], None]) -> Runner:
        """Return what runs the steps and writes to `reals`.

        It calls `pause` with the time reached, s, now and then within long steps; that may
        raise to end the run.
        """

    def stopped(self, state: I64, reals: F64) -> Stop:
        """Say why the runner stopped; or raise RunFailed when no call is to blame."""

    def finish(self, reals: F64) -> bool:
        """Look through the results of a complete run; raise RunFailed.

        Returns
        -------
        bool
            Whether the FMU itself has asked for the end, at the last instant.
        """

    def assemble(self, reals: F64) -> F64:
        """Return all outputs in the order asked for, shape (n, outputs)."""


class Driver(Protocol):
    """One version and interface of one FMU."""

    description: ModelDescription

    def configured(self, values: Mapping[str, Value]) -> Driver:
        """Return the driver for these values of the structural parameters."""

    def instantiate(self, debug: bool, /) -> BaseInstance:
        """Instantiate the FMU, with all its messages or only those on problems."""

    def assignment(self, names: Sequence[str]) -> ValueSetter:
        """Return what sets `names`."""

    def may_restore(self, variable: Variable) -> bool:
        """Whether a value that was set once is set back to its start in later runs."""

    def plan(
        self,
        simulator: Simulator,
        setup: SimulationSetup,
        values: Mapping[str, Value],
        assignment: Any,
    ) -> tuple[RunPlan, str]:
        """Resolve a setup; also return a remark for the log, possibly empty."""


class TriesInputs(Protocol):
    """A driver that may have to find out when inputs must be set."""

    def lay_out(self, setup: SimulationSetup, /) -> Any:
        """Resolve a setup, with inputs that are set after the step."""

    def assignment(self, names: Sequence[str]) -> Any:
        """Return what sets `names`."""

    def trial(self, plan: Any, assignment: Any, values: Mapping[str, Value]) -> Trial | None:
        """Return what finds it out; ``None`` where it makes no difference."""


def make_driver(
    description: ModelDescription,
    library: Library,
    resources: str,
    buffer: LogBuffer,
    update: UpdateChoice,
) -> Driver:
    """Return the driver for the interface that `description` stands for."""
    three = description.fmi_version.startswith("3.")
    if description.capabilities.kind == "model-exchange":
        from fmident.fmu.model_exchange.driver import ModelExchange

        return ModelExchange(description, library, resources, buffer)
    if three:
        from fmident.fmu.fmi3.co_simulation import CoSimulation3

        return CoSimulation3(description, library, resources, buffer, update)
    from fmident.fmu.co_simulation import CoSimulation2

    return CoSimulation2(description, library, resources, buffer, update)
