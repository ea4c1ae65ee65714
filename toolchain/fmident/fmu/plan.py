"""A setup resolved for one FMU: common base of plans of all versions and interfaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Code, FmuError
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value, Variable
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import Library
from fmident.fmu.native_code.loops import ProgramPlace, RunStructure
from fmident.fmu.native_code.program import Program
from fmident.fmu.sensitivity_table import Sensitivities
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.values import (
    I64,
    Assignment,
    Course,
    InputTable,
    OutputTable,
    address_of,
    failed_call,
    prefix_of,
)

InputUpdate = Literal["after_step", "before_step"]


Runner = Callable[[int, int], int]
"""Runs the communication steps from one number to another; returns 0 when stopped."""


@dataclass(frozen=True)
class Stop:
    """The FMU call that stopped a run, and the simulation time reached, s, also as text."""

    failed: CallFailed
    time: float
    where: str


class Plan(ABC):
    """The constant parts of a run, and its tables.

    `update` says when inputs of the end of a step are set. ``"after_step"``: u(t_(i+1)) is
    set after the step to t_(i+1), before the outputs are read. ``"before_step"``: it is set
    before the step, for FMUs that compute outputs only in the step; discrete inputs are set
    after it.
    """

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        library: Library,
        update: InputUpdate = "after_step",
    ) -> None:
        assert setup.inputs is not None  # set by SimulationSetup itself
        self.update, self.substeps = update, 1
        self.times: F64 = setup.times
        self.tolerance = setup.tolerance or description.default_tolerance
        self.library = library
        self.inputs = InputTable(
            description,
            library,
            setup.input_names,
            setup.inputs,
            lambda variable: self.course(setup, description, variable),
        )
        self.outputs = OutputTable(description, library, setup.output_names, self.times.size)
        self.sensitivities = self.differentiated(setup, description)
        self.means = self.inputs.means()
        if update == "before_step" and self.means:
            raise FmuError(
                f"the FMU of '{description.name}' computes its outputs in the step only: inputs"
                " cannot be held at their mean during a step and have their end value in its"
                " outputs",
                hint="use interpolation 'auto' or 'hold'; more substeps make the difference small",
                code=Code.NOT_SUPPORTED,
            )

    def differentiated(
        self, setup: SimulationSetup, description: ModelDescription
    ) -> Sensitivities | None:
        """Return the sensitivities that the FMU computes; ``None`` if none are requested."""
        names, known = setup.output_names, setup.sensitivities
        rows = setup.times.size
        return Sensitivities(description, self.library, names, known, rows) if known else None

    def renew(self) -> None:
        """Allocate new arrays for a run, so that returned ones are not overwritten."""
        self.outputs.renew()
        if self.sensitivities is not None:
            self.sensitivities.renew()

    def read(self, instance: BaseInstance, row: int) -> None:
        """Read the recorded variables into `row`; raises `CallFailed`."""
        self.outputs.read(instance, row)
        if self.sensitivities is not None:
            self.sensitivities.read(instance, row)

    def assemble(self) -> F64:
        """Return the recorded values, shape (rows, outputs * (1 + sensitivities))."""
        outputs = self.outputs.assemble()
        return outputs if self.sensitivities is None else self.sensitivities.beside(outputs)

    @abstractmethod
    def why_no_line(self, description: ModelDescription, variable: Variable) -> str:
        """Return why a continuous input cannot be interpolated linearly; empty if it can."""

    def course(
        self, setup: SimulationSetup, description: ModelDescription, variable: Variable
    ) -> Course:
        """Return the course of an input between the instants."""
        asked = setup.interpolation_of(variable.name)
        if not variable.is_continuous:
            return "hold"
        if asked in ("hold", "mean"):
            return asked
        why_not = self.why_no_line(description, variable)
        if asked == "linear" and why_not:
            raise FmuError(
                f"the FMU of '{description.name}' {why_not}",
                hint="use interpolation 'auto', 'hold' or 'mean'",
                code=Code.NOT_SUPPORTED,
            )
        return "hold" if why_not else "linear"

    def initialise(
        self, instance: BaseInstance, assignment: Assignment, values: Mapping[str, Value]
    ) -> None:
        """Initialise a new instance up to the first step, with the inputs of the first instant."""
        self.inputs.fill_others(values)
        self.claim(instance)

        def set_values() -> None:
            assignment.apply(instance, values)
            if self.sensitivities is not None:
                self.sensitivities.ask(instance)

        self.enter(instance, set_values, self.tolerance)
        self.settle(instance, float(self.times[0]))

    def enter(
        self, instance: BaseInstance, set_values: Callable[[], None], tolerance: float | None
    ) -> None:
        """Take an instance through initialisation mode, with the inputs of the first instant."""
        begin, end = float(self.times[0]), float(self.times[-1])
        instance.enter_initialisation(begin, end, tolerance, set_values)
        self.inputs.mover.move(instance, self.inputs.groups, 0)
        instance.call(f"{instance.prefix}ExitInitializationMode")

    def claim(self, instance: BaseInstance) -> None:  # noqa: B027 - not all plans need it
        """Prepare the tables for a run on `instance`, before its first call."""

    def settle(self, instance: BaseInstance, begin: float) -> None:  # noqa: B027 - likewise
        """Proceed from the end of initialisation to the first step; raises like `initialise`."""

    @abstractmethod
    def runner(self, state: I64, pause: Callable[[float], None]) -> Runner:
        """Return the runner that executes the steps and records outputs.

        For `state` see :mod:`fmident.fmu.native_code.program`. Within long steps it calls `pause`
        with the time reached, s, which may raise.
        """

    def ends_in_last_step(self, instance: BaseInstance, state: I64) -> bool:
        """Return whether the runner only stopped because the FMU ends with the last step."""
        return False

    @abstractmethod
    def stopped(self, state: I64) -> Stop:
        """Return why the runner stopped, or raise RunFailed if no call is the cause."""

    @property
    def passes(self) -> Sequence[Plan]:
        """The plans to run one after the other, this one being the last."""
        return (self,)

    def remarks(self) -> list[str]:
        """Return notes for the user on the last run, only once."""
        return []

    @property
    def doubt(self) -> str:
        """Return why the outputs of the last run are doubtful; empty if they are not."""
        return ""

    def free(self) -> None:  # noqa: B027 - most plans hold nothing
        """Free what the plan owns besides its instance."""

    @abstractmethod
    def finish(self) -> bool:
        """End a complete run; return whether the FMU requested termination at its last instant."""


class LoopPlan(Plan):
    """A plan whose steps a compiled loop runs, with which it shares the structure `run`."""

    run: RunStructure

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        library: Library,
        update: InputUpdate = "after_step",
        *,
        run: RunStructure,
    ) -> None:
        self.prefix = prefix_of(description)
        self.three = self.prefix == "fmi3"
        super().__init__(setup, description, library, update)
        self.run = run
        self._work: F64 = np.zeros(0)

    def prepare(self, run: RunStructure, programs: Mapping[str, Program]) -> None:
        """Write times and programs to a structure."""
        run.version = 3 if self.three else 2
        run.times, run.last = address_of(self.times), self.times.size - 1
        for name, rows in programs.items():
            setattr(run, name, ProgramPlace.of(rows))

    def begin(self, instance: BaseInstance, jumps: npt.NDArray[np.bool_]) -> None:
        """Let the loop run on `instance`; `jumps` says at which instants inputs jump."""
        run, self._jumps = self.run, jumps
        run.component = instance.component or 0
        run.time, run.next_event = self.times[0], np.inf
        run.jumps = address_of(jumps)

    def claim_lines(self) -> None:
        """Let the loop interpolate inputs within steps."""
        if not self.inputs.lines:
            return
        (line,) = self.inputs.lines  # one type has 64 bits: one group at most
        run = self.run
        self._work = np.zeros(line.values.shape[1])
        run.set_inputs = self.library.address(self.inputs.mover.function(line))
        run.input_references = address_of(line.references)
        run.input_count = line.references.size
        run.input_values = address_of(line.values)
        run.input_work = address_of(self._work)
        run.input_width = self._work.size

    def settle_events(self, settle: Callable[[int], int], begin: float) -> None:
        """Settle the events of initialisation; raises like :meth:`Plan.initialise`."""
        outcome = settle(self.run.address)
        if outcome >= 0:
            failed = self.explain(outcome, begin).failed
            failed.detail = "the events of initialisation"
            raise failed

    def stopped(self, state: I64) -> Stop:
        """Return why the loop stopped; see :class:`Plan`."""
        return self.explain(int(state[program.WHY]), self.run.time)

    def explain(self, outcome: int, time: float) -> Stop:
        """Return the meaning of a loop outcome; raise RunFailed if no call is the cause."""
        at = f" at t = {time!r} s"
        if outcome == program.CALL:
            failed = failed_call(self.library, self.run.failed_function, self.run.call_status)
            return Stop(failed, time, at)
        if outcome == program.TERMINATED:
            raise RunFailed(
                f"the FMU requested termination{at}",
                time=time,
                hint="a terminate() or an assertion in the model was reached",
                ended=time,
            )
        if outcome == program.UNSETTLED:
            raise RunFailed(
                f"an event never settles{at}: after {program.MOST_ITERATIONS} updates the FMU"
                " still wants another",
                time=time,
                hint="discrete equations of the model depend on each other in a circle",
            )
        message, hint = self.explain_more(outcome, time)
        raise RunFailed(message, time=time, hint=hint)

    @abstractmethod
    def explain_more(self, outcome: int, time: float) -> tuple[str, str]:
        """Return message and hint of an outcome specific to this loop."""

    def finish(self) -> bool:
        """Return whether the FMU has requested termination at the last instant."""
        return bool(self.run.ended)
