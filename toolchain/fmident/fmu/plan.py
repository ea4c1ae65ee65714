"""A setup, resolved against one FMU: what plans of all versions and interfaces have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, FmuError
from fmident.fmu.failure import RunFailed
from fmident.fmu.life_cycle.instance import BaseInstance, CallFailed
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Value, Variable
from fmident.fmu.native_code import program
from fmident.fmu.native_code.library import Library
from fmident.fmu.sensitivity_table import Sensitivities, refused
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import (
    I64,
    Course,
    InputTable,
    OutputTable,
    address_of,
    failed_call,
)
from fmident.fmu.values import Assignment

InputUpdate = Literal["after_step", "before_step"]


class Runner(Protocol):
    """Runs communication steps `begin` to `end`; False when it was stopped."""

    def __call__(self, begin: int, end: int, state: I64, /) -> bool:
        """Run them; `state` says what stopped them, see :mod:`fmident.fmu.native_code.program`."""


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


class Plan(ABC):
    """Everything about a run that does not change from run to run, and the run's tables.

    Parameters
    ----------
    setup
        What to simulate.
    description, library
        The FMU.
    update
        When inputs of the end of a step are set. ``"after_step"``: u(t_(i+1)) is set after the
        step to t_(i+1), before the outputs are read. ``"before_step"``: it is set before the
        step, for FMUs that compute their outputs in the step only; discrete inputs, which jump
        at the end of the step, are set after it.

    Raises
    ------
    FmuError
        Names or values that do not fit the FMU.
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
        # Own copy that can be written to: Numba compiles anew for locked arrays.
        self.times: F64 = setup.times.copy()
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
        """Return what is recorded beside the outputs; ``None`` where nothing is asked for.

        Raises
        ------
        FmuError
            The FMU cannot differentiate its outputs.
        """
        if setup.sensitivities:
            raise refused(description)
        return None

    def renew(self) -> None:
        """Make room for a run: what was handed out is not written to again."""
        self.outputs.renew()
        if self.sensitivities is not None:
            self.sensitivities.renew()

    def read(self, instance: BaseInstance, row: int) -> None:
        """Read what is recorded into `row`; raises CallFailed."""
        self.outputs.read(instance, row)
        if self.sensitivities is not None:
            self.sensitivities.read(instance, row)

    def assemble(self) -> F64:
        """Return what was recorded, shape (rows, outputs * (1 + sensitivities))."""
        outputs = self.outputs.assemble()
        return outputs if self.sensitivities is None else self.sensitivities.beside(outputs)

    @abstractmethod
    def why_no_line(self, description: ModelDescription, variable: Variable) -> str:
        """Return why a continuous input cannot follow straight lines; empty where it can."""

    def course(
        self, setup: SimulationSetup, description: ModelDescription, variable: Variable
    ) -> Course:
        """Return how an input runs between the instants."""
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
        """Bring a fresh instance to where steps begin, with the inputs of the first instant.

        Raises
        ------
        CallFailed
            The FMU refuses.
        RunFailed
            Its initial events do not settle.
        """
        self.inputs.fill_others(values)
        self.claim(instance)
        begin, end = float(self.times[0]), float(self.times[-1])
        instance.enter_initialisation(
            begin, end, self.tolerance, lambda: self._set(instance, assignment, values)
        )
        self.inputs.mover.move(instance, self.inputs.groups, 0)
        instance.call(f"{instance.prefix}ExitInitializationMode")
        self.settle(instance, begin)

    def _set(
        self, instance: BaseInstance, assignment: Assignment, values: Mapping[str, Value]
    ) -> None:
        assignment.apply(instance, values)
        if self.sensitivities is not None:
            self.sensitivities.ask(instance)

    def claim(self, instance: BaseInstance) -> None:  # noqa: B027 - not all plans need it
        """Prepare the tables for a run on `instance`, before its first call."""

    def settle(self, instance: BaseInstance, begin: float) -> None:  # noqa: B027 - likewise
        """Go on from the end of initialisation to where steps begin; raises as `initialise`."""

    @abstractmethod
    def runner(self, instance: BaseInstance, *, pause: Callable[[float], None]) -> Runner:
        """Return what runs the steps and records outputs.

        It calls `pause` with the time reached, s, now and then within long steps; that may
        raise to end the run.
        """

    @abstractmethod
    def stopped(self, state: I64) -> Stop:
        """Say why the runner stopped; or raise RunFailed when no call is to blame."""

    @property
    def passes(self) -> Sequence[Plan]:
        """The plans that are run one after the other, this one being the last."""
        return (self,)

    def remarks(self) -> list[str]:
        """Return what the user should know of the run that has ended, once."""
        return []

    @property
    def doubt(self) -> str:
        """Why the outputs of the run that has ended are doubtful; empty where they are not."""
        return ""

    def free(self) -> None:  # noqa: B027 - most plans hold nothing
        """Free what the plan holds beside the instance that it runs on."""

    @abstractmethod
    def finish(self) -> bool:
        """End a complete run; return whether the FMU has asked for the end, at its last instant."""


class EventPlan(Plan):
    """A plan whose compiled loop handles events: it shares two tables with that.

    Parameters
    ----------
    setup, description, library, update
        As for :class:`Plan`.
    loop
        The module of the loop.
    table
        The table of integers; ``None`` to make one.
    """

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        library: Library,
        update: InputUpdate = "after_step",
        *,
        loop: Any,
        table: I64 | None = None,
    ) -> None:
        super().__init__(setup, description, library, update)
        self._loop = loop
        self._table: I64 = np.zeros(loop.SIZE, np.int64) if table is None else table
        self._reals: F64 = np.zeros(loop.REALS)
        self._info: F64 = np.zeros(4)
        self._work: F64 = np.zeros(0)

    def claim_lines(self) -> None:
        """Let the loop move inputs on straight lines within steps."""
        if not self.inputs.lines:
            return
        (line,) = self.inputs.lines  # one type has 64 bits: one group at most
        table = self._table
        self._work = np.zeros(line.values.shape[1])
        table[program.SET_INPUTS] = self.library.address(self.inputs.mover.function(line))
        table[program.INPUT_REFERENCES] = line.references.ctypes.data
        table[program.INPUT_COUNT] = line.references.size
        table[program.INPUT_VALUES] = address_of(line.values)
        table[program.INPUT_WORK] = self._work.ctypes.data
        table[program.INPUT_WIDTH] = self._work.size

    def settle_events(self, begin: float) -> None:
        """Settle the events of initialisation; raises as :meth:`Plan.initialise`."""
        outcome = self._loop.start(self._table, self._reals)
        if outcome >= 0:
            failed = self.explain(outcome, begin).failed
            failed.detail = "the events of initialisation"
            raise failed

    def stopped(self, state: I64) -> Stop:
        """Say why the loop stopped; see :class:`Plan`."""
        return self.explain(int(state[program.WHY]), float(self._reals[program.TIME]))

    def explain(self, outcome: int, time: float) -> Stop:
        """Say what an outcome of the loop means; raise RunFailed when no call is to blame."""
        table, at = self._table, f" at t = {time!r} s"
        if outcome == program.CALL:
            function, status = int(table[program.FAILED_FUNCTION]), int(table[program.CALL_STATUS])
            return Stop(failed_call(self.library, function, status), time, at)
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
        """Return message and hint of an outcome that this loop alone has."""

    def finish(self) -> bool:
        """Return whether the FMU has asked for the end, at the last instant."""
        return bool(self._table[program.ENDED])
