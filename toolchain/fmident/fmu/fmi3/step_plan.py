"""A setup, resolved against one FMU of FMI 3.0 for Co-Simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import FmuError
from fmident.fmu.description import ModelDescription
from fmident.fmu.driver import I64, InputUpdate, Runner, Stop, ValueSetter
from fmident.fmu.failure import RunFailed
from fmident.fmu.fmi3 import loop
from fmident.fmu.fmi3.instance import Instance3
from fmident.fmu.library import Library
from fmident.fmu.setup import SimulationSetup
from fmident.fmu.tables import Group, InputTable, OutputTable, failed_call
from fmident.fmu.variables import Value


class StepPlan:
    """Everything about a run that does not change from run to run, and the run's tables.

    Parameters
    ----------
    setup
        What to simulate.
    description, library
        The FMU.
    table
        The shared table, which the FMU's calls back use, too.
    update
        When inputs of the end of a step are set.

    Raises
    ------
    FmuError
        Names or values that do not fit the FMU; linear interpolation asked of an FMU
        without intermediate update.
    """

    def __init__(
        self,
        setup: SimulationSetup,
        description: ModelDescription,
        library: Library,
        table: I64,
        update: InputUpdate,
    ) -> None:
        assert setup.inputs is not None  # set by SimulationSetup itself
        self.update = update
        self.times: F64 = setup.times.copy()
        self.tolerance = setup.tolerance or description.default_tolerance
        self.capable = description.capabilities
        self._library = library
        self._table = table
        self._reals: F64 = np.zeros(loop.REALS)
        self._info: F64 = np.zeros(4)
        self.inputs = InputTable(
            description, library, setup.input_names, setup.inputs, lambda v: v.intermediate
        )
        self.outputs = OutputTable(description, library, setup.output_names, self.times.size)
        self.interpolation = self._interpolation(setup, description)
        self._work: F64 = np.zeros(0)
        self._lay_out()

    def _interpolation(self, setup: SimulationSetup, description: ModelDescription) -> str:
        offered = self.capable.provides_intermediate_update and bool(self.inputs.lines)
        if setup.interpolation == "auto":
            return "linear" if offered else "hold"
        if setup.interpolation == "linear" and self.inputs.continuous and not offered:
            raise FmuError(
                f"the FMU of '{description.name}' does not take inputs within a step"
                " (providesIntermediateUpdate, intermediateUpdate of the inputs)",
                hint="use interpolation 'auto', 'hold' or 'mean'",
            )
        return setup.interpolation

    def _lay_out(self) -> None:
        mover, groups = self.inputs.mover, self.inputs.groups
        self._record = self.outputs.mover.program(self.outputs.groups)
        self._jumps: npt.NDArray[np.bool_] = np.zeros(self.times.size, dtype=np.bool_)
        self._means = self.inputs.means() if self.interpolation == "mean" else []
        self._jump = mover.program(())
        self._jumping: list[Group] = []
        if self.update == "before_step":
            self._before, self._after = mover.program(groups), mover.program(())
            return
        self._before = mover.program(self._means, 0)
        if self.capable.has_event_mode:
            # What jumps is set in event mode: FMI demands it, also of continuous inputs.
            on_lines = self.inputs.lines if self.interpolation == "linear" else []
            self._jumping = [group for group in groups if group not in on_lines]
            self._after = mover.program(on_lines)
            self._jump = mover.program(self._jumping)
        else:
            self._after = mover.program(groups)

    def _claim_table(self, instance: Instance3) -> None:
        """Write to the shared table, which other plans of the simulator use, too."""
        table, find = self._table, self._library.address
        table[:] = 0
        table[loop.COMPONENT] = instance.component or 0
        table[loop.DO_STEP] = find("fmi3DoStep")
        table[loop.ENTER_EVENT] = find("fmi3EnterEventMode")
        table[loop.UPDATE] = find("fmi3UpdateDiscreteStates")
        table[loop.ENTER_STEP] = find("fmi3EnterStepMode")
        table[loop.EVENT_MODE] = self.capable.has_event_mode
        table[loop.VARIABLE_STEP] = self.capable.can_handle_variable_step
        table[loop.INFO] = self._info.ctypes.data
        table[loop.TIMES] = self.times.ctypes.data
        self._reals[:] = (self.times[0], np.inf, 0.0)

    def _claim_lines(self) -> None:
        """Let the FMU have inputs on straight lines within its steps."""
        if self.interpolation != "linear" or not self.inputs.lines:
            return
        (line,) = self.inputs.lines  # one type has 64 bits: one group at most
        table, mover = self._table, self.inputs.mover
        self._work = np.zeros(line.values.shape[1])
        table[loop.SET_INPUTS] = self._library.address(mover.function(line))
        table[loop.INPUT_REFERENCES] = line.references.ctypes.data
        table[loop.INPUT_COUNT] = line.references.size
        table[loop.INPUT_VALUES] = line.values.__array_interface__["data"][0]
        table[loop.INPUT_WORK] = self._work.ctypes.data
        table[loop.INPUT_WIDTH] = self._work.size

    def initialise(
        self, instance: Instance3, assignment: ValueSetter, values: Mapping[str, Value]
    ) -> None:
        """Bring a fresh instance to step mode at the first instant.

        Raises
        ------
        CallFailed
            The FMU refuses.
        RunFailed
            Its initial events do not settle.
        """
        self.inputs.fill_others(values)
        self._jumps = self.inputs.jumps(self._jumping, self._means)
        self._claim_table(instance)
        assignment.apply(instance, values)
        begin, end = float(self.times[0]), float(self.times[-1])
        instance.enter_initialisation(begin, end, self.tolerance)
        self.inputs.mover.move(instance, self.inputs.groups, 0)
        instance.call("fmi3ExitInitializationMode")
        if self.capable.has_event_mode:
            outcome = loop.start(self._table, self._reals)
            if outcome >= 0:
                failed = self._explain(outcome, begin).failed
                failed.detail = "the events of initialisation"
                raise failed
        self._claim_lines()

    def read_first(self, instance: Instance3, reals: F64) -> None:
        """Read all outputs into row 0."""
        self.outputs.mover.move(instance, self.outputs.groups, 0)

    def refuse_not_finite(self, reals: F64) -> None:
        """Look through the first row; raises RunFailed."""
        self.outputs.refuse_not_finite(self.times, 0, 1)

    def runner(
        self,
        instance: Instance3,
        reals: F64,
        *,
        pause: Callable[[float], None],
    ) -> Runner:
        """Return what runs the steps."""

        def run(begin: int, end: int, state: I64) -> bool:
            return bool(
                loop.run_steps(
                    self._table, self._reals, self.times, self._before, self._jump,
                    self._after, self._record, self._jumps, begin, end, state,
                )
            )  # fmt: skip

        return run

    def stopped(self, state: I64, reals: F64) -> Stop:
        """Say why the loop stopped.

        Raises
        ------
        RunFailed
            No call is to blame.
        """
        step = int(state[1])
        self.outputs.refuse_not_finite(self.times, 1, step + 1)
        time = float(self._reals[loop.TIME])
        stop = self._explain(int(state[0]), time)
        if stop.failed.function == "fmi3DoStep":
            size = float(self.times[step + 1]) - time
            return Stop(stop.failed, time, f" at t = {time!r} s (step of {size:g} s)")
        return stop

    def _explain(self, outcome: int, time: float) -> Stop:
        table, at = self._table, f" at t = {time!r} s"
        if outcome == loop.CALL:
            function, status = int(table[loop.FAILED_FUNCTION]), int(table[loop.FAILED_STATUS])
            return Stop(failed_call(self._library, function, status), time, at)
        message, hint = {
            loop.TERMINATED: (
                f"the FMU requested termination{at}",
                "a terminate() or an assertion in the model was reached",
            ),
            loop.UNSETTLED: (
                f"an event never settles{at}: after {loop.MOST_ITERATIONS} updates the FMU"
                " still wants another",
                "discrete equations of the model depend on each other in a circle",
            ),
            loop.ZENO: (
                f"events follow one another without end{at} (Zeno behaviour or chattering):"
                f" {int(table[loop.INTERVAL_EVENTS])} events within one communication step,"
                f" {int(table[loop.STALLED])} of them without progress",
                "let the model come to rest below a small velocity, or give its switch a"
                " hysteresis",
            ),
            loop.WRONG_TIME: (
                f"fmi3DoStep returned early{at} and claims to have reached"
                f" {float(self._reals[loop.RETURNED])!r} s, which is outside the step",
                "this is an error in the FMU",
            ),
            loop.FIXED_STEP: (
                f"fmi3DoStep returned early{at}, but the FMU cannot take a step of another size"
                " for the rest (canHandleVariableCommunicationStepSize is false)",
                "export the FMU with variable communication steps",
            ),
            loop.UNASKED: (
                f"the FMU wants an event to be handled{at}, which its description does not"
                " offer (hasEventMode is false)",
                "this is an error in the FMU: description and library do not agree",
            ),
        }[outcome]
        ended = time if outcome == loop.TERMINATED else None
        raise RunFailed(message, time=time, hint=hint, ended=ended)

    def new_results(self) -> F64:
        """Return nothing much: the tables hold the results."""
        return np.empty((0, 0))

    def finish(self, reals: F64) -> bool:
        """Look through the results; see :class:`.driver.RunPlan`."""
        self.outputs.refuse_not_finite(self.times, 1, self.times.size)
        return bool(self._table[loop.ENDED])

    def assemble(self, reals: F64) -> F64:
        """Return all outputs in the order asked for, shape (n, outputs)."""
        return self.outputs.assemble()
